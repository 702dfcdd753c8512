//! YUV4MPEG2 files: a text header, then raw frames. 8 bits; 4:2:0, 4:2:2, 4:4:4 and grey.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::FrameSource;
use super::files::corrupt;
use super::jpeg::SIDE_LIMIT;
use super::pixels::{YuvRange, gray_to_rgb, planar_yuv_to_rgb, rgb_len};
use super::pool::FramePool;
use crate::types::{SourceError, Timestamp, VideoFrame};

/// Longest header line.
const LINE_LIMIT: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Layout {
    /// Chroma is smaller by these shifts.
    Yuv(u32, u32),
    Gray,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Header {
    width: u32,
    height: u32,
    fps: f64,
    layout: Layout,
    range: YuvRange,
}

/// Frames of a `.y4m` file.
pub struct Y4mSource<R = BufReader<File>> {
    path: PathBuf,
    reader: R,
    header: Header,
    frame: Vec<u8>,
    pool: FramePool,
    seq: u64,
}

impl Y4mSource {
    /// Opens a file.
    ///
    /// # Errors
    /// If it is none of these, or of a kind that is not read.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let file = File::open(path).map_err(|e| corrupt(path, &e.to_string()))?;
        Self::read(path, BufReader::new(file))
    }
}

impl<R: BufRead> Y4mSource<R> {
    fn read(path: &Path, mut reader: R) -> Result<Self, SourceError> {
        let line = read_line(&mut reader).map_err(|why| corrupt(path, &why))?.unwrap_or_default();
        let header = parse_header(&line).map_err(|why| corrupt(path, &why))?;
        Ok(Self { path: path.into(), reader, header, frame: Vec::new(), pool: FramePool::default(), seq: 0 })
    }
}

/// The next line without its end; `None` at the end of the file.
fn read_line(reader: &mut impl BufRead) -> Result<Option<String>, String> {
    let mut bytes = Vec::new();
    reader.take(LINE_LIMIT).read_until(b'\n', &mut bytes).map_err(|e| e.to_string())?;
    match bytes.pop() {
        None => Ok(None),
        Some(b'\n') => String::from_utf8(bytes).map(Some).map_err(|_| "a header is no text".into()),
        Some(_) => Err("a header line has no end".into()),
    }
}

fn parse_header(line: &str) -> Result<Header, String> {
    let mut words = line.split(' ');
    if words.next() != Some("YUV4MPEG2") {
        return Err("this is no YUV4MPEG2 file".into());
    }
    let (mut size, mut fps, mut layout, mut range) = ([0_u32; 2], 30.0, Layout::Yuv(1, 1), YuvRange::Limited);
    for word in words {
        let Some(tag) = word.chars().next() else { continue };
        let value = word.get(tag.len_utf8()..).unwrap_or_default();
        let side = || value.parse().map_err(|_| format!("{word:?} is no picture size"));
        match tag {
            'W' => size[0] = side()?,
            'H' => size[1] = side()?,
            'F' => {
                let (num, den) = value.split_once(':').unwrap_or((value, "1"));
                let ratio = num.parse::<f64>().unwrap_or(0.0) / den.parse::<f64>().unwrap_or(0.0);
                if ratio.is_finite() && (0.1..=1000.0).contains(&ratio) {
                    fps = ratio;
                }
            }
            'C' => {
                layout = match value {
                    "420" | "420jpeg" | "420mpeg2" | "420paldv" => Layout::Yuv(1, 1),
                    "422" => Layout::Yuv(1, 0),
                    "444" => Layout::Yuv(0, 0),
                    "mono" => Layout::Gray,
                    _ => return Err(format!("pixel format {value:?} is not read; write 8-bit 420, 422, 444 or mono")),
                }
            }
            'X' if value == "COLORRANGE=FULL" => range = YuvRange::Full,
            _ => {}
        }
    }
    let [width, height] = size;
    if !size.iter().all(|s| (1..=SIDE_LIMIT).contains(s)) {
        return Err(format!("{width}×{height} is no picture size"));
    }
    Ok(Header { width, height, fps, layout, range })
}

