//! What people counted in a clip: when it blinks, and when a face is there.
//!
//! Either a file NAME.truth.toml beside the clip,
//!
//! ```toml
//! blinks = [0.48, 1.92]      # seconds at which the lids are furthest down; an empty list: no blink
//! face = [[0.0, 2.4]]        # seconds from and to which a face is to be seen; true or false for the whole clip
//! ```
//!
//! or one file for many clips with such a table for each, named like the clip's file.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use serde::Deserialize;

use crate::eval::EvalError;

/// A longer file is a mistake.
const MAX_BYTES: u64 = 4 << 20;

/// What is known about one clip.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClipTruth {
    /// Seconds at which the lids are furthest down; `None` if nobody counted.
    pub blinks: Option<Vec<f64>>,
    /// When a face is there; `None` if nobody looked.
    pub face: Option<FaceTimes>,
    /// What to know when reading the numbers.
    pub note: Option<String>,
}

/// When a face is to be seen.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum FaceTimes {
    /// All the time, or never.
    Whole(bool),
    /// From, to; seconds.
    Parts(Vec<[f64; 2]>),
}

impl FaceTimes {
    /// Whether a face is there.
    pub fn at(&self, secs: f64) -> bool {
        match self {
            Self::Whole(is_there) => *is_there,
            Self::Parts(parts) => parts.iter().any(|[from, to]| (*from..=*to).contains(&secs)),
        }
    }
}

/// What is known about many clips, by the names of their files.
pub type Truths = BTreeMap<String, ClipTruth>;

/// Reads one file for many clips.
///
/// # Errors
/// If it cannot be read or holds something else.
pub fn read_truths(path: &Path) -> Result<Truths, EvalError> {
    parse(path)
}

/// Reads the file of one clip.
pub(super) fn read_truth(path: &Path) -> Result<ClipTruth, EvalError> {
    parse(path)
}

fn parse<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T, EvalError> {
    let fault = |line: usize, why: String| EvalError::Labels { path: path.into(), line, why };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|e| fault(0, e.to_string()))?;
    file.take(MAX_BYTES).read_to_string(&mut text).map_err(|e| fault(0, e.to_string()))?;
    toml::from_str(&text).map_err(|error| {
        let line = error.span().map_or(0, |span| text.get(..span.start).unwrap_or_default().matches('\n').count() + 1);
        fault(line, error.message().to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("truth.toml");
        std::fs::write(&path, text).expect("file");
        (folder, path)
    }

    #[test]
    fn one_file_may_speak_of_many_clips() {
        let (_folder, path) = written("['a.mp4']\nblinks = [0.5, 2]\nface = [[0, 1.5]]\n['b.png']\nface = false\n");
        let truths = read_truths(&path).unwrap();
        assert_eq!(truths["a.mp4"].blinks, Some(vec![0.5, 2.0]));
        let face = truths["a.mp4"].face.as_ref().unwrap();
        assert!(face.at(1.0) && !face.at(1.6));
        assert_eq!(truths["b.png"], ClipTruth { face: Some(FaceTimes::Whole(false)), ..ClipTruth::default() });
    }

    #[test]
    fn mistakes_are_told_with_their_line() {
        let (_folder, path) = written("blinks = [0.5]\nblink = 2\n");
        let error = read_truth(&path).unwrap_err().to_string();
        assert!(error.contains("line 2") && error.contains("blink"), "{error}");
        let gone = read_truth(Path::new("/no/such.toml")).unwrap_err();
        assert!(gone.to_string().contains("/no/such.toml"));
    }
}
