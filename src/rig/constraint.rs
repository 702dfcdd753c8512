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

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::avatar::load_bytes;
    use crate::types::BONE_COUNT;

    /// Node 0 is the source (a bone, so that it can be turned), node 1 the constrained one, 2 m above it.
    fn run(constraint: &Value, source_rest: Quat, node_rest: Quat, turn: Quat) -> Quat {
        let file = json!({
            "asset": {"version": "2.0"},
            "nodes": [
                {"rotation": source_rest.to_array(), "translation": [0, 0, 2]},
                {"rotation": node_rest.to_array(), "translation": [0, 2, 0],
                    "extensions": {"VRMC_node_constraint": {"constraint": constraint}}}
            ],
            "extensions": {"VRMC_vrm": {"humanoid": {"humanBones": {"leftHand": {"node": 0}}}}}
        });
        let model = load_bytes(file.to_string().as_bytes(), None).unwrap();
        assert_eq!(model.constraints.len(), 1);
        let mut skeleton = Skeleton::new(&model);
        let mut bones = [Quat::IDENTITY; BONE_COUNT];
        bones[crate::types::Bone::LeftHand as usize] = turn;
        skeleton.apply(&model, &bones, Vec3::ZERO);
        apply(&model, &mut skeleton);
        skeleton.local()[1].rotation
    }

    fn assert_same(a: Quat, b: Quat) {
        assert!([Vec3::X, Vec3::Y].iter().all(|v| (a * *v).abs_diff_eq(b * *v, 1e-4)), "{a} is not {b}");
    }

    #[test]
    fn rotation_copies_the_turn_by_its_weight() {
        let rest = Quat::from_rotation_y(0.7);
        let constraint = json!({"rotation": {"source": 0, "weight": 0.5}});
        assert_same(
            run(&constraint, Quat::IDENTITY, rest, Quat::from_rotation_x(0.6)),
            rest * Quat::from_rotation_x(0.3),
        );
        assert_same(run(&constraint, rest, rest, Quat::IDENTITY), rest);
    }

    #[test]
    fn roll_takes_only_the_turn_about_its_axis() {
        let constraint = json!({"roll": {"source": 0, "rollAxis": "X"}});
        let roll = Quat::from_rotation_x(0.4);
        assert_same(run(&constraint, Quat::IDENTITY, Quat::IDENTITY, roll), roll);
        assert_same(run(&constraint, Quat::IDENTITY, Quat::IDENTITY, Quat::from_rotation_y(0.8)), Quat::IDENTITY);
    }

    #[test]
    fn aim_points_the_axis_at_the_source() {
        let constraint = json!({"aim": {"source": 0, "aimAxis": "PositiveX"}});
        let rest = Quat::from_rotation_z(0.3);
        let turned = run(&constraint, Quat::IDENTITY, rest, Quat::IDENTITY);
        let wanted = Vec3::new(0.0, -2.0, 2.0).normalize_or_zero();
        assert!((turned * Vec3::X).abs_diff_eq(wanted, 1e-4), "{}", turned * Vec3::X);
    }
}
