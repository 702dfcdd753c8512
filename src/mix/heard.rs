//! The microphone's side of the mixer: plays reports out evenly and shapes them into a mouth.
//!
//! Reports come every 10 ms, but in bunches. A playhead runs through them at the display's pace and catches up gently,
//! so no closure is skipped and nothing stutters; how the mouth follows is computed per report, not per display frame,
//! and so does not depend on the display's rate.

use std::collections::VecDeque;

use super::health::Health;
use crate::settings::Settings;
use crate::signal::{AttackRelease, Slew, smoothing_share, smoothstep};
use crate::types::{AudioReport, AudioState, VISEME_COUNT, VOWEL_COUNT, Viseme, VisemeFrame};

/// Without samples for this long the microphone is stalled (BEHAVIOUR, known loss).
const TIMEOUT_SECS: f64 = 0.08;
/// Reports wait here until the playhead has passed them: 0.06 s of delay, and bunches.
const QUEUE_LEN: usize = 48;
/// The playhead is never further behind the newest report than this (on top of the wanted delay).
const MAX_LAG_SECS: f64 = 0.06;
/// Time constant of catching up.
const CATCH_UP_SECS: f32 = 0.05;
/// A time stamp this much older than the last one is a new time line, not a late report.
const NEW_TIME_LINE_SECS: f64 = 1.0;

/// Speech gate: hysteresis on the speech probability, and a hold that bridges the gaps between words.
/// Measured in research/lip-sync §5; gate and hold together bridge 0.12 s.
const GATE_OPENS_AT: f32 = 0.6;
const GATE_CLOSES_AT: f32 = 0.35;
const GATE_CLOSES_AFTER_SECS: f32 = 0.06;
const HOLD_SECS: f32 = 0.06;

/// Opening of each viseme at weight 1, in the Oculus order: vowels as BEHAVIOUR §1, lips meet for p/b/m, nearly for f/v.
const OPENING: [f32; VISEME_COUNT] =
    [0.0, 0.0, 0.06, 0.3, 0.3, 0.35, 0.3, 0.22, 0.28, 0.32, 1.0, 0.55, 0.35, 0.75, 0.4];
/// Which vowel each viseme looks like on an avatar that has vowels only: aa ih ou ee oh.
const VOWEL_OF: [[f32; VOWEL_COUNT]; VISEME_COUNT] = [
    [0.0; 5],
    [0.0; 5],
    [0.0, 0.3, 0.0, 0.0, 0.0],
    [0.0, 0.5, 0.0, 0.5, 0.0],
    [0.0, 0.6, 0.0, 0.4, 0.0],
    [0.3, 0.2, 0.0, 0.5, 0.0],
    [0.0, 0.3, 0.7, 0.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 0.0],
    [0.0, 0.5, 0.0, 0.5, 0.0],
    [0.0, 0.0, 0.5, 0.0, 0.5],
    [1.0, 0.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 1.0, 0.0],
    [0.0, 1.0, 0.0, 0.0, 0.0],
    [0.0, 0.0, 0.0, 0.0, 1.0],
    [0.0, 0.0, 1.0, 0.0, 0.0],
];

/// Time constants at the default smoothing.
const ATTACK_SECS: f32 = 0.030;
const RELEASE_SECS: f32 = 0.070;
const VOWEL_SECS: f32 = 0.035;
/// Lips of p/b/m and f/v close within 15 ms and stay for 40 ms.
const CLOSURE_ATTACK_SECS: f32 = 0.006;
const CLOSURE_RELEASE_SECS: f32 = 0.030;
const CLOSURE_HOLD_SECS: f32 = 0.040;
/// Probability of p/b/m (f/v) from which the lips begin to close, and at which they are closed. The network's recall
/// of p/b/m is under a half, so the threshold is low.
const CLOSES_FROM: f32 = 0.2;
const CLOSED_AT: f32 = 0.45;
/// f and v leave a slit.
const LABIODENTAL_CLOSURE: f32 = 0.8;

/// The usual loudness of this voice, for the gain: learnt on speech only.
const FIRST_LEVEL_DB: f32 = -28.0;
const LEVEL_SECS: f32 = 3.0;
/// Decibels around the usual level over which the opening changes by half.
const LOUDNESS_RANGE_DB: f32 = 24.0;

