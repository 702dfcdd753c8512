//! From the canonical pose to one normalised rotation per bone that this avatar has.

use glam::{Quat, Vec3};

use crate::avatar::AvatarModel;
use crate::types::{AvatarPose, BONE_COUNT, Bone, HeadPose, Param};

/// How far the upper body leans back at a full breath, radians.
const BREATH_LEAN_RAD: f32 = 0.018;
/// How far the shoulders rise at a full breath, radians.
const BREATH_SHOULDER_RAD: f32 = 0.025;

const TORSO: [Bone; 3] = [Bone::Spine, Bone::Chest, Bone::UpperChest];
/// A missing bone's rotation goes up to the bone before it …
const FOLD_UP: [(Bone, Bone); 3] =
    [(Bone::UpperChest, Bone::Chest), (Bone::Chest, Bone::Spine), (Bone::Spine, Bone::Hips)];
/// … or down to the bone after it; in this order, so that several missing bones in a row add up.
const FOLD_DOWN: [(Bone, Bone); 31] = [
    (Bone::Neck, Bone::Head),
    (Bone::LeftShoulder, Bone::LeftUpperArm),
    (Bone::LeftUpperArm, Bone::LeftLowerArm),
    (Bone::LeftLowerArm, Bone::LeftHand),
    (Bone::RightShoulder, Bone::RightUpperArm),
    (Bone::RightUpperArm, Bone::RightLowerArm),
    (Bone::RightLowerArm, Bone::RightHand),
    (Bone::LeftUpperLeg, Bone::LeftLowerLeg),
    (Bone::LeftLowerLeg, Bone::LeftFoot),
    (Bone::RightUpperLeg, Bone::RightLowerLeg),
    (Bone::RightLowerLeg, Bone::RightFoot),
    (Bone::LeftThumbMetacarpal, Bone::LeftThumbProximal),
    (Bone::LeftThumbProximal, Bone::LeftThumbDistal),
    (Bone::LeftIndexProximal, Bone::LeftIndexIntermediate),
    (Bone::LeftIndexIntermediate, Bone::LeftIndexDistal),
    (Bone::LeftMiddleProximal, Bone::LeftMiddleIntermediate),
    (Bone::LeftMiddleIntermediate, Bone::LeftMiddleDistal),
    (Bone::LeftRingProximal, Bone::LeftRingIntermediate),
    (Bone::LeftRingIntermediate, Bone::LeftRingDistal),
    (Bone::LeftLittleProximal, Bone::LeftLittleIntermediate),
    (Bone::LeftLittleIntermediate, Bone::LeftLittleDistal),
    (Bone::RightThumbMetacarpal, Bone::RightThumbProximal),
    (Bone::RightThumbProximal, Bone::RightThumbDistal),
    (Bone::RightIndexProximal, Bone::RightIndexIntermediate),
    (Bone::RightIndexIntermediate, Bone::RightIndexDistal),
    (Bone::RightMiddleProximal, Bone::RightMiddleIntermediate),
    (Bone::RightMiddleIntermediate, Bone::RightMiddleDistal),
    (Bone::RightRingProximal, Bone::RightRingIntermediate),
    (Bone::RightRingIntermediate, Bone::RightRingDistal),
    (Bone::RightLittleProximal, Bone::RightLittleIntermediate),
    (Bone::RightLittleIntermediate, Bone::RightLittleDistal),
];

/// The bones of one avatar in the current frame.
#[derive(Debug)]
pub(super) struct Body {
    has: [bool; BONE_COUNT],
    rotations: [Quat; BONE_COUNT],
    hips_offset: Vec3,
}

impl Body {
    pub(super) fn new(model: &AvatarModel) -> Self {
        Self { has: model.bones.map(|b| b.is_some()), rotations: [Quat::IDENTITY; BONE_COUNT], hips_offset: Vec3::ZERO }
    }

    /// Normalised rotations, by `Bone as usize`.
    pub(super) fn rotations(&self) -> &[Quat; BONE_COUNT] {
        &self.rotations
    }

    /// Movement of the hips from their rest place, avatar space.
    pub(super) fn hips_offset(&self) -> Vec3 {
        self.hips_offset
    }

    /// Turns a bone on top of what the pose says, in its parent's normalised frame.
    pub(super) fn turn(&mut self, bone: Bone, rotation: Quat) {
        let own = &mut self.rotations[bone as usize];
        *own = rotation * *own;
    }

