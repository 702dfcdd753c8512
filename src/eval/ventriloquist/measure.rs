//! The mouth over time, and what is measured of it.

use super::loss::Window;
use crate::mix::Mixer;
use crate::replay::{PerformanceEvent, PerformanceReport};
use crate::settings::{LipsyncMode, Settings};
use crate::types::{MouthShape, Timestamp, Viseme};

/// Output frames a second.
pub(super) const FPS: f64 = 60.0;
/// A mouth that moves less than this within [`STILL_SECS`] stands still ...
const STILL: f32 = 0.03;
const STILL_SECS: f64 = 0.2;
/// ... where the undisturbed one moves by more than this.
const MOVES: f32 = 0.10;
/// Lips less apart than this are closed; more than that, open.
const CLOSED: f32 = 0.06;
const OPEN: f32 = 0.12;
/// Silence and closed lips count as rest after this long.
const REST_SECS: f64 = 0.35;
/// Two mouths less apart than this for [`SETTLED_SECS`] are the same.
const SAME: f32 = 0.10;
const SETTLED_SECS: f64 = 0.1;
/// A loss is at work until this long after its end.
const AFTER_SECS: f64 = 0.6;
/// Its beginning and its end change the mouth within this time. Between them two observers of one mouth differ, each
/// as quick as speech.
const CHANGE_SECS: f64 = 0.4;
/// Lips pressed together by more than this are a closure.
const CLOSURE: f32 = 0.05;

/// The mouth of every frame.
pub(super) struct Track {
    pub shapes: Vec<MouthShape>,
}

impl Track {
    /// Mixes what arrives, in this mode.
    pub fn of(events: &[PerformanceEvent], secs: f64, settings: &Settings, mode: LipsyncMode) -> Self {
        let mut settings = settings.clone();
        settings.lipsync.mode = mode;
        let mut mixer = Mixer::new();
        let mut events = events.iter().peekable();
        let shapes = (0..(secs * FPS) as u64)
            .map(|frame| {
                let now = Timestamp::from_secs_f64(frame as f64 / FPS);
                while let Some(event) = events.next_if(|e| e.arrived_at <= now) {
                    match &event.report {
                        PerformanceReport::Video(report) => mixer.see(report),
                        PerformanceReport::Audio(report) => mixer.hear(*report),
                    }
                }
                mixer.mix(now, &settings).mouth
            })
            .collect();
        Self { shapes }
    }

    pub fn open(&self, i: usize) -> f32 {
        self.shapes.get(i).map_or(0.0, |s| s.open)
    }

    /// A mouth that opens as this says.
    pub fn of_openings(openings: impl Iterator<Item = f32>) -> Self {
        let shape = |open| MouthShape { open, vowels: [open, 0.0, 0.0, 0.0, 0.0], ..MouthShape::REST };
        Self { shapes: openings.map(shape).collect() }
    }

    fn has_closure(&self, i: usize) -> bool {
        self.shapes.get(i).is_some_and(|s| s.closed > CLOSURE)
    }

    /// The opening without the closures of p, b and m.
    fn bare(&self, i: usize) -> f32 {
        self.shapes.get(i).map_or(0.0, |s| MouthShape::opening_of(&s.vowels, 0.0))
    }

    /// How much the opening moved in the last fifth of a second.
    pub fn moved(&self, i: usize) -> f32 {
        let window = (STILL_SECS * FPS) as usize;
        let from = i.saturating_sub(window);
        let (low, high) = (from..=i).map(|k| self.open(k)).fold((1.0_f32, 0.0_f32), |(l, h), v| (l.min(v), h.max(v)));
        (high - low).max(0.0)
    }
}

/// What one loss did to the mouth.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Harm {
    pub ventriloquism_secs: f64,
    pub flapping_secs: f64,
    pub recovery_secs: f64,
    pub return_secs: f64,
    pub largest_step: f32,
    pub step_inside: f32,
    pub rest_secs: f64,
}

/// Everything that a loss is judged by.
pub(super) struct Trial<'a> {
    /// The mouth with the loss.
    pub shown: &'a Track,
    /// The same mode without it.
    pub undisturbed: &'a Track,
    /// What the mouth does where nothing is lost, in mix mode.
    pub reference: &'a Track,
    /// The same mode with the lost source missing all along.
    pub remaining: &'a Track,
    /// Frames in which nobody speaks and the lips are closed.
    pub at_rest: &'a [bool],
}

impl Trial<'_> {
    /// What happened in and after a window.
    pub fn harm(&self, window: Window) -> Harm {
        let frame = |t: f64| (t * FPS).round() as usize;
        let (from, to) = (frame(window.from), frame(window.to));
        let after = frame(window.to + AFTER_SECS).min(self.shown.shapes.len());
        let count =
            |range: std::ops::Range<usize>, is: &dyn Fn(usize) -> bool| range.filter(|i| is(*i)).count() as f64 / FPS;
        let is_still = |i: usize| self.reference.moved(i) > MOVES && self.shown.moved(i) < STILL;
        let flaps = |i: usize| {
            self.at_rest.get(i).is_some_and(|r| *r) && (self.shown.open(i) > OPEN || self.shown.moved(i) > OPEN)
        };
        let difference = |i: usize| self.shown.open(i) - self.undisturbed.open(i);
        // Closures are as hard as speech makes them.
        let is_free =
            |i: usize| [i - 1, i].into_iter().all(|i| !self.shown.has_closure(i) && !self.undisturbed.has_closure(i));
        let step_in = |frames: std::ops::Range<usize>| {
            let steps = frames.filter(|i| is_free(*i)).map(|i| (difference(i) - difference(i - 1)).abs());
            steps.fold(0.0, f32::max)
        };
        let change = (CHANGE_SECS * FPS) as usize;
        let from = from.max(1);
        let (begun, over) = ((from + change).min(to), (to + change).min(after));
        let settled = |from: usize, until: usize, like: &Track| {
            let hold = (SETTLED_SECS * FPS) as usize;
            let same = |i: usize| (self.shown.bare(i) - like.bare(i)).abs() <= SAME;
            (from..until)
                .find(|i| (*i..(*i + hold).min(until)).all(same))
                .map_or((until.saturating_sub(from)) as f64 / FPS, |i| (i - from) as f64 / FPS)
        };
        let last_open = (from..to).rev().find(|i| self.shown.open(*i) > 0.02);
        Harm {
            ventriloquism_secs: count(from..to, &is_still),
            flapping_secs: count(from..after, &flaps),
            recovery_secs: settled(from, to, self.remaining),
            return_secs: settled(to, after, self.undisturbed),
            largest_step: step_in(from..begun).max(step_in(to..over)),
            step_inside: step_in(begun..to),
            rest_secs: last_open.map_or(0.0, |i| (i + 1 - from) as f64 / FPS),
        }
    }
}

