//! Which of a camera's formats to take. (nokhwa's own `Closest` gives up where the wanted size is not offered.)

use nokhwa::utils::{CameraFormat, FrameFormat};

use super::jpeg::SIDE_LIMIT;

/// What the settings ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wanted {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Frames a second.
    pub fps: u32,
}

/// The formats omote can read.
pub const READABLE: [FrameFormat; 6] = [
    FrameFormat::YUYV,
    FrameFormat::NV12,
    FrameFormat::MJPEG,
    FrameFormat::RAWRGB,
    FrameFormat::RAWBGR,
    FrameFormat::GRAY,
];

/// Fewer pixels than this show no face.
const SIDE_MIN: u32 = 120;
/// Drivers list nonsense where the interval is no whole fraction of a second.
const FPS_LIMIT: u32 = 240;

/// The usable formats, the best first. Duplicates are dropped.
pub fn ranked(offered: &[CameraFormat], wanted: Wanted) -> Vec<CameraFormat> {
    let mut usable: Vec<CameraFormat> = Vec::new();
    for format in offered {
        let sides = [format.width(), format.height()];
        let is_usable = READABLE.contains(&format.format())
            && sides.iter().all(|s| (SIDE_MIN..=SIDE_LIMIT).contains(s))
            && (1..=FPS_LIMIT).contains(&format.frame_rate());
        if is_usable && !usable.contains(format) {
            usable.push(*format);
        }
    }
    usable.sort_by(|a, b| cost(a, wanted).total_cmp(&cost(b, wanted)));
    usable
}

/// How far a format is from what is wanted; 0 is exactly it. The weights say: half the wanted rate is as bad as four
/// times the pixels; a bigger picture is better than a smaller one; another aspect ratio matters less.
fn cost(format: &CameraFormat, wanted: Wanted) -> f64 {
    let pixels = |w: u32, h: u32| f64::from(w.max(1)) * f64::from(h.max(1));
    let aspect = |w: u32, h: u32| f64::from(w.max(1)) / f64::from(h.max(1));
    let size = (pixels(format.width(), format.height()) / pixels(wanted.width, wanted.height)).ln();
    let size_cost = if size < 0.0 { -1.5 * size } else { size };
    let shape_cost = 0.3 * (aspect(format.width(), format.height()) / aspect(wanted.width, wanted.height)).ln().abs();
    let rate = (f64::from(format.frame_rate()) / f64::from(wanted.fps.max(1))).ln();
    let rate_cost = if rate < 0.0 { -2.0 * rate } else { 0.2 * rate };
    // Between equals: colour before grey, plain pixels before compressed ones (no artefacts, less work).
    let kind_cost = match format.format() {
        FrameFormat::NV12 => 0.0,
        FrameFormat::YUYV => 0.001,
        FrameFormat::RAWRGB => 0.002,
        FrameFormat::RAWBGR => 0.003,
        FrameFormat::MJPEG => 0.01,
        FrameFormat::GRAY => 3.0,
    };
    size_cost + shape_cost + rate_cost + kind_cost
}

#[cfg(test)]
mod tests {
    use FrameFormat::{GRAY, MJPEG, NV12, YUYV};

    use super::*;

    const WANTED: Wanted = Wanted { width: 640, height: 480, fps: 30 };

    fn best(offered: &[(u32, u32, FrameFormat, u32)]) -> Option<(u32, u32, FrameFormat, u32)> {
        let offered: Vec<_> = offered.iter().map(|&(w, h, f, fps)| CameraFormat::new_from(w, h, f, fps)).collect();
        let best = ranked(&offered, WANTED).first().copied();
        best.map(|f| (f.width(), f.height(), f.format(), f.frame_rate()))
    }

    #[test]
    fn the_wanted_format_is_taken() {
        let exact = (640, 480, YUYV, 30);
        assert_eq!(best(&[(1920, 1080, MJPEG, 30), (640, 480, MJPEG, 30), exact, (320, 240, YUYV, 30)]), Some(exact));
    }

    #[test]
    fn a_camera_without_the_wanted_size_still_opens() {
        assert_eq!(best(&[(1280, 720, MJPEG, 30)]), Some((1280, 720, MJPEG, 30)));
        assert_eq!(best(&[(1920, 1080, MJPEG, 30), (1280, 720, MJPEG, 30)]), Some((1280, 720, MJPEG, 30)));
    }

    #[test]
    fn a_slow_picture_is_worse_than_a_compressed_or_a_bigger_one() {
        assert_eq!(best(&[(640, 480, YUYV, 10), (640, 480, MJPEG, 30)]), Some((640, 480, MJPEG, 30)));
        assert_eq!(best(&[(640, 480, YUYV, 10), (960, 540, MJPEG, 30)]), Some((960, 540, MJPEG, 30)));
        assert_eq!(best(&[(640, 480, MJPEG, 30), (640, 480, MJPEG, 60)]), Some((640, 480, MJPEG, 30)));
    }

    #[test]
    fn infrared_is_the_last_choice_and_nonsense_is_none() {
        assert_eq!(best(&[(640, 480, GRAY, 30), (1280, 720, NV12, 30)]), Some((1280, 720, NV12, 30)));
        assert_eq!(best(&[(640, 480, GRAY, 30)]), Some((640, 480, GRAY, 30)));
        assert_eq!(best(&[(640, 480, MJPEG, 30_000), (0, 0, MJPEG, 30), (64, 48, MJPEG, 30)]), None);
        assert_eq!(best(&[]), None);
    }
}
