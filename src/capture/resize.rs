//! Scales the pictures of another source.

use std::time::Duration;

use image::imageops::{FilterType, resize};
use image::{ImageBuffer, Rgb, RgbImage};

use super::FrameSource;
use super::jpeg::SIDE_LIMIT;
use crate::types::{ErrorKind, SourceError, VideoFrame};

/// A source with pictures of a set size. For files: it allocates for each frame.
pub struct Resized<S> {
    source: S,
    width: u32,
    height: u32,
}

impl<S: FrameSource> Resized<S> {
    /// Scales the pictures of `source` to this size, at least 1×1.
    pub fn new(source: S, width: u32, height: u32) -> Self {
        Self { source, width: width.clamp(1, SIDE_LIMIT), height: height.clamp(1, SIDE_LIMIT) }
    }
}

impl<S: FrameSource> FrameSource for Resized<S> {
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError> {
        let frame = self.source.next_frame(timeout)?;
        if (frame.width, frame.height) == (self.width, self.height) {
            return Ok(frame);
        }
        let picture: ImageBuffer<Rgb<u8>, &[u8]> = ImageBuffer::from_raw(frame.width, frame.height, &frame.rgb[..])
            .ok_or_else(|| SourceError::device(ErrorKind::Corrupt, "a video frame has the wrong size"))?;
        let scaled: RgbImage = resize(&picture, self.width, self.height, FilterType::Triangle);
        Ok(VideoFrame { width: self.width, height: self.height, rgb: scaled.into_raw().into(), ..frame })
    }
}