    /// Blends the two body poses, puts head, body and breath on top, and folds away the bones this avatar lacks.
    pub(super) fn pose(&mut self, pose: &AvatarPose, neck_share: f32) {
        let [from, to] = &pose.poses;
        let blend = if pose.blend.is_finite() { pose.blend.clamp(0.0, 1.0) } else { 0.0 };
        for (rotation, (a, b)) in self.rotations.iter_mut().zip(from.bones.iter().zip(&to.bones)) {
            *rotation = match blend {
                0.0 => unit(*a),
                1.0 => unit(*b),
                _ => unit(unit(*a).slerp(unit(*b), blend)),
            };
        }
        let params = &pose.params;
        let get = |param| params.get(param);
        let sway = Vec3::new(get(Param::BodyX), get(Param::BodyY), get(Param::BodyZ));
        let offset = from.hips_offset_m.lerp(to.hips_offset_m, blend) + sway;
        self.hips_offset = if offset.is_finite() { offset } else { Vec3::ZERO };

        let breath = get(Param::Breath);
        let lean = breath * BREATH_LEAN_RAD;
        let body = angles(get(Param::BodyYaw), get(Param::BodyPitch), get(Param::BodyRoll));
        self.turn_torso(Quat::from_rotation_x(-lean) * body);
        self.turn(Bone::LeftShoulder, Quat::from_rotation_z(breath * BREATH_SHOULDER_RAD));
        self.turn(Bone::RightShoulder, Quat::from_rotation_z(-breath * BREATH_SHOULDER_RAD));

        // The face stays where the head turn puts it: the neck takes the lean of the breath back.
        let head =
            Quat::from_rotation_x(lean) * angles(get(Param::HeadYaw), get(Param::HeadPitch), get(Param::HeadRoll));
        let (neck_pose, head_pose) = (self.rotations[Bone::Neck as usize], self.rotations[Bone::Head as usize]);
        let neck = Quat::IDENTITY.slerp(head, neck_share) * neck_pose;
        self.rotations[Bone::Neck as usize] = neck;
        self.rotations[Bone::Head as usize] = neck.inverse() * head * neck_pose * head_pose;
        self.fold();
    }

    /// Shares a rotation between the bones of the back.
    fn turn_torso(&mut self, rotation: Quat) {
        let count = TORSO.into_iter().filter(|b| self.has[*b as usize]).count();
        if count == 0 {
            return;
        }
        let share = Quat::IDENTITY.slerp(rotation, 1.0 / count as f32);
        for bone in TORSO {
            if self.has[bone as usize] {
                self.turn(bone, share);
            }
        }
    }

    fn fold(&mut self) {
        for (missing, above) in FOLD_UP.into_iter().filter(|(b, _)| !self.has[*b as usize]) {
            let rotation = std::mem::take(&mut self.rotations[missing as usize]);
            self.rotations[above as usize] *= rotation;
        }
        for (missing, below) in FOLD_DOWN.into_iter().filter(|(b, _)| !self.has[*b as usize]) {
            let rotation = std::mem::take(&mut self.rotations[missing as usize]);
            self.rotations[below as usize] = rotation * self.rotations[below as usize];
        }
    }
}

fn angles(yaw: f32, pitch: f32, roll: f32) -> Quat {
    HeadPose { yaw, pitch, roll }.to_quat()
}

/// A unit quaternion, whatever came in.
fn unit(q: Quat) -> Quat {
    let length = q.length();
    if length.is_finite() && length > 1e-6 { q / length } else { Quat::IDENTITY }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(has: impl Fn(Bone) -> bool) -> Body {
        let mut flags = [false; BONE_COUNT];
        for bone in Bone::ALL {
            flags[bone as usize] = has(bone);
        }
        Body { has: flags, rotations: [Quat::IDENTITY; BONE_COUNT], hips_offset: Vec3::ZERO }
    }

    fn chain(body: &Body, bones: &[Bone]) -> Quat {
        bones.iter().fold(Quat::IDENTITY, |q, b| q * body.rotations()[*b as usize])
    }

    fn assert_same(a: Quat, b: Quat) {
        for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
            assert!((a * axis).abs_diff_eq(b * axis, 1e-5), "{a} is not {b}");
        }
    }

    const SPINE_TO_HEAD: [Bone; 6] = [Bone::Hips, Bone::Spine, Bone::Chest, Bone::UpperChest, Bone::Neck, Bone::Head];

    #[test]
    fn the_head_comes_out_the_same_whatever_bones_are_missing() {
        let mut pose = AvatarPose::default();
        pose.poses[0].bones[Bone::Head as usize] = Quat::from_rotation_z(0.2);
        pose.poses[0].bones[Bone::Neck as usize] = Quat::from_rotation_x(0.1);
        for (param, value) in
            [(Param::HeadYaw, 0.5), (Param::HeadPitch, -0.3), (Param::HeadRoll, 0.2), (Param::Breath, 1.0)]
        {
            pose.params.set(param, value);
        }
        let mut full = body(|_| true);
        full.pose(&pose, 0.4);
        let expected = chain(&full, &SPINE_TO_HEAD);
        let missing: [&[Bone]; 4] =
            [&[Bone::Neck], &[Bone::UpperChest], &[Bone::Chest, Bone::UpperChest], &[Bone::Neck, Bone::Chest]];
        for missing in missing {
            for share in [0.0, 0.4, 1.0] {
                let mut some = body(|b| !missing.contains(&b));
                some.pose(&pose, share);
                assert_same(chain(&some, &SPINE_TO_HEAD), expected);
                assert!(missing.iter().all(|b| some.rotations()[*b as usize] == Quat::IDENTITY));
            }
        }
    }

    #[test]
    fn the_head_turns_by_its_angles_without_pose_and_breath() {
        let mut pose = AvatarPose::default();
        pose.params.set(Param::HeadYaw, 0.6);
        let mut body = body(|_| true);
        body.pose(&pose, 0.4);
        assert_same(chain(&body, &SPINE_TO_HEAD), Quat::from_rotation_y(0.6));
    }
}
