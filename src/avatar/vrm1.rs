//! VRM 1.0: `VRMC_vrm` and `VRMC_node_constraint`.

use std::collections::HashSet;

use glam::{Vec2, Vec3, Vec4};
use gltf::json::Value;

use super::budget::Budget;
use super::container::Document;
use super::names;
use super::scene::Scene;
use super::value::{flag, index, items, member, members, number, text, vec2, vec3, vec4};
use super::{
    AvatarMeta, Constraint, ConstraintKind, Expression, ExpressionBinds, ExpressionMask, LookAt, LookAtKind,
    LookAtRange, MaterialBind, MaterialColor, MorphBind, OverrideKind, Preset, TextureBind,
};
use crate::types::{BONE_COUNT, Bone};

/// More than any avatar has; the work per frame grows with it.
const MAX_CONSTRAINTS: usize = 1024;

/// Largest factor of a morph target that makes sense; keeps sums finite.
pub(super) const MAX_BIND: f32 = 100.0;
/// Brightest colour that makes sense; keeps sums finite.
pub(super) const MAX_COLOR: f32 = 1000.0;

/// Node of each bone.
pub(super) type Bones = [Option<usize>; BONE_COUNT];

pub(super) fn meta(vrm: &Value) -> AvatarMeta {
    let meta = member(vrm, "meta");
    let terms: Vec<String> = ["avatarPermission", "commercialUsage", "modification", "creditNotation"]
        .into_iter()
        .filter(|key| !text(meta, key).is_empty())
        .map(|key| format!("{key}: {}", text(meta, key)))
        .chain(Some(format!("allowRedistribution: {}", flag(meta, "allowRedistribution"))))
        .collect();
    let other = text(meta, "otherLicenseUrl");
    AvatarMeta {
        name: text(meta, "name").into(),
        authors: items(meta, "authors").iter().filter_map(|a| a.as_str().map(str::to_owned)).collect(),
        version: text(meta, "version").into(),
        licence: terms.join(", "),
        licence_url: if other.is_empty() { text(meta, "licenseUrl") } else { other }.into(),
    }
}

pub(super) fn bones(vrm: &Value, scene: &Scene, budget: &mut Budget) -> Bones {
    let mut bones = [None; BONE_COUNT];
    let mut taken = HashSet::new();
    for (name, bone) in members(member(vrm, "humanoid"), "humanBones") {
        let Some(which) = Bone::from_name(name) else {
            budget.warn(format!("the humanoid bone {name:?} is unknown"));
            continue;
        };
        set_bone(&mut bones, which, index(bone, "node"), scene, &mut taken, budget);
    }
    bones
}

/// Assigns a bone; missing nodes and nodes used twice are left out.
pub(super) fn set_bone(
    bones: &mut Bones,
    bone: Bone,
    node: Option<usize>,
    scene: &Scene,
    taken: &mut HashSet<usize>,
    budget: &mut Budget,
) {
    let Some(node) = node.and_then(|n| scene.node(n)) else {
        budget.warn(format!("the humanoid bone {} has no node", bone.name()));
        return;
    };
    if bones[bone as usize].is_some() || !taken.insert(node) {
        budget.warn(format!("the humanoid bone {} is given twice or shares its node", bone.name()));
        return;
    }
    bones[bone as usize] = Some(node);
}

/// File nodes whose mesh is for the wearer's own eyes only.
pub(super) fn first_person_only(vrm: &Value) -> HashSet<usize> {
    items(member(vrm, "firstPerson"), "meshAnnotations")
        .iter()
        .filter(|a| matches!(text(a, "type"), "firstPersonOnly" | "FirstPersonOnly"))
        .filter_map(|a| index(a, "node"))
        .collect()
}

