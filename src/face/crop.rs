//! Bilinear sampling of a region of the frame into a network's planar RGB input.
//!
//! Runs once per frame over 256×256 pixels, so it walks the frame in fixed point and looks at borders only in the
//! part of a row that can touch one. Elsewhere it goes in two steps: fetch the four neighbours of a run of pixels, as
//! bytes, which the processor can only do one by one; then mix them, which it does many at a time.

use std::ops::Range;

use fearless_simd::{Level, Simd, dispatch};
use glam::Vec2;

use super::picture::Picture;
use super::roi::Roi;

/// What lies outside the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Border {
    /// The nearest pixel of the picture.
    Replicate,
    /// Black.
    Black,
}

/// Values for the network: `byte · scale + offset`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Normalisation {
    pub scale: f32,
    pub offset: f32,
}

/// Fraction bits of coordinates: a step error of 2⁻³² px over 256 steps is nothing.
const FRACTION_BITS: u32 = 32;
const ONE: f64 = (1u64 << FRACTION_BITS) as f64;
/// Fraction bits of the weights at borders: 1/256 px; the model's own sampler has 1/32.
const WEIGHT_BITS: u32 = 8;
const WEIGHT_ONE: u32 = 1 << WEIGHT_BITS;

/// Pixels that are fetched before they are mixed.
const RUN: usize = 64;

/// A walk along one row of the crop: where in the frame it starts and how far one step goes, fixed point.
#[derive(Clone, Copy)]
struct Walk {
    x: i64,
    y: i64,
    step_x: i64,
    step_y: i64,
}

/// Fills `out` (three planes of `side`² values: red, green, blue) with the region, sampled at the pixels' corners as
/// MediaPipe does. The region must be usable; `out` too short stays as it is in its missing part.
pub(super) fn crop(
    picture: Picture<'_>,
    roi: Roi,
    side: usize,
    border: Border,
    normalisation: Normalisation,
    out: &mut [f32],
) {
    let plane = side * side;
    if side == 0 || out.len() < 3 * plane {
        return;
    }
    let (red, rest) = out.split_at_mut(plane);
    let (green, blue) = rest.split_at_mut(plane);
    let origin = roi.to_frame(Vec2::ZERO);
    let step = (roi.to_frame(Vec2::X) - origin).as_dvec2() / side as f64;
    let down = (roi.to_frame(Vec2::Y) - origin).as_dvec2() / side as f64;
    let origin = origin.as_dvec2();
    let level = Level::new();
    let mut run = Run::default();

    let rows = red.chunks_exact_mut(side).zip(green.chunks_exact_mut(side)).zip(blue.chunks_exact_mut(side));
    for (j, ((red, green), blue)) in rows.enumerate() {
        let start = origin + down * j as f64;
        let walk = Walk { x: fixed(start.x), y: fixed(start.y), step_x: fixed(step.x), step_y: fixed(step.y) };
        let inside = inside_span(walk.x, walk.step_x, picture.width, side);
        let inside_y = inside_span(walk.y, walk.step_y, picture.height, side);
        let begin = inside.start.max(inside_y.start);
        let end = inside.end.min(inside_y.end).max(begin);
        let mut put = |i: usize, sums: [u32; 3]| {
            let value =
                |sum: u32| sum as f32 * (normalisation.scale / (WEIGHT_ONE * WEIGHT_ONE) as f32) + normalisation.offset;
            let [r, g, b] = sums.map(value);
            (red[i], green[i], blue[i]) = (r, g, b);
        };
        for i in (0..begin).chain(end..side) {
            put(i, sample_at_border(picture, walk, i, border));
        }
        let mut at = begin;
        while at < end {
            let count = (end - at).min(RUN);
            run.fetch(picture, walk, at, count);
            let planes = [&mut *red, &mut *green, &mut *blue].map(|plane| &mut plane[at..at + count]);
            dispatch!(level, simd => run.mix(simd, walk, at, normalisation, planes));
            at += count;
        }
    }
}

/// Neighbours of a run of pixels as little-endian words: of the row above and the row below each a word with red,
/// green and blue of the left neighbour and red of the right one, and a word with its green and blue.
struct Run {
    words: [[u32; RUN]; 4],
}

impl Default for Run {
    fn default() -> Self {
        Self { words: [[0; RUN]; 4] }
    }
}

