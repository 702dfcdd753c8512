//! glTF materials and MToon 1.0 (`VRMC_materials_mtoon`). VRM 0.x materials are converted in `material0`.

use glam::{Vec2, Vec3, Vec4};
use gltf::json::material::AlphaMode as JsonAlpha;
use gltf::json::texture::Info;
use gltf::json::validation::Checked;
use gltf::json::{self, Value};

use super::budget::Budget;
use super::container::Document;
use super::texture::Textures;
use super::value::{flag, index, member, number, text, vec2, vec3};
use super::{AlphaMode, AvatarError, Material, OutlineMode, TextureRef, TextureTransform, Toon};

/// Materials with depth-writing transparency come before the others; within a class the file's offset counts.
pub(super) const DEPTH_WRITING_ORDER: i32 = -100;

impl Default for Material {
    fn default() -> Self {
        Self {
            name: String::new(),
            base_color: Vec4::ONE,
            base_texture: None,
            emissive: Vec3::ZERO,
            emissive_texture: None,
            normal_texture: None,
            normal_scale: 1.0,
            alpha: AlphaMode::Opaque,
            double_sided: false,
            unlit: false,
            toon: None,
            render_order: 0,
        }
    }
}

impl Default for Toon {
    /// The defaults of the MToon 1.0 specification.
    fn default() -> Self {
        Self {
            shade_color: Vec3::ZERO,
            shade_texture: None,
            shading_shift: 0.0,
            shading_shift_texture: None,
            shading_shift_scale: 1.0,
            shading_toony: 0.9,
            gi_equalization: 0.9,
            rim_color: Vec3::ZERO,
            rim_texture: None,
            rim_lighting_mix: 1.0,
            rim_power: 5.0,
            rim_lift: 0.0,
            matcap_color: Vec3::ONE,
            matcap_texture: None,
            outline: OutlineMode::None,
            outline_width: 0.0,
            outline_width_texture: None,
            outline_color: Vec3::ZERO,
            outline_lighting_mix: 1.0,
            uv_scroll: Vec2::ZERO,
            uv_rotation: 0.0,
            uv_mask_texture: None,
        }
    }
}

/// Reads the glTF and MToon 1.0 side of all materials.
pub(super) fn read(
    document: &Document<'_>,
    textures: &mut Textures<'_>,
    budget: &mut Budget,
) -> Result<Vec<Material>, AvatarError> {
    document.root.materials.iter().map(|m| read_one(m, textures, budget)).collect()
}

fn read_one(json: &json::Material, textures: &mut Textures<'_>, budget: &mut Budget) -> Result<Material, AvatarError> {
    let finite = |values: [f32; 4]| Vec4::from(values.map(|v| if v.is_finite() { v } else { 0.0 }));
    let extensions = json.extensions.as_ref();
    let others = |name: &str| extensions.and_then(|e| e.others.get(name));
    let pbr = &json.pbr_metallic_roughness;
    let [r, g, b] = json.emissive_factor.0;
    let strength = extensions
        .and_then(|e| e.emissive_strength.as_ref())
        .map(|s| s.emissive_strength.0)
        .or_else(|| number(others("VRMC_materials_hdr_emissiveMultiplier")?, "emissiveMultiplier"));
    let mut material = Material {
        name: json.name.clone().unwrap_or_default(),
        base_color: finite(pbr.base_color_factor.0),
        base_texture: info(pbr.base_color_texture.as_ref(), textures, budget)?,
        emissive: finite([r, g, b, 0.0]).truncate() * strength.filter(|s| s.is_finite()).unwrap_or(1.0),
        emissive_texture: info(json.emissive_texture.as_ref(), textures, budget)?,
        normal_texture: match &json.normal_texture {
            Some(n) => {
                let transform = n.extensions.as_ref().and_then(|e| e.others.get("KHR_texture_transform"));
                reference(n.index.value(), n.tex_coord, transform, textures, budget)?
            }
            None => None,
        },
        normal_scale: json.normal_texture.as_ref().map_or(1.0, |n| n.scale),
        alpha: match json.alpha_mode {
            Checked::Valid(JsonAlpha::Mask) => AlphaMode::Mask { cutoff: json.alpha_cutoff.map_or(0.5, |c| c.0) },
            Checked::Valid(JsonAlpha::Blend) => AlphaMode::Blend { writes_depth: false },
            _ => AlphaMode::Opaque,
        },
        double_sided: json.double_sided,
        unlit: extensions.is_some_and(|e| e.unlit.is_some()),
        toon: None,
        render_order: 0,
    };
    if let Some(mtoon) = others("VRMC_materials_mtoon") {
        read_mtoon(mtoon, &mut material, textures, budget)?;
    }
    Ok(material)
}

