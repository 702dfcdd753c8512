//! Lids: as tracked, or blinking by themselves (BEHAVIOUR §3).

use super::{Layer, LayerInput};
use crate::signal::{Rng, smoothing_share, smoothstep};
use crate::types::{AvatarPose, Lids, Param};

/// Intervals between automatic blinks, seconds; longer where behaviour blinks add their own.
const INTERVAL_SECS: (f32, f32) = (3.0, 8.0);
const INTERVAL_WITH_BEHAVIOUR_SECS: (f32, f32) = (7.0, 15.0);
/// The first blink after tracking was lost.
const FIRST_SECS: (f32, f32) = (0.5, 2.5);
const DOUBLE_SHARE: f32 = 0.15;
const DOUBLE_PAUSE_SECS: f32 = 0.08;
/// One blink.
const CLOSE_SECS: f32 = 0.05;
const HOLD_SECS: f32 = 0.08;
const OPEN_SECS: f32 = 0.16;
const BLINK_SECS: f32 = CLOSE_SECS + HOLD_SECS + OPEN_SECS;
/// A blink in the way of an expression is finished this much faster: at most 0.1 s of the 0.12 s that it may take.
const HURRY: f32 = 3.0;

/// Behaviour blinks.
const HEAD_TURN: f32 = 25.0 * std::f32::consts::PI / 180.0;
const HEAD_TURN_CHANCE: f32 = 0.6;
const GAZE_SHIFT: f32 = 9.0 * std::f32::consts::PI / 180.0;
const GAZE_SHIFT_CHANCE: f32 = 0.8;
const SENTENCE_END_CHANCE: f32 = 0.7;
const COOL_DOWN_SECS: f32 = 0.8;
/// A turn is measured against where the head was about this long ago; a gaze shift is quicker.
const TURN_MEMORY_SECS: f32 = 0.6;
const GAZE_MEMORY_SECS: f32 = 0.15;
/// Speech this long is a sentence, silence this long its end.
const SENTENCE_SECS: f32 = 0.8;
const SENTENCE_PAUSE_SECS: f32 = 0.15;

/// Tracked lids open at most this fast, per second.
const OPENING_PER_SEC: f32 = 12.0;
/// From here on the far eye is hardly seen, and there not at all, radians of yaw.
const TURNED_FROM: f32 = 20.0 * std::f32::consts::PI / 180.0;
const TURNED_AT: f32 = 35.0 * std::f32::consts::PI / 180.0;

/// Writes the blink group; touches nothing else.
#[derive(Debug)]
pub(super) struct Blink {
    tracked: Lids,
    automatic: Automatic,
}

impl Blink {
    pub fn new(rng: Rng) -> Self {
        Self { tracked: Lids::default(), automatic: Automatic::new(rng) }
    }

    /// True while an automatic blink plays.
    pub fn is_active(&self) -> bool {
        self.automatic.elapsed_secs.is_some()
    }
}

impl Layer for Blink {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        let seen = seen_lids(input);
        let open_at_most = OPENING_PER_SEC * input.dt;
        self.tracked.left = seen.left.max(self.tracked.left - open_at_most);
        self.tracked.right = seen.right.max(self.tracked.right - open_at_most);
        let automatic = self.automatic.step(input, pose);
        pose.params.set(Param::BlinkLeft, self.tracked.left.max(automatic));
        pose.params.set(Param::BlinkRight, self.tracked.right.max(automatic));
    }
}

/// The lids as far as they are seen: the far eye of a turned head follows the near one, and lost lids open.
fn seen_lids(input: &LayerInput) -> Lids {
    let Lids { left, right } = input.face.lids;
    let (mut left, mut right) = (sane(left), sane(right));
    let yaw = input.face.head.yaw;
    let turned = smoothstep((yaw.abs() - TURNED_FROM) / (TURNED_AT - TURNED_FROM));
    if yaw > 0.0 {
        left += (right - left) * turned;
    } else {
        right += (left - right) * turned;
    }
    if input.settings.link_eyes {
        let both = 0.5 * (left + right);
        (left, right) = (both, both);
    }
    let trust = sane(input.face.trust.face);
    Lids { left: left * trust, right: right * trust }
}

fn sane(x: f32) -> f32 {
    if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.0 }
}

/// Blinks by itself while the lids are not tracked.
#[derive(Debug)]
struct Automatic {
    rng: Rng,
    /// Into the present blink; `None` between blinks.
    elapsed_secs: Option<f32>,
    is_double: bool,
    until_next_secs: f32,
    since_last_secs: f32,
    was_tracked: bool,
    had_behaviour: bool,
    old_head_yaw: f32,
    old_gaze: [f32; 2],
    spoken_secs: f32,
    pause_secs: f32,
}

