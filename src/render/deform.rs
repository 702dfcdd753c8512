//! Morphs and skins all vertices once a frame, for the surface and the outline passes alike.
//!
//! On the GPU it is one compute dispatch: a thread a vertex walks that vertex's own deltas and skips those whose
//! weight is 0. All lists are storage buffers, so neither the number of morph targets nor that of joints is limited by
//! what fits a uniform. Where an adapter has no compute shaders, or a list is larger than it can bind, the same is done
//! on the CPU and uploaded as vertices.

use bytemuck::{Pod, Zeroable};
use glam::{Mat3, Mat4, Vec3, Vec4Swizzles};

use super::geometry::{Geometry, SourceVertex};
use super::gpu::{Gpu, RenderError, wgpu};
use crate::avatar::PosedAvatar;

/// Floats a posed vertex: position and normal in avatar space, morphed position in mesh space.
const POSED_FLOATS: usize = 9;

/// Vertices a workgroup, as in the shader.
const GROUP_SIZE: u32 = 64;

/// Storage buffers that the shader binds.
const STORAGE_BUFFERS: u32 = 6;

const SHADER: &str = include_str!("../../shaders/deform.wgsl");

/// Where vertices are morphed and skinned.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum DeformOn {
    /// The GPU where it can.
    #[default]
    Auto,
    Gpu,
    Cpu,
}

/// Whether the adapter can run `deform.wgsl`.
pub(super) fn has_compute(adapter: &wgpu::Adapter) -> bool {
    adapter.get_downlevel_capabilities().flags.contains(wgpu::DownlevelFlags::COMPUTE_SHADERS)
        && adapter.limits().max_storage_buffers_per_shader_stage >= STORAGE_BUFFERS
}

#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
struct Counts {
    vertices: u32,
    has_normal_deltas: u32,
}

/// Owns the posed vertices and what makes them.
#[derive(Debug)]
pub(super) struct Deformer {
    /// Vertex buffer of the drawing passes.
    pub posed: wgpu::Buffer,
    work: Work,
}

#[derive(Debug)]
enum Work {
    Gpu {
        pipeline: wgpu::ComputePipeline,
        bind_group: wgpu::BindGroup,
        weights: wgpu::Buffer,
        matrices: wgpu::Buffer,
        group_count: u32,
    },
    Cpu {
        geometry: Geometry,
        posed: Vec<[f32; POSED_FLOATS]>,
    },
}

impl Deformer {
    /// Attributes of the posed vertex buffer, for the drawing pipelines.
    pub const LAYOUT: wgpu::VertexBufferLayout<'static> = wgpu::VertexBufferLayout {
        array_stride: (POSED_FLOATS * size_of::<f32>()) as u64,
        step_mode: wgpu::VertexStepMode::Vertex,
        attributes: &wgpu::vertex_attr_array![0 => Float32x3, 1 => Float32x3, 2 => Float32x3],
    };

    /// Uploads what the avatar's geometry needs. `morphs` and `joints` are the lengths of `PosedAvatar`'s lists.
    pub fn new(gpu: &Gpu, geometry: Geometry, morphs: usize, joints: usize, on: DeformOn) -> Result<Self, RenderError> {
        let limits = gpu.limits();
        let posed_bytes = buffer_size(geometry.sources.len() * POSED_FLOATS * size_of::<f32>());
        if posed_bytes > limits.max_buffer_size {
            return Err(RenderError::TooLarge {
                what: "the avatar's geometry",
                size: posed_bytes,
                limit: limits.max_buffer_size,
            });
        }
        let largest = [
            posed_bytes,
            buffer_size(size_of_val(&geometry.sources[..])),
            buffer_size(size_of_val(&geometry.deltas[..])),
            buffer_size(morphs * size_of::<f32>()),
            buffer_size(joints * size_of::<Mat4>()),
        ];
        let group_count = (geometry.sources.len() as u32).div_ceil(GROUP_SIZE);
        let fits = largest.into_iter().max().unwrap_or(0) <= limits.max_storage_buffer_binding_size
            && group_count <= limits.max_compute_workgroups_per_dimension
            && gpu.report().has_compute;
        let posed = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("posed vertices"),
            size: posed_bytes,
            usage: if fits { wgpu::BufferUsages::STORAGE } else { wgpu::BufferUsages::empty() }
                | wgpu::BufferUsages::VERTEX
                | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        if on == DeformOn::Cpu || (on == DeformOn::Auto && !fits) {
            let vertices = vec![[0.0; POSED_FLOATS]; geometry.sources.len()];
            return Ok(Self { posed, work: Work::Cpu { geometry, posed: vertices } });
        }
        if !fits {
            return Err(RenderError::TooLarge {
                what: "the avatar's geometry",
                size: posed_bytes,
                limit: limits.max_storage_buffer_binding_size,
            });
        }
        let work = gpu_work(gpu, &geometry, morphs, joints, &posed, group_count);
        Ok(Self { posed, work })
    }

    /// Whether vertices are morphed on the CPU.
    pub fn is_on_cpu(&self) -> bool {
        matches!(self.work, Work::Cpu { .. })
    }

    /// Brings all vertices into the pose: uploads what changed and records the work, if any.
    pub fn run(&mut self, gpu: &Gpu, avatar: &PosedAvatar, encoder: &mut wgpu::CommandEncoder) {
        match &mut self.work {
            Work::Gpu { pipeline, bind_group, weights, matrices, group_count } => {
                write(gpu, weights, bytemuck::cast_slice(&avatar.morph_weights));
                write(gpu, matrices, bytemuck::cast_slice(&avatar.joint_matrices));
                if *group_count > 0 {
                    let descriptor = wgpu::ComputePassDescriptor { label: Some("deform.wgsl"), timestamp_writes: None };
                    let mut pass = encoder.begin_compute_pass(&descriptor);
                    pass.set_pipeline(pipeline);
                    pass.set_bind_group(0, &*bind_group, &[]);
                    pass.dispatch_workgroups(*group_count, 1, 1);
                }
            }
            Work::Cpu { geometry, posed } => {
                for (out, source) in posed.iter_mut().zip(&geometry.sources) {
                    *out = deform_vertex(source, geometry, avatar);
                }
                write(gpu, &self.posed, bytemuck::cast_slice(posed));
            }
        }
    }
}

