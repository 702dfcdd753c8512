//! The whole stage: features, network and monitor behind [`VisemeModel`].

use std::time::Duration;

use super::monitor::{Monitor, SpeechGate};
use super::{HOP, LogMel, Network, SAMPLE_RATE_HZ, VisemeModel, VoiceError, features::WINDOW};
use crate::settings::AudioSettings;
use crate::types::{AudioReport, Timestamp, VisemeFrame};

/// Hops from a sound to its label; the network was trained with it (`LABEL_DELAY` in `models/lipsync/network.py`).
const LABEL_HOPS: usize = 3;

/// How long before the newest sample the sound lies that a report describes: half a window and the label delay.
pub const LABEL_LAG: Duration =
    Duration::from_micros((WINDOW as u64 / 2 + (LABEL_HOPS * HOP) as u64) * 1_000_000 / SAMPLE_RATE_HZ as u64);

/// Samples that do not follow the last ones by more than this begin a new stream.
const LARGEST_GAP_SECS: f64 = 0.2;
/// Beyond this a sample is a fault of the device, not sound.
const LARGEST_SAMPLE: f32 = 4.0;
/// The loudness gate listens to the loudest of so many hops, so that the closure of a p does not shut it.
const GATE_HOLD_HOPS: usize = 15;

/// Hears visemes in a stream of sound. For the `voice` thread.
pub struct Hearing {
    features: LogMel,
    network: Network,
    gate: SpeechGate,
    monitor: Monitor,
    /// Levels of the newest hops, newest first.
    levels_db: [f32; GATE_HOLD_HOPS],
    hops: usize,
    /// When the next sample should have been captured.
    next_at: Option<Timestamp>,
    gain: f32,
    gate_db: f32,
}

impl Hearing {
    /// With the network that omote ships, without gain and loudness gate.
    ///
    /// # Errors
    /// If the network cannot be run.
    pub fn new() -> Result<Self, VoiceError> {
        Network::embedded().map(Self::with_network)
    }

    /// With another network.
    pub fn with_network(network: Network) -> Self {
        Self {
            features: LogMel::new(),
            network,
            gate: SpeechGate::default(),
            monitor: Monitor::default(),
            levels_db: [f32::NEG_INFINITY; GATE_HOLD_HOPS],
            hops: 0,
            next_at: None,
            gain: 1.0,
            gate_db: f32::NEG_INFINITY,
        }
    }

    /// Takes over gain and gate; takes effect at the next sample, without a break in the stream.
    pub fn configure(&mut self, settings: &AudioSettings) {
        self.gain =
            if settings.gain_db.is_finite() { 10f32.powf(settings.gain_db.clamp(-60.0, 60.0) / 20.0) } else { 1.0 };
        self.gate_db = if settings.gate_db.is_nan() { f32::NEG_INFINITY } else { settings.gate_db };
    }

    /// The report of a complete hop whose last sample was captured just before `end`.
    fn report(&mut self, visemes: VisemeFrame, end: Timestamp) -> AudioReport {
        let mut frame = visemes;
        // The level belongs to the same sound as the label.
        frame.level_db = self.levels_db[LABEL_HOPS].max(VisemeFrame::SILENT.level_db);
        let loudest_db = self.levels_db.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        let is_muted = self.monitor.is_muted();
        if is_muted || loudest_db < self.gate_db {
            frame = VisemeFrame { level_db: frame.level_db, ..VisemeFrame::SILENT };
        }
        self.gate.step(frame.voiced);
        if is_muted {
            self.gate = SpeechGate::default();
        }
        let (state, hints) = self.monitor.hop(self.levels_db[0], self.gate);
        debug_assert!(frame.weights.iter().all(|w| w.is_finite()) && frame.level_db.is_finite());
        AudioReport { captured_at: end.saturating_sub(LABEL_LAG), state, hints, frame }
    }
}

impl VisemeModel for Hearing {
    fn classify(&mut self, samples: &[f32], captured_at: Timestamp, reports: &mut Vec<AudioReport>) {
        if self.next_at.is_some_and(|next| captured_at.secs_after(next).abs() > LARGEST_GAP_SECS) {
            self.reset();
        }
        for (i, sample) in samples.iter().enumerate() {
            let sample = if sample.is_finite() { sample.clamp(-LARGEST_SAMPLE, LARGEST_SAMPLE) } else { 0.0 };
            self.monitor.sample(sample, self.gate.is_open);
            let amplified = (sample * self.gain).clamp(-LARGEST_SAMPLE, LARGEST_SAMPLE);
            let Some(frame) = self.features.push(amplified) else { continue };
            let answer = self.network.step(frame);
            self.levels_db.rotate_right(1);
            self.levels_db[0] = self.features.level_db();
            self.hops += 1;
            if self.hops <= LABEL_HOPS {
                continue;
            }
            let frame = VisemeFrame { weights: answer.visemes, voiced: answer.voiced, level_db: 0.0, laughter: 0.0 };
            reports.push(self.report(frame, captured_at + span(i + 1)));
        }
        self.next_at = Some(captured_at + span(samples.len()));
    }

    fn reset(&mut self) {
        self.features.reset();
        self.network.reset();
        self.gate = SpeechGate::default();
        self.monitor = Monitor::default();
        self.levels_db = [f32::NEG_INFINITY; GATE_HOLD_HOPS];
        self.hops = 0;
        self.next_at = None;
    }
}

/// How long so many samples last.
fn span(samples: usize) -> Duration {
    Duration::from_nanos(samples as u64 * 1_000_000_000 / u64::from(SAMPLE_RATE_HZ))
}
