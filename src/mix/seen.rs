//! The camera's side of the mixer: checks reports, believes them by state and age, and glides between them.
//!
//! Person's space throughout.

use glam::Vec3;

use super::baseline::MouthBaseline;
use super::health::Health;
use super::track::Track;
use crate::signal::{OneEuro, smoothstep};
use crate::types::{Brows, FaceObservation, FaceReport, Gaze, HeadPose, Lids, VideoState};

/// Without a report for this long the camera is lost; slow cameras get [`TIMEOUT_INTERVALS`] frames.
const TIMEOUT_SECS: f64 = 0.12;
const TIMEOUT_INTERVALS: f64 = 1.8;
const MAX_TIMEOUT_SECS: f64 = 0.30;
/// A picture older than this says nothing about now.
const MAX_AGE_SECS: f64 = 0.5;
/// A time stamp this much older than the last one is a new time line, not a late report.
const NEW_TIME_LINE_SECS: f64 = 1.0;
/// Share of the camera's interval that the head is aimed ahead: with the glide it lags half a frame, not a whole one.
const HEAD_LEAD_SHARE: f32 = 0.5;
/// The lead never exceeds this, radians or metres.
const MAX_HEAD_LEAD: f32 = 0.1;
/// And goes on by a quarter while the next picture is late: 25 frames a second come unevenly to a 60 Hz display.
const HEAD_COAST: f32 = 1.25;
/// Speeds below this share of themselves are noise and not led: rad/s and m/s.
const LED_HEAD_SPEED: f32 = 0.4;
const LED_POSITION_SPEED: f32 = 0.15;
/// After a gap the head returns to what is seen in this time; the eyes are quicker.
const HEAD_BRIDGE_SECS: f32 = 0.35;
const EYES_BRIDGE_SECS: f32 = 0.15;
const MOUTH_BRIDGE_SECS: f32 = 0.06;
/// The glides as shares of the camera's interval. Lids are quick: a blink lasts three camera frames.
const MOUTH_GLIDE_SHARE: f32 = 0.7;
const EYES_GLIDE_SHARE: f32 = 0.5;
/// Lips that the model sees this little apart are together.
const CONFIDENT_FROM: f32 = 0.25;
const CONFIDENT_AT: f32 = 0.6;
/// Heads turned by more than this (radians) teach nothing about the mouth.
const LEARNS_WITHIN: f32 = 0.4;
/// What smoothing the mouth adds to its age.
const SHAPING_SECS: f32 = 0.01;
/// A closure of p, b or m lasts 60 ms and more, so a camera of 22 frames a second sees it. The picture arrives a little
/// before the sound's report, so a closure being heard was seen within this time.
const SLOWEST_WITNESS_SECS: f64 = 0.045;
const WITNESS_SECS: f64 = 0.09;
const RECENT: usize = 16;
/// A closure is remembered for about a second.
const LOWEST_RISES_PER_SEC: f32 = 0.1;
/// Mouths that wait for their time: 0.06 s at 120 frames a second.
const DELAYED: usize = 8;

/// The part of the mouth that is mixed, in one row of numbers: open, width, round.
pub(super) type MouthRow = [f32; 3];
const MOUTH_AT_REST: MouthRow = [0.0, 0.5, 0.0];

/// Whether lips met, by the camera.
#[derive(Clone, Copy, Debug)]
pub(super) struct Witness {
    /// The least opening of the last tenth of a second; 0 where the camera is too slow to say so.
    pub least_open: f32,
    /// The least opening of the last second or so.
    pub lowest_open: f32,
}

/// What the camera says now.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    state: VideoState,
    face: Health,
    mouth: Health,
    fresh: Option<Fresh>,
    quality: f32,
    captured_at: Option<f64>,
    observed_at: Option<f64>,
    interval_secs: f64,
    baseline: MouthBaseline,
    raw_mouth: MouthRow,
    /// Openings of the last pictures, newest first, with their times of arrival.
    recent: [(f64, f32); RECENT],
    /// The nearest that the lips came to each other, slowly forgotten.
    lowest_open: f32,
    filters: [OneEuro; 6],
    filtered: [f32; 6],
    head_track: Track<6>,
    eyes_track: Track<7>,
    mouth_track: Track<3>,
    delayed: [(f64, MouthRow); DELAYED],
    delayed_len: usize,
}

