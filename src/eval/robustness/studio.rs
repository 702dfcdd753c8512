//! Who is filmed: the presenter in any pose, and still portraits.

use std::path::Path;

use glam::Vec3;
use image::{RgbImage, imageops};

use super::super::EvalError;
use super::filters;
use crate::capture::presenter::{Painter, PresenterPose, Scene};
use crate::face::{FaceModel, FaceOptions, FaceTracker};
use crate::types::{FaceObservation, HeadPose, Lids, Timestamp, VideoFrame};

/// The usual size of the pictures.
pub(super) const WIDTH: u32 = 640;
pub(super) const HEIGHT: u32 = 480;
/// Frames of a subject's clip, and how many come a second.
pub(super) const CLIP_FRAMES: usize = 30;
pub(super) const FPS: f64 = 30.0;
/// Sensor noise of the portraits' pictures; the presenter's have their own.
const PORTRAIT_NOISE: f32 = 1.6;

/// Somebody filmed undisturbed.
pub(super) struct Subject {
    pub name: String,
    pub pictures: Vec<RgbImage>,
    /// What the face model says of the undisturbed pictures; `None` where it sees nothing.
    pub seen: Vec<Option<FaceObservation>>,
}

impl Subject {
    /// Landmarks of a frame; empty where nothing was seen.
    pub fn landmarks(&self, frame: usize) -> &[Vec3] {
        self.seen.get(frame).and_then(Option::as_ref).map_or(&[], |seen| &seen.landmarks_px)
    }

    /// The face with a margin, cut out of the first picture.
    pub fn poster(&self, height: u32) -> Option<RgbImage> {
        let landmarks = self.landmarks(0);
        let picture = self.pictures.first()?;
        let (min, max) = landmarks.iter().fold((Vec3::MAX, Vec3::MIN), |(min, max), p| (min.min(*p), max.max(*p)));
        let (middle, side) = ((min + max) / 2.0, (max - min).truncate().max_element() * 1.5);
        if landmarks.is_empty() {
            return None;
        }
        let corner = |v: f32| (v - side / 2.0).max(0.0) as u32;
        let cut = imageops::crop_imm(picture, corner(middle.x), corner(middle.y), side as u32, side as u32).to_image();
        Some(imageops::resize(&cut, height, height, imageops::FilterType::Triangle))
    }
}

/// Paints, films and watches.
pub(super) struct Studio {
    painter: Painter,
    pub tracker: FaceTracker,
    /// The presenter first.
    pub subjects: Vec<Subject>,
}

impl Studio {
    /// Films everybody undisturbed.
    pub fn open(portraits: &[impl AsRef<Path>]) -> Result<Self, EvalError> {
        let painter = painter(WIDTH, HEIGHT)?;
        let mut studio = Self { painter, tracker: FaceTracker::load(FaceOptions::default())?, subjects: Vec::new() };
        let pictures = (0..CLIP_FRAMES).map(|i| studio.paint(lively(i as f64 / FPS), i as u64)).collect();
        studio.add("presenter".into(), pictures)?;
        for path in portraits {
            let path = path.as_ref();
            let broken = |why: image::ImageError| EvalError::Folder { path: path.into(), why: why.to_string() };
            let portrait = image::open(path).map_err(broken)?.to_rgb8();
            let name = path.file_stem().map_or("portrait".into(), |name| name.to_string_lossy().into_owned());
            let base = on_wall(&portrait);
            let pictures = (0..CLIP_FRAMES).map(|i| filters::dim(&base, 1.0, PORTRAIT_NOISE, i as u64)).collect();
            studio.add(name, pictures)?;
        }
        Ok(studio)
    }

    fn add(&mut self, name: String, pictures: Vec<RgbImage>) -> Result<(), EvalError> {
        self.tracker.reset();
        let mut seen = Vec::with_capacity(pictures.len());
        for (i, picture) in pictures.iter().enumerate() {
            seen.push(self.tracker.observe(&frame(picture, i as f64 / FPS, i as u64))?.observation);
        }
        self.subjects.push(Subject { name, pictures, seen });
        Ok(())
    }

    /// The presenter in the usual size.
    pub fn paint(&mut self, pose: PresenterPose, seed: u64) -> RgbImage {
        let mut picture = RgbImage::new(WIDTH, HEIGHT);
        self.painter.paint(&Scene { noise_seed: seed, ..Scene::of(pose) }, &mut picture);
        picture
    }

    /// The room without anybody.
    pub fn paint_room(&mut self, seed: u64) -> RgbImage {
        let mut picture = RgbImage::new(WIDTH, HEIGHT);
        let empty = Scene { person: None, noise_seed: seed, ..Scene::of(PresenterPose::default()) };
        self.painter.paint(&empty, &mut picture);
        picture
    }
}

/// A painter for pictures of another size.
pub(super) fn painter(width: u32, height: u32) -> Result<Painter, EvalError> {
    Painter::new(width, height).ok_or_else(|| EvalError::Folder {
        path: "presenter".into(),
        why: format!("it cannot be painted {width}x{height}"),
    })
}

/// The presenter sways, talks, glances and blinks.
pub(super) fn lively(secs: f64) -> PresenterPose {
    let wave = |hz: f64, phase: f64| (std::f64::consts::TAU * (secs * hz + phase)).sin() as f32;
    let blink = (1.0 - ((secs % 2.5 - 0.6).abs() / 0.12) as f32).clamp(0.0, 1.0);
    PresenterPose {
        jaw: (0.3 + 0.3 * wave(2.0, 0.0)).max(0.0),
        lids: Lids { left: blink, right: blink },
        head: HeadPose { yaw: 0.08 * wave(0.4, 0.0), pitch: 0.05 * wave(0.3, 0.2), roll: 0.03 * wave(0.25, 0.4) },
        ..PresenterPose::default()
    }
}

/// A portrait before a wall, as large as the picture allows.
fn on_wall(portrait: &RgbImage) -> RgbImage {
    let scale = (HEIGHT as f32 / portrait.height().max(1) as f32).min(WIDTH as f32 / portrait.width().max(1) as f32);
    let size = |v: u32| ((v as f32 * scale) as u32).max(1);
    let (width, height) = (size(portrait.width()), size(portrait.height()));
    let resized = imageops::resize(portrait, width, height, imageops::FilterType::Triangle);
    let mut wall = RgbImage::from_pixel(WIDTH, HEIGHT, image::Rgb([120, 115, 110]));
    let middle = |outer: u32, inner: u32| (i64::from(outer) - i64::from(inner)) / 2;
    imageops::replace(&mut wall, &resized, middle(WIDTH, width), middle(HEIGHT, height));
    wall
}

/// A picture as the camera gives it.
pub(super) fn frame(picture: &RgbImage, secs: f64, seq: u64) -> VideoFrame {
    VideoFrame {
        captured_at: Timestamp::from_secs_f64(secs),
        seq,
        width: picture.width(),
        height: picture.height(),
        rgb: picture.as_raw().as_slice().into(),
    }
}
