//! The node tree, skins and placed meshes. Works without recursion; cycles and second parents are cut.

use std::collections::HashSet;

use glam::{Mat4, Quat, Vec3};
use gltf::json::Root;

use super::accessor::floats;
use super::budget::Budget;
use super::container::Document;
use super::mesh::{self, MeshData};
use super::{AvatarError, MeshInstance, Node, Skin, Transform};

/// Lengths and scales beyond this (metres) are no avatar's; products of sane ones stay finite.
const MAX_LENGTH: f32 = 1e6;
/// More nodes than any avatar has.
const MAX_NODES: usize = 1 << 16;

/// The node tree and what hangs on it.
#[derive(Default)]
pub(super) struct Scene {
    pub nodes: Vec<Node>,
    pub skins: Vec<Skin>,
    pub meshes: Vec<MeshInstance>,
    pub morph_count: usize,
    pub joint_count: usize,
    /// Model node of each file node; `None` where it is part of a cycle.
    pub node_of: Vec<Option<usize>>,
    /// Indices into `meshes` by file mesh.
    pub instances_of_mesh: Vec<Vec<usize>>,
}

impl Scene {
    /// The model node of a file node.
    pub(super) fn node(&self, file_node: usize) -> Option<usize> {
        self.node_of.get(file_node).copied().flatten()
    }

    /// The mesh instance that a model node carries.
    pub(super) fn instance_at(&self, node: usize) -> Option<usize> {
        self.meshes.iter().position(|m| m.node == node)
    }
}

/// Builds the scene. `turned` turns every root by half a turn (VRM 0.x); `hidden` says which file nodes' meshes stay away.
pub(super) fn build(
    document: &Document<'_>,
    turned: bool,
    hidden: &dyn Fn(usize) -> bool,
    material_count: usize,
    budget: &mut Budget,
) -> Result<Scene, AvatarError> {
    let root = &document.root;
    let mut scene = Scene::default();
    let order = sort_nodes(root, &mut scene, turned, budget)?;
    for skin in &root.skins {
        let skin = read_skin(document, skin, &scene, budget)?;
        scene.skins.push(skin);
    }
    let visible = visible_nodes(root, &scene, &order);
    let mut decoded: Vec<Option<MeshData>> = vec![None; root.meshes.len()];
    let mut uses_left = vec![0_usize; root.meshes.len()];
    for mesh in order.iter().filter_map(|n| root.nodes.get(*n)?.mesh) {
        if let Some(count) = uses_left.get_mut(mesh.value()) {
            *count += 1;
        }
    }
    scene.instances_of_mesh = vec![Vec::new(); root.meshes.len()];
    for (node, file_node) in order.iter().copied().enumerate() {
        let Some(json) = root.nodes.get(file_node) else { continue };
        let Some(mesh) = json.mesh.map(|m| m.value()) else { continue };
        if !visible.contains(&node) || hidden(file_node) {
            continue;
        }
        let (Some(json_mesh), Some(slot)) = (root.meshes.get(mesh), decoded.get_mut(mesh)) else {
            budget.warn(format!("node {file_node} carries mesh {mesh}, which does not exist"));
            continue;
        };
        let data = match slot.take() {
            Some(data) => {
                budget.take(data.byte_len(), 1, "its repeated meshes")?;
                data
            }
            None => mesh::decode(document, json_mesh, material_count, budget)?,
        };
        if let Some(left) = uses_left.get_mut(mesh) {
            *left = left.saturating_sub(1);
            if *left > 0 {
                *slot = Some(data.clone());
            }
        }
        let mut data = data;
        if data.primitives.is_empty() {
            continue;
        }
        let skin = json.skin.map(|s| s.value()).filter(|s| {
            let exists = scene.skins.get(*s).is_some_and(|skin| !skin.joints.is_empty());
            if !exists {
                budget.warn(format!("mesh {mesh} uses skin {s}, which does not exist; it is drawn unskinned"));
            }
            exists
        });
        let joint_count = skin.and_then(|s| scene.skins.get(s)).map_or(1, |s| s.joints.len());
        check_joints(&mut data, joint_count, skin.is_some(), mesh, budget);
        if let Some(weights) = &json.weights {
            for (weight, own) in data.morph_weights.iter_mut().zip(weights) {
                *weight = if own.is_finite() { *own } else { 0.0 };
            }
        }
        let name = json_mesh.name.clone().filter(|n| !n.is_empty()).or_else(|| json.name.clone());
        let instance = MeshInstance {
            name: name.unwrap_or_else(|| format!("mesh {mesh}")),
            node,
            skin,
            morph_names: data.morph_names,
            morph_weights: data.morph_weights,
            morph_offset: scene.morph_count,
            joint_offset: scene.joint_count,
            primitives: data.primitives,
        };
        scene.morph_count += instance.morph_names.len();
        scene.joint_count += joint_count;
        if let Some(list) = scene.instances_of_mesh.get_mut(mesh) {
            list.push(scene.meshes.len());
        }
        scene.meshes.push(instance);
    }
    Ok(scene)
}

