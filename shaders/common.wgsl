// What all surface shaders share: the frame, the material, vertices, texture coordinates, the way colours leave.
// Put in front of each of them. Spaces and colour rules: src/render.rs. Layouts: src/render/material.rs.

struct Frame {
    clip_from_avatar: mat4x4<f32>,
    camera_in_avatar: vec3<f32>,
    // Clip-space height of one metre at one metre's distance.
    focal: f32,
    // From the avatar towards the light, unit length.
    light_direction: vec3<f32>,
    light_color: vec3<f32>,
    ambient_sky: vec3<f32>,
    ambient_ground: vec3<f32>,
}

// Affine map of texture coordinates: `linear` holds the rows, `rest` is (offset x, offset y, which set, 0).
struct UvTransform {
    linear: vec4<f32>,
    rest: vec4<f32>,
}

struct Material {
    base_color: vec4<f32>,
    emissive: vec3<f32>,
    alpha_cutoff: f32,
    shade_color: vec3<f32>,
    shading_shift: f32,
    rim_color: vec3<f32>,
    shading_toony: f32,
    matcap_color: vec3<f32>,
    gi_equalization: f32,
    outline_color: vec3<f32>,
    // Metres, or for screen outlines a share of the picture's half height.
    outline_width: f32,
    rim_lighting_mix: f32,
    rim_power: f32,
    rim_lift: f32,
    outline_lighting_mix: f32,
    normal_scale: f32,
    shading_shift_scale: f32,
    // 0 or 1.
    outline_on_screen: f32,
    // Of the UV animation at this frame, radians.
    uv_rotation: f32,
    // Of the UV animation at this frame.
    uv_scroll: vec2<f32>,
    uv: array<UvTransform, 9>,
}

// Slots of `Material.uv`, in the order of the texture bindings.
const BASE: u32 = 0u;
const SHADE: u32 = 1u;
const SHIFT: u32 = 2u;
const NORMAL: u32 = 3u;
const RIM: u32 = 4u;
const MATCAP: u32 = 5u;
const EMISSIVE: u32 = 6u;
const OUTLINE_WIDTH: u32 = 7u;
const UV_MASK: u32 = 8u;

// Set per pipeline, so that what a material lacks costs nothing. Not branches on the uniform: with one of those (rim or
// no rim) Mesa's software driver compiled shaders anew in every frame.
override has_base_texture: bool = false;
override has_shade_texture: bool = false;
override has_shift_texture: bool = false;
override has_normal_texture: bool = false;
override has_rim_texture: bool = false;
override has_matcap_texture: bool = false;
override has_emissive_texture: bool = false;
override has_outline_width_texture: bool = false;
override has_uv_mask_texture: bool = false;
override has_uv_animation: bool = false;
// The shade texture is the base texture: looked up once.
override is_shade_of_base: bool = false;
override has_rim: bool = false;
override is_outline_lit: bool = false;
override is_masked: bool = false;
override is_blended: bool = false;
override is_outline: bool = false;

@group(0) @binding(0) var<uniform> frame: Frame;
@group(1) @binding(0) var<uniform> material: Material;
@group(1) @binding(1) var base_texture: texture_2d<f32>;
@group(1) @binding(2) var shade_texture: texture_2d<f32>;
@group(1) @binding(3) var shift_texture: texture_2d<f32>;
@group(1) @binding(4) var normal_texture: texture_2d<f32>;
@group(1) @binding(5) var rim_texture: texture_2d<f32>;
@group(1) @binding(6) var matcap_texture: texture_2d<f32>;
@group(1) @binding(7) var emissive_texture: texture_2d<f32>;
@group(1) @binding(8) var outline_width_texture: texture_2d<f32>;
@group(1) @binding(9) var uv_mask_texture: texture_2d<f32>;
@group(1) @binding(10) var base_sampler: sampler;
@group(1) @binding(11) var shade_sampler: sampler;
@group(1) @binding(12) var shift_sampler: sampler;
@group(1) @binding(13) var normal_sampler: sampler;
@group(1) @binding(14) var rim_sampler: sampler;
@group(1) @binding(15) var matcap_sampler: sampler;
@group(1) @binding(16) var emissive_sampler: sampler;
@group(1) @binding(17) var outline_width_sampler: sampler;
@group(1) @binding(18) var uv_mask_sampler: sampler;

// As `deform.wgsl` leaves them, and what never changes.
struct Vertex {
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    // Morphed but not skinned, mesh space: for effects painted in the face's own plane.
    @location(2) morphed_position: vec3<f32>,
    @location(3) uv0: vec2<f32>,
    @location(4) uv1: vec2<f32>,
    @location(5) color: vec4<f32>,
}

struct Varying {
    @builtin(position) clip: vec4<f32>,
    @location(0) position: vec3<f32>,
    @location(1) normal: vec3<f32>,
    @location(2) uv: vec4<f32>,
    @location(3) color: vec4<f32>,
}

