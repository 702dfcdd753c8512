//! Uploads an avatar once and draws it, frame by frame.

use super::deform::{DeformOn, Deformer};
use super::geometry::Geometry;
use super::gpu::{Gpu, GpuState, RenderError, wgpu};
use super::material::{Features, FrameUniform, Layer, MaterialUniform, SLOT_COUNT, SLOT_IS_COLOR, Shading};
use super::material::{has_outline, slots, uniform};
use super::pipeline::{Key, Pass, Pipelines, Sides};
use super::target::Target;
use super::textures::{ColorSpace, Textures};
use super::{Background, Camera, Lighting, Msaa, Outlines};
use crate::avatar::{AvatarModel, Material, MaterialColor, MaterialState, PosedAvatar, Sampler};

/// How an avatar is uploaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RenderOptions {
    /// Of the targets that will be drawn into; another one costs a hiccup, once.
    pub msaa: Msaa,
    /// Where vertices are morphed and skinned.
    pub deform: DeformOn,
}

/// All that a picture depends on beside the avatar's pose.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the types say it")]
pub struct Scene {
    pub camera: Camera,
    pub lighting: Lighting,
    pub background: Background,
    pub outlines: Outlines,
}

/// One avatar on one device. Lives on the thread that draws.
#[derive(Debug)]
pub struct Renderer {
    gpu: Gpu,
    deformer: Deformer,
    pipelines: Pipelines,
    statics: wgpu::Buffer,
    indices: wgpu::Buffer,
    frame: wgpu::Buffer,
    frame_group: wgpu::BindGroup,
    materials: Materials,
    /// In drawing order; only blended ones change places.
    items: Vec<Item>,
    /// First of the blended items.
    first_blended: usize,
}

/// One draw call for the surface, and one for its outline.
#[derive(Clone, Debug)]
struct Item {
    layer: Layer,
    render_order: i32,
    /// Distance from the camera this frame, metres along the view.
    distance: f32,
    /// Place in the file: keeps the order of equals.
    number: usize,
    part: super::geometry::Part,
    surface: usize,
    outline: Option<usize>,
}

/// Uniforms and textures of all materials.
#[derive(Debug)]
struct Materials {
    /// As authored, without their images.
    authored: Vec<Material>,
    groups: Vec<wgpu::BindGroup>,
    buffer: wgpu::Buffer,
    /// Bytes from one material's uniforms to the next.
    stride: usize,
    bytes: Vec<u8>,
}

impl Renderer {
    /// Uploads `model`. Takes tens of milliseconds to seconds: call it on a loading thread.
    pub fn new(gpu: &Gpu, model: &AvatarModel, options: RenderOptions) -> Result<Self, RenderError> {
        gpu.checked(|| Self::upload(gpu, model, options))
    }