#[derive(Clone, Copy, Debug)]
struct Fresh {
    is_face_good: bool,
    is_mouth_good: bool,
    mouth: Option<MouthRow>,
    captured_at: f64,
}

impl Seen {
    pub fn new() -> Self {
        // The camera's tracker is calm already, and every filter lags: this one is for trackers that are not.
        let angle = OneEuro::new(1.0, 30.0).with_knee(4.0, 0.4);
        let place = OneEuro::new(1.0, 200.0).with_knee(4.0, 0.05);
        Self {
            state: VideoState::default(),
            face: Health::new(),
            mouth: Health::new(),
            fresh: None,
            quality: 0.0,
            captured_at: None,
            observed_at: None,
            interval_secs: 1.0 / 30.0,
            baseline: MouthBaseline::default(),
            raw_mouth: MOUTH_AT_REST,
            recent: [(f64::NEG_INFINITY, 0.0); RECENT],
            lowest_open: 1.0,
            filters: [angle, angle, angle, place, place, place],
            filtered: [0.0; 6],
            head_track: Track::new([0.0; 6]).coasting(HEAD_COAST),
            eyes_track: Track::new([0.0; 7]),
            mouth_track: Track::new(MOUTH_AT_REST),
            delayed: [(0.0, MOUTH_AT_REST); DELAYED],
            delayed_len: 0,
        }
    }

    /// Takes a report. One that is older than the last is dropped. Gives the time and opening of the mouth it shows.
    pub fn take(&mut self, report: &FaceReport) -> Option<(f64, f32)> {
        let captured_at = report.captured_at.as_secs_f64();
        let since_last = self.captured_at.map(|last| captured_at - last);
        if since_last.is_some_and(|secs| secs < 0.0 && secs > -NEW_TIME_LINE_SECS) {
            return None;
        }
        self.captured_at = Some(captured_at);
        self.state = report.state;
        if let Some(secs) = since_last.filter(|s| (1e-3..0.5).contains(s)) {
            self.interval_secs += (secs.clamp(1.0 / 240.0, 0.2) - self.interval_secs) * 0.2;
        }
        let observation = report.observation.as_ref().filter(|o| is_finite(o) && !report.state.is_face_lost());
        let mut mouth = None;
        if let Some(observation) = observation {
            self.quality = smoothstep((observation.confidence - CONFIDENT_FROM) / (CONFIDENT_AT - CONFIDENT_FROM));
            self.observe(observation, captured_at);
            if !report.state.is_mouth_lost() {
                let m = observation.mouth;
                self.raw_mouth = [m.open, m.width, m.round].map(|x| x.clamp(0.0, 1.0));
                // Only a face that looks at the camera, sure and without a gap before it, teaches anything.
                let is_frontal =
                    observation.head.yaw.abs() < LEARNS_WITHIN && observation.head.pitch.abs() < LEARNS_WITHIN;
                let dt = since_last.filter(|s| (0.0..=LONGEST_SHORT_GAP_SECS).contains(s) && is_frontal);
                let dt = dt.map_or(0.0, |secs| secs as f32 * self.quality);
                mouth = Some(self.baseline.calibrate(self.raw_mouth, dt));
            }
        }
        self.fresh = Some(Fresh {
            is_face_good: observation.is_some(),
            is_mouth_good: mouth.is_some(),
            // Of several reports in one display frame the newest mouth is shown.
            mouth: mouth.or(self.fresh.and_then(|f| f.mouth)),
            captured_at,
        });
        mouth.map(|[open, ..]| (captured_at, open))
    }

    /// The person is at rest now (the neutral-pose button): so is the mouth.
    pub fn settle_mouth(&mut self) {
        if self.mouth.confidence() > 0.5 {
            self.baseline.settle(self.raw_mouth);
        }
    }

