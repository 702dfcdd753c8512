//! Where the eyes look: tracked, or at the viewer; with saccades on top.

use super::saccade::Saccades;
use super::{Layer, LayerInput};
use crate::signal::{Rng, Slew, smoothing_share};
use crate::types::{AvatarPose, Gaze, Param};

/// Through a lid closed this far nothing of the eye is seen.
const HIDDEN_LID: f32 = 0.55;
/// Saccades shrink to this share on top of a tracked gaze, which has its own.
const RIDING_SHARE: f32 = 0.35;
/// Untracked eyes hold on to the viewer by this share of the head's turn, up to this angle.
const HOLD_SHARE: f32 = 0.6;
const MAX_HOLD: f32 = 0.25;
/// Time constant of the tracked gaze.
const GAZE_SECS: f32 = 0.02;

/// Writes the gaze group.
#[derive(Debug)]
pub(super) struct GazeLayer {
    saccades: Saccades,
    strength: Slew,
    tracked: Gaze,
}

impl GazeLayer {
    pub fn new(rng: Rng) -> Self {
        Self { saccades: Saccades::new(rng), strength: Slew { value: 1.0 }, tracked: Gaze::default() }
    }
}

impl Layer for GazeLayer {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        let (face, presence, settings) = (input.face, input.presence, input.settings);
        let is_visible = face.lids.left.min(face.lids.right) < HIDDEN_LID;
        if is_visible && face.gaze.yaw.is_finite() && face.gaze.pitch.is_finite() {
            let share = smoothing_share(GAZE_SECS, input.dt);
            self.tracked.yaw += (face.gaze.yaw - self.tracked.yaw) * share;
            self.tracked.pitch += (face.gaze.pitch - self.tracked.pitch) * share;
        }
        let turn = |head, body| {
            let turn = pose.params.get(head) + pose.params.get(body);
            (-HOLD_SHARE * turn).clamp(-MAX_HOLD, MAX_HOLD)
        };
        let held = [turn(Param::HeadYaw, Param::BodyYaw), turn(Param::HeadPitch, Param::BodyPitch)];
        let tracked = [self.tracked.yaw, self.tracked.pitch].map(|a| a * settings.gaze_strength);

        let strength = self.strength.step(f32::from(u8::from(settings.saccades)), 5.0, input.dt);
        let iris_scale = input.traits.iris_scale.clamp(0.5, 8.0);
        let size = strength * (1.0 + (RIDING_SHARE - 1.0) * presence) / iris_scale;
        let jump = self.saccades.step(input.dt) * size;

        let base: [f32; 2] = std::array::from_fn(|i| held[i] + (tracked[i] - held[i]) * presence);
        pose.params.set(Param::GazeYaw, base[0] + jump.x.to_radians());
        pose.params.set(Param::GazePitch, base[1] + jump.y.to_radians());
    }
}
