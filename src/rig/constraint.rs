//! Node constraints of VRM 1.0 (roll, aim, rotation), evaluated in the model's order: sources come first.

use glam::{Mat4, Quat, Vec3};

use super::skeleton::Skeleton;
use crate::avatar::{AvatarModel, ConstraintKind, Transform};

/// Turns all constrained nodes. Needs local transforms only; `world` is stale afterwards.
pub(super) fn apply(model: &AvatarModel, skeleton: &mut Skeleton) {
    for constraint in &model.constraints {
        let (Some(source), Some(node)) = (model.nodes.get(constraint.source), model.nodes.get(constraint.node)) else {
            continue;
        };
        let (source_rest, node_rest) = (source.rest.rotation, node.rest.rotation);
        let source_now = skeleton.local().get(constraint.source).map_or(source_rest, |t| t.rotation);
        let target = match constraint.kind {
            ConstraintKind::Rotation => node_rest * source_rest.inverse() * source_now,
            ConstraintKind::Roll { axis } => {
                let delta = source_rest.inverse() * source_now;
                let in_parent = source_rest * delta * source_rest.inverse();
                let in_node = node_rest.inverse() * in_parent * node_rest;
                let bend = Quat::from_rotation_arc(axis, (in_node * axis).normalize_or(axis));
                node_rest * bend.inverse() * in_node
            }
            ConstraintKind::Aim { axis } => {
                let Some(target) = aim(model, skeleton.local(), constraint.node, constraint.source, axis) else {
                    continue;
                };
                target
            }
        };
        let (locals, _) = skeleton.parts_mut();
        if let Some(local) = locals.get_mut(constraint.node) {
            let turned = node_rest.slerp(target.normalize(), constraint.weight);
            if turned.is_finite() {
                local.rotation = turned.normalize();
            }
        }
    }
}

fn aim(model: &AvatarModel, local: &[Transform], node: usize, source: usize, axis: Vec3) -> Option<Quat> {
    let rest = model.nodes.get(node)?.rest.rotation;
    let parent = model.nodes.get(node)?.parent;
    let parent_rotation = rotation_of(model, local, parent);
    let from = parent_rotation * rest * axis;
    let here = matrix_of(model, local, Some(node)).w_axis.truncate();
    let there = matrix_of(model, local, Some(source)).w_axis.truncate();
    let to = (there - here).try_normalize()?;
    let turn = Quat::from_rotation_arc(from.try_normalize()?, to);
    Some(parent_rotation.inverse() * turn * parent_rotation * rest)
}

/// Walks up to the root; parents have smaller indices, so this ends.
fn matrix_of(model: &AvatarModel, local: &[Transform], node: Option<usize>) -> Mat4 {
    let (mut matrix, mut at) = (Mat4::IDENTITY, node);
    while let Some((transform, node)) = at.and_then(|n| local.get(n).zip(model.nodes.get(n))) {
        matrix = transform.to_mat4() * matrix;
        at = node.parent;
    }
    matrix
}

fn rotation_of(model: &AvatarModel, local: &[Transform], node: Option<usize>) -> Quat {
    let (mut rotation, mut at) = (Quat::IDENTITY, node);
    while let Some((transform, node)) = at.and_then(|n| local.get(n).zip(model.nodes.get(n))) {
        rotation = transform.rotation * rotation;
        at = node.parent;
    }
    rotation.normalize()
}
