//! Gaze angles become eye rotations or look expressions, by the avatar's own range maps.
//!
//! Angles are relative to the head: yaw > 0 to the own left, pitch > 0 down.

use glam::{EulerRot, Quat};

use crate::avatar::{AvatarModel, Fallback, Fallbacks, LookAt, LookAtKind, LookAtRange, Preset};
use crate::types::Bone;

/// For avatars that say nothing about their eyes: gaze of 30° turns the eye bones by 8° …
const DEFAULT_BONE: LookAtRange = LookAtRange { input_max: 0.524, output_scale: 0.14 };
/// … or plays the look expression in full.
const DEFAULT_EXPRESSION: LookAtRange = LookAtRange { input_max: 0.524, output_scale: 1.0 };

/// How this avatar's eyes follow the gaze.
#[derive(Debug)]
pub(super) struct Gaze {
    look_at: Option<LookAt>,
}

/// Weights of the four look expressions.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct LookWeights {
    pub up: f32,
    pub down: f32,
    pub left: f32,
    pub right: f32,
}

impl LookWeights {
    pub(super) fn by_preset(&self) -> [(Preset, f32); 4] {
        [
            (Preset::LookUp, self.up),
            (Preset::LookDown, self.down),
            (Preset::LookLeft, self.left),
            (Preset::LookRight, self.right),
        ]
    }
}

impl Gaze {
    pub(super) fn new(model: &AvatarModel, fallbacks: &Fallbacks) -> Self {
        let has_bones = model.bone(Bone::LeftEye).is_some() || model.bone(Bone::RightEye).is_some();
        let has_shapes = matches!(fallbacks.presets[Preset::LookLeft as usize], Fallback::Own(_) | Fallback::Shapes(_));
        let same = |kind, range| LookAt {
            kind,
            offset_from_head: glam::Vec3::ZERO,
            horizontal_inner: range,
            horizontal_outer: range,
            vertical_down: range,
            vertical_up: range,
        };
        // What the file says counts only if the avatar has what it speaks of.
        let look_at = match model.look_at {
            Some(l) if l.kind == LookAtKind::Bone && has_bones => Some(l),
            Some(l) if l.kind == LookAtKind::Expression && has_shapes => Some(l),
            _ if has_bones => Some(same(LookAtKind::Bone, DEFAULT_BONE)),
            _ if has_shapes => Some(same(LookAtKind::Expression, DEFAULT_EXPRESSION)),
            _ => None,
        };
        Self { look_at }
    }

    /// Weights of the look expressions; zeros for an avatar with eye bones.
    pub(super) fn weights(&self, yaw: f32, pitch: f32) -> LookWeights {
        let Some(look_at) = self.look_at.filter(|l| l.kind == LookAtKind::Expression) else {
            return LookWeights::default();
        };
        let horizontal = map(look_at.horizontal_outer, yaw.abs());
        let vertical = map(if pitch > 0.0 { look_at.vertical_down } else { look_at.vertical_up }, pitch.abs());
        let on = |is_on: bool, weight: f32| if is_on { weight } else { 0.0 };
        LookWeights {
            up: on(pitch < 0.0, vertical),
            down: on(pitch > 0.0, vertical),
            left: on(yaw > 0.0, horizontal),
            right: on(yaw < 0.0, horizontal),
        }
    }

    /// Normalised rotations of the left and the right eye, scaled by `factor`; identity without eye bones.
    pub(super) fn eyes(&self, yaw: f32, pitch: f32, factor: f32) -> [Quat; 2] {
        let Some(look_at) = self.look_at.filter(|l| l.kind == LookAtKind::Bone) else {
            return [Quat::IDENTITY; 2];
        };
        let vertical = map(if pitch > 0.0 { look_at.vertical_down } else { look_at.vertical_up }, pitch.abs());
        let pitch = vertical.copysign(pitch) * factor;
        let turn = |outwards: bool| {
            let range = if outwards { look_at.horizontal_outer } else { look_at.horizontal_inner };
            let yaw = map(range, yaw.abs()).copysign(yaw) * factor;
            Quat::from_euler(EulerRot::YXZ, yaw, pitch, 0.0)
        };
        [turn(yaw > 0.0), turn(yaw < 0.0)]
    }
}

/// A range map on an absolute angle.
fn map(range: LookAtRange, angle: f32) -> f32 {
    if range.input_max <= 0.0 {
        return if angle > 0.0 { range.output_scale } else { 0.0 };
    }
    angle.min(range.input_max) / range.input_max.max(0.001_f32.to_radians()) * range.output_scale
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::Vec3;

    fn degrees(input_max: f32, output_scale: f32) -> LookAtRange {
        LookAtRange { input_max: input_max.to_radians(), output_scale: output_scale.to_radians() }
    }

    /// The numbers of tests/data/vrm_vectors.json, with the maps for up and down as the specification says
    /// (the program they were made with swaps those two).
    #[test]
    fn bones_follow_the_reference() {
        let look_at = LookAt {
            kind: LookAtKind::Bone,
            offset_from_head: Vec3::ZERO,
            horizontal_inner: degrees(90.0, 10.0),
            horizontal_outer: degrees(90.0, 20.0),
            vertical_down: degrees(90.0, 30.0),
            vertical_up: degrees(90.0, 5.0),
        };
        let gaze = Gaze { look_at: Some(look_at) };
        let check = |yaw: f32, pitch: f32, left: [f32; 2], right: [f32; 2]| {
            for (eye, [yaw_deg, pitch_deg]) in
                gaze.eyes(yaw.to_radians(), pitch.to_radians(), 1.0).iter().zip([left, right])
            {
                let v = *eye * Vec3::Z;
                let found = [v.x.atan2(v.z).to_degrees(), (-v.y).atan2(v.x.hypot(v.z)).to_degrees()];
                assert!((found[0] - yaw_deg).abs() < 1e-3 && (found[1] - pitch_deg).abs() < 1e-3, "{found:?}");
            }
        };
        check(0.0, 45.0, [0.0, 15.0], [0.0, 15.0]);
        check(0.0, -45.0, [0.0, -2.5], [0.0, -2.5]);
        check(45.0, 0.0, [10.0, 0.0], [5.0, 0.0]);
        check(-45.0, 0.0, [-5.0, 0.0], [-10.0, 0.0]);
        check(180.0, 90.0, [20.0, 30.0], [10.0, 30.0]);
    }

    #[test]
    fn a_map_of_no_width_is_a_switch() {
        let range = LookAtRange { input_max: 0.0, output_scale: 0.7 };
        assert_eq!((map(range, 0.0), map(range, 0.1)), (0.0, 0.7));
    }
}
