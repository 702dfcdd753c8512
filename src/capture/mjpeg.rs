//! A file of JPEG pictures, one after another (`.mjpeg`, `.mjpg`).

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::FrameSource;
use super::files::corrupt;
use super::jpeg::{JpegError, JpegReader, extent};
use super::pool::FramePool;
use crate::types::{SourceError, Timestamp, VideoFrame};

/// How much is read at a time.
const STEP: usize = 256 << 10;
/// No picture is larger than this.
const PICTURE_LIMIT: usize = 32 << 20;

/// Pictures of a Motion-JPEG file. Damaged ones are left out; their time passes.
pub struct MjpegSource<R = BufReader<File>> {
    path: PathBuf,
    reader: R,
    is_at_end: bool,
    /// What was read; used up to `start`.
    buffer: Vec<u8>,
    start: usize,
    jpeg: JpegReader,
    pool: FramePool,
    fps: f64,
    /// Pictures found, whole or not.
    found: u64,
    seq: u64,
}

impl MjpegSource {
    /// Opens a file whose pictures come at this rate.
    ///
    /// # Errors
    /// If it cannot be opened.
    pub fn open(path: &Path, fps: f64) -> Result<Self, SourceError> {
        let file = File::open(path).map_err(|e| corrupt(path, &e.to_string()))?;
        Ok(Self::read(path, BufReader::new(file), fps))
    }
}

impl<R: Read> MjpegSource<R> {
    fn read(path: &Path, reader: R, fps: f64) -> Self {
        Self {
            path: path.into(),
            reader,
            is_at_end: false,
            buffer: Vec::new(),
            start: 0,
            jpeg: JpegReader::default(),
            pool: FramePool::default(),
            fps,
            found: 0,
            seq: 0,
        }
    }

    fn fill(&mut self) -> Result<(), SourceError> {
        self.buffer.drain(..self.start);
        self.start = 0;
        let before = self.buffer.len();
        let read = (&mut self.reader).take(STEP as u64).read_to_end(&mut self.buffer);
        read.map_err(|e| corrupt(&self.path, &e.to_string()))?;
        self.is_at_end = self.buffer.len() == before;
        Ok(())
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..).unwrap_or_default()
    }

    /// Moves on to the start of the next picture; false if there is none.
    fn seek_start(&mut self) -> Result<bool, SourceError> {
        loop {
            if let Some(at) = self.unread().windows(3).position(|w| w == [0xff, 0xd8, 0xff]) {
                self.start += at;
                return Ok(true);
            }
            // The last two bytes may be the beginning of a start.
            self.start += self.unread().len().saturating_sub(2);
            if self.is_at_end {
                return Ok(false);
            }
            self.fill()?;
        }
    }
}

impl<R: Read + Send> FrameSource for MjpegSource<R> {
    fn next_frame(&mut self, _timeout: Duration) -> Result<VideoFrame, SourceError> {
        loop {
            if !self.seek_start()? {
                return Err(SourceError::Ended);
            }
            let whole = loop {
                match extent(self.unread()) {
                    Ok(extent) => break Some(extent.len),
                    Err(JpegError::Incomplete) if !self.is_at_end && self.unread().len() < PICTURE_LIMIT => {
                        self.fill()?;
                    }
                    Err(_) => break None,
                }
            };
            let at = self.found;
            self.found += 1;
            let Some(len) = whole else {
                // Step over this start and look for the next one.
                self.start += 2;
                continue;
            };
            let data = self.buffer.get(self.start..).unwrap_or_default();
            let decoded = self.jpeg.decode(data, &mut self.pool);
            self.start += len;
            if let Ok((width, height, rgb)) = decoded {
                let seq = self.seq;
                self.seq += 1;
                let captured_at = Timestamp::from_secs_f64(at as f64 / self.fps);
                return Ok(VideoFrame { captured_at, seq, width, height, rgb });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::all_frames;
    use super::super::jpeg::tests::sample_jpeg;
    use super::*;

    fn open(bytes: &[u8]) -> MjpegSource<&[u8]> {
        MjpegSource::read(Path::new("test.mjpeg"), bytes, 10.0)
    }

    #[test]
    fn pictures_come_out_one_by_one() {
        let bytes: Vec<u8> = [10, 20, 30].iter().flat_map(|s| sample_jpeg(32, 16, *s)).collect();
        let frames = all_frames(open(&bytes));
        assert_eq!(frames.len(), 3);
        assert_eq!(frames[2].captured_at, Timestamp::from_secs_f64(0.2));
        assert!(frames[2].rgb[2].abs_diff(30) < 8);
    }

    #[test]
    fn junk_and_damage_between_pictures_are_stepped_over() {
        let good = sample_jpeg(32, 16, 40);
        let mut bytes = b"junk\xff\xd8junk".to_vec();
        bytes.extend_from_slice(&good);
        bytes.extend_from_slice(&good[..good.len() / 2]);
        bytes.extend_from_slice(&good);
        let frames = all_frames(open(&bytes));
        assert!(!frames.is_empty() && frames.len() <= 3, "{}", frames.len());
        assert_eq!(all_frames(open(&[])).len(), 0);
        assert_eq!(all_frames(open(&[0xff; 4000])).len(), 0);
        assert_eq!(all_frames(open(&[0xff, 0xd8].repeat(500_000))).len(), 0, "and quickly");
    }
}