/// Makes every joint index valid; a rigid mesh hangs on its one matrix.
fn check_joints(data: &mut MeshData, joint_count: usize, is_skinned: bool, mesh: usize, budget: &mut Budget) {
    for primitive in &mut data.primitives {
        for (joints, weights) in primitive.joints.iter_mut().zip(&mut primitive.weights) {
            if !is_skinned {
                (*joints, *weights) = ([0; 4], [1.0, 0.0, 0.0, 0.0]);
                continue;
            }
            if joints.iter().any(|j| usize::from(*j) >= joint_count) {
                budget.warn(format!("mesh {mesh} hangs on joints that its skin lacks"));
                for (joint, weight) in joints.iter_mut().zip(weights.iter_mut()) {
                    if usize::from(*joint) >= joint_count {
                        (*joint, *weight) = (0, 0.0);
                    }
                }
                let sum: f32 = weights.iter().sum();
                *weights = if sum > 0.0 { weights.map(|w| w / sum) } else { [1.0, 0.0, 0.0, 0.0] };
            }
        }
    }
}

/// Fills `scene.nodes`, parents first; returns the file index of each.
fn sort_nodes(root: &Root, scene: &mut Scene, turned: bool, budget: &mut Budget) -> Result<Vec<usize>, AvatarError> {
    let count = root.nodes.len();
    if count == 0 {
        return Err(AvatarError::broken("it has no nodes, so there is nothing to show"));
    }
    if count > MAX_NODES {
        return Err(AvatarError::TooLarge { what: format!("it has {count} nodes") });
    }
    let mut parent_of: Vec<Option<usize>> = vec![None; count];
    let children = |node: usize| root.nodes.get(node).and_then(|n| n.children.as_ref()).into_iter().flatten();
    for node in 0..count {
        for child in children(node) {
            match parent_of.get_mut(child.value()) {
                Some(slot @ None) => *slot = Some(node),
                Some(Some(_)) => budget.warn(format!("node {} has two parents; the first is taken", child.value())),
                None => budget.warn(format!("node {node} has a child {} that does not exist", child.value())),
            }
        }
    }
    scene.node_of = vec![None; count];
    let mut order = Vec::with_capacity(count);
    let mut open: Vec<usize> = (0..count).rev().filter(|n| parent_of.get(*n).is_some_and(Option::is_none)).collect();
    while let Some(file_node) = open.pop() {
        let Some(slot) = scene.node_of.get_mut(file_node) else { continue };
        *slot = Some(order.len());
        let parent = parent_of.get(file_node).copied().flatten().and_then(|p| scene.node(p));
        let node = read_node(root, file_node, parent, turned, &scene.nodes, budget);
        scene.nodes.push(node);
        order.push(file_node);
        // Each node has one parent here, so nothing is visited twice.
        let below = open.len();
        open.extend(children(file_node).map(|c| c.value()).filter(|c| {
            parent_of.get(*c).copied().flatten() == Some(file_node)
                && scene.node_of.get(*c).is_some_and(Option::is_none)
        }));
        open[below..].reverse();
        // A child listed twice by its parent.
        if open.len() > below {
            let mut seen = HashSet::new();
            let tail: Vec<usize> = open.drain(below..).filter(|c| seen.insert(*c)).collect();
            open.extend(tail);
        }
    }
    if order.len() < count {
        budget.warn(format!("{} nodes are their own ancestors and are left out", count - order.len()));
    }
    if order.is_empty() {
        return Err(AvatarError::broken("all its nodes are their own ancestors"));
    }
    Ok(order)
}

/// Whether a matrix can be multiplied on without overflow.
fn is_bounded(matrix: &Mat4) -> bool {
    matrix.to_cols_array().iter().all(|c| c.is_finite() && c.abs() < MAX_LENGTH * MAX_LENGTH)
}

