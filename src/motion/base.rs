//! The base: a relaxed stance with the arms down, never a T-pose; breath and sway.

use std::f32::consts::TAU;

use glam::{EulerRot, Quat, Vec3};

use super::wander::Wander;
use super::{Layer, LayerInput};
use crate::signal::Rng;
use crate::types::{AvatarPose, BodyPose, Bone, Param};

/// A breath at rest takes this long, seconds.
const BREATH_SECS: f32 = 4.2;
/// How far the hips sway at idle strength 1, metres.
const SWAY_M: Vec3 = Vec3::new(0.007, 0.0, 0.004);
/// How far the upper body turns, bends and tilts at idle strength 1, radians.
const TURN: f32 = 0.02;
const BEND: f32 = 0.008;
const TILT: f32 = 0.012;

/// Writes both body poses, their blend, and the body's own small movement.
#[derive(Debug)]
pub(super) struct Base {
    poses: [BodyPose; 2],
    breath_phase: f32,
    breath_pace: Wander,
    weight: Wander,
    sway: [Wander; 2],
    turn: Wander,
    bend: Wander,
    tilt: Wander,
}

impl Base {
    pub fn new(rng: &mut Rng) -> Self {
        Self {
            poses: [stance(&CALM), stance(&LOOSE)],
            breath_phase: rng.range(0.0, TAU),
            breath_pace: Wander::new(0.05, rng),
            weight: Wander::new(0.06, rng),
            sway: [Wander::new(0.09, rng), Wander::new(0.07, rng)],
            turn: Wander::new(0.06, rng),
            bend: Wander::new(0.08, rng),
            tilt: Wander::new(0.07, rng),
        }
    }
}

impl Layer for Base {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        let dt = input.dt;
        let strength = input.settings.idle_strength.clamp(0.0, 2.0);
        for (to, from) in pose.poses.iter_mut().zip(&self.poses) {
            to.bones = from.bones;
            to.hips_offset_m = from.hips_offset_m;
        }
        // At idle strength 0 the stance rests at the first pose.
        pose.blend = ((0.5 + 0.6 * self.weight.step(dt)) * strength.min(1.0)).clamp(0.0, 1.0);

        let pace = 1.0 + 0.12 * self.breath_pace.step(dt);
        self.breath_phase = (self.breath_phase + TAU / BREATH_SECS * pace * dt) % TAU;
        let params = &mut pose.params;
        params.set(Param::Breath, (0.5 - 0.5 * self.breath_phase.cos()) * strength.min(1.0));
        let [x, z] = &mut self.sway;
        params.set(Param::BodyX, x.step(dt) * SWAY_M.x * strength);
        params.set(Param::BodyZ, z.step(dt) * SWAY_M.z * strength);
        params.set(Param::BodyYaw, self.turn.step(dt) * TURN * strength);
        params.set(Param::BodyPitch, self.bend.step(dt) * BEND * strength);
        params.set(Param::BodyRoll, self.tilt.step(dt) * TILT * strength);
    }
}

/// One relaxed stance, degrees. Left and right differ a little: symmetry looks like a doll.
struct Stance {
    /// Upper arms down from the T-pose: left, right.
    arm_down: [f32; 2],
    /// Upper arms a little forward.
    arm_forward: [f32; 2],
    /// Elbows.
    elbow: [f32; 2],
    /// Shoulders down.
    shoulder: f32,
    /// Fingers, at the base joint of the index finger; the others follow.
    finger: [f32; 2],
}

const CALM: Stance = Stance {
    arm_down: [74.0, 75.0],
    arm_forward: [4.0, 6.0],
    elbow: [14.0, 17.0],
    shoulder: 3.0,
    finger: [14.0, 16.0],
};
const LOOSE: Stance = Stance {
    arm_down: [71.5, 73.0],
    arm_forward: [7.0, 3.5],
    elbow: [19.0, 13.0],
    shoulder: 1.5,
    finger: [18.0, 13.0],
};

