//! The canonical pose: what any avatar shall do, before a skeleton is known.

use glam::{Quat, Vec3};

use super::{BONE_COUNT, ParameterSet, Timestamp};

/// A body pose: each bone's rotation relative to the T-pose, in its parent's normalised frame (model axes).
#[derive(Clone, Debug, PartialEq)]
pub struct BodyPose {
    /// By `Bone as usize`; identity is the T-pose.
    pub bones: [Quat; BONE_COUNT],
    /// Movement of the hips from their rest place, metres in avatar space.
    pub hips_offset_m: Vec3,
}

impl Default for BodyPose {
    fn default() -> Self {
        Self { bones: [Quat::IDENTITY; BONE_COUNT], hips_offset_m: Vec3::ZERO }
    }
}

/// What the avatar shall do at one moment. Sides are the avatar's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AvatarPose {
    /// The moment described.
    pub at: Timestamp,
    /// Face, head and body parameters, applied on top of the body poses.
    pub params: ParameterSet,
    /// Weights of the avatar's own expressions, by `AvatarProfile::expressions` index, 0..1.
    pub slots: Vec<f32>,
    /// The two body poses that `rig` blends.
    pub poses: [BodyPose; 2],
    /// 0 shows `poses[0]`, 1 shows `poses[1]`.
    pub blend: f32,
}
