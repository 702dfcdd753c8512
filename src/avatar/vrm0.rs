//! VRM 0.x: the `VRM` extension. Names, units and axes are turned into those of VRM 1.0.

use std::collections::HashSet;

use glam::{Vec2, Vec3, Vec4};
use gltf::json::{Root, Value};

use super::budget::Budget;
use super::material0::linear;
use super::names;
use super::scene::Scene;
use super::value::{as_number, flag, index, items, member, number, text, vec3};
use super::vrm1::{Bones, MAX_BIND, MAX_COLOR, set_bone};
use super::{
    AvatarMeta, Expression, ExpressionBinds, ExpressionMask, LookAt, LookAtKind, LookAtRange, Material, MaterialBind,
    MaterialColor, MorphBind, Preset, TextureBind,
};
use crate::types::{BONE_COUNT, Bone};

pub(super) fn meta(vrm: &Value) -> AvatarMeta {
    let meta = member(vrm, "meta");
    let licence = text(meta, "licenseName");
    let terms: Vec<String> = ["allowedUserName", "commercialUssageName"]
        .into_iter()
        .filter(|key| !text(meta, key).is_empty())
        .map(|key| format!("{}: {}", key.replace("ssage", "sage"), text(meta, key)))
        .collect();
    AvatarMeta {
        name: text(meta, "title").into(),
        authors: Some(text(meta, "author")).filter(|a| !a.is_empty()).map(Into::into).into_iter().collect(),
        version: text(meta, "version").into(),
        licence: [licence.to_owned()].into_iter().chain(terms).filter(|t| !t.is_empty()).collect::<Vec<_>>().join(", "),
        licence_url: text(meta, "otherLicenseUrl").into(),
    }
}

pub(super) fn bones(vrm: &Value, scene: &Scene, budget: &mut Budget) -> Bones {
    let mut bones = [None; BONE_COUNT];
    let mut taken = HashSet::new();
    for json in items(member(vrm, "humanoid"), "humanBones") {
        // VRM 1.0 calls the thumb's bones by their anatomical names.
        let name = match text(json, "bone") {
            "leftThumbProximal" => "leftThumbMetacarpal",
            "leftThumbIntermediate" => "leftThumbProximal",
            "rightThumbProximal" => "rightThumbMetacarpal",
            "rightThumbIntermediate" => "rightThumbProximal",
            name => name,
        };
        match Bone::from_name(name) {
            Some(bone) => set_bone(&mut bones, bone, index(json, "node"), scene, &mut taken, budget),
            None => budget.warn(format!("the humanoid bone {name:?} is unknown")),
        }
    }
    bones
}

/// File nodes whose mesh is for the wearer's own eyes only.
pub(super) fn first_person_only(vrm: &Value, root: &Root) -> HashSet<usize> {
    let meshes: HashSet<usize> = items(member(vrm, "firstPerson"), "meshAnnotations")
        .iter()
        .filter(|a| text(a, "firstPersonFlag").eq_ignore_ascii_case("FirstPersonOnly"))
        .filter_map(|a| index(a, "mesh"))
        .collect();
    let is_hidden = |n: &gltf::json::Node| n.mesh.is_some_and(|m| meshes.contains(&m.value()));
    root.nodes.iter().enumerate().filter(|(_, n)| is_hidden(n)).map(|(i, _)| i).collect()
}

pub(super) fn expressions(vrm: &Value, scene: &Scene, materials: &[Material], budget: &mut Budget) -> Vec<Expression> {
    let mut out: Vec<Expression> = Vec::new();
    for group in items(member(vrm, "blendShapeMaster"), "blendShapeGroups") {
        let preset = preset(text(group, "presetName"));
        // "Surprised" became a preset only in VRM 1.0; avatars have it as a custom one.
        let preset =
            preset.or_else(|| text(group, "name").eq_ignore_ascii_case("surprised").then_some(Preset::Surprised));
        let name = preset.map_or_else(|| text(group, "name"), |p| p.name());
        if name.is_empty() {
            budget.warn("an expression has no name and is left out");
            continue;
        }
        if out.iter().any(|e| e.name.eq_ignore_ascii_case(name)) {
            budget.warn(format!("the expression {name:?} is given twice; the first is taken"));
            continue;
        }
        let expression_group = preset.map_or_else(|| names::group_of(name), names::group_of_preset);
        out.push(Expression {
            name: name.to_owned(),
            preset,
            is_binary: flag(group, "isBinary"),
            mask: ExpressionMask::default(),
            group: expression_group,
            binds: binds(group, name, scene, materials, budget),
        });
    }
    out
}

fn preset(name: &str) -> Option<Preset> {
    Some(match name.to_ascii_lowercase().as_str() {
        "neutral" => Preset::Neutral,
        "joy" => Preset::Happy,
        "angry" => Preset::Angry,
        "sorrow" => Preset::Sad,
        "fun" => Preset::Relaxed,
        "a" => Preset::Aa,
        "i" => Preset::Ih,
        "u" => Preset::Ou,
        "e" => Preset::Ee,
        "o" => Preset::Oh,
        "blink" => Preset::Blink,
        "blink_l" => Preset::BlinkLeft,
        "blink_r" => Preset::BlinkRight,
        "lookup" => Preset::LookUp,
        "lookdown" => Preset::LookDown,
        "lookleft" => Preset::LookLeft,
        "lookright" => Preset::LookRight,
        _ => return None,
    })
}

