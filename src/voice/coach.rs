//! Leads a speaker through the five vowels: asks for one after the other, at the speaker's own pace.
//!
//! A vowel counts as held while the sound stands out of the quiet before it. Between two vowels there must be a pause,
//! so that one long sound is not taken for all of them.

use super::calibration::LEAD;
use super::{Calibration, CalibrationError, Calibrator, HOP, SAMPLE_RATE_HZ, VoiceError};
use crate::types::Vowel;

/// How long each vowel is listened to, and how much of it is enough when the breath runs out, hops.
const WANTED_HOPS: usize = 90;
const ENOUGH_HOPS: usize = 50;
/// The beginning of a vowel is no vowel yet, hops.
const ONSET_HOPS: usize = 10;
/// Quiet for so many hops ends a sound.
const PAUSE_HOPS: usize = 12;
/// Sound stands out of the quiet by this, dB, and is at least as loud as [`LEAST_DB`].
const ABOVE_QUIET_DB: f32 = 12.0;
const LEAST_DB: f32 = -55.0;
/// The quiet is followed down at once and up by this much a hop, dB: rooms get louder, but not within a vowel.
const QUIET_RISE_DB: f32 = 0.02;
/// The first hops only show how quiet it is.
const SETTLING_HOPS: usize = 30;
/// Without any progress for this long the speaker has gone, hops.
const PATIENCE_HOPS: usize = 2000;

/// Where the speaker is.
#[derive(Clone, Debug, PartialEq)]
pub enum Coaching {
    /// Hold this vowel; `share` (0..1) of it has been heard.
    Hold {
        /// The vowel that is wanted.
        vowel: Vowel,
        /// How much of it was heard.
        share: f32,
    },
    /// It was heard; pause before the next one.
    Pause {
        /// The vowel that comes next.
        next: Vowel,
    },
    /// All five were heard.
    Done(Box<Calibration>),
    /// It did not work; the speaker has to begin again.
    Failed(CalibrationError),
}

/// Listens while the speaker is led through the vowels.
pub struct VowelCoach {
    calibrator: Calibrator,
    state: Coaching,
    /// Samples of the hop that is not whole yet, of what was before the sound, and of the sound that is listened to.
    hop: Vec<f32>,
    lead: Vec<f32>,
    sound: Vec<f32>,
    quiet_db: f32,
    quiet_hops: usize,
    /// Since the last progress.
    idle_hops: usize,
    heard_hops: usize,
}

impl VowelCoach {
    /// At the first vowel.
    ///
    /// # Errors
    /// If the network cannot be run.
    pub fn new() -> Result<Self, VoiceError> {
        Ok(Self {
            calibrator: Calibrator::new()?,
            state: Coaching::Hold { vowel: Vowel::Aa, share: 0.0 },
            hop: Vec::with_capacity(HOP),
            lead: Vec::with_capacity(LEAD + HOP),
            sound: Vec::with_capacity(2 * SAMPLE_RATE_HZ as usize),
            quiet_db: f32::INFINITY,
            quiet_hops: 0,
            idle_hops: 0,
            heard_hops: 0,
        })
    }

    /// Takes the next 16 kHz mono samples, -1..1.
    pub fn hear(&mut self, samples: &[f32]) {
        for sample in samples {
            self.hop.push(if sample.is_finite() { *sample } else { 0.0 });
            if self.hop.len() == HOP {
                self.step();
                self.hop.clear();
            }
        }
    }

    /// Where the speaker is now.
    pub fn state(&self) -> &Coaching {
        &self.state
    }

    fn step(&mut self) {
        let power = self.hop.iter().map(|s| s * s).sum::<f32>() / HOP as f32;
        let level_db = 10.0 * power.max(1e-12).log10();
        self.quiet_db = level_db.min(self.quiet_db + QUIET_RISE_DB);
        self.heard_hops += 1;
        let is_loud = level_db > (self.quiet_db + ABOVE_QUIET_DB).max(LEAST_DB) && self.heard_hops > SETTLING_HOPS;
        self.quiet_hops = if is_loud { 0 } else { self.quiet_hops + 1 };
        self.idle_hops += 1;
        match self.state {
            Coaching::Hold { vowel, .. } => self.hold(vowel, is_loud),
            Coaching::Pause { next } if self.quiet_hops >= PAUSE_HOPS => self.ask(next),
            Coaching::Pause { .. } | Coaching::Done(_) | Coaching::Failed(_) => {}
        }
        let is_over = matches!(self.state, Coaching::Done(_) | Coaching::Failed(_));
        if self.idle_hops > PATIENCE_HOPS && !is_over {
            let vowel = match self.state {
                Coaching::Pause { next: vowel } | Coaching::Hold { vowel, .. } => vowel,
                _ => return,
            };
            self.state = Coaching::Failed(CalibrationError::TooShort(vowel));
        }
    }

