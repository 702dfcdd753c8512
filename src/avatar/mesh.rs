//! Geometry: glTF primitives become triangle lists with complete vertex data and sparse morph targets.

use glam::{Vec2, Vec3, Vec4};
use gltf::json::mesh::{Mesh, Mode, Primitive as JsonPrimitive, Semantic};
use gltf::json::validation::Checked;
use gltf::json::{Extras, Value};

use super::accessor::{Sparse3, floats, integers, non_zero};
use super::budget::Budget;
use super::container::Document;
use super::{AvatarError, MorphTarget, Primitive};

/// Morph targets of one mesh; the largest known avatar has 415.
const MAX_TARGETS: usize = 8192;
/// Vertices of one primitive; the heaviest known avatars have a tenth of it.
const MAX_VERTICES: u64 = 1 << 22;
/// Bytes of a vertex in the model, besides its morph targets.
const VERTEX_BYTES: u64 = 88;
/// Sets of four joints a vertex may have in the file; only the four strongest joints of all are kept.
const MAX_JOINT_SETS: u32 = 4;

/// The geometry of a glTF mesh.
#[derive(Clone, Debug, Default)]
pub(super) struct MeshData {
    pub morph_names: Vec<String>,
    pub morph_weights: Vec<f32>,
    pub primitives: Vec<Primitive>,
}

impl MeshData {
    /// Bytes that a copy of this mesh takes, roughly.
    pub(super) fn byte_len(&self) -> u64 {
        let vertices: usize = self.primitives.iter().map(|p| p.positions.len() * 72 + p.indices.len() * 4).sum();
        let morphs: usize = self.primitives.iter().flat_map(|p| &p.morphs).map(|m| m.vertices.len() * 28).sum();
        (vertices + morphs) as u64
    }
}

/// Decodes a mesh. `material_count` is the index of the default material, used where the file names none.
pub(super) fn decode(
    document: &Document<'_>,
    mesh: &Mesh,
    material_count: usize,
    budget: &mut Budget,
) -> Result<MeshData, AvatarError> {
    let name = mesh.name.as_deref().unwrap_or("mesh");
    let targets = mesh.primitives.iter().map(|p| p.targets.as_ref().map_or(0, Vec::len)).max().unwrap_or(0);
    if targets > MAX_TARGETS {
        return Err(AvatarError::TooLarge { what: format!("mesh {name:?} has {targets} morph targets") });
    }
    let mut primitives = Vec::new();
    for primitive in &mesh.primitives {
        let mut primitive = match decode_primitive(document, primitive, name, material_count, budget)? {
            Some(primitive) => primitive,
            None => continue,
        };
        primitive.morphs.resize(targets, MorphTarget::default());
        primitives.push(primitive);
    }
    let named = target_names(&mesh.extras).or_else(|| mesh.primitives.iter().find_map(|p| target_names(&p.extras)));
    let mut morph_names = named.unwrap_or_default();
    morph_names.truncate(targets);
    for index in morph_names.len()..targets {
        morph_names.push(accessor_name(document, mesh, index).unwrap_or_else(|| format!("morph {index}")));
    }
    let mut morph_weights = mesh.weights.clone().unwrap_or_default();
    morph_weights.resize(targets, 0.0);
    morph_weights.iter_mut().filter(|w| !w.is_finite()).for_each(|w| *w = 0.0);
    Ok(MeshData { morph_names, morph_weights, primitives })
}

/// `extras.targetNames`, where most tools keep the names.
fn target_names(extras: &Extras) -> Option<Vec<String>> {
    let value: Value = gltf::json::deserialize::from_str(extras.as_ref()?.get()).ok()?;
    let names = value.get("targetNames")?.as_array()?;
    Some(names.iter().map(|n| n.as_str().unwrap_or_default().to_owned()).collect())
}

/// Some old exporters name the accessor of the target instead.
fn accessor_name(document: &Document<'_>, mesh: &Mesh, target: usize) -> Option<String> {
    let target = mesh.primitives.first()?.targets.as_ref()?.get(target)?;
    document.root.accessors.get(target.positions?.value())?.name.clone().filter(|n| !n.is_empty())
}

