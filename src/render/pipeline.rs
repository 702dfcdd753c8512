//! The pipelines that draw surfaces and outlines: one for each combination that the avatar needs.

use std::collections::HashMap;

use super::Msaa;
use super::deform::Deformer;
use super::geometry::StaticVertex;
use super::gpu::{Gpu, wgpu};
use super::material::{Features, FrameUniform, Layer, MaterialUniform, SLOT_COUNT, Shading};
use super::target::{DEPTH_FORMAT, FORMAT};

const TOON: &str = concat!(include_str!("../../shaders/common.wgsl"), include_str!("../../shaders/toon.wgsl"));
const UNLIT: &str = concat!(include_str!("../../shaders/common.wgsl"), include_str!("../../shaders/unlit.wgsl"));
const DIFFUSE: &str = concat!(include_str!("../../shaders/common.wgsl"), include_str!("../../shaders/diffuse.wgsl"));

/// The overridable constants of `common.wgsl` that say whether a slot has a texture, by slot.
const TEXTURE_CONSTANTS: [&str; SLOT_COUNT] = [
    "has_base_texture",
    "has_shade_texture",
    "has_shift_texture",
    "has_normal_texture",
    "has_rim_texture",
    "has_matcap_texture",
    "has_emissive_texture",
    "has_outline_width_texture",
    "has_uv_mask_texture",
];

/// Vertex attributes that never change, after those of [`Deformer::LAYOUT`].
const STATIC_LAYOUT: wgpu::VertexBufferLayout<'static> = wgpu::VertexBufferLayout {
    array_stride: size_of::<StaticVertex>() as u64,
    step_mode: wgpu::VertexStepMode::Vertex,
    attributes: &wgpu::vertex_attr_array![3 => Float32x2, 4 => Float32x2, 5 => Float32x4],
};

/// Surface, or the hull that makes its outline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Pass {
    Surface,
    Outline,
}

/// Which triangles are left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Sides {
    Front,
    Both,
}

/// All that makes one pipeline differ from another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub shading: Shading,
    pub features: Features,
    pub layer: Layer,
    pub sides: Sides,
    /// Front faces run clockwise.
    pub is_mirrored: bool,
    pub pass: Pass,
}

/// Makes pipelines on demand and keeps them.
#[derive(Debug)]
pub(super) struct Pipelines {
    msaa: Msaa,
    pub frame_bindings: wgpu::BindGroupLayout,
    pub material_bindings: wgpu::BindGroupLayout,
    layout: wgpu::PipelineLayout,
    modules: HashMap<Shading, wgpu::ShaderModule>,
    made: HashMap<Key, usize>,
    pipelines: Vec<wgpu::RenderPipeline>,
}

