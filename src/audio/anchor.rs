//! The time of a sample: the session's clock, read in audio callbacks, smoothed.
//!
//! A sample counter alone drifts 0.7 s in 4 h where the device's crystal is 50 ppm off; a callback's time alone jumps
//! with the scheduler. Callbacks come late, never early, so the truth is the lower edge of what they say.

use std::time::Duration;

use crate::types::Timestamp;

/// The lower edge is looked for over two windows of this length, so over the last 0.5–1 s.
const WINDOW_SECS: f64 = 0.5;
/// Differences beyond this are no jitter but lost samples or a device that stood still: believed at once.
const JUMP_SECS: f64 = 0.05;
/// How fast small differences are made up for, seconds a second: 20 times the drift of a bad crystal.
const SLEW: f64 = 0.002;

/// Turns sample numbers into times. Pure: fed with what callbacks observed.
#[derive(Clone, Debug)]
pub struct ClockAnchor {
    rate_hz: f64,
    /// Time of sample 0 if the device kept to its rate, seconds; `None` before the first callback.
    origin_secs: Option<f64>,
    /// Lowest origin seen in the current window and in the one before it.
    lowest: [f64; 2],
    window_began_secs: f64,
    last_secs: f64,
}

impl ClockAnchor {
    /// An anchor for a device of this rate.
    pub fn new(rate_hz: u32) -> Self {
        Self {
            rate_hz: f64::from(rate_hz.max(1)),
            origin_secs: None,
            lowest: [f64::INFINITY; 2],
            window_began_secs: 0.0,
            last_secs: 0.0,
        }
    }

    /// A callback said that sample number `index` was captured at `at`. Calls come in order of `index`.
    pub fn observe(&mut self, index: u64, at: Timestamp) {
        let now = at.as_secs_f64();
        let origin = now - index as f64 / self.rate_hz;
        let Some(current) = self.origin_secs else {
            self.origin_secs = Some(origin);
            self.lowest = [origin, f64::INFINITY];
            self.window_began_secs = now;
            self.last_secs = now;
            return;
        };
        if now - self.window_began_secs >= WINDOW_SECS {
            self.lowest = [f64::INFINITY, self.lowest[0]];
            self.window_began_secs = now;
        }
        self.lowest[0] = self.lowest[0].min(origin);
        let target = self.lowest[0].min(self.lowest[1]);
        let step = SLEW * (now - self.last_secs).clamp(0.0, WINDOW_SECS);
        self.last_secs = now;
        let difference = target - current;
        // An earlier callback than any before proves that the others were late.
<<<<<<< HEAD
<<<<<<< HEAD
        let corrected = if (0.0..=JUMP_SECS).contains(&difference) { current + difference.min(step) } else { target };
=======
        let corrected =
            if difference < 0.0 || difference > JUMP_SECS { target } else { current + difference.min(step) };
>>>>>>> render
=======
        let corrected =
            if difference < 0.0 || difference > JUMP_SECS { target } else { current + difference.min(step) };
>>>>>>> presenter
        self.origin_secs = Some(corrected);
    }

    /// When sample number `index` was captured; `None` before the first callback.
    pub fn time_of(&self, index: u64) -> Option<Timestamp> {
        self.origin_secs.map(|origin| Timestamp::from_secs_f64(origin + index as f64 / self.rate_hz))
    }

    /// How long `samples` last.
    pub fn duration_of(&self, samples: u64) -> Duration {
        Duration::from_secs_f64(samples as f64 / self.rate_hz)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Rng;

    /// Runs `secs` of a 48 kHz device whose crystal is `ppm` off; callbacks every 480 samples come late by `late(rng)`.
    /// Returns the largest error after the first second.
    fn worst_error(secs: f64, ppm: f64, mut late: impl FnMut(&mut Rng) -> f64) -> f64 {
        let mut anchor = ClockAnchor::new(48_000);
        let mut rng = Rng::new(7);
        let real_rate = 48_000.0 * (1.0 + ppm * 1e-6);
        let mut worst: f64 = 0.0;
        for block in 0..(secs * 100.0) as u64 {
            let first = block * 480;
            let truth = 5.0 + first as f64 / real_rate;
            anchor.observe(first, Timestamp::from_secs_f64(truth + late(&mut rng)));
            if block > 100 {
                let said = anchor.time_of(first).expect("anchored").as_secs_f64();
                worst = worst.max((said - truth).abs());
            }
        }
        worst
    }

    #[test]
    fn four_hours_of_drift_and_jitter_stay_within_ten_milliseconds() {
        for ppm in [-100.0, 0.0, 100.0] {
            // Late by 3 ms on average, by up to 40 ms now and then.
            let worst = worst_error(4.0 * 3600.0, ppm, |rng| {
                let x = f64::from(rng.range(0.0, 1.0));
                if x > 0.995 { 0.04 } else { -0.003 * (1.0 - x).max(1e-6).ln() }
            });
            assert!(worst <= 0.010, "{ppm} ppm: {worst:.4} s");
        }
    }

    #[test]
    fn lost_samples_move_the_time_at_once() {
        let mut anchor = ClockAnchor::new(48_000);
        let at = Timestamp::from_secs_f64;
        for block in 0..200_u64 {
            anchor.observe(block * 480, at(block as f64 * 0.01));
        }
        // 0.3 s of sound are missing; within the two windows the later time is believed.
        for block in 200..320_u64 {
            anchor.observe(block * 480, at(block as f64 * 0.01 + 0.3));
        }
        let said = anchor.time_of(320 * 480).expect("anchored").as_secs_f64();
        assert!((said - 3.5).abs() < 0.002, "{said}");
    }

    #[test]
    fn an_anchor_without_callbacks_knows_no_time() {
        assert_eq!(ClockAnchor::new(48_000).time_of(5), None);
        assert_eq!(ClockAnchor::new(0).duration_of(3), Duration::from_secs(3));
    }
}
