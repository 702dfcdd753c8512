//! How much a source is believed: from its reports' state and age to a confidence that fades (BEHAVIOUR, known loss).

use crate::signal::Slew;

/// A loss that was shorter is no loss on return: one missed frame must not cost the 0.1 s of [`PROVE_SECS`].
const LATCH_SECS: f64 = 0.12;
/// Good data for this long before a lost source is believed again.
const PROVE_SECS: f64 = 0.10;
/// From full belief to none, and back.
const FADE_SECS: f32 = 0.12;
/// Float noise in time comparisons.
const TIME_SLACK: f64 = 1e-6;

/// Belief in one source.
#[derive(Clone, Debug)]
pub(super) struct Health {
    confidence: Slew,
    arrived_at: Option<f64>,
    is_good: bool,
    good_since: Option<f64>,
    bad_since: Option<f64>,
    is_latched: bool,
}

impl Health {
    /// A source that has never been heard of.
    pub fn new() -> Self {
        Self {
            confidence: Slew::default(),
            arrived_at: None,
            is_good: false,
            good_since: None,
            bad_since: None,
            is_latched: true,
        }
    }

    /// Belief now, 0..1.
    pub fn confidence(&self) -> f32 {
        self.confidence.value
    }

    /// True where the source has gone without a report for too long, or has never given one.
    pub fn is_stale(&self, now: f64, timeout_secs: f64) -> bool {
        self.arrived_at.is_none_or(|at| now - at > timeout_secs + TIME_SLACK)
    }

    /// Brings the belief to `now`.
    ///
    /// `fresh` is whether a report that arrived since the last call was good, `quality` (0..1) how good. Age is counted
    /// from arrival, not from capture: a slow but steady camera is not a lost one.
    pub fn step(&mut self, now: f64, dt: f32, fresh: Option<bool>, quality: f32, timeout_secs: f64) -> f32 {
        if let Some(is_good) = fresh {
            self.arrived_at = Some(now);
            self.is_good = is_good;
        }
        if self.is_good && !self.is_stale(now, timeout_secs) {
            self.bad_since = None;
            let since = *self.good_since.get_or_insert(now);
            if now - since >= PROVE_SECS - TIME_SLACK {
                self.is_latched = false;
            }
        } else {
            self.good_since = None;
            let since = *self.bad_since.get_or_insert(now);
            if now - since >= LATCH_SECS - TIME_SLACK {
                self.is_latched = true;
            }
        }
        let is_believed = self.good_since.is_some() && !self.is_latched;
        let target = if is_believed { quality.clamp(0.0, 1.0) } else { 0.0 };
        self.confidence.step(target, 1.0 / FADE_SECS, dt)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(health: &mut Health, from: f64, until: f64, fresh: impl Fn(f64) -> Option<bool>) -> f64 {
        let dt = 1.0 / 60.0;
        let mut now = from;
        while now < until {
            health.step(now, dt as f32, fresh(now), 1.0, 0.08);
            now += dt;
        }
        now
    }

    #[test]
    fn a_silent_source_fades_within_a_fifth_of_a_second() {
        let mut health = Health::new();
        let now = run(&mut health, 0.0, 0.5, |_| Some(true));
        assert_eq!(health.confidence(), 1.0);
        let now = run(&mut health, now, now + 0.06, |_| None);
        assert_eq!(health.confidence(), 1.0);
        run(&mut health, now, now + 0.16, |_| None);
        assert_eq!(health.confidence(), 0.0);
    }

    #[test]
    fn a_lost_source_must_prove_itself_but_a_missed_frame_costs_little() {
        let mut health = Health::new();
        let now = run(&mut health, 0.0, 0.09, |_| Some(true));
        assert_eq!(health.confidence(), 0.0, "believed too early");
        let now = run(&mut health, now, now + 0.4, |_| Some(true));
        let now = run(&mut health, now, now + 0.034, |_| Some(false));
        assert!(health.confidence() > 0.5);
        let now = run(&mut health, now, now + 0.07, |_| Some(true));
        assert_eq!(health.confidence(), 1.0);
        let now = run(&mut health, now, now + 0.5, |_| Some(false));
        run(&mut health, now, now + 0.09, |_| Some(true));
        assert_eq!(health.confidence(), 0.0);
    }
}
