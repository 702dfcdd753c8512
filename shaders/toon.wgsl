// MToon 1.0 surfaces, and (with `is_outline`) the inverted hull that draws their outlines. After common.wgsl.

@vertex
fn vs_main(vertex: Vertex) -> Varying {
    return to_varying(vertex);
}

@vertex
fn vs_outline(vertex: Vertex) -> Varying {
    var out = to_varying(vertex);
    var width = material.outline_width;
    if has_outline_width_texture {
        let uv = vec4<f32>(vertex.uv0, vertex.uv1);
        width *= textureSampleLevel(outline_width_texture, outline_width_sampler, uv_of(OUTLINE_WIDTH, uv), 0.0).g;
    }
    if material.outline_on_screen > 0.5 {
        // The clip-space w is the distance along the view.
        width *= out.clip.w / frame.focal;
    }
    out.position = vertex.position + vertex.normal * width;
    out.clip = frame.clip_from_avatar * vec4<f32>(out.position, 1.0);
    // A hair behind, so that a hull of no width never covers its surface.
    out.clip.z += 1e-6 * out.clip.w;
    return out;
}

// How lit a surface is, 0..1.
fn shading(n_dot_l: f32, shift: f32) -> f32 {
    let lowest = material.shading_toony - 1.0;
    // A toony of 1 is a hard edge, not 0 / 0.
    let range = max(-2.0 * lowest, 1e-5);
    return clamp((n_dot_l + shift - lowest) / range, 0.0, 1.0);
}

fn rim(normal: vec3<f32>, view: vec3<f32>, uv: vec4<f32>) -> vec3<f32> {
    var color = vec3<f32>(0.0);
    if has_rim {
        let fresnel = clamp(1.0 - dot(normal, view) + material.rim_lift, 0.0, 1.0);
        // pow(0, x) is 0, but not on every driver.
        color = material.rim_color * select(0.0, pow(max(fresnel, 1e-6), max(material.rim_power, 1e-5)), fresnel > 0.0);
    }
    if has_matcap_texture {
        let across = vec3<f32>(view.z, 0.0, -view.x);
        let x = across * inverseSqrt(max(dot(across, across), 1e-12));
        let y = cross(view, x);
        let sphere = vec2<f32>(dot(x, normal), -dot(y, normal)) * 0.495 + 0.5;
        color += material.matcap_color * textureSample(matcap_texture, matcap_sampler, uv_of(MATCAP, sphere.xyxy)).rgb;
    }
    if has_rim_texture {
        color *= textureSample(rim_texture, rim_sampler, uv_of(RIM, uv)).rgb;
    }
    return color;
}

@fragment
fn fs_main(in: Varying, @builtin(front_facing) front: bool) -> @location(0) vec4<f32> {
    if is_outline && !is_outline_lit && !is_masked && !is_blended {
        return to_pixel(material.outline_color, 1.0);
    }
    let uv = animated_uv(in.uv);
    let texel = base_texel(uv);
    let base = material.base_color * texel;
    let normal = surface_normal(in, uv, front);
    let view_raw = frame.camera_in_avatar - in.position;
    let view = view_raw * inverseSqrt(max(dot(view_raw, view_raw), 1e-12));

    var shade = material.shade_color;
    if is_shade_of_base {
        shade *= texel.rgb;
    }
    if has_shade_texture {
        shade *= textureSample(shade_texture, shade_sampler, uv_of(SHADE, uv)).rgb;
    }
    var shift = material.shading_shift;
    if has_shift_texture {
        shift += textureSample(shift_texture, shift_sampler, uv_of(SHIFT, uv)).r * material.shading_shift_scale;
    }
    var emission = material.emissive;
    if has_emissive_texture {
        emission *= textureSample(emissive_texture, emissive_sampler, uv_of(EMISSIVE, uv)).rgb;
    }
    let rim_light = rim(normal, view, uv);
    if is_masked {
        if base.a < material.alpha_cutoff {
            discard;
        }
    }

    let even = (frame.ambient_sky + frame.ambient_ground) * 0.5;
    let indirect = mix(ambient(normal), even, material.gi_equalization);
    let lit = shading(dot(normal, frame.light_direction), shift);
    var color = frame.light_color * mix(shade, base.rgb, lit) + indirect * base.rgb;
    color += rim_light * mix(vec3<f32>(1.0), frame.light_color + indirect, material.rim_lighting_mix);
    color += emission;
    if is_outline {
        color = material.outline_color * mix(vec3<f32>(1.0), color, material.outline_lighting_mix);
    }
    return to_pixel(color, base.a);
}
