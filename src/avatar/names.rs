//! The names by which avatars call their shapes and bones: VRM, ARKit, VRChat, VRoid, MMD, Mixamo.
//!
//! This is the only place in omote that knows them.

use std::collections::HashSet;

use super::scene::Scene;
use super::vrm1::Bones;
use super::{
    Expression, ExpressionBinds, ExpressionGroup, ExpressionMask, MeshInstance, MorphBind, OverrideKind, Preset,
};
use crate::types::{ARKIT_NAMES, BONE_COUNT, Bone};

/// Shapes that plain glTF avatars may offer as expressions.
const MAX_SHAPES: usize = 1024;

/// Names compare without case, spaces and punctuation.
pub(super) fn normalised(name: &str) -> String {
    name.chars().filter(|c| c.is_alphanumeric()).flat_map(char::to_lowercase).collect()
}

/// Whether `name` (as in a file) is one of `wanted` (normalised); a prefix up to the last dot does not count
/// ("blendShape1.jawOpen").
pub(super) fn matches(name: &str, wanted: &str) -> bool {
    normalised(name) == wanted || name.rsplit_once('.').is_some_and(|(_, end)| normalised(end) == wanted)
}

/// Names of single shapes that are a preset, best first, normalised.
pub(super) fn shape_names(preset: Preset) -> &'static [&'static str] {
    match preset {
        Preset::Happy => &["happy", "joy", "smile", "fclalljoy", "笑い", "喜び", "にこり"],
        Preset::Angry => &["angry", "anger", "fclallangry", "怒り"],
        Preset::Sad => &["sad", "sorrow", "fclallsorrow", "悲しみ", "哀しい", "困る"],
        Preset::Relaxed => &["relaxed", "fun", "fclallfun", "楽しい", "なごみ"],
        Preset::Surprised => &["surprised", "surprise", "fclallsurprised", "びっくり", "驚き"],
        Preset::Neutral => &["neutral", "fclallneutral"],
        Preset::Aa => &[
            "aa",
            "a",
            "あ",
            "moutha",
            "mouthaa",
            "fclmtha",
            "vrcvaa",
            "vaa",
            "visemeaa",
            "ah",
            "mouthopen",
            "jawopen",
        ],
        Preset::Ih => &["ih", "i", "い", "mouthi", "mouthih", "fclmthi", "vrcvih", "vih", "visemei", "visemeih"],
        Preset::Ou => {
            &["ou", "u", "う", "mouthu", "mouthou", "fclmthu", "vrcvou", "vou", "visemeu", "visemeou", "mouthpucker"]
        }
        Preset::Ee => &["ee", "e", "え", "mouthe", "mouthee", "fclmthe", "vrcve", "ve", "visemee"],
        Preset::Oh => {
            &["oh", "o", "お", "moutho", "mouthoh", "fclmtho", "vrcvoh", "voh", "visemeo", "visemeoh", "mouthfunnel"]
        }
        Preset::Blink => {
            &["blink", "まばたき", "瞬き", "fcleyeclose", "vrcblink", "eyesclosed", "eyeclose", "eyeclosed"]
        }
        Preset::BlinkLeft => &[
            "blinkleft",
            "blinkl",
            "winkleft",
            "winkl",
            "eyeblinkleft",
            "eyeblinkl",
            "fcleyeclosel",
            "vrcblinkleft",
            "ウィンク",
            "ウィンク左",
        ],
        Preset::BlinkRight => &[
            "blinkright",
            "blinkr",
            "winkright",
            "winkr",
            "eyeblinkright",
            "eyeblinkr",
            "fcleyecloser",
            "vrcblinkright",
            "ウィンク右",
        ],
        Preset::LookUp => &["lookup", "eyelookup", "fcleyelookup"],
        Preset::LookDown => &["lookdown", "eyelookdown"],
        Preset::LookLeft => &["lookleft", "eyelookleft"],
        Preset::LookRight => &["lookright", "eyelookright"],
    }
}

/// Several shapes that together stand in for a preset, with their weights, normalised.
pub(super) fn compound(preset: Preset) -> &'static [(&'static str, f32)] {
    match preset {
        Preset::Happy => {
            &[("mouthsmileleft", 0.8), ("mouthsmileright", 0.8), ("cheeksquintleft", 0.5), ("cheeksquintright", 0.5)]
        }
        Preset::Angry => {
            &[("browdownleft", 1.0), ("browdownright", 1.0), ("mouthfrownleft", 0.3), ("mouthfrownright", 0.3)]
        }
        Preset::Sad => &[("browinnerup", 1.0), ("mouthfrownleft", 0.7), ("mouthfrownright", 0.7)],
        Preset::Relaxed => {
            &[("mouthsmileleft", 0.4), ("mouthsmileright", 0.4), ("eyesquintleft", 0.4), ("eyesquintright", 0.4)]
        }
        Preset::Surprised => &[
            ("eyewideleft", 1.0),
            ("eyewideright", 1.0),
            ("browinnerup", 0.7),
            ("browouterupleft", 0.7),
            ("browouterupright", 0.7),
        ],
        Preset::Ih => &[("mouthstretchleft", 0.6), ("mouthstretchright", 0.6), ("jawopen", 0.15)],
        Preset::Ee => &[("mouthstretchleft", 0.4), ("mouthstretchright", 0.4), ("jawopen", 0.35)],
        Preset::Blink => &[("eyeblinkleft", 1.0), ("eyeblinkright", 1.0)],
        Preset::LookUp => &[("eyelookupleft", 1.0), ("eyelookupright", 1.0)],
        Preset::LookDown => &[("eyelookdownleft", 1.0), ("eyelookdownright", 1.0)],
        Preset::LookLeft => &[("eyelookoutleft", 1.0), ("eyelookinright", 1.0)],
        Preset::LookRight => &[("eyelookinleft", 1.0), ("eyelookoutright", 1.0)],
        Preset::Neutral | Preset::Aa | Preset::Ou | Preset::Oh | Preset::BlinkLeft | Preset::BlinkRight => &[],
    }
}

