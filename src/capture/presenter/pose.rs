//! What the drawn person does at one moment.

use glam::Vec3;

use crate::types::{Brows, Gaze, HeadPose, Lids};

/// Where the head sits on the neck, in metres from the head's origin (between the ears) in the head's own frame; the
/// head turns about this point.
const NECK_IN_HEAD_M: Vec3 = Vec3::new(0.0, -0.07, -0.05);

/// Every moving part of the drawn person. Sides are the person's.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PresenterPose {
    /// 0 lips touch, 1 as far as it goes.
    pub jaw: f32,
    /// Lips pushed forward and together, 0..1.
    pub pucker: f32,
    /// Lips drawn sideways as in "ee", 0..1.
    pub spread: f32,
    /// Corners of the mouth up, 0..1.
    pub smile: f32,
    /// 0 open, 1 closed.
    pub lids: Lids,
    /// -1 lowered, 0 at rest, 1 raised.
    pub brows: Brows,
    /// Relative to the head.
    pub gaze: Gaze,
    /// Rotation of the head, about the neck.
    pub head: HeadPose,
    /// Where the head's origin is while the head looks straight ahead: metres from the camera, x to the person's left,
    /// y up, z away from the camera.
    pub position: Vec3,
}

impl Default for PresenterPose {
    fn default() -> Self {
        Self {
            jaw: 0.0,
            pucker: 0.0,
            spread: 0.0,
            smile: 0.0,
            lids: Lids::default(),
            brows: Brows::default(),
            gaze: Gaze::default(),
            head: HeadPose::default(),
            position: Vec3::new(0.0, 0.0, 0.42),
        }
    }
}

impl PresenterPose {
    /// This pose with every part in its range and no NaN.
    pub fn clamped(self) -> Self {
        let within = |x: f32, min: f32, max: f32| if x.is_nan() { 0.0 } else { x.clamp(min, max) };
        let unit = |x| within(x, 0.0, 1.0);
        Self {
            jaw: unit(self.jaw),
            pucker: unit(self.pucker),
            spread: unit(self.spread),
            smile: unit(self.smile),
            lids: Lids { left: unit(self.lids.left), right: unit(self.lids.right) },
            brows: Brows { left: within(self.brows.left, -1.0, 1.0), right: within(self.brows.right, -1.0, 1.0) },
            gaze: Gaze { yaw: within(self.gaze.yaw, -0.7, 0.7), pitch: within(self.gaze.pitch, -0.6, 0.6) },
            head: HeadPose {
                yaw: within(self.head.yaw, -1.6, 1.6),
                pitch: within(self.head.pitch, -1.2, 1.2),
                roll: within(self.head.roll, -1.2, 1.2),
            },
            position: Vec3::new(
                within(self.position.x, -5.0, 5.0),
                within(self.position.y, -5.0, 5.0),
                if self.position.z.is_nan() { 0.42 } else { self.position.z.clamp(0.25, 10.0) },
            ),
        }
    }

    /// Where the head's origin is now, the turn about the neck included; axes as for `position`.
    pub fn head_position(&self) -> Vec3 {
        let turned = NECK_IN_HEAD_M - self.head.to_quat() * NECK_IN_HEAD_M;
        self.position + Vec3::new(turned.x, turned.y, -turned.z)
    }

    /// How wide the mouth is: 0 full pucker, 0.5 at rest, 1 as wide as it goes.
    pub fn mouth_width(&self) -> f32 {
        (0.5 + 0.5 * self.smile.max(self.spread) - 0.5 * self.pucker).clamp(0.0, 1.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_head_turns_about_the_neck() {
        let mut pose = PresenterPose::default();
        assert_eq!(pose.head_position(), pose.position);
        pose.head.yaw = 0.5;
        assert!(pose.head_position().x > pose.position.x, "the face moves to the side it turns to");
        pose.head = HeadPose { pitch: 0.3, ..HeadPose::default() };
        assert!(pose.head_position().z < pose.position.z, "a nod brings the face nearer");
    }

    #[test]
    fn clamping_removes_what_cannot_be_drawn() {
        let wild =
            PresenterPose { jaw: f32::NAN, smile: 7.0, position: Vec3::splat(f32::NAN), ..PresenterPose::default() };
        let tame = wild.clamped();
        assert_eq!((tame.jaw, tame.smile), (0.0, 1.0));
        assert!(tame.position.is_finite());
    }
}
