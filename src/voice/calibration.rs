//! Optional calibration: what this person's five vowels sound like.
//!
//! The network knows voices in general; a high, sung, whispered or childish one may lie at the edge of what it knows.
//! A second of each vowel gives a mean cepstrum (the shape of the spectrum without its level). The likelihood of a
//! vowel is then the network's times how near the sound is to the person's own vowel. Only the share that vowels have
//! is divided anew; a sound that is very near to one of them also takes from consonants, and silence and p b m keep
//! what they have. Far sounds are hardly touched, so that speech between the vowels stays what it was.
//!
//! How strongly that is done is found by trying it: half of what was said calibrates, the other half is judged, and the
//! other way round. A voice that the network knows well gains nothing and is left alone.

use std::f32::consts::PI;

use super::{Answer, BANDS, HOP, LABEL_HOPS, LogMel, Network, VoiceError};
use crate::types::{ErrorKind, VISEME_COUNT, VOWEL_COUNT, Viseme, Vowel};

/// Coefficients of a cepstrum; the level is left out.
pub(super) const CEPSTRA: usize = 12;
/// Numbers of a calibration in the settings: a mean per vowel, the deviations, and the strength.
const NUMBERS: usize = (VOWEL_COUNT + 1) * CEPSTRA + 1;
/// A calibration with larger numbers is none.
const LARGEST: f32 = 200.0;
/// Sound before a stretch that the network should hear first, samples.
pub(super) const LEAD: usize = 30 * HOP;
/// Hops this far below the loudest of a stretch are its edges, dB.
const LOUD_WITHIN_DB: f32 = 15.0;
/// Hops of each vowel, at least.
const FEWEST_HOPS: usize = 15;
/// Two vowels nearer than this to each other were not both held.
const NEAREST: f32 = 0.05;

/// Deviation of cepstra within a vowel of running speech; held vowels vary less, so the mean of both squares is taken.
const USUAL_DEVIATION: f32 = 1.5;
/// How strongly nearness counts at most, and how strongly it is tried; from which mean square distance it fades.
const LARGEST_STRENGTH: f32 = 9.0;
const TRIED_STRENGTH: f32 = 6.0;
const FADES_FROM: f32 = 4.0;
/// What the trial must gain (mean logarithm of the right vowel's share) to be worth anything, and to be worth the tried
/// strength. Measured on a second of each vowel out of running speech: -0.01 on an audio book, whose other speech lost 4
/// points when it was done all the same; 0.19 on whispers, 0.25 to 0.42 on singers, 0.38 on a child's voice, who gained.
const LEAST_GAIN: f32 = 0.10;
const FULL_GAIN: f32 = 0.25;
/// What is said of each vowel is cut in so many pieces; every second one judges the others.
const PIECES: usize = 4;
/// Largest share of a consonant that a very near vowel takes at the tried strength; it takes the less the surer the network is that there is
/// no vowel.
const LARGEST_PULL: f32 = 0.8;

/// In a recording of all five: a vowel is this near to the loudest moment, dB ...
const SOUNDS_WITHIN_DB: f32 = 25.0;
/// ... lasts at least so many hops, and ends with at least so many quiet ones.
const SHORTEST_SOUND_HOPS: usize = 25;
const SHORTEST_PAUSE_HOPS: usize = 10;

const VOWELS: [Viseme; VOWEL_COUNT] = [Viseme::Aa, Viseme::Ih, Viseme::Ou, Viseme::E, Viseme::Oh];

/// Cepstrum of one hop.
pub(super) type Cepstrum = [f32; CEPSTRA];

/// Why a calibration cannot be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CalibrationError {
    /// Too little was heard of a vowel.
    #[error("too little was heard of the vowel \"{}\"; hold it for a second, close to the microphone", .0.name())]
    TooShort(Vowel),
    /// The recording does not hold five sounds.
    #[error("{0} held sounds were heard; say a, i, u, e, o, a second each, with a short pause between them")]
    NotFive(usize),
    /// Two vowels sounded the same.
    #[error("\"{}\" and \"{}\" sounded the same; hold each of them clearly", .0.name(), .1.name())]
    Same(Vowel, Vowel),
}

impl CalibrationError {
    /// What to do about it: say the vowels again.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Setup
    }
}

/// The shape of a log-mel frame's spectrum: its cosine transform without the first coefficient.
pub(super) struct CepstrumMaker {
    cosines: Box<[[f32; BANDS]; CEPSTRA]>,
}

