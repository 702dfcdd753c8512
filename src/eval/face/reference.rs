//! Reads what MediaPipe saw, as `models/face/reference.py` writes it: a line about the file, then one for each frame.
//!
//! The file is read line by line beside the clip, because all landmarks of a long clip fill the memory.

use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use glam::{Mat3, Quat, Vec3};
use serde::Deserialize;

use crate::eval::EvalError;
use crate::face::ImageFace;
use crate::types::ARKIT_COUNT;

const FORMAT: &str = "omote face reference";
const VERSION: u32 = 1;
/// Two faces of 1434 numbers take 25 kB.
const MAX_LINE: u64 = 256 << 10;
const LANDMARK_COUNT: usize = 478;

#[derive(Deserialize)]
struct Header {
    format: String,
    version: u32,
    of: String,
}

#[derive(Deserialize)]
struct Line {
    seq: u64,
    crc: u32,
    image: Option<RawFace>,
    #[serde(default)]
    video: Option<RawFace>,
    video_ms: Option<f64>,
}

#[derive(Deserialize)]
struct RawFace {
    landmarks: Vec<f32>,
    blendshapes: Vec<f32>,
    head_cm: Vec<f32>,
}

/// A face that MediaPipe saw.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct ReferenceFace {
    pub face: ImageFace,
    /// The head's rotation, camera space.
    pub head: Quat,
}

/// What MediaPipe saw in one frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ReferenceFrame {
    /// CRC-32 of the RGB bytes it saw.
    pub crc: u32,
    /// In image mode.
    pub image: Option<ReferenceFace>,
    /// In video mode.
    pub video: Option<ReferenceFace>,
    /// Processor time of video mode, milliseconds; `None` for stills.
    pub video_ms: Option<f64>,
}

/// An open reference file.
pub(super) struct Reference {
    path: PathBuf,
    lines: BufReader<File>,
    line: usize,
}

impl Reference {
    /// Opens the reference of the clip with this file name; `None` if it is one of another clip with the same stem.
    pub fn open(path: &Path, clip: &str) -> Result<Option<Self>, EvalError> {
        let fault = |why: String| EvalError::Labels { path: path.into(), line: 0, why };
        let file = File::open(path).map_err(|e| fault(e.to_string()))?;
        let mut reference = Self { path: path.into(), lines: BufReader::new(file), line: 0 };
        let header: Header = reference.parse()?.ok_or_else(|| fault("it is empty".into()))?;
        if header.format != FORMAT || header.version != VERSION {
            return Err(fault(format!("{FORMAT} of version {VERSION} is expected; make it anew")));
        }
        Ok((header.of == clip).then_some(reference))
    }

    /// The next frame; `None` after the last.
    pub fn next_frame(&mut self) -> Result<Option<(u64, ReferenceFrame)>, EvalError> {
        let Some(line) = self.parse::<Line>()? else { return Ok(None) };
        let face = |raw: Option<RawFace>| raw.map(|raw| raw.check().ok_or_else(|| self.fault("numbers are missing")));
        let (image, video) = (face(line.image).transpose()?, face(line.video).transpose()?);
        let video_ms = line.video_ms.filter(|ms| ms.is_finite() && *ms >= 0.0);
        Ok(Some((line.seq, ReferenceFrame { crc: line.crc, image, video, video_ms })))
    }

    fn parse<T: for<'de> Deserialize<'de>>(&mut self) -> Result<Option<T>, EvalError> {
        self.line += 1;
        let mut line = Vec::new();
        let read = self.lines.by_ref().take(MAX_LINE).read_until(b'\n', &mut line);
        let count = read.map_err(|e| self.fault(&e.to_string()))?;
        if count == 0 {
            return Ok(None);
        }
        serde_json::from_slice(&line).map(Some).map_err(|e| self.fault(&e.to_string()))
    }

    fn fault(&self, why: &str) -> EvalError {
        EvalError::Labels { path: self.path.clone(), line: self.line, why: why.into() }
    }
}

