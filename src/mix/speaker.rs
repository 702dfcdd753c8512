//! Visemes become a mouth, report by report: the gate, how far, which vowel, closures.
//!
//! What users complain of elsewhere decides the shape of it: mouths that chatter (so classes have their own attack and
//! release, and the winner among the vowels keeps its place against a near rival), that always say "a" (so only the
//! winner and half the runner-up show), that never close for p, b and m (so closures are hard and last), and that stand
//! open in noise (so a gate with hysteresis decides what is speech).

use super::heard::HeardMouth;
use crate::settings::LipsyncSettings;
use crate::signal::{AttackRelease, Slew, smoothing_share, smoothstep};
use crate::types::{VISEME_COUNT, VOWEL_COUNT, Viseme, VisemeFrame, Vowel};

/// Speech gate: hysteresis on the probability of speech. A first hop must be sure, two may be less so: single hops of
/// noise start nothing.
const GATE_OPENS_AT: f32 = 0.6;
const GATE_OPENS_AT_ONCE_AT: f32 = 0.85;
const GATE_OPENS_AFTER_SECS: f32 = 0.02;
const GATE_CLOSES_AT: f32 = 0.35;
const GATE_CLOSES_AFTER_SECS: f32 = 0.06;
/// After the gate has closed, the mouth is kept for this long: with the gate's own 0.06 s, gaps of 0.12 s between
/// words are bridged, and the return to the expression begins within 0.08 s (BEHAVIOUR §2).
const HOLD_SECS: f32 = 0.06;

/// Opening of each viseme at weight 1, in the Oculus order: vowels as BEHAVIOUR §1, lips meet for p/b/m, nearly for f/v.
const OPENING: [f32; VISEME_COUNT] =
    [0.0, 0.0, 0.06, 0.22, 0.22, 0.27, 0.24, 0.16, 0.2, 0.26, 1.0, 0.55, 0.35, 0.75, 0.4];
/// How much of the neighbouring vowels' opening each sound takes on top: the tongue speaks, the jaw goes on.
const CARRIED: [f32; VISEME_COUNT] = [0.0, 0.0, 0.0, 0.15, 0.2, 0.3, 0.1, 0.05, 0.2, 0.15, 0.0, 0.0, 0.0, 0.0, 0.0];
/// The neighbouring vowels' opening is remembered with this time constant.
const CARRIED_SECS: f32 = 0.12;

/// Which vowel each viseme looks like on an avatar that has vowels only: aa ih ou ee oh. Sounds of the tongue say
/// little, so that the lips keep the vowel's shape through them; sounds of the lips say more.
const VOWEL_OF: [[f32; VOWEL_COUNT]; VISEME_COUNT] = [
    [0.0; 5],
    [0.0; 5],
    [0.0, 0.2, 0.0, 0.0, 0.0],
    [0.0, 0.15, 0.0, 0.15, 0.0],
    [0.0, 0.15, 0.0, 0.1, 0.0],
    [0.05, 0.05, 0.0, 0.1, 0.0],
    [0.0, 0.2, 0.5, 0.0, 0.0],
    [0.0, 0.6, 0.0, 0.0, 0.0],
    [0.0, 0.1, 0.0, 0.1, 0.0],
    [0.0, 0.0, 0.25, 0.0, 0.25],
    [1.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 1.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 0.0, 0.0],
];

/// Time constants of rise and fall at the default smoothing, by class (research/lip-sync §5: attack 25–40 ms, release
/// 60–90 ms, lips 15 ms). Silence rises as slowly as vowels fall, and yields as fast as they rise.
const SILENCE_SECS: (f32, f32) = (0.060, 0.026);
const LIPS_SECS: (f32, f32) = (0.006, 0.030);
const TONGUE_SECS: (f32, f32) = (0.022, 0.045);
const VOWEL_SECS: (f32, f32) = (0.032, 0.060);
/// Towards another vowel.
const SHAPE_SECS: f32 = 0.035;
/// A rival must beat the winner among the vowels by this factor and margin, and a winner stays for this long.
const RIVAL_FACTOR: f32 = 1.2;
const RIVAL_MARGIN: f32 = 0.03;
const WINNER_STAYS_SECS: f32 = 0.11;

/// Lips close within 10 ms and, once closed, stay so for 40 ms, however short the sound was.
const CLOSURE_ATTACK_SECS: f32 = 0.004;
const CLOSURE_RELEASE_SECS: f32 = 0.025;
const CLOSURE_HOLD_SECS: f32 = 0.040;
/// Probability of p/b/m (f/v) from which the lips begin to close, and at which they are closed. Measured on presenter
/// scripts: lower, and lips meet where nobody closes them; higher, and they miss some of the 14 p, b and m of the demo.
const CLOSES_FROM: f32 = 0.28;
const CLOSED_AT: f32 = 0.52;
/// A closure stronger than this is meant, and made whole.
const CLOSURE_MEANT: f32 = 0.5;
/// f and v leave a slit.
const LABIODENTAL_CLOSURE: f32 = 0.85;

