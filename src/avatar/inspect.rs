//! The data of `omote inspect FILE`: what an avatar holds, what is missing, and what stands in for it.

use serde::Serialize;

use super::{AvatarFormat, AvatarModel, ExpressionGroup, Fallback, Fallbacks, Mix, Preset};
use crate::types::Bone;

/// What an avatar file holds. Serialises to the output of `omote inspect --json`.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct InspectReport {
    pub kind: &'static str,
    pub format: &'static str,
    pub name: String,
    pub authors: Vec<String>,
    pub version: String,
    pub licence: String,
    pub licence_url: String,
    pub nodes: usize,
    pub meshes: usize,
    pub primitives: usize,
    pub vertices: usize,
    pub triangles: usize,
    pub morph_targets: usize,
    pub joints: usize,
    pub materials: usize,
    pub textures: usize,
    /// Memory of the decoded textures.
    pub texture_bytes: usize,
    pub bones: Vec<&'static str>,
    /// Bones that the VRM 1.0 format demands but the file lacks.
    pub missing_required_bones: Vec<&'static str>,
    pub missing_optional_bones: Vec<&'static str>,
    pub expressions: Vec<ExpressionReport>,
    /// One for each preset that the file lacks.
    pub missing_presets: Vec<FallbackReport>,
    /// `"bone"`, `"expression"` or `"none"`.
    pub gaze: &'static str,
    pub springs: usize,
    pub spring_joints: usize,
    pub colliders: usize,
    pub constraints: usize,
    /// Names of the camera-angle corrections, without `back`.
    pub corrections: Vec<String>,
    pub laugh: Option<String>,
    pub warnings: Vec<String>,
}

/// One expression of the file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ExpressionReport {
    pub name: String,
    pub is_preset: bool,
    pub is_binary: bool,
    /// `"none"`, `"blink"`, `"lookAt"` or `"mouth"`.
    pub group: &'static str,
    pub morphs: usize,
    pub material_changes: usize,
}

/// What stands in for a missing preset.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct FallbackReport {
    pub preset: &'static str,
    /// In words, for example `"eyeBlinkLeft × 1"`, `"jaw bone"` or `"nothing"`.
    pub played_by: String,
}

/// The bones that VRM 1.0 demands.
pub(super) const REQUIRED_BONES: [Bone; 15] = [
    Bone::Hips,
    Bone::Spine,
    Bone::Head,
    Bone::LeftUpperArm,
    Bone::LeftLowerArm,
    Bone::LeftHand,
    Bone::RightUpperArm,
    Bone::RightLowerArm,
    Bone::RightHand,
    Bone::LeftUpperLeg,
    Bone::LeftLowerLeg,
    Bone::LeftFoot,
    Bone::RightUpperLeg,
    Bone::RightLowerLeg,
    Bone::RightFoot,
];

/// Describes a loaded avatar.
pub fn inspect(model: &AvatarModel) -> InspectReport {
    let fallbacks = model.fallbacks();
    let primitives = || model.meshes.iter().flat_map(|m| &m.primitives);
    let is_missing = |bone: &Bone| model.bone(*bone).is_none();
    let missing_presets = Preset::ALL
        .into_iter()
        .zip(&fallbacks.presets)
        .filter(|(_, fallback)| !matches!(fallback, Fallback::Own(_)))
        .map(|(preset, fallback)| FallbackReport {
            preset: preset.name(),
            played_by: describe(model, &fallbacks, fallback),
        })
        .collect();
    let gaze = match (&model.look_at, model.bone(Bone::LeftEye).is_some() || model.bone(Bone::RightEye).is_some()) {
        (Some(look_at), _) if look_at.kind == super::LookAtKind::Expression => "expression",
        (_, true) => "bone",
        _ if !matches!(fallbacks.presets[Preset::LookLeft as usize], Fallback::Nothing) => "expression",
        _ => "none",
    };
    InspectReport {
        kind: "avatar",
        format: match model.format {
            AvatarFormat::Vrm1 => "VRM 1.0",
            AvatarFormat::Vrm0 => "VRM 0.x",
            AvatarFormat::Gltf => "glTF 2.0",
        },
        name: model.meta.name.clone(),
        authors: model.meta.authors.clone(),
        version: model.meta.version.clone(),
        licence: model.meta.licence.clone(),
        licence_url: model.meta.licence_url.clone(),
        nodes: model.nodes.len(),
        meshes: model.meshes.len(),
        primitives: primitives().count(),
        vertices: primitives().map(|p| p.positions.len()).sum(),
        triangles: primitives().map(|p| p.indices.len() / 3).sum(),
        morph_targets: model.morph_count,
        joints: model.joint_count,
        materials: model.materials.len(),
        textures: model.textures.len(),
        texture_bytes: model.textures.iter().map(|t| t.rgba.len()).sum(),
        bones: Bone::ALL.into_iter().filter(|b| !is_missing(b)).map(Bone::name).collect(),
        missing_required_bones: REQUIRED_BONES.into_iter().filter(is_missing).map(Bone::name).collect(),
        missing_optional_bones: Bone::ALL
            .into_iter()
            .filter(|b| is_missing(b) && !REQUIRED_BONES.contains(b))
            .map(Bone::name)
            .collect(),
        expressions: model
            .expressions
            .iter()
            .map(|e| ExpressionReport {
                name: e.name.clone(),
                is_preset: e.preset.is_some(),
                is_binary: e.is_binary,
                group: match e.group {
                    ExpressionGroup::None => "none",
                    ExpressionGroup::Blink => "blink",
                    ExpressionGroup::LookAt => "lookAt",
                    ExpressionGroup::Mouth => "mouth",
                },
                morphs: e.binds.morphs.len(),
                material_changes: e.binds.materials.len() + e.binds.textures.len(),
            })
            .collect(),
        missing_presets,
        gaze,
        springs: model.springs.len(),
        spring_joints: model.springs.iter().map(|s| s.joints.len()).sum(),
        colliders: model.colliders.len(),
        constraints: model.constraints.len(),
        corrections: model.sidecar.corrections.iter().map(|c| c.name.clone()).collect(),
        laugh: model.sidecar.laugh.and_then(|i| model.expressions.get(i)).map(|e| e.name.clone()),
        warnings: model.warnings.clone(),
    }
}

fn describe(model: &AvatarModel, fallbacks: &Fallbacks, fallback: &Fallback) -> String {
    let name = |index: usize| {
        let own = model.expressions.get(index);
        own.or_else(|| fallbacks.extra.get(index - model.expressions.len())).map_or("?", |e| e.name.as_str())
    };
    let mix =
        |mix: &Mix| mix.iter().map(|(i, weight)| format!("{} × {weight}", name(*i))).collect::<Vec<_>>().join(" + ");
    match fallback {
        Fallback::Own(index) => name(*index).to_owned(),
        Fallback::Shapes(shapes) => mix(shapes),
        Fallback::JawBone(amount) => format!("jaw bone × {amount}"),
        Fallback::EyeBones => "eye bones".into(),
        Fallback::Nothing => "nothing".into(),
    }
}
