//! The offscreen picture: RGBA8, encoded to sRGB, alpha premultiplied after encoding (see the module `render`).

use image::RgbaImage;

use super::Msaa;
use super::gpu::{Gpu, RenderError, wgpu};

/// Not an sRGB format: the shaders encode, so that alpha can be premultiplied afterwards.
pub(super) const FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8Unorm;
pub(super) const DEPTH_FORMAT: wgpu::TextureFormat = wgpu::TextureFormat::Depth32Float;
pub(super) const USAGES: wgpu::TextureUsages = wgpu::TextureUsages::RENDER_ATTACHMENT
    .union(wgpu::TextureUsages::TEXTURE_BINDING)
    .union(wgpu::TextureUsages::COPY_SRC);

/// What the alpha of read pixels means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PixelAlpha {
    /// As drawn: colour times alpha.
    Premultiplied,
    /// As PNG has it.
    Straight,
}

/// An offscreen picture to draw into.
#[derive(Debug)]
pub struct Target {
    width: u32,
    height: u32,
    msaa: Msaa,
    texture: wgpu::Texture,
    view: wgpu::TextureView,
    multisampled: Option<wgpu::TextureView>,
    depth: wgpu::TextureView,
    staging: Option<wgpu::Buffer>,
}

impl Target {
    /// A picture of this size in pixels; a side of 0 becomes 1.
    pub fn new(gpu: &Gpu, width: u32, height: u32, msaa: Msaa) -> Result<Self, RenderError> {
        let (width, height) = (width.max(1), height.max(1));
        let limit = gpu.limits().max_texture_dimension_2d;
        if width > limit || height > limit {
            let size = u64::from(width.max(height));
            return Err(RenderError::TooLarge { what: "the picture", size, limit: u64::from(limit) });
        }
        gpu.checked(|| {
            let make = |label, format, usage, sample_count| {
                gpu.device.create_texture(&wgpu::TextureDescriptor {
                    label: Some(label),
                    size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
                    mip_level_count: 1,
                    sample_count,
                    dimension: wgpu::TextureDimension::D2,
                    format,
                    usage,
                    view_formats: &[],
                })
            };
            let attachment = wgpu::TextureUsages::RENDER_ATTACHMENT;
            let texture = make("picture", FORMAT, USAGES, 1);
            let samples = msaa.samples();
            let multisampled = (samples > 1).then(|| view(&make("multisampled picture", FORMAT, attachment, samples)));
            let depth = view(&make("depth", DEPTH_FORMAT, attachment, samples));
            Ok(Self { width, height, msaa, view: view(&texture), texture, multisampled, depth, staging: None })
        })
    }

    /// Makes the picture this large; nothing happens if it is already.
    pub fn resize(&mut self, gpu: &Gpu, width: u32, height: u32) -> Result<(), RenderError> {
        if (self.width, self.height) != (width.max(1), height.max(1)) {
            *self = Self::new(gpu, width, height, self.msaa)?;
        }
        Ok(())
    }

    /// Width and height, pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Samples a pixel while drawing.
    pub fn msaa(&self) -> Msaa {
        self.msaa
    }

    /// Width by height.
    pub fn aspect(&self) -> f32 {
        self.width as f32 / self.height as f32
    }

    /// The finished picture, to sample from.
    pub fn view(&self) -> &wgpu::TextureView {
        &self.view
    }

    /// The finished picture, to copy from.
    pub fn texture(&self) -> &wgpu::Texture {
        &self.texture
    }