impl Header {
    fn frame_len(&self) -> usize {
        let (w, h) = (self.width as usize, self.height as usize);
        match self.layout {
            Layout::Gray => w * h,
            Layout::Yuv(x, y) => w * h + 2 * w.div_ceil(1 << x) * h.div_ceil(1 << y),
        }
    }
}

impl<R: BufRead + Send> FrameSource for Y4mSource<R> {
    fn next_frame(&mut self, _timeout: Duration) -> Result<VideoFrame, SourceError> {
        let broken = |why: &str| corrupt(&self.path, why);
        let Some(line) = read_line(&mut self.reader).map_err(|why| broken(&why))? else {
            return Err(SourceError::Ended);
        };
        if line != "FRAME" && !line.starts_with("FRAME ") {
            return Err(broken("a frame header is missing"));
        }
        let header = self.header;
        self.frame.resize(header.frame_len(), 0);
        if self.reader.read_exact(&mut self.frame).is_err() {
            // A recording that was cut off ends here.
            return Err(SourceError::Ended);
        }
        let size = (header.width, header.height);
        let len = rgb_len(size.0, size.1).unwrap_or_default();
        let frame = &self.frame;
        let rgb = self.pool.frame(len, |rgb| match header.layout {
            Layout::Yuv(x, y) => planar_yuv_to_rgb(frame, size, (x, y), header.range, rgb),
            Layout::Gray => gray_to_rgb(frame, size, rgb),
        });
        let rgb = rgb.map_err(|e| broken(&e.to_string()))?;
        let seq = self.seq;
        self.seq += 1;
        let captured_at = Timestamp::from_secs_f64(seq as f64 / header.fps);
        Ok(VideoFrame { captured_at, seq, width: size.0, height: size.1, rgb })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::files::tests::all_frames;
    use super::*;

    fn open(bytes: &[u8]) -> Result<Y4mSource<&[u8]>, SourceError> {
        Y4mSource::read(Path::new("test.y4m"), bytes)
    }

    #[test]
    fn frames_of_every_layout_are_read() {
        for (tag, len) in [("420jpeg", 4 * 2 + 2 * 2), ("422", 16), ("444", 24), ("mono", 8)] {
            let mut file = format!("YUV4MPEG2 W4 H2 F25:1 Ip A1:1 C{tag}\n").into_bytes();
            for shade in [16_u8, 235] {
                file.extend_from_slice(b"FRAME\n");
                file.extend(std::iter::repeat_n(shade, 8));
                file.extend(std::iter::repeat_n(128, len - 8));
            }
            let frames = all_frames(open(&file).expect("open"));
            assert_eq!(frames.len(), 2, "{tag}");
            let white = if tag == "mono" { 235 } else { 255 };
            assert!(frames[1].rgb.iter().all(|v| *v == white), "{tag}: {:?}", frames[1].rgb);
            assert_eq!(frames[1].captured_at, Timestamp::from_secs_f64(0.04));
        }
    }

    #[test]
    fn a_cut_recording_ends_and_a_broken_one_says_why() {
        let mut cut = open(b"YUV4MPEG2 W4 H2 Cmono\nFRAME\nabc").expect("open");
        assert_eq!(cut.next_frame(Duration::ZERO), Err(SourceError::Ended));
        for (bytes, why) in [
            (&b"RIFF"[..], "no end"),
            (b"YUV4MPEG2 W4\n", "picture size"),
            (b"YUV4MPEG2 W4 H99999999\n", "picture size"),
            (b"YUV4MPEG2 W4 H4 C420p10\n", "420p10"),
        ] {
            let error = open(bytes).err().expect("error").to_string();
            assert!(error.contains(why), "{error}");
        }
    }

    proptest! {
        #[test]
        fn mangled_files_never_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..200), keep in 0_usize..40) {
            let head = b"YUV4MPEG2 W4 H2 F30:1 C420\nFRAME\n0123456789abFRAME\n";
            let keep = keep.min(head.len());
            bytes.splice(0..0, head[..keep].iter().copied());
            if let Ok(mut source) = open(&bytes) {
                for _ in 0..20 {
                    if source.next_frame(Duration::ZERO).is_err() {
                        break;
                    }
                }
            }
        }
    }
}