/// Frames in which nobody speaks and the lips are closed, for a while already.
pub(super) fn at_rest(is_active: impl Fn(usize) -> bool, frames: usize) -> Vec<bool> {
    let mut quiet_for = 0usize;
    (0..frames)
        .map(|i| {
            quiet_for = if is_active(i) { 0 } else { quiet_for + 1 };
            quiet_for as f64 / FPS >= REST_SECS
        })
        .collect()
}

/// True where a mouth of this opening is not closed.
pub(super) fn is_open(open: f32) -> bool {
    open > CLOSED
}

/// Pearson's correlation of pairs, gathered over many stretches.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Correlation {
    n: f64,
    x: f64,
    y: f64,
    xx: f64,
    yy: f64,
    xy: f64,
}

impl Correlation {
    pub fn add(&mut self, x: f32, y: f32) {
        let (x, y) = (f64::from(x), f64::from(y));
        self.n += 1.0;
        self.x += x;
        self.y += y;
        self.xx += x * x;
        self.yy += y * y;
        self.xy += x * y;
    }

    /// `None` where one of them never moved.
    pub fn value(&self) -> Option<f64> {
        let covariance = self.n * self.xy - self.x * self.y;
        let spread = (self.n * self.xx - self.x * self.x) * (self.n * self.yy - self.y * self.y);
        (spread > 1e-9).then(|| covariance / spread.sqrt())
    }
}

/// One of the six classes of lips that lip-readers and five-vowel avatars know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lips {
    Vowel(usize),
    Closed,
}

impl Lips {
    /// What this shape looks like.
    pub fn shown(shape: &MouthShape) -> Self {
        if shape.closed > 0.5 || shape.open < 0.05 {
            return Self::Closed;
        }
        let best = shape.vowels.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1));
        best.map_or(Self::Closed, |(i, _)| Self::Vowel(i))
    }

    /// What this sound should look like; `None` for sounds without a shape of their own.
    pub fn spoken(viseme: Viseme) -> Option<Self> {
        match viseme {
            Viseme::Sil | Viseme::Pp => Some(Self::Closed),
            Viseme::Aa => Some(Self::Vowel(0)),
            Viseme::Ih => Some(Self::Vowel(1)),
            Viseme::Ou => Some(Self::Vowel(2)),
            Viseme::E => Some(Self::Vowel(3)),
            Viseme::Oh => Some(Self::Vowel(4)),
            _ => None,
        }
    }
}

/// Share of right classes at the delay that suits the track best, and that delay.
pub(super) fn accuracy(track: &Track, lips_at: impl Fn(f64) -> Option<Lips>) -> (f64, f64) {
    let mut best = (0.0, 0.0);
    for delay in 0..12 {
        let (mut right, mut all) = (0usize, 0usize);
        for (i, shape) in track.shapes.iter().enumerate().skip(delay) {
            if let Some(lips) = lips_at((i - delay) as f64 / FPS) {
                all += 1;
                right += usize::from(Lips::shown(shape) == lips);
            }
        }
        let share = right as f64 / all.max(1) as f64;
        if share > best.0 {
            best = (share, delay as f64 / FPS);
        }
    }
    best
}

/// How late the mouth opens after the first sound of each utterance, seconds; `None` for a missed one.
pub(super) fn onsets(track: &Track, secs: f64, spoken: impl Fn(f64) -> Viseme) -> Vec<Option<f64>> {
    let silent = |t: f64| spoken(t) == Viseme::Sil;
    let step = 0.005;
    let mut delays = Vec::new();
    let mut quiet = 0.0;
    let mut t = 0.0;
    while t < secs - 0.4 {
        if silent(t) {
            quiet += step;
        } else {
            if quiet >= 0.25 {
                let first = (t * FPS).ceil() as usize;
                let open = (first..first + (0.4 * FPS) as usize).find(|i| track.open(*i) > 0.05);
                delays.push(open.map(|i| i as f64 / FPS - t));
            }
            quiet = 0.0;
        }
        t += step;
    }
    delays
}

/// How often the shape changes its class, per second of speech.
pub(super) fn changes_per_sec(track: &Track, is_speech: impl Fn(usize) -> bool) -> f64 {
    let (mut changes, mut frames) = (0usize, 0usize);
    let mut last = None;
    for (i, shape) in track.shapes.iter().enumerate() {
        let lips = Lips::shown(shape);
        if is_speech(i) {
            frames += 1;
            changes += usize::from(last.is_some_and(|l| l != lips));
        }
        last = Some(lips);
    }
    changes as f64 / (frames as f64 / FPS).max(1.0)
}