impl CepstrumMaker {
    pub(super) fn new() -> Self {
        let scale = (2.0 / BANDS as f32).sqrt();
        let cosine = |k: usize, band: usize| ((k + 1) as f32 * (band as f32 + 0.5) * PI / BANDS as f32).cos() * scale;
        Self { cosines: Box::new(std::array::from_fn(|k| std::array::from_fn(|band| cosine(k, band)))) }
    }

    pub(super) fn of(&self, frame: &[f32; BANDS]) -> Cepstrum {
        let mut cepstrum = [0.0; CEPSTRA];
        for (out, row) in cepstrum.iter_mut().zip(self.cosines.iter()) {
            *out = row.iter().zip(frame).map(|(c, f)| c * f).sum();
        }
        cepstrum
    }
}

/// What one person's vowels sound like.
#[derive(Clone, Debug, PartialEq)]
pub struct Calibration {
    /// By `Vowel as usize`.
    means: [Cepstrum; VOWEL_COUNT],
    deviations: Cepstrum,
    /// 0..[`LARGEST_STRENGTH`].
    strength: f32,
}

impl Calibration {
    /// From the settings; `None` where there is none, or no usable one.
    pub fn from_numbers(numbers: &[f32]) -> Option<Self> {
        if numbers.len() != NUMBERS || !numbers.iter().all(|n| n.is_finite() && n.abs() < LARGEST) {
            return None;
        }
        let mut rows = numbers.chunks_exact(CEPSTRA).map(|row| Cepstrum::try_from(row).unwrap_or_default());
        let means = std::array::from_fn(|_| rows.next().unwrap_or_default());
        let deviations = rows.next()?;
        let strength = numbers.last()?.clamp(0.0, LARGEST_STRENGTH);
        deviations.iter().all(|d| *d > 0.1).then_some(Self { means, deviations, strength })
    }

    /// For the settings.
    pub fn to_numbers(&self) -> Vec<f32> {
        let numbers = self.means.iter().chain([&self.deviations]).flatten().chain([&self.strength]);
        numbers.map(|n| (n * 1e3).round() / 1e3).collect()
    }

    /// False for a voice that the network knows so well that nothing is to be gained.
    pub fn is_useful(&self) -> bool {
        self.strength > 0.0
    }

    fn of(heard: &[Vec<Heard>; VOWEL_COUNT], strength: f32) -> Self {
        let means = heard.each_ref().map(|hops| {
            std::array::from_fn(|k| hops.iter().map(|h| h.cepstrum[k]).sum::<f32>() / hops.len().max(1) as f32)
        });
        let count: usize = heard.iter().map(Vec::len).sum();
        let deviations = std::array::from_fn(|k| {
            let squares = heard
                .iter()
                .zip(&means)
                .flat_map(|(hops, mean): (_, &Cepstrum)| hops.iter().map(|h| (h.cepstrum[k] - mean[k]).powi(2)));
            (0.5 * squares.sum::<f32>() / count.max(1) as f32 + 0.5 * USUAL_DEVIATION.powi(2)).sqrt()
        });
        Self { means, deviations, strength }
    }

    /// Mean logarithm of the right vowel's share among the vowels, of what was heard of each.
    fn judge(&self, heard: &[Vec<Heard>; VOWEL_COUNT]) -> f32 {
        let of_vowel = |(vowel, hops): (usize, &Vec<Heard>)| {
            let shares = hops.iter().map(|hop| {
                let mut weights = hop.weights;
                self.apply(&mut weights, &hop.cepstrum);
                let sum: f32 = VOWELS.iter().map(|v| weights[*v as usize]).sum();
                (weights[VOWELS[vowel] as usize] / sum.max(1e-6)).max(1e-3).ln()
            });
            shares.sum::<f32>() / hops.len().max(1) as f32
        };
        heard.iter().enumerate().map(of_vowel).sum::<f32>() / VOWEL_COUNT as f32
    }

