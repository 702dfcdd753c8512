//! Is the followed face alive, or a picture of one? Only a hint: it never loses a face.
//!
//! A picture shows no blink, no speech and no glance: lids, lips and irises keep still, except for the networks'
//! trembling and for what a turn of the whole picture does to them. A poster on a wall does not even sway, and people
//! always do. So stillness has two degrees, and after the first sign of life it takes far longer to be believed.

use glam::{Vec2, Vec3};

use crate::signal::smoothing_share;
use crate::types::{FaceObservation, HeadPose};

/// Without any sign of life and without sway it is a picture after so long, seconds.
const FIXED_SECS: f32 = 3.0;
/// Swaying, as a picture held in a hand or a person who stares.
const HELD_SECS: f32 = 10.0;
/// Once it has shown life it takes this much longer.
const AFTER_LIFE: f32 = 6.0;
/// So long it must have been followed in stillness before another face may take its place.
const RIVAL_SECS: f32 = 8.0;
/// Lids, lips, gaze: a change of this much (weights, radians) is a sign of life …
const SIGNS: [f32; CHANNELS] = [0.15, 0.15, 0.07, 0.08, 0.08];
/// … if it also is so many times the trembling, and larger than what turning the head did: per radian.
const OVER_NOISE: f32 = 6.0;
const PER_TURN: f32 = 1.0;
/// The slow mean that changes are measured against, and the quick one that is compared to it.
const SLOW_SECS: f32 = 1.5;
const QUICK_SECS: f32 = 0.06;
/// Sway: the face's place in eye distances, low-passed, leaves this radius around its slow mean.
const SWAY: f32 = 0.012;
const SWAY_QUICK_SECS: f32 = 0.3;
/// The first moments teach the means.
const LEARN_SECS: f32 = 0.5;
const CHANNELS: usize = 5;
const OUTER_EYES: (usize, usize) = (33, 263);

/// What of a face may show life, before any smoothing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sign {
    /// Left lid, right lid, opening of the mouth (weights), gaze yaw and pitch (radians).
    channels: [f32; CHANNELS],
    head: HeadPose,
    /// Middle of the face in distances between the eyes' outer corners.
    place: Vec2,
}

impl Sign {
    /// From an unsmoothed observation.
    pub fn of(observation: &FaceObservation) -> Self {
        let FaceObservation { lids, mouth, gaze, landmarks_px, head, .. } = observation;
        let at = |i: usize| landmarks_px.get(i).copied().unwrap_or_default();
        let eyes_px = at(OUTER_EYES.0).distance(at(OUTER_EYES.1)).max(1.0);
        let middle = landmarks_px.iter().sum::<Vec3>() / landmarks_px.len().max(1) as f32;
        Self {
            channels: [lids.left, lids.right, mouth.open, gaze.yaw, gaze.pitch],
            head: *head,
            place: middle.truncate() / eyes_px,
        }
    }
}

/// Follows one face.
#[derive(Clone, Debug, Default)]
pub(super) struct Liveness {
    secs: f32,
    last: Option<Sign>,
    slow: [f32; CHANNELS],
    quick: [f32; CHANNELS],
    /// Mean square of the steps from frame to frame.
    noise: [f32; CHANNELS],
    slow_head: HeadPose,
    slow_place: Vec2,
    quick_place: Vec2,
    still_secs: f32,
    fixed_secs: f32,
    has_lived: bool,
}

impl Liveness {
    /// The face `dt` seconds after the last look at it.
    pub fn step(&mut self, sign: Sign, dt: f32) {
        let Some(last) = self.last.replace(sign) else {
            (self.slow, self.quick) = (sign.channels, sign.channels);
            (self.slow_head, self.slow_place, self.quick_place) = (sign.head, sign.place, sign.place);
            return;
        };
        self.secs += dt;
        self.still_secs += dt;
        self.fixed_secs += dt;
        let (quick, slow) = (smoothing_share(QUICK_SECS, dt), smoothing_share(SLOW_SECS, dt));
        let sway = smoothing_share(SWAY_QUICK_SECS, dt);
        self.quick_place += (sign.place - self.quick_place) * sway;
        let turned = angle_between(sign.head, self.slow_head);
        let mut is_alive = false;
        for (i, &value) in sign.channels.iter().enumerate() {
            self.quick[i] += (value - self.quick[i]) * quick;
            let change = (self.quick[i] - self.slow[i]).abs();
            // The two means of white noise differ by much less than its deviation; steps are √2 deviations.
            let trembling = (self.noise[i] / 2.0).sqrt();
            is_alive |= change > (SIGNS[i] + PER_TURN * turned).max(OVER_NOISE * trembling);
            let step = value - last.channels[i];
            self.noise[i] += (step * step - self.noise[i]) * slow;
            self.slow[i] += (value - self.slow[i]) * slow;
        }
        let is_swaying = self.quick_place.distance(self.slow_place) > SWAY;
        self.slow_place += (sign.place - self.slow_place) * slow;
        self.slow_head = self.slow_head.lerp(sign.head, slow);
        if self.secs < LEARN_SECS {
            return;
        }
        if is_swaying || is_alive {
            self.fixed_secs = 0.0;
        }
        if is_alive {
            self.still_secs = 0.0;
            self.has_lived = true;
        }
    }

    /// True while nothing tells the face from a picture.
    pub fn is_picture(&self) -> bool {
        let patience = if self.has_lived { AFTER_LIFE } else { 1.0 };
        self.fixed_secs >= FIXED_SECS * patience || self.still_secs >= HELD_SECS * patience
    }

    /// True where another face had better be followed.
    pub fn is_surely_picture(&self) -> bool {
        self.is_picture() && self.still_secs >= RIVAL_SECS
    }

    /// True where life was seen lately.
    pub fn is_alive(&self) -> bool {
        self.has_lived && !self.is_picture()
    }
}

fn angle_between(a: HeadPose, b: HeadPose) -> f32 {
    Vec3::new(a.yaw - b.yaw, a.pitch - b.pitch, a.roll - b.roll).length()
}
