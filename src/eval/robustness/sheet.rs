//! A sheet of pictures: one of each case, with what was seen in it, in the order of the table.

use image::{Rgb, RgbImage, imageops};

use super::CaseFigures;
use crate::types::FaceReport;

const COLUMNS: u32 = 8;
const CELL: (u32, u32) = (200, 150);
const GAP: u32 = 4;
const GOOD: Rgb<u8> = Rgb([70, 160, 90]);
const BROKEN: Rgb<u8> = Rgb([210, 60, 50]);
const LANDMARK: Rgb<u8> = Rgb([60, 255, 90]);

/// Collects the pictures.
#[derive(Clone, Debug, Default)]
pub struct Sheet {
    cells: Vec<RgbImage>,
}

impl Sheet {
    /// The next case's picture; its frame is red where something is broken.
    pub fn add(&mut self, case: &CaseFigures, picture: &RgbImage, report: Option<&FaceReport>) {
        let scale = (CELL.0 as f32 / picture.width() as f32).min(CELL.1 as f32 / picture.height() as f32);
        let size = |v: u32| ((v as f32 * scale) as u32).max(1);
        let mut small =
            imageops::resize(picture, size(picture.width()), size(picture.height()), imageops::FilterType::Triangle);
        let landmarks = report.and_then(|report| report.observation.as_ref()).map(|seen| seen.landmarks_px.as_slice());
        for point in landmarks.unwrap_or_default().iter().step_by(3) {
            let (x, y) = (point.x * scale, point.y * scale);
            if x >= 0.0 && y >= 0.0 && (x as u32) < small.width() && (y as u32) < small.height() {
                small.put_pixel(x as u32, y as u32, LANDMARK);
            }
        }
        let frame = if case.broken.is_empty() { GOOD } else { BROKEN };
        let mut cell = RgbImage::from_pixel(CELL.0 + GAP, CELL.1 + GAP, frame);
        imageops::replace(&mut cell, &small, i64::from(GAP / 2), i64::from(GAP / 2));
        self.cells.push(cell);
    }

    /// All pictures, row by row.
    pub fn compose(&self) -> RgbImage {
        let (width, height) = (CELL.0 + GAP * 2, CELL.1 + GAP * 2);
        let rows = (self.cells.len() as u32).div_ceil(COLUMNS).max(1);
        let mut sheet = RgbImage::from_pixel(width * COLUMNS, height * rows, Rgb([40, 42, 48]));
        for (i, cell) in self.cells.iter().enumerate() {
            let (column, row) = (i as u32 % COLUMNS, i as u32 / COLUMNS);
            imageops::replace(&mut sheet, cell, i64::from(column * width + GAP / 2), i64::from(row * height + GAP / 2));
        }
        sheet
    }
}