fn decode_primitive(
    document: &Document<'_>,
    json: &JsonPrimitive,
    mesh: &str,
    material_count: usize,
    budget: &mut Budget,
) -> Result<Option<Primitive>, AvatarError> {
    let attribute = |semantic| json.attributes.get(&Checked::Valid(semantic)).map(|a| a.value());
    let Checked::Valid(mode @ (Mode::Triangles | Mode::TriangleStrip | Mode::TriangleFan)) = json.mode else {
        budget.warn(format!("mesh {mesh:?} has points or lines, which are not drawn"));
        return Ok(None);
    };
    let Some(positions) = attribute(Semantic::Positions) else {
        budget.warn(format!("a part of mesh {mesh:?} has no positions and is not drawn"));
        return Ok(None);
    };
    let vertices = document.root.accessors.get(positions).map_or(0, |a| a.count.0);
    if vertices > MAX_VERTICES {
        return Err(AvatarError::TooLarge { what: format!("a part of mesh {mesh:?} has {vertices} vertices") });
    }
    budget.take(vertices, VERTEX_BYTES, "its meshes")?;
    let positions: Vec<Vec3> = vec3s(floats(document, positions, [0.0; 3], budget)?);
    let count = positions.len();
    let indices = match json.indices {
        Some(index) => integers::<1>(document, index.value(), budget)?.into_iter().map(|[i]| i).collect(),
        None => (0..count as u32).collect(),
    };
    let indices = triangles(indices, mode, count, mesh, budget);
    if indices.is_empty() {
        return Ok(None);
    }
    let mut normals = match attribute(Semantic::Normals) {
        Some(index) => vec3s(floats(document, index, [0.0; 3], budget)?),
        None => Vec::new(),
    };
    if normals.len() != count {
        normals = smooth_normals(&positions, &indices);
    }
    for normal in &mut normals {
        *normal = normal.try_normalize().unwrap_or(Vec3::Z);
    }
    let mut uv = |set: u32| -> Result<Vec<Vec2>, AvatarError> {
        let Some(index) = attribute(Semantic::TexCoords(set)) else { return Ok(Vec::new()) };
        let mut uvs: Vec<Vec2> = floats(document, index, [0.0; 2], budget)?.into_iter().map(Vec2::from).collect();
        uvs.resize(count, Vec2::ZERO);
        Ok(uvs)
    };
    let (mut uvs, uvs1) = (uv(0)?, uv(1)?);
    uvs.resize(count, Vec2::ZERO);
    let mut colors: Vec<Vec4> = match attribute(Semantic::Colors(0)) {
        Some(index) => floats(document, index, [1.0; 4], budget)?.into_iter().map(Vec4::from).collect(),
        None => Vec::new(),
    };
    if !colors.is_empty() {
        colors.resize(count, Vec4::ONE);
    }
    let (joints, weights) = skinning(document, json, count, budget)?;
    let mut morphs = Vec::new();
    for target in json.targets.iter().flatten() {
        morphs.push(morph_target(document, target, count, mesh, budget)?);
    }
    let material = json.material.map_or(material_count, |m| m.value()).min(material_count);
    Ok(Some(Primitive { positions, normals, uvs, uvs1, colors, joints, weights, indices, morphs, material }))
}

fn vec3s(values: Vec<[f32; 3]>) -> Vec<Vec3> {
    values.into_iter().map(Vec3::from).collect()
}

/// A triangle list with valid indices only.
fn triangles(indices: Vec<u32>, mode: Mode, count: usize, mesh: &str, budget: &mut Budget) -> Vec<u32> {
    let list: Vec<u32> = match mode {
        // Every second triangle of a strip is turned around.
        Mode::TriangleStrip => indices
            .windows(3)
            .zip([false, true].into_iter().cycle())
            .flat_map(|(t, turned)| if turned { [t[0], t[2], t[1]] } else { [t[0], t[1], t[2]] })
            .collect(),
        Mode::TriangleFan => match indices.split_first() {
            Some((first, rest)) => rest.windows(2).flat_map(|t| [*first, t[0], t[1]]).collect(),
            None => Vec::new(),
        },
        _ => indices,
    };
    let is_valid = |t: &[u32]| t.len() == 3 && t.iter().all(|i| (*i as usize) < count);
    if list.chunks(3).all(is_valid) {
        return list;
    }
    budget.warn(format!("mesh {mesh:?} has triangles with missing vertices, which are not drawn"));
    list.chunks(3).filter(|t| is_valid(t)).flatten().copied().collect()
}

/// Normals from the triangles, weighted by area; shared vertices come out smooth.
fn smooth_normals(positions: &[Vec3], indices: &[u32]) -> Vec<Vec3> {
    let mut normals = vec![Vec3::ZERO; positions.len()];
    for triangle in indices.chunks_exact(3) {
        let [a, b, c] = [triangle[0] as usize, triangle[1] as usize, triangle[2] as usize];
        let normal = (positions[b] - positions[a]).cross(positions[c] - positions[a]);
        for corner in [a, b, c] {
            normals[corner] += normal;
        }
    }
    normals
}

