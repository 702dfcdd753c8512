// Surfaces that show their colour as it is (`KHR_materials_unlit`). After common.wgsl.

@vertex
fn vs_main(vertex: Vertex) -> Varying {
    return to_varying(vertex);
}

@fragment
fn fs_main(in: Varying) -> @location(0) vec4<f32> {
    let base = base_color(in.uv) * in.color;
    if is_masked {
        if base.a < material.alpha_cutoff {
            discard;
        }
    }
    return to_pixel(base.rgb, base.a);
}