/// The usual loudness of this voice, for the gain: learnt on speech only.
const FIRST_LEVEL_DB: f32 = -28.0;
const LEVEL_SECS: f32 = 3.0;
/// Decibels around the usual level over which the opening changes by half.
const LOUDNESS_RANGE_DB: f32 = 24.0;

/// Follows the visemes report by report, as a mouth would.
#[derive(Clone, Debug)]
pub(super) struct Speaker {
    gate: Gate,
    usual_level_db: f32,
    spoken_secs: f32,
    speech: Slew,
    visemes: [AttackRelease; VISEME_COUNT],
    carried_open: f32,
    shape: VowelShape,
    closure: Closure,
}

impl Speaker {
    pub fn new() -> Self {
        Self {
            gate: Gate::default(),
            usual_level_db: FIRST_LEVEL_DB,
            spoken_secs: 0.0,
            speech: Slew::default(),
            visemes: VisemeFrame::SILENT.weights.map(|value| AttackRelease { value }),
            carried_open: 0.0,
            shape: VowelShape::default(),
            closure: Closure::default(),
        }
    }

    /// Forgets the mouth, but not how loud this voice usually is.
    pub fn forget(&mut self) {
        *self = Self { usual_level_db: self.usual_level_db, spoken_secs: self.spoken_secs, ..Self::new() };
    }

    /// True while somebody speaks, the hold included.
    pub fn is_speaking(&self) -> bool {
        self.gate.is_open || self.gate.hold_secs > 0.0
    }

    /// The mouth `dt` seconds after the last report.
    pub fn step(&mut self, frame: &VisemeFrame, dt: f32, settings: &LipsyncSettings) -> HeardMouth {
        let pace = pace_of(settings.smoothing);
        self.gate.step(frame.voiced, dt);
        let loudness = self.step_loudness(frame.level_db, dt);

        // Silence belongs to the expression: with the gate closed everything eases to nothing, and nothing is forced.
        let weights = if self.gate.is_open { &frame.weights } else { &VisemeFrame::SILENT.weights };
        for ((shown, wanted), viseme) in self.visemes.iter_mut().zip(weights).zip(Viseme::ALL) {
            let (attack, release) = times_of(viseme);
            shown.step(*wanted, attack * pace, release * pace, dt);
        }
        let sum: f32 = self.visemes.iter().map(|v| v.value).sum();
        let visemes = if sum > 1e-3 { self.visemes.map(|v| v.value / sum) } else { VisemeFrame::SILENT.weights };

        self.step_carried(weights, dt);
        let opening = |(i, weight): (usize, &f32)| weight * (OPENING[i] + CARRIED[i] * self.carried_open);
        let open: f32 = visemes.iter().enumerate().map(opening).sum();
        let vowels = self.shape.step(&visemes, pace, dt);
        // No farther than the vowel that shows: an "e" as open as an "a" would be an "a".
        let open = open.min(Vowel::ALL.iter().zip(vowels).map(|(vowel, share)| vowel.opening() * share).sum());
        HeardMouth {
            open: (open * loudness * sensitivity_of(settings)).clamp(0.0, 1.0),
            closed: self.closure.step(weights, dt),
            vowels,
            visemes,
            speech: self.speech.step(
                f32::from(u8::from(self.gate.is_open)),
                if self.gate.is_open { 25.0 } else { 10.0 },
                dt,
            ),
        }
    }

    /// How far the vowels around a consonant open.
    fn step_carried(&mut self, weights: &[f32; VISEME_COUNT], dt: f32) {
        let is_vowel = |v: Viseme| v as usize >= Viseme::Aa as usize;
        let vowels = Viseme::ALL.into_iter().filter(|v| is_vowel(*v)).map(|v| v as usize);
        let (mass, open) = vowels.fold((0.0, 0.0), |(m, o), i| (m + weights[i], o + weights[i] * OPENING[i]));
        let silence = weights[Viseme::Sil as usize];
        let target = if mass > 1e-3 { open / mass } else { 0.0 };
        self.carried_open += (target - self.carried_open) * smoothing_share(CARRIED_SECS, dt) * mass.max(silence);
    }

    fn step_loudness(&mut self, level_db: f32, dt: f32) -> f32 {
        if self.gate.is_open {
            // Quick while the voice is new, slow once it is known.
            self.spoken_secs = (self.spoken_secs + dt).min(LEVEL_SECS);
            let share = smoothing_share(self.spoken_secs.max(0.3), dt);
            self.usual_level_db += (level_db - self.usual_level_db) * share;
        }
        (1.0 + 0.5 * (level_db - self.usual_level_db) / LOUDNESS_RANGE_DB).clamp(0.5, 1.25)
    }
}

fn times_of(viseme: Viseme) -> (f32, f32) {
    match viseme {
        Viseme::Sil => SILENCE_SECS,
        Viseme::Pp | Viseme::Ff => LIPS_SECS,
        Viseme::Aa | Viseme::E | Viseme::Ih | Viseme::Oh | Viseme::Ou => VOWEL_SECS,
        _ => TONGUE_SECS,
    }
}

