//! Any sample rate becomes 16 kHz, with little delay.
//!
//! A polyphase FIR low-pass: a Kaiser-windowed sinc of ±2.5 ms. It is symmetric, so it shifts nothing: output sample
//! `k` belongs to the moment `k / 16 kHz` of the input; it only has to wait 2.5 ms for the samples after it.
//! Positions are whole numbers, so there is no drift however long it runs, and each output depends on the same inputs
//! in the same order however the input is cut into blocks.

use std::f64::consts::PI;
use std::time::Duration;

use crate::types::Timestamp;

/// The rate everything behind `audio` works at.
pub const OUTPUT_RATE_HZ: u32 = 16_000;
/// Rates that can be resampled.
pub const INPUT_RATES_HZ: std::ops::RangeInclusive<u32> = 8_000..=192_000;

/// Half the length of the filter, seconds: also its delay.
const HALF_SECS: f64 = 0.002_5;
/// Shape of the Kaiser window: side lobes at −80 dB.
const KAISER_BETA: f64 = 7.86;
/// Half the transition band that this length and window need, Hz: `(A − 8) / (2.285 · 2π · 5 ms) / 2`.
const HALF_TRANSITION_HZ: f64 = 500.0;
/// Odd rates have thousands of phases; beyond this many, the nearest two are mixed.
const PHASE_LIMIT: u64 = 640;

/// Why a rate cannot be resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a sample rate of {0} Hz is not supported; it must be 8000 to 192000 Hz")]
pub struct RateError(pub u32);

/// A streaming resampler to 16 kHz mono.
#[derive(Clone, Debug)]
pub struct Resampler {
    input_rate_hz: u32,
    /// Outputs per input is `up / down`, in lowest terms.
    up: u64,
    down: u64,
    /// Taps to each side of the centre.
    half: usize,
    /// `phases + 1` rows of `2 · half` taps; row `p` is for a position `p / phases` behind an input sample.
    taps: Vec<f32>,
    phases: u64,
    /// The inputs that are still needed; the first one has the number `history_first − half`.
    history: Vec<f32>,
    history_first: u64,
    /// Number of the next output sample.
    next_output: u64,
    /// Number of input samples taken.
    taken: u64,
}

impl Resampler {
    /// A resampler for input of this rate. At 16 kHz it passes samples on untouched, without delay.
    ///
    /// # Errors
    /// If the rate is out of range.
    pub fn new(input_rate_hz: u32) -> Result<Self, RateError> {
        if !INPUT_RATES_HZ.contains(&input_rate_hz) {
            return Err(RateError(input_rate_hz));
        }
        let divisor = greatest_common_divisor(u64::from(input_rate_hz), u64::from(OUTPUT_RATE_HZ));
        let up = u64::from(OUTPUT_RATE_HZ) / divisor;
        let down = u64::from(input_rate_hz) / divisor;
        let is_passthrough = up == down;
        let half = if is_passthrough { 0 } else { (HALF_SECS * f64::from(input_rate_hz)).ceil() as usize };
        let phases = up.min(PHASE_LIMIT);
        let taps = if is_passthrough { Vec::new() } else { design(input_rate_hz, half, phases) };
        let history = vec![0.0; half];
        Ok(Self { input_rate_hz, up, down, half, taps, phases, history, history_first: 0, next_output: 0, taken: 0 })
    }

    /// How long an input sample waits before the output at its moment can be made.
    pub fn delay(&self) -> Duration {
        Duration::from_secs_f64(self.half as f64 / f64::from(self.input_rate_hz))
    }

    /// Takes `input`, the first sample of which was captured at `captured_at`, and appends all outputs that can be made
    /// to `out`. Returns the moment that the first of them describes (or would, if there is none).
    pub fn push(&mut self, input: &[f32], captured_at: Timestamp, out: &mut Vec<f32>) -> Timestamp {
        // The next output, in input samples from the first one of this block; negative while it lies in older ones.
        let position = (self.next_output as f64 * self.down as f64) / self.up as f64 - self.taken as f64;
        let offset_secs = position / f64::from(self.input_rate_hz);
        let first_at = Timestamp::from_secs_f64(captured_at.as_secs_f64() + offset_secs);
        self.taken += input.len() as u64;
        if self.half == 0 {
            out.extend_from_slice(input);
            self.next_output += input.len() as u64;
            return first_at;
        }
        self.history.extend_from_slice(input);
        let width = self.half * 2;
        loop {
            let numerator = self.next_output * self.down;
            let centre = numerator / self.up;
            // Taps cover the inputs centre − half + 1 ..= centre + half; the history starts `half` earlier.
            let start = (centre + 1 - self.history_first) as usize;
            let Some(window) = self.history.get(start..start + width) else { break };
            out.push(self.convolve(window, numerator % self.up));
            self.next_output += 1;
        }
        // What lies before the next output's window is not needed again.
        let next_centre = self.next_output * self.down / self.up;
        let unneeded = ((next_centre + 1).saturating_sub(self.history_first) as usize).min(self.history.len());
        // Moving the rest to the front now and then is cheaper than each time.
        if unneeded > 4 * width {
            self.history.drain(..unneeded);
            self.history_first += unneeded as u64;
        }
        first_at
    }

