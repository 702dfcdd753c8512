//! How much of the machine face tracking may take: which pictures are looked at, and what a machine can afford.
//!
//! Pure; times come in. Between two pictures that are looked at the mixer glides and leads the head on (`mix::seen`), so
//! fewer pictures cost a few hundredths of a second of lag, not smoothness.

use std::time::Duration;

use crate::settings::Quality;
use crate::types::Timestamp;

/// Tracked frames dearer than these are too much for each step: half a core, and nearly a whole one, at 30 a second.
const FULL_WITHIN: Duration = Duration::from_millis(16);
const LIGHT_WITHIN: Duration = Duration::from_millis(28);
/// A picture is taken this share of the wanted interval early: cameras are uneven, and every second picture of a camera
/// that is a little too fast is better than an uneven choice of them.
const EARLY: f64 = 0.35;
/// The tracker is overloaded when for so long a picture takes it this share of the camera's interval ...
const OVERLOADED_ABOVE: f32 = 0.9;
const OVERLOADED_AFTER: Duration = Duration::from_secs(2);
/// ... and no longer when for so long it is under this one.
const RELIEVED_BELOW: f32 = 0.6;
const RELIEVED_AFTER: Duration = Duration::from_secs(10);
/// How fast the average of that share follows.
const LOAD_SHARE: f32 = 0.1;

/// The step for a machine on which a tracked frame takes this long.
pub fn affordable(frame_cost: Duration) -> Quality {
    match frame_cost {
        cost if cost <= FULL_WITHIN => Quality::Full,
        cost if cost <= LIGHT_WITHIN => Quality::Light,
        _ => Quality::Eco,
    }
}

/// Chooses the pictures that are looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Thinning {
    last: Option<Timestamp>,
}

impl Thinning {
    /// Whether the picture taken `at` is looked at.
    pub fn takes(&mut self, at: Timestamp, quality: Quality) -> bool {
        let interval_secs = match quality {
            Quality::Auto | Quality::Full => 0.0,
            Quality::Light => 1.0 / 30.0,
            Quality::Eco => 1.0 / 15.0,
        };
        // A time that goes backwards is a new start.
        let is_due = self.last.is_none_or(|last| at < last || at.secs_after(last) >= interval_secs * (1.0 - EARLY));
        if is_due {
            self.last = Some(at);
        }
        is_due
    }
}

/// Notices that the machine has too much to do.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Load {
    /// The tracker's time over the camera's interval, averaged.
    share: Option<f32>,
    is_overloaded: bool,
    /// Since when the share has asked for the other answer.
    since: Option<Timestamp>,
}

impl Load {
    /// A picture took the tracker `spent` when the camera gives one each `interval_secs`. True while it is too much.
    pub fn note(&mut self, now: Timestamp, spent: Duration, interval_secs: f32) -> bool {
        if interval_secs > 0.0 {
            let share = (spent.as_secs_f32() / interval_secs).min(10.0);
            let average = self.share.map_or(share, |average| average + (share - average) * LOAD_SHARE);
            self.share = Some(average);
            let (asks_for_other, after) = match self.is_overloaded {
                false => (average > OVERLOADED_ABOVE, OVERLOADED_AFTER),
                true => (average < RELIEVED_BELOW, RELIEVED_AFTER),
            };
            self.since = asks_for_other.then(|| self.since.unwrap_or(now));
            if self.since.is_some_and(|since| now.saturating_since(since) >= after) {
                self.is_overloaded = !self.is_overloaded;
                self.since = None;
            }
        }
        self.is_overloaded
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(secs: f64) -> Timestamp {
        Timestamp::from_secs_f64(secs)
    }

    /// Pictures looked at in ten seconds.
    fn taken(fps: f64, jitter_secs: f64, quality: Quality) -> usize {
        let mut thinning = Thinning::default();
        let mut rng = crate::signal::Rng::new(7);
        let count = (fps * 10.0) as usize;
        let mut time = |i: usize| at(1.0 + i as f64 / fps + f64::from(rng.range(-1.0, 1.0)) * jitter_secs);
        (0..count).filter(|&i| thinning.takes(time(i), quality)).count()
    }

    #[test]
    fn each_step_looks_at_its_share_of_the_pictures() {
        for (fps, quality, expected) in [
            (30.0, Quality::Full, 300),
            (60.0, Quality::Full, 600),
            (30.0, Quality::Light, 300),
            (60.0, Quality::Light, 300),
            (30.0, Quality::Eco, 150),
            (25.0, Quality::Eco, 125),
            (60.0, Quality::Eco, 200),
            (15.0, Quality::Eco, 150),
            (8.0, Quality::Eco, 80),
        ] {
            assert_eq!(taken(fps, 0.0, quality), expected, "{quality:?} at {fps}");
            let uneven = taken(fps, 0.003, quality);
            assert!(uneven.abs_diff(expected) <= expected / 12, "{quality:?} at {fps}, unevenly: {uneven}");
        }
    }

    #[test]
    fn a_clock_that_starts_anew_stops_nothing() {
        let mut thinning = Thinning::default();
        assert!(thinning.takes(at(100.0), Quality::Eco));
        assert!(thinning.takes(at(1.0), Quality::Eco));
        assert!(!thinning.takes(at(1.02), Quality::Eco));
    }

    #[test]
    fn overload_is_noticed_late_and_forgotten_later() {
        let mut load = Load::default();
        let mut answers = Vec::new();
        for i in 0..30 * 30 {
            let secs = f64::from(i) / 30.0;
            // Busy from 5 s to 12 s, with one slow picture at 2 s.
            let spent = if (5.0..12.0).contains(&secs) || i == 60 { 40 } else { 10 };
            answers.push((secs, load.note(at(secs), Duration::from_millis(spent), 1.0 / 30.0)));
        }
        let first = answers.iter().find(|(_, is)| *is).unwrap().0;
        let last = answers.iter().rfind(|(_, is)| *is).unwrap().0;
        assert!((7.0..8.5).contains(&first), "noticed at {first}");
        assert!((22.0..24.0).contains(&last), "forgotten at {last}");
        assert!(!load.note(at(40.0), Duration::from_secs(9), 0.0), "an unknown rate says nothing");
    }

    #[test]
    fn dearer_frames_ask_for_cheaper_steps() {
        let steps = [3, 16, 17, 28, 29, 500].map(|ms| affordable(Duration::from_millis(ms)));
        assert_eq!(steps, [Quality::Full, Quality::Full, Quality::Light, Quality::Light, Quality::Eco, Quality::Eco]);
    }
}