impl Automatic {
    fn new(mut rng: Rng) -> Self {
        let until_next_secs = rng.range(FIRST_SECS.0, FIRST_SECS.1);
        Self {
            rng,
            elapsed_secs: None,
            is_double: false,
            until_next_secs,
            since_last_secs: f32::INFINITY,
            was_tracked: false,
            had_behaviour: true,
            old_head_yaw: 0.0,
            old_gaze: [0.0; 2],
            spoken_secs: 0.0,
            pause_secs: 0.0,
        }
    }

    /// How far this blink closes the lids.
    fn step(&mut self, input: &LayerInput, pose: &AvatarPose) -> f32 {
        let dt = input.dt;
        let has_cause = self.step_causes(input, pose) && input.settings.behaviour_blinks;
        let is_tracked = input.face.trust.face > 0.5;
        if is_tracked {
            self.is_double = false;
        } else if self.was_tracked {
            self.until_next_secs = self.rng.range(FIRST_SECS.0, FIRST_SECS.1);
        } else if self.had_behaviour != input.settings.behaviour_blinks {
            self.draw_interval(input.settings.behaviour_blinks);
        }
        self.was_tracked = is_tracked;
        self.had_behaviour = input.settings.behaviour_blinks;
        self.since_last_secs += dt;

        let Some(elapsed) = &mut self.elapsed_secs else {
            if !is_tracked {
                self.until_next_secs -= dt;
                let is_due = self.until_next_secs <= 0.0 || (has_cause && self.since_last_secs > COOL_DOWN_SECS);
                if is_due && !input.is_expression_changing {
                    self.begin(input.settings.behaviour_blinks);
                }
            }
            return 0.0;
        };
        *elapsed += dt * if input.is_expression_changing { HURRY } else { 1.0 };
        let elapsed = *elapsed;
        if elapsed >= BLINK_SECS {
            self.elapsed_secs = None;
            self.since_last_secs = 0.0;
        }
        let opening = (elapsed - CLOSE_SECS - HOLD_SECS) / OPEN_SECS;
        if elapsed < CLOSE_SECS { smoothstep(elapsed / CLOSE_SECS) } else { 1.0 - smoothstep(opening) }
    }

    fn begin(&mut self, with_behaviour: bool) {
        self.elapsed_secs = Some(0.0);
        if !self.is_double && self.rng.chance(DOUBLE_SHARE) {
            self.is_double = true;
            self.until_next_secs = DOUBLE_PAUSE_SECS;
        } else {
            self.is_double = false;
            self.draw_interval(with_behaviour);
        }
    }

    fn draw_interval(&mut self, with_behaviour: bool) {
        let (min, max) = if with_behaviour { INTERVAL_WITH_BEHAVIOUR_SECS } else { INTERVAL_SECS };
        self.until_next_secs = self.rng.range(min, max);
    }

    /// True where something just happened that makes people blink, and chance agrees.
    fn step_causes(&mut self, input: &LayerInput, pose: &AvatarPose) -> bool {
        let dt = input.dt;
        let mut has_cause = false;

        let head_yaw = pose.params.get(Param::HeadYaw) + pose.params.get(Param::BodyYaw);
        self.old_head_yaw += (head_yaw - self.old_head_yaw) * smoothing_share(TURN_MEMORY_SECS, dt);
        if (head_yaw - self.old_head_yaw).abs() >= HEAD_TURN {
            self.old_head_yaw = head_yaw;
            has_cause |= self.rng.chance(HEAD_TURN_CHANCE);
        }

        let gaze = [pose.params.get(Param::GazeYaw), pose.params.get(Param::GazePitch)];
        let share = smoothing_share(GAZE_MEMORY_SECS, dt);
        for (old, new) in self.old_gaze.iter_mut().zip(gaze) {
            *old += (new - *old) * share;
        }
        if (gaze[0] - self.old_gaze[0]).hypot(gaze[1] - self.old_gaze[1]) >= GAZE_SHIFT {
            self.old_gaze = gaze;
            has_cause |= self.rng.chance(GAZE_SHIFT_CHANCE);
        }

        if input.face.is_speaking {
            self.spoken_secs += dt;
            self.pause_secs = 0.0;
        } else {
            self.pause_secs += dt;
            if self.pause_secs >= SENTENCE_PAUSE_SECS {
                if self.spoken_secs >= SENTENCE_SECS {
                    has_cause |= self.rng.chance(SENTENCE_END_CHANCE);
                }
                self.spoken_secs = 0.0;
            }
        }
        has_cause
    }
}