    /// Forgets the stream; the next samples do not follow the last ones.
    pub fn reset(&mut self) {
        self.history.clear();
        self.history.resize(self.half, 0.0);
        self.history_first = 0;
        self.next_output = 0;
        self.taken = 0;
    }

    fn row(&self, phase: u64) -> &[f32] {
        let width = self.half * 2;
        let start = phase as usize * width;
        self.taps.get(start..start + width).unwrap_or_default()
    }

    /// The output `remainder / up` of an input period behind the window's centre.
    fn convolve(&self, window: &[f32], remainder: u64) -> f32 {
        let dot = |row: &[f32]| -> f32 {
            // Four sums side by side, always in the same order: fast and the same bits every time.
            let mut sums = [0.0_f32; 4];
            let (samples, taps) = (window.chunks_exact(4), row.chunks_exact(4));
            let rest = samples.remainder().iter().zip(taps.remainder()).map(|(s, t)| s * t).sum::<f32>();
            for (samples, taps) in samples.zip(taps) {
                for ((sum, sample), tap) in sums.iter_mut().zip(samples).zip(taps) {
                    *sum += sample * tap;
                }
            }
            sums.iter().sum::<f32>() + rest
        };
        if self.phases == self.up {
            return dot(self.row(remainder));
        }
        let scaled = remainder * self.phases;
        let phase = scaled / self.up;
        let between = (scaled % self.up) as f32 / self.up as f32;
        let (a, b) = (dot(self.row(phase)), dot(self.row(phase + 1)));
        a + (b - a) * between
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a.max(1) } else { greatest_common_divisor(b, a % b) }
}

/// The taps of all phases; each row sums to 1, so that a constant stays what it is.
fn design(input_rate_hz: u32, half: usize, phases: u64) -> Vec<f32> {
    let rate = f64::from(input_rate_hz);
    // Half of the lower rate, less the transition: nothing above it may come back mirrored.
    let cutoff_hz = f64::from(input_rate_hz.min(OUTPUT_RATE_HZ)) / 2.0 - HALF_TRANSITION_HZ;
    let half_len = half as f64;
    let norm = bessel_i0(KAISER_BETA);
    let mut taps = Vec::with_capacity((phases as usize + 1) * half * 2);
    for phase in 0..=phases {
        let behind = phase as f64 / phases as f64;
        let row: Vec<f64> = (0..half * 2)
            .map(|i| {
                // Distance of this tap's input from the output's position, in input samples.
                let distance = i as f64 + 1.0 - half_len - behind;
                let x = 2.0 * cutoff_hz / rate * distance;
                let sinc = if x.abs() < 1e-9 { 1.0 } else { (PI * x).sin() / (PI * x) };
                let inside = 1.0 - (distance / half_len).powi(2);
                sinc * bessel_i0(KAISER_BETA * inside.max(0.0).sqrt()) / norm
            })
            .collect();
        let sum: f64 = row.iter().sum();
        taps.extend(row.iter().map(|tap| (tap / sum) as f32));
    }
    taps
}

