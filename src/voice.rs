//! Sound becomes visemes: 16 kHz mono → log-mel → a small streaming network.
//!
//! Knows nothing of devices (`audio`) or faces.

use crate::types::{AudioReport, Timestamp};

/// Classifies a stream of sound.
pub trait VisemeModel: Send {
    /// Takes the next 16 kHz mono samples, -1..1, the first captured at `captured_at`, and appends one report for each
    /// 10 ms step that became complete to `reports`.
    fn classify(&mut self, samples: &[f32], captured_at: Timestamp, reports: &mut Vec<AudioReport>);

    /// Forgets the stream: the next samples do not follow the last ones.
    fn reset(&mut self);
}
