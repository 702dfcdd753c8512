//! Pictures for eyes: some frames of a clip with landmarks drawn in, the product's left, the reference's right.
//!
//! One PNG a clip. Each cell shows the face's surroundings; without a face, the whole picture. The frame's colour is
//! the state: green tracked, orange told but not followed fully, red no face. Under each cell bars show, from the top,
//! mouth and lids. Without a reference, the right side is our own image mode.

use std::path::Path;

use glam::{Vec2, Vec3};
use image::{Rgb, RgbImage, imageops};

use super::clips::FaceClip;
use super::look::{Looked, Looker, Sample, next_frame, open};
use super::reference::Reference;
use crate::eval::EvalError;
use crate::types::{VideoFrame, VideoState};

/// Moments shown; the last one is where the product's landmarks are furthest from the reference's.
const MOMENTS: usize = 8;
const COLUMNS: u32 = 2;
/// Side of one picture, px.
const SIDE: u32 = 320;
const BAR: u32 = 8;
const GAP: u32 = 6;
/// The cut is so much larger than the face.
const MARGIN: f32 = 1.35;
const IRISES: std::ops::Range<usize> = 468..478;
const TRACKED: Rgb<u8> = Rgb([60, 200, 90]);
const HALF: Rgb<u8> = Rgb([240, 160, 40]);
const LOST: Rgb<u8> = Rgb([220, 50, 50]);
const OURS: Rgb<u8> = Rgb([90, 255, 140]);
const THEIRS: Rgb<u8> = Rgb([255, 120, 230]);
const IRIS: Rgb<u8> = Rgb([255, 230, 60]);
const BACK: Rgb<u8> = Rgb([40, 42, 50]);

/// One side of a moment.
struct Cell<'a> {
    frame: &'a VideoFrame,
    landmarks_px: Option<&'a [Vec3]>,
    color: Rgb<u8>,
    border: Rgb<u8>,
    /// Mouth and lids.
    bars: Option<[f64; 2]>,
}

/// Writes the sheet of a clip into this folder.
pub(super) fn write(folder: &Path, clip: &FaceClip, looked: &Looked, looker: &mut Looker) -> Result<(), EvalError> {
    let fault = |why: String| EvalError::Folder { path: folder.into(), why };
    let moments = moments(&looked.samples);
    let line = SIDE + 2 * BAR + GAP;
    let width = COLUMNS * (2 * SIDE + 2 * GAP) + GAP;
    let rows = (moments.len() as u32).div_ceil(COLUMNS);
    let mut sheet = RgbImage::from_pixel(width, rows * line + GAP, BACK);
    let mut source = open(clip)?.source;
    let mut reference = match &clip.reference {
        Some(path) => Reference::open(path, &clip.name)?,
        None => None,
    };
    looker.forget();
    let mut seq = 0;
    let mut drawn = vec![false; moments.len()];
    while let Some(frame) = next_frame(source.as_mut())? {
        let known = match &mut reference {
            Some(reference) => reference.next_frame()?.map(|(_, known)| known),
            None => None,
        };
        let report = looker.follow(&frame)?;
        for (slot, _) in moments.iter().enumerate().filter(|(_, at)| **at == seq) {
            let (x, y) = (slot as u32 % COLUMNS, slot as u32 / COLUMNS);
            let at = [GAP + x * (2 * SIDE + 2 * GAP), GAP + y * line];
            let sample = looked.samples.get(seq);
            let ours = report.observation.as_ref().map(|o| o.landmarks_px.as_slice());
            let own_image = if known.is_none() { looker.single(&frame)? } else { None };
            let theirs = match &known {
                Some(known) => known.image.as_ref().map(|seen| seen.face.landmarks_px.as_slice()),
                None => own_image.as_ref().map(|face| face.landmarks_px.as_slice()),
            };
            let theirs_moving = sample.and_then(|s| if known.is_some() { s.theirs_moving } else { s.ours_moving });
            let cut = cut_around(ours.or(theirs), &frame);
            let left = Cell {
                frame: &frame,
                landmarks_px: ours,
                color: OURS,
                border: match report.state {
                    VideoState::Tracked => TRACKED,
                    _ if ours.is_some() => HALF,
                    _ => LOST,
                },
                bars: sample.and_then(|s| s.product).map(|m| [m.mouth, m.lids]),
            };
            let right = Cell {
                frame: &frame,
                landmarks_px: theirs,
                color: THEIRS,
                border: if theirs.is_some() { TRACKED } else { LOST },
                bars: theirs_moving.map(|m| [m.mouth, m.lids]),
            };
            draw(&mut sheet, at, &left, cut);
            draw(&mut sheet, [at[0] + SIDE, at[1]], &right, cut);
            if let Some(drawn) = drawn.get_mut(slot) {
                *drawn = true;
            }
        }
        seq += 1;
        if drawn.iter().all(|drawn| *drawn) {
            break;
        }
    }
    std::fs::create_dir_all(folder).map_err(|e| fault(format!("the folder for pictures cannot be made ({e})")))?;
    let path = folder.join(format!("{}.png", clip.name));
    sheet.save(&path).map_err(|e| fault(format!("a picture cannot be written ({e})")))
}