impl Run {
    /// Of the pixels from step `first` of the walk on, all of them inside.
    fn fetch(&mut self, picture: Picture<'_>, walk: Walk, first: usize, count: usize) {
        let (mut x, mut y) = walk.at(first);
        let [above_left, above_right, below_left, below_right] = &mut self.words;
        let above = above_left.iter_mut().zip(above_right);
        let below = below_left.iter_mut().zip(below_right);
        for ((above_left, above_right), (below_left, below_right)) in above.zip(below).take(count) {
            let at = ((y >> FRACTION_BITS) as usize * picture.width + (x >> FRACTION_BITS) as usize) * 3;
            (*above_left, *above_right) = six(picture.rgb, at);
            (*below_left, *below_right) = six(picture.rgb, at + picture.width * 3);
            (x, y) = (x + walk.step_x, y + walk.step_y);
        }
    }

    /// Mixes what was fetched into three planes.
    #[inline(always)]
    fn mix<S: Simd>(&self, _simd: S, walk: Walk, first: usize, normalisation: Normalisation, planes: [&mut [f32]; 3]) {
        let (x, y) = walk.at(first);
        // Fixed point wraps at 1 as fractions do.
        let fraction = |start: i64, step: i64, i: usize| {
            let bits = (start as u32).wrapping_add((step as u32).wrapping_mul(i as u32));
            (bits >> 8) as i32 as f32 * (1.0 / (1 << 24) as f32)
        };
        let byte = |word: u32, index: u32| (word >> (8 * index) & 0xff) as i32 as f32;
        let [above_left, above_right, below_left, below_right] = &self.words;
        let above = above_left.iter().zip(above_right);
        let below = below_left.iter().zip(below_right);
        let [red, green, blue] = planes;
        let places = red.iter_mut().zip(green).zip(blue);
        for (i, (((red, green), blue), ((&al, &ar), (&bl, &br)))) in places.zip(above.zip(below)).enumerate() {
            let (fx, fy) = (fraction(x, walk.step_x, i), fraction(y, walk.step_y, i));
            let mix = |a: f32, b: f32, c: f32, d: f32| {
                let (above, below) = (a + (b - a) * fx, c + (d - c) * fx);
                (above + (below - above) * fy) * normalisation.scale + normalisation.offset
            };
            *red = mix(byte(al, 0), byte(al, 3), byte(bl, 0), byte(bl, 3));
            *green = mix(byte(al, 1), byte(ar, 0), byte(bl, 1), byte(br, 0));
            *blue = mix(byte(al, 2), byte(ar, 1), byte(bl, 2), byte(br, 1));
        }
    }
}

/// Two neighbouring pixels at a place in the bytes, as two words; 0 where there are none.
fn six(rgb: &[u8], at: usize) -> (u32, u32) {
    if let Some(&bytes) = rgb.get(at..).and_then(|rest| rest.first_chunk::<8>()) {
        let both = u64::from_le_bytes(bytes);
        return (both as u32, (both >> 32) as u32);
    }
    match rgb.get(at..) {
        Some(&[a, b, c, d, e, f, ..]) => (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, 0, 0])),
        _ => (0, 0),
    }
}

impl Walk {
    /// Where step `i` is.
    fn at(self, i: usize) -> (i64, i64) {
        (self.x + self.step_x * i as i64, self.y + self.step_y * i as i64)
    }
}

fn fixed(px: f64) -> i64 {
    (px * ONE).round() as i64
}

/// The steps `i` in `0..count` at which `start + i · step` and its right neighbour lie in `0..size`.
fn inside_span(start: i64, step: i64, size: usize, count: usize) -> Range<usize> {
    let limit = ((size as i64 - 1) << FRACTION_BITS) - 1;
    let count = count as i64;
    // The first and last step with 0 <= start + i·step <= limit.
    let (first, last) = match step {
        0 if (0..=limit).contains(&start) => (0, count - 1),
        0 => (0, -1),
        s if s > 0 => (-(start.div_euclid(s)), (limit - start).div_euclid(s)),
        s => (-((limit - start).div_euclid(-s)), start.div_euclid(-s)),
    };
    let first = first.clamp(0, count);
    let end = (last + 1).clamp(first, count);
    first as usize..end as usize
}

/// The four neighbours' weights in 16 bits.
fn weights(x: i64, y: i64) -> [u32; 4] {
    let fraction = |v: i64| (v >> (FRACTION_BITS - WEIGHT_BITS)) as u32 & (WEIGHT_ONE - 1);
    let (fx, fy) = (fraction(x), fraction(y));
    let (nx, ny) = (WEIGHT_ONE - fx, WEIGHT_ONE - fy);
    [nx * ny, fx * ny, nx * fy, fx * fy]
}

