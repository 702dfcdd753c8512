//! What the sound says about the microphone: speech gate, exact zeros, level, background. (Clipping is seen before the
//! resampler, by `audio`.)

use super::{HOP, SAMPLE_RATE_HZ};
use crate::signal::smoothing_share;
use crate::types::{AudioHints, AudioState};

/// Seconds of one hop.
const HOP_SECS: f32 = HOP as f32 / SAMPLE_RATE_HZ as f32;

/// The gate opens above the first probability of speech and closes when it stays under the second for a while.
const GATE_OPEN: f32 = 0.6;
const GATE_CLOSE: f32 = 0.35;
const GATE_CLOSE_HOPS: u32 = 6;

/// Below half a step of a 24-bit sample, sound is exact zeros (a resampler leaves no more of them).
const ZERO: f32 = 6e-8;
/// Zeros in the middle of speech are a switch; the mouth has to be taken over within 0.3 s.
const MUTED_IN_SPEECH_SAMPLES: u32 = SAMPLE_RATE_HZ / 10;
/// Between utterances a noise suppressor may give zeros as well: they are a switch only when they last.
const MUTED_IN_SILENCE_SAMPLES: u32 = SAMPLE_RATE_HZ;

/// Speech levels below which a microphone is too quiet, and from which it is not, dBFS.
const TOO_QUIET_ON_DB: f32 = -48.0;
const TOO_QUIET_OFF_DB: f32 = -44.0;
/// Background levels from which a room is noisy, and below which it is not, dBFS.
const NOISY_ON_DB: f32 = -42.0;
const NOISY_OFF_DB: f32 = -46.0;
/// Time constants of the level averages, seconds. Each counts only hops of its own kind.
const SPEECH_AVERAGE_SECS: f32 = 1.5;
const BACKGROUND_AVERAGE_SECS: f32 = 1.0;

/// Opens with speech, closes after it, and does not flutter in between.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SpeechGate {
    pub(super) is_open: bool,
    low_hops: u32,
}

impl SpeechGate {
    /// Takes the next hop's probability of speech.
    pub(super) fn step(&mut self, voiced: f32) -> bool {
        self.low_hops = if voiced < GATE_CLOSE { self.low_hops + 1 } else { 0 };
        if voiced > GATE_OPEN {
            self.is_open = true;
        } else if self.low_hops >= GATE_CLOSE_HOPS {
            self.is_open = false;
        }
        self.is_open
    }
}

/// Follows the sound itself, beside the network.
#[derive(Clone, Debug, Default)]
pub(super) struct Monitor {
    zero_samples: u32,
    zeros_began_in_speech: bool,
    speech_db: Option<f32>,
    background_db: Option<f32>,
    hints: AudioHints,
}

impl Monitor {
    /// Takes one finite sample as the microphone gave it.
    pub(super) fn sample(&mut self, sample: f32, in_speech: bool) {
        if sample.abs() >= ZERO {
            self.zero_samples = 0;
        } else {
            if self.zero_samples == 0 {
                self.zeros_began_in_speech = in_speech;
            }
            self.zero_samples = self.zero_samples.saturating_add(1);
        }
    }

    /// True while the device delivers nothing.
    pub(super) fn is_muted(&self) -> bool {
        let limit = if self.zeros_began_in_speech { MUTED_IN_SPEECH_SAMPLES } else { MUTED_IN_SILENCE_SAMPLES };
        self.zero_samples >= limit
    }

    /// Loudness of what is heard between the words, dBFS; `None` before the first pause.
    pub(super) fn background_db(&self) -> Option<f32> {
        self.background_db
    }

    /// Closes a hop of this loudness; `gate` says whether it was speech.
    pub(super) fn hop(&mut self, level_db: f32, gate: SpeechGate) -> (AudioState, AudioHints) {
        let average = |value: &mut Option<f32>, time_secs: f32| match value {
            Some(value) => *value += (level_db - *value) * smoothing_share(time_secs, HOP_SECS),
            None => *value = Some(level_db),
        };
        if self.zero_samples == 0 {
            if gate.is_open {
                average(&mut self.speech_db, SPEECH_AVERAGE_SECS);
            } else {
                average(&mut self.background_db, BACKGROUND_AVERAGE_SECS);
            }
        }
        let hints = &mut self.hints;
        hints.noisy = self.background_db.is_some_and(|db| hysteresis(hints.noisy, db, NOISY_ON_DB, NOISY_OFF_DB));
        hints.too_quiet =
            self.speech_db.is_some_and(|db| hysteresis(hints.too_quiet, -db, -TOO_QUIET_ON_DB, -TOO_QUIET_OFF_DB));
        let state = match (self.is_muted(), gate.is_open) {
            (true, _) => AudioState::Muted,
            (false, true) => AudioState::Live,
            (false, false) => AudioState::Silent,
        };
        (state, self.hints)
    }
}

fn hysteresis(was_on: bool, value: f32, on: f32, off: f32) -> bool {
    if was_on { value > off } else { value >= on }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_gate_bridges_dips_and_closes_after_60_ms() {
        let mut gate = SpeechGate::default();
        assert!(!gate.step(0.5));
        assert!(gate.step(0.7));
        assert!((0..5).all(|_| gate.step(0.1)));
        assert!(gate.step(0.4));
        assert!((0..5).all(|_| gate.step(0.1)));
        assert!(!gate.step(0.1));
    }

    #[test]
    fn zeros_mute_at_once_in_speech_and_late_in_silence() {
        for (in_speech, secs) in [(true, 0.1), (false, 1.0)] {
            let mut monitor = Monitor::default();
            monitor.sample(0.1, in_speech);
            let mut count = 0;
            while !monitor.is_muted() && count < 32_000 {
                monitor.sample(0.0, in_speech);
                count += 1;
            }
            assert!((count as f32 / 16_000.0 - secs).abs() < 0.01, "{in_speech}: {count}");
            monitor.sample(1e-3, in_speech);
            assert!(!monitor.is_muted());
        }
    }

    #[test]
    fn hints_come_and_go_with_the_level() {
        let mut monitor = Monitor::default();
        let speech = SpeechGate { is_open: true, low_hops: 0 };
        let silence = SpeechGate::default();
        let mut run = |sample: f32, db: f32, gate: SpeechGate| {
            let mut last = AudioHints::default();
            for _ in 0..600 {
                (0..HOP).for_each(|_| monitor.sample(sample, gate.is_open));
                last = monitor.hop(db, gate).1;
            }
            last
        };
        assert_eq!(run(0.1, -20.0, speech), AudioHints::default());
        assert!(run(0.001, -55.0, speech).too_quiet);
        assert!(!run(0.1, -25.0, speech).too_quiet);
        assert!(run(0.1, -30.0, silence).noisy);
        assert!(!run(0.001, -60.0, silence).noisy);
    }
}