    /// How old the mouth is that would be shown now without a delay, seconds; `None` while it is not seen.
    pub fn mouth_age_secs(&self, now: f64) -> Option<f32> {
        let observed_at = self.observed_at.filter(|_| self.mouth.confidence() > 0.5)?;
        // The glide ends when the next picture is nearly due: in the mean it lags by half of its length.
        let glide = 0.5 * MOUTH_GLIDE_SHARE * self.interval_secs as f32;
        Some((now - observed_at) as f32 + glide + SHAPING_SECS)
    }

    fn observe(&mut self, observation: &FaceObservation, captured_at: f64) {
        let head = observation.head;
        let seen = [
            head.yaw.clamp(-3.2, 3.2),
            head.pitch.clamp(-1.6, 1.6),
            head.roll.clamp(-3.2, 3.2),
            observation.position.x.clamp(-10.0, 10.0),
            observation.position.y.clamp(-10.0, 10.0),
            observation.position.z.clamp(-10.0, 10.0),
        ];
        let (lids, brows, gaze) = (observation.lids, observation.brows, observation.gaze);
        let eyes = [
            lids.left.clamp(0.0, 1.0),
            lids.right.clamp(0.0, 1.0),
            brows.left.clamp(-1.0, 1.0),
            brows.right.clamp(-1.0, 1.0),
            gaze.yaw.clamp(-1.5, 1.5),
            gaze.pitch.clamp(-1.5, 1.5),
            observation.mouth.smile.clamp(0.0, 1.0),
        ];
        let since = self.observed_at.map(|at| captured_at - at);
        self.observed_at = Some(captured_at);
        match since {
            Some(secs) if secs > 0.0 && secs <= self.timeout_secs().max(LONGEST_SHORT_GAP_SECS) => {
                let interval = self.interval_secs as f32;
                let mut aim = [0.0; 6];
                for i in 0..aim.len() {
                    let before = self.filtered[i];
                    self.filtered[i] = self.filters[i].step(seen[i], secs as f32);
                    let speed = (self.filtered[i] - before) / secs as f32;
                    let led = if i < 3 { LED_HEAD_SPEED } else { LED_POSITION_SPEED };
                    let lead = speed * smoothstep(speed.abs() / led) * interval * HEAD_LEAD_SHARE;
                    aim[i] = self.filtered[i] + lead.clamp(-MAX_HEAD_LEAD, MAX_HEAD_LEAD);
                }
                self.head_track.aim(aim, interval);
                self.eyes_track.aim(eyes, interval * EYES_GLIDE_SHARE);
            }
            Some(secs) if (-NEW_TIME_LINE_SECS..=0.0).contains(&secs) => {}
            _ => {
                for ((filter, filtered), seen) in self.filters.iter_mut().zip(&mut self.filtered).zip(seen) {
                    filter.reset();
                    *filtered = filter.step(seen, 0.0);
                }
                // Never seen before: nothing to bridge from.
                let has_past = since.is_some();
                self.head_track.rejoin(seen, if has_past { HEAD_BRIDGE_SECS } else { 0.0 });
                self.eyes_track.rejoin(eyes, if has_past { EYES_BRIDGE_SECS } else { 0.0 });
            }
        }
    }

    /// Brings everything to `now`. The mouth is shown `mouth_delay_secs` later than it could be.
    pub fn step(&mut self, now: f64, dt: f32, mouth_delay_secs: f64) {
        self.head_track.step(dt);
        self.eyes_track.step(dt);
        self.mouth_track.step(dt);
        self.lowest_open = (self.lowest_open + LOWEST_RISES_PER_SEC * dt).min(1.0);
        let fresh = self.fresh.take();
        let is_recent = fresh.is_some_and(|f| now - f.captured_at <= MAX_AGE_SECS);
        let timeout_secs = self.timeout_secs();
        let was_lost = self.mouth.confidence() <= 0.0;
        self.face.step(now, dt, fresh.map(|f| f.is_face_good && is_recent), self.quality, timeout_secs);
        self.mouth.step(now, dt, fresh.map(|f| f.is_mouth_good && is_recent), self.quality, timeout_secs);
        if self.face.is_stale(now, timeout_secs) && !self.state.is_face_lost() {
            self.state = VideoState::Stalled;
        }
        if let Some(mouth) = fresh.and_then(|f| f.mouth) {
            self.recent.rotate_right(1);
            self.recent[0] = (now, mouth[0]);
            self.lowest_open = self.lowest_open.min(mouth[0]);
            self.delay(now + mouth_delay_secs, mouth);
        }
        self.show_due_mouths(now, was_lost);
    }