type Skinning = (Vec<[u16; 4]>, Vec<[f32; 4]>);

/// The four strongest joints of each vertex, weights summing to 1.
fn skinning(
    document: &Document<'_>,
    json: &JsonPrimitive,
    count: usize,
    budget: &mut Budget,
) -> Result<Skinning, AvatarError> {
    let attribute = |semantic| json.attributes.get(&Checked::Valid(semantic)).map(|a| a.value());
    let mut sets = Vec::new();
    for set in 0..MAX_JOINT_SETS {
        let (Some(joints), Some(weights)) = (attribute(Semantic::Joints(set)), attribute(Semantic::Weights(set)))
        else {
            break;
        };
        sets.push((integers::<4>(document, joints, budget)?, floats(document, weights, [0.0; 4], budget)?));
    }
    let (mut joints, mut weights) = (vec![[0; 4]; count], vec![[1.0, 0.0, 0.0, 0.0]; count]);
    for (vertex, (joints, weights)) in joints.iter_mut().zip(&mut weights).enumerate() {
        let mut strongest = [(0_u16, 0.0_f32); 4];
        for (set_joints, set_weights) in &sets {
            let (Some(js), Some(ws)) = (set_joints.get(vertex), set_weights.get(vertex)) else { continue };
            for (joint, weight) in js.iter().zip(ws) {
                let Ok(joint) = u16::try_from(*joint) else { continue };
                if let Some(at) = strongest.iter().position(|(_, w)| *weight > *w) {
                    strongest[at..].rotate_right(1);
                    strongest[at] = (joint, *weight);
                }
            }
        }
        let sum: f32 = strongest.iter().map(|(_, w)| w).sum();
        if sum > 0.0 && sum.is_finite() {
            *joints = strongest.map(|(j, _)| j);
            *weights = strongest.map(|(_, w)| w / sum);
        }
    }
    Ok((joints, weights))
}

fn morph_target(
    document: &Document<'_>,
    target: &gltf::json::mesh::MorphTarget,
    count: usize,
    mesh: &str,
    budget: &mut Budget,
) -> Result<MorphTarget, AvatarError> {
    let mut read = |index: Option<usize>| -> Result<Sparse3, AvatarError> {
        let Some(index) = index else { return Ok(Vec::new()) };
        let (length, moved) = non_zero(document, index, budget)?;
        if length > count {
            budget.warn(format!("a morph target of mesh {mesh:?} has more vertices than the mesh"));
        }
        Ok(moved.into_iter().filter(|(at, _)| (*at as usize) < count).collect())
    };
    let positions = read(target.positions.map(|i| i.value()))?;
    let normals = read(target.normals.map(|i| i.value()))?;
    let mut out = MorphTarget::default();
    if normals.is_empty() {
        out.vertices = positions.iter().map(|(at, _)| *at).collect();
        out.positions = positions.into_iter().map(|(_, p)| p.into()).collect();
        return Ok(out);
    }
    // Both lists ascend: merge them.
    let (mut positions, mut normals) = (positions.into_iter().peekable(), normals.into_iter().peekable());
    loop {
        let vertex = match (positions.peek(), normals.peek()) {
            (Some((p, _)), Some((n, _))) => *p.min(n),
            (Some((at, _)), None) | (None, Some((at, _))) => *at,
            (None, None) => return Ok(out),
        };
        out.vertices.push(vertex);
        out.positions.push(positions.next_if(|(at, _)| *at == vertex).map_or(Vec3::ZERO, |(_, p)| p.into()));
        out.normals.push(normals.next_if(|(at, _)| *at == vertex).map_or(Vec3::ZERO, |(_, n)| n.into()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strips_and_fans_become_lists_with_the_same_front() {
        let mut budget = Budget::default();
        let strip = triangles(vec![0, 1, 2, 3], Mode::TriangleStrip, 4, "m", &mut budget);
        assert_eq!(strip, [0, 1, 2, 1, 3, 2]);
        let fan = triangles(vec![0, 1, 2, 3], Mode::TriangleFan, 4, "m", &mut budget);
        assert_eq!(fan, [0, 1, 2, 0, 2, 3]);
        assert!(budget.into_warnings().is_empty());
    }

    #[test]
    fn triangles_with_missing_vertices_go() {
        let mut budget = Budget::default();
        assert_eq!(triangles(vec![0, 1, 2, 0, 1, 9, 0], Mode::Triangles, 3, "m", &mut budget), [0, 1, 2]);
        assert_eq!(budget.into_warnings().len(), 1);
    }
}