/// The shader's `cs_main`, in Rust.
fn deform_vertex(source: &SourceVertex, geometry: &Geometry, avatar: &PosedAvatar) -> [f32; POSED_FLOATS] {
    let mut position = Vec3::from(source.position);
    let mut normal = Vec3::from(source.normal);
    let range = source.first_delta as usize..(source.first_delta + source.delta_count) as usize;
    let normals = geometry.normal_deltas.get(range.clone()).unwrap_or_default();
    for (i, delta) in geometry.deltas.get(range).unwrap_or_default().iter().enumerate() {
        let weight = avatar.morph_weights.get(delta.weight as usize).copied().unwrap_or(0.0);
        if weight != 0.0 {
            position += Vec3::from(delta.position) * weight;
            if let Some([x, y, z, _]) = normals.get(i) {
                normal += Vec3::new(*x, *y, *z) * weight;
            }
        }
    }
    let mut matrix = Mat4::ZERO;
    for (joint, weight) in source.joints.iter().zip(source.joint_weights) {
        if weight != 0.0
            && let Some(joint_matrix) = avatar.joint_matrices.get(*joint as usize)
        {
            matrix += *joint_matrix * weight;
        }
    }
    let (x, y, z) = (matrix.x_axis.xyz(), matrix.y_axis.xyz(), matrix.z_axis.xyz());
    let cofactors = Mat3::from_cols(y.cross(z), z.cross(x), x.cross(y));
    let handedness = if x.dot(cofactors.x_axis) >= 0.0 { 1.0 } else { -1.0 };
    let out_normal = (cofactors * normal * handedness).normalize_or_zero();
    let out = matrix.transform_point3(position);
    [out.x, out.y, out.z, out_normal.x, out_normal.y, out_normal.z, position.x, position.y, position.z]
}

fn gpu_work(
    gpu: &Gpu,
    geometry: &Geometry,
    morphs: usize,
    joints: usize,
    posed: &wgpu::Buffer,
    group_count: u32,
) -> Work {
    let device = &gpu.device;
    let storage = |label, bytes: &[u8], least: usize| {
        let buffer = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: buffer_size(bytes.len().max(least)),
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        write(gpu, &buffer, bytes);
        buffer
    };
    let sources = storage("source vertices", bytemuck::cast_slice(&geometry.sources), size_of::<SourceVertex>());
    let deltas = storage("morph deltas", bytemuck::cast_slice(&geometry.deltas), 16);
    let normal_deltas = storage("morph normal deltas", bytemuck::cast_slice(&geometry.normal_deltas), 16);
    let weights = storage("morph weights", &[], morphs * size_of::<f32>());
    let matrices = storage("joint matrices", &[], joints.max(1) * size_of::<Mat4>());
    let counts = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("deform counts"),
        size: size_of::<Counts>() as u64,
        usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let vertices = geometry.sources.len() as u32;
    let has_normal_deltas = u32::from(!geometry.normal_deltas.is_empty());
    gpu.queue.write_buffer(&counts, 0, bytemuck::bytes_of(&Counts { vertices, has_normal_deltas }));

    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("deform.wgsl"),
        source: wgpu::ShaderSource::Wgsl(SHADER.into()),
    });
    let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("deform.wgsl"),
        layout: None,
        module: &module,
        entry_point: Some("cs_main"),
        compilation_options: wgpu::PipelineCompilationOptions::default(),
        cache: None,
    });
    let buffers = [&counts, &sources, &deltas, &normal_deltas, &weights, &matrices, posed];
    let entries: Vec<_> = (0u32..)
        .zip(buffers)
        .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
        .collect();
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("deform.wgsl"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &entries,
    });
    Work::Gpu { pipeline, bind_group, weights, matrices, group_count }
}

/// Buffers of no bytes cannot be bound, and copies are in words.
fn buffer_size(bytes: usize) -> u64 {
    (bytes.max(16) as u64).next_multiple_of(16)
}

/// Writes as much as fits: a pose of another avatar must not reach past the end.
fn write(gpu: &Gpu, buffer: &wgpu::Buffer, bytes: &[u8]) {
    let fitting = bytes.len().min(usize::try_from(buffer.size()).unwrap_or(usize::MAX)) & !3;
    if let Some(bytes) = bytes.get(..fitting)
        && !bytes.is_empty()
    {
        gpu.queue.write_buffer(buffer, 0, bytes);
    }
}
