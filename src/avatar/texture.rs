//! Images: decoded one by one, with limits. A bad image becomes a white pixel and a warning, never a failed avatar.

use std::collections::HashMap;
use std::io::Cursor;

use gltf::json::texture::{MagFilter, WrappingMode};
use gltf::json::validation::Checked;
use image::imageops::FilterType;
use image::{ImageReader, Limits, RgbaImage};

use super::budget::Budget;
use super::container::{Document, fetch};
use super::{AvatarError, Sampler, Texture, TextureWrap};

/// Larger images are scaled down; every GPU of the last ten years takes this size.
const MAX_SIDE: u32 = 4096;
/// Images beyond this are not decoded at all.
const MAX_DECODE_SIDE: u32 = 16_384;
/// Memory one image may take while it is decoded: 8192 × 8192 RGBA and some.
const MAX_DECODE_BYTES: u64 = 640 << 20;

/// The textures that materials use, decoded when first asked for.
pub(super) struct Textures<'a> {
    document: &'a Document<'a>,
    textures: Vec<Texture>,
    by_source: HashMap<(usize, Sampler), usize>,
}

impl<'a> Textures<'a> {
    pub(super) fn new(document: &'a Document<'a>) -> Self {
        Self { document, textures: Vec::new(), by_source: HashMap::new() }
    }

    pub(super) fn into_textures(self) -> Vec<Texture> {
        self.textures
    }

    /// The model texture of a glTF texture; `None` where it does not exist.
    pub(super) fn get(&mut self, index: usize, budget: &mut Budget) -> Result<Option<usize>, AvatarError> {
        let root = &self.document.root;
        let Some(json) = root.textures.get(index) else {
            budget.warn(format!("a material uses texture {index}, which does not exist"));
            return Ok(None);
        };
        let sampler = json.sampler.and_then(|s| root.samplers.get(s.value())).map_or_else(Sampler::default, |s| {
            let wrap = |mode| match mode {
                Checked::Valid(WrappingMode::ClampToEdge) => TextureWrap::ClampToEdge,
                Checked::Valid(WrappingMode::MirroredRepeat) => TextureWrap::MirroredRepeat,
                _ => TextureWrap::Repeat,
            };
            let is_nearest = matches!(s.mag_filter, Some(Checked::Valid(MagFilter::Nearest)));
            Sampler { wrap_u: wrap(s.wrap_s), wrap_v: wrap(s.wrap_t), is_nearest }
        });
        let key = (json.source.value(), sampler);
        if let Some(known) = self.by_source.get(&key) {
            return Ok(Some(*known));
        }
        let image = match self.decode(json.source.value(), budget) {
            Ok(image) => image,
            Err(reason) => {
                budget.warn(format!("image {} is shown white: {reason}", self.label(json.source.value())));
                RgbaImage::from_pixel(1, 1, image::Rgba([255; 4]))
            }
        };
        let (width, height) = image.dimensions();
        budget.take(u64::from(width) * u64::from(height), 4, "its textures")?;
        self.textures.push(Texture { width, height, rgba: image.into_raw(), sampler });
        self.by_source.insert(key, self.textures.len() - 1);
        Ok(Some(self.textures.len() - 1))
    }

    fn label(&self, source: usize) -> String {
        match self.document.root.images.get(source).and_then(|i| i.name.as_deref()) {
            Some(name) if !name.is_empty() => format!("{name:?}"),
            _ => source.to_string(),
        }
    }

    fn decode(&self, source: usize, budget: &mut Budget) -> Result<RgbaImage, String> {
        let json = self.document.root.images.get(source).ok_or("it has no picture that omote can read")?;
        let fetched;
        let bytes = match (json.buffer_view, &json.uri) {
            (Some(view), _) => self.document.view(view.value()).ok_or("it lies outside the file's data")?,
            (None, Some(uri)) => {
                fetched = fetch(uri, self.document.base_dir, budget)?;
                &fetched
            }
            (None, None) => return Err("it has no data".into()),
        };
        decode_image(bytes)
    }
}

/// Decodes PNG or JPEG by its content (the file's word on the type is often wrong).
fn decode_image(bytes: &[u8]) -> Result<RgbaImage, String> {
    if bytes.starts_with(b"\xABKTX") {
        return Err("it is a KTX2 image; export the avatar with PNG or JPEG textures".into());
    }
    if bytes.get(8..12) == Some(b"WEBP") {
        return Err("it is a WebP image; export the avatar with PNG or JPEG textures".into());
    }
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().map_err(|e| e.to_string())?;
    let mut limits = Limits::default();
    limits.max_image_width = Some(MAX_DECODE_SIDE);
    limits.max_image_height = Some(MAX_DECODE_SIDE);
    limits.max_alloc = Some(MAX_DECODE_BYTES);
    reader.limits(limits);
    let image = reader.decode().map_err(|e| e.to_string())?;
    let (width, height) = (image.width(), image.height());
    if width == 0 || height == 0 {
        return Err("it is empty".into());
    }
    if width <= MAX_SIDE && height <= MAX_SIDE {
        return Ok(image.into_rgba8());
    }
    let scale = f64::from(MAX_SIDE) / f64::from(width.max(height));
    let scaled = |side: u32| ((f64::from(side) * scale) as u32).clamp(1, MAX_SIDE);
    Ok(image::imageops::resize(&image.into_rgba8(), scaled(width), scaled(height), FilterType::Triangle))
}
