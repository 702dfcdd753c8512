//! Spring bones and colliders of both VRM versions.

use std::collections::HashSet;

use glam::{Mat4, Vec3};
use gltf::json::Value;

use super::budget::Budget;
use super::scene::Scene;
use super::value::{as_index, index, items, member, number, text, vec3};
use super::{Collider, ColliderShape, Node, Spring, SpringJoint, Transform};

/// VRM 0.x gives the last bone of a chain an invisible end this far on, metres.
const VIRTUAL_TAIL_M: f32 = 0.07;
/// More than any avatar has; the work per frame grows with it.
const MAX_JOINTS: usize = 4096;

/// Springs with their colliders.
#[derive(Default)]
pub(super) struct Springs {
    pub colliders: Vec<Collider>,
    pub springs: Vec<Spring>,
}

/// Reads `VRMC_springBone`.
pub(super) fn read_vrm1(json: &Value, scene: &Scene, budget: &mut Budget) -> Springs {
    let mut out = Springs::default();
    // File colliders that are bad have no counterpart in the model.
    let mut collider_of = Vec::new();
    for collider in items(json, "colliders") {
        let node = index(collider, "node").and_then(|n| scene.node(n));
        let shape = extended_shape(collider).or_else(|| shape_vrm1(member(collider, "shape")));
        collider_of.push(match (node, shape) {
            (Some(node), Some(shape)) => {
                out.colliders.push(Collider { node, shape });
                Some(out.colliders.len() - 1)
            }
            _ => {
                budget.warn("a spring collider has no node or no shape and is left out");
                None
            }
        });
    }
    let groups = items(json, "colliderGroups");
    let mut taken = HashSet::new();
    for spring in items(json, "springs") {
        let name = text(spring, "name").to_owned();
        let Some(joints) = chain_vrm1(spring, &name, scene, &mut taken, budget) else { continue };
        let mut colliders = Vec::new();
        for group in items(spring, "colliderGroups") {
            let Some(group) = as_index(group).and_then(|g| groups.get(g)) else {
                budget.warn(format!("spring {name:?} names a collider group that does not exist"));
                continue;
            };
            let members = items(group, "colliders").iter().filter_map(as_index);
            colliders.extend(members.filter_map(|c| collider_of.get(c).copied().flatten()));
        }
        colliders.sort_unstable();
        colliders.dedup();
        let center = index(spring, "center").and_then(|n| scene.node(n));
        let center = checked_center(center, &joints, scene, &name, budget);
        out.springs.push(Spring { name, joints, colliders, center });
    }
    finish(out, scene, budget)
}

fn chain_vrm1(
    spring: &Value,
    name: &str,
    scene: &Scene,
    taken: &mut HashSet<usize>,
    budget: &mut Budget,
) -> Option<Vec<SpringJoint>> {
    let mut joints: Vec<SpringJoint> = Vec::new();
    for json in items(spring, "joints") {
        let Some(node) = index(json, "node").and_then(|n| scene.node(n)) else {
            budget.warn(format!("spring {name:?} names a node that does not exist; it ends there"));
            break;
        };
        if joints.last().is_some_and(|last| !is_below(scene, node, last.node)) {
            budget.warn(format!("spring {name:?} has a joint that does not lie below the one before; it ends there"));
            break;
        }
        let get = |key: &str, default: f32| number(json, key).unwrap_or(default);
        joints.push(SpringJoint {
            node,
            hit_radius: get("hitRadius", 0.0).max(0.0),
            stiffness: get("stiffness", 1.0),
            gravity_power: get("gravityPower", 0.0),
            gravity_dir: vec3(json, "gravityDir", Vec3::NEG_Y),
            drag_force: get("dragForce", 0.5).clamp(0.0, 1.0),
        });
    }
    // The last joint is only an end point, so another spring may begin there.
    let moving = joints.len().saturating_sub(1);
    if let Some(at) = joints.iter().take(moving).position(|j| !taken.insert(j.node)) {
        budget.warn(format!("spring {name:?} shares a joint with another spring; it ends there"));
        joints.truncate(at + 1);
    }
    if joints.len() < 2 {
        budget.warn(format!("spring {name:?} has too few joints to swing and is left out"));
        return None;
    }
    Some(joints)
}

