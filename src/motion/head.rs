//! The head: tracked while the face is trusted, wandering a little when it is not.

use super::wander::Wander;
use super::{Layer, LayerInput};
use crate::signal::{Rng, Slew};
use crate::types::{AvatarPose, HeadPose, Param};

/// How far an untracked head wanders at idle strength 1, radians: yaw, pitch, roll.
const IDLE: HeadPose = HeadPose { yaw: 0.07, pitch: 0.035, roll: 0.03 };
/// A speaker moves this much more.
const SPEAKING_GAIN: f32 = 0.8;
/// The head's movement in space is kept on the stage, metres.
const MAX_SHIFT_M: f32 = 0.3;

/// Writes the head group, and adds the head's place in space to the body group.
#[derive(Debug)]
pub(super) struct Head {
    idle: [Wander; 3],
    speaking: Slew,
}

impl Head {
    pub fn new(rng: &mut Rng) -> Self {
        Self {
            idle: [Wander::new(0.11, rng), Wander::new(0.14, rng), Wander::new(0.09, rng)],
            speaking: Slew::default(),
        }
    }
}

impl Layer for Head {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        let settings = input.settings;
        let speaking = self.speaking.step(f32::from(u8::from(input.face.is_speaking)), 2.0, input.dt);
        let size = settings.idle_strength.clamp(0.0, 2.0) * (1.0 + SPEAKING_GAIN * speaking);
        let [yaw, pitch, roll] = self.idle.each_mut().map(|w| w.step(input.dt) * size);
        let idle = HeadPose { yaw: yaw * IDLE.yaw, pitch: pitch * IDLE.pitch, roll: roll * IDLE.roll };

        let head = input.face.head;
        let strength = settings.head_strength;
        let tracked = HeadPose { yaw: head.yaw * strength, pitch: head.pitch * strength, roll: head.roll * strength };
        let shown = idle.lerp(tracked, input.presence);
        pose.params.set(Param::HeadYaw, shown.yaw);
        pose.params.set(Param::HeadPitch, shown.pitch);
        pose.params.set(Param::HeadRoll, shown.roll);

        let shift = input.face.position * settings.position_strength * input.presence;
        for (param, metres) in [(Param::BodyX, shift.x), (Param::BodyY, shift.y), (Param::BodyZ, shift.z)] {
            if metres.is_finite() {
                pose.params.add(param, metres.clamp(-MAX_SHIFT_M, MAX_SHIFT_M));
            }
        }
    }
}