    fn upload(gpu: &Gpu, model: &AvatarModel, options: RenderOptions) -> Result<Self, RenderError> {
        let geometry = Geometry::pack(model)?;
        let mut pipelines = Pipelines::new(gpu, options.msaa);
        let materials = Materials::upload(gpu, model, &pipelines.material_bindings);
        let items = make_items(gpu, model, &geometry, &mut pipelines);
        let first_blended = items.iter().position(|i| i.layer >= Layer::BlendWritingDepth).unwrap_or(items.len());
        let statics = upload_buffer(gpu, "static vertices", &geometry.statics, wgpu::BufferUsages::VERTEX)?;
        let indices = upload_buffer(gpu, "indices", &geometry.indices, wgpu::BufferUsages::INDEX)?;
        let frame = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("frame"),
            size: size_of::<FrameUniform>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let frame_group = gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("frame"),
            layout: &pipelines.frame_bindings,
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: frame.as_entire_binding() }],
        });
        let deformer = Deformer::new(gpu, geometry, model.morph_count, model.joint_count, options.deform)?;
        Ok(Self {
            gpu: gpu.clone(),
            deformer,
            pipelines,
            statics,
            indices,
            frame,
            frame_group,
            materials,
            items,
            first_blended,
        })
    }

    /// Whether vertices are morphed and skinned on the CPU, for `omote doctor`.
    pub fn deforms_on_cpu(&self) -> bool {
        self.deformer.is_on_cpu()
    }

    /// Draws the avatar in a pose. Returns as soon as the work is handed to the GPU.
    ///
    /// Fails only if the device is lost. A pose of another avatar draws nonsense, but nothing worse.
    pub fn draw(&mut self, avatar: &PosedAvatar, scene: &Scene, target: &Target) -> Result<(), RenderError> {
        debug_assert!(avatar.morph_weights.iter().all(|w| w.is_finite()), "a morph weight is not finite");
        debug_assert!(avatar.joint_matrices.iter().all(|m| m.is_finite()), "a joint matrix is not finite");
        if let GpuState::Lost(reason) = self.gpu.state() {
            return Err(RenderError::Lost(reason));
        }
        if target.msaa() != self.pipelines.msaa() {
            self.pipelines.set_msaa(&self.gpu, target.msaa());
        }
        let frame = FrameUniform::new(&scene.camera, &scene.lighting, target.aspect());
        self.gpu.queue.write_buffer(&self.frame, 0, bytemuck::bytes_of(&frame));
        self.materials.update(&self.gpu, avatar);
        self.sort_blended(avatar, &scene.camera);

        let mut encoder =
            self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("avatar") });
        self.deformer.run(&self.gpu, avatar, &mut encoder);
        {
            let mut pass = target.begin_pass(&mut encoder, clear_color(scene.background));
            pass.set_bind_group(0, &self.frame_group, &[]);
            pass.set_vertex_buffer(0, self.deformer.posed.slice(..));
            pass.set_vertex_buffer(1, self.statics.slice(..));
            pass.set_index_buffer(self.indices.slice(..), wgpu::IndexFormat::Uint32);
            let (solid, blended) = self.items.split_at(self.first_blended);
            // Solid surfaces first: they hide most of the hulls behind them before those are shaded.
            for item in solid {
                self.draw_item(&mut pass, item, Some(item.surface));
            }
            let outline_of = |item: &Item| item.outline.filter(|_| scene.outlines == Outlines::Shown);
            for item in solid {
                self.draw_item(&mut pass, item, outline_of(item));
            }
            for item in blended {
                self.draw_item(&mut pass, item, Some(item.surface));
                self.draw_item(&mut pass, item, outline_of(item));
            }
        }
        self.gpu.queue.submit([encoder.finish()]);
        Ok(())
    }

    fn draw_item(&self, pass: &mut wgpu::RenderPass<'_>, item: &Item, pipeline: Option<usize>) {
        let (Some(pipeline), Some(group)) =
            (pipeline.and_then(|p| self.pipelines.get(p)), self.materials.groups.get(item.part.material))
        else {
            return;
        };
        pass.set_pipeline(pipeline);
        pass.set_bind_group(1, group, &[]);
        pass.draw_indexed(item.part.indices.clone(), item.part.base_vertex, 0..1);
    }

    /// Farther blended surfaces are drawn first; within a mesh the file's order holds (layers painted on one another).
    fn sort_blended(&mut self, avatar: &PosedAvatar, camera: &Camera) {
        let Some(blended) = self.items.get_mut(self.first_blended..) else { return };
        let view_from_avatar = camera.view_from_avatar();
        for item in blended.iter_mut() {
            let matrix = avatar.joint_matrices.get(item.part.center_joint).copied().unwrap_or_default();
            item.distance = -view_from_avatar.transform_point3(matrix.transform_point3(item.part.center)).z;
        }
        blended.sort_unstable_by(|a, b| {
            (a.layer, a.render_order)
                .cmp(&(b.layer, b.render_order))
                .then(b.distance.total_cmp(&a.distance))
                .then(a.number.cmp(&b.number))
        });
    }
}

