//! This person's blendshapes: what a face at rest weighs, taken off, and the range that is left, stretched.
//!
//! People differ most in brows and corners of the mouth: a resting brow may weigh 0.6 and a resting smile 0.3, and some
//! faces never reach half of what others do. The rest is learned as a low quantile that creeps: every picture moves it
//! by a small step, so neither a laugh nor a wrong picture spoils it. The gain grows only by what was seen.
//!
//! The observation's own blendshapes stay as the network gives them.

use crate::types::ARKIT_COUNT;

/// Faces are at rest for most of the time; shapes are one-sided, so their rest is low.
const REST_QUANTILE: f32 = 0.3;
/// How fast the rest creeps, weight per second; a new face three times as fast.
const REST_PER_SEC: f32 = 0.04;
const NEW_SECS: f32 = 10.0;
/// No face at rest weighs more than this.
const MAX_REST: f32 = 0.5;
/// The strongest a shape gets is the highest fiftieth of what is beyond rest.
const PEAK_QUANTILE: f32 = 0.98;
const PEAK_PER_SEC: f32 = 0.5;
/// A shape beyond rest by this much is in use; less is noise and must not raise the gain.
const IN_USE: f32 = 0.08;
/// A shape at its strongest is shown as this, but nothing is amplified more than [`MAX_GAIN`] times.
const SHOWN_PEAK: f32 = 0.75;
const MAX_GAIN: f32 = 2.0;

/// One person's rest and range, by shape.
#[derive(Clone, Debug)]
pub(super) struct ShapeBaseline {
    rest: [f32; ARKIT_COUNT],
    peak: [f32; ARKIT_COUNT],
    seen_secs: f32,
}

impl Default for ShapeBaseline {
    fn default() -> Self {
        Self { rest: [0.0; ARKIT_COUNT], peak: [SHOWN_PEAK; ARKIT_COUNT], seen_secs: 0.0 }
    }
}

impl ShapeBaseline {
    /// The weights as this person's, 0..1; learns from them for `dt` seconds if the face is seen from the front.
    pub fn personal(&mut self, weights: &[f32; ARKIT_COUNT], is_frontal: bool, dt: f32) -> [f32; ARKIT_COUNT] {
        if is_frontal && dt > 0.0 {
            self.learn(weights, dt);
        }
        std::array::from_fn(|i| {
            let gain = (SHOWN_PEAK / self.peak[i]).clamp(1.0, MAX_GAIN);
            ((weights[i] - self.rest[i]) * gain).clamp(0.0, 1.0)
        })
    }

    /// Takes over a calibrated rest; other lengths than 52 are no rest.
    pub fn calibrate(&mut self, rest: &[f32]) {
        if rest.len() == ARKIT_COUNT && rest.iter().all(|weight| weight.is_finite()) {
            for (own, rest) in self.rest.iter_mut().zip(rest) {
                *own = rest.clamp(0.0, MAX_REST);
            }
            self.seen_secs = NEW_SECS;
        }
    }

    fn learn(&mut self, weights: &[f32; ARKIT_COUNT], dt: f32) {
        let pace = if self.seen_secs < NEW_SECS { 3.0 } else { 1.0 };
        self.seen_secs = (self.seen_secs + dt).min(NEW_SECS);
        for ((&weight, rest), peak) in weights.iter().zip(&mut self.rest).zip(&mut self.peak) {
            if !weight.is_finite() {
                continue;
            }
            creep(rest, weight, REST_QUANTILE, REST_PER_SEC * pace * dt);
            *rest = rest.clamp(0.0, MAX_REST);
            let beyond = weight - *rest;
            if beyond > IN_USE {
                creep(peak, beyond, PEAK_QUANTILE, PEAK_PER_SEC * dt);
                *peak = peak.clamp(SHOWN_PEAK / MAX_GAIN, SHOWN_PEAK);
            }
        }
    }
}

/// Moves the estimate of a quantile by one observation, never past it.
fn creep(estimate: &mut f32, value: f32, quantile: f32, step: f32) {
    let moved = if value > *estimate { step * quantile } else { -step * (1.0 - quantile) };
    let room = (value - *estimate).abs();
    *estimate += moved.clamp(-room, room);
}

#[cfg(test)]
mod tests {
    use super::*;

    const DT: f32 = 1.0 / 30.0;

    /// A minute of a face that rests at `rest` and goes to `peak` for a second of every five.
    fn live(baseline: &mut ShapeBaseline, rest: f32, peak: f32) -> (f32, f32) {
        let mut shown = (0.0, 0.0);
        for i in 0..3600 {
            let is_up = i as f32 * DT % 5.0 < 1.0;
            let weight = if is_up { peak } else { rest };
            let value = baseline.personal(&[weight; ARKIT_COUNT], true, DT)[3];
            if is_up { shown.1 = value } else { shown.0 = value }
        }
        shown
    }

    #[test]
    fn every_face_rests_at_nothing_and_shows_what_it_can() {
        for (rest, peak) in [(0.0, 0.75), (0.3, 0.9), (0.1, 0.55)] {
            let (at_rest, at_peak) = live(&mut ShapeBaseline::default(), rest, peak);
            assert!(at_rest < 0.04, "{rest}..{peak}: rests at {at_rest}");
            assert!((0.55..=0.8).contains(&at_peak), "{rest}..{peak}: comes to {at_peak}");
        }
    }

    #[test]
    fn noise_raises_no_gain_and_a_laugh_is_no_rest() {
        let mut baseline = ShapeBaseline::default();
        for i in 0..3600 {
            baseline.personal(&[0.02 + 0.02 * (i % 2) as f32; ARKIT_COUNT], true, DT);
        }
        assert_eq!(baseline.peak[5], SHOWN_PEAK);
        for _ in 0..90 {
            baseline.personal(&[0.9; ARKIT_COUNT], true, DT);
        }
        assert!(baseline.rest[5] < 0.1, "after three seconds of laughing: {}", baseline.rest[5]);
    }

    #[test]
    fn a_calibrated_rest_holds_at_once() {
        let mut baseline = ShapeBaseline::default();
        baseline.calibrate(&[0.4; ARKIT_COUNT]);
        assert_eq!(baseline.personal(&[0.4; ARKIT_COUNT], true, 0.0), [0.0; ARKIT_COUNT]);
        baseline.calibrate(&[0.1; 7]);
        baseline.calibrate(&[f32::NAN; ARKIT_COUNT]);
        assert_eq!(baseline.rest, [0.4; ARKIT_COUNT]);
    }
}
