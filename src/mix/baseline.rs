//! What this person's mouth does: lips at rest that the tracker sees apart, a mouth that never opens far.
//!
//! The tracker's ratios hold for people in general. Here their range is learnt for one person, as quantiles that creep:
//! each observation moves them by a small step, so a single wrong frame, a yawn or a minute of silence cannot spoil
//! them. Nothing is ever amplified much more than twice.

use super::seen::MouthRow;

/// The tracker sees resting lips this far apart, before anything is learnt; and never so far that it would be believed.
const FIRST_REST: f32 = 0.02;
const MAX_REST: f32 = 0.12;
/// Resting lips are the lowest tenth of what is seen.
const REST_QUANTILE: f32 = 0.1;
const REST_PER_SEC: f32 = 0.08;
/// A mouth open beyond rest by this much is in use.
const IN_USE: f32 = 0.08;
/// Loud vowels are the highest twentieth of a mouth in use, and shown as this opening: yawns go farther.
const LOUD_QUANTILE: f32 = 0.95;
const LOUD_PER_SEC: f32 = 0.15;
/// A new face is learnt three times as fast for so long.
const NEW_SECS: f32 = 20.0;
/// A mouth held open longer than this yawns or sings, and says nothing about speech.
const HELD_SECS: f32 = 0.6;
const LOUD_OPEN: f32 = 0.85;
const MIN_LOUD: f32 = 0.38;
/// The same for the width, to each side of rest.
const WIDE_QUANTILE: f32 = 0.95;
const WIDE_PER_SEC: f32 = 0.2;
const MIN_WIDE: f32 = 0.5;
/// Width at rest is the middle of what closed lips show.
const WIDTH_PER_SEC: f32 = 0.02;
const MAX_WIDTH_SHIFT: f32 = 0.1;
/// Closed lips stretched or pursed by more than this say nothing of rest.
const RELAXED: f32 = 0.12;

/// One person's mouth.
#[derive(Clone, Debug)]
pub(super) struct MouthBaseline {
    rest_open: f32,
    loud_open: f32,
    rest_width: f32,
    wide: f32,
    narrow: f32,
    in_use_secs: f32,
    held_secs: f32,
}

impl Default for MouthBaseline {
    fn default() -> Self {
        Self {
            rest_open: FIRST_REST,
            loud_open: LOUD_OPEN,
            rest_width: 0.5,
            wide: 1.0,
            narrow: 1.0,
            in_use_secs: 0.0,
            held_secs: 0.0,
        }
    }
}

impl MouthBaseline {
    /// What the tracker sees as this person's mouth; learns from it for `dt` seconds (0: nothing).
    pub fn calibrate(&mut self, [open, width, round]: MouthRow, dt: f32) -> MouthRow {
        self.learn(open, width, dt);
        let full = self.loud_open / LOUD_OPEN;
        let open = (open - self.rest_open) / (full - self.rest_open).max(0.2);
        let change = (width - self.rest_width) * 2.0;
        let width = 0.5 + 0.5 * if change > 0.0 { change / self.wide } else { change / self.narrow };
        [open.clamp(0.0, 1.0), width.clamp(0.0, 1.0), round]
    }

    /// The person says that this is their rest (the neutral-pose button).
    pub fn settle(&mut self, [open, width, _]: MouthRow) {
        self.rest_open = open.clamp(0.0, MAX_REST);
        self.rest_width = width.clamp(0.5 - MAX_WIDTH_SHIFT, 0.5 + MAX_WIDTH_SHIFT);
    }

    fn learn(&mut self, open: f32, width: f32, dt: f32) {
        creep(&mut self.rest_open, open, REST_QUANTILE, REST_PER_SEC * dt);
        self.rest_open = self.rest_open.clamp(0.0, MAX_REST);
        let change = (width - self.rest_width) * 2.0;
        if open > self.rest_open + IN_USE {
            self.in_use_secs += dt;
            self.held_secs = if open > self.loud_open { self.held_secs + dt } else { 0.0 };
            let pace = if self.in_use_secs < NEW_SECS { 3.0 } else { 1.0 };
            if self.held_secs < HELD_SECS {
                creep(&mut self.loud_open, open, LOUD_QUANTILE, LOUD_PER_SEC * pace * dt);
            }
            self.loud_open = self.loud_open.clamp(MIN_LOUD, LOUD_OPEN);
            let side = if change > 0.0 { &mut self.wide } else { &mut self.narrow };
            creep(side, change.abs(), WIDE_QUANTILE, WIDE_PER_SEC * dt * change.abs());
            *side = side.clamp(MIN_WIDE, 1.0);
        } else if change.abs() < RELAXED {
            self.held_secs = 0.0;
            creep(&mut self.rest_width, width, 0.5, WIDTH_PER_SEC * dt);
            self.rest_width = self.rest_width.clamp(0.5 - MAX_WIDTH_SHIFT, 0.5 + MAX_WIDTH_SHIFT);
        }
    }
}

