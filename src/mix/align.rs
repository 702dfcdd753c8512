//! How much later a movement of the lips is seen than heard, from the two envelopes.
//!
//! Cameras stamp a picture when it arrives, tens of milliseconds after the light; microphones have buffers. The same
//! syllables move both openings, so the shift at which their *speeds* agree best is the difference. Speeds, because
//! levels agree at any shift while somebody talks. A weak or ambiguous agreement says nothing, and nothing is changed.

use crate::signal::smoothing_share;

/// Both openings lie on a grid of 10 ms.
const GRID_PER_SEC: f64 = 100.0;
/// So many steps are remembered: 10 s.
const REMEMBERED: usize = 1024;
/// Shifts up to this many steps either way are tried.
const REACH: i64 = 25;
/// The speed at a step is the difference over this many to each side.
const SPEED_STEPS: i64 = 3;
/// Looked at this often.
const EVERY_SECS: f64 = 0.5;
/// Too little speech to tell: steps in which both move by more than [`MOVES`].
const MIN_MOVING: usize = 120;
const MOVES: f32 = 0.04;
/// Agreement from which a shift is believed, and how much better than any shift elsewhere it must be.
const MIN_AGREEMENT: f32 = 0.35;
const CLEARLY: f32 = 1.1;
/// Shifts this near belong to the same peak.
const PEAK_STEPS: i64 = 8;
/// Observations further apart are not joined.
const MAX_GAP_STEPS: i64 = 15;
/// What one look weighs, and how many agreeing looks make it sure.
const LOOK_SHARE: f32 = 0.3;
const SURE_AFTER: f32 = 4.0;
/// The ages of what is shown are averaged over this long.
const AGE_SECS: f32 = 1.0;

/// Measures the shift.
#[derive(Clone, Debug)]
pub(super) struct Aligner {
    heard: Envelope,
    seen: Envelope,
    looked_at: f64,
    later_secs: f32,
    looks: f32,
    heard_age: Option<f32>,
    seen_age: Option<f32>,
}

impl Aligner {
    pub fn new() -> Self {
        Self {
            heard: Envelope::new(),
            seen: Envelope::new(),
            looked_at: 0.0,
            later_secs: 0.0,
            looks: 0.0,
            heard_age: None,
            seen_age: None,
        }
    }

    /// The sound at `captured_at` opens the mouth this far.
    pub fn hear(&mut self, captured_at: f64, open: f32) {
        self.heard.push(captured_at, open);
    }

    /// The picture taken at `captured_at` shows a mouth open this far.
    pub fn see(&mut self, captured_at: f64, open: f32) {
        self.seen.push(captured_at, open);
    }

    /// A source is lost: what comes after it belongs to another device or another time.
    pub fn forget_heard(&mut self) {
        self.heard.clear();
        self.heard_age = None;
    }

    /// The same for the picture.
    pub fn forget_seen(&mut self) {
        self.seen.clear();
        self.seen_age = None;
    }

    /// Takes note of how old what is shown is, seconds, and looks at the envelopes now and then.
    pub fn step(&mut self, now: f64, dt: f32, heard_age: Option<f32>, seen_age: Option<f32>) {
        for (mean, age) in [(&mut self.heard_age, heard_age), (&mut self.seen_age, seen_age)] {
            if let Some(age) = age.filter(|a| a.is_finite()) {
                let mean = mean.get_or_insert(age);
                *mean += (age - *mean) * smoothing_share(AGE_SECS, dt);
            }
        }
        if (now - self.looked_at).abs() >= EVERY_SECS {
            self.looked_at = now;
            if let Some(later_secs) = self.look() {
                self.later_secs += (later_secs - self.later_secs) * if self.looks == 0.0 { 1.0 } else { LOOK_SHARE };
                self.looks = (self.looks + 1.0).min(SURE_AFTER);
            }
        }
    }

    /// How much longer than the sound the picture takes until it is shown, seconds; `None` while that is not sure.
    pub fn picture_later_secs(&self) -> Option<f32> {
        let (heard, seen) = (self.heard_age?, self.seen_age?);
        (self.looks >= SURE_AFTER).then_some(self.later_secs + seen - heard)
    }

    /// How much later the stamps of the pictures are.
    fn look(&self) -> Option<f32> {
        let newest = self.heard.newest?.min(self.seen.newest?);
        let oldest = newest - REMEMBERED as i64 + REACH + 2 * SPEED_STEPS + 1;
        let mut agreement = [0.0_f32; 2 * REACH as usize + 1];
        for (slot, shift) in agreement.iter_mut().zip(-REACH..=REACH) {
            let (mut both, mut heard_power, mut seen_power, mut moving) = (0.0, 1e-9, 1e-9, 0);
            for step in oldest..=newest - REACH {
                let (Some(a), Some(v)) = (self.heard.speed(step), self.seen.speed(step + shift)) else { continue };
                both += a * v;
                heard_power += a * a;
                seen_power += v * v;
                moving += usize::from(a.abs() > MOVES && v.abs() > MOVES);
            }
            if moving >= MIN_MOVING / 2 {
                *slot = both / (heard_power * seen_power).sqrt();
            }
        }
        let moving = (oldest..=newest - REACH)
            .filter(|s| self.heard.speed(*s).is_some_and(|a| a.abs() > MOVES) && self.seen.speed(*s).is_some())
            .count();
        let (best, value) = agreement.iter().copied().enumerate().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let elsewhere = agreement
            .iter()
            .enumerate()
            .filter(|(i, _)| (*i as i64 - best as i64).abs() > PEAK_STEPS)
            .fold(0.0_f32, |m, (_, v)| m.max(*v));
        let (before, after) = (agreement.get(best.checked_sub(1)?)?, agreement.get(best + 1)?);
        if moving < MIN_MOVING || value < MIN_AGREEMENT || value < CLEARLY * elsewhere {
            return None;
        }
        // The top of a parabola through the best three.
        let bend = before - 2.0 * value + after;
        let top = if bend < -1e-6 { (0.5 * (before - after) / bend).clamp(-0.5, 0.5) } else { 0.0 };
        Some(((best as i64 - REACH) as f32 + top) / GRID_PER_SEC as f32)
    }
}