fn read_mtoon(
    json: &Value,
    material: &mut Material,
    textures: &mut Textures<'_>,
    budget: &mut Budget,
) -> Result<(), AvatarError> {
    // MToon wins over KHR_materials_unlit, which is only there for viewers without MToon.
    material.unlit = false;
    let offset = number(json, "renderQueueOffsetNumber").unwrap_or(0.0) as i32;
    if let AlphaMode::Blend { writes_depth } = &mut material.alpha {
        *writes_depth = flag(json, "transparentWithZWrite");
        material.render_order =
            if *writes_depth { DEPTH_WRITING_ORDER + offset.clamp(0, 9) } else { offset.clamp(-9, 0) };
    }
    let toon = Toon::default();
    let mut texture = |name: &str| raw_info(member(json, name), textures, budget);
    let get = |name: &str, default: f32| number(json, name).unwrap_or(default);
    let outline = match text(json, "outlineWidthMode") {
        "worldCoordinates" => OutlineMode::WorldCoordinates,
        "screenCoordinates" => OutlineMode::ScreenCoordinates,
        _ => OutlineMode::None,
    };
    // The file's screen width is a share of the whole height, the model's one of half the height.
    let outline_unit = if outline == OutlineMode::ScreenCoordinates { 2.0 } else { 1.0 };
    material.toon = Some(Toon {
        shade_color: vec3(json, "shadeColorFactor", toon.shade_color),
        shade_texture: texture("shadeMultiplyTexture")?,
        shading_shift: get("shadingShiftFactor", toon.shading_shift),
        shading_shift_texture: texture("shadingShiftTexture")?,
        shading_shift_scale: number(member(json, "shadingShiftTexture"), "scale").unwrap_or(1.0),
        shading_toony: get("shadingToonyFactor", toon.shading_toony),
        gi_equalization: get("giEqualizationFactor", toon.gi_equalization),
        rim_color: vec3(json, "parametricRimColorFactor", toon.rim_color),
        rim_texture: texture("rimMultiplyTexture")?,
        rim_lighting_mix: get("rimLightingMixFactor", toon.rim_lighting_mix),
        rim_power: get("parametricRimFresnelPowerFactor", toon.rim_power),
        rim_lift: get("parametricRimLiftFactor", toon.rim_lift),
        matcap_color: vec3(json, "matcapFactor", toon.matcap_color),
        matcap_texture: texture("matcapTexture")?,
        outline,
        outline_width: get("outlineWidthFactor", toon.outline_width) * outline_unit,
        outline_width_texture: texture("outlineWidthMultiplyTexture")?,
        outline_color: vec3(json, "outlineColorFactor", toon.outline_color),
        outline_lighting_mix: get("outlineLightingMixFactor", toon.outline_lighting_mix),
        uv_scroll: Vec2::new(get("uvAnimationScrollXSpeedFactor", 0.0), get("uvAnimationScrollYSpeedFactor", 0.0)),
        uv_rotation: get("uvAnimationRotationSpeedFactor", 0.0),
        uv_mask_texture: texture("uvAnimationMaskTexture")?,
    });
    Ok(())
}

fn info(
    json: Option<&Info>,
    textures: &mut Textures<'_>,
    budget: &mut Budget,
) -> Result<Option<TextureRef>, AvatarError> {
    let Some(json) = json else { return Ok(None) };
    let reference = reference(json.index.value(), json.tex_coord, None, textures, budget)?;
    let transform = json.extensions.as_ref().and_then(|e| e.texture_transform.as_ref());
    Ok(reference.map(|mut reference| {
        if let Some(t) = transform {
            reference.transform =
                finite(TextureTransform { offset: t.offset.0.into(), scale: t.scale.0.into(), rotation: t.rotation.0 });
            reference.uv_set = t.tex_coord.unwrap_or(reference.uv_set).min(1);
        }
        reference
    }))
}

/// A texture reference inside an extension.
fn raw_info(json: &Value, textures: &mut Textures<'_>, budget: &mut Budget) -> Result<Option<TextureRef>, AvatarError> {
    let Some(texture) = index(json, "index") else { return Ok(None) };
    let set = index(json, "texCoord").unwrap_or(0) as u32;
    reference(texture, set, json.get("extensions").and_then(|e| e.get("KHR_texture_transform")), textures, budget)
}

fn reference(
    texture: usize,
    uv_set: u32,
    transform: Option<&Value>,
    textures: &mut Textures<'_>,
    budget: &mut Budget,
) -> Result<Option<TextureRef>, AvatarError> {
    let Some(texture) = textures.get(texture, budget)? else { return Ok(None) };
    let mut uv_set = transform.and_then(|t| index(t, "texCoord")).map_or(uv_set, |set| set as u32);
    if uv_set > 1 {
        budget.warn("a material uses a third set of texture coordinates; omote takes the first");
        uv_set = 0;
    }
    let transform = transform.map_or_else(TextureTransform::default, |t| {
        finite(TextureTransform {
            offset: vec2(t, "offset", Vec2::ZERO),
            scale: vec2(t, "scale", Vec2::ONE),
            rotation: number(t, "rotation").unwrap_or(0.0),
        })
    });
    Ok(Some(TextureRef { texture, uv_set, transform }))
}

fn finite(transform: TextureTransform) -> TextureTransform {
    let is_finite = transform.offset.is_finite() && transform.scale.is_finite() && transform.rotation.is_finite();
    if is_finite { transform } else { TextureTransform::default() }
}