/// Moves an estimate of a quantile by one observation: up by `step · q` where it is exceeded, down by the rest where it
/// is not. It comes to rest where a share `q` of the observations lies below.
fn creep(estimate: &mut f32, value: f32, q: f32, step: f32) {
    let moved = if value > *estimate { step * q } else { -step * (1.0 - q) };
    // Never past what was seen: a still mouth has a still baseline.
    let room = (value - *estimate).abs();
    *estimate += moved.clamp(-room, room);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Rng;

    const DT: f32 = 1.0 / 30.0;

    /// A minute of somebody who talks half of the time: lips at rest `rest` apart, loud vowels `loud`.
    fn talk(baseline: &mut MouthBaseline, rest: f32, loud: f32) -> (f32, f32) {
        let mut rng = Rng::new(5);
        let (mut shown_rest, mut shown_loud) = (0.0, 0.0);
        for frame in 0..1800 {
            let t = frame as f32 * DT;
            let open = if t % 4.0 < 2.0 { rest } else { rest + (loud - rest) * (t * 13.0).sin().abs() };
            let open = open + rng.range(-0.005, 0.005);
            let [shown, ..] = baseline.calibrate([open, 0.5, 0.0], DT);
            if t > 50.0 {
                if t % 4.0 < 2.0 {
                    shown_rest = shown.max(shown_rest);
                } else {
                    shown_loud = shown.max(shown_loud);
                }
            }
        }
        (shown_rest, shown_loud)
    }

    #[test]
    fn everybody_rests_at_nothing_and_speaks_with_a_whole_mouth() {
        for (rest, loud) in [(0.0, 0.85), (0.02, 0.6), (0.08, 0.5), (0.1, 0.9)] {
            let (shown_rest, shown_loud) = talk(&mut MouthBaseline::default(), rest, loud);
            assert!(shown_rest < 0.04, "rest {rest}, loud {loud}: rests at {shown_rest}");
            assert!((0.75..=1.0).contains(&shown_loud), "rest {rest}, loud {loud}: opens to {shown_loud}");
        }
    }

    #[test]
    fn a_yawn_a_held_mouth_and_a_wrong_frame_spoil_nothing() {
        let mut baseline = MouthBaseline::default();
        talk(&mut baseline, 0.03, 0.6);
        let at = |baseline: &MouthBaseline, open| baseline.clone().calibrate([open, 0.5, 0.0], 0.0)[0];
        let (before_rest, before_loud) = (at(&baseline, 0.06), at(&baseline, 0.5));
        // Three seconds of yawning, then broken frames.
        for _ in 0..90 {
            baseline.calibrate([0.95, 0.5, 0.3], DT);
        }
        for broken in [1.0, 0.0, 1.0] {
            baseline.calibrate([broken, 0.5, 0.0], DT);
        }
        assert!((at(&baseline, 0.06) - before_rest).abs() < 0.05);
        assert!(at(&baseline, 0.95) > 0.98, "a yawn opens all the way");
        talk(&mut baseline, 0.03, 0.6);
        assert!((at(&baseline, 0.5) - before_loud).abs() < 0.1, "and is forgotten");
    }

    #[test]
    fn silence_does_not_raise_the_gain() {
        let mut baseline = MouthBaseline::default();
        for _ in 0..20_000 {
            baseline.calibrate([0.03, 0.5, 0.0], DT);
        }
        assert!(baseline.loud_open >= LOUD_OPEN - 1e-6);
        assert!(baseline.calibrate([0.05, 0.5, 0.0], 0.0)[0] < 0.05, "trembling lips stay closed");
    }

    #[test]
    fn the_neutral_pose_is_rest_at_once() {
        let mut baseline = MouthBaseline::default();
        baseline.settle([0.09, 0.56, 0.0]);
        let [open, width, _] = baseline.calibrate([0.09, 0.56, 0.0], 0.0);
        assert!(open < 1e-6 && (width - 0.5).abs() < 1e-6, "{open} {width}");
    }

    #[test]
    fn the_range_of_the_width_is_learnt_to_both_sides() {
        let mut baseline = MouthBaseline::default();
        for frame in 0..6000 {
            let width = if frame % 20 < 10 { 0.72 } else { 0.30 };
            baseline.calibrate([0.4, width, 0.0], DT);
        }
        let wide = baseline.calibrate([0.4, 0.72, 0.0], 0.0)[1];
        let narrow = baseline.calibrate([0.4, 0.30, 0.0], 0.0)[1];
        assert!(wide > 0.85 && narrow < 0.25, "{wide} {narrow}");
    }
}
