//! One still picture.

use image::RgbaImage;

use super::gpu::{Gpu, RenderError};
use super::renderer::{RenderOptions, Renderer, Scene};
use super::target::{PixelAlpha, Target};
use super::{Background, Camera, Framing, Lighting, Msaa, Outlines, frame_avatar};
use crate::avatar::{AvatarModel, PosedAvatar};

/// What the picture shall be like. The default is the plain measurement of `omote snapshot`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SnapshotOptions {
    /// `None` frames the head with the usual field of view.
    pub camera: Option<Camera>,
    /// The light.
    pub lighting: Lighting,
    /// Transparent gives straight alpha.
    pub background: Background,
    /// Outlines of toon materials.
    pub outlines: Outlines,
    /// Pixels.
    pub width: u32,
    /// Pixels.
    pub height: u32,
    /// Samples a pixel.
    pub msaa: Msaa,
}

impl Default for SnapshotOptions {
    fn default() -> Self {
        Self {
            camera: None,
            lighting: Lighting::PLAIN,
            background: Background::Transparent,
            outlines: Outlines::Shown,
            width: 512,
            height: 512,
            msaa: Msaa::X4,
        }
    }
}

/// Uploads the avatar, draws it once and reads the picture, with straight alpha.
pub fn snapshot(
    gpu: &Gpu,
    model: &AvatarModel,
    avatar: &PosedAvatar,
    options: &SnapshotOptions,
) -> Result<RgbaImage, RenderError> {
    let mut target = Target::new(gpu, options.width, options.height, options.msaa)?;
    let mut renderer = Renderer::new(gpu, model, RenderOptions { msaa: options.msaa, ..Default::default() })?;
    let camera =
        options.camera.unwrap_or_else(|| frame_avatar(model, Framing::Head, Camera::FOV_Y_RAD, target.aspect()));
    let scene =
        Scene { camera, lighting: options.lighting, background: options.background, outlines: options.outlines };
    renderer.draw(avatar, &scene, &target)?;
    target.read_back(gpu, PixelAlpha::Straight)
}
