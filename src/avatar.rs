//! glTF and VRM files become an [`AvatarModel`]: meshes, skeleton, expressions, springs. No GPU, no time.
//!
//! Only this module knows file-format names ("aa", "A", "mouth_open"); inside, names are enum values and indices.
//! Space: metres, +Y up, the avatar faces +Z, +X is its left. VRM 0.x files are turned to face +Z on load;
//! plain glTF keeps the coordinates of its file.
//!
//! Files come from strangers. Reading is lenient where something can still be shown (a missing texture, a bad spring:
//! a warning) and strict where memory or indices are at stake: every index is checked, decoding has a budget, nothing
//! recurses, nothing panics.

mod accessor;
mod budget;
mod container;
mod error;
mod fallback;
mod inspect;
mod lips;
mod material;
mod material0;
mod mesh;
mod model;
mod names;
mod posed;
mod profile;
mod scene;
mod sidecar;
mod spring;
mod texture;
mod value;
mod vrm0;
mod vrm1;

use std::collections::HashSet;
use std::path::Path;

use budget::Budget;
use container::Document;
pub use error::AvatarError;
pub use fallback::{Fallback, Fallbacks, Mix};
pub use inspect::{ExpressionReport, FallbackReport, InspectReport, inspect};
pub use lips::lip_shares;
pub use model::{
    AlphaMode, AvatarFormat, AvatarMeta, AvatarModel, Collider, ColliderShape, Constraint, ConstraintKind,
    CorrectionPoint, Expression, ExpressionBinds, ExpressionGroup, ExpressionMask, LookAt, LookAtKind, LookAtRange,
    Material, MaterialBind, MaterialColor, MeshInstance, MorphBind, MorphTarget, Node, OutlineMode, OverrideKind,
    Preset, Primitive, Sampler, Sidecar, Skin, Spring, SpringJoint, Texture, TextureBind, TextureRef, TextureTransform,
    TextureWrap, Toon, Transform,
};
pub use posed::{MaterialState, PosedAvatar};
pub use profile::AvatarProfile;

use crate::types::Bone;

/// Ending of the sidecar file that may lie beside an avatar (`NAME.omote.toml`).
pub const SIDECAR_EXTENSION: &str = "omote.toml";

/// Loads an avatar file and, if there is one, the sidecar beside it. Blocks on the disk: for the loader thread.
pub fn load(path: &Path) -> Result<AvatarModel, AvatarError> {
    let read_error = |reason: String| AvatarError::Read { reason, path: path.display().to_string() };
    let mut budget = Budget::default();
    let bytes = container::read_file(path, &mut budget).map_err(read_error)?;
    let mut model = load_bytes(&bytes, path.parent())?;
    let sidecar = path.with_extension(SIDECAR_EXTENSION);
    match std::fs::metadata(&sidecar) {
        Ok(meta) if meta.len() > sidecar::MAX_BYTES => {
            model.warnings.push(format!("the sidecar file is too large and is ignored: {}", sidecar.display()));
        }
        Ok(_) => match std::fs::read_to_string(&sidecar) {
            Ok(text) => sidecar::apply(&mut model, &text),
            Err(e) => model.warnings.push(format!("the sidecar file cannot be read ({e}): {}", sidecar.display())),
        },
        Err(_) => {}
    }
    lips::split_lips(&mut model);
    Ok(model)
}

/// The avatar that comes with omote, sidecar included.
pub fn bundled() -> Result<AvatarModel, AvatarError> {
    let mut model = load_bytes(include_bytes!("../assets/avatar/mochi.vrm"), None)?;
    sidecar::apply(&mut model, include_str!("../assets/avatar/mochi.omote.toml"));
    lips::split_lips(&mut model);
    Ok(model)
}

