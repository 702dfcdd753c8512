//! The picture side of the stage: device, avatar on the GPU, target, window surface, preview. Lives on `stage`.
//!
//! Whatever the graphics driver does, the stage goes on: a lost device is opened anew, the reason stands in telemetry.

use std::sync::Arc;
use std::time::Duration;

use super::retry::Retry;
use super::shared::Shared;
use super::telemetry::{PictureTelemetry, Transparency};
use crate::avatar::{AvatarModel, PosedAvatar};
use crate::render::{
    Acquired, Background, Camera, Gpu, GpuState, Lighting, Msaa, Outlines, OutputSurface, Preview, RenderError,
    RenderOptions, Renderer, Scene, SurfaceFrame, Target, frame_avatar,
};
use crate::settings::{self, Settings};
use crate::sync::LatestWriter;
use crate::types::Timestamp;

/// Opens the device and, where there is a window, its surface. Runs on the `stage` thread, also after a device loss.
pub type PictureOpener = Box<dyn FnMut() -> Result<OpenedPicture, RenderError> + Send>;

/// What a [`PictureOpener`] gives.
pub struct OpenedPicture {
    /// The device.
    pub gpu: Gpu,
    /// The window's surface; `None` for pictures without a window.
    pub surface: Option<OutputSurface>,
}

/// A small copy of the picture for the control window.
#[derive(Clone, Debug, Default)]
pub struct PreviewImage {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Premultiplied RGBA rows.
    pub rgba: Vec<u8>,
}

/// The least time between two previews.
const PREVIEW_EVERY: Duration = Duration::from_millis(30);
/// Longest side of a preview, pixels.
const PREVIEW_SIDE: u32 = 560;
/// Shown in place of transparency where the system has none.
const FALLBACK: Background = Background::Color([0, 255, 0]);

pub(super) struct Picture {
    shared: Arc<Shared>,
    open: PictureOpener,
    size: [u32; 2],
    state: State,
    retry: Retry,
    try_at: Timestamp,
    telemetry: PictureTelemetry,
    previewed_at: Timestamp,
    preview_writer: LatestWriter<PreviewImage>,
}

enum State {
    /// Not open; tried again later.
    Closed,
    Open(Box<Opened>),
}

struct Opened {
    gpu: Gpu,
    surface: Option<OutputSurface>,
    target: Target,
    renderer: Option<(Arc<AvatarModel>, Renderer)>,
    preview: Option<Preview>,
    /// The window's image for the frame in the making; `None` if the window takes none now.
    image: Option<SurfaceFrame>,
    faults: u64,
}

/// The camera that frames the avatar as the settings say.
pub fn camera_of(model: &AvatarModel, settings: &Settings, aspect: f32) -> Camera {
    let framing = match settings.view.framing {
        settings::Framing::Head => crate::render::Framing::Head,
        settings::Framing::Bust => crate::render::Framing::Bust,
        settings::Framing::Full => crate::render::Framing::Full,
    };
    frame_avatar(model, framing, settings.view.fov_deg.to_radians(), aspect)
}

/// The scene of the app for a camera.
pub fn scene_of(settings: &Settings, camera: Camera) -> Scene {
    let background = match settings.output.background {
        settings::Background::Transparent => Background::Transparent,
        settings::Background::Color(rgb) => Background::Color(rgb),
    };
    let outlines = if settings.avatar.outline { Outlines::Shown } else { Outlines::Hidden };
    Scene { camera, lighting: Lighting::STUDIO, background, outlines }
}

impl Picture {
    pub(super) fn new(
        shared: Arc<Shared>,
        open: PictureOpener,
        size: [u32; 2],
        preview_writer: LatestWriter<PreviewImage>,
    ) -> Self {
        Self {
            shared,
            open,
            size,
            state: State::Closed,
            retry: Retry::default(),
            try_at: Timestamp::ZERO,
            telemetry: PictureTelemetry { size, ..PictureTelemetry::default() },
            previewed_at: Timestamp::ZERO,
            preview_writer,
        }
    }

    pub(super) fn aspect(&self) -> f32 {
        self.size[0].max(1) as f32 / self.size[1].max(1) as f32
    }

    pub(super) fn telemetry(&self) -> &PictureTelemetry {
        &self.telemetry
    }

    pub(super) fn resize(&mut self, size: [u32; 2]) {
        self.size = size.map(|side| side.max(1));
        self.telemetry.size = self.size;
    }

    /// Opens what is not open and waits for a free image of the window, before the frame's moment is chosen.
    pub(super) fn prepare(&mut self, settings: &Settings, now: Timestamp) {
        if matches!(self.state, State::Closed) {
            if now < self.try_at {
                return;
            }
            self.open(settings, now);
        }
        let State::Open(opened) = &mut self.state else { return };
        if let Err(error) = opened.prepare(self.size) {
            self.close(&error, now);
        }
    }

