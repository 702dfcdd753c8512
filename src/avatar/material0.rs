//! VRM 0.x `materialProperties` (MToon 0.x and the unlit shaders) converted to MToon 1.0.
//!
//! Where the public implementations differ, UniVRM's migration is followed.

use std::f32::consts::TAU;

use glam::{Vec2, Vec3, Vec4};
use gltf::json::Value;

use super::budget::Budget;
use super::material::DEPTH_WRITING_ORDER;
use super::texture::Textures;
use super::value::{flag, index, items, member, number, text, vec4};
use super::{AlphaMode, AvatarError, Material, OutlineMode, TextureRef, TextureTransform, Toon};

/// Overwrites `materials` (already read as glTF) with what the VRM 0.x extension says.
pub(super) fn convert(
    vrm: &Value,
    materials: &mut [Material],
    textures: &mut Textures<'_>,
    budget: &mut Budget,
) -> Result<(), AvatarError> {
    let properties = items(vrm, "materialProperties");
    if properties.len() != materials.len() && !properties.is_empty() {
        budget.warn(format!("{} of {} materials have VRM properties", properties.len(), materials.len()));
    }
    for (json, material) in properties.iter().zip(materials.iter_mut()) {
        match text(json, "shader") {
            "VRM/MToon" => convert_mtoon(json, material, textures, budget)?,
            "VRM/UnlitTexture" | "VRM/UnlitCutout" | "VRM/UnlitTransparent" => material.unlit = true,
            "VRM/UnlitTransparentZWrite" => {
                material.unlit = true;
                material.alpha = AlphaMode::Blend { writes_depth: true };
            }
            // VRM_USE_GLTFSHADER, Standard, and everything unknown: as glTF says.
            _ if has_gamma_emission(vrm) => material.emissive = material.emissive.to_array().map(from_gamma).into(),
            _ => {}
        }
    }
    rank_queues(properties, materials);
    Ok(())
}

/// UniVRM before 0.107 wrote the emission of its standard materials without making it linear.
fn has_gamma_emission(vrm: &Value) -> bool {
    let version = text(vrm, "exporterVersion").strip_prefix("UniVRM-0.");
    let minor = version.and_then(|v| v.split('.').next()).and_then(|v| v.parse::<u32>().ok());
    minor.is_some_and(|minor| minor < 107)
}

/// Unity's gamma to linear: sRGB up to 1, a power beyond.
fn from_gamma(channel: f32) -> f32 {
    if channel > 1.0 { channel.powf(2.2) } else { linear_channel(channel) }
}

/// Unity's queue numbers have gaps; the model wants a small offset per class of transparency.
fn rank_queues(properties: &[Value], materials: &mut [Material]) {
    let queue = |json: &Value| number(json, "renderQueue").unwrap_or(0.0) as i32;
    for writes_depth in [false, true] {
        let is_member = |m: &Material| m.alpha == AlphaMode::Blend { writes_depth };
        let mut queues: Vec<i32> =
            properties.iter().zip(&*materials).filter(|(_, m)| is_member(m)).map(|(p, _)| queue(p)).collect();
        queues.sort_unstable();
        queues.dedup();
        let count = queues.len() as i32;
        for (json, material) in properties.iter().zip(materials.iter_mut()).filter(|(_, m)| is_member(m)) {
            let rank = queues.binary_search(&queue(json)).unwrap_or(0) as i32;
            material.render_order = if writes_depth { DEPTH_WRITING_ORDER + rank } else { rank - (count - 1).max(0) };
        }
    }
}

