//! The whole stage: features, network, gain and monitor behind [`VisemeModel`].

use std::time::Duration;

use super::auto_gain::AutoGain;
use super::calibration::{Calibration, Cepstrum, CepstrumMaker};
use super::monitor::{Monitor, SpeechGate};
use super::{Answer, HOP, LABEL_HOPS, LogMel, Network, SAMPLE_RATE_HZ, VisemeModel, VoiceError, features::WINDOW};
use crate::settings::{AudioSettings, HearingLatency};
use crate::types::{AudioReport, Timestamp, VisemeFrame};

/// How long before the newest sample the sound lies that a report describes: half a window and, where the network may
/// wait, the delay of its labels. 42.5 ms, or 12.5 ms with low latency.
pub const fn label_lag(latency: HearingLatency) -> Duration {
    let samples = WINDOW / 2 + label_hops(latency) * HOP;
    Duration::from_micros(samples as u64 * 1_000_000 / SAMPLE_RATE_HZ as u64)
}

const fn label_hops(latency: HearingLatency) -> usize {
    match latency {
        HearingLatency::Accurate => LABEL_HOPS,
        HearingLatency::Low => 0,
    }
}

/// Samples that do not follow the last ones by more than this begin a new stream.
const LARGEST_GAP_SECS: f64 = 0.2;
/// Beyond this a sample is a fault of the device, not sound.
const LARGEST_SAMPLE: f32 = 4.0;
/// The loudness gate listens to the loudest of so many hops, so that the closure of a p does not shut it.
const GATE_HOLD_HOPS: usize = 15;

/// Share of the way to the wanted gain per sample: nearly all of it within a hop.
const GLIDE_SHARE: f32 = 0.02;

/// Hears visemes in a stream of sound. For the `voice` thread.
pub struct Hearing {
    features: LogMel,
    network: Network,
    gate: SpeechGate,
    monitor: Monitor,
    auto_gain: AutoGain,
    /// Levels of the newest hops before the automatic gain, newest first.
    levels_db: [f32; GATE_HOLD_HOPS],
    hops: usize,
    /// When the next sample should have been captured.
    next_at: Option<Timestamp>,
    /// Factor on the samples now, and what it becomes by the end of the hop.
    gain: f32,
    next_gain: f32,
    gate_db: f32,
    has_auto_gain: bool,
    latency: HearingLatency,
    /// The numbers that `calibration` was made of.
    calibration_numbers: Vec<f32>,
    calibration: Option<Calibration>,
    cepstrum: CepstrumMaker,
    /// Of the newest hops, newest first; kept up only while there is a calibration.
    cepstra: [Cepstrum; LABEL_HOPS + 1],
}

impl Hearing {
    /// With the network that omote ships and the default settings, but without a loudness gate.
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
            auto_gain: AutoGain::default(),
            levels_db: [f32::NEG_INFINITY; GATE_HOLD_HOPS],
            hops: 0,
            next_at: None,
            gain: 1.0,
            next_gain: 1.0,
            gate_db: f32::NEG_INFINITY,
            has_auto_gain: true,
            latency: HearingLatency::default(),
            calibration_numbers: Vec::new(),
            calibration: None,
            cepstrum: CepstrumMaker::new(),
            cepstra: Default::default(),
        }
    }

    /// How long before the newest sample the sound lies that a report describes.
    pub fn label_lag(&self) -> Duration {
        label_lag(self.latency)
    }

    /// Closes a hop: the report, if there is one, of the sound that the network now names. The last sample was captured
    /// just before `end`.
    fn hop(&mut self, answer: &Answer, end: Timestamp) -> Option<AudioReport> {
        self.levels_db.rotate_right(1);
        self.levels_db[0] = self.features.level_db() - self.auto_gain.gain_db();
        self.hops += 1;
        let label_hops = label_hops(self.latency);
        if self.hops <= label_hops {
            return None;
        }
        // The level belongs to the same sound as the label.
        let level_db = self.levels_db.get(label_hops).copied().unwrap_or_default();
        let (mut weights, voiced) = match self.latency {
            HearingLatency::Accurate => (answer.visemes, answer.voiced),
            HearingLatency::Low => (answer.visemes_now, answer.voiced_now),
        };
        if let (Some(calibration), Some(cepstrum)) = (&self.calibration, self.cepstra.get(label_hops)) {
            calibration.apply(&mut weights, cepstrum);
        }
        let mut frame = VisemeFrame {
            weights,
            voiced,
            level_db: level_db.max(VisemeFrame::SILENT.level_db),
            laughter: answer.laughter,
        };
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
        if self.has_auto_gain {
            self.auto_gain.step(frame.level_db, frame.voiced, self.monitor.background_db());
            self.next_gain = 10f32.powf(self.auto_gain.gain_db() / 20.0);
        }
        debug_assert!(frame.weights.iter().all(|w| w.is_finite()) && frame.level_db.is_finite());
        Some(AudioReport { captured_at: end.saturating_sub(self.label_lag()), state, hints, frame })
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
            // Gliding within a hop: a step would click.
            self.gain += (self.next_gain - self.gain) * GLIDE_SHARE;
            let amplified = (sample * self.gain).clamp(-LARGEST_SAMPLE, LARGEST_SAMPLE);
            let Some(frame) = self.features.push(amplified) else { continue };
            if self.calibration.is_some() {
                self.cepstra.rotate_right(1);
                self.cepstra[0] = self.cepstrum.of(frame);
            }
            let answer = self.network.step(frame);
            reports.extend(self.hop(&answer, captured_at + span(i + 1)));
        }
        self.next_at = Some(captured_at + span(samples.len()));
    }

    /// Takes effect at the next hop, without a break in the stream. The gain set by hand is the sound path's.
    fn configure(&mut self, settings: &AudioSettings) {
        self.gate_db = if settings.gate_db.is_nan() { f32::NEG_INFINITY } else { settings.gate_db };
        self.latency = settings.latency;
        self.has_auto_gain = settings.auto_gain;
        if self.calibration_numbers != settings.voice_calibration {
            self.calibration_numbers.clone_from(&settings.voice_calibration);
            self.calibration = Calibration::from_numbers(&settings.voice_calibration);
        }
        if !self.has_auto_gain {
            self.auto_gain = AutoGain::default();
            self.next_gain = 1.0;
        }
    }

    fn reset(&mut self) {
        self.features.reset();
        self.network.reset();
        self.gate = SpeechGate::default();
        self.monitor = Monitor::default();
        self.auto_gain = AutoGain::default();
        (self.gain, self.next_gain) = (1.0, 1.0);
        self.levels_db = [f32::NEG_INFINITY; GATE_HOLD_HOPS];
        self.hops = 0;
        self.next_at = None;
    }
}

/// How long so many samples last.
fn span(samples: usize) -> Duration {
    Duration::from_nanos(samples as u64 * 1_000_000_000 / u64::from(SAMPLE_RATE_HZ))
}