/// The mouth that the sound calls for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HeardMouth {
    /// How far it opens, 0..1.
    pub open: f32,
    /// Lips pressed together, 0..1.
    pub closed: f32,
    /// Which vowel: shares that sum to 1.
    pub vowels: [f32; VOWEL_COUNT],
    /// Visemes, `sil` included; sum to 1.
    pub visemes: [f32; VISEME_COUNT],
    /// 1 while somebody speaks, eased.
    pub speech: f32,
}

impl HeardMouth {
    const REST: Self = Self {
        open: 0.0,
        closed: 0.0,
        vowels: [1.0, 0.0, 0.0, 0.0, 0.0],
        visemes: VisemeFrame::SILENT.weights,
        speech: 0.0,
    };

    fn lerp(&self, other: &Self, t: f32) -> Self {
        let mix = |a: f32, b: f32| a + (b - a) * t;
        Self {
            open: mix(self.open, other.open),
            closed: mix(self.closed, other.closed),
            vowels: std::array::from_fn(|i| mix(self.vowels[i], other.vowels[i])),
            visemes: std::array::from_fn(|i| mix(self.visemes[i], other.visemes[i])),
            speech: mix(self.speech, other.speech),
        }
    }
}

/// What the microphone says now.
#[derive(Clone, Debug)]
pub(super) struct Heard {
    state: AudioState,
    health: Health,
    fresh: Option<bool>,
    newest_at: Option<f64>,
    queue: VecDeque<(f64, VisemeFrame)>,
    playhead: f64,
    delay_secs: f64,
    speaker: Speaker,
    before: (f64, HeardMouth),
    after: (f64, HeardMouth),
}

impl Heard {
    pub fn new() -> Self {
        Self {
            state: AudioState::default(),
            health: Health::new(),
            fresh: None,
            newest_at: None,
            queue: VecDeque::with_capacity(QUEUE_LEN),
            playhead: 0.0,
            delay_secs: 0.0,
            speaker: Speaker::new(),
            before: (0.0, HeardMouth::REST),
            after: (0.0, HeardMouth::REST),
        }
    }

    /// Takes a report. One that is older than the last is dropped.
    pub fn take(&mut self, report: AudioReport) {
        let captured_at = report.captured_at.as_secs_f64();
        let since_last = self.newest_at.map(|last| captured_at - last);
        if since_last.is_some_and(|secs| secs < 0.0 && secs > -NEW_TIME_LINE_SECS) {
            return;
        }
        self.state = report.state;
        self.fresh = Some(!report.state.is_lost());
        if report.state.is_lost() {
            return;
        }
        self.newest_at = Some(captured_at);
        // After a gap, a restart or at first there is nothing to play evenly.
        if since_last.is_none_or(|secs| !(0.0..MAX_LAG_SECS * 2.0).contains(&secs)) {
            self.queue.clear();
            self.playhead = captured_at;
            self.before = (captured_at, self.after.1);
            self.after = self.before;
        }
        if self.queue.len() == QUEUE_LEN {
            self.queue.pop_front();
        }
        self.queue.push_back((captured_at, sane_frame(&report.frame)));
    }

    /// Brings everything to `now`. The sound is shown `delay_secs` later than it could be.
    pub fn step(&mut self, now: f64, dt: f32, delay_secs: f64, settings: &Settings) {
        let fresh = self.fresh.take();
        let confidence = self.health.step(now, dt, fresh, 1.0, TIMEOUT_SECS);
        if self.health.is_stale(now, TIMEOUT_SECS) && !self.state.is_lost() {
            self.state = AudioState::Stalled;
        }
        if confidence <= 0.0 && self.state.is_lost() {
            self.speaker.forget();
            self.queue.clear();
            self.before.1 = HeardMouth::REST;
            self.after.1 = HeardMouth::REST;
            return;
        }
        self.advance(dt, delay_secs, settings);
    }

    fn advance(&mut self, dt: f32, delay_secs: f64, settings: &Settings) {
        let Some(newest_at) = self.newest_at else { return };
        // The delay itself changes slowly: a moved slider bends time a little instead of tearing it.
        let reach = f64::from(dt) * 0.2;
        self.delay_secs += (delay_secs - self.delay_secs).clamp(-reach, reach);
        let goal = newest_at - self.delay_secs;
        self.playhead += f64::from(dt);
        let behind = goal - self.playhead;
        self.playhead += behind.max(0.0) * f64::from(smoothing_share(CATCH_UP_SECS, dt));
        self.playhead = self.playhead.clamp(goal - MAX_LAG_SECS, goal.max(self.after.0));
        while self.after.0 < self.playhead {
            let Some((at, frame)) = self.queue.pop_front() else { break };
            let hop_secs = (at - self.after.0).clamp(0.0, 0.1) as f32;
            self.before = self.after;
            self.after = (at, self.speaker.step(&frame, hop_secs, settings));
        }
    }

