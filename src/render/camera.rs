//! Where the picture is taken from, and how an avatar is framed. Avatar space, metres, radians.

use glam::camera::rh;
use glam::{Mat4, Vec3};

use crate::avatar::AvatarModel;
use crate::types::Bone;

/// A perspective camera that stands upright.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Camera {
    /// Where it stands.
    pub position: Vec3,
    /// What it looks at.
    pub target: Vec3,
    /// Vertical field of view, radians, 0.01..3.
    pub fov_y_rad: f32,
    /// Nearer than this is cut off.
    pub near_m: f32,
    /// Farther than this is cut off.
    pub far_m: f32,
}

impl Camera {
    /// The usual field of view: 30°, little perspective, as portraits have it.
    pub const FOV_Y_RAD: f32 = 30.0 * std::f32::consts::PI / 180.0;

    /// From avatar space to view space. Looking straight up or down, the picture's upper edge points along −Z or +Z.
    pub fn view_from_avatar(&self) -> Mat4 {
        let forward = (self.target - self.position).try_normalize().unwrap_or(Vec3::NEG_Z);
        let up = if forward.y.abs() > 0.9999 { Vec3::NEG_Z * -forward.y.signum() } else { Vec3::Y };
        rh::view::look_at_mat4(self.position, self.position + forward, up)
    }

    /// From view space to clip space (depth 0..1) for a picture of this width by height.
    pub fn clip_from_view(&self, aspect: f32) -> Mat4 {
        let near = self.near_m.max(1e-4);
        let fov = self.fov_y_rad.clamp(0.01, 3.0);
        rh::proj::directx::perspective(fov, aspect.clamp(1e-3, 1e3), near, self.far_m.max(near * 2.0))
    }

    /// From avatar space to clip space.
    pub fn clip_from_avatar(&self, aspect: f32) -> Mat4 {
        self.clip_from_view(aspect) * self.view_from_avatar()
    }
}

/// How much of the avatar the picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Framing {
    Head,
    #[default]
    Bust,
    Full,
}

/// A box in avatar space.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Bounds {
    pub min: Vec3,
    pub max: Vec3,
}

impl Bounds {
    /// Round all vertices of the avatar at rest; `None` if it has none.
    pub fn of(model: &AvatarModel) -> Option<Self> {
        let mut bounds: Option<Self> = None;
        let node_matrix = |node: usize| model.nodes.get(node).map_or(Mat4::IDENTITY, |n| n.avatar_from_node);
        let mut joints: Vec<Mat4> = Vec::new();
        for mesh in &model.meshes {
            joints.clear();
            match mesh.skin.and_then(|s| model.skins.get(s)) {
                Some(skin) => {
                    joints.extend(skin.joints.iter().zip(&skin.joint_from_mesh).map(|(j, m)| node_matrix(*j) * *m));
                }
                None => joints.push(node_matrix(mesh.node)),
            }
            for primitive in &mesh.primitives {
                for (i, position) in primitive.positions.iter().enumerate() {
                    let point = skinned(*position, primitive.joints.get(i), primitive.weights.get(i), &joints);
                    if point.is_finite() {
                        let b = bounds.get_or_insert(Self { min: point, max: point });
                        *b = Self { min: b.min.min(point), max: b.max.max(point) };
                    }
                }
            }
        }
        bounds
    }

    /// The middle.
    pub fn center(self) -> Vec3 {
        (self.min + self.max) * 0.5
    }

    /// The lengths of the sides.
    pub fn size(self) -> Vec3 {
        self.max - self.min
    }
}

fn skinned(position: Vec3, joints: Option<&[u16; 4]>, weights: Option<&[f32; 4]>, matrices: &[Mat4]) -> Vec3 {
    let (Some(joints), Some(weights)) = (joints, weights) else { return position };
    let mut sum = Vec3::ZERO;
    for (joint, weight) in joints.iter().zip(weights) {
        if *weight != 0.0
            && let Some(matrix) = matrices.get(usize::from(*joint))
        {
            sum += matrix.transform_point3(position) * *weight;
        }
    }
    sum
}

/// A camera in front of the avatar at rest. Without the bones it needs, or without meshes, it shows everything.
///
/// `aspect` is the picture's width by height; a narrow picture is taken from farther away, so that the sides fit.
pub fn frame_avatar(model: &AvatarModel, framing: Framing, fov_y_rad: f32, aspect: f32) -> Camera {
    let bounds = Bounds::of(model).unwrap_or(Bounds { min: Vec3::splat(-0.5), max: Vec3::splat(0.5) });
    let tan = (fov_y_rad.clamp(0.01, 3.0) * 0.5).tan();
    let narrow = aspect.clamp(0.1, 1.0);
    let origin_of =
        |bone| model.bone(bone).and_then(|n| model.nodes.get(n)).map(|n| n.avatar_from_node.w_axis.truncate());
    // The head bone sits at the neck; up to the crown it is `height` (at least 12 cm for files with a headless mesh).
    let head = origin_of(Bone::Head).map(|origin| (origin, (bounds.max.y - origin.y).max(0.12)));
    let camera = |target: Vec3, distance: f32| Camera {
        position: target + Vec3::Z * distance,
        target,
        fov_y_rad,
        near_m: (distance * 0.02).clamp(1e-3, 0.05),
        far_m: (distance * 4.0 + bounds.size().length()).max(20.0),
    };
    match (framing, head) {
        // From a little below the chin to a little above the crown.
        (Framing::Head, Some((origin, height))) => {
            camera(origin + Vec3::Y * (height * 0.47), height * 0.62 / tan / narrow)
        }
        (Framing::Bust, Some((origin, height))) => {
            // From the chest, or one head below the neck, up to a little above the crown.
            let chest = origin_of(Bone::UpperChest).or_else(|| origin_of(Bone::Chest)).map_or(origin.y, |c| c.y);
            let bottom = chest.min(origin.y - height * 0.4);
            let top = bounds.max.y + height * 0.12;
            let half = (top - bottom) * 0.5;
            camera(Vec3::new(origin.x, (top + bottom) * 0.5, origin.z), half / tan / narrow)
        }
        _ => {
            let size = bounds.size();
            let half = (size.y.max(size.x / aspect.max(0.1)) * 0.55).max(1e-3);
            camera(bounds.center(), half / tan + size.z * 0.5)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn target_is_in_the_middle_and_up_is_up() {
        let camera = Camera {
            position: Vec3::new(0.3, 1.5, 2.0),
            target: Vec3::new(0.0, 1.4, 0.0),
            fov_y_rad: Camera::FOV_Y_RAD,
            near_m: 0.05,
            far_m: 20.0,
        };
        let clip = camera.clip_from_avatar(1.5);
        let middle = clip.project_point3(camera.target);
        assert!(middle.truncate().length() < 1e-5 && (0.0..1.0).contains(&middle.z), "{middle}");
        assert!(clip.project_point3(camera.target + Vec3::Y * 0.1).y > 0.05);
        assert!(clip.project_point3(camera.target + Vec3::X * 0.1).x > 0.05, "the avatar's left is on the right");
    }

    #[test]
    fn odd_cameras_stay_finite() {
        for (position, target) in
            [(Vec3::ZERO, Vec3::ZERO), (Vec3::Y, Vec3::ZERO), (Vec3::NEG_Y, Vec3::ZERO), (Vec3::splat(1e6), Vec3::ZERO)]
        {
            let camera = Camera { position, target, fov_y_rad: 0.0, near_m: 0.0, far_m: 0.0 };
            assert!(camera.clip_from_avatar(0.0).is_finite(), "{camera:?}");
        }
    }
}
