//! The camera's veto: a mouth seen closed is evidence that somebody else speaks, or nobody.

use crate::signal::Slew;

/// Lips of p, b and m are together for up to 0.12 s while their owner speaks; closed for longer is closed.
const AFTER_SECS: f32 = 0.12;
const RISE_PER_SEC: f32 = 7.0;
/// An opening mouth lifts the veto within two frames.
const FALL_PER_SEC: f32 = 25.0;
/// Lips less apart than this are closed; a mouth that has been vetoed must open a little farther.
const CLOSED_BELOW: f32 = 0.05;
const OPEN_FROM: f32 = 0.07;

/// How far the sound is held back.
#[derive(Clone, Debug, Default)]
pub(super) struct Veto {
    closed_secs: f32,
    held: Slew,
    value: f32,
}

impl Veto {
    /// 0 the sound moves the mouth, 1 it does not. `open` is the calibrated opening seen, `confidence` the belief in it.
    pub fn step(&mut self, open: f32, confidence: f32, is_on: bool, dt: f32) -> f32 {
        let limit = if self.closed_secs > 0.0 { OPEN_FROM } else { CLOSED_BELOW };
        self.closed_secs = if open < limit && confidence > 0.5 { self.closed_secs + dt } else { 0.0 };
        let wanted = is_on && self.closed_secs > AFTER_SECS;
        let per_sec = if wanted { RISE_PER_SEC } else { FALL_PER_SEC };
        self.value = self.held.step(f32::from(u8::from(wanted)), per_sec, dt) * confidence;
        self.value
    }

    /// What the last step gave.
    pub fn value(&self) -> f32 {
        self.value
    }
}