    /// Divides the vowels' share of `weights` (probabilities of a sound with this cepstrum) anew. Their sum stays 1.
    pub(super) fn apply(&self, weights: &mut [f32; VISEME_COUNT], cepstrum: &Cepstrum) {
        if self.strength <= 0.0 {
            return;
        }
        let distances = self.means.map(|mean| mean_square(&mean, cepstrum, &self.deviations));
        let nearest = distances.iter().copied().fold(f32::INFINITY, f32::min);
        if !nearest.is_finite() {
            return;
        }
        let mut share: f32 = VOWELS.iter().map(|v| weights[*v as usize]).sum();
        let pull = LARGEST_PULL
            * (self.strength / TRIED_STRENGTH).min(1.0)
            * (-nearest / FADES_FROM).exp()
            * share.clamp(0.0, 1.0);
        for viseme in [Viseme::Ff, Viseme::Th, Viseme::Dd, Viseme::Kk, Viseme::Ch, Viseme::Ss, Viseme::Nn, Viseme::Rr] {
            let weight = &mut weights[viseme as usize];
            share += *weight * pull;
            *weight *= 1.0 - pull;
        }
        let mut likelihoods = [0.0; VOWEL_COUNT];
        for ((likelihood, viseme), distance) in likelihoods.iter_mut().zip(VOWELS).zip(distances) {
            *likelihood = weights[viseme as usize].max(1e-5) * (1.0 + distance / FADES_FROM).powf(-self.strength);
        }
        let sum: f32 = likelihoods.iter().sum();
        if sum <= 0.0 || !sum.is_finite() {
            return;
        }
        for (viseme, likelihood) in VOWELS.into_iter().zip(likelihoods) {
            weights[viseme as usize] = share * likelihood / sum;
        }
    }
}

fn mean_square(a: &Cepstrum, b: &Cepstrum, deviations: &Cepstrum) -> f32 {
    let squares = a.iter().zip(b).zip(deviations).map(|((a, b), d)| ((a - b) / d).powi(2));
    squares.sum::<f32>() / CEPSTRA as f32
}

/// A hop of a held vowel: its sound, and what the network takes it for.
#[derive(Clone)]
struct Heard {
    cepstrum: Cepstrum,
    weights: [f32; VISEME_COUNT],
}

/// Listens to held vowels.
pub struct Calibrator {
    cepstrum: CepstrumMaker,
    network: Network,
    heard: [Vec<Heard>; VOWEL_COUNT],
}

impl Calibrator {
    /// One that has heard nothing.
    ///
    /// # Errors
    /// If the network cannot be run.
    pub fn new() -> Result<Self, VoiceError> {
        Ok(Self { cepstrum: CepstrumMaker::new(), network: Network::embedded()?, heard: Default::default() })
    }

    /// Takes 16 kHz mono sound in which this vowel is held from sample `begin` on; what is before it only leads in.
    /// Quiet edges do not count.
    pub fn add(&mut self, vowel: Vowel, samples: &[f32], begin: usize) {
        let mut features = LogMel::new();
        self.network.reset();
        let mut hops: Vec<(f32, Cepstrum, Answer)> = Vec::with_capacity(samples.len() / HOP + 1);
        for sample in samples {
            let sample = if sample.is_finite() { sample.clamp(-4.0, 4.0) } else { 0.0 };
            let Some(frame) = features.push(sample) else { continue };
            let (cepstrum, answer) = (self.cepstrum.of(frame), self.network.step(frame));
            hops.push((features.level_db(), cepstrum, answer));
        }
        // The network names a sound a little after it.
        let answers: Vec<Answer> = hops.iter().skip(LABEL_HOPS).map(|h| h.2).collect();
        // A hop's window reaches back over the two before it.
        let named = hops.iter().zip(&answers).skip((begin / HOP).saturating_add(2));
        let loudest_db = named.clone().map(|(h, _)| h.0).fold(f32::NEG_INFINITY, f32::max);
        let loud = named.filter(|(h, _)| h.0 > loudest_db - LOUD_WITHIN_DB && h.0 > -90.0);
        if let Some(heard) = self.heard.get_mut(vowel as usize) {
            heard.extend(loud.map(|(h, answer)| Heard { cepstrum: h.1, weights: answer.visemes }));
        }
    }

    /// Takes 16 kHz mono sound in which a, i, u, e and o are held one after the other, with pauses between them.
    ///
    /// # Errors
    /// If there are not five sounds.
    pub fn add_in_order(&mut self, samples: &[f32]) -> Result<(), CalibrationError> {
        let energies: Vec<f32> = samples
            .chunks_exact(HOP)
            .map(|hop| hop.iter().map(|s| if s.is_finite() { s * s } else { 0.0 }).sum::<f32>() / HOP as f32)
            .collect();
        let quiet = energies.iter().copied().fold(0.0, f32::max) * 10f32.powf(-SOUNDS_WITHIN_DB / 10.0);
        // First and one past the last hop of each sound.
        let mut sounds: Vec<(usize, usize)> = Vec::new();
        for (hop, _) in energies.iter().enumerate().filter(|(_, e)| **e > quiet.max(1e-9)) {
            match sounds.last_mut() {
                Some((_, end)) if hop < *end + SHORTEST_PAUSE_HOPS => *end = hop + 1,
                _ => sounds.push((hop, hop + 1)),
            }
        }
        sounds.retain(|(begin, end)| end - begin >= SHORTEST_SOUND_HOPS);
        if sounds.len() != VOWEL_COUNT {
            return Err(CalibrationError::NotFive(sounds.len()));
        }
        for (vowel, (begin, end)) in Vowel::ALL.into_iter().zip(sounds) {
            // The transitions at both ends are no vowel.
            let edge = (end - begin) / 8;
            let (begin, end) = ((begin + edge) * HOP, (end - edge) * HOP);
            let from = begin.saturating_sub(LEAD);
            self.add(vowel, samples.get(from..end).unwrap_or_default(), begin - from);
        }
        Ok(())
    }