fn shape_vrm1(json: &Value) -> Option<ColliderShape> {
    if let Some(sphere) = json.get("sphere") {
        let radius = number(sphere, "radius").unwrap_or(0.0).max(0.0);
        return Some(ColliderShape::Sphere { offset: vec3(sphere, "offset", Vec3::ZERO), radius });
    }
    let capsule = json.get("capsule")?;
    Some(ColliderShape::Capsule {
        offset: vec3(capsule, "offset", Vec3::ZERO),
        tail: vec3(capsule, "tail", Vec3::ZERO),
        radius: number(capsule, "radius").unwrap_or(0.0).max(0.0),
    })
}

/// `VRMC_springBone_extended_collider` replaces the plain shape, which is only there for other programs.
fn extended_shape(collider: &Value) -> Option<ColliderShape> {
    let shape = collider.get("extensions")?.get("VRMC_springBone_extended_collider")?.get("shape")?;
    if let Some(plane) = shape.get("plane") {
        let normal = vec3(plane, "normal", Vec3::Z).try_normalize()?;
        return Some(ColliderShape::Plane { offset: vec3(plane, "offset", Vec3::ZERO), normal });
    }
    let is_inside = |json: &Value| json.get("inside").and_then(Value::as_bool).unwrap_or(false);
    let (inside, shape) = match (shape.get("sphere"), shape.get("capsule")) {
        (Some(json), _) | (None, Some(json)) => (is_inside(json), shape_vrm1(shape)?),
        (None, None) => return None,
    };
    Some(match shape {
        ColliderShape::Sphere { offset, radius } if inside => ColliderShape::InsideSphere { offset, radius },
        ColliderShape::Capsule { offset, tail, radius } if inside => {
            ColliderShape::InsideCapsule { offset, tail, radius }
        }
        shape => shape,
    })
}

/// Reads `VRM.secondaryAnimation`; adds the invisible ends of its chains to `scene`.
pub(super) fn read_vrm0(json: &Value, scene: &mut Scene, budget: &mut Budget) -> Springs {
    let mut out = Springs::default();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for group in items(json, "colliderGroups") {
        let mut members = Vec::new();
        match index(group, "node").and_then(|n| scene.node(n)) {
            Some(node) => {
                for collider in items(group, "colliders") {
                    let offset = vec3(collider, "offset", Vec3::ZERO) * UNITY_BONE;
                    let radius = number(collider, "radius").unwrap_or(0.0).max(0.0);
                    members.push(out.colliders.len());
                    out.colliders.push(Collider { node, shape: ColliderShape::Sphere { offset, radius } });
                }
            }
            None => budget.warn("a collider group has no node and is left out"),
        }
        groups.push(members);
    }
    let mut taken = HashSet::new();
    for group in items(json, "boneGroups") {
        let name = text(group, "comment").to_owned();
        let colliders: Vec<usize> = items(group, "colliderGroups")
            .iter()
            .filter_map(|g| as_index(g).and_then(|g| groups.get(g)))
            .flatten()
            .copied()
            .collect();
        let get = |key: &str, default: f32| number(group, key).unwrap_or(default);
        let settings = SpringJoint {
            node: 0,
            hit_radius: get("hitRadius", 0.0).max(0.0),
            // The format spells it so; some tools correct it.
            stiffness: number(group, "stiffiness").unwrap_or_else(|| get("stiffness", 1.0)),
            gravity_power: get("gravityPower", 0.0),
            gravity_dir: vec3(group, "gravityDir", Vec3::NEG_Y) * UNITY_AVATAR,
            drag_force: get("dragForce", 0.4).clamp(0.0, 1.0),
        };
        let center = index(group, "center").and_then(|n| scene.node(n));
        for root in items(group, "bones") {
            let Some(root) = as_index(root).and_then(|n| scene.node(n)) else {
                budget.warn(format!("spring {name:?} names a bone that does not exist"));
                continue;
            };
            for chain in chains_below(root, scene, &mut taken) {
                let joints: Vec<SpringJoint> = chain.into_iter().map(|node| SpringJoint { node, ..settings }).collect();
                let center = checked_center(center, &joints, scene, &name, budget);
                out.springs.push(Spring { name: name.clone(), joints, colliders: colliders.clone(), center });
            }
        }
    }
    finish(out, scene, budget)
}