impl Materials {
    fn upload(gpu: &Gpu, model: &AvatarModel, layout: &wgpu::BindGroupLayout) -> Self {
        let alignment = gpu.limits().min_uniform_buffer_offset_alignment as usize;
        let stride = size_of::<MaterialUniform>().next_multiple_of(alignment.max(16));
        let bytes = vec![0; stride * model.materials.len().max(1)];
        let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("materials"),
            size: bytes.len() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut textures = Textures::new(gpu);
        let groups = model
            .materials
            .iter()
            .enumerate()
            .map(|(index, material)| {
                let slots = slots(material);
                let (mut views, mut samplers) = (Vec::with_capacity(SLOT_COUNT), Vec::with_capacity(SLOT_COUNT));
                for (slot, is_color) in slots.iter().zip(SLOT_IS_COLOR) {
                    let space = if is_color { ColorSpace::Srgb } else { ColorSpace::Linear };
                    let used = slot.and_then(|s| model.textures.get(s.texture).map(|t| (s.texture, t)));
                    views.push(match used {
                        Some((texture_index, texture)) => textures.view(gpu, texture_index, texture, space),
                        None => textures.blank.clone(),
                    });
                    samplers.push(textures.sampler(gpu, used.map_or_else(Sampler::default, |(_, t)| t.sampler)));
                }
                let mut entries = vec![wgpu::BindGroupEntry {
                    binding: 0,
                    resource: wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                        buffer: &buffer,
                        offset: (index * stride) as u64,
                        size: std::num::NonZeroU64::new(size_of::<MaterialUniform>() as u64),
                    }),
                }];
                entries.extend((1u32..).zip(&views).map(|(binding, view)| wgpu::BindGroupEntry {
                    binding,
                    resource: wgpu::BindingResource::TextureView(view),
                }));
                entries.extend((1 + SLOT_COUNT as u32..).zip(&samplers).map(|(binding, sampler)| {
                    wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Sampler(sampler) }
                }));
                gpu.device.create_bind_group(&wgpu::BindGroupDescriptor {
                    label: Some("material"),
                    layout,
                    entries: &entries,
                })
            })
            .collect();
        Self { authored: model.materials.clone(), groups, buffer, stride, bytes }
    }

    fn update(&mut self, gpu: &Gpu, avatar: &PosedAvatar) {
        for (index, (material, out)) in self.authored.iter().zip(self.bytes.chunks_exact_mut(self.stride)).enumerate() {
            let state = avatar.materials.get(index).copied().unwrap_or_else(|| MaterialState::authored(material));
            let uniform = uniform(material, &state, avatar.time_secs);
            if let Some(out) = out.get_mut(..size_of::<MaterialUniform>()) {
                out.copy_from_slice(bytemuck::bytes_of(&uniform));
            }
        }
        gpu.queue.write_buffer(&self.buffer, 0, &self.bytes);
    }
}

fn is_rim_animated(model: &AvatarModel, material: usize) -> bool {
    let mut binds = model.expressions.iter().flat_map(|e| &e.binds.materials);
    binds.any(|b| b.material == material && b.color == MaterialColor::Rim)
}

fn make_items(gpu: &Gpu, model: &AvatarModel, geometry: &Geometry, pipelines: &mut Pipelines) -> Vec<Item> {
    let mut items = Vec::new();
    for (number, part) in geometry.parts.iter().enumerate() {
        let Some(material) = model.materials.get(part.material) else { continue };
        if part.indices.is_empty() {
            continue;
        }
        let key = Key {
            shading: Shading::of(material),
            features: Features::of(material, is_rim_animated(model, part.material)),
            layer: Layer::of(material.alpha),
            sides: if material.double_sided { Sides::Both } else { Sides::Front },
            is_mirrored: part.is_mirrored,
            pass: Pass::Surface,
        };
        items.push(Item {
            layer: key.layer,
            render_order: material.render_order,
            distance: 0.0,
            number,
            part: part.clone(),
            surface: pipelines.index(gpu, key),
            outline: has_outline(material).then(|| {
                // Sides make no difference to a hull: fewer pipelines.
                pipelines.index(gpu, Key { pass: Pass::Outline, sides: Sides::Front, ..key })
            }),
        });
    }
    // Solid surfaces by pipeline (fewer switches), blended ones by their own rules.
    items.sort_by_key(|i| {
        let is_blended = i.layer >= Layer::BlendWritingDepth;
        (i.layer, if is_blended { i.render_order } else { 0 }, if is_blended { 0 } else { i.surface }, i.number)
    });
    items
}

fn upload_buffer<T: bytemuck::NoUninit>(
    gpu: &Gpu,
    label: &str,
    values: &[T],
    usage: wgpu::BufferUsages,
) -> Result<wgpu::Buffer, RenderError> {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    let size = (bytes.len().max(16) as u64).next_multiple_of(4);
    let limit = gpu.limits().max_buffer_size;
    if size > limit {
        return Err(RenderError::TooLarge { what: "the avatar's geometry", size, limit });
    }
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size,
        usage: usage | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    if !bytes.is_empty() {
        gpu.queue.write_buffer(&buffer, 0, bytes);
    }
    Ok(buffer)
}

fn clear_color(background: Background) -> wgpu::Color {
    match background {
        Background::Transparent => wgpu::Color::TRANSPARENT,
        // The target holds encoded values, so the colour goes in as it is.
        Background::Color(rgb) => {
            let [r, g, b] = rgb.map(|c| f64::from(c) / 255.0);
            wgpu::Color { r, g, b, a: 1.0 }
        }
    }
}
