//! Materials as the shaders see them: uniform values per frame, texture slots and the features that choose a pipeline.

use bytemuck::{Pod, Zeroable};
use glam::{Vec2, Vec3};

use crate::avatar::{AlphaMode, Material, MaterialState, OutlineMode, TextureRef, TextureTransform};

/// Texture slots of `common.wgsl`, in binding order.
pub(super) const SLOT_COUNT: usize = 9;
const SHADE: usize = 1;
const MATCAP: usize = 5;

/// Whether a slot's texture holds colours (sRGB) or numbers (linear).
pub(super) const SLOT_IS_COLOR: [bool; SLOT_COUNT] = [true, true, false, false, true, true, true, false, false];

/// `Material` in `common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct MaterialUniform {
    base_color: [f32; 4],
    emissive: [f32; 3],
    alpha_cutoff: f32,
    shade_color: [f32; 3],
    shading_shift: f32,
    rim_color: [f32; 3],
    shading_toony: f32,
    matcap_color: [f32; 3],
    gi_equalization: f32,
    outline_color: [f32; 3],
    outline_width: f32,
    rim_lighting_mix: f32,
    rim_power: f32,
    rim_lift: f32,
    outline_lighting_mix: f32,
    normal_scale: f32,
    shading_shift_scale: f32,
    outline_on_screen: f32,
    uv_rotation: f32,
    uv_scroll: [f32; 2],
    padding: [f32; 2],
    uv: [UvTransform; SLOT_COUNT],
}
const _: () = assert!(size_of::<MaterialUniform>() == 432);

#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct UvTransform {
    linear: [f32; 4],
    rest: [f32; 4],
}

/// Which shader draws a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Shading {
    Toon,
    Unlit,
    Diffuse,
}

/// How a material meets what is behind it; in drawing order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Layer {
    Opaque,
    Mask,
    BlendWritingDepth,
    Blend,
}

impl Layer {
    pub fn of(alpha: AlphaMode) -> Self {
        match alpha {
            AlphaMode::Opaque => Self::Opaque,
            AlphaMode::Mask { .. } => Self::Mask,
            AlphaMode::Blend { writes_depth: true } => Self::BlendWritingDepth,
            AlphaMode::Blend { writes_depth: false } => Self::Blend,
        }
    }
}

/// What of the shader a material uses; the rest is compiled out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) struct Features {
    /// By slot.
    pub textures: [bool; SLOT_COUNT],
    pub has_uv_animation: bool,
    /// The shade texture is the base texture at the same place: one look-up serves both. Most avatars are made so.
    pub is_shade_of_base: bool,
    pub has_rim: bool,
    pub is_outline_lit: bool,
}

impl Shading {
    /// MToon wins over unlit, as the VRM specification has it.
    pub fn of(material: &Material) -> Self {
        match (&material.toon, material.unlit) {
            (Some(_), _) => Self::Toon,
            (None, true) => Self::Unlit,
            (None, false) => Self::Diffuse,
        }
    }
}

impl Features {
    /// `is_rim_animated`: some expression colours this material's rim.
    pub fn of(material: &Material, is_rim_animated: bool) -> Self {
        let toon = material.toon.as_ref();
        let mut textures = slots(material).map(|s| s.is_some());
        let is_shade_of_base =
            toon.is_some_and(|t| t.shade_texture.is_some() && t.shade_texture == material.base_texture);
        if is_shade_of_base {
            textures[SHADE] = false;
        }
        Self {
            textures,
            is_shade_of_base,
            has_rim: is_rim_animated || toon.is_some_and(|t| t.rim_color != Vec3::ZERO),
            is_outline_lit: toon.is_some_and(|t| t.outline_lighting_mix > 0.0),
            has_uv_animation: toon.is_some_and(|t| t.uv_scroll != Vec2::ZERO || t.uv_rotation != 0.0),
        }
    }
}

/// Whether the material has an outline at all.
pub(super) fn has_outline(material: &Material) -> bool {
    material.toon.as_ref().is_some_and(|t| t.outline != OutlineMode::None && t.outline_width > 0.0)
}

/// The material's textures by slot.
pub(super) fn slots(material: &Material) -> [Option<TextureRef>; SLOT_COUNT] {
    let toon = material.toon.as_ref();
    [
        material.base_texture,
        toon.and_then(|t| t.shade_texture),
        toon.and_then(|t| t.shading_shift_texture),
        material.normal_texture,
        toon.and_then(|t| t.rim_texture),
        toon.and_then(|t| t.matcap_texture),
        material.emissive_texture,
        toon.and_then(|t| t.outline_width_texture),
        toon.and_then(|t| t.uv_mask_texture),
    ]
}

