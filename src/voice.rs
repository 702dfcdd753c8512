//! Sound becomes visemes: 16 kHz mono → log-mel → a small streaming network → [`AudioReport`] every 10 ms.
//!
//! ```text
//! samples ─▶ gain ─▶ LogMel (80 Hz high-pass, 25 ms window, 10 ms hop, 40 bands) ─▶ Network (GRU) ─▶ weights, voiced ─┐
//!    │        ▲──────────────────────── AutoGain (level of speech) ◀────────────────────────────────────────────┤
//!    └─────▶ Monitor (level, exact zeros, noise floor) ─▶ state, hints ─────────────────────────────────────────┴▶ report
//! ```
//!
//! Knows nothing of devices (`audio`) or faces, and shapes no mouth: smoothing and vowels are `mix`'s.
//! Runs on the `voice` thread; starts no thread and reads no clock. Everything after construction is deterministic.
//!
//! **Time.** The network may hear 30 ms past the sound that it names (`audio.latency=accurate`) or none (`low`), and the
//! sound lies in the middle of a 25 ms window. A report's `captured_at` is the time of that sound, so it lies
//! [`label_lag`] (42.5 or 12.5 ms) before the newest sample that went into it. With labels that wait, the first three
//! steps of a stream describe nothing and give no report.
//! `state` and `hints` are those of the newest sample: a dead microphone is worth knowing early.
//!
//! **Laughter** is a score of its own beside the visemes, as late as labels that wait; 0 with a network without one.
//!
//! **Calibration** is optional: five held vowels ([`Calibrator`], [`VowelCoach`]) help voices that the network knows
//! badly.

mod auto_gain;
mod calibration;
mod coach;
mod features;
mod hearing;
mod monitor;
mod network;

use crate::settings::AudioSettings;
use crate::types::{AudioReport, ErrorKind, Timestamp};

pub use calibration::{Calibration, CalibrationError, Calibrator};
pub use coach::{Coaching, VowelCoach};
pub use features::{BANDS, LogMel};
pub use hearing::{Hearing, label_lag};
pub use network::{Answer, Network};

/// Samples per second that every part of this module works at.
pub const SAMPLE_RATE_HZ: u32 = 16_000;

/// Samples from one report to the next: 10 ms.
pub const HOP: usize = 160;

/// Hops from a sound to its label; the network was trained with it (`LABEL_DELAY` in `models/lipsync/network.py`).
const LABEL_HOPS: usize = 3;

/// Classifies a stream of sound.
pub trait VisemeModel: Send {
    /// Takes the next 16 kHz mono samples, -1..1, the first captured at `captured_at`, and appends one report for each
    /// 10 ms step that became complete to `reports`.
    fn classify(&mut self, samples: &[f32], captured_at: Timestamp, reports: &mut Vec<AudioReport>);

    /// Takes over settings; cheap enough to be called before every block.
    fn configure(&mut self, settings: &AudioSettings);

    /// Forgets the stream: the next samples do not follow the last ones.
    fn reset(&mut self);
}

/// Why there is no viseme model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum VoiceError {
    /// The model file does not fit or cannot be run.
    #[error("the viseme model cannot be used ({0}); install omote anew")]
    Model(String),
}

impl VoiceError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model(_) => ErrorKind::Setup,
        }
    }
}