/// Which overrides a preset is subject to.
pub(super) fn group_of_preset(preset: Preset) -> ExpressionGroup {
    match preset {
        Preset::Aa | Preset::Ih | Preset::Ou | Preset::Ee | Preset::Oh => ExpressionGroup::Mouth,
        Preset::Blink | Preset::BlinkLeft | Preset::BlinkRight => ExpressionGroup::Blink,
        Preset::LookUp | Preset::LookDown | Preset::LookLeft | Preset::LookRight => ExpressionGroup::LookAt,
        _ => ExpressionGroup::None,
    }
}

/// Which overrides a custom expression is subject to: visemes and ARKit shapes join the groups.
pub(super) fn group_of(name: &str) -> ExpressionGroup {
    let name = normalised(name);
    let starts = |prefixes: &[&str]| prefixes.iter().any(|p| name.starts_with(p));
    if starts(&["viseme", "vrcv", "fclmth", "jawopen", "mouthfunnel", "mouthpucker", "mouthclose"]) {
        ExpressionGroup::Mouth
    } else if starts(&["eyeblink", "fcleyeclose"]) {
        ExpressionGroup::Blink
    } else if starts(&["eyelook"]) {
        ExpressionGroup::LookAt
    } else {
        ExpressionGroup::None
    }
}

/// True for a custom expression that is one ARKit shape or one viseme: a part of a face, and no acting of all of it.
pub(super) fn is_single_shape(name: &str) -> bool {
    ARKIT_NAMES.contains(&name) || name.starts_with("viseme_")
}

/// An expression cannot override the group it belongs to.
pub(super) fn without_own_group(mut mask: ExpressionMask, group: ExpressionGroup) -> ExpressionMask {
    match group {
        ExpressionGroup::Blink => mask.blink = OverrideKind::None,
        ExpressionGroup::LookAt => mask.look_at = OverrideKind::None,
        ExpressionGroup::Mouth => mask.mouth = OverrideKind::None,
        ExpressionGroup::None => {}
    }
    mask
}

/// An expression that plays the morph targets of this exact name on all meshes; `None` where no mesh has one.
pub(super) fn expression_of_morph(name: &str, meshes: &[MeshInstance]) -> Option<Expression> {
    let mut morphs = Vec::new();
    for mesh in meshes {
        if let Some(target) = mesh.morph_names.iter().position(|n| n == name) {
            morphs.push(MorphBind { morph: mesh.morph_offset + target, weight: 1.0 });
        }
    }
    (!morphs.is_empty()).then(|| Expression {
        name: name.to_owned(),
        group: group_of(name),
        binds: ExpressionBinds { morphs, ..ExpressionBinds::default() },
        ..Expression::default()
    })
}

/// All different morph target names, in file order.
pub(super) fn morph_names(meshes: &[MeshInstance]) -> Vec<&str> {
    let mut seen = HashSet::new();
    meshes.iter().flat_map(|m| &m.morph_names).map(String::as_str).filter(|n| seen.insert(*n)).collect()
}

/// The expressions of a file without VRM data: presets by their common names, and every other shape as a custom one.
pub(super) fn expressions_by_name(meshes: &[MeshInstance]) -> Vec<Expression> {
    let names = morph_names(meshes);
    let mut out = Vec::new();
    for preset in Preset::ALL {
        let found = shape_names(preset).iter().find_map(|wanted| names.iter().find(|n| matches(n, wanted)));
        if let Some(mut expression) = found.and_then(|n| expression_of_morph(n, meshes)) {
            expression.name = preset.name().to_owned();
            expression.preset = Some(preset);
            expression.group = group_of_preset(preset);
            out.push(expression);
        }
    }
    for name in names.into_iter().take(MAX_SHAPES) {
        if !out.iter().any(|e: &Expression| e.name == name) {
            out.extend(expression_of_morph(name, meshes));
        }
    }
    out
}

