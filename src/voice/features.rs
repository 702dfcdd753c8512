//! Log-mel features of a stream. `models/lipsync/features.py` is the same computation; a vector file ties the two.

use std::f64::consts::PI;
use std::sync::Arc;

use realfft::num_complex::Complex;
use realfft::{RealFftPlanner, RealToComplex};

use super::{HOP, SAMPLE_RATE_HZ};

/// Mel bands of one feature frame.
pub const BANDS: usize = 40;
/// Samples of the analysis window: 25 ms.
pub(super) const WINDOW: usize = 400;
const FFT: usize = 512;
const BINS: usize = FFT / 2 + 1;
const LOW_HZ: f64 = 80.0;
const HIGH_HZ: f64 = 7600.0;
/// Mains hum lies below, voices above.
const HIGH_PASS_HZ: f64 = 80.0;
/// Quality factors of the two halves of a fourth-order Butterworth filter.
const HIGH_PASS_Q: [f64; 2] = [0.541_196_100_146_197, 1.306_562_964_876_377];
/// Keeps the logarithm finite; about -90 dBFS of white noise.
const POWER_FLOOR: f32 = 1e-7;
/// Mean square of -120 dBFS, the lowest level that is told apart from nothing.
const QUIETEST: f32 = 1e-12;

/// Turns samples into one frame of [`BANDS`] log powers every [`HOP`] samples. Allocates only when it is made.
pub struct LogMel {
    high_pass: [Biquad; 2],
    /// The newest samples after the high-pass, oldest first; valid up to `filled`.
    window: [f32; WINDOW],
    filled: usize,
    hann: [f32; WINDOW],
    bank: Vec<Triangle>,
    fft: Arc<dyn RealToComplex<f32>>,
    time: Vec<f32>,
    spectrum: Vec<Complex<f32>>,
    scratch: Vec<Complex<f32>>,
    power: [f32; BINS],
    frame: [f32; BANDS],
    level_db: f32,
}

impl LogMel {
    /// A stream that begins after silence.
    pub fn new() -> Self {
        let fft = RealFftPlanner::<f32>::new().plan_fft_forward(FFT);
        let scratch = fft.make_scratch_vec();
        Self {
            high_pass: high_pass(),
            window: [0.0; WINDOW],
            filled: WINDOW - HOP,
            hann: std::array::from_fn(|i| (0.5 - 0.5 * (2.0 * PI * i as f64 / WINDOW as f64).cos()) as f32),
            bank: mel_bank(),
            fft,
            time: vec![0.0; FFT],
            spectrum: vec![Complex::default(); BINS],
            scratch,
            power: [0.0; BINS],
            frame: [POWER_FLOOR.ln(); BANDS],
            level_db: 10.0 * QUIETEST.log10(),
        }
    }

    /// Takes one sample; returns the new frame each time a hop is complete.
    /// The sample must be finite and not beyond a few times full scale.
    pub fn push(&mut self, sample: f32) -> Option<&[f32; BANDS]> {
        let filtered = self.high_pass.iter_mut().fold(f64::from(sample), |x, stage| stage.step(x));
        self.window[self.filled] = filtered as f32;
        self.filled += 1;
        if self.filled < WINDOW {
            return None;
        }
        self.analyse();
        self.window.copy_within(HOP.., 0);
        self.filled = WINDOW - HOP;
        Some(&self.frame)
    }

    /// Loudness of the newest frame's window after the high-pass, dB of full scale (0 = full-scale square wave);
    /// at least -120.
    pub fn level_db(&self) -> f32 {
        self.level_db
    }

    /// Forgets the stream.
    pub fn reset(&mut self) {
        self.high_pass = high_pass();
        self.window = [0.0; WINDOW];
        self.filled = WINDOW - HOP;
        self.level_db = 10.0 * QUIETEST.log10();
    }

    fn analyse(&mut self) {
        let mean_square = self.window.iter().map(|x| x * x).sum::<f32>() / WINDOW as f32;
        self.level_db = 10.0 * mean_square.max(QUIETEST).log10();
        for ((out, x), w) in self.time.iter_mut().zip(&self.window).zip(&self.hann) {
            *out = x * w;
        }
        // The transform uses its input as work space: the padding must be cleared every time.
        self.time[WINDOW..].fill(0.0);
        if self.fft.process_with_scratch(&mut self.time, &mut self.spectrum, &mut self.scratch).is_err() {
            debug_assert!(false, "the buffers were made for this transform");
            self.spectrum.fill(Complex::default());
        }
        for (power, bin) in self.power.iter_mut().zip(&self.spectrum) {
            *power = bin.norm_sqr();
        }
        for (out, triangle) in self.frame.iter_mut().zip(&self.bank) {
            let bins = &self.power[triangle.first_bin..triangle.first_bin + triangle.heights.len()];
            let energy: f32 = bins.iter().zip(&triangle.heights).map(|(p, h)| p * h).sum();
            *out = (energy + POWER_FLOOR).ln();
        }
    }
}

