//! Uploads images with all their smaller versions (mipmaps), no larger than the adapter takes.

use std::collections::HashMap;

use super::gpu::{Gpu, wgpu};
use crate::avatar::{Sampler, Texture, TextureWrap};

/// Sharpness of textures seen from the side. Software adapters go without: it is slow there.
const ANISOTROPY: u16 = 4;

/// Uploaded textures and samplers, each once.
#[derive(Debug)]
pub(super) struct Textures {
    uploaded: HashMap<(usize, ColorSpace), wgpu::TextureView>,
    samplers: HashMap<Sampler, wgpu::Sampler>,
    /// Stands in for what a material lacks; never seen.
    pub blank: wgpu::TextureView,
    color_from_byte: [f32; 256],
}

/// What the bytes of a texture mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum ColorSpace {
    Srgb,
    Linear,
}

impl Textures {
    pub fn new(gpu: &Gpu) -> Self {
        let white = Texture { width: 1, height: 1, rgba: vec![255; 4], sampler: Sampler::default() };
        let color_from_byte = std::array::from_fn(|i| linear_from_srgb(i as f32 / 255.0));
        let blank = upload(gpu, &white, ColorSpace::Linear, &color_from_byte);
        Self { uploaded: HashMap::new(), samplers: HashMap::new(), blank, color_from_byte }
    }

    /// The view of a texture; a broken one (size and bytes disagree) is blank.
    pub fn view(&mut self, gpu: &Gpu, index: usize, texture: &Texture, space: ColorSpace) -> wgpu::TextureView {
        let pixels = u64::from(texture.width) * u64::from(texture.height);
        if pixels == 0 || texture.rgba.len() as u64 != pixels * 4 {
            return self.blank.clone();
        }
        let table = &self.color_from_byte;
        self.uploaded.entry((index, space)).or_insert_with(|| upload(gpu, texture, space, table)).clone()
    }

    /// The sampler for these settings.
    pub fn sampler(&mut self, gpu: &Gpu, sampler: Sampler) -> wgpu::Sampler {
        self.samplers.entry(sampler).or_insert_with(|| make_sampler(gpu, sampler)).clone()
    }
}

fn make_sampler(gpu: &Gpu, sampler: Sampler) -> wgpu::Sampler {
    let wrap = |w| match w {
        TextureWrap::Repeat => wgpu::AddressMode::Repeat,
        TextureWrap::MirroredRepeat => wgpu::AddressMode::MirrorRepeat,
        TextureWrap::ClampToEdge => wgpu::AddressMode::ClampToEdge,
    };
    let is_plain = sampler.is_nearest || gpu.report().is_software;
    let filter = if sampler.is_nearest { wgpu::FilterMode::Nearest } else { wgpu::FilterMode::Linear };
    // Half the look-ups, where each one is the processor's work.
    let mipmap_filter = if is_plain { wgpu::MipmapFilterMode::Nearest } else { wgpu::MipmapFilterMode::Linear };
    gpu.device.create_sampler(&wgpu::SamplerDescriptor {
        label: Some("avatar texture"),
        address_mode_u: wrap(sampler.wrap_u),
        address_mode_v: wrap(sampler.wrap_v),
        mag_filter: filter,
        min_filter: filter,
        mipmap_filter,
        anisotropy_clamp: if is_plain { 1 } else { ANISOTROPY },
        ..Default::default()
    })
}

fn upload(gpu: &Gpu, texture: &Texture, space: ColorSpace, color_from_byte: &[f32; 256]) -> wgpu::TextureView {
    let limit = gpu.limits().max_texture_dimension_2d.max(1);
    let mut levels = vec![Level { width: texture.width, height: texture.height, rgba: texture.rgba.clone() }];
    while let Some(last) = levels.last()
        && (last.width > 1 || last.height > 1)
    {
        let half = last.half(space, color_from_byte);
        levels.push(half);
    }
    // The smallest level is one pixel, so something always remains.
    levels.retain(|l| l.width <= limit && l.height <= limit);
    let (width, height) = levels.first().map_or((1, 1), |l| (l.width, l.height));
    let uploaded = gpu.device.create_texture(&wgpu::TextureDescriptor {
        label: Some("avatar texture"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: levels.len() as u32,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: match space {
            ColorSpace::Srgb => wgpu::TextureFormat::Rgba8UnormSrgb,
            ColorSpace::Linear => wgpu::TextureFormat::Rgba8Unorm,
        },
        usage: wgpu::TextureUsages::TEXTURE_BINDING | wgpu::TextureUsages::COPY_DST,
        view_formats: &[],
    });
    for (mip_level, level) in (0u32..).zip(&levels) {
        gpu.queue.write_texture(
            wgpu::TexelCopyTextureInfo { mip_level, ..uploaded.as_image_copy() },
            &level.rgba,
            wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(level.width * 4), rows_per_image: None },
            wgpu::Extent3d { width: level.width, height: level.height, depth_or_array_layers: 1 },
        );
    }
    uploaded.create_view(&wgpu::TextureViewDescriptor::default())
}