    /// The last reported state; `Stalled` where samples stopped coming.
    pub fn state(&self) -> AudioState {
        self.state
    }

    pub fn confidence(&self) -> f32 {
        self.health.confidence()
    }

    /// True while somebody speaks, the hold included.
    pub fn is_speaking(&self) -> bool {
        self.speaker.is_speaking() && self.health.confidence() > 0.0
    }

    pub fn mouth(&self) -> HeardMouth {
        let (from, until) = (self.before.0, self.after.0);
        let share = if until > from { ((self.playhead - from) / (until - from)).clamp(0.0, 1.0) } else { 1.0 };
        self.before.1.lerp(&self.after.1, share as f32)
    }
}

/// Follows the visemes report by report, as a mouth would.
#[derive(Clone, Debug)]
struct Speaker {
    is_gate_open: bool,
    below_secs: f32,
    hold_secs: f32,
    usual_level_db: f32,
    spoken_secs: f32,
    speech: Slew,
    open: AttackRelease,
    closed: AttackRelease,
    closure: f32,
    closure_left_secs: f32,
    vowels: [f32; VOWEL_COUNT],
    visemes: [AttackRelease; VISEME_COUNT],
}

impl Speaker {
    fn new() -> Self {
        Self {
            is_gate_open: false,
            below_secs: 0.0,
            hold_secs: 0.0,
            usual_level_db: FIRST_LEVEL_DB,
            spoken_secs: 0.0,
            speech: Slew::default(),
            open: AttackRelease::default(),
            closed: AttackRelease::default(),
            closure: 0.0,
            closure_left_secs: 0.0,
            vowels: HeardMouth::REST.vowels,
            visemes: [AttackRelease::default(); VISEME_COUNT],
        }
    }

    /// Forgets the mouth, but not how loud this voice usually is.
    fn forget(&mut self) {
        *self = Self { usual_level_db: self.usual_level_db, spoken_secs: self.spoken_secs, ..Self::new() };
    }

    fn is_speaking(&self) -> bool {
        self.is_gate_open || self.hold_secs > 0.0
    }

    fn step(&mut self, frame: &VisemeFrame, dt: f32, settings: &Settings) -> HeardMouth {
        let lipsync = &settings.lipsync;
        let pace = pace_of(lipsync.smoothing);
        self.step_gate(frame, settings.audio.gate_db, dt);
        let loudness = self.step_loudness(frame.level_db, dt);

        // Silence belongs to the expression: with the gate closed everything eases to nothing, and nothing is forced.
        let weights = if self.is_gate_open { &frame.weights } else { &VisemeFrame::SILENT.weights };
        let open: f32 = weights.iter().zip(OPENING).map(|(w, o)| w * o).sum();
        let open = (open * loudness * lipsync.sensitivity.clamp(0.0, 4.0)).clamp(0.0, 1.0);
        let vowels = vowel_shares(weights);
        if let Some(vowels) = vowels {
            let share = smoothing_share(VOWEL_SECS * pace, dt);
            for (shown, wanted) in self.vowels.iter_mut().zip(vowels) {
                *shown += (wanted - *shown) * share;
            }
        }
        for (shown, wanted) in self.visemes.iter_mut().zip(weights) {
            shown.step(*wanted, ATTACK_SECS * pace, RELEASE_SECS * pace, dt);
        }
        let sum: f32 = self.visemes.iter().map(|v| v.value).sum();
        let visemes = if sum > 1e-3 { self.visemes.map(|v| v.value / sum) } else { VisemeFrame::SILENT.weights };

        HeardMouth {
            open: self.open.step(open, ATTACK_SECS * pace, RELEASE_SECS * pace, dt),
            closed: self.step_closure(weights, dt),
            vowels: self.vowels,
            visemes,
            speech: self.speech.step(
                f32::from(u8::from(self.is_gate_open)),
                if self.is_gate_open { 25.0 } else { 10.0 },
                dt,
            ),
        }
    }