/// The stance as bone rotations. In the T-pose the left arm lies along +X with the palm down; turning it about Z by a
/// negative angle lowers it, about Y by a negative angle brings it forward (+Z). The right side is the mirror image.
fn stance(stance: &Stance) -> BodyPose {
    let mut pose = BodyPose::default();
    for (side, (bones, sign)) in [(LEFT_ARM, -1.0), (RIGHT_ARM, 1.0)].into_iter().enumerate() {
        let turn = |y_deg: f32, z_deg: f32| {
            Quat::from_euler(EulerRot::ZYX, sign * z_deg.to_radians(), sign * y_deg.to_radians(), 0.0)
        };
        let mut set = |bone: Bone, rotation: Quat| pose.bones[bone as usize] = rotation;
        set(bones.shoulder, turn(0.0, stance.shoulder));
        set(bones.upper, turn(stance.arm_forward[side], stance.arm_down[side] - stance.shoulder));
        set(bones.lower, turn(stance.elbow[side], 0.0));
        set(bones.hand, turn(2.0, 3.0));
        // The little finger curls most, the tip joints less than the middle ones.
        for (finger, joints) in bones.fingers.into_iter().enumerate() {
            let curl = stance.finger[side] * (1.0 + 0.18 * finger as f32);
            for (joint, share) in joints.into_iter().zip([1.0, 1.25, 0.8]) {
                set(joint, turn(0.0, curl * share));
            }
        }
        for (joint, curl) in bones.thumb.into_iter().zip([6.0, 8.0, 10.0]) {
            set(joint, turn(-curl, 0.0));
        }
    }
    pose
}

struct ArmBones {
    shoulder: Bone,
    upper: Bone,
    lower: Bone,
    hand: Bone,
    fingers: [[Bone; 3]; 4],
    thumb: [Bone; 3],
}

const LEFT_ARM: ArmBones = ArmBones {
    shoulder: Bone::LeftShoulder,
    upper: Bone::LeftUpperArm,
    lower: Bone::LeftLowerArm,
    hand: Bone::LeftHand,
    fingers: [
        [Bone::LeftIndexProximal, Bone::LeftIndexIntermediate, Bone::LeftIndexDistal],
        [Bone::LeftMiddleProximal, Bone::LeftMiddleIntermediate, Bone::LeftMiddleDistal],
        [Bone::LeftRingProximal, Bone::LeftRingIntermediate, Bone::LeftRingDistal],
        [Bone::LeftLittleProximal, Bone::LeftLittleIntermediate, Bone::LeftLittleDistal],
    ],
    thumb: [Bone::LeftThumbMetacarpal, Bone::LeftThumbProximal, Bone::LeftThumbDistal],
};

const RIGHT_ARM: ArmBones = ArmBones {
    shoulder: Bone::RightShoulder,
    upper: Bone::RightUpperArm,
    lower: Bone::RightLowerArm,
    hand: Bone::RightHand,
    fingers: [
        [Bone::RightIndexProximal, Bone::RightIndexIntermediate, Bone::RightIndexDistal],
        [Bone::RightMiddleProximal, Bone::RightMiddleIntermediate, Bone::RightMiddleDistal],
        [Bone::RightRingProximal, Bone::RightRingIntermediate, Bone::RightRingDistal],
        [Bone::RightLittleProximal, Bone::RightLittleIntermediate, Bone::RightLittleDistal],
    ],
    thumb: [Bone::RightThumbMetacarpal, Bone::RightThumbProximal, Bone::RightThumbDistal],
};

#[cfg(test)]
mod tests {
    use super::*;

    /// Where a chain of bones ends whose joints lie along `side` (+1 left, -1 right) in the T-pose.
    fn end_of_chain(pose: &BodyPose, side: f32, bones: &[(Bone, f32)]) -> Vec3 {
        let mut rotation = Quat::IDENTITY;
        let mut place = Vec3::ZERO;
        for (bone, length) in bones {
            rotation *= pose.bones[*bone as usize];
            place += rotation * (Vec3::X * side * *length);
        }
        place
    }

    #[test]
    fn hands_hang_beside_the_thighs() {
        for pose in [stance(&CALM), stance(&LOOSE)] {
            for (arm, side) in [(LEFT_ARM, 1.0), (RIGHT_ARM, -1.0)] {
                let chain = [(arm.shoulder, 0.08), (arm.upper, 0.25), (arm.lower, 0.24)];
                let hand = end_of_chain(&pose, side, &chain);
                assert!(hand.y < -0.40, "hand at {hand}: not down");
                assert!(hand.x * side > 0.10 && hand.x * side < 0.28, "hand at {hand}: not beside the body");
                assert!(hand.z > 0.03 && hand.z < 0.15, "hand at {hand}: not a little in front");

                // Fingers curl towards the palm, which faces the thigh: inwards.
                let mut to_tip = chain.to_vec();
                to_tip.push((arm.hand, 0.0));
                to_tip.extend(arm.fingers[0].map(|joint| (joint, 0.03)));
                let tip = end_of_chain(&pose, side, &to_tip);
                assert!(tip.y < hand.y, "finger tip at {tip}: above the hand");
                assert!((tip.x - hand.x) * side < 0.02, "finger tip at {tip}: bent backwards from {hand}");
            }
        }
    }
}
