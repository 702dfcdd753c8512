//! A picture sheet of the demo: what the camera saw beside what the avatar did, at telling moments.

use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use image::{Rgba, RgbaImage, imageops};

use super::cli::ReplayArgs;
use super::replay_command::inputs_of;
use crate::avatar;
use crate::capture::FrameSource;
use crate::capture::presenter::{Filming, PresenterCamera, PresenterScript};
use crate::engine::{StageFrame, scene_of};
use crate::render::{Camera, Gpu, GpuOptions, Msaa, PixelAlpha, RenderOptions, Renderer, Target};
use crate::replay::{ReplayOptions, ReplaySink, run};
use crate::settings::Settings;
use crate::types::{Faults, VideoFrame};

/// Moments of the bundled demo, seconds: rest, speech, turns, blink, gasp, speech without microphone, without face.
const MOMENTS: [f64; 12] = [0.5, 1.6, 2.4, 3.4, 4.9, 5.5, 6.8, 8.0, 9.0, 11.6, 12.5, 14.7];
/// Pairs in a row.
const COLUMNS: usize = 3;
/// Size of one picture.
const CELL: [u32; 2] = [320, 240];
const GAP: u32 = 6;

/// Plays the demo and writes the sheet.
pub(super) fn write(args: &ReplayArgs, path: &Path) -> anyhow::Result<()> {
    let mut settings = Settings::default();
    settings.view.mirror = false;
    super::cli::apply_sets(&mut settings, &args.set).map_err(anyhow::Error::msg)?;
    let model = Arc::new(avatar::bundled()?);
    let options = ReplayOptions {
        settings,
        model: model.clone(),
        fps: args.fps,
        aspect: CELL[0] as f32 / CELL[1] as f32,
        seed: args.seed,
        expressions: Vec::new(),
        is_realtime: false,
    };
    let gpu = Gpu::new(GpuOptions::default())?;
    let target = Target::new(&gpu, CELL[0], CELL[1], Msaa::X4)?;
    let renderer = Renderer::new(&gpu, &model, RenderOptions { msaa: Msaa::X4, ..RenderOptions::default() })?;
    let mut sheet = Sheet { gpu, target, renderer, settings: &options.settings, avatars: Vec::new() };
    run(inputs_of(args, &options.settings, &Faults::default())?, &options, &mut sheet)?;
    let people = people()?;
    // Work under way at the end of the process crashes some software drivers.
    let _ = sheet.gpu.flush();
    compose(&people, &sheet.avatars)
        .save(path)
        .with_context(|| format!("the picture sheet cannot be written: {}", path.display()))
}

struct Sheet<'a> {
    gpu: Gpu,
    target: Target,
    renderer: Renderer,
    settings: &'a Settings,
    avatars: Vec<RgbaImage>,
}

impl ReplaySink for Sheet<'_> {
    fn frame(&mut self, frame: &StageFrame<'_>, camera: &Camera) -> anyhow::Result<()> {
        let is_due = MOMENTS.get(self.avatars.len()).is_some_and(|at| frame.now.as_secs_f64() >= *at);
        if is_due {
            self.renderer.draw(frame.posed, &scene_of(self.settings, *camera), &self.target)?;
            self.avatars.push(self.target.read_back(&self.gpu, PixelAlpha::Straight)?);
        }
        Ok(())
    }
}

/// The camera's pictures at the same moments; `None` where there was none.
fn people() -> anyhow::Result<Vec<Option<VideoFrame>>> {
    let script = Arc::new(PresenterScript::demo()?);
    let mut camera = PresenterCamera::open(script, Filming::default())?;
    let mut found: Vec<Option<VideoFrame>> = vec![None; MOMENTS.len()];
    loop {
        match camera.next_frame(std::time::Duration::ZERO) {
            Ok(frame) => {
                let at = frame.captured_at.as_secs_f64();
                for (moment, slot) in MOMENTS.iter().zip(&mut found) {
                    if slot.is_none() && at >= *moment && at < moment + 0.1 {
                        *slot = Some(frame.clone());
                    }
                }
            }
            Err(crate::types::SourceError::Ended) => return Ok(found),
            Err(_) => {}
        }
    }
}

fn compose(people: &[Option<VideoFrame>], avatars: &[RgbaImage]) -> RgbaImage {
    let rows = avatars.len().div_ceil(COLUMNS) as u32;
    let (cell, line) = (CELL[0] * 2 + GAP, CELL[1] + GAP);
    let mut sheet = RgbaImage::from_pixel(COLUMNS as u32 * cell + GAP, rows * line + GAP, Rgba([58, 60, 70, 255]));
    for (i, avatar) in avatars.iter().enumerate() {
        let x = i64::from(GAP + (i % COLUMNS) as u32 * cell);
        let y = i64::from(GAP + (i / COLUMNS) as u32 * line);
        let person = people
            .get(i)
            .and_then(Option::as_ref)
            .and_then(|frame| image::RgbImage::from_raw(frame.width, frame.height, frame.rgb.to_vec()));
        if let Some(person) = person {
            let person = imageops::resize(&person, CELL[0], CELL[1], imageops::FilterType::Triangle);
            let person = image::DynamicImage::ImageRgb8(person).to_rgba8();
            imageops::overlay(&mut sheet, &person, x, y);
        }
        imageops::overlay(&mut sheet, avatar, x + i64::from(CELL[0]), y);
    }
    sheet
}