    /// The calibration.
    ///
    /// # Errors
    /// If a vowel is missing, or two are alike.
    pub fn finish(&self) -> Result<Calibration, CalibrationError> {
        for (vowel, heard) in Vowel::ALL.into_iter().zip(&self.heard) {
            if heard.len() < FEWEST_HOPS {
                return Err(CalibrationError::TooShort(vowel));
            }
        }
        let calibration = Calibration::of(&self.heard, self.strength());
        let Calibration { means, deviations, .. } = &calibration;
        for (i, a) in Vowel::ALL.into_iter().enumerate() {
            for b in Vowel::ALL.into_iter().skip(i + 1) {
                if mean_square(&means[a as usize], &means[b as usize], deviations) < NEAREST {
                    return Err(CalibrationError::Same(a, b));
                }
            }
        }
        Ok(calibration)
    }

    /// How strongly to calibrate: as much as halves of what was said gain for one another.
    fn strength(&self) -> f32 {
        let halves: [[Vec<Heard>; VOWEL_COUNT]; 2] = std::array::from_fn(|half| {
            self.heard.each_ref().map(|hops| {
                let pieces = hops.iter().enumerate().map(|(i, hop)| (i * PIECES / hops.len().max(1), hop));
                pieces.filter(|(piece, _)| piece % 2 == half).map(|(_, hop)| hop.clone()).collect()
            })
        });
        let judged = |strength: f32| {
            let [a, b] = &halves;
            Calibration::of(a, strength).judge(b) + Calibration::of(b, strength).judge(a)
        };
        let gain = (judged(TRIED_STRENGTH) - judged(0.0)) / 2.0;
        ((gain - LEAST_GAIN) / (FULL_GAIN - LEAST_GAIN) * TRIED_STRENGTH).clamp(0.0, LARGEST_STRENGTH)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use proptest::prelude::*;

    use super::*;

    /// A buzz with one formant.
    fn vowel(formant_hz: f32, secs: f32) -> Vec<f32> {
        let tau = std::f32::consts::TAU;
        (0..(secs * 16_000.0) as usize)
            .map(|i| {
                let t = i as f32 / 16_000.0;
                (1..30)
                    .map(|h| h as f32 * 150.0)
                    .map(|hz| (tau * hz * t).sin() * (-((hz - formant_hz) / 300.0).powi(2)).exp())
                    .sum::<f32>()
                    * 0.1
            })
            .collect()
    }

    fn formant(vowel: Vowel) -> f32 {
        [900.0, 2400.0, 400.0, 1800.0, 600.0][vowel as usize]
    }

    fn calibrated() -> Calibration {
        let mut calibrator = Calibrator::new().expect("network");
        for v in Vowel::ALL {
            calibrator.add(v, &vowel(formant(v), 0.4), 0);
        }
        Calibration { strength: TRIED_STRENGTH, ..calibrator.finish().expect("calibration") }
    }

    #[test]
    fn a_doubtful_vowel_becomes_the_near_one_and_silence_stays() {
        let calibration = calibrated();
        let maker = CepstrumMaker::new();
        for (v, viseme) in Vowel::ALL.into_iter().zip(VOWELS) {
            let mut features = LogMel::new();
            let frames: Vec<_> = vowel(formant(v), 0.1).into_iter().filter_map(|s| features.push(s).copied()).collect();
            let cepstrum = maker.of(&frames[7]);
            let mut doubtful = [1.0 / 15.0; 15];
            calibration.apply(&mut doubtful, &cepstrum);
            let best = (0..15).max_by(|a, b| doubtful[*a].total_cmp(&doubtful[*b])).expect("best");
            assert_eq!(best, viseme as usize, "{doubtful:?}");
            assert!((doubtful.iter().sum::<f32>() - 1.0).abs() < 1e-4);
            let mut silent = [0.0; 15];
            silent[0] = 1.0;
            calibration.apply(&mut silent, &cepstrum);
            assert!(silent[0] > 0.999);
        }
    }

    #[test]
    fn a_voice_that_is_known_is_left_alone_and_a_mistaken_one_is_not() {
        let mut calibrator = Calibrator::new().expect("network");
        let tell = |calibrator: &mut Calibrator, share: f32| {
            for (v, viseme) in Vowel::ALL.into_iter().zip(VOWELS) {
                let mut weights = [(1.0 - share) / 14.0; VISEME_COUNT];
                weights[viseme as usize] = share;
                calibrator.heard[v as usize].iter_mut().for_each(|hop| hop.weights = weights);
            }
        };
        Vowel::ALL.into_iter().for_each(|v| calibrator.add(v, &vowel(formant(v), 0.5), 0));
        tell(&mut calibrator, 0.97);
        let known = calibrator.finish().expect("calibration");
        assert!(!known.is_useful(), "{}", known.strength);
        let mut weights = [1.0 / 15.0; VISEME_COUNT];
        known.apply(&mut weights, &known.means[2]);
        assert_eq!(weights, [1.0 / 15.0; VISEME_COUNT]);
        tell(&mut calibrator, 0.15);
        assert!(calibrator.finish().expect("calibration").strength > TRIED_STRENGTH);
    }

    #[test]
    fn numbers_round_trip_and_nonsense_is_none() {
        let calibration = calibrated();
        let numbers = calibration.to_numbers();
        let again = Calibration::from_numbers(&numbers).expect("numbers");
        assert_eq!(again.to_numbers(), numbers);
        assert_eq!(Calibration::from_numbers(&[]), None);
        assert_eq!(Calibration::from_numbers(&[0.0; NUMBERS]), None);
        assert_eq!(Calibration::from_numbers(&[f32::NAN; NUMBERS]), None);
        assert_eq!(Calibration::from_numbers(&numbers[1..]), None);
    }

    #[test]
    fn five_sounds_in_order_are_found() {
        let pause = vec![0.0; 4_000];
        let mut all = pause.clone();
        for v in Vowel::ALL {
            all.extend(vowel(formant(v), 0.6));
            all.extend(&pause);
        }
        let mut calibrator = Calibrator::new().expect("network");
        calibrator.add_in_order(&all).expect("five");
        let found = calibrator.finish().expect("calibration");
        for (a, b) in found.means.iter().zip(&calibrated().means) {
            let distance = mean_square(a, b, &found.deviations);
            assert!(distance < 0.2, "{distance}");
        }
        let mut calibrator = Calibrator::new().expect("network");
        assert_eq!(calibrator.add_in_order(&all[..24_000]), Err(CalibrationError::NotFive(2)));
        assert_eq!(calibrator.add_in_order(&[]), Err(CalibrationError::NotFive(0)));
    }

    #[test]
    fn missing_and_equal_vowels_are_named() {
        let mut calibrator = Calibrator::new().expect("network");
        assert_eq!(calibrator.finish(), Err(CalibrationError::TooShort(Vowel::Aa)));
        Vowel::ALL.into_iter().for_each(|v| calibrator.add(v, &vowel(700.0, 0.4), 0));
        assert_eq!(calibrator.finish(), Err(CalibrationError::Same(Vowel::Aa, Vowel::Ih)));
        let mut calibrator = Calibrator::new().expect("network");
        Vowel::ALL.into_iter().for_each(|v| calibrator.add(v, &[0.0; 8000], 0));
        assert!(calibrator.finish().is_err());
    }

    proptest! {
        #[test]
        fn whatever_comes_in_probabilities_come_out(
            cepstrum in proptest::array::uniform12(-150.0_f32..150.0),
            raw in proptest::array::uniform15(0.0_f32..1.0),
        ) {
            let sum: f32 = raw.iter().sum::<f32>().max(1e-3);
            let mut weights = raw.map(|w| w / sum);
            let before: f32 = weights.iter().sum();
            static CALIBRATION: LazyLock<Calibration> = LazyLock::new(calibrated);
            CALIBRATION.apply(&mut weights, &cepstrum);
            prop_assert!(weights.iter().all(|w| (0.0..=1.001).contains(w)));
            prop_assert!((weights.iter().sum::<f32>() - before).abs() < 1e-3);
        }
    }
}