impl Default for LogMel {
    fn default() -> Self {
        Self::new()
    }
}

/// One band of the mel bank: the bins under its triangle. Empty for a band narrower than a bin.
struct Triangle {
    first_bin: usize,
    heights: Vec<f32>,
}

fn mel_bank() -> Vec<Triangle> {
    let mel = |hz: f64| 2595.0 * (1.0 + hz / 700.0).log10();
    let hz = |mel: f64| 700.0 * (10f64.powf(mel / 2595.0) - 1.0);
    let (low, high) = (mel(LOW_HZ), mel(HIGH_HZ));
    let edge = |i: usize| hz(low + (high - low) * i as f64 / (BANDS + 1) as f64);
    (0..BANDS)
        .map(|band| {
            let (left, peak, right) = (edge(band), edge(band + 1), edge(band + 2));
            let height = |bin: usize| {
                let at = bin as f64 * f64::from(SAMPLE_RATE_HZ) / FFT as f64;
                ((at - left) / (peak - left)).min((right - at) / (right - peak)).max(0.0) as f32
            };
            let first_bin = (0..BINS).find(|bin| height(*bin) > 0.0).unwrap_or(0);
            Triangle { first_bin, heights: (first_bin..BINS).map(height).take_while(|h| *h > 0.0).collect() }
        })
        .collect()
}

/// A second-order filter (transposed direct form II) in double precision: at 80 Hz of 16 kHz its poles lie close to 1.
#[derive(Clone, Copy)]
struct Biquad {
    b: [f64; 3],
    a: [f64; 2],
    state: [f64; 2],
}

impl Biquad {
    fn high_pass(hz: f64, q: f64) -> Self {
        let k = (PI * hz / f64::from(SAMPLE_RATE_HZ)).tan();
        let norm = 1.0 / (1.0 + k / q + k * k);
        Self {
            b: [norm, -2.0 * norm, norm],
            a: [2.0 * (k * k - 1.0) * norm, (1.0 - k / q + k * k) * norm],
            state: [0.0; 2],
        }
    }

    fn step(&mut self, x: f64) -> f64 {
        let y = self.b[0] * x + self.state[0];
        self.state[0] = self.b[1] * x - self.a[0] * y + self.state[1];
        self.state[1] = self.b[2] * x - self.a[1] * y;
        // Denormal numbers would make silence slow.
        if self.state[0].abs() < 1e-30 && self.state[1].abs() < 1e-30 {
            self.state = [0.0; 2];
        }
        y
    }
}

fn high_pass() -> [Biquad; 2] {
    HIGH_PASS_Q.map(|q| Biquad::high_pass(HIGH_PASS_HZ, q))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sine_level_db(hz: f64) -> f32 {
        let mut features = LogMel::new();
        for i in 0..16_000 {
            features.push((2.0 * PI * hz * f64::from(i) / 16_000.0).sin() as f32);
        }
        features.level_db()
    }

    #[test]
    fn the_level_of_a_voice_is_true_and_hum_is_taken_out() {
        assert!((sine_level_db(1000.0) + 3.01).abs() < 0.1);
        assert!(sine_level_db(50.0) < -17.0, "{}", sine_level_db(50.0));
        assert!(sine_level_db(60.0) < -11.0, "{}", sine_level_db(60.0));
    }

    #[test]
    fn a_frame_comes_every_hop_and_a_tone_is_in_its_band() {
        let mut features = LogMel::new();
        let mut frames = 0;
        let mut loudest = 0;
        for i in 0..1600 {
            if let Some(frame) = features.push((2.0 * PI * 1000.0 * f64::from(i) / 16_000.0).sin() as f32) {
                frames += 1;
                loudest = (0..BANDS).max_by(|a, b| frame[*a].total_cmp(&frame[*b])).unwrap();
            }
        }
        assert_eq!(frames, 10);
        // 1000 mel lies a third of the way from 80 Hz (122 mel) to 7600 Hz (2788 mel): edge 13.5 of 41.
        assert!((12..=14).contains(&loudest), "{loudest}");
    }

    #[test]
    fn after_a_reset_nothing_is_left() {
        let run = |features: &mut LogMel| {
            (0..800).filter_map(|i| features.push((i as f32 * 0.3).sin()).copied()).collect::<Vec<_>>()
        };
        let mut features = LogMel::new();
        let first = run(&mut features);
        features.reset();
        assert_eq!(run(&mut features), first);
    }
}
