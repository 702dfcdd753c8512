//! Faults put into the pictures of another source, for replay and tests.

use std::sync::Arc;
use std::time::Duration;

use super::FrameSource;
use crate::types::{ErrorKind, Faults, SourceError, Timestamp, VideoFault, VideoFrame};

/// Light left in a dark room.
const DARK_LIGHT: f32 = 0.04;
/// Something grey-brown, as a hand, a mug or a microphone is.
const COVER: [u8; 3] = [150, 118, 98];

/// A source with faults at set times. Each call of [`FrameSource::next_frame`] takes one frame of the inner source;
/// while pictures are missing (`stalled`, `disconnected`), it gives the error instead of that frame, and
/// [`Self::position`] says which time that was.
pub struct FaultyFrames<S> {
    source: S,
    faults: Faults,
    position: Timestamp,
    /// The last picture before a freeze.
    shown: Option<VideoFrame>,
}

impl<S: FrameSource> FaultyFrames<S> {
    /// Puts the video faults of `faults` into `source`.
    pub fn new(source: S, faults: Faults) -> Self {
        Self { source, faults, position: Timestamp::ZERO, shown: None }
    }

    /// The time of the inner frame that the last call took, given out or not.
    pub fn position(&self) -> Timestamp {
        self.position
    }
}

impl<S: FrameSource> FrameSource for FaultyFrames<S> {
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError> {
        let frame = self.source.next_frame(timeout)?;
        self.position = frame.captured_at;
        let rgb = match self.faults.video_at(frame.captured_at) {
            None => {
                self.shown = Some(frame.clone());
                return Ok(frame);
            }
            Some(VideoFault::Stalled) => return Err(SourceError::Timeout),
            Some(VideoFault::Disconnected) => {
                return Err(SourceError::device(ErrorKind::Gone, "the camera has been unplugged (as asked for)"));
            }
            Some(VideoFault::Frozen) => {
                let shown = self.shown.get_or_insert_with(|| frame.clone());
                return Ok(VideoFrame { captured_at: frame.captured_at, seq: frame.seq, ..shown.clone() });
            }
            Some(VideoFault::Black) => vec![0; frame.rgb.len()].into(),
            Some(VideoFault::Dark) => frame.rgb.iter().map(|v| (f32::from(*v) * DARK_LIGHT) as u8).collect(),
            Some(VideoFault::Covered) => covered(&frame),
            Some(VideoFault::FaceOut) => empty_room(&frame),
        };
        Ok(VideoFrame { rgb, ..frame })
    }
}

/// The lower middle of the picture behind something flat.
fn covered(frame: &VideoFrame) -> Arc<[u8]> {
    let (width, height) = (frame.width as usize, frame.height as usize);
    let mut rgb = frame.rgb.to_vec();
    for row in rgb.chunks_exact_mut((width * 3).max(1)).skip(height * 11 / 20) {
        let cover = row.get_mut(width / 4 * 3..width * 3 / 4 * 3).unwrap_or_default();
        for pixel in cover.chunks_exact_mut(3) {
            pixel.copy_from_slice(&COVER);
        }
    }
    rgb.into()
}

/// The room without the person: from the colours of the picture's left and right edges, row by row.
fn empty_room(frame: &VideoFrame) -> Arc<[u8]> {
    let width = frame.width as usize;
    let edge = (width / 16).max(1);
    let mut rgb = frame.rgb.to_vec();
    for row in rgb.chunks_exact_mut((width * 3).max(1)) {
        let mean = |pixels: &[u8]| {
            let count = (pixels.len() / 3).max(1) as u32;
            let mut sums = [0_u32; 3];
            for pixel in pixels.chunks_exact(3) {
                for (sum, value) in sums.iter_mut().zip(pixel) {
                    *sum += u32::from(*value);
                }
            }
            sums.map(|s| (s / count) as f32)
        };
        let (left, right) = (
            mean(row.get(..edge * 3).unwrap_or_default()),
            mean(row.get(row.len().saturating_sub(edge * 3)..).unwrap_or_default()),
        );
        for (x, pixel) in row.chunks_exact_mut(3).enumerate() {
            let t = x as f32 / width as f32;
            for ((value, l), r) in pixel.iter_mut().zip(left).zip(right) {
                *value = (l + (r - l) * t) as u8;
            }
        }
    }
    rgb.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten grey frames a second that grow lighter; a white square, the "face", in the middle.
    struct Ramp(u64);

    impl FrameSource for Ramp {
        fn next_frame(&mut self, _timeout: Duration) -> Result<VideoFrame, SourceError> {
            let seq = self.0;
            self.0 += 1;
            if seq >= 60 {
                return Err(SourceError::Ended);
            }
            let shade = 100 + seq as u8;
            let picture = image::RgbImage::from_fn(32, 20, |x, y| {
                image::Rgb([if (10..22).contains(&x) && (4..18).contains(&y) { 255 } else { shade }; 3])
            });
            let captured_at = Timestamp::from_secs_f64(seq as f64 / 10.0);
            Ok(VideoFrame { captured_at, seq, width: 32, height: 20, rgb: picture.into_raw().into() })
        }
    }

    fn run(fault: &str) -> Vec<Result<VideoFrame, SourceError>> {
        let faults: Faults = [fault.parse().expect("fault")].into_iter().collect();
        let mut source = FaultyFrames::new(Ramp(0), faults);
        (0..60)
            .map(|i| {
                let result = source.next_frame(Duration::ZERO);
                assert_eq!(source.position(), Timestamp::from_secs_f64(f64::from(i) / 10.0));
                result
            })
            .collect()
    }

    #[test]
    fn faults_begin_and_end_at_their_times() {
        let clean: Vec<_> = run("audio=muted@0..9");
        for kind in ["face_out", "covered", "dark", "frozen", "stalled", "black", "disconnected"] {
            let frames = run(&format!("video={kind}@2.0..3.0"));
            let different: Vec<usize> = (0..60).filter(|i| frames[*i] != clean[*i]).collect();
            assert_eq!(different, (20..30).collect::<Vec<_>>(), "{kind}");
        }
    }

    #[test]
    fn each_fault_does_what_it_says() {
        let at = |kind: &str| run(&format!("video={kind}@2.0..3.0")).swap_remove(25);
        assert_eq!(at("stalled"), Err(SourceError::Timeout));
        assert_eq!(at("disconnected").expect_err("gone").kind(), ErrorKind::Gone);
        assert!(at("black").expect("frame").rgb.iter().all(|v| *v == 0));
        assert!(at("dark").expect("frame").rgb.iter().all(|v| *v <= 10));
        let frozen = at("frozen").expect("frame");
        assert_eq!((frozen.rgb[0], frozen.seq), (119, 25), "the last picture before it, with the time going on");
        let room = at("face_out").expect("frame");
        assert!(room.rgb.iter().all(|v| v.abs_diff(125) <= 1), "no face is left");
        let covered = at("covered").expect("frame");
        let pixel = |x: usize, y: usize| covered.rgb[(y * 32 + x) * 3];
        assert_eq!((pixel(16, 6), pixel(16, 16), pixel(2, 16)), (255, COVER[0], 125));
    }
}