/// The uniform values of a material in a state at a time.
pub(super) fn uniform(material: &Material, state: &MaterialState, time_secs: f32) -> MaterialUniform {
    let mut out = MaterialUniform::zeroed();
    out.base_color = state.base_color.to_array();
    out.emissive = state.emissive.to_array();
    if let AlphaMode::Mask { cutoff } = material.alpha {
        out.alpha_cutoff = cutoff;
    }
    out.normal_scale = material.normal_scale;
    if let Some(toon) = &material.toon {
        out.shade_color = state.shade_color.to_array();
        out.shading_shift = toon.shading_shift;
        out.rim_color = state.rim_color.to_array();
        out.shading_toony = toon.shading_toony.clamp(0.0, 1.0);
        out.matcap_color = state.matcap_color.to_array();
        out.gi_equalization = toon.gi_equalization.clamp(0.0, 1.0);
        out.outline_color = state.outline_color.to_array();
        out.outline_width = toon.outline_width;
        out.rim_lighting_mix = toon.rim_lighting_mix;
        out.rim_power = toon.rim_power;
        out.rim_lift = toon.rim_lift;
        out.outline_lighting_mix = toon.outline_lighting_mix;
        out.shading_shift_scale = toon.shading_shift_scale;
        out.outline_on_screen = if toon.outline == OutlineMode::ScreenCoordinates { 1.0 } else { 0.0 };
        // Whole turns and whole textures change nothing: wrapped, so that hours of scrolling stay exact. Not at one
        // of them, because masks and texture transforms take fractions of it.
        out.uv_rotation = (toon.uv_rotation * time_secs) % (64.0 * std::f32::consts::TAU);
        out.uv_scroll = (toon.uv_scroll * time_secs).map(|v| v % 512.0).to_array();
    }
    for (slot, (texture, uv)) in slots(material).into_iter().zip(&mut out.uv).enumerate() {
        let Some(texture) = texture else { continue };
        // Expressions move all texture coordinates but the matcap's, which follow from the view.
        let (scale, offset) = if slot == MATCAP { (Vec2::ONE, Vec2::ZERO) } else { (state.uv_scale, state.uv_offset) };
        *uv = uv_transform(texture.transform, texture.uv_set, scale, offset);
    }
    out
}

fn uv_transform(transform: TextureTransform, uv_set: u32, scale: Vec2, offset: Vec2) -> UvTransform {
    let scale = transform.scale * scale;
    let offset = transform.offset + offset;
    let (sin, cos) = transform.rotation.sin_cos();
    // Counter-clockwise with V pointing down.
    UvTransform {
        linear: [cos * scale.x, sin * scale.y, -sin * scale.x, cos * scale.y],
        rest: [offset.x, offset.y, if uv_set == 1 { 1.0 } else { 0.0 }, 0.0],
    }
}

/// `Frame` in `common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct FrameUniform {
    pub clip_from_avatar: [[f32; 4]; 4],
    pub camera_in_avatar: [f32; 3],
    pub focal: f32,
    light_direction: [f32; 4],
    light_color: [f32; 4],
    ambient_sky: [f32; 4],
    ambient_ground: [f32; 4],
}
const _: () = assert!(size_of::<FrameUniform>() == 144);

impl FrameUniform {
    /// Camera and light of a frame.
    pub fn new(camera: &super::Camera, lighting: &super::Lighting, aspect: f32) -> Self {
        let clip_from_view = camera.clip_from_view(aspect);
        let padded = |v: Vec3| [v.x, v.y, v.z, 0.0];
        Self {
            clip_from_avatar: (clip_from_view * camera.view_from_avatar()).to_cols_array_2d(),
            camera_in_avatar: camera.position.to_array(),
            focal: clip_from_view.y_axis.y,
            light_direction: padded(lighting.direction.try_normalize().unwrap_or(Vec3::Z)),
            light_color: padded(lighting.color),
            ambient_sky: padded(lighting.ambient_sky),
            ambient_ground: padded(lighting.ambient_ground),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(t: TextureTransform, uv: Vec2) -> Vec2 {
        let m = uv_transform(t, 0, Vec2::ONE, Vec2::ZERO);
        let [a, b, c, d] = m.linear;
        Vec2::new(a * uv.x + b * uv.y + m.rest[0], c * uv.x + d * uv.y + m.rest[1])
    }

    #[test]
    fn texture_coordinates_are_scaled_then_turned_then_moved() {
        let t = TextureTransform {
            offset: Vec2::new(0.25, 0.5),
            scale: Vec2::new(2.0, 3.0),
            rotation: std::f32::consts::FRAC_PI_2,
        };
        // A quarter turn counter-clockwise with V down takes U to −V, and V to U.
        assert!((apply(t, Vec2::X) - Vec2::new(0.25, 0.5 - 2.0)).length() < 1e-6);
        assert!((apply(t, Vec2::Y) - Vec2::new(0.25 + 3.0, 0.5)).length() < 1e-6);
    }
}