    fn hold(&mut self, vowel: Vowel, is_loud: bool) {
        if is_loud || (!self.sound.is_empty() && self.quiet_hops < PAUSE_HOPS) {
            self.sound.extend_from_slice(&self.hop);
        } else {
            self.lead.drain(..(self.lead.len() + HOP).saturating_sub(LEAD));
            self.lead.extend_from_slice(&self.hop);
        }
        let hops = (self.sound.len() / HOP).saturating_sub(ONSET_HOPS + self.quiet_hops.min(PAUSE_HOPS));
        let has_ended = self.quiet_hops >= PAUSE_HOPS;
        if hops >= WANTED_HOPS || (has_ended && hops >= ENOUGH_HOPS) {
            let begin = self.lead.len() + ONSET_HOPS * HOP;
            self.lead.append(&mut self.sound);
            self.calibrator.add(vowel, &self.lead, begin);
            self.lead.clear();
            self.idle_hops = 0;
            let next = Vowel::ALL.iter().copied().skip_while(|v| *v != vowel).nth(1);
            self.state = match next {
                Some(next) => Coaching::Pause { next },
                None => match self.calibrator.finish() {
                    Ok(calibration) => Coaching::Done(Box::new(calibration)),
                    Err(error) => Coaching::Failed(error),
                },
            };
        } else {
            if has_ended {
                self.sound.clear();
            }
            let share = if self.sound.is_empty() { 0.0 } else { hops as f32 / WANTED_HOPS as f32 };
            self.state = Coaching::Hold { vowel, share };
        }
    }

    fn ask(&mut self, vowel: Vowel) {
        self.sound.clear();
        self.state = Coaching::Hold { vowel, share: 0.0 };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signal::Rng;

    const FORMANTS_HZ: [f32; 5] = [900.0, 2400.0, 400.0, 1800.0, 600.0];

    fn vowel(formant_hz: f32, secs: f32) -> Vec<f32> {
        let tau = std::f32::consts::TAU;
        let sample = |i: usize| {
            let t = i as f32 / SAMPLE_RATE_HZ as f32;
            let harmonics = (1..30).map(|h| h as f32 * 150.0);
            harmonics.map(|hz| (tau * hz * t).sin() * (-((hz - formant_hz) / 300.0).powi(2)).exp()).sum::<f32>() * 0.1
        };
        (0..(secs * SAMPLE_RATE_HZ as f32) as usize).map(sample).collect()
    }

    fn hiss(secs: f32, seed: u64) -> Vec<f32> {
        let mut rng = Rng::new(seed);
        (0..(secs * SAMPLE_RATE_HZ as f32) as usize).map(|_| rng.range(-0.001, 0.001)).collect()
    }

    /// Says these (formant, seconds) with pauses between them, in blocks of any size; gives what was asked for on the way.
    fn coached(sounds: &[(f32, f32)], pause_secs: f32, block: usize) -> (VowelCoach, Vec<Vowel>) {
        let mut samples = hiss(0.5, 1);
        for (formant, secs) in sounds {
            samples.extend(vowel(*formant, *secs));
            samples.extend(hiss(pause_secs, 2));
        }
        let mut coach = VowelCoach::new().expect("network");
        let mut asked = Vec::new();
        for block in samples.chunks(block) {
            coach.hear(block);
            if let Coaching::Hold { vowel, .. } = coach.state()
                && asked.last() != Some(vowel)
            {
                asked.push(*vowel);
            }
        }
        (coach, asked)
    }

    #[test]
    fn five_held_vowels_are_a_calibration() {
        for block in [7, 160, 4000] {
            let (coach, asked) = coached(&FORMANTS_HZ.map(|f| (f, 1.3)), 0.4, block);
            assert!(matches!(coach.state(), Coaching::Done(_)), "{:?}", coach.state());
            assert_eq!(asked, Vowel::ALL);
        }
    }

    #[test]
    fn a_short_breath_is_enough_and_a_cough_is_not() {
        let (coach, _) = coached(&FORMANTS_HZ.map(|f| (f, 0.75)), 0.4, 160);
        assert!(matches!(coach.state(), Coaching::Done(_)), "{:?}", coach.state());
        let mut sounds = vec![(1200.0, 0.2)];
        sounds.extend(FORMANTS_HZ.map(|f| (f, 1.2)));
        let (coughed, _) = coached(&sounds, 0.4, 160);
        let (clean, _) = coached(&sounds[1..], 0.4, 160);
        let (Coaching::Done(coughed), Coaching::Done(clean)) = (coughed.state(), clean.state()) else {
            panic!("{:?}", coughed.state())
        };
        let difference = coughed.to_numbers().into_iter().zip(clean.to_numbers()).map(|(a, b)| (a - b).abs());
        assert!(difference.fold(0.0, f32::max) < 0.5, "the cough is not part of the a");
    }

    #[test]
    fn one_long_sound_is_one_vowel() {
        let (coach, asked) = coached(&[(900.0, 8.0)], 0.0, 160);
        assert_eq!(coach.state(), &Coaching::Pause { next: Vowel::Ih });
        assert_eq!(asked, [Vowel::Aa]);
    }

    #[test]
    fn the_same_vowel_five_times_is_refused() {
        let (coach, _) = coached(&[(900.0, 1.2); 5], 0.4, 160);
        assert!(matches!(coach.state(), Coaching::Failed(CalibrationError::Same(..))), "{:?}", coach.state());
    }

    #[test]
    fn silence_and_broken_samples_end_in_a_message() {
        let mut coach = VowelCoach::new().expect("network");
        coach.hear(&vec![f32::NAN; 16_000]);
        coach.hear(&hiss(25.0, 3));
        assert_eq!(coach.state(), &Coaching::Failed(CalibrationError::TooShort(Vowel::Aa)));
    }
}
