// The plain look of glTF materials that are no toon ones: diffuse and emission; roughness and metal are left out, as
// without surroundings to mirror they only make an avatar dark. After common.wgsl.

@vertex
fn vs_main(vertex: Vertex) -> Varying {
    return to_varying(vertex);
}

@fragment
fn fs_main(in: Varying, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    let base = base_color(in.uv) * in.color;
    let normal = surface_normal(in, in.uv, front);
    var emission = material.emissive;
    if has_emissive_texture {
        emission *= textureSample(emissive_texture, emissive_sampler, uv_of(EMISSIVE, in.uv)).rgb;
    }
    if is_masked {
        if base.a < material.alpha_cutoff {
            discard;
        }
    }
    let light = frame.light_color * max(dot(normal, frame.light_direction), 0.0) + ambient(normal);
    return to_pixel(base.rgb * light + emission, base.a);
}
