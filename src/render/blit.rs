//! Brings the picture into another texture: the output window's surface, or the small preview.

use super::gpu::{Gpu, wgpu};
use super::target::Target;

const SHADER: &str = include_str!("../../shaders/blit.wgsl");

/// What the receiving texture takes alpha for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OutputAlpha {
    /// Colour times alpha, as drawn.
    Premultiplied,
    /// Colour and alpha.
    Straight,
    /// None: everything is solid. The picture should have a background colour then.
    Opaque,
}

/// Draws a picture into textures of one format, scaled to fit.
#[derive(Debug)]
pub struct Blitter {
    plain: wgpu::RenderPipeline,
    shrinking: wgpu::RenderPipeline,
    sampler: wgpu::Sampler,
    /// The last picture's bind group: the picture is the same from frame to frame.
    bound: Option<(wgpu::TextureView, wgpu::BindGroup)>,
}

impl Blitter {
    /// For targets of this format.
    pub fn new(gpu: &Gpu, format: wgpu::TextureFormat, alpha: OutputAlpha) -> Self {
        let device = &gpu.device;
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("blit.wgsl"),
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let stage = wgpu::ShaderStages::FRAGMENT;
        let bindings = device.create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor {
            label: Some("blit.wgsl"),
            entries: &[super::pipeline::texture_entry(0, stage), super::pipeline::sampler_entry(1, stage)],
        });
        let layout = device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label: Some("blit.wgsl"),
            bind_group_layouts: &[Some(&bindings)],
            immediate_size: 0,
        });
        let flag = |on: bool| f64::from(u8::from(on));
        let pipeline = |is_shrinking: bool| {
            let constants = [
                ("target_encodes", flag(format.is_srgb())),
                ("is_straight", flag(alpha == OutputAlpha::Straight)),
                ("is_opaque", flag(alpha == OutputAlpha::Opaque)),
                ("is_shrinking", flag(is_shrinking)),
            ];
            device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
                label: Some("blit.wgsl"),
                layout: Some(&layout),
                vertex: wgpu::VertexState {
                    module: &module,
                    entry_point: Some("vs_main"),
                    compilation_options: wgpu::PipelineCompilationOptions::default(),
                    buffers: &[],
                },
                primitive: wgpu::PrimitiveState::default(),
                depth_stencil: None,
                multisample: wgpu::MultisampleState::default(),
                fragment: Some(wgpu::FragmentState {
                    module: &module,
                    entry_point: Some("fs_main"),
                    compilation_options: wgpu::PipelineCompilationOptions {
                        constants: &constants,
                        ..Default::default()
                    },
                    targets: &[Some(format.into())],
                }),
                multiview_mask: None,
                cache: None,
            })
        };
        let sampler = device.create_sampler(&wgpu::SamplerDescriptor {
            label: Some("blit.wgsl"),
            mag_filter: wgpu::FilterMode::Linear,
            min_filter: wgpu::FilterMode::Linear,
            ..Default::default()
        });
        Self { plain: pipeline(false), shrinking: pipeline(true), sampler, bound: None }
    }

    /// Records the drawing of `source` over all of `view`, a texture of `width` pixels a row.
    pub fn record(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        source: &Target,
        view: &wgpu::TextureView,
        width: u32,
    ) {
        let is_shrinking = source.size().0 * 2 > width * 3;
        let pipeline = if is_shrinking { &self.shrinking } else { &self.plain };
        if self.bound.as_ref().is_none_or(|(bound, _)| bound != source.view()) {
            let group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                label: Some("blit.wgsl"),
                layout: &pipeline.get_bind_group_layout(0),
                entries: &[
                    wgpu::BindGroupEntry { binding: 0, resource: wgpu::BindingResource::TextureView(source.view()) },
                    wgpu::BindGroupEntry { binding: 1, resource: wgpu::BindingResource::Sampler(&self.sampler) },
                ],
            });
            self.bound = Some((source.view().clone(), group));
        }
        let Some((_, group)) = &self.bound else { return };
        let mut pass = encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("blit.wgsl"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view,
                depth_slice: None,
                resolve_target: None,
                ops: wgpu::Operations {
                    load: wgpu::LoadOp::Clear(wgpu::Color::TRANSPARENT),
                    store: wgpu::StoreOp::Store,
                },
            })],
            ..Default::default()
        });
        pass.set_pipeline(pipeline);
        pass.set_bind_group(0, group, &[]);
        pass.draw(0..3, 0..1);
    }
}
