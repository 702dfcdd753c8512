//! BlazeFace, full range: finds faces too small for the short range. Runs only where that one finds nothing.
//!
//! Its picture has 192 pixels a side, so the whole frame shows it faces of a desk's distance only, like the other
//! one. A person at 3 m has 8 px between the eyes in 480 rows; [`windows`] cuts the frame so that these get large
//! enough (measured: found surely from a fortieth of the window's width on).

use glam::Vec2;

use super::FaceError;
use super::crop::{Border, crop};
use super::detector::{BOX_LEN, Detection, NORMALISATION, Reader};
use super::network::{ModelSpec, Network};
use super::picture::Picture;
use super::roi::Roi;

/// The model's file and shapes.
pub(super) static MODEL: ModelSpec = ModelSpec {
    name: "face_detector_far",
    onnx: include_bytes!("../../models/face/face_detector_far.onnx"),
    input: &[1, 3, SIDE, SIDE],
    outputs: &[("Identity", &[1, ANCHOR_COUNT, BOX_LEN]), ("Identity_1", &[1, ANCHOR_COUNT, 1])],
};

const SIDE: usize = 192;
const GRID: usize = 48;
const ANCHOR_COUNT: usize = GRID * GRID;
/// A window's side as a share of the picture's shorter one, and the least overlap of two as a share of that.
const WINDOW_SHARE: f32 = 0.6;
const OVERLAP_SHARE: f32 = 0.12;
/// A window around a known place is so many times as wide as the face there.
const AROUND_FACE: f32 = 7.0;

/// The full-range detector network.
pub(super) struct FarDetector {
    network: Network,
    reader: Reader,
}

impl FarDetector {
    pub fn load() -> Result<Self, FaceError> {
        Ok(Self { network: Network::load(&MODEL)?, reader: Reader::new(SIDE, &[(GRID, 1)]) })
    }

    /// All faces in a window of the picture, surest first.
    pub fn detect(&self, picture: Picture<'_>, window: Roi) -> Result<Vec<Detection>, FaceError> {
        let [boxes, logits] =
            self.network.run(|input| crop(picture, window, SIDE, Border::Black, NORMALISATION, input))?;
        Ok(self.reader.read(&boxes, &logits, window))
    }
}

/// The windows of a search, the whole picture first.
pub(super) fn windows(width: usize, height: usize) -> impl Iterator<Item = Roi> + Clone {
    let frame = Vec2::new(width as f32, height as f32);
    let side = frame.min_element() * WINDOW_SHARE;
    let overlap = frame.min_element() * OVERLAP_SHARE;
    // As few as reach from edge to edge with the overlap.
    let count = |length: f32| ((length - overlap) / (side - overlap)).ceil().clamp(1.0, 32.0) as usize;
    let (columns, rows) = (count(frame.x), count(frame.y));
    let place = move |i: usize, count: usize, length: f32| {
        let share = if count > 1 { i as f32 / (count - 1) as f32 } else { 0.5 };
        side / 2.0 + (length - side) * share
    };
    let part = move |i: usize| Roi {
        center: Vec2::new(place(i % columns, columns, frame.x), place(i / columns, rows, frame.y)),
        size: Vec2::splat(side),
        rotation_rad: 0.0,
    };
    std::iter::once(Roi::letterbox(width, height)).chain((0..columns * rows).map(part))
}

/// The window for a face that was `size_px` wide at a place.
pub(super) fn window_around(center: Vec2, size_px: f32) -> Roi {
    Roi { center, size: Vec2::splat(size_px * AROUND_FACE), rotation_rad: 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_windows_cover_the_picture_with_overlap_and_are_few() {
        for (width, height, most) in
            [(640, 480, 7), (1280, 720, 9), (1920, 1080, 9), (480, 640, 7), (1, 1, 5), (4096, 16, 130), (120, 90, 7)]
        {
            let all: Vec<Roi> = windows(width, height).collect();
            assert!(all.len() <= most, "{} windows for {width}×{height}", all.len());
            let face = 0.1 * width.min(height) as f32;
            for (x, y) in [(0.0, 0.0), (0.2, 0.5), (0.33, 0.66), (0.5, 0.5), (0.9, 0.4), (1.0, 1.0)] {
                let at = face / 2.0 + (Vec2::new(width as f32, height as f32) - face) * Vec2::new(x, y);
                let holds =
                    |window: &Roi| (window.size.x - face) / 2.0 + 1e-3 >= (at - window.center).abs().max_element();
                assert!(width > 2000 || all.iter().skip(1).any(holds), "{at} of {width}×{height}");
            }
        }
    }
}