fn binds(group: &Value, name: &str, scene: &Scene, materials: &[Material], budget: &mut Budget) -> ExpressionBinds {
    let mut binds = ExpressionBinds::default();
    for bind in items(group, "binds") {
        let (Some(mesh), Some(target)) = (index(bind, "mesh"), index(bind, "index")) else { continue };
        let weight = (number(bind, "weight").unwrap_or(100.0) / 100.0).clamp(-MAX_BIND, MAX_BIND);
        let Some(instances) = scene.instances_of_mesh.get(mesh) else {
            budget.warn(format!("expression {name:?} uses mesh {mesh}, which does not exist"));
            continue;
        };
        for instance in instances.iter().filter_map(|i| scene.meshes.get(*i)) {
            if target < instance.morph_names.len() {
                binds.morphs.push(MorphBind { morph: instance.morph_offset + target, weight });
            } else {
                budget.warn(format!("expression {name:?} uses a morph target that mesh {:?} lacks", instance.name));
            }
        }
    }
    for value in items(group, "materialValues") {
        let property = text(value, "propertyName");
        let target: Vec<f32> = items(value, "targetValue").iter().map(|n| as_number(n).unwrap_or(0.0)).collect();
        let at = |i: usize| target.get(i).copied();
        let named = materials.iter().enumerate().filter(|(_, m)| m.name == text(value, "materialName"));
        for (material, json) in named {
            if let Some(color) = color(property) {
                let target = Vec4::from([0, 1, 2, 3].map(|i| at(i).unwrap_or(1.0).clamp(0.0, MAX_COLOR)));
                let target = if color == MaterialColor::Emission { target } else { linear(target) };
                binds.materials.push(MaterialBind { material, color, target });
            } else if let Some(axes) = main_texture_axes(property) {
                let bind = texture_bind(material, json, axes, [at(0), at(1), at(2), at(3)]);
                binds.textures.push(bind);
            } else {
                budget.warn(format!("expression {name:?} changes {property:?}, which omote does not know"));
            }
        }
    }
    binds
}

fn color(property: &str) -> Option<MaterialColor> {
    Some(match property {
        "_Color" => MaterialColor::Base,
        "_EmissionColor" => MaterialColor::Emission,
        "_ShadeColor" => MaterialColor::Shade,
        "_RimColor" => MaterialColor::Rim,
        "_OutlineColor" => MaterialColor::Outline,
        _ => return None,
    })
}

/// Which components of `_MainTex_ST` a property changes.
fn main_texture_axes(property: &str) -> Option<Vec2> {
    match property {
        "_MainTex_ST" => Some(Vec2::ONE),
        "_MainTex_ST_S" => Some(Vec2::X),
        "_MainTex_ST_T" => Some(Vec2::Y),
        _ => None,
    }
}

/// The target is (scale x, scale y, offset x, offset y) with V up; the model wants what is applied on top of the
/// material's own transform, with V down.
fn texture_bind(material: usize, json: &Material, axes: Vec2, target: [Option<f32>; 4]) -> TextureBind {
    let own = json.base_texture.map_or_else(Default::default, |t| t.transform);
    let get = |i: usize, default: f32| target.get(i).copied().flatten().unwrap_or(default);
    let scale = Vec2::new(get(0, 1.0), get(1, 1.0));
    let offset = Vec2::new(get(2, 0.0), 1.0 - get(3, 0.0) - scale.y);
    // The posed transform is `uv * uv_scale + uv_offset` after the own one: own.scale * s = scale.
    let relative = |own: f32, wanted: f32| if own.abs() > 1e-6 { wanted / own } else { 1.0 };
    let on_top = Vec2::new(relative(own.scale.x, scale.x), relative(own.scale.y, scale.y));
    let shift = offset - own.offset * on_top;
    TextureBind { material, scale: Vec2::ONE + (on_top - Vec2::ONE) * axes, offset: shift * axes }
}

pub(super) fn look_at(vrm: &Value) -> Option<LookAt> {
    let json = vrm.get("firstPerson")?;
    let kind = if text(json, "lookAtTypeName") == "BlendShape" { LookAtKind::Expression } else { LookAtKind::Bone };
    let range = |key: &str| {
        let map = member(json, key);
        let scale = number(map, "yRange").unwrap_or(if kind == LookAtKind::Bone { 10.0 } else { 1.0 });
        LookAtRange {
            input_max: number(map, "xRange").unwrap_or(90.0).clamp(0.0, 180.0).to_radians(),
            output_scale: if kind == LookAtKind::Bone { scale.to_radians() } else { scale },
        }
    };
    // From Unity's left-handed bone space to the file's.
    let offset = vec3(json, "firstPersonBoneOffset", Vec3::ZERO) * Vec3::new(1.0, 1.0, -1.0);
    Some(LookAt {
        kind,
        offset_from_head: offset,
        horizontal_inner: range("lookAtHorizontalInner"),
        horizontal_outer: range("lookAtHorizontalOuter"),
        vertical_down: range("lookAtVerticalDown"),
        vertical_up: range("lookAtVerticalUp"),
    })
}