    /// Starts drawing over `clear`.
    pub(super) fn begin_pass<'e>(
        &self,
        encoder: &'e mut wgpu::CommandEncoder,
        clear: wgpu::Color,
    ) -> wgpu::RenderPass<'e> {
        let (view, resolve_target, store) = match &self.multisampled {
            Some(multisampled) => (multisampled, Some(&self.view), wgpu::StoreOp::Discard),
            None => (&self.view, None, wgpu::StoreOp::Store),
        };
        encoder.begin_render_pass(&wgpu::RenderPassDescriptor {
            label: Some("avatar"),
            color_attachments: &[Some(wgpu::RenderPassColorAttachment {
                view,
                depth_slice: None,
                resolve_target,
                ops: wgpu::Operations { load: wgpu::LoadOp::Clear(clear), store },
            })],
            depth_stencil_attachment: Some(wgpu::RenderPassDepthStencilAttachment {
                view: &self.depth,
                depth_ops: Some(wgpu::Operations { load: wgpu::LoadOp::Clear(1.0), store: wgpu::StoreOp::Discard }),
                stencil_ops: None,
            }),
            ..Default::default()
        })
    }

    /// Reads the picture; waits until it is drawn. For snapshots, movies and tests; the preview has [`Preview`].
    ///
    /// [`Preview`]: super::Preview
    pub fn read_back(&mut self, gpu: &Gpu, alpha: PixelAlpha) -> Result<RgbaImage, RenderError> {
        let mut pixels = Vec::new();
        self.read_back_into(gpu, alpha, &mut pixels)?;
        RgbaImage::from_raw(self.width, self.height, pixels)
            .ok_or_else(|| RenderError::Refused("the picture came back incomplete".to_owned()))
    }

    /// As [`read_back`](Self::read_back), rows of `width * 4` bytes into a buffer that is cleared and reused.
    pub fn read_back_into(&mut self, gpu: &Gpu, alpha: PixelAlpha, pixels: &mut Vec<u8>) -> Result<(), RenderError> {
        let (width, height) = (self.width, self.height);
        let staging = self.staging.get_or_insert_with(|| staging_buffer(gpu, width, height));
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        copy_to_buffer(&mut encoder, &self.texture, staging);
        let submission = gpu.queue.submit([encoder.finish()]);
        staging.slice(..).map_async(wgpu::MapMode::Read, |_| {});
        gpu.wait(Some(submission))?;
        let read = read_rows(staging, width, height, pixels);
        staging.unmap();
        read?;
        if alpha == PixelAlpha::Straight {
            unpremultiply(pixels);
        }
        Ok(())
    }
}

fn view(texture: &wgpu::Texture) -> wgpu::TextureView {
    texture.create_view(&wgpu::TextureViewDescriptor::default())
}

/// Bytes a row in a buffer that a texture is copied to.
fn padded_row(width: u32) -> u32 {
    (width * 4).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT)
}

/// A buffer that a picture of this size can be copied to and read from.
pub(super) fn staging_buffer(gpu: &Gpu, width: u32, height: u32) -> wgpu::Buffer {
    gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("read back"),
        size: u64::from(padded_row(width)) * u64::from(height),
        usage: wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::MAP_READ,
        mapped_at_creation: false,
    })
}

pub(super) fn copy_to_buffer(encoder: &mut wgpu::CommandEncoder, texture: &wgpu::Texture, buffer: &wgpu::Buffer) {
    encoder.copy_texture_to_buffer(
        texture.as_image_copy(),
        wgpu::TexelCopyBufferInfo {
            buffer,
            layout: wgpu::TexelCopyBufferLayout {
                offset: 0,
                bytes_per_row: Some(padded_row(texture.width())),
                rows_per_image: None,
            },
        },
        texture.size(),
    );
}

/// Copies the rows of a mapped buffer without their padding.
pub(super) fn read_rows(
    buffer: &wgpu::Buffer,
    width: u32,
    height: u32,
    pixels: &mut Vec<u8>,
) -> Result<(), RenderError> {
    pixels.clear();
    let mapped = buffer.slice(..).get_mapped_range().map_err(|e| RenderError::Refused(e.to_string()))?;
    for row in mapped.chunks(padded_row(width) as usize).take(height as usize) {
        pixels.extend_from_slice(row.get(..width as usize * 4).unwrap_or(row));
    }
    Ok(())
}

/// From colour times alpha to colour and alpha. Where alpha is 0 the colour is black.
fn unpremultiply(pixels: &mut [u8]) {
    for pixel in pixels.as_chunks_mut::<4>().0 {
        let alpha = u32::from(pixel[3]);
        if alpha == 255 {
            continue;
        }
        for channel in pixel.iter_mut().take(3) {
            // Rounded; an alpha of 0 has no colour.
            *channel = (u32::from(*channel) * 255 + alpha / 2).checked_div(alpha).unwrap_or(0).min(255) as u8;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_alpha_restores_colours() {
        let mut pixels = [10, 20, 30, 255, 50, 0, 100, 100, 7, 7, 7, 0, 200, 0, 0, 100];
        unpremultiply(&mut pixels);
        assert_eq!(pixels, [10, 20, 30, 255, 128, 0, 255, 100, 0, 0, 0, 0, 255, 0, 0, 100]);
    }
}
