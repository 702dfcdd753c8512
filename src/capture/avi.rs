//! AVI files with Motion JPEG inside: a reader of just as much RIFF as that needs.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::FrameSource;
use super::files::corrupt;
use super::jpeg::JpegReader;
use super::pool::FramePool;
use crate::types::{SourceError, Timestamp, VideoFrame};

/// Chunks in one file; two days of 30 frames a second and as many sound chunks.
const CHUNK_LIMIT: usize = 10_000_000;
/// No compressed picture is larger than this.
const PICTURE_LIMIT: u32 = 32 << 20;
/// Streams in one file.
const STREAM_LIMIT: usize = 64;

/// Pictures of an AVI file. Damaged ones are left out; their time passes.
#[derive(Debug)]
pub struct AviSource<R = BufReader<File>> {
    path: PathBuf,
    reader: R,
    /// Place and length of each picture, in order. Length 0: the last picture stays.
    chunks: VecDeque<(u64, u32)>,
    fps: f64,
    found: u64,
    seq: u64,
    data: Vec<u8>,
    jpeg: JpegReader,
    pool: FramePool,
}

impl AviSource {
    /// Opens a file; `None` if its pictures are something other than Motion JPEG.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn open(path: &Path) -> Result<Option<Self>, SourceError> {
        let file = File::open(path).map_err(|e| corrupt(path, &e.to_string()))?;
        Self::read(path, BufReader::new(file))
    }
}

/// What the walk through the file has found.
#[derive(Default)]
struct Index {
    streams: usize,
    /// Number and rate of the first Motion-JPEG stream.
    video: Option<(usize, f64)>,
    chunks: VecDeque<(u64, u32)>,
}

impl<R: Read + Seek> AviSource<R> {
    fn read(path: &Path, mut reader: R) -> Result<Option<Self>, SourceError> {
        let index = Index::scan(&mut reader).map_err(|e| corrupt(path, &e.to_string()))?;
        let Some((_, fps)) = index.video else { return Ok(None) };
        Ok(Some(Self {
            path: path.into(),
            reader,
            chunks: index.chunks,
            fps,
            found: 0,
            seq: 0,
            data: Vec::new(),
            jpeg: JpegReader::default(),
            pool: FramePool::default(),
        }))
    }
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map_or(0, u32::from_le_bytes)
}

impl Index {
    /// Walks all chunks in file order. Lists are stepped into by going on behind their heads, so a hostile file cannot
    /// nest; a chunk that reaches beyond the file ends the walk.
    fn scan(reader: &mut (impl Read + Seek)) -> std::io::Result<Self> {
        let end = reader.seek(SeekFrom::End(0))?;
        let mut index = Self::default();
        let mut at = 0_u64;
        for _ in 0..CHUNK_LIMIT {
            if at + 8 > end {
                break;
            }
            reader.seek(SeekFrom::Start(at))?;
            let mut head = [0; 8];
            reader.read_exact(&mut head)?;
            let (id, len) = (&head[..4], le32(&head, 4));
            let body = at + 8;
            match id {
                // Their four letters of kind are stepped over; what is in them comes next.
                b"RIFF" | b"LIST" => {
                    at = body + 4;
                    continue;
                }
                b"strh" => {
                    let mut header = Vec::new();
                    reader.take(56).read_to_end(&mut header)?;
                    index.stream(&header);
                }
                [tens, ones, b'd', b'c' | b'b'] if index.is_video(*tens, *ones) => {
                    if body + u64::from(len) > end {
                        break;
                    }
                    index.chunks.push_back((body, len));
                }
                _ => {}
            }
            at = body + u64::from(len) + u64::from(len % 2);
        }
        Ok(index)
    }

    fn stream(&mut self, header: &[u8]) {
        let number = self.streams;
        self.streams += 1;
        let is_motion_jpeg = header.get(..4) == Some(b"vids")
            && header.get(4..8).is_some_and(|h| h.eq_ignore_ascii_case(b"MJPG") || h.eq_ignore_ascii_case(b"JPEG"));
        if is_motion_jpeg && self.video.is_none() && number < STREAM_LIMIT {
            let rate = f64::from(le32(header, 24)) / f64::from(le32(header, 20));
            let fps = if rate.is_finite() && (0.1..=1000.0).contains(&rate) { rate } else { 30.0 };
            self.video = Some((number, fps));
        }
    }

