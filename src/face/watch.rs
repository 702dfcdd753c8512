//! The picture itself: too dark to see, black, frozen, too few a second. Looks at pixels, not at faces.

use std::time::Duration;

use crate::signal::smoothing_share;
use crate::types::Timestamp;

use super::picture::Picture;

/// Luma (0..255) up to which a picture may be called black: lens caps and limited-range black, with noise.
const BLACK_MEAN: f32 = 18.0;
/// Share of the pixels that may be brighter than [`BRIGHT_LUMA`] in a black picture (hot pixels).
const BLACK_BRIGHT_SHARE: f32 = 0.005;
const BRIGHT_LUMA: u32 = 48;
/// A black picture has no more structure than this: luma between the cells of a coarse grid. Covered sensors have
/// noise, which the cells average away; a dark room keeps its shapes.
const BLACK_SPREAD: f32 = 1.5;
const CELLS: usize = 4;
/// Mean luma under which a missing face is put down to the darkness.
const DARK_MEAN: f32 = 36.0;
/// Identical pictures for this long are a frozen source; live cameras have noise. It must be said within 0.5 s.
const FROZEN_AFTER: Duration = Duration::from_millis(400);
/// Under this many pictures a second the user is told.
const LOW_FPS: f32 = 18.0;
/// A longer pause is no frame rate.
const PAUSE: Duration = Duration::from_secs(1);
/// How long the frame rate is averaged over.
const FPS_SECS: f32 = 1.0;
/// About so many pixels are looked at for brightness.
const LUMA_SAMPLES: usize = 4096;
/// About so many bytes are compared to notice a new picture: 0.1 ms.
const FINGERPRINT_BYTES: usize = 1 << 19;
const FINGERPRINT_BLOCK: usize = 64;

/// What a picture is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Light {
    Black,
    /// Only worth mentioning if no face is found.
    Dark,
    Enough,
}

/// What the watch says about one picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Look {
    pub light: Light,
    pub is_frozen: bool,
    pub is_low_fps: bool,
}

/// Follows the pictures of one source.
#[derive(Debug, Default)]
pub(super) struct Watch {
    /// The last new picture: its fingerprint and when it came.
    last_new: Option<(u64, Timestamp)>,
    last_at: Option<Timestamp>,
    /// Averaged seconds between pictures, and how many seconds the average rests on.
    interval_secs: f32,
    seen_secs: f32,
}

impl Watch {
    pub fn look(&mut self, picture: Picture<'_>, at: Timestamp) -> Look {
        let fingerprint = fingerprint(picture);
        let since = match self.last_new {
            Some((last, since)) if last == fingerprint && since <= at => since,
            _ => at,
        };
        self.last_new = Some((fingerprint, since));
        self.count(at);
        Look {
            light: light(picture),
            is_frozen: at.saturating_since(since) >= FROZEN_AFTER,
            is_low_fps: self.seen_secs >= FPS_SECS && self.interval_secs > 1.0 / LOW_FPS,
        }
    }

    fn count(&mut self, at: Timestamp) {
        let interval = self.last_at.replace(at).map(|last| at.saturating_since(last));
        match interval {
            Some(interval) if interval <= PAUSE => {
                let secs = interval.as_secs_f32();
                let share = if self.seen_secs == 0.0 { 1.0 } else { smoothing_share(FPS_SECS, secs) };
                self.interval_secs += (secs - self.interval_secs) * share;
                self.seen_secs += secs;
            }
            _ => self.seen_secs = 0.0,
        }
    }
}

fn light(picture: Picture<'_>) -> Light {
    let pixel_count = picture.width * picture.height;
    // An odd step wanders over the columns instead of reading the same ones in each row.
    let step = (pixel_count / LUMA_SAMPLES).max(1) | 1;
    let mut cells = [(0u32, 0u32); CELLS * CELLS];
    let mut bright = 0u32;
    for (i, pixel) in picture.rgb.chunks_exact(3).enumerate().step_by(step) {
        let &[r, g, b] = pixel else { continue };
        // BT.601 in eighths, near enough.
        let luma = (2 * u32::from(r) + 5 * u32::from(g) + u32::from(b)) / 8;
        bright += u32::from(luma > BRIGHT_LUMA);
        let (row, column) = (i / picture.width * CELLS / picture.height, i % picture.width * CELLS / picture.width);
        if let Some((sum, count)) = cells.get_mut(row * CELLS + column) {
            *sum += luma;
            *count += 1;
        }
    }
    let (sum, count) = cells.iter().fold((0, 0), |(sum, count), cell| (sum + cell.0, count + cell.1));
    let mean_of = |(sum, count): (u32, u32)| sum as f32 / count.max(1) as f32;
    let means = || cells.iter().filter(|cell| cell.1 > 0).map(|&cell| mean_of(cell));
    let spread = means().fold(0.0, f32::max) - means().fold(255.0, f32::min);
    let is_bright_somewhere = bright as f32 > BLACK_BRIGHT_SHARE * count as f32;
    match mean_of((sum, count)) {
        mean if mean <= BLACK_MEAN && spread <= BLACK_SPREAD && !is_bright_somewhere => Light::Black,
        mean if mean <= DARK_MEAN => Light::Dark,
        _ => Light::Enough,
    }
}

