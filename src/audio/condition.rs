//! What is done to samples before anything looks at them: gain, and the removal of a constant offset. And what can only
//! be seen before that: whether they are clipped.

use crate::types::AudioHints;

/// Corner of the high-pass, Hz: below any voice, above the rumble of desks and fans.
const CORNER_HZ: f32 = 25.0;

/// A converter's limit; 8-bit sound never reaches more.
const FULL_SCALE: f32 = 0.985;
/// Clipped share of about a second from which the user should know, and at which the hint goes.
const CLIPPING_ON: f32 = 1.5e-3;
const CLIPPING_OFF: f32 = 2.5e-4;
/// However long it clipped, the hint goes after about 3 s without.
const CLIPPING_LIMIT: f32 = 6e-3;

/// Gain and DC blocker for one stream.
#[derive(Clone, Debug)]
pub struct Conditioner {
    gain: f32,
    /// How much of the last output stays.
    keep: f32,
    last_input: f32,
    last_output: f32,
    rate_hz: f32,
    /// Seconds of clipped samples in about the last second.
    clipped_secs: f32,
    is_clipping: bool,
}

impl Conditioner {
    /// For a stream of this rate.
    pub fn new(rate_hz: u32, gain_db: f32) -> Self {
        let rate_hz = rate_hz.max(1_000) as f32;
        let mut conditioner = Self {
            gain: 1.0,
            keep: (-std::f32::consts::TAU * CORNER_HZ / rate_hz).exp(),
            last_input: 0.0,
            last_output: 0.0,
            rate_hz,
            clipped_secs: 0.0,
            is_clipping: false,
        };
        conditioner.set_gain_db(gain_db);
        conditioner
    }

    /// Changes the gain, dB; clamped to ±60, NaN is 0.
    pub fn set_gain_db(&mut self, gain_db: f32) {
        let gain_db = if gain_db.is_nan() { 0.0 } else { gain_db.clamp(-60.0, 60.0) };
        self.gain = 10.0_f32.powf(gain_db / 20.0);
    }

    /// Treats the next samples in place. What is no finite number becomes silence.
    pub fn process(&mut self, samples: &mut [f32]) {
        self.look_for_clipping(samples);
        for sample in samples {
            let input = if sample.is_finite() { *sample * self.gain } else { 0.0 };
            let output = input - self.last_input + self.keep * self.last_output;
            // Denormal numbers would make silence expensive.
            self.last_output = if output.abs() < 1e-15 { 0.0 } else { output };
            self.last_input = input;
            *sample = self.last_output;
        }
    }

    /// What the samples said about the device: whether they hit its limit.
    pub fn hints(&self) -> AudioHints {
        AudioHints { clipping: self.is_clipping, ..AudioHints::default() }
    }

    fn look_for_clipping(&mut self, samples: &[f32]) {
        let block_secs = samples.len() as f32 / self.rate_hz;
        // NaN is no number and not loud; infinity has gone beyond every limit.
        let clipped = samples.iter().filter(|s| s.abs() >= FULL_SCALE).count() as f32 / self.rate_hz;
        self.clipped_secs = (self.clipped_secs * (-block_secs).exp() + clipped).min(CLIPPING_LIMIT);
        let limit = if self.is_clipping { CLIPPING_OFF } else { CLIPPING_ON };
        self.is_clipping = self.clipped_secs >= limit;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(hz: f32, rate: u32, gain_db: f32) -> f32 {
        let mut samples: Vec<f32> =
            (0..rate).map(|i| (std::f32::consts::TAU * hz * i as f32 / rate as f32).sin() * 0.1 + 0.5).collect();
        Conditioner::new(rate, gain_db).process(&mut samples);
        samples[rate as usize / 2..].iter().fold(0.0_f32, |m, s| m.max(s.abs()))
    }

    #[test]
    fn the_offset_goes_and_the_voice_stays() {
        for rate in [8_000, 16_000, 48_000, 192_000] {
            assert!((level(150.0, rate, 0.0) - 0.1).abs() < 0.005, "{rate}");
            assert!((level(150.0, rate, 20.0) - 1.0).abs() < 0.05, "{rate}");
            assert!(level(3.0, rate, 0.0) < 0.02, "{rate}");
        }
    }

    #[test]
    fn clipping_is_seen_whatever_the_gain_and_forgotten_after() {
        for (rate, gain_db) in [(8_000, 0.0), (48_000, -20.0), (192_000, 20.0)] {
            let mut conditioner = Conditioner::new(rate, gain_db);
            let mut feed = |amplitude: f32, secs: u32| {
                for block in 0..secs * 100 {
                    let mut samples: Vec<f32> = (0..rate / 100)
                        .map(|i| (block * (rate / 100) + i) as f32 / rate as f32 * 1000.0)
                        .map(|phase| (phase.sin() * amplitude).clamp(-1.0, 1.0))
                        .collect();
                    conditioner.process(&mut samples);
                }
                conditioner.hints().clipping
            };
            assert!(!feed(0.9, 1), "{rate}");
            assert!(feed(1.5, 1), "{rate}");
            assert!(feed(0.5, 1), "{rate}");
            assert!(!feed(0.5, 4), "{rate}");
        }
    }

    #[test]
    fn nothing_but_numbers_comes_out() {
        let mut samples = [f32::NAN, f32::INFINITY, 1.0, f32::NEG_INFINITY, -1.0];
        let mut conditioner = Conditioner::new(48_000, f32::NAN);
        conditioner.process(&mut samples);
        assert!(samples.iter().all(|s| s.is_finite()), "{samples:?}");
    }
}
