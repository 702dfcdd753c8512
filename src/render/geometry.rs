//! All meshes of an avatar packed into a few flat lists, as the GPU (and the CPU fallback) reads them.

use std::ops::Range;

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec3, Vec4};

use super::gpu::RenderError;
use crate::avatar::{AvatarModel, MeshInstance, Primitive};

/// What `deform.wgsl` reads: `SourceVertex` there.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct SourceVertex {
    /// Mesh space.
    pub position: [f32; 3],
    pub first_delta: u32,
    pub normal: [f32; 3],
    pub delta_count: u32,
    pub joint_weights: [f32; 4],
    /// Indices into `PosedAvatar::joint_matrices`.
    pub joints: [u32; 4],
}
const _: () = assert!(size_of::<SourceVertex>() == 64);

/// What never changes of a vertex: locations 3 to 5 in `common.wgsl`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct StaticVertex {
    pub uv0: [f32; 2],
    pub uv1: [f32; 2],
    pub color: [f32; 4],
}
const _: () = assert!(size_of::<StaticVertex>() == 32);

/// Movement of one vertex by one morph target.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub(super) struct Delta {
    pub position: [f32; 3],
    /// Index into `PosedAvatar::morph_weights`.
    pub weight: u32,
}
const _: () = assert!(size_of::<Delta>() == 16);

/// One primitive of one mesh instance: one draw call.
#[derive(Clone, Debug)]
pub(super) struct Part {
    /// Index into `AvatarModel::materials`.
    pub material: usize,
    pub indices: Range<u32>,
    pub base_vertex: i32,
    /// The mesh is placed by a mirroring transform: its triangles run the other way round.
    pub is_mirrored: bool,
    /// Middle of the mesh instance, mesh space, for the order of blended surfaces.
    pub center: Vec3,
    /// Which matrix moves that middle.
    pub center_joint: usize,
}

/// The packed avatar.
#[derive(Debug, Default)]
pub(super) struct Geometry {
    pub sources: Vec<SourceVertex>,
    pub statics: Vec<StaticVertex>,
    /// By vertex: `SourceVertex::first_delta` and `delta_count`.
    pub deltas: Vec<Delta>,
    /// As long as `deltas`, or empty where no target bends normals.
    pub normal_deltas: Vec<[f32; 4]>,
    pub indices: Vec<u32>,
    pub parts: Vec<Part>,
}

impl Geometry {
    /// Packs all meshes. Fails where 32 bits do not suffice.
    pub fn pack(model: &AvatarModel) -> Result<Self, RenderError> {
        let mut packed = Self::default();
        let bends_normals =
            model.meshes.iter().flat_map(|m| &m.primitives).flat_map(|p| &p.morphs).any(|t| !t.normals.is_empty());
        for mesh in &model.meshes {
            let rest = rest_matrix(model, mesh);
            let center = middle(mesh);
            for primitive in &mesh.primitives {
                let first_vertex = packed.sources.len();
                let first_index = packed.indices.len();
                packed.push_vertices(mesh, primitive);
                packed.push_deltas(mesh, primitive, first_vertex, bends_normals);
                packed.indices.extend_from_slice(&primitive.indices);
                packed.parts.push(Part {
                    material: primitive.material,
                    indices: to_u32(first_index)?..to_u32(packed.indices.len())?,
                    base_vertex: i32::try_from(first_vertex).map_err(|_| too_many(first_vertex))?,
                    is_mirrored: rest.determinant() < 0.0,
                    center,
                    center_joint: mesh.joint_offset,
                });
            }
        }
        to_u32(packed.sources.len())?;
        to_u32(packed.deltas.len())?;
        Ok(packed)
    }

    fn push_vertices(&mut self, mesh: &MeshInstance, primitive: &Primitive) {
        let joint_offset = mesh.joint_offset as u32;
        for (i, position) in primitive.positions.iter().enumerate() {
            let joints = primitive.joints.get(i).copied().unwrap_or_default();
            self.sources.push(SourceVertex {
                position: position.to_array(),
                first_delta: 0,
                normal: primitive.normals.get(i).copied().unwrap_or(Vec3::Y).to_array(),
                delta_count: 0,
                joint_weights: primitive.weights.get(i).copied().unwrap_or([1.0, 0.0, 0.0, 0.0]),
                joints: joints.map(|j| joint_offset + u32::from(j)),
            });
            self.statics.push(StaticVertex {
                uv0: primitive.uvs.get(i).copied().unwrap_or_default().to_array(),
                uv1: primitive.uvs1.get(i).copied().unwrap_or_default().to_array(),
                color: primitive.colors.get(i).copied().unwrap_or(Vec4::ONE).to_array(),
            });
        }
    }

    /// Turns the targets' lists of vertices into the vertices' lists of deltas.
    fn push_deltas(&mut self, mesh: &MeshInstance, primitive: &Primitive, first_vertex: usize, bends_normals: bool) {
        let Some(sources) = self.sources.get_mut(first_vertex..) else { return };
        for vertex in primitive.morphs.iter().flat_map(|t| &t.vertices) {
            if let Some(source) = sources.get_mut(*vertex as usize) {
                source.delta_count += 1;
            }
        }
        let mut next = self.deltas.len() as u32;
        for source in sources.iter_mut() {
            source.first_delta = next;
            next += source.delta_count;
            source.delta_count = 0;
        }
        self.deltas.resize(next as usize, Delta::zeroed());
        if bends_normals {
            self.normal_deltas.resize(next as usize, [0.0; 4]);
        }
        for (target_index, target) in primitive.morphs.iter().enumerate() {
            let weight = (mesh.morph_offset + target_index) as u32;
            for (entry, vertex) in target.vertices.iter().enumerate() {
                let Some(source) = sources.get_mut(*vertex as usize) else { continue };
                let slot = (source.first_delta + source.delta_count) as usize;
                source.delta_count += 1;
                let position = target.positions.get(entry).copied().unwrap_or_default().to_array();
                if let Some(delta) = self.deltas.get_mut(slot) {
                    *delta = Delta { position, weight };
                }
                if let (Some(out), Some(normal)) = (self.normal_deltas.get_mut(slot), target.normals.get(entry)) {
                    *out = [normal.x, normal.y, normal.z, 0.0];
                }
            }
        }
    }
}

fn rest_matrix(model: &AvatarModel, mesh: &MeshInstance) -> Mat4 {
    let node_matrix = |node: usize| model.nodes.get(node).map_or(Mat4::IDENTITY, |n| n.avatar_from_node);
    match mesh.skin.and_then(|s| model.skins.get(s)) {
        Some(skin) => match (skin.joints.first(), skin.joint_from_mesh.first()) {
            (Some(joint), Some(inverse)) => node_matrix(*joint) * *inverse,
            _ => Mat4::IDENTITY,
        },
        None => node_matrix(mesh.node),
    }
}

fn middle(mesh: &MeshInstance) -> Vec3 {
    let mut points = mesh.primitives.iter().flat_map(|p| &p.positions).copied();
    let Some(first) = points.next() else { return Vec3::ZERO };
    let (min, max) = points.fold((first, first), |(min, max), p| (min.min(p), max.max(p)));
    (min + max) * 0.5
}

fn to_u32(count: usize) -> Result<u32, RenderError> {
    u32::try_from(count).map_err(|_| too_many(count))
}

fn too_many(count: usize) -> RenderError {
    RenderError::TooLarge { what: "the avatar's geometry", size: count as u64, limit: u64::from(u32::MAX) }
}
