// Morphs and skins every vertex once a frame. Its output is the vertex buffer of the surface and outline passes.
// `src/render/deform.rs` has the same on the CPU; a test holds the two together.

struct SourceVertex {
    // Mesh space.
    position: vec3<f32>,
    first_delta: u32,
    normal: vec3<f32>,
    delta_count: u32,
    joint_weights: vec4<f32>,
    // Indices into `avatar_from_mesh`.
    joints: vec4<u32>,
}

struct Counts {
    vertices: u32,
    // 0 where no morph target bends normals: `normal_deltas` is a dummy then.
    has_normal_deltas: u32,
}

// Nine floats a vertex: position and normal in avatar space, morphed position in mesh space.
const STRIDE: u32 = 9u;

@group(0) @binding(0) var<uniform> counts: Counts;
@group(0) @binding(1) var<storage, read> sources: array<SourceVertex>;
// Bits of the movement at weight 1; in w which weight (an integer, which some drivers would flush to 0 as a float).
@group(0) @binding(2) var<storage, read> deltas: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> normal_deltas: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> morph_weights: array<f32>;
@group(0) @binding(5) var<storage, read> avatar_from_mesh: array<mat4x4<f32>>;
@group(0) @binding(6) var<storage, read_write> posed: array<f32>;

@compute @workgroup_size(64)
fn cs_main(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if i >= counts.vertices {
        return;
    }
    let source = sources[i];
    var position = source.position;
    var normal = source.normal;
    for (var d = source.first_delta; d < source.first_delta + source.delta_count; d += 1u) {
        let delta = deltas[d];
        let weight = morph_weights[delta.w];
        if weight != 0.0 {
            position += bitcast<vec3<f32>>(delta.xyz) * weight;
            if counts.has_normal_deltas != 0u {
                normal += normal_deltas[d].xyz * weight;
            }
        }
    }

    let m = avatar_from_mesh[source.joints.x] * source.joint_weights.x
        + avatar_from_mesh[source.joints.y] * source.joint_weights.y
        + avatar_from_mesh[source.joints.z] * source.joint_weights.z
        + avatar_from_mesh[source.joints.w] * source.joint_weights.w;
    let out_position = (m * vec4<f32>(position, 1.0)).xyz;
    // Normals need the inverse transpose: the cofactors, turned round where the matrix mirrors.
    let cofactors = mat3x3<f32>(cross(m[1].xyz, m[2].xyz), cross(m[2].xyz, m[0].xyz), cross(m[0].xyz, m[1].xyz));
    let handedness = select(-1.0, 1.0, dot(m[0].xyz, cofactors[0]) >= 0.0);
    let raw = cofactors * normal * handedness;
    let out_normal = raw * inverseSqrt(max(dot(raw, raw), 1e-30));

    let o = i * STRIDE;
    posed[o] = out_position.x;
    posed[o + 1u] = out_position.y;
    posed[o + 2u] = out_position.z;
    posed[o + 3u] = out_normal.x;
    posed[o + 4u] = out_normal.y;
    posed[o + 5u] = out_normal.z;
    posed[o + 6u] = position.x;
    posed[o + 7u] = position.y;
    posed[o + 8u] = position.z;
}