/// Finds humanoid bones by the names of nodes, for files without VRM data.
pub(super) fn bones_by_name(scene: &Scene) -> Bones {
    let joints: HashSet<usize> = scene.skins.iter().flat_map(|s| s.joints.iter().copied()).collect();
    let meshes: HashSet<usize> = scene.meshes.iter().map(|m| m.node).collect();
    let mut bones: Bones = [None; BONE_COUNT];
    let mut is_joint = [false; BONE_COUNT];
    for (index, node) in scene.nodes.iter().enumerate() {
        if meshes.contains(&index) {
            continue;
        }
        let Some(bone) = bone_of_name(&node.name) else { continue };
        let slot = bone as usize;
        // The skeleton's own bone beats a group of the same name; otherwise the first wins.
        if bones[slot].is_none() || (joints.contains(&index) && !is_joint[slot]) {
            bones[slot] = Some(index);
            is_joint[slot] = joints.contains(&index);
        }
    }
    bones
}

fn bone_of_name(name: &str) -> Option<Bone> {
    let name = name.strip_suffix("_end").map_or(name, |_| "");
    let name = name.rsplit([':', '|']).next().unwrap_or(name);
    let stripped = ["J_Bip_C_", "J_Bip_", "J_Adj_", "DEF-", "Bip001 ", "Bip01 ", "ORG-"];
    let name = stripped.iter().find_map(|p| name.strip_prefix(p)).unwrap_or(name);
    let (side, base) = split_side(name);
    let base = normalised(&base);
    let base = base.strip_prefix("mixamorig").unwrap_or(&base);
    let central = match base {
        "hips" | "hip" | "pelvis" | "腰" | "センター" => Bone::Hips,
        "spine" | "上半身" | "背骨" => Bone::Spine,
        "chest" | "spine1" | "spine01" | "上半身2" | "胸" => Bone::Chest,
        "upperchest" | "spine2" | "spine02" => Bone::UpperChest,
        "neck" | "首" => Bone::Neck,
        "head" | "頭" => Bone::Head,
        "jaw" | "顎" | "あご" => Bone::Jaw,
        _ => {
            let bone = match base {
                "eye" | "faceeye" | "目" => Bone::LeftEye,
                "shoulder" | "clavicle" | "肩" => Bone::LeftShoulder,
                "upperarm" | "arm" | "腕" => Bone::LeftUpperArm,
                "lowerarm" | "forearm" | "ひじ" => Bone::LeftLowerArm,
                "hand" | "手首" => Bone::LeftHand,
                "upperleg" | "upleg" | "thigh" | "足" => Bone::LeftUpperLeg,
                "lowerleg" | "leg" | "calf" | "shin" | "ひざ" => Bone::LeftLowerLeg,
                "foot" | "足首" => Bone::LeftFoot,
                "toe" | "toes" | "toebase" | "つま先" => Bone::LeftToes,
                _ => return None,
            };
            return match side? {
                Side::Left => Some(bone),
                Side::Right => Bone::from_name(&bone.name().replacen("left", "right", 1)),
            };
        }
    };
    side.is_none().then_some(central)
}

#[derive(Clone, Copy)]
enum Side {
    Left,
    Right,
}

/// Takes the mark of the side off a bone's name.
fn split_side(name: &str) -> (Option<Side>, String) {
    let lower = name.to_lowercase();
    for (mark, side) in [("left", Side::Left), ("right", Side::Right), ("左", Side::Left), ("右", Side::Right)] {
        if lower.contains(mark) {
            return (Some(side), lower.replacen(mark, "", 1));
        }
    }
    for (letter, side) in [("l", Side::Left), ("r", Side::Right)] {
        for separator in ["_", ".", " ", "-"] {
            let (suffix, prefix) = (format!("{separator}{letter}"), format!("{letter}{separator}"));
            if let Some(base) = lower.strip_suffix(&suffix).or_else(|| lower.strip_prefix(&prefix)) {
                return (Some(side), base.to_owned());
            }
        }
    }
    (None, lower)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shapes_are_found_by_common_names() {
        for (name, preset) in [
            ("vrc.v_aa", Preset::Aa),
            ("Fcl_MTH_A", Preset::Aa),
            ("あ", Preset::Aa),
            ("mouth_a", Preset::Aa),
            ("blendShape1.jawOpen", Preset::Aa),
            ("Fcl_EYE_Close_R", Preset::BlinkRight),
            ("eyeBlink_L", Preset::BlinkLeft),
            ("まばたき", Preset::Blink),
            ("Fcl_ALL_Joy", Preset::Happy),
        ] {
            assert!(shape_names(preset).iter().any(|w| matches(name, w)), "{name}");
        }
    }

    #[test]
    fn bones_are_found_by_common_names() {
        for (name, bone) in [
            ("mixamorig:LeftForeArm", Bone::LeftLowerArm),
            ("J_Bip_C_Head", Bone::Head),
            ("J_Bip_R_UpperArm", Bone::RightUpperArm),
            ("upper_arm.L", Bone::LeftUpperArm),
            ("Hips", Bone::Hips),
            ("左ひじ", Bone::LeftLowerArm),
            ("head", Bone::Head),
            ("RightUpLeg", Bone::RightUpperLeg),
        ] {
            assert_eq!(bone_of_name(name), Some(bone), "{name}");
        }
        assert_eq!(bone_of_name("HeadTop_End"), None);
        assert_eq!(bone_of_name("tailL1"), None);
    }
}