impl RawFace {
    fn check(self) -> Option<ReferenceFace> {
        let is_whole = self.landmarks.len() == LANDMARK_COUNT * 3
            && self.head_cm.len() == 12
            && self.landmarks.iter().chain(&self.blendshapes).chain(&self.head_cm).all(|v| v.is_finite());
        if !is_whole {
            return None;
        }
        let blendshapes: [f32; ARKIT_COUNT] = self.blendshapes.try_into().ok()?;
        let landmarks_px = self.landmarks.chunks_exact(3).map(Vec3::from_slice).collect();
        let at = |row: usize, column: usize| self.head_cm.get(row * 4 + column).copied().unwrap_or_default();
        let column = |j: usize| Vec3::new(at(0, j), at(1, j), at(2, j)).try_normalize();
        let head = Quat::from_mat3(&Mat3::from_cols(column(0)?, column(1)?, column(2)?));
        Some(ReferenceFace { face: ImageFace { landmarks_px, blendshapes }, head: head.normalize() })
    }
}

/// CRC-32 as zlib has it, for noticing that two decoders gave different pixels.
pub(super) fn crc32(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0u32; 256];
        let mut i = 0;
        while i < 256 {
            let mut value = i as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { 0xEDB8_8320 ^ (value >> 1) } else { value >> 1 };
                bit += 1;
            }
            table[i] = value;
            i += 1;
        }
        table
    };
    !bytes.iter().fold(!0, |crc, byte| TABLE[usize::from(crc as u8 ^ byte)] ^ (crc >> 8))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = r#"{"format":"omote face reference","version":1,"of":"a.mp4","made_by":"x","frames":2}"#;

    fn open(text: &str, clip: &str) -> Result<Option<Reference>, EvalError> {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("a.face.jsonl");
        std::fs::write(&path, text).expect("file");
        Reference::open(&path, clip)
    }

    fn face(landmarks: usize) -> serde_json::Value {
        serde_json::json!({
            "landmarks": vec![1.5; landmarks * 3],
            "blendshapes": vec![0.25; 52],
            "head_cm": [0.0, 0.0, 1.0, 5.0, 0.0, 1.0, 0.0, 6.0, -1.0, 0.0, 0.0, -50.0],
        })
    }

    #[test]
    fn what_the_script_writes_is_read() {
        let lines = [
            HEADER.to_owned(),
            serde_json::json!({"seq": 0, "secs": 0.0, "crc": 7, "image": face(478), "image_ms": 9.0,
                "video": null, "video_ms": 8.5})
            .to_string(),
            serde_json::json!({"seq": 1, "secs": 0.04, "crc": 8, "image": null, "image_ms": 3.0}).to_string(),
        ];
        let mut reference = open(&(lines.join("\n") + "\n"), "a.mp4").unwrap().unwrap();
        let (seq, frame) = reference.next_frame().unwrap().unwrap();
        let seen = frame.image.unwrap();
        assert_eq!((seq, frame.crc, frame.video, frame.video_ms), (0, 7, None, Some(8.5)));
        assert_eq!(seen.face.landmarks_px.len(), 478);
        assert!(seen.head.angle_between(Quat::from_rotation_y(std::f32::consts::FRAC_PI_2)) < 1e-4);
        let (seq, frame) = reference.next_frame().unwrap().unwrap();
        assert_eq!((seq, frame), (1, ReferenceFrame { crc: 8, ..ReferenceFrame::default() }));
        assert!(reference.next_frame().unwrap().is_none());
    }

    #[test]
    fn other_clips_and_broken_files_are_not_taken() {
        assert!(open(HEADER, "a.mkv").unwrap().is_none());
        assert!(open("", "a.mp4").is_err());
        assert!(open("[1, 2]\n", "a.mp4").is_err());
        assert!(open(&HEADER.replace(":1,", ":2,"), "a.mp4").is_err());
        let short = serde_json::json!({"seq": 0, "crc": 0, "image": face(477)});
        let mut reference = open(&format!("{HEADER}\n{short}\n"), "a.mp4").unwrap().unwrap();
        let error = reference.next_frame().unwrap_err().to_string();
        assert!(error.contains("line 2"), "{error}");
        let mut cut = open(&format!("{HEADER}\n{{\"seq\": 0, \"cr"), "a.mp4").unwrap().unwrap();
        assert!(cut.next_frame().is_err());
    }

    #[test]
    fn the_check_sum_is_zlibs() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(crc32(b""), 0);
    }
}