/// The modified Bessel function of order 0, by its series.
fn bessel_i0(x: f64) -> f64 {
    let quarter = x * x / 4.0;
    let (mut term, mut sum) = (1.0, 1.0);
    for k in 1..40 {
        term *= quarter / f64::from(k * k);
        sum += term;
        if term < sum * 1e-12 {
            break;
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const RATES: [u32; 9] = [8_000, 11_025, 22_050, 32_000, 44_100, 47_999, 48_000, 96_000, 192_000];

    fn tone(rate: u32, hz: f64, secs: f64) -> Vec<f32> {
        (0..(f64::from(rate) * secs) as usize)
            .map(|i| (2.0 * PI * hz * i as f64 / f64::from(rate)).sin() as f32 * 0.5)
            .collect()
    }

    fn resample(rate: u32, input: &[f32]) -> Vec<f32> {
        let mut out = Vec::new();
        Resampler::new(rate).expect("rate").push(input, Timestamp::ZERO, &mut out);
        out
    }

    /// Power of what is not the tone, relative to the tone, dB.
    fn noise_db(out: &[f32], hz: f64) -> f64 {
        let body = &out[200..out.len() - 200];
        let noise: f64 = body
            .iter()
            .enumerate()
            .map(|(i, v)| {
                let want = (2.0 * PI * hz * (i + 200) as f64 / 16_000.0).sin() * 0.5;
                (f64::from(*v) - want).powi(2)
            })
            .sum();
        10.0 * (noise / body.len() as f64 / 0.125).log10()
    }

    #[test]
    fn tones_come_out_right_in_level_time_and_shape() {
        for rate in RATES {
            let top = f64::from(rate.min(OUTPUT_RATE_HZ)) / 2.0 - 1_100.0;
            for hz in [60.0, 250.0, 1_000.0, 2_500.0, top] {
                let out = resample(rate, &tone(rate, hz, 0.15));
                let noise = noise_db(&out, hz);
                assert!(noise < -55.0, "{rate} Hz in, {hz} Hz tone: noise at {noise:.1} dB");
            }
        }
    }

    #[test]
    fn what_lies_above_the_new_limit_does_not_come_back() {
        for rate in [44_100, 48_000, 96_000] {
            for hz in [8_100.0, 9_000.0, 12_000.0, 15_000.0, 20_000.0] {
                let out = resample(rate, &tone(rate, hz, 0.15));
                let power: f64 = out[100..out.len() - 100].iter().map(|v| f64::from(*v).powi(2)).sum::<f64>()
                    / (out.len() - 200) as f64;
                let db = 10.0 * (power / 0.125).log10();
                assert!(db < -60.0, "{rate} Hz in: a tone at {hz} Hz leaves {db:.1} dB");
            }
        }
    }

    #[test]
    fn sixteen_kilohertz_pass_untouched() {
        let input = tone(16_000, 440.0, 0.1);
        assert_eq!(resample(16_000, &input), input);
        assert_eq!(Resampler::new(16_000).expect("rate").delay(), Duration::ZERO);
    }

    #[test]
    fn the_delay_is_small_and_no_sample_is_ever_lost() {
        for rate in [44_100_u32, 48_000] {
            let mut resampler = Resampler::new(rate).expect("rate");
            assert!(resampler.delay() <= Duration::from_millis(3));
            let block = vec![0.1; rate as usize / 100];
            let mut out = Vec::new();
            let mut made = 0;
            for i in 0..1_000_u64 {
                out.clear();
                let at = resampler.push(&block, Timestamp::from_secs_f64(10.0 + i as f64 / 100.0), &mut out);
                let want = 10.0 + made as f64 / 16_000.0;
                assert!((at.as_secs_f64() - want).abs() < 2e-6, "block {i}: {} for {want}", at.as_secs_f64());
                made += out.len();
            }
            assert!((10 * 16_000 - made as i64).abs() <= 41, "{made} samples of ten seconds");
        }
    }

    #[test]
    fn rates_out_of_range_are_refused() {
        for rate in [0, 7_999, 192_001, u32::MAX] {
            assert!(Resampler::new(rate).is_err(), "{rate}");
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(16))]
        /// Any cutting of the input into blocks gives the same bits.
        #[test]
        fn blocks_do_not_matter(
            rate in prop::sample::select(RATES.to_vec()),
            cuts in proptest::collection::vec(0_usize..700, 1..30),
            seed in any::<u64>(),
        ) {
            let mut rng = crate::signal::Rng::new(seed);
            let input: Vec<f32> = (0..cuts.iter().sum()).map(|_| rng.range(-1.0, 1.0)).collect();
            let whole = resample(rate, &input);
            let mut resampler = Resampler::new(rate).expect("rate");
            let (mut pieces, mut at) = (Vec::new(), 0);
            for cut in cuts {
                resampler.push(&input[at..at + cut], Timestamp::ZERO, &mut pieces);
                at += cut;
            }
            prop_assert_eq!(whole, pieces);
        }
    }
}
