//! From which side the camera sees the face.

use glam::{Quat, Vec3};

use super::skeleton::Skeleton;
use crate::avatar::AvatarModel;
use crate::types::Bone;

/// Where the face is above the head bone if the file does not say, metres.
const FACE_ABOVE_HEAD_M: f32 = 0.08;

/// The camera that looks at the avatar, in avatar space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ViewCamera {
    /// Where it stands.
    pub position: Vec3,
    /// Where it looks.
    pub target: Vec3,
    /// Vertical field of view, radians.
    pub fov_y_rad: f32,
    /// What is up in the picture.
    pub up: Vec3,
}

impl Default for ViewCamera {
    /// In front of a head at eye height.
    fn default() -> Self {
        Self {
            position: Vec3::new(0.0, 1.4, 2.0),
            target: Vec3::new(0.0, 1.4, 0.0),
            fov_y_rad: 30.0_f32.to_radians(),
            up: Vec3::Y,
        }
    }
}

/// A view direction in the face's frame, radians.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ViewDirection {
    /// -π..π; > 0: the camera is on the avatar's left.
    pub alpha: f32,
    /// -π/2..π/2; > 0: the camera sees the face from above.
    pub beta: f32,
}

impl ViewDirection {
    /// The unit vector from the face to the camera, in the face's frame (+Y up, facing +Z, +X own left).
    pub fn to_vec3(self) -> Vec3 {
        let (sin_a, cos_a) = self.alpha.sin_cos();
        let (sin_b, cos_b) = self.beta.sin_cos();
        Vec3::new(sin_a * cos_b, sin_b, cos_a * cos_b)
    }

    /// The direction of a vector; straight ahead for a zero one.
    pub fn from_vec3(v: Vec3) -> Self {
        let v = v.normalize_or(Vec3::Z);
        Self { alpha: v.x.atan2(v.z), beta: v.y.clamp(-1.0, 1.0).asin() }
    }
}

/// The direction in which `camera` sees the face as posed now.
pub(super) fn direction(model: &AvatarModel, skeleton: &Skeleton, camera: &ViewCamera) -> ViewDirection {
    let head = model.bone(Bone::Head);
    let Some((node, matrix)) = head.and_then(|n| skeleton.world().get(n).map(|m| (n, *m))) else {
        return ViewDirection::from_vec3(finite(camera.position - camera.target));
    };
    let (_, rotation, position) = matrix.to_scale_rotation_translation();
    let face = (rotation * skeleton.rest_rotation(node).inverse()).normalize();
    let offset = model.look_at.map(|l| l.offset_from_head).filter(|o| o.length_squared() > 1e-8);
    let center = match offset {
        Some(offset) => matrix.transform_point3(offset),
        None => position + face * Vec3::Y * FACE_ABOVE_HEAD_M,
    };
    let face = if face.is_finite() { face } else { Quat::IDENTITY };
    ViewDirection::from_vec3(face.inverse() * finite(camera.position - center))
}

fn finite(v: Vec3) -> Vec3 {
    if v.is_finite() { v } else { Vec3::Z }
}