/// One opening on the grid, by step modulo [`REMEMBERED`].
#[derive(Clone, Debug)]
struct Envelope {
    values: Vec<f32>,
    newest: Option<i64>,
    last: Option<(f64, f32)>,
}

impl Envelope {
    fn new() -> Self {
        Self { values: vec![f32::NAN; REMEMBERED], newest: None, last: None }
    }

    fn clear(&mut self) {
        if self.newest.is_none() {
            return;
        }
        self.values.fill(f32::NAN);
        self.newest = None;
        self.last = None;
    }

    fn push(&mut self, at: f64, value: f32) {
        if !value.is_finite() || !(0.0..1e9).contains(&at) {
            return;
        }
        let step = (at * GRID_PER_SEC).floor() as i64;
        let (Some(newest), Some((last_at, last))) = (self.newest, self.last) else {
            self.set(step, value);
            self.newest = Some(step);
            self.last = Some((at, value));
            return;
        };
        if at <= last_at {
            if at < last_at - 1.0 {
                self.clear();
            }
            return;
        }
        if step - newest >= REMEMBERED as i64 {
            self.clear();
            return self.push(at, value);
        }
        let is_joined = step - newest <= MAX_GAP_STEPS;
        for between in newest + 1..=step {
            let t = ((between as f64 / GRID_PER_SEC - last_at) / (at - last_at)).clamp(0.0, 1.0) as f32;
            self.set(between, if is_joined { last + (value - last) * t } else { f32::NAN });
        }
        self.newest = Some(step.max(newest));
        self.last = Some((at, value));
    }

    fn set(&mut self, step: i64, value: f32) {
        if let Some(slot) = self.values.get_mut(step.rem_euclid(REMEMBERED as i64) as usize) {
            *slot = value;
        }
    }

    fn speed(&self, step: i64) -> Option<f32> {
        let newest = self.newest?;
        let at = |step: i64| {
            let is_kept = step <= newest && newest - step < REMEMBERED as i64;
            self.values.get(step.rem_euclid(REMEMBERED as i64) as usize).copied().filter(|v| is_kept && v.is_finite())
        };
        Some(at(step + SPEED_STEPS)? - at(step - SPEED_STEPS)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Rng;

    /// Syllables of uneven length and height.
    fn syllables(seed: u64) -> impl Fn(f64) -> f32 {
        let mut rng = Rng::new(seed);
        let mut at = 0.0;
        let peaks: Vec<(f64, f32)> = (0..200)
            .map(|_| {
                at += f64::from(rng.range(0.12, 0.4));
                (at, rng.range(0.2, 0.9))
            })
            .collect();
        move |t| peaks.iter().map(|(p, h)| h * (-((t - p) / 0.05).powi(2)).exp() as f32).sum()
    }

    fn measured(secs: f64, later: f64, fps: f64, heard: &dyn Fn(f64) -> f32, seen: &dyn Fn(f64) -> f32) -> Option<f32> {
        let mut aligner = Aligner::new();
        let mut rng = Rng::new(1);
        let (mut hop, mut frame) = (0.0, 0.0);
        for tick in 0..(secs * 60.0) as u64 {
            let now = tick as f64 / 60.0;
            while hop * 0.01 <= now {
                aligner.hear(hop * 0.01, heard(hop * 0.01) + rng.range(-0.1, 0.1));
                hop += 1.0;
            }
            while frame / fps <= now {
                aligner.see(frame / fps, seen(frame / fps - later) + rng.range(-0.02, 0.02));
                frame += 1.0;
            }
            aligner.step(now, 1.0 / 60.0, Some(0.05), Some(0.05));
        }
        aligner.picture_later_secs()
    }

    #[test]
    fn the_shift_is_found_within_ten_seconds() {
        let speech = syllables(3);
        for fps in [15.0, 25.0, 30.0, 60.0] {
            for later in [-0.12, -0.04, 0.0, 0.05, 0.09, 0.15] {
                let found = measured(10.0, later, fps, &speech, &|t| 0.7 * speech(t)).expect("sure");
                assert!((f64::from(found) - later).abs() < 0.02, "{fps} fps, {later} s later: found {found}");
            }
        }
    }

    #[test]
    fn what_does_not_belong_together_gives_nothing() {
        let (mine, others) = (syllables(3), syllables(8));
        assert_eq!(measured(20.0, 0.0, 30.0, &mine, &others), None, "somebody else speaks");
        assert_eq!(measured(20.0, 0.0, 30.0, &mine, &|_| 0.0), None, "closed lips");
        assert_eq!(measured(20.0, 0.0, 30.0, &|_| 0.0, &mine), None, "silence");
        assert_eq!(measured(2.0, 0.0, 30.0, &mine, &mine), None, "too early");
    }

    #[test]
    fn the_ages_of_what_is_shown_count() {
        let speech = syllables(3);
        let mut aligner = Aligner::new();
        for tick in 0..1200 {
            let now = f64::from(tick) / 100.0;
            aligner.hear(now, speech(now));
            aligner.see(now, speech(now));
            aligner.step(now, 0.01, Some(0.03), Some(0.09));
        }
        let found = aligner.picture_later_secs().expect("sure");
        assert!((found - 0.06).abs() < 0.01, "{found}");
        aligner.forget_seen();
        assert_eq!(aligner.picture_later_secs(), None);
    }
}
