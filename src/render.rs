//! Draws an avatar with wgpu: upload a model once, draw it in a pose into an offscreen texture, show or read that.
//!
//! It knows nothing of faces, voices or expressions: it gets a [`PosedAvatar`](crate::avatar::PosedAvatar), that is
//! weights, matrices and material colours. It owns its device ([`Gpu`]); nothing is shared with the control window.
//!
//! Spaces, written as `to_from_of` in names: *mesh* (a mesh's own), *avatar* (metres, +Y up, the avatar faces +Z,
//! +X is its left), *view* (camera at the origin, looks along −Z), *clip* (depth 0..1). Texture V points down.
//!
//! Colour: shaders compute in linear light and encode to sRGB themselves. The picture is RGBA8 with premultiplied
//! alpha, **premultiplied after encoding**, because that is what compositors and capture programs blend: a half covered
//! edge stores half the encoded colour. Blending and multisample resolve therefore happen in display space, too.
//!
//! A frame: [`Renderer::draw`] uploads weights, matrices and material colours, runs one compute pass that morphs and
//! skins every vertex once (`shaders/deform.wgsl`), then one render pass: solid surfaces, outlines, blended ones.

mod blit;
mod camera;
mod deform;
mod geometry;
pub mod gpu;
mod material;
mod pipeline;
mod preview;
mod renderer;
mod snapshot;
mod surface;
mod target;
mod textures;

pub use blit::{Blitter, OutputAlpha};
pub use camera::{Bounds, Camera, Framing, frame_avatar};
pub use deform::DeformOn;
pub use gpu::{AdapterChoice, AdapterReport, Gpu, GpuOptions, GpuState, RenderError, list_adapters};
pub use preview::Preview;
pub use renderer::{RenderOptions, Renderer, Scene};
pub use snapshot::{SnapshotOptions, snapshot};
pub use surface::{Acquired, OutputSurface, SurfaceFrame};
pub use target::{PixelAlpha, Target};

use glam::Vec3;

/// Samples a pixel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Msaa {
    /// One sample: hard edges, cheap.
    Off,
    /// Four samples.
    #[default]
    X4,
}

impl Msaa {
    /// From a number of samples; whatever is more than one is four.
    pub fn from_samples(samples: u32) -> Self {
        if samples > 1 { Self::X4 } else { Self::Off }
    }

    /// 1 or 4.
    pub fn samples(self) -> u32 {
        match self {
            Self::Off => 1,
            Self::X4 => 4,
        }
    }
}

/// What stands behind the avatar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Background {
    /// Nothing: alpha 0.
    #[default]
    Transparent,
    /// An sRGB colour, alpha 1.
    Color([u8; 3]),
}

/// Whether outlines of toon materials are drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Outlines {
    Hidden,
    #[default]
    Shown,
}

/// One directional light and an ambient one. Colours are linear; a toon surface that faces a light of 1 shows its base
/// colour.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Lighting {
    /// From the avatar towards the light, avatar space; any length.
    pub direction: Vec3,
    /// Colour of the directional light.
    pub color: Vec3,
    /// Ambient light on surfaces that look up.
    pub ambient_sky: Vec3,
    /// Ambient light on surfaces that look down.
    pub ambient_ground: Vec3,
}

impl Lighting {
    /// The light of measurements: colour 1 from (1, 1, 1), no ambient.
    pub const PLAIN: Self =
        Self { direction: Vec3::ONE, color: Vec3::ONE, ambient_sky: Vec3::ZERO, ambient_ground: Vec3::ZERO };

    /// The light of the app: from the front and above, a little to the avatar's left; directional and ambient add up
    /// to 1, so that lit toon surfaces show their base colour and shaded ones are never black.
    pub const STUDIO: Self = Self {
        direction: Vec3::new(0.45, 0.75, 1.0),
        color: Vec3::splat(0.8),
        ambient_sky: Vec3::new(0.21, 0.21, 0.22),
        ambient_ground: Vec3::new(0.19, 0.19, 0.18),
    };
}

impl Default for Lighting {
    fn default() -> Self {
        Self::STUDIO
    }
}
