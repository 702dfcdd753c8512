//! How good the product is, measured over folders of labelled files (`omote eval`).
//!
//! Runs the product's own path, never a copy of it. Prints nothing: `app` shows the figures.
//!
//! * `walk`, `work` – the files below a folder; what a thread has worked
//! * `recordings` – which files of a folder belong together
//! * `labels` – what was said in a recording, from a table
//! * `listen` – one recording through the sound path and the mixer, in causal time
//! * `score`, `timing` – the figures
//! * `lipsync` – all of it over a folder
//! * `face` – how well faces are seen in clips and stills
//! * `robustness` – what becomes of faces in bad pictures
//! * `ventriloquist` – does the mouth go on when a source is lost?

mod calibrate;
pub mod face;
mod labels;
mod lipsync;
mod listen;
mod recordings;
pub mod robustness;
mod score;
mod timing;
pub mod ventriloquist;
mod walk;
mod work;

use std::path::PathBuf;

use crate::audio::RateError;
use crate::face::FaceError;
use crate::types::{ErrorKind, SourceError};
use crate::voice::VoiceError;

pub use labels::{Label, Labels};
pub use lipsync::{GroupFigures, LipsyncEval, LipsyncOptions, eval_lipsync};
pub use listen::{Heard, Hop, MouthTick, listen};
pub use recordings::{Group, Recording, find_recordings};
pub use score::{Figures, Score};

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum EvalError {
    /// The folder cannot be read, or there is nothing to measure in it.
    #[error("{why}: {}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What is wrong and what to do.
        why: String,
    },
    /// A file of labels, references or truths does not fit.
    #[error("what is known about a file cannot be read (line {line}: {why}): {}", path.display())]
    Labels {
        /// The file.
        path: PathBuf,
        /// Counted from 1; 0 for the file as a whole.
        line: usize,
        /// What is wrong.
        why: String,
    },
    /// A recording or a clip cannot be read.
    #[error(transparent)]
    Sound(#[from] SourceError),
    /// A recording has a rate that nothing can be made of.
    #[error(transparent)]
    Rate(#[from] RateError),
    /// The face model is broken, or a picture.
    #[error(transparent)]
    Face(#[from] FaceError),
    /// There is no classifier.
    #[error(transparent)]
    Voice(#[from] VoiceError),
}

impl EvalError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Folder { .. } => ErrorKind::Setup,
            Self::Labels { .. } | Self::Rate(_) => ErrorKind::Corrupt,
            Self::Face(error) => error.kind(),
            Self::Sound(error) => error.kind(),
            Self::Voice(error) => error.kind(),
        }
    }
}