#[derive(Debug)]
struct Level {
    width: u32,
    height: u32,
    rgba: Vec<u8>,
}

impl Level {
    /// Half as large, averaged in linear light; colours count by their alpha, so that what is hidden does not bleed.
    fn half(&self, space: ColorSpace, color_from_byte: &[f32; 256]) -> Self {
        let (width, height) = ((self.width / 2).max(1), (self.height / 2).max(1));
        let pixel = |x: u32, y: u32| -> [u8; 4] {
            let at = (y.min(self.height - 1) as usize * self.width as usize + x.min(self.width - 1) as usize) * 4;
            match self.rgba.get(at..at + 4) {
                Some([r, g, b, a]) => [*r, *g, *b, *a],
                _ => [0; 4],
            }
        };
        let mut rgba = Vec::with_capacity(width as usize * height as usize * 4);
        for y in 0..height {
            for x in 0..width {
                let four = [(0, 0), (1, 0), (0, 1), (1, 1)].map(|(dx, dy)| pixel(x * 2 + dx, y * 2 + dy));
                rgba.extend(average(four, space, color_from_byte));
            }
        }
        Self { width, height, rgba }
    }
}

fn average(four: [[u8; 4]; 4], space: ColorSpace, color_from_byte: &[f32; 256]) -> [u8; 4] {
    if four.iter().all(|p| *p == four[0]) {
        return four[0];
    }
    if space == ColorSpace::Linear {
        return std::array::from_fn(|c| (four.iter().map(|p| u32::from(p[c])).sum::<u32>().div_ceil(4)).min(255) as u8);
    }
    let alpha: u32 = four.iter().map(|p| u32::from(p[3])).sum();
    let byte = |c: usize| {
        let sum: f32 = four
            .iter()
            .map(|p| {
                let weight = if alpha == 0 { 1.0 } else { f32::from(p[3]) };
                color_from_byte[usize::from(p[c])] * weight
            })
            .sum();
        let linear = sum / if alpha == 0 { 4.0 } else { alpha as f32 };
        (srgb_from_linear(linear) * 255.0 + 0.5) as u8
    };
    [byte(0), byte(1), byte(2), alpha.div_ceil(4).min(255) as u8]
}

fn linear_from_srgb(encoded: f32) -> f32 {
    if encoded <= 0.040_45 { encoded / 12.92 } else { ((encoded + 0.055) / 1.055).powf(2.4) }
}

fn srgb_from_linear(linear: f32) -> f32 {
    if linear <= 0.003_130_8 { linear * 12.92 } else { 1.055 * linear.powf(1.0 / 2.4) - 0.055 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halving_averages_light_not_bytes_and_ignores_hidden_colour() {
        let table = std::array::from_fn(|i| linear_from_srgb(i as f32 / 255.0));
        let level = |rgba: &[u8]| Level { width: 2, height: 1, rgba: rgba.to_vec() };
        let grey = level(&[0, 0, 0, 255, 255, 255, 255, 255]).half(ColorSpace::Srgb, &table);
        assert_eq!((grey.width, grey.height, &grey.rgba[..]), (1, 1, &[188, 188, 188, 255][..]));
        let plain = level(&[0, 0, 0, 255, 255, 255, 255, 255]).half(ColorSpace::Linear, &table);
        assert_eq!(plain.rgba, [128, 128, 128, 255]);
        let edge = level(&[200, 10, 10, 255, 0, 255, 0, 0]).half(ColorSpace::Srgb, &table);
        assert_eq!(edge.rgba, [200, 10, 10, 128]);
    }
}