fn sample_at_border(picture: Picture<'_>, walk: Walk, i: usize, border: Border) -> [u32; 3] {
    let (x, y) = walk.at(i);
    let (column, row) = (x >> FRACTION_BITS, y >> FRACTION_BITS);
    let (width, height) = (picture.width as i64, picture.height as i64);
    let mut sums = [0; 3];
    for (weight, (dx, dy)) in weights(x, y).into_iter().zip([(0, 0), (1, 0), (0, 1), (1, 1)]) {
        let (column, row) = (column + dx, row + dy);
        let is_outside = !(0..width).contains(&column) || !(0..height).contains(&row);
        if is_outside && border == Border::Black {
            continue;
        }
        let pixel = picture.pixel(column.clamp(0, width - 1) as usize, row.clamp(0, height - 1) as usize);
        for (sum, byte) in sums.iter_mut().zip(pixel) {
            *sum += u32::from(byte) * weight;
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PLAIN: Normalisation = Normalisation { scale: 1.0, offset: 0.0 };

    /// The obvious version, one pixel at a time.
    fn reference(picture: Picture<'_>, roi: Roi, side: usize, border: Border) -> Vec<f32> {
        let mut out = vec![0.0; 3 * side * side];
        let tap = |x: i64, y: i64, channel: usize| {
            let (w, h) = (picture.width as i64, picture.height as i64);
            if border == Border::Black && !((0..w).contains(&x) && (0..h).contains(&y)) {
                return 0.0;
            }
            f32::from(picture.pixel(x.clamp(0, w - 1) as usize, y.clamp(0, h - 1) as usize)[channel])
        };
        for j in 0..side {
            for i in 0..side {
                let at = roi.to_frame(Vec2::new(i as f32, j as f32) / side as f32);
                let (floor, fraction) = (at.floor(), at - at.floor());
                let (x, y) = (floor.x as i64, floor.y as i64);
                for channel in 0..3 {
                    let top = tap(x, y, channel) * (1.0 - fraction.x) + tap(x + 1, y, channel) * fraction.x;
                    let bottom = tap(x, y + 1, channel) * (1.0 - fraction.x) + tap(x + 1, y + 1, channel) * fraction.x;
                    out[channel * side * side + j * side + i] = top * (1.0 - fraction.y) + bottom * fraction.y;
                }
            }
        }
        out
    }

    proptest! {
        #[test]
        fn any_region_of_any_picture_is_sampled_like_the_obvious_way(
            width in 1usize..40,
            height in 1usize..40,
            seed in any::<u64>(),
            center in (-30.0f32..60.0, -30.0f32..60.0),
            size in (8.0f32..120.0, 8.0f32..120.0),
            rotation_rad in -7.0f32..7.0,
            border in prop_oneof![Just(Border::Replicate), Just(Border::Black)],
        ) {
            // A smooth picture: steep ones turn the 1/256 px of the weights into visible differences.
            let mut rng = crate::signal::Rng::new(seed);
            let (ax, ay) = (rng.range(0.0, 3.0), rng.range(0.0, 3.0));
            let rgb: Vec<u8> = (0..width * height * 3)
                .map(|i| ((i / 3 % width) as f32 * ax + (i / 3 / width) as f32 * ay + (i % 3) as f32 * 5.0) as u8)
                .collect();
            let picture = Picture { width, height, rgb: &rgb };
            let roi = Roi { center: center.into(), size: size.into(), rotation_rad };
            let mut out = vec![f32::NAN; 3 * 16 * 16];
            crop(picture, roi, 16, border, PLAIN, &mut out);
            for (got, expected) in out.iter().zip(reference(picture, roi, 16, border)) {
                prop_assert!((got - expected).abs() < 2.0, "{got} instead of {expected}");
            }
        }

        #[test]
        fn the_inside_span_is_exact(start in -50i64..80, step in -9i64..9, size in 1usize..60) {
            let (start, step) = (start << (FRACTION_BITS - 1), step << (FRACTION_BITS - 2));
            let span = inside_span(start, step, size, 32);
            let limit = ((size as i64 - 1) << FRACTION_BITS) - 1;
            for i in 0..32 {
                prop_assert_eq!(span.contains(&i), (0..=limit).contains(&(start + step * i as i64)), "step {}", i);
            }
        }
    }

    #[test]
    fn an_unturned_region_of_the_same_size_is_a_copy() {
        let rgb: Vec<u8> = (0..=255).cycle().take(16 * 16 * 3).collect();
        let picture = Picture { width: 16, height: 16, rgb: &rgb };
        let mut out = vec![0.0; 3 * 256];
        crop(picture, Roi::letterbox(16, 16), 16, Border::Replicate, PLAIN, &mut out);
        for (i, pixel) in rgb.chunks_exact(3).enumerate() {
            assert_eq!([out[i], out[256 + i], out[512 + i]], [0, 1, 2].map(|c| f32::from(pixel[c])));
        }
    }
}
