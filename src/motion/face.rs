//! Brows and mouth: what the mixer says, as parameters.

use super::{Layer, LayerInput};
use crate::signal::{Slew, smoothstep};
use crate::types::{AvatarPose, Param, Vowel};

/// Lip-sync takes the mouth over in this time, and gives it back to the expression in that (BEHAVIOUR §2).
const TAKE_SECS: f32 = 0.06;
const GIVE_BACK_SECS: f32 = 0.2;
/// A mouth seen open this far is shown even where nobody is heard.
const SHOWN_OPEN: f32 = 0.05;

/// Writes the brow group.
#[derive(Debug)]
pub(super) struct BrowLayer;

impl Layer for BrowLayer {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        pose.params.set(Param::BrowLeft, input.face.brows.left * input.presence);
        pose.params.set(Param::BrowRight, input.face.brows.right * input.presence);
    }
}

/// Writes the mouth group.
#[derive(Debug, Default)]
pub(super) struct MouthLayer {
    share: Slew,
}

impl Layer for MouthLayer {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        let mouth = &input.face.mouth;
        // What sound leaves behind after the last word only fades: it must not hold the expression back.
        let seen_open = mouth.open * (1.0 - mouth.audio_share);
        let is_wanted = input.face.is_speaking || seen_open > SHOWN_OPEN;
        let change_secs = if is_wanted { TAKE_SECS } else { GIVE_BACK_SECS };
        let share = self.share.step(f32::from(u8::from(is_wanted)), 1.0 / change_secs, input.dt);
        let params = &mut pose.params;
        params.set(Param::LipSync, smoothstep(share));
        for vowel in Vowel::ALL {
            params.set(Param::of_vowel(vowel), mouth.vowels[vowel as usize]);
        }
        params.set(Param::MouthClosed, mouth.closed);
        params.set(Param::MouthSmile, input.face.smile * input.settings.smile_strength * input.presence);
    }
}
