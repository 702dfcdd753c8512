//! The microphone's side of the mixer: plays reports out evenly and shapes them into a mouth.
//!
//! Reports come every 10 ms, but in bunches. A playhead runs through them at the display's pace and catches up gently,
//! so no closure is skipped and nothing stutters; how the mouth follows (`speaker`) is computed per report, not per
//! display frame, and so does not depend on the display's rate.

use std::collections::VecDeque;

use super::health::Health;
use super::speaker::{Speaker, raw_opening};
use crate::settings::Settings;
use crate::signal::smoothing_share;
use crate::types::{AudioReport, AudioState, VISEME_COUNT, VOWEL_COUNT, VisemeFrame};

/// Without samples for this long the microphone is stalled (BEHAVIOUR, known loss).
const TIMEOUT_SECS: f64 = 0.08;
/// Reports wait here until the playhead has passed them: 0.06 s of delay, and bunches.
const QUEUE_LEN: usize = 48;
/// The playhead is never further behind the newest report than this (on top of the wanted delay).
const MAX_LAG_SECS: f64 = 0.06;
/// Time constant of catching up.
const CATCH_UP_SECS: f32 = 0.05;
/// What playing out and shaping the mouth add to its age.
const SHAPING_SECS: f32 = 0.03;
/// A time stamp this much older than the last one is a new time line, not a late report.
const NEW_TIME_LINE_SECS: f64 = 1.0;

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
    pub const REST: Self = Self {
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
            speaker: Speaker::new(),
            before: (0.0, HeardMouth::REST),
            after: (0.0, HeardMouth::REST),
        }
    }

    /// Takes a report. One that is older than the last is dropped. Gives its time and the opening that it calls for
    /// before anything is smoothed.
    pub fn take(&mut self, report: AudioReport) -> Option<(f64, f32)> {
        let captured_at = report.captured_at.as_secs_f64();
        let since_last = self.newest_at.map(|last| captured_at - last);
        if since_last.is_some_and(|secs| secs < 0.0 && secs > -NEW_TIME_LINE_SECS) {
            return None;
        }
        self.state = report.state;
        self.fresh = Some(!report.state.is_lost());
        if report.state.is_lost() {
            return None;
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
        let frame = sane_frame(&report.frame);
        self.queue.push_back((captured_at, frame));
        Some((captured_at, raw_opening(&frame.weights) * frame.voiced))
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
        let goal = newest_at - delay_secs;
        self.playhead += f64::from(dt);
        let behind = goal - self.playhead;
        self.playhead += behind.max(0.0) * f64::from(smoothing_share(CATCH_UP_SECS, dt));
        self.playhead = self.playhead.clamp(goal - MAX_LAG_SECS, goal.max(self.after.0));
        while self.after.0 < self.playhead {
            let Some((at, frame)) = self.queue.pop_front() else { break };
            let hop_secs = (at - self.after.0).clamp(0.0, 0.1) as f32;
            self.before = self.after;
            self.after = (at, self.speaker.step(&frame, hop_secs, &settings.lipsync));
        }
    }

    /// The last reported state; `Stalled` where samples stopped coming.
    pub fn state(&self) -> AudioState {
        self.state
    }

    pub fn confidence(&self) -> f32 {
        self.health.confidence()
    }

    /// How old the sound is that would be shown now without a delay, seconds; `None` while nothing is heard.
    pub fn age_secs(&self, now: f64) -> Option<f32> {
        let newest_at = self.newest_at.filter(|_| self.health.confidence() > 0.5)?;
        Some((now - newest_at) as f32 + SHAPING_SECS)
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