    /// True for the two digits that chunks of the video stream begin with.
    fn is_video(&self, tens: u8, ones: u8) -> bool {
        let digit = |b: u8| char::from(b).to_digit(10);
        match (self.video, digit(tens), digit(ones)) {
            (Some((number, _)), Some(tens), Some(ones)) => number == (tens * 10 + ones) as usize,
            _ => false,
        }
    }
}

impl<R: Read + Seek + Send> FrameSource for AviSource<R> {
    fn next_frame(&mut self, _timeout: Duration) -> Result<VideoFrame, SourceError> {
        loop {
            let (at, len) = self.chunks.pop_front().ok_or(SourceError::Ended)?;
            let captured_at = Timestamp::from_secs_f64(self.found as f64 / self.fps);
            self.found += 1;
            if len == 0 || len > PICTURE_LIMIT {
                continue;
            }
            self.data.resize(len as usize, 0);
            self.reader
                .seek(SeekFrom::Start(at))
                .and_then(|_| self.reader.read_exact(&mut self.data))
                .map_err(|e| corrupt(&self.path, &e.to_string()))?;
            if let Ok((width, height, rgb)) = self.jpeg.decode(&self.data, &mut self.pool) {
                let seq = self.seq;
                self.seq += 1;
                return Ok(VideoFrame { captured_at, seq, width, height, rgb });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::super::files::tests::all_frames;
    use super::super::jpeg::tests::sample_jpeg;
    use super::*;

    fn chunk(id: &[u8; 4], body: &[u8]) -> Vec<u8> {
        let mut out = id.to_vec();
        out.extend_from_slice(&(body.len() as u32).to_le_bytes());
        out.extend_from_slice(body);
        out.resize(out.len().next_multiple_of(2), 0);
        out
    }

    fn list(id: &[u8; 4], kind: &[u8; 4], parts: &[Vec<u8>]) -> Vec<u8> {
        chunk(id, &[kind.to_vec(), parts.concat()].concat())
    }

    fn stream(kind: &[u8; 4], codec: &[u8; 4], rate: u32, scale: u32) -> Vec<u8> {
        let mut header = vec![0; 56];
        header[..4].copy_from_slice(kind);
        header[4..8].copy_from_slice(codec);
        header[20..24].copy_from_slice(&scale.to_le_bytes());
        header[24..28].copy_from_slice(&rate.to_le_bytes());
        list(b"LIST", b"strl", &[chunk(b"strh", &header), chunk(b"strf", &[0; 40])])
    }

    fn avi(codec: &[u8; 4]) -> Vec<u8> {
        let header = list(
            b"LIST",
            b"hdrl",
            &[
                chunk(b"avih", &[0; 56]),
                stream(b"auds", &[1, 0, 0, 0], 48_000, 1),
                stream(b"vids", codec, 30_000, 1001),
            ],
        );
        let movie = list(
            b"LIST",
            b"movi",
            &[
                chunk(b"01dc", &sample_jpeg(32, 16, 10)),
                chunk(b"00wb", &[7; 31]),
                chunk(b"01dc", &[]),
                chunk(b"01dc", b"damaged"),
                list(b"LIST", b"rec ", &[chunk(b"01dc", &sample_jpeg(32, 16, 50))]),
            ],
        );
        list(b"RIFF", b"AVI ", &[header, movie, chunk(b"idx1", &[0; 16])])
    }

    fn open(bytes: &[u8]) -> Result<Option<AviSource<Cursor<&[u8]>>>, SourceError> {
        AviSource::read(Path::new("test.avi"), Cursor::new(bytes))
    }

    #[test]
    fn motion_jpeg_pictures_come_out_at_their_times() {
        let bytes = avi(b"MJPG");
        let frames = all_frames(open(&bytes).expect("open").expect("motion jpeg"));
        assert_eq!(frames.len(), 2);
        assert!((frames[1].captured_at.as_secs_f64() - 3.0 * 1001.0 / 30_000.0).abs() < 1e-6);
        assert!(frames[1].rgb[2].abs_diff(50) < 8);
    }

    #[test]
    fn other_codecs_are_left_to_others() {
        assert!(open(&avi(b"H264")).expect("open").is_none());
    }

    proptest! {
        #[test]
        fn mangled_files_never_panic(hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..30)) {
            let mut bytes = avi(b"MJPG");
            for (at, value) in hits {
                let at = at.index(bytes.len());
                bytes[at] = value;
            }
            if let Ok(Some(mut source)) = open(&bytes) {
                while source.next_frame(Duration::ZERO).is_ok() {}
            }
        }
    }
}