/// Decodes an avatar. `base_dir` is where a glTF's further files lie; `None` allows none.
pub fn load_bytes(bytes: &[u8], base_dir: Option<&Path>) -> Result<AvatarModel, AvatarError> {
    let mut budget = Budget::default();
    let document = Document::read(bytes, base_dir, &mut budget)?;
    let root = &document.root;
    let vrm1 = document.extension("VRMC_vrm");
    let vrm0 = document.extension("VRM").filter(|_| vrm1.is_none());
    let format = match (vrm1, vrm0) {
        (Some(_), _) => AvatarFormat::Vrm1,
        (None, Some(_)) => AvatarFormat::Vrm0,
        (None, None) => AvatarFormat::Gltf,
    };

    let mut textures = texture::Textures::new(&document);
    let mut materials = material::read(&document, &mut textures, &mut budget)?;
    let file_materials = materials.len();
    if let Some(vrm) = vrm0 {
        material0::convert(vrm, &mut materials, &mut textures, &mut budget)?;
    }
    let textures = textures.into_textures();

    let hidden: HashSet<usize> = match (vrm1, vrm0) {
        (Some(vrm), _) => vrm1::first_person_only(vrm),
        (None, Some(vrm)) => vrm0::first_person_only(vrm, root),
        (None, None) => HashSet::new(),
    };
    let turned = format == AvatarFormat::Vrm0;
    let mut scene = scene::build(&document, turned, &|node| hidden.contains(&node), file_materials, &mut budget)?;

    let (meta, bones, expressions, look_at) = match (vrm1, vrm0) {
        (Some(vrm), _) => (
            vrm1::meta(vrm),
            vrm1::bones(vrm, &scene, &mut budget),
            vrm1::expressions(vrm, &scene, file_materials, &mut budget),
            vrm1::look_at(vrm),
        ),
        (None, Some(vrm)) => (
            vrm0::meta(vrm),
            vrm0::bones(vrm, &scene, &mut budget),
            vrm0::expressions(vrm, &scene, &materials, &mut budget),
            vrm0::look_at(vrm),
        ),
        (None, None) => {
            let licence = root.asset.copyright.clone().unwrap_or_default();
            let meta = AvatarMeta { licence, ..AvatarMeta::default() };
            (meta, names::bones_by_name(&scene), names::expressions_by_name(&scene.meshes), None)
        }
    };
    let springs = match vrm0.and_then(|vrm| vrm.get("secondaryAnimation")) {
        Some(json) => spring::read_vrm0(json, &mut scene, &mut budget),
        None => document
            .extension("VRMC_springBone")
            .map_or_else(spring::Springs::default, |json| spring::read_vrm1(json, &scene, &mut budget)),
    };
    let constraints = vrm1::constraints(&document, &scene, &mut budget);

    let uses_default = scene.meshes.iter().flat_map(|m| &m.primitives).any(|p| p.material == file_materials);
    if uses_default || materials.is_empty() {
        materials.push(Material { name: "default".into(), ..Material::default() });
    }
    // MToon ignores vertex colours.
    for primitive in scene.meshes.iter_mut().flat_map(|m| &mut m.primitives) {
        if materials.get(primitive.material).is_some_and(|m| m.toon.is_some()) {
            primitive.colors = Vec::new();
        }
    }
    if scene.meshes.is_empty() {
        budget.warn("the file has nothing to draw");
    }
    let missing: Vec<&str> = inspect::REQUIRED_BONES
        .into_iter()
        .filter(|b| format != AvatarFormat::Gltf && bones[*b as usize].is_none())
        .map(Bone::name)
        .collect();
    if !missing.is_empty() {
        budget.warn(format!(
            "bones that every VRM needs are missing, so those parts stand still: {}",
            missing.join(", ")
        ));
    }
    Ok(AvatarModel {
        format,
        meta,
        nodes: scene.nodes,
        skins: scene.skins,
        meshes: scene.meshes,
        materials,
        textures,
        bones,
        expressions,
        look_at,
        colliders: springs.colliders,
        springs: springs.springs,
        constraints,
        sidecar: Sidecar::default(),
        morph_count: scene.morph_count,
        joint_count: scene.joint_count,
        warnings: budget.into_warnings(),
    })
}
