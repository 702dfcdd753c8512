// Brings a finished picture to another size, pixel format or meaning of alpha. The picture is encoded and
// premultiplied (see src/render.rs).

// The target encodes to sRGB on store, so it must get linear values.
override target_encodes: bool = false;
// The target wants straight alpha.
override is_straight: bool = false;
// The target has no alpha.
override is_opaque: bool = false;
// Four samples a pixel: clean down to a quarter of the size.
override is_shrinking: bool = false;

@group(0) @binding(0) var picture: texture_2d<f32>;
@group(0) @binding(1) var picture_sampler: sampler;

struct Varying {
    @builtin(position) clip: vec4<f32>,
    @location(0) uv: vec2<f32>,
}

// One triangle that covers the target.
@vertex
fn vs_main(@builtin(vertex_index) index: u32) -> Varying {
    var out: Varying;
    out.uv = vec2<f32>(f32((index << 1u) & 2u), f32(index & 2u));
    out.clip = vec4<f32>(out.uv * vec2<f32>(2.0, -2.0) + vec2<f32>(-1.0, 1.0), 0.0, 1.0);
    return out;
}

fn linear_from_srgb(encoded: vec3<f32>) -> vec3<f32> {
    return select(pow((encoded + 0.055) / 1.055, vec3<f32>(2.4)), encoded / 12.92, encoded <= vec3<f32>(0.04045));
}

@fragment
fn fs_main(in: Varying) -> @location(0) vec4<f32> {
    var pixel: vec4<f32>;
    if is_shrinking {
        let x = dpdx(in.uv) * 0.25;
        let y = dpdy(in.uv) * 0.25;
        pixel = (textureSampleLevel(picture, picture_sampler, in.uv + x + y, 0.0)
            + textureSampleLevel(picture, picture_sampler, in.uv + x - y, 0.0)
            + textureSampleLevel(picture, picture_sampler, in.uv - x + y, 0.0)
            + textureSampleLevel(picture, picture_sampler, in.uv - x - y, 0.0)) * 0.25;
    } else {
        pixel = textureSampleLevel(picture, picture_sampler, in.uv, 0.0);
    }
    if is_straight {
        pixel = vec4<f32>(pixel.rgb / max(pixel.a, 1e-4), pixel.a);
    }
    if is_opaque {
        pixel.a = 1.0;
    }
    if target_encodes {
        pixel = vec4<f32>(linear_from_srgb(clamp(pixel.rgb, vec3<f32>(0.0), vec3<f32>(1.0))), pixel.a);
    }
    return pixel;
}