fn read_node(
    root: &Root,
    file_node: usize,
    parent: Option<usize>,
    turned: bool,
    nodes: &[Node],
    budget: &mut Budget,
) -> Node {
    let json = root.nodes.get(file_node);
    let mut rest = json.map_or(Transform::IDENTITY, |json| match &json.matrix {
        Some(matrix) => {
            let (scale, rotation, translation) = Mat4::from_cols_array(matrix).to_scale_rotation_translation();
            Transform { translation, rotation, scale }
        }
        None => Transform {
            translation: json.translation.map_or(Vec3::ZERO, Vec3::from),
            rotation: json.rotation.map_or(Quat::IDENTITY, |q| Quat::from_array(q.0)),
            scale: json.scale.map_or(Vec3::ONE, Vec3::from),
        },
    });
    rest.rotation = if rest.rotation.length_squared() > 1e-12 && rest.rotation.is_finite() {
        rest.rotation.normalize()
    } else {
        Quat::IDENTITY
    };
    let is_sane = |v: Vec3| v.is_finite() && v.abs().max_element() < MAX_LENGTH;
    if !is_sane(rest.translation) || !is_sane(rest.scale) || !rest.rotation.is_finite() {
        budget.warn(format!("node {file_node} has a transform that is no number or beyond all bounds"));
        rest = Transform::IDENTITY;
    }
    if turned && parent.is_none() {
        let half_turn = Quat::from_xyzw(0.0, 1.0, 0.0, 0.0);
        rest.translation = half_turn * rest.translation;
        rest.rotation = half_turn * rest.rotation;
    }
    let above = parent.and_then(|p| nodes.get(p)).map_or(Mat4::IDENTITY, |p| p.avatar_from_node);
    let mut avatar_from_node = above * rest.to_mat4();
    if !is_bounded(&avatar_from_node) {
        budget.warn(format!("node {file_node} lies beyond all bounds"));
        rest = Transform::IDENTITY;
        avatar_from_node = above;
    }
    let name = json.and_then(|n| n.name.clone()).unwrap_or_else(|| format!("node {file_node}"));
    Node { name, parent, rest, avatar_from_node }
}

/// The model nodes that the file's scene shows; all of them where it has none.
fn visible_nodes(root: &Root, scene: &Scene, order: &[usize]) -> HashSet<usize> {
    let Some(json) = root.scenes.get(root.scene.map_or(0, |s| s.value())).or_else(|| root.scenes.first()) else {
        return (0..order.len()).collect();
    };
    let mut visible: HashSet<usize> = json.nodes.iter().filter_map(|n| scene.node(n.value())).collect();
    for (index, node) in scene.nodes.iter().enumerate() {
        if node.parent.is_some_and(|p| visible.contains(&p)) {
            visible.insert(index);
        }
    }
    if visible.is_empty() { (0..order.len()).collect() } else { visible }
}

fn read_skin(
    document: &Document<'_>,
    skin: &gltf::json::Skin,
    scene: &Scene,
    budget: &mut Budget,
) -> Result<Skin, AvatarError> {
    let name = skin.name.as_deref().unwrap_or("skin");
    if skin.joints.len() > usize::from(u16::MAX) {
        return Err(AvatarError::TooLarge { what: format!("skin {name:?} has {} joints", skin.joints.len()) });
    }
    let mut joints = Vec::with_capacity(skin.joints.len());
    for joint in &skin.joints {
        joints.push(scene.node(joint.value()).unwrap_or_else(|| {
            budget.warn(format!("skin {name:?} uses node {}, which does not exist", joint.value()));
            0
        }));
    }
    let mut joint_from_mesh: Vec<Mat4> = match skin.inverse_bind_matrices {
        Some(index) => floats(document, index.value(), Mat4::IDENTITY.to_cols_array(), budget)?
            .iter()
            .map(Mat4::from_cols_array)
            .collect(),
        None => Vec::new(),
    };
    if !joint_from_mesh.is_empty() && joint_from_mesh.len() < joints.len() {
        budget.warn(format!("skin {name:?} has too few bind matrices"));
    }
    joint_from_mesh.resize(joints.len(), Mat4::IDENTITY);
    for matrix in joint_from_mesh.iter_mut().filter(|m| !is_bounded(m)) {
        budget.warn(format!("skin {name:?} has a bind matrix beyond all bounds"));
        *matrix = Mat4::IDENTITY;
    }
    Ok(Skin { joints, joint_from_mesh })
}