/// Which frames are shown: spread over the clip, and the one with the largest error.
fn moments(samples: &[Sample]) -> Vec<usize> {
    let count = samples.len();
    if count <= MOMENTS {
        return (0..count).collect();
    }
    let spread = MOMENTS - 1;
    let mut moments: Vec<usize> = (0..spread).map(|i| (2 * i + 1) * count / (2 * spread)).collect();
    let error = |sample: &Sample| sample.product_error.map_or(-1.0, |e| e.px);
    let worst = (0..count).max_by(|&a, &b| match (samples.get(a), samples.get(b)) {
        (Some(a), Some(b)) => error(a).total_cmp(&error(b)),
        _ => std::cmp::Ordering::Equal,
    });
    moments.extend(worst);
    moments
}

/// A square of the frame: its corner and side, px.
#[derive(Clone, Copy)]
struct Cut {
    corner: Vec2,
    side: f32,
}

fn cut_around(landmarks_px: Option<&[Vec3]>, frame: &VideoFrame) -> Cut {
    let size = Vec2::new(frame.width as f32, frame.height as f32);
    let whole = Cut { corner: (size - size.max_element()) / 2.0, side: size.max_element() };
    let Some((first, rest)) = landmarks_px.and_then(|l| l.split_first()) else { return whole };
    let first = first.truncate();
    let (min, max) = rest.iter().fold((first, first), |(min, max), p| (min.min(p.truncate()), max.max(p.truncate())));
    let side = (max - min).max_element() * MARGIN;
    if !(side.is_finite() && side >= 8.0 && side <= 4.0 * whole.side) {
        return whole;
    }
    Cut { corner: (min + max - side) / 2.0, side }
}

fn draw(sheet: &mut RgbImage, [left, top]: [u32; 2], cell: &Cell<'_>, cut: Cut) {
    let frame = cell.frame;
    let scale = cut.side / SIDE as f32;
    let pixel = |x: f32, y: f32| {
        let is_inside = x >= 0.0 && y >= 0.0 && x < frame.width as f32 && y < frame.height as f32;
        let at = (y as usize * frame.width as usize + x as usize) * 3;
        match frame.rgb.get(at..at + 3) {
            Some(&[r, g, b]) if is_inside => Rgb([r, g, b]),
            _ => BACK,
        }
    };
    let mut picture = RgbImage::from_fn(SIDE, SIDE, |x, y| {
        pixel(cut.corner.x + (x as f32 + 0.5) * scale, cut.corner.y + (y as f32 + 0.5) * scale)
    });
    for (i, landmark) in cell.landmarks_px.unwrap_or_default().iter().enumerate() {
        let at = (landmark.truncate() - cut.corner) / scale;
        let color = if IRISES.contains(&i) { IRIS } else { cell.color };
        if at.is_finite() && at.min_element() >= 0.0 && at.max_element() < SIDE as f32 - 1.0 {
            let (x, y) = (at.x as u32, at.y as u32);
            picture.put_pixel(x, y, color);
            picture.put_pixel(x + 1, y, color);
        }
    }
    for i in 0..SIDE {
        for inset in 0..2 {
            for (x, y) in [(i, inset), (i, SIDE - 1 - inset), (inset, i), (SIDE - 1 - inset, i)] {
                picture.put_pixel(x, y, cell.border);
            }
        }
    }
    imageops::replace(sheet, &picture, i64::from(left), i64::from(top));
    for (i, value) in cell.bars.into_iter().flatten().enumerate() {
        let length = (value.clamp(0.0, 1.0) * f64::from(SIDE)) as u32;
        let bar = RgbImage::from_pixel(length.max(1), BAR - 2, cell.color);
        imageops::replace(sheet, &bar, i64::from(left), i64::from(top + SIDE + 1 + i as u32 * BAR));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Timestamp;

    #[test]
    fn faces_are_cut_out_and_odd_ones_give_the_whole_picture() {
        let frame =
            VideoFrame { captured_at: Timestamp::ZERO, seq: 0, width: 200, height: 100, rgb: vec![9; 60_000].into() };
        let face = [Vec3::new(50.0, 20.0, 0.0), Vec3::new(90.0, 60.0, 0.0)];
        let cut = cut_around(Some(&face), &frame);
        assert!((cut.side - 54.0).abs() < 1e-3 && cut.corner.distance(Vec2::new(43.0, 13.0)) < 1e-3);
        for odd in [None, Some(&[][..]), Some(&[Vec3::NAN, Vec3::ONE][..])] {
            assert_eq!(cut_around(odd, &frame).side, 200.0);
        }
        let mut sheet = RgbImage::new(SIDE * 2, SIDE + 40);
        let cell =
            Cell { frame: &frame, landmarks_px: Some(&face), color: OURS, border: LOST, bars: Some([0.5, f64::NAN]) };
        draw(&mut sheet, [0, 0], &cell, cut);
        assert_eq!(*sheet.get_pixel(0, 0), LOST);
        assert_eq!(*sheet.get_pixel(SIDE / 4, SIDE + 2), OURS);
    }
}