    fn step_gate(&mut self, frame: &VisemeFrame, gate_db: f32, dt: f32) {
        let voiced = if frame.level_db < gate_db { 0.0 } else { frame.voiced };
        if voiced > GATE_OPENS_AT {
            self.is_gate_open = true;
        }
        if voiced >= GATE_CLOSES_AT {
            self.below_secs = 0.0;
        } else {
            self.below_secs += dt;
            if self.below_secs >= GATE_CLOSES_AFTER_SECS - 1e-4 {
                self.is_gate_open = false;
            }
        }
        self.hold_secs = if self.is_gate_open { HOLD_SECS } else { (self.hold_secs - dt).max(0.0) };
    }

    fn step_loudness(&mut self, level_db: f32, dt: f32) -> f32 {
        if self.is_gate_open {
            // Quick while the voice is new, slow once it is known.
            self.spoken_secs = (self.spoken_secs + dt).min(LEVEL_SECS);
            let share = smoothing_share(self.spoken_secs.max(0.3), dt);
            self.usual_level_db += (level_db - self.usual_level_db) * share;
        }
        (1.0 + 0.5 * (level_db - self.usual_level_db) / LOUDNESS_RANGE_DB).clamp(0.5, 1.25)
    }

    fn step_closure(&mut self, weights: &[f32; VISEME_COUNT], dt: f32) -> f32 {
        let strength =
            |viseme: Viseme| smoothstep((weights[viseme as usize] - CLOSES_FROM) / (CLOSED_AT - CLOSES_FROM));
        let wanted = strength(Viseme::Pp).max(strength(Viseme::Ff) * LABIODENTAL_CLOSURE);
        self.closure_left_secs -= dt;
        if wanted >= self.closure || self.closure_left_secs <= 0.0 {
            if wanted > self.closure && wanted > 0.5 {
                self.closure_left_secs = CLOSURE_HOLD_SECS;
            }
            self.closure = wanted;
        }
        self.closed.step(self.closure, CLOSURE_ATTACK_SECS, CLOSURE_RELEASE_SECS, dt)
    }
}

/// The winner and half the runner-up: a weighted sum of all five shapes nearly always looks like "a".
/// `None` where no vowel is near.
fn vowel_shares(weights: &[f32; VISEME_COUNT]) -> Option<[f32; VOWEL_COUNT]> {
    let mut scores = [0.0; VOWEL_COUNT];
    for (weight, row) in weights.iter().zip(&VOWEL_OF) {
        for (score, share) in scores.iter_mut().zip(row) {
            *score += weight * share;
        }
    }
    let (winner, best) = largest(&scores, None)?;
    let (runner_up, second) = largest(&scores, Some(winner))?;
    if best < 0.02 {
        return None;
    }
    let half = 0.5 * second / best;
    let mut shares = [0.0; VOWEL_COUNT];
    shares[winner] = 1.0 / (1.0 + half);
    shares[runner_up] = half / (1.0 + half);
    Some(shares)
}

fn largest(scores: &[f32; VOWEL_COUNT], except: Option<usize>) -> Option<(usize, f32)> {
    scores.iter().copied().enumerate().filter(|(i, _)| Some(*i) != except).max_by(|a, b| a.1.total_cmp(&b.1))
}

/// Factor on all time constants: 0.4 at smoothing 0, 1 at the default 0.3, 2.4 at 1.
pub(super) fn pace_of(smoothing: f32) -> f32 {
    0.4 + 2.0 * if smoothing.is_finite() { smoothing.clamp(0.0, 1.0) } else { 0.3 }
}

fn sane_frame(frame: &VisemeFrame) -> VisemeFrame {
    let unit = |x: f32| if x.is_finite() { x.clamp(0.0, 1.0) } else { 0.0 };
    let mut weights = frame.weights.map(unit);
    let sum: f32 = weights.iter().sum();
    if sum > 1e-3 {
        weights = weights.map(|w| w / sum);
    } else {
        weights = VisemeFrame::SILENT.weights;
    }
    VisemeFrame {
        weights,
        level_db: if frame.level_db.is_finite() { frame.level_db.clamp(-120.0, 0.0) } else { -120.0 },
        voiced: unit(frame.voiced),
        laughter: unit(frame.laughter),
    }
}
