//! Skinning on the CPU: for tests and measurements; pictures are skinned on the GPU.

use glam::{Mat4, Vec3};

use crate::avatar::{AvatarModel, PosedAvatar};

/// The vertex positions of one primitive in avatar space, morphs and skin applied; empty where it does not exist.
pub fn skinned_positions(model: &AvatarModel, posed: &PosedAvatar, mesh: usize, primitive: usize) -> Vec<Vec3> {
    let Some(mesh) = model.meshes.get(mesh) else { return Vec::new() };
    let Some(primitive) = mesh.primitives.get(primitive) else { return Vec::new() };
    let mut positions = primitive.positions.clone();
    let weights = posed.morph_weights.iter().skip(mesh.morph_offset);
    for (morph, weight) in primitive.morphs.iter().zip(weights).filter(|(_, w)| **w != 0.0) {
        for (vertex, delta) in morph.vertices.iter().zip(&morph.positions) {
            if let Some(position) = positions.get_mut(*vertex as usize) {
                *position += *delta * *weight;
            }
        }
    }
    let matrix = |joint: u16| {
        let index = mesh.joint_offset + usize::from(joint);
        posed.joint_matrices.get(index).copied().unwrap_or(Mat4::IDENTITY)
    };
    for ((position, joints), weights) in positions.iter_mut().zip(&primitive.joints).zip(&primitive.weights) {
        let skinned: Vec3 = joints
            .iter()
            .zip(weights)
            .map(|(joint, weight)| matrix(*joint).transform_point3(*position) * *weight)
            .sum();
        *position = skinned;
    }
    positions
}
