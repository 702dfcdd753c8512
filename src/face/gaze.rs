//! Where the eyes look, relative to the head.
//!
//! Sideways it is geometry: how far the iris stands from the middle between the eye's corners, in the head's own space.
//! The look shapes take half of the head's turning for the eyes' (7° at 15°), the irises a fifth of it.
//! Up and down the lids cover the iris, and the network's irises hardly move; there the look shapes are better (they
//! were linear over ±17°, the irises saturated), once this person's rest is taken off: it differs by as much as 20°
//! between people and with the camera's height. What is looked at most is the screen, and so straight ahead.
//!
//! Lids that move are no look: the shapes take a blink for a look down by 15–25°. So the gaze is held while an eye is
//! nearly closed or on its way.

use crate::signal::smoothstep;
use crate::types::{Gaze, Lids};

/// Radians of eye rotation by the iris's shift in widths of the eye (measured on the presenter, ±25°: error 0.8°).
const YAW_PER_WIDTH: f32 = 2.18;
/// Radians by the difference of the look shapes (the presenter, ±17°: error 3°).
const PITCH_PER_SHAPE: f32 = 0.66;
/// Half-closed lids look like a look down by this much of the shapes' difference for each unit of the lid.
const PITCH_BY_LID: f32 = 0.22;
/// Where irises and shapes stand before anything is learned, and how far from it people may be.
const FIRST_REST: [f32; 2] = [0.0, 0.1];
const REST_REACH: [f32; 2] = [0.08, 0.4];
/// The rest is learned with this time constant, the first seconds faster; a first look aside must not count too much.
const REST_SECS: f32 = 25.0;
const FIRST_SECS: f32 = 0.7;
/// After the first seconds only looks near the rest count: about 8° each way.
const NEW_SECS: f32 = 3.0;
const NEAR: [f32; 2] = [0.065, 0.22];
/// Lids beyond which the eye shows nothing, and within which it is sure.
const HIDDEN_LID: f32 = 0.6;
const VISIBLE_LID: f32 = 0.3;
/// A lid that moves this fast (per second) is blinking; so it counts for some time after.
const BLINK_SPEED: f32 = 4.0;
const BLINK_SECS: f32 = 0.1;
/// A lid that comes down this fast may be starting to: the shapes notice it before the lids do.
const STARTING_SPEED: f32 = 0.7;
/// The gaze is held so long; then the eyes are closed, and look ahead when they open.
const LIMIT: f32 = 0.7;

/// What the eyes look like in one picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct IrisSight {
    /// The irises' shift to the person's left from the middle between the corners, in widths of the eye: left, right.
    pub shifts: [f32; 2],
    /// How much each eye is believed, by how wide it is in the picture.
    pub weights: [f32; 2],
    /// `eyeLookDown` less `eyeLookUp`, both eyes' mean.
    pub down: f32,
}

/// Reads the gaze of one person.
#[derive(Clone, Debug)]
pub(super) struct GazeReader {
    /// Iris shift and shapes' difference when looking straight ahead.
    rest: [f32; 2],
    seen_secs: f32,
    held: Gaze,
    last_lid: Option<f32>,
    blinking_secs: f32,
}

impl Default for GazeReader {
    fn default() -> Self {
        Self { rest: FIRST_REST, seen_secs: 0.0, held: Gaze::default(), last_lid: None, blinking_secs: 0.0 }
    }
}

impl GazeReader {
    /// The gaze `dt` seconds after the last call. Learns from faces seen from the front.
    pub fn read(&mut self, sight: IrisSight, lids: Lids, is_frontal: bool, dt: f32) -> Gaze {
        let lid = sight.weighted([lids.left, lids.right]);
        let (shift, down) = (sight.weighted(sight.shifts), sight.down - PITCH_BY_LID * lid);
        if !(shift.is_finite() && down.is_finite() && lid.is_finite()) {
            return self.held;
        }
        let before = self.last_lid.replace(lid).unwrap_or(lid);
        if dt > 0.0 && (lid - before).abs() > BLINK_SPEED * dt {
            self.blinking_secs = BLINK_SECS;
        }
        let is_blinking = self.blinking_secs > 0.0 || (dt > 0.0 && lid - before > STARTING_SPEED * dt);
        self.blinking_secs = (self.blinking_secs - dt).max(0.0);
        let visible = 1.0 - smoothstep((lid - VISIBLE_LID) / (HIDDEN_LID - VISIBLE_LID));
        if !is_blinking && is_frontal && visible >= 1.0 && dt > 0.0 {
            self.learn([shift, down], dt);
        }
        let seen = Gaze {
            yaw: ((shift - self.rest[0]) * YAW_PER_WIDTH).clamp(-LIMIT, LIMIT),
            pitch: ((down - self.rest[1]) * PITCH_PER_SHAPE).clamp(-LIMIT, LIMIT),
        };
        // A first look that is no look shows straight ahead.
        let share = if is_blinking { 0.0 } else { visible };
        self.held.yaw += (seen.yaw - self.held.yaw) * share;
        self.held.pitch += (seen.pitch - self.held.pitch) * share;
        self.held
    }