fn convert_mtoon(
    json: &Value,
    material: &mut Material,
    textures: &mut Textures<'_>,
    budget: &mut Budget,
) -> Result<(), AvatarError> {
    let floats = member(json, "floatProperties");
    let vectors = member(json, "vectorProperties");
    let keywords = member(json, "keywordMap");
    let float = |name: &str, default: f32| number(floats, name).unwrap_or(default);
    let color = |name: &str, default: Vec4| linear(vec4(vectors, name, default));
    let transform = main_transform(vec4(vectors, "_MainTex", Vec4::new(0.0, 0.0, 1.0, 1.0)));
    let mut texture = |name: &str| -> Result<Option<TextureRef>, AvatarError> {
        let Some(texture) = index(member(json, "textureProperties"), name) else { return Ok(None) };
        // All textures but the matcap share the transform of the main one.
        let transform = if name == "_SphereAdd" { TextureTransform::default() } else { transform };
        Ok(textures.get(texture, budget)?.map(|texture| TextureRef { texture, uv_set: 0, transform }))
    };

    material.unlit = false;
    material.base_color = color("_Color", Vec4::ONE);
    material.base_texture = texture("_MainTex")?;
    // UniVRM 0.x kept emission linear.
    material.emissive = vec4(vectors, "_EmissionColor", Vec4::ZERO).truncate();
    material.emissive_texture = texture("_EmissionMap")?;
    material.normal_texture = texture("_BumpMap")?;
    material.normal_scale = float("_BumpScale", 1.0);
    // 0 off, 1 front: both draw back faces. 2 back.
    material.double_sided = float("_CullMode", 2.0) < 1.5;
    material.alpha = if flag(keywords, "_ALPHABLEND_ON") || float("_BlendMode", 0.0) >= 2.0 {
        AlphaMode::Blend { writes_depth: float("_ZWrite", 0.0) > 0.5 }
    } else if flag(keywords, "_ALPHATEST_ON") || float("_BlendMode", 0.0) >= 1.0 {
        AlphaMode::Mask { cutoff: float("_Cutoff", 0.5) }
    } else {
        AlphaMode::Opaque
    };

    let (shading_toony, shading_shift) = shading(float("_ShadeToony", 0.9), float("_ShadeShift", 0.0));
    let outline = match float("_OutlineWidthMode", 0.0) as i32 {
        1 => OutlineMode::WorldCoordinates,
        2 => OutlineMode::ScreenCoordinates,
        _ => OutlineMode::None,
    };
    // Centimetres in world mode; percent of the half height in screen mode.
    let outline_width = float("_OutlineWidth", 0.0).max(0.0) * 0.01;
    let outline_is_lit = float("_OutlineColorMode", 0.0) > 0.5;
    material.toon = Some(Toon {
        shade_color: color("_ShadeColor", Vec4::ONE).truncate(),
        // Without a shade texture the old shader used the main one.
        shade_texture: texture("_ShadeTexture")?.or(material.base_texture),
        shading_shift,
        shading_shift_texture: None,
        shading_shift_scale: 1.0,
        shading_toony,
        gi_equalization: 1.0 - float("_IndirectLightIntensity", 0.1),
        rim_color: color("_RimColor", Vec4::ZERO).truncate(),
        rim_texture: texture("_RimTexture")?,
        rim_lighting_mix: 1.0,
        rim_power: float("_RimFresnelPower", 1.0),
        rim_lift: float("_RimLift", 0.0),
        matcap_color: Vec3::ONE,
        matcap_texture: texture("_SphereAdd")?,
        outline,
        outline_width,
        outline_width_texture: texture("_OutlineWidthTexture")?,
        outline_color: color("_OutlineColor", Vec4::new(0.0, 0.0, 0.0, 1.0)).truncate(),
        outline_lighting_mix: if outline_is_lit { float("_OutlineLightingMix", 1.0) } else { 0.0 },
        uv_scroll: Vec2::new(float("_UvAnimScrollX", 0.0), -float("_UvAnimScrollY", 0.0)),
        uv_rotation: float("_UvAnimRotation", 0.0) * TAU,
        uv_mask_texture: texture("_UvAnimMaskTexture")?,
    });
    Ok(())
}

/// MToon 0.x toony and shift to 1.0: the same ramp, described by its middle and its width.
fn shading(toony: f32, shift: f32) -> (f32, f32) {
    let (low, high) = (shift, 1.0 + (shift - 1.0) * toony);
    (((2.0 - (high - low)) * 0.5).clamp(0.0, 1.0), (-(high + low) * 0.5).clamp(-1.0, 1.0))
}

/// Unity's (offset, scale) with V up to glTF's with V down.
fn main_transform(offset_scale: Vec4) -> TextureTransform {
    let [ox, oy, sx, sy] = offset_scale.to_array();
    TextureTransform { offset: Vec2::new(ox, 1.0 - sy - oy), scale: Vec2::new(sx, sy), rotation: 0.0 }
}

/// sRGB to linear; alpha stays.
pub(super) fn linear(color: Vec4) -> Vec4 {
    Vec4::new(linear_channel(color.x), linear_channel(color.y), linear_channel(color.z), color.w)
}

fn linear_channel(c: f32) -> f32 {
    if c <= 0.040_45 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shading_follows_the_migration() {
        let (toony, shift) = shading(0.9, 0.0);
        assert!((toony - 0.95).abs() < 1e-6 && (shift + 0.05).abs() < 1e-6, "{toony} {shift}");
    }

    #[test]
    fn main_texture_transform_is_flipped() {
        let t = main_transform(Vec4::new(0.25, 0.0, 0.5, 0.5));
        assert_eq!((t.offset, t.scale), (Vec2::new(0.25, 0.5), Vec2::splat(0.5)));
    }
}