pub(super) fn expressions(vrm: &Value, scene: &Scene, materials: usize, budget: &mut Budget) -> Vec<Expression> {
    let json = member(vrm, "expressions");
    let mut out: Vec<Expression> = Vec::new();
    for (name, json) in members(json, "preset") {
        let Some(preset) = Preset::ALL.into_iter().find(|p| p.name() == name) else {
            budget.warn(format!("the preset expression {name:?} is unknown; it is kept as a custom one"));
            out.push(expression(name, None, json, scene, materials, budget));
            continue;
        };
        out.push(expression(name, Some(preset), json, scene, materials, budget));
    }
    for (name, json) in members(json, "custom") {
        if out.iter().any(|e| e.name == name) {
            budget.warn(format!("the custom expression {name:?} has the name of another one and is left out"));
            continue;
        }
        out.push(expression(name, None, json, scene, materials, budget));
    }
    out
}

fn expression(
    name: &str,
    preset: Option<Preset>,
    json: &Value,
    scene: &Scene,
    materials: usize,
    budget: &mut Budget,
) -> Expression {
    let mut binds = ExpressionBinds::default();
    for bind in items(json, "morphTargetBinds") {
        let instance = index(bind, "node").and_then(|n| scene.node(n)).and_then(|n| scene.instance_at(n));
        let Some(mesh) = instance.and_then(|i| scene.meshes.get(i)) else { continue };
        let weight = number(bind, "weight").unwrap_or(1.0).clamp(-MAX_BIND, MAX_BIND);
        match index(bind, "index").filter(|i| *i < mesh.morph_names.len()) {
            Some(target) => binds.morphs.push(MorphBind { morph: mesh.morph_offset + target, weight }),
            None => budget.warn(format!("expression {name:?} uses a morph target that mesh {:?} lacks", mesh.name)),
        }
    }
    for bind in items(json, "materialColorBinds") {
        let color = match text(bind, "type") {
            "color" => MaterialColor::Base,
            "emissionColor" => MaterialColor::Emission,
            "shadeColor" => MaterialColor::Shade,
            "matcapColor" => MaterialColor::Matcap,
            "rimColor" => MaterialColor::Rim,
            "outlineColor" => MaterialColor::Outline,
            other => {
                budget.warn(format!("expression {name:?} changes a colour {other:?} that omote does not know"));
                continue;
            }
        };
        match index(bind, "material").filter(|m| *m < materials) {
            Some(material) => {
                let target = vec4(bind, "targetValue", Vec4::ONE).clamp(Vec4::ZERO, Vec4::splat(MAX_COLOR));
                binds.materials.push(MaterialBind { material, color, target });
            }
            None => budget.warn(format!("expression {name:?} uses a material that does not exist")),
        }
    }
    for bind in items(json, "textureTransformBinds") {
        match index(bind, "material").filter(|m| *m < materials) {
            Some(material) => binds.textures.push(TextureBind {
                material,
                scale: vec2(bind, "scale", Vec2::ONE),
                offset: vec2(bind, "offset", Vec2::ZERO),
            }),
            None => budget.warn(format!("expression {name:?} uses a material that does not exist")),
        }
    }
    let kind = |key: &str| match text(json, key) {
        "block" => OverrideKind::Block,
        "blend" => OverrideKind::Blend,
        _ => OverrideKind::None,
    };
    let group = preset.map_or_else(|| names::group_of(name), names::group_of_preset);
    let mask =
        ExpressionMask { blink: kind("overrideBlink"), look_at: kind("overrideLookAt"), mouth: kind("overrideMouth") };
    Expression {
        name: name.to_owned(),
        preset,
        is_binary: flag(json, "isBinary"),
        mask: names::without_own_group(mask, group),
        group,
        binds,
    }
}

