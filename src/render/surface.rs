//! Shows the picture in a window, without ever waiting for the screen.

use super::Background;
use super::blit::{Blitter, OutputAlpha};
use super::gpu::{Gpu, RenderError, wgpu};
use super::target::Target;

/// An image of the window that waits for a picture.
#[derive(Debug)]
pub struct SurfaceFrame(wgpu::SurfaceTexture);

/// What became of asking for an image of the window.
#[derive(Debug)]
pub enum Acquired {
    /// Here it is.
    Ready(SurfaceFrame),
    /// Not this time: the window is covered, was resized or the screen is late. All ordinary; go on.
    Skipped,
    /// The surface is gone: make a new one from the window.
    Lost,
}

/// A window's surface. Lives on the thread that draws; the window itself stays on the event loop's.
#[derive(Debug)]
pub struct OutputSurface {
    surface: wgpu::Surface<'static>,
    config: wgpu::SurfaceConfiguration,
    blitter: Blitter,
}

impl OutputSurface {
    /// Sets up a surface from [`Gpu::with_window`] for a window of this size in pixels.
    ///
    /// With [`Background::Transparent`] it takes the first transparency the system offers; look at
    /// [`is_transparent`](Self::is_transparent) whether it did.
    pub fn new(
        gpu: &Gpu,
        surface: wgpu::Surface<'static>,
        width: u32,
        height: u32,
        background: Background,
    ) -> Result<Self, RenderError> {
        use wgpu::{CompositeAlphaMode as Alpha, PresentMode as Mode};
        let offered = surface.get_capabilities(&gpu.adapter);
        let mut config = surface
            .get_default_config(&gpu.adapter, width.max(1), height.max(1))
            .ok_or_else(|| RenderError::Surface("the graphics adapter does not support it".to_owned()))?;
        // The picture is encoded already; a format that would encode again needs a detour.
        config.format = offered.formats.iter().copied().find(|f| !f.is_srgb()).unwrap_or(config.format);
        // The drawing thread paces itself: waiting for the screen would stall it behind a covered window.
        config.present_mode = [Mode::Mailbox, Mode::Immediate]
            .into_iter()
            .find(|m| offered.present_modes.contains(m))
            .unwrap_or(Mode::Fifo);
        config.alpha_mode = match background {
            Background::Transparent => [Alpha::PreMultiplied, Alpha::PostMultiplied, Alpha::Inherit]
                .into_iter()
                .find(|m| offered.alpha_modes.contains(m))
                .unwrap_or(Alpha::Auto),
            Background::Color(_) if offered.alpha_modes.contains(&Alpha::Opaque) => Alpha::Opaque,
            Background::Color(_) => Alpha::Auto,
        };
        let alpha = match config.alpha_mode {
            Alpha::PostMultiplied => OutputAlpha::Straight,
            Alpha::PreMultiplied | Alpha::Inherit => OutputAlpha::Premultiplied,
            Alpha::Opaque | Alpha::Auto => OutputAlpha::Opaque,
        };
        let blitter = gpu.checked(|| {
            surface.configure(&gpu.device, &config);
            Ok(Blitter::new(gpu, config.format, alpha))
        })?;
        Ok(Self { surface, config, blitter })
    }

    /// Whether what is behind the window can be seen where the picture is transparent.
    pub fn is_transparent(&self) -> bool {
        use wgpu::CompositeAlphaMode as Alpha;
        matches!(self.config.alpha_mode, Alpha::PreMultiplied | Alpha::PostMultiplied | Alpha::Inherit)
    }

    /// Present mode, pixel format and alpha mode in words, for `omote doctor` and the log.
    pub fn describe(&self) -> String {
        format!("{:?}, {:?}, {:?}", self.config.present_mode, self.config.format, self.config.alpha_mode)
    }

    /// The window has this size now, in pixels.
    pub fn resize(&mut self, gpu: &Gpu, width: u32, height: u32) {
        let size = (width.max(1), height.max(1));
        if size != (self.config.width, self.config.height) {
            (self.config.width, self.config.height) = size;
            self.surface.configure(&gpu.device, &self.config);
        }
    }

    /// Waits for a free image of the window. Call it before the moment to show is chosen: waiting after it would age
    /// the picture.
    pub fn acquire(&mut self, gpu: &Gpu) -> Acquired {
        use wgpu::CurrentSurfaceTexture as Current;
        match self.surface.get_current_texture() {
            Current::Success(frame) | Current::Suboptimal(frame) => Acquired::Ready(SurfaceFrame(frame)),
            Current::Outdated => {
                self.surface.configure(&gpu.device, &self.config);
                Acquired::Skipped
            }
            Current::Timeout | Current::Occluded | Current::Validation => Acquired::Skipped,
            Current::Lost => Acquired::Lost,
        }
    }

    /// Brings the picture to the window.
    pub fn present(&mut self, gpu: &Gpu, frame: SurfaceFrame, picture: &Target) {
        let view = frame.0.texture.create_view(&wgpu::TextureViewDescriptor::default());
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.blitter.record(gpu, &mut encoder, picture, &view, self.config.width);
        gpu.queue.submit([encoder.finish()]);
        gpu.queue.present(frame.0);
    }
}