impl Pipelines {
    pub fn new(gpu: &Gpu, msaa: Msaa) -> Self {
        let both = wgpu::ShaderStages::VERTEX_FRAGMENT;
        let frame_bindings = gpu.device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("frame"),
            entries: &[uniform_entry(size_of::<FrameUniform>() as u64)],
        });
        let slots = SLOT_COUNT as u32;
        let mut entries = vec![uniform_entry(size_of::<MaterialUniform>() as u64)];
        entries.extend((0..slots).map(|slot| texture_entry(1 + slot, both)));
        entries.extend((0..slots).map(|slot| sampler_entry(1 + slots + slot, both)));
        let material_bindings = gpu
            .device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label: Some("material"), entries: &entries });
        let layout = gpu.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("surface"),
            bind_group_layouts: &[Some(&frame_bindings), Some(&material_bindings)],
            immediate_size: 0,
        });
        Self {
            msaa,
            frame_bindings,
            material_bindings,
            layout,
            modules: HashMap::new(),
            made: HashMap::new(),
            pipelines: Vec::new(),
        }
    }

    /// Samples a pixel that the pipelines draw with.
    pub fn msaa(&self) -> Msaa {
        self.msaa
    }

    /// Makes all pipelines anew for another number of samples; their numbers stay.
    pub fn set_msaa(&mut self, gpu: &Gpu, msaa: Msaa) {
        self.msaa = msaa;
        let made: Vec<(Key, usize)> = self.made.iter().map(|(k, i)| (*k, *i)).collect();
        for (key, index) in made {
            let pipeline = self.make(gpu, key);
            if let Some(slot) = self.pipelines.get_mut(index) {
                *slot = pipeline;
            }
        }
    }

    /// The number of the pipeline for `key`.
    pub fn index(&mut self, gpu: &Gpu, key: Key) -> usize {
        if let Some(index) = self.made.get(&key) {
            return *index;
        }
        let pipeline = self.make(gpu, key);
        self.pipelines.push(pipeline);
        self.made.insert(key, self.pipelines.len() - 1);
        self.pipelines.len() - 1
    }

    /// The pipeline with this number.
    pub fn get(&self, index: usize) -> Option<&wgpu::RenderPipeline> {
        self.pipelines.get(index)
    }

    fn make(&mut self, gpu: &Gpu, key: Key) -> wgpu::RenderPipeline {
        let (label, source) = match key.shading {
            Shading::Toon => ("toon.wgsl", TOON),
            Shading::Unlit => ("unlit.wgsl", UNLIT),
            Shading::Diffuse => ("diffuse.wgsl", DIFFUSE),
        };
        let module = self.modules.entry(key.shading).or_insert_with(|| {
            gpu.device.create_shader_module(wgpu::ShaderModuleDescriptor {
                label: Some(label),
                source: wgpu::ShaderSource::Wgsl(source.into()),
            })
        });
        let flag = |on: bool| f64::from(u8::from(on));
        let is_blended = matches!(key.layer, Layer::Blend | Layer::BlendWritingDepth);
        let all = [
            ("has_uv_animation", flag(key.features.has_uv_animation)),
            ("is_shade_of_base", flag(key.features.is_shade_of_base)),
            ("has_rim", flag(key.features.has_rim)),
            ("is_outline_lit", flag(key.features.is_outline_lit)),
            ("is_masked", flag(key.layer == Layer::Mask)),
            ("is_blended", flag(is_blended)),
            ("is_outline", flag(key.pass == Pass::Outline)),
        ];
        let mut constants = all.to_vec();
        constants.extend(TEXTURE_CONSTANTS.into_iter().zip(key.features.textures.map(flag)));
        let compilation_options =
            wgpu::PipelineCompilationOptions { constants: &constants, zero_initialize_workgroup_memory: true };
        let cull_mode = match (key.pass, key.sides) {
            // A hull shows its inside only, whatever the surface shows.
            (Pass::Outline, _) => Some(wgpu::Face::Front),
            (Pass::Surface, Sides::Front) => Some(wgpu::Face::Back),
            (Pass::Surface, Sides::Both) => None,
        };
        gpu.device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
            label: Some(label),
            layout: Some(&self.layout),
            vertex: wgpu::VertexState {
                module,
                entry_point: Some(if key.pass == Pass::Outline { "vs_outline" } else { "vs_main" }),
                compilation_options: compilation_options.clone(),
                buffers: &[Some(Deformer::LAYOUT), Some(STATIC_LAYOUT)],
            },
            primitive: wgpu::PrimitiveState {
                front_face: if key.is_mirrored { wgpu::FrontFace::Cw } else { wgpu::FrontFace::Ccw },
                cull_mode,
                ..Default::default()
            },
            depth_stencil: Some(wgpu::DepthStencilState {
                format: DEPTH_FORMAT,
                depth_write_enabled: Some(key.layer != Layer::Blend),
                depth_compare: Some(wgpu::CompareFunction::LessEqual),
                stencil: wgpu::StencilState::default(),
                bias: wgpu::DepthBiasState::default(),
            }),
            multisample: wgpu::MultisampleState { count: self.msaa.samples(), ..Default::default() },
            fragment: Some(wgpu::FragmentState {
                module,
                entry_point: Some("fs_main"),
                compilation_options,
                targets: &[Some(wgpu::ColorTargetState {
                    format: FORMAT,
                    blend: is_blended.then_some(wgpu::BlendState::PREMULTIPLIED_ALPHA_BLENDING),
                    write_mask: wgpu::ColorWrites::ALL,
                })],
            }),
            multiview_mask: None,
            cache: None,
        })
    }
}

fn uniform_entry(size: u64) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding: 0,
        visibility: wgpu::ShaderStages::VERTEX_FRAGMENT,
        ty: wgpu::BindingType::Buffer {
            ty: wgpu::BufferBindingType::Uniform,
            has_dynamic_offset: false,
            min_binding_size: std::num::NonZeroU64::new(size),
        },
        count: None,
    }
}

pub(super) fn texture_entry(binding: u32, visibility: wgpu::ShaderStages) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility,
        ty: wgpu::BindingType::Texture {
            sample_type: wgpu::TextureSampleType::Float { filterable: true },
            view_dimension: wgpu::TextureViewDimension::D2,
            multisampled: false,
        },
        count: None,
    }
}

pub(super) fn sampler_entry(binding: u32, visibility: wgpu::ShaderStages) -> wgpu::BindGroupLayoutEntry {
    wgpu::BindGroupLayoutEntry {
        binding,
        visibility,
        ty: wgpu::BindingType::Sampler(wgpu::SamplerBindingType::Filtering),
        count: None,
    }
}