pub(super) fn look_at(vrm: &Value) -> Option<LookAt> {
    let json = vrm.get("lookAt")?;
    let kind = if text(json, "type") == "expression" { LookAtKind::Expression } else { LookAtKind::Bone };
    let range = |key: &str| {
        let map = member(json, key);
        let scale = number(map, "outputScale").unwrap_or(if kind == LookAtKind::Bone { 10.0 } else { 1.0 });
        LookAtRange {
            input_max: number(map, "inputMaxValue").unwrap_or(90.0).clamp(0.0, 180.0).to_radians(),
            output_scale: if kind == LookAtKind::Bone { scale.to_radians() } else { scale },
        }
    };
    Some(LookAt {
        kind,
        offset_from_head: vec3(json, "offsetFromHeadBone", Vec3::ZERO),
        horizontal_inner: range("rangeMapHorizontalInner"),
        horizontal_outer: range("rangeMapHorizontalOuter"),
        vertical_down: range("rangeMapVerticalDown"),
        vertical_up: range("rangeMapVerticalUp"),
    })
}

/// Node constraints in an order in which sources come first; cycles are dropped.
pub(super) fn constraints(document: &Document<'_>, scene: &Scene, budget: &mut Budget) -> Vec<Constraint> {
    let mut all = Vec::new();
    for (file_node, json) in document.root.nodes.iter().enumerate() {
        let extension = json.extensions.as_ref().and_then(|e| e.others.get("VRMC_node_constraint"));
        let (Some(extension), Some(node)) = (extension, scene.node(file_node)) else { continue };
        match constraint(member(extension, "constraint"), node, scene) {
            Some(constraint) if constraint.source != node => all.push(constraint),
            _ => budget.warn(format!("the constraint of node {file_node} has no usable source and is left out")),
        }
    }
    if all.len() > MAX_CONSTRAINTS {
        budget.warn(format!("of {} node constraints only {MAX_CONSTRAINTS} act", all.len()));
        all.truncate(MAX_CONSTRAINTS);
    }
    let mut sorted = Vec::with_capacity(all.len());
    while !all.is_empty() {
        let waits = |c: &Constraint| all.iter().any(|other| other.node != c.node && depends_on(c, other, scene));
        let ready: HashSet<usize> = all.iter().filter(|c| !waits(c)).map(|c| c.node).collect();
        if ready.is_empty() {
            budget.warn(format!("{} node constraints wait for each other and are left out", all.len()));
            break;
        }
        sorted.extend(all.iter().filter(|c| ready.contains(&c.node)).copied());
        all.retain(|c| !ready.contains(&c.node));
    }
    sorted
}

/// Whether `c` needs the result of `other`.
fn depends_on(c: &Constraint, other: &Constraint, scene: &Scene) -> bool {
    if c.source == other.node {
        return true;
    }
    if !matches!(c.kind, ConstraintKind::Aim { .. }) {
        return false;
    }
    // An aim also needs where its source and its own parent are.
    [c.source, c.node].into_iter().any(|start| {
        let mut at = scene.nodes.get(start).and_then(|n| n.parent);
        while let Some(node) = at {
            if node == other.node {
                return true;
            }
            at = scene.nodes.get(node).and_then(|n| n.parent);
        }
        false
    })
}

fn constraint(json: &Value, node: usize, scene: &Scene) -> Option<Constraint> {
    let (kind, json) = if let Some(roll) = json.get("roll") {
        let axis = match text(roll, "rollAxis") {
            "X" => Vec3::X,
            "Y" => Vec3::Y,
            "Z" => Vec3::Z,
            _ => return None,
        };
        (ConstraintKind::Roll { axis }, roll)
    } else if let Some(aim) = json.get("aim") {
        let axis = match text(aim, "aimAxis") {
            "PositiveX" => Vec3::X,
            "NegativeX" => Vec3::NEG_X,
            "PositiveY" => Vec3::Y,
            "NegativeY" => Vec3::NEG_Y,
            "PositiveZ" => Vec3::Z,
            "NegativeZ" => Vec3::NEG_Z,
            _ => return None,
        };
        (ConstraintKind::Aim { axis }, aim)
    } else {
        (ConstraintKind::Rotation, json.get("rotation")?)
    };
    let source = scene.node(index(json, "source")?)?;
    Some(Constraint { node, source, kind, weight: number(json, "weight").unwrap_or(1.0).clamp(0.0, 1.0) })
}