    fn delay(&mut self, due_at: f64, mouth: MouthRow) {
        if self.delayed_len == DELAYED {
            self.delayed.rotate_left(1);
            self.delayed_len -= 1;
        }
        self.delayed[self.delayed_len] = (due_at, mouth);
        self.delayed_len += 1;
    }

    fn show_due_mouths(&mut self, now: f64, was_lost: bool) {
        let due = self.delayed[..self.delayed_len].iter().take_while(|(at, _)| *at <= now + 1e-6).count();
        if due == 0 {
            return;
        }
        let (_, mouth) = self.delayed[due - 1];
        if was_lost {
            self.mouth_track.rejoin(mouth, MOUTH_BRIDGE_SECS);
        } else {
            self.mouth_track.aim(mouth, self.interval_secs as f32 * MOUTH_GLIDE_SHARE);
        }
        self.delayed.rotate_left(due);
        self.delayed_len -= due;
    }

    fn timeout_secs(&self) -> f64 {
        (TIMEOUT_INTERVALS * self.interval_secs).clamp(TIMEOUT_SECS, MAX_TIMEOUT_SECS)
    }

    /// The last reported state; `Stalled` where reports stopped coming.
    pub fn state(&self) -> VideoState {
        self.state
    }

    /// When the newest observation was captured.
    pub fn observed_at(&self) -> Option<f64> {
        self.observed_at
    }

    /// Belief in head, eyes and brows.
    pub fn face_confidence(&self) -> f32 {
        self.face.confidence()
    }

    /// Belief in the mouth.
    pub fn mouth_confidence(&self) -> f32 {
        self.mouth.confidence()
    }

    /// What was seen of the lips lately, as it arrived.
    pub fn witness(&self, now: f64) -> Witness {
        let recent = self.recent.iter().filter(|(at, _)| now - at <= WITNESS_SECS);
        let least_open = recent.map(|(_, open)| *open).reduce(f32::min).unwrap_or(0.0);
        let is_fast = self.interval_secs <= SLOWEST_WITNESS_SECS;
        Witness { least_open: if is_fast { least_open } else { 0.0 }, lowest_open: self.lowest_open }
    }

    pub fn mouth(&self) -> MouthRow {
        self.mouth_track.value()
    }

    pub fn head(&self) -> HeadPose {
        let [yaw, pitch, roll, ..] = self.head_track.value();
        HeadPose { yaw, pitch, roll }
    }

    pub fn position(&self) -> Vec3 {
        let [.., x, y, z] = self.head_track.value();
        Vec3::new(x, y, z)
    }

    pub fn lids(&self) -> Lids {
        let [left, right, ..] = self.eyes_track.value();
        Lids { left, right }
    }

    pub fn brows(&self) -> Brows {
        let [_, _, left, right, ..] = self.eyes_track.value();
        Brows { left, right }
    }

    pub fn gaze(&self) -> Gaze {
        let [.., yaw, pitch, _] = self.eyes_track.value();
        Gaze { yaw, pitch }
    }

    pub fn smile(&self) -> f32 {
        let [.., smile] = self.eyes_track.value();
        smile
    }
}

/// Gaps up to this long are glided over, longer ones are bridged.
const LONGEST_SHORT_GAP_SECS: f64 = 0.2;

fn is_finite(o: &FaceObservation) -> bool {
    o.position.is_finite()
        && [
            o.confidence,
            o.head.yaw,
            o.head.pitch,
            o.head.roll,
            o.mouth.open,
            o.mouth.width,
            o.mouth.round,
            o.mouth.smile,
            o.lids.left,
            o.lids.right,
            o.brows.left,
            o.brows.right,
            o.gaze.yaw,
            o.gaze.pitch,
        ]
        .iter()
        .all(|x| x.is_finite())
}