    /// Draws and shows one frame; true once it was handed to the window (or drawn, where there is none).
    pub(super) fn show(
        &mut self,
        model: &Arc<AvatarModel>,
        posed: &PosedAvatar,
        camera: Camera,
        settings: &Settings,
        now: Timestamp,
    ) -> bool {
        let State::Open(opened) = &mut self.state else { return false };
        match opened.show(model, posed, camera, settings, self.size) {
            Ok(shown) => {
                self.telemetry.transparency = opened.transparency(settings);
                // Nobody looks at a minimised window, and a processor that draws has better things to do.
                let is_due = now.saturating_since(self.previewed_at) >= PREVIEW_EVERY;
                if is_due && self.shared.take_preview_wish() {
                    self.previewed_at = now;
                    opened.request_preview(self.size);
                }
                let mut rgba = Vec::new();
                if let Some(preview) = &mut opened.preview
                    && preview.take(&opened.gpu, &mut rgba)
                {
                    let (width, height) = preview.size();
                    self.preview_writer.publish(PreviewImage { width, height, rgba });
                }
                shown
            }
            Err(error) => {
                self.close(&error, now);
                false
            }
        }
    }

    fn open(&mut self, settings: &Settings, now: Timestamp) {
        let msaa = Msaa::from_samples(settings.output.msaa);
        let opened = (self.open)().and_then(|OpenedPicture { gpu, surface }| {
            let target = Target::new(&gpu, self.size[0], self.size[1], msaa)?;
            Ok(Opened { gpu, surface, target, renderer: None, preview: None, image: None, faults: 0 })
        });
        match opened {
            Ok(opened) => {
                let report = opened.gpu.report();
                self.telemetry.adapter = format!("{} ({})", report.name, report.backend);
                self.telemetry.is_software = report.is_software;
                self.telemetry.message = None;
                tracing::info!("drawing with {}", self.telemetry.adapter);
                self.state = State::Open(Box::new(opened));
                self.retry.succeed();
            }
            Err(error) => self.close(&error, now),
        }
    }

    fn close(&mut self, error: &RenderError, now: Timestamp) {
        tracing::warn!("no picture: {error}");
        self.state = State::Closed;
        self.telemetry.adapter.clear();
        self.telemetry.message = Some(error.to_string());
        self.try_at = now + self.retry.after_failure();
    }
}

impl Opened {
    fn transparency(&self, settings: &Settings) -> Transparency {
        match (settings.output.background, &self.surface) {
            (settings::Background::Color(_), _) => Transparency::Opaque,
            (settings::Background::Transparent, Some(surface)) if !surface.is_transparent() => {
                Transparency::Unavailable
            }
            _ => Transparency::Transparent,
        }
    }

    fn show(
        &mut self,
        model: &Arc<AvatarModel>,
        posed: &PosedAvatar,
        camera: Camera,
        settings: &Settings,
        size: [u32; 2],
    ) -> Result<bool, RenderError> {
        match self.gpu.state() {
            GpuState::Lost(reason) => return Err(RenderError::Lost(reason)),
            GpuState::Faulty { count, first } if count > self.faults => {
                self.faults = count;
                tracing::warn!("the graphics driver refused something ({count} so far): {first}");
            }
            _ => {}
        }
        let msaa = Msaa::from_samples(settings.output.msaa);
        if self.target.msaa() != msaa {
            self.target = Target::new(&self.gpu, size[0], size[1], msaa)?;
        }
        self.target.resize(&self.gpu, size[0], size[1])?;
        let mut scene = scene_of(settings, camera);
        if self.transparency(settings) == Transparency::Unavailable {
            scene.background = FALLBACK;
        }
        if self.renderer.as_ref().is_none_or(|(drawn, _)| !Arc::ptr_eq(drawn, model)) {
            let options = RenderOptions { msaa, ..RenderOptions::default() };
            self.renderer = Some((model.clone(), Renderer::new(&self.gpu, model, options)?));
        }
        let Some((_, renderer)) = &mut self.renderer else { return Ok(false) };
        renderer.draw(posed, &scene, &self.target)?;
        let Some(surface) = &mut self.surface else { return Ok(true) };
        let Some(image) = self.image.take() else { return Ok(false) };
        surface.present(&self.gpu, image, &self.target);
        Ok(true)
    }

    fn prepare(&mut self, size: [u32; 2]) -> Result<(), RenderError> {
        let Some(surface) = &mut self.surface else { return Ok(()) };
        // An image that was not used (no avatar yet) goes back first.
        self.image = None;
        surface.resize(&self.gpu, size[0], size[1]);
        match surface.acquire(&self.gpu) {
            Acquired::Ready(image) => self.image = Some(image),
            Acquired::Skipped => {}
            Acquired::Lost => return Err(RenderError::Surface("the window's surface is gone".into())),
        }
        Ok(())
    }

    fn request_preview(&mut self, size: [u32; 2]) {
        let scale = (PREVIEW_SIDE as f32 / size[0].max(size[1]).max(1) as f32).min(1.0);
        let [width, height] = size.map(|side| ((side as f32 * scale).round() as u32).max(1));
        if self.preview.as_ref().is_none_or(|p| p.size() != (width, height)) {
            self.preview = Preview::new(&self.gpu, width, height).ok();
        }
        if let Some(preview) = &mut self.preview {
            preview.request(&self.gpu, &self.target);
        }
    }
}

impl Drop for Opened {
    fn drop(&mut self) {
        // Some software drivers crash when the process ends with work under way.
        let _ = self.gpu.flush();
    }
}