/// From Unity's left-handed bone space to the file's.
const UNITY_BONE: Vec3 = Vec3::new(1.0, 1.0, -1.0);
/// From Unity's left-handed world to avatar space (both face +Z).
const UNITY_AVATAR: Vec3 = Vec3::new(-1.0, 1.0, 1.0);

/// The whole subtree swings: one chain along the first children, one more from every other child.
fn chains_below(root: usize, scene: &mut Scene, taken: &mut HashSet<usize>) -> Vec<Vec<usize>> {
    let count = scene.nodes.len();
    let mut children: Vec<Vec<usize>> = vec![Vec::new(); count];
    for (index, node) in scene.nodes.iter().enumerate() {
        if let Some(list) = node.parent.and_then(|p| children.get_mut(p)) {
            list.push(index);
        }
    }
    let (mut chains, mut open) = (Vec::new(), vec![root]);
    while let Some(start) = open.pop() {
        let mut chain = Vec::new();
        let mut at = Some(start);
        while let Some(node) = at.filter(|n| taken.insert(*n)) {
            chain.push(node);
            let below = children.get(node).map_or(&[][..], Vec::as_slice);
            open.extend(below.iter().skip(1).rev());
            at = below.first().copied();
        }
        match (chain.last().copied(), at) {
            (None, _) => continue,
            // It met a bone that another chain owns: that is its end point.
            (Some(_), Some(end)) => chain.push(end),
            (Some(last), None) => {
                if let Some(tail) = add_virtual_tail(last, scene) {
                    chain.push(tail);
                }
            }
        }
        if chain.len() >= 2 {
            chains.push(chain);
        }
    }
    chains
}

fn add_virtual_tail(last: usize, scene: &mut Scene) -> Option<usize> {
    let node = scene.nodes.get(last)?;
    let parent = node.parent.and_then(|p| scene.nodes.get(p)).map_or(Mat4::IDENTITY, |p| p.avatar_from_node);
    let head = node.avatar_from_node.w_axis.truncate();
    let direction = (head - parent.w_axis.truncate()).try_normalize()?;
    let local = node.avatar_from_node.inverse().transform_vector3(direction * VIRTUAL_TAIL_M);
    if !local.is_finite() {
        return None;
    }
    let rest = Transform { translation: local, ..Transform::IDENTITY };
    let avatar_from_node = node.avatar_from_node * rest.to_mat4();
    let name = format!("{} (end)", node.name);
    scene.nodes.push(Node { name, parent: Some(last), rest, avatar_from_node });
    Some(scene.nodes.len() - 1)
}

fn is_below(scene: &Scene, node: usize, above: usize) -> bool {
    let mut at = Some(node);
    // Parents have smaller indices, so this ends.
    while let Some(node) = at.filter(|n| *n > above) {
        at = scene.nodes.get(node).and_then(|n| n.parent);
        if at == Some(above) {
            return true;
        }
    }
    false
}

fn checked_center(
    center: Option<usize>,
    joints: &[SpringJoint],
    scene: &Scene,
    name: &str,
    budget: &mut Budget,
) -> Option<usize> {
    let (center, root) = (center?, joints.first()?.node);
    if center == root || is_below(scene, center, root) {
        budget.warn(format!("spring {name:?} is centred on a node that it moves; the centre is ignored"));
        return None;
    }
    Some(center)
}

/// Parents first: a chain that hangs on another one comes later, and so does one that collides with it.
fn finish(mut springs: Springs, scene: &Scene, budget: &mut Budget) -> Springs {
    let total: usize = springs.springs.iter().map(|s| s.joints.len()).sum();
    if total > MAX_JOINTS {
        budget.warn(format!("of {total} spring joints only {MAX_JOINTS} swing"));
        let mut kept = 0;
        springs.springs.retain(|s| {
            kept += s.joints.len();
            kept <= MAX_JOINTS
        });
    }
    let depth = |mut node: usize| {
        let mut depth = 0_usize;
        while let Some(parent) = scene.nodes.get(node).and_then(|n| n.parent) {
            (node, depth) = (parent, depth + 1);
        }
        depth
    };
    springs.springs.sort_by_cached_key(|s| s.joints.first().map_or(0, |j| depth(j.node)));
    springs
}