/// Decides what is speech.
#[derive(Clone, Debug, Default)]
struct Gate {
    is_open: bool,
    above_secs: f32,
    below_secs: f32,
    hold_secs: f32,
}

impl Gate {
    fn step(&mut self, voiced: f32, dt: f32) {
        self.above_secs = if voiced > GATE_OPENS_AT { self.above_secs + dt } else { 0.0 };
        if voiced > GATE_OPENS_AT_ONCE_AT || self.above_secs >= GATE_OPENS_AFTER_SECS - 1e-4 {
            self.is_open = true;
        }
        self.below_secs = if voiced < GATE_CLOSES_AT { self.below_secs + dt } else { 0.0 };
        if self.below_secs >= GATE_CLOSES_AFTER_SECS - 1e-4 {
            self.is_open = false;
        }
        self.hold_secs = if self.is_open { HOLD_SECS } else { (self.hold_secs - dt).max(0.0) };
    }
}

/// Lips pressed together.
#[derive(Clone, Debug, Default)]
struct Closure {
    closed: AttackRelease,
    target: f32,
    left_secs: f32,
}

impl Closure {
    fn step(&mut self, weights: &[f32; VISEME_COUNT], dt: f32) -> f32 {
        let strength = |viseme: Viseme, whole: f32| {
            let strength = smoothstep((weights[viseme as usize] - CLOSES_FROM) / (CLOSED_AT - CLOSES_FROM));
            whole * if strength > CLOSURE_MEANT { 1.0 } else { strength }
        };
        let wanted = strength(Viseme::Pp, 1.0).max(strength(Viseme::Ff, LABIODENTAL_CLOSURE));
        if wanted >= self.target {
            self.target = wanted;
            self.left_secs = if wanted > CLOSURE_MEANT { CLOSURE_HOLD_SECS } else { 0.0 };
        } else if self.left_secs <= 1e-4 {
            self.target = wanted;
        }
        // The hold counts from closed lips on.
        if self.closed.value >= 0.9 * self.target {
            self.left_secs -= dt;
        }
        self.closed.step(self.target, CLOSURE_ATTACK_SECS, CLOSURE_RELEASE_SECS, dt)
    }
}

/// Which vowel the lips show: the winner and half the runner-up. A weighted sum of all five nearly always looks like
/// "a", because that one deforms most.
#[derive(Clone, Debug)]
struct VowelShape {
    winner: usize,
    stayed_secs: f32,
    shares: [f32; VOWEL_COUNT],
}

impl Default for VowelShape {
    fn default() -> Self {
        Self { winner: 0, stayed_secs: f32::INFINITY, shares: HeardMouth::REST.vowels }
    }
}

impl VowelShape {
    /// Shares that sum to 1. Where no vowel is near, the last ones stay.
    fn step(&mut self, visemes: &[f32; VISEME_COUNT], pace: f32, dt: f32) -> [f32; VOWEL_COUNT] {
        let mut scores = [0.0; VOWEL_COUNT];
        for (weight, row) in visemes.iter().zip(&VOWEL_OF) {
            for (score, share) in scores.iter_mut().zip(row) {
                *score += weight * share;
            }
        }
        self.stayed_secs += dt;
        if let Some((best, score)) = largest(&scores, None)
            && best != self.winner
            && self.stayed_secs >= WINNER_STAYS_SECS * pace
            && score > RIVAL_FACTOR * scores[self.winner] + RIVAL_MARGIN
        {
            self.winner = best;
            self.stayed_secs = 0.0;
        }
        if let Some((second, runner_up)) = largest(&scores, Some(self.winner))
            && scores[self.winner] > 0.02
        {
            let half = 0.5 * (runner_up / scores[self.winner]).min(1.0);
            let mut wanted = [0.0; VOWEL_COUNT];
            wanted[self.winner] = 1.0 / (1.0 + half);
            wanted[second] = half / (1.0 + half);
            let share = smoothing_share(SHAPE_SECS * pace, dt);
            for (shown, wanted) in self.shares.iter_mut().zip(wanted) {
                *shown += (wanted - *shown) * share;
            }
        }
        self.shares
    }
}

fn largest(scores: &[f32; VOWEL_COUNT], except: Option<usize>) -> Option<(usize, f32)> {
    scores.iter().copied().enumerate().filter(|(i, _)| Some(*i) != except).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Factor on all time constants: 0.4 at smoothing 0, 1 at the default 0.3, 2.4 at 1.
pub(super) fn pace_of(smoothing: f32) -> f32 {
    0.4 + 2.0 * if smoothing.is_finite() { smoothing.clamp(0.0, 1.0) } else { 0.3 }
}

/// The factor on openings, heard and seen.
pub(super) fn sensitivity_of(lipsync: &LipsyncSettings) -> f32 {
    if lipsync.sensitivity.is_finite() { lipsync.sensitivity.clamp(0.0, 4.0) } else { 1.0 }
}

/// How far the lips are apart for these weights: the raw envelope that alignment looks at.
pub(super) fn raw_opening(weights: &[f32; VISEME_COUNT]) -> f32 {
    weights.iter().zip(OPENING).map(|(w, o)| w * o).sum()
}