/// A hash of blocks spread over the picture (multiply and rotate, as in FxHash).
fn fingerprint(picture: Picture<'_>) -> u64 {
    let step = picture.rgb.len().div_ceil(FINGERPRINT_BYTES);
    let mut hash = (picture.width as u64) << 32 | picture.height as u64;
    let mut add = |bytes: [u8; 8]| {
        hash = (hash.rotate_left(5) ^ u64::from_le_bytes(bytes)).wrapping_mul(0x517C_C1B7_2722_0A95);
    };
    for block in picture.rgb.chunks(FINGERPRINT_BLOCK).step_by(step) {
        let (words, rest) = block.as_chunks::<8>();
        words.iter().copied().for_each(&mut add);
        for &byte in rest {
            add([byte; 8]);
        }
    }
    hash
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture_of(rgb: &[u8]) -> Picture<'_> {
        Picture { width: 64, height: 48, rgb }
    }

    fn noise(seed: u64, base: u8) -> Vec<u8> {
        let mut rng = crate::signal::Rng::new(seed);
        (0..64 * 48 * 3).map(|_| base + (rng.unit() * 4.0) as u8).collect()
    }

    #[test]
    fn a_frozen_picture_is_called_so_in_time_at_any_rate() {
        for fps in [5.0, 15.0, 30.0, 60.0, 144.0] {
            let mut watch = Watch::default();
            let still = noise(1, 100);
            let said = (0..)
                .map(|i| f64::from(i) / fps)
                .find(|&t| watch.look(picture_of(&still), Timestamp::from_secs_f64(t)).is_frozen)
                .unwrap();
            assert!((0.4..=0.6).contains(&said), "{said} s at {fps} fps");
            assert!(fps < 10.0 || said <= 0.5, "{said} s at {fps} fps");
            let moved = noise(2, 100);
            assert!(!watch.look(picture_of(&moved), Timestamp::from_secs_f64(said + 0.01)).is_frozen);
        }
    }

    #[test]
    fn one_changed_byte_is_a_new_picture() {
        let mut rgb = noise(1, 100);
        let before = fingerprint(picture_of(&rgb));
        for at in [0, 5000, 64 * 48 * 3 - 1] {
            rgb[at] ^= 1;
            assert_ne!(fingerprint(picture_of(&rgb)), before);
            rgb[at] ^= 1;
        }
    }

    #[test]
    fn darkness_has_degrees() {
        assert_eq!(light(picture_of(&noise(1, 0))), Light::Black);
        assert_eq!(light(picture_of(&noise(1, 14))), Light::Black);
        assert_eq!(light(picture_of(&noise(1, 24))), Light::Dark);
        assert_eq!(light(picture_of(&noise(1, 90))), Light::Enough);
        // A dark room: as dark as black ones, but with shapes in it.
        let mut shapes = noise(1, 2);
        shapes[..64 * 3 * 24].iter_mut().for_each(|v| *v += 4);
        assert_eq!(light(picture_of(&shapes)), Light::Dark);
        let mut lamp = noise(1, 4);
        lamp[..64 * 3 * 4].fill(255);
        assert_ne!(light(picture_of(&lamp)), Light::Black);
        assert_eq!(light(Picture { width: 1, height: 1, rgb: &[200; 3] }), Light::Enough);
    }

    #[test]
    fn a_slow_camera_is_noticed_and_a_pause_is_not() {
        let run = |fps: f64| {
            let mut watch = Watch::default();
            (0..60).any(|i| {
                let at = Timestamp::from_secs_f64(f64::from(i) / fps);
                watch.look(picture_of(&noise(i as u64, 90)), at).is_low_fps
            })
        };
        assert!(run(10.0));
        assert!(!run(25.0));
        assert!(!run(0.5));
    }
}