    /// Takes over a calibrated rest: iris shift and shapes' difference (`IrisSight::rest`).
    pub fn calibrate(&mut self, rest: [f32; 2]) {
        if rest.iter().all(|value| value.is_finite()) {
            self.rest = within_reach(rest);
            self.seen_secs = REST_SECS;
        }
    }

    fn learn(&mut self, seen: [f32; 2], dt: f32) {
        let is_near = |i: usize| (seen[i] - self.rest[i]).abs() < NEAR[i];
        if self.seen_secs >= NEW_SECS && !(is_near(0) && is_near(1)) {
            return;
        }
        self.seen_secs = (self.seen_secs + dt).min(REST_SECS);
        let share = (dt / (FIRST_SECS + self.seen_secs)).min(1.0);
        self.rest = within_reach(std::array::from_fn(|i| self.rest[i] + (seen[i] - self.rest[i]) * share));
    }
}

impl IrisSight {
    /// The mean of both eyes, by their weights.
    fn weighted(&self, [left, right]: [f32; 2]) -> f32 {
        let [wl, wr] = self.weights;
        let total = wl + wr;
        if total > 0.0 { (left * wl + right * wr) / total } else { 0.5 * (left + right) }
    }

    /// What a calibration keeps of eyes that look straight ahead, wide open.
    pub fn rest(&self) -> [f32; 2] {
        [self.weighted(self.shifts), self.down]
    }
}

fn within_reach(rest: [f32; 2]) -> [f32; 2] {
    std::array::from_fn(|i| rest[i].clamp(FIRST_REST[i] - REST_REACH[i], FIRST_REST[i] + REST_REACH[i]))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DT: f32 = 1.0 / 30.0;
    const OPEN: Lids = Lids { left: 0.0, right: 0.0 };

    fn sight(shift: f32, down: f32) -> IrisSight {
        IrisSight { shifts: [shift; 2], weights: [1.0; 2], down }
    }

    fn settled(rest: [f32; 2]) -> GazeReader {
        let mut reader = GazeReader::default();
        for _ in 0..600 {
            reader.read(sight(rest[0], rest[1]), OPEN, true, DT);
        }
        reader
    }

    #[test]
    fn whatever_the_rest_it_becomes_straight_ahead() {
        for rest in [[-0.05, 0.3], [0.04, -0.1], [0.0, 0.0]] {
            let mut reader = settled(rest);
            let ahead = reader.read(sight(rest[0], rest[1]), OPEN, true, DT);
            assert!(ahead.yaw.abs() < 0.01 && ahead.pitch.abs() < 0.02, "{rest:?}: {ahead:?}");
            let left = reader.read(sight(rest[0] + 0.14, rest[1]), OPEN, true, DT);
            assert!((left.yaw.to_degrees() - 17.5).abs() < 1.5, "{left:?}");
            let down = reader.read(sight(rest[0], rest[1] + 0.3), OPEN, true, DT);
            assert!((9.0..14.0).contains(&down.pitch.to_degrees()), "{down:?}");
        }
    }

    #[test]
    fn a_long_look_aside_is_still_a_look_aside() {
        let mut reader = settled([0.01, 0.1]);
        let gaze = (0..300).map(|_| reader.read(sight(0.16, 0.1), OPEN, true, DT)).last().unwrap();
        assert!(gaze.yaw.to_degrees() > 16.0, "{gaze:?}");
    }

    #[test]
    fn the_gaze_does_not_follow_the_lids() {
        let mut reader = settled([0.0, 0.1]);
        let mut most: f32 = 0.0;
        for i in 0..30 {
            let t = i as f32 * DT;
            let lid = if t < 0.1 { t / 0.1 } else { 1.0 - ((t - 0.15) / 0.15).max(0.0) }.clamp(0.0, 1.0);
            // What the shapes did in recorded blinks.
            let gaze = reader.read(sight(0.0, 0.1 + 0.6 * lid), Lids { left: lid, right: lid }, true, DT);
            most = most.max(gaze.pitch.abs());
        }
        assert!(most.to_degrees() < 2.0, "a blink looks down by {}°", most.to_degrees());
    }

    proptest! {
        #[test]
        fn any_sight_gives_a_gaze_in_range(
            sights in prop::collection::vec((-2.0f32..2.0, -2.0f32..2.0, 0.0f32..=1.0, 0.0f32..0.3), 1..60),
        ) {
            let mut reader = GazeReader::default();
            for (shift, down, lid, dt) in sights {
                let shift = if shift > 1.9 { f32::NAN } else { shift };
                let gaze = reader.read(sight(shift, down), Lids { left: lid, right: 1.0 - lid }, true, dt);
                prop_assert!(gaze.yaw.abs() <= LIMIT && gaze.pitch.abs() <= LIMIT, "{:?}", gaze);
            }
        }
    }
}
