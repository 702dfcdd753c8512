//! Automatic gain: the network hears a whispering and a shouting microphone at about the same level.
//!
//! Learns from speech alone and holds still between the words, so it never pumps. Noise is not raised: the gain ends
//! where the background would become audible to the network. Levels near the reference are left as they are; the
//! network was trained over a wide range, and what need not change shall not.

use super::{HOP, SAMPLE_RATE_HZ};
use crate::signal::smoothing_share;

/// Seconds of one hop.
const HOP_SECS: f32 = HOP as f32 / SAMPLE_RATE_HZ as f32;

/// Level to which speech is brought, dBFS (mean over speech, vowels lie a few dB above) ...
const REFERENCE_DB: f32 = -27.0;
/// ... if it is farther from it than this.
const TOLERANCE_DB: f32 = 8.0;
/// Limits of the gain, dB.
const LARGEST_DB: f32 = 30.0;
const SMALLEST_DB: f32 = -18.0;
/// The background is not brought above this, dBFS.
const BACKGROUND_CEILING_DB: f32 = -55.0;
/// Speech lies at least this far above the background; what does not, teaches nothing.
const ABOVE_BACKGROUND_DB: f32 = 6.0;
/// Probability of speech from which a hop teaches.
const SPEECH_FROM: f32 = 0.6;
/// Time constant of the level, in seconds of speech; the first seconds are averaged from their start.
const LEVEL_SECS: f32 = 3.0;
/// Before so much speech nothing is changed, seconds.
const FIRST_SECS: f32 = 0.15;
/// How fast the gain moves, dB a second of speech.
const RISE_DB_PER_SEC: f32 = 20.0;
const FALL_DB_PER_SEC: f32 = 40.0;

/// Follows the level of speech.
#[derive(Clone, Debug, Default)]
pub(super) struct AutoGain {
    /// Mean level of speech as it comes in, dBFS.
    speech_db: f32,
    /// Seconds of speech so far.
    spoken_secs: f32,
    gain_db: f32,
}

impl AutoGain {
    /// The gain now, dB.
    pub(super) fn gain_db(&self) -> f32 {
        self.gain_db
    }

    /// Takes a hop: its loudness before the gain and its probability of speech, and the loudness between the words.
    pub(super) fn step(&mut self, level_db: f32, voiced: f32, background_db: Option<f32>) {
        let is_buried = background_db.is_some_and(|db| level_db < db + ABOVE_BACKGROUND_DB);
        if voiced < SPEECH_FROM || is_buried || !level_db.is_finite() {
            return;
        }
        self.spoken_secs += HOP_SECS;
        let share = smoothing_share(LEVEL_SECS, HOP_SECS).max(HOP_SECS / self.spoken_secs);
        self.speech_db += (level_db - self.speech_db) * share;
        if self.spoken_secs < FIRST_SECS {
            return;
        }
        let off_db = REFERENCE_DB - self.speech_db;
        let wanted_db = off_db - off_db.clamp(-TOLERANCE_DB, TOLERANCE_DB);
        let room_db = background_db.map_or(LARGEST_DB, |db| (BACKGROUND_CEILING_DB - db).max(0.0));
        let wanted_db = wanted_db.clamp(SMALLEST_DB, LARGEST_DB).min(room_db);
        let (fall, rise) = (FALL_DB_PER_SEC * HOP_SECS, RISE_DB_PER_SEC * HOP_SECS);
        self.gain_db += (wanted_db - self.gain_db).clamp(-fall, rise);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The gain after so many seconds of speech at a level.
    fn after(gain: &mut AutoGain, secs: f32, level_db: f32, voiced: f32, background_db: Option<f32>) -> f32 {
        for _ in 0..(secs / HOP_SECS) as usize {
            gain.step(level_db, voiced, background_db);
        }
        gain.gain_db()
    }

    #[test]
    fn ordinary_levels_are_left_alone_and_others_brought_near() {
        for (level_db, expected_db) in
            [(-20.0, 0.0), (-27.0, 0.0), (-34.0, 0.0), (-50.0, 15.0), (-80.0, 30.0), (-5.0, -14.0)]
        {
            let gain_db = after(&mut AutoGain::default(), 6.0, level_db, 0.9, Some(-90.0));
            assert!((gain_db - expected_db).abs() < 0.1, "{level_db}: {gain_db}");
        }
    }

    #[test]
    fn noise_and_silence_change_nothing() {
        let mut gain = AutoGain::default();
        assert_eq!(after(&mut gain, 10.0, -50.0, 0.3, Some(-52.0)), 0.0);
        assert_eq!(after(&mut gain, 10.0, -50.0, 0.9, Some(-52.0)), 0.0, "what is taken for speech, but is no louder");
        let raised = after(&mut gain, 5.0, -55.0, 0.9, Some(-80.0));
        assert!(raised > 15.0);
        assert_eq!(after(&mut gain, 60.0, -80.0, 0.1, Some(-80.0)), raised, "held between the words");
    }

    #[test]
    fn the_background_is_not_brought_up() {
        let gain_db = after(&mut AutoGain::default(), 10.0, -50.0, 0.9, Some(-61.0));
        assert!((gain_db - 6.0).abs() < 0.1, "{gain_db}");
        assert_eq!(after(&mut AutoGain::default(), 10.0, -45.0, 0.9, Some(-52.0)), 0.0);
    }

    #[test]
    fn it_moves_slowly_up_and_quickly_down() {
        let mut gain = AutoGain::default();
        assert!(after(&mut gain, 1.0, -60.0, 0.9, Some(-95.0)) < 20.0);
        assert!(after(&mut gain, 3.0, -60.0, 0.9, Some(-95.0)) > 24.0);
        let loud = after(&mut gain, 8.0, -10.0, 0.9, Some(-95.0));
        assert!(loud < 0.0, "{loud}");
    }
}