fn to_varying(vertex: Vertex) -> Varying {
    var out: Varying;
    out.position = vertex.position;
    out.normal = vertex.normal;
    out.uv = vec4<f32>(vertex.uv0, vertex.uv1);
    out.color = vertex.color;
    out.clip = frame.clip_from_avatar * vec4<f32>(vertex.position, 1.0);
    return out;
}

fn uv_of(slot: u32, uv: vec4<f32>) -> vec2<f32> {
    let t = material.uv[slot];
    let source = select(uv.xy, uv.zw, t.rest.z > 0.5);
    return vec2<f32>(dot(t.linear.xy, source), dot(t.linear.zw, source)) + t.rest.xy;
}

// The UV animation: both sets turn about the texture's middle, then scroll.
fn animated_uv(uv: vec4<f32>) -> vec4<f32> {
    if !has_uv_animation {
        return uv;
    }
    var mask = 1.0;
    if has_uv_mask_texture {
        mask = textureSampleLevel(uv_mask_texture, uv_mask_sampler, uv_of(UV_MASK, uv), 0.0).b;
    }
    let angle = material.uv_rotation * mask;
    let c = cos(angle);
    let s = sin(angle);
    let scroll = material.uv_scroll * mask;
    let a = uv.xy - 0.5;
    let b = uv.zw - 0.5;
    return vec4<f32>(
        vec2<f32>(c * a.x + s * a.y, c * a.y - s * a.x) + 0.5 + scroll,
        vec2<f32>(c * b.x + s * b.y, c * b.y - s * b.x) + 0.5 + scroll,
    );
}

fn base_texel(uv: vec4<f32>) -> vec4<f32> {
    var texel = vec4<f32>(1.0);
    if has_base_texture {
        texel = textureSample(base_texture, base_sampler, uv_of(BASE, uv));
    }
    return texel;
}

fn base_color(uv: vec4<f32>) -> vec4<f32> {
    return material.base_color * base_texel(uv);
}

// Unit normal of the visible side, bent by the normal texture. Has no need of tangents: they follow from how position
// and texture coordinates change over the picture.
fn surface_normal(in: Varying, uv: vec4<f32>, front: bool) -> vec3<f32> {
    var side = select(-1.0, 1.0, front);
    if is_outline {
        // The hull shows its back faces but is lit like the surface that it surrounds.
        side = 1.0;
    }
    let length_squared = dot(in.normal, in.normal);
    let normal = in.normal * (side * inverseSqrt(max(length_squared, 1e-12)));
    if !has_normal_texture {
        return normal;
    }
    let uv_normal = uv_of(NORMAL, uv);
    let texel = textureSample(normal_texture, normal_sampler, uv_normal).xyz * 2.0 - 1.0;
    let dp_x = dpdx(in.position);
    let dp_y = dpdy(in.position);
    let du_x = dpdx(uv_normal);
    let du_y = dpdy(uv_normal);
    let perp_y = cross(dp_y, normal);
    let perp_x = cross(normal, dp_x);
    let tangent = perp_y * du_x.x + perp_x * du_y.x;
    let bitangent = perp_y * du_x.y + perp_x * du_y.y;
    let size = max(dot(tangent, tangent), dot(bitangent, bitangent));
    // `perp_x × perp_y` has the sign of the picture's handedness (its y points down), so that both axes come out
    // along growing U and V; the texture's green points against V. Seen from behind the whole bump is turned round.
    let scale = select(0.0, -side * inverseSqrt(max(size, 1e-30)), size > 0.0) * material.normal_scale;
    return normalize(tangent * (texel.x * scale) - bitangent * (texel.y * scale) + normal * max(texel.z, 1e-3));
}

fn ambient(normal: vec3<f32>) -> vec3<f32> {
    return mix(frame.ambient_ground, frame.ambient_sky, normal.y * 0.5 + 0.5);
}

// Square roots instead of a power: much cheaper where the processor draws, and nowhere off by more than 0.01 of 255.
fn srgb_from_linear(linear: vec3<f32>) -> vec3<f32> {
    let c = clamp(linear, vec3<f32>(0.0), vec3<f32>(1.0));
    let c2 = sqrt(c);
    let c4 = sqrt(c2);
    let c8 = sqrt(c4);
    let bent = 0.65390654 * c2 + 0.68888529 * c4 - 0.31861486 * c8 - 0.02017342 * c - 0.00403502;
    return select(bent, c * 12.92, c <= vec3<f32>(0.0031308));
}

// Encoded and premultiplied. Solid surfaces ignore alpha.
fn to_pixel(color: vec3<f32>, alpha: f32) -> vec4<f32> {
    let encoded = srgb_from_linear(color);
    if is_blended {
        let a = clamp(alpha, 0.0, 1.0);
        return vec4<f32>(encoded * a, a);
    }
    return vec4<f32>(encoded, 1.0);
}
