//! Node transforms of the current frame, and how normalised bone rotations get into them.

use glam::{Mat4, Quat, Vec3};

use crate::avatar::{AvatarModel, Transform};
use crate::types::{BONE_COUNT, Bone};

/// All nodes of one avatar in the current frame.
#[derive(Debug)]
pub(super) struct Skeleton {
    local: Vec<Transform>,
    world: Vec<Mat4>,
    /// Rest rotation in avatar space, by node.
    rest_rotation: Vec<Quat>,
    /// From avatar space into the rest space of the hips' parent.
    hips_parent_from_avatar: Mat4,
}

impl Skeleton {
    pub(super) fn new(model: &AvatarModel) -> Self {
        let mut rest_rotation: Vec<Quat> = Vec::with_capacity(model.nodes.len());
        for node in &model.nodes {
            let above = node.parent.and_then(|p| rest_rotation.get(p)).copied().unwrap_or_default();
            rest_rotation.push((above * node.rest.rotation).normalize());
        }
        let hips = model.bone(Bone::Hips).and_then(|n| model.nodes.get(n));
        let parent = hips.and_then(|n| n.parent).and_then(|p| model.nodes.get(p));
        let inverse = parent.map_or(Mat4::IDENTITY, |p| p.avatar_from_node).inverse();
        Self {
            local: model.nodes.iter().map(|n| n.rest).collect(),
            world: model.nodes.iter().map(|n| n.avatar_from_node).collect(),
            rest_rotation,
            hips_parent_from_avatar: if inverse.is_finite() { inverse } else { Mat4::IDENTITY },
        }
    }

    /// From each node's space to avatar space.
    pub(super) fn world(&self) -> &[Mat4] {
        &self.world
    }

    pub(super) fn local(&self) -> &[Transform] {
        &self.local
    }

    pub(super) fn parts_mut(&mut self) -> (&mut [Transform], &mut [Mat4]) {
        (&mut self.local, &mut self.world)
    }

    pub(super) fn rest_rotation(&self, node: usize) -> Quat {
        self.rest_rotation.get(node).copied().unwrap_or_default()
    }

    /// The rest rotation of a node's parent in avatar space.
    fn rest_rotation_above(&self, model: &AvatarModel, node: usize) -> Quat {
        let parent = model.nodes.get(node).and_then(|n| n.parent);
        parent.map_or(Quat::IDENTITY, |p| self.rest_rotation(p))
    }

    /// Sets all nodes to rest, then the bones to their normalised rotations and the hips to their place.
    pub(super) fn apply(&mut self, model: &AvatarModel, normalised: &[Quat; BONE_COUNT], hips_offset: Vec3) {
        for (local, node) in self.local.iter_mut().zip(&model.nodes) {
            *local = node.rest;
        }
        for (node, rotation) in model.bones.iter().zip(normalised) {
            let Some(node) = *node else { continue };
            let above = self.rest_rotation_above(model, node);
            if let Some(local) = self.local.get_mut(node) {
                local.rotation = (above.inverse() * *rotation * above * local.rotation).normalize();
            }
        }
        if let Some(hips) = model.bone(Bone::Hips).and_then(|n| self.local.get_mut(n)) {
            hips.translation += self.hips_parent_from_avatar.transform_vector3(hips_offset);
        }
    }

    /// Recomputes `world` from `local`.
    pub(super) fn update_world(&mut self, model: &AvatarModel) {
        update_world(model, &self.local, &mut self.world);
    }
}

/// From local transforms to matrices in avatar space; parents stand before their children.
pub(super) fn update_world(model: &AvatarModel, local: &[Transform], world: &mut [Mat4]) {
    for (index, (node, local)) in model.nodes.iter().zip(local).enumerate() {
        let own = local.to_mat4();
        let matrix = node.parent.and_then(|p| world.get(p)).map_or(own, |parent| *parent * own);
        if let Some(slot) = world.get_mut(index) {
            *slot = matrix;
        }
    }
}
