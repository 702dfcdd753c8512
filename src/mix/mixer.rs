//! [`Mixer`]: takes reports as they come, gives one [`FaceState`] per displayed frame.

use glam::{Quat, Vec3};

use super::align::Aligner;
use super::heard::Heard;
use super::mouth::{Belief, MouthMixer};
use super::seen::Seen;
use crate::settings::{CalibrationSettings, LipsyncMode, Settings};
use crate::signal::Slew;
use crate::types::{
    Alignment, AudioReport, Brows, FaceObservation, FaceReport, FaceState, Gaze, HeadPose, Lids, Timestamp, Trust,
};

/// Frames further apart count as this far apart.
const MAX_DT_SECS: f64 = 0.25;
/// The earlier stream is delayed by at most this (BEHAVIOUR §1, alignment).
const MAX_DELAY_SECS: f32 = 0.06;
/// The delay changes at most so fast, seconds per second.
const DELAY_PER_SEC: f32 = 0.2;
/// Without a neutral position set by the user, the usual place is learnt with this time constant.
const USUAL_PLACE_SECS: f32 = 30.0;
/// The first place is settled in this time.
const FIRST_PLACE_SECS: f32 = 0.5;

/// Makes one [`FaceState`] out of camera and microphone. Lives on the stage thread.
#[derive(Clone, Debug)]
pub struct Mixer {
    now: Option<f64>,
    seen: Seen,
    heard: Heard,
    mouth: MouthMixer,
    aligner: Aligner,
    offset: Slew,
    calibration: Option<CalibrationSettings>,
    usual_place: Vec3,
    placed_secs: f32,
}

impl Default for Mixer {
    fn default() -> Self {
        Self::new()
    }
}

impl Mixer {
    /// A mixer that has seen and heard nothing.
    pub fn new() -> Self {
        Self {
            now: None,
            seen: Seen::new(),
            heard: Heard::new(),
            mouth: MouthMixer::new(),
            aligner: Aligner::new(),
            offset: Slew::default(),
            calibration: None,
            usual_place: Vec3::ZERO,
            placed_secs: 0.0,
        }
    }

    /// Takes a camera report. Only the newest counts; one that is older than the last is dropped.
    pub fn see(&mut self, report: &FaceReport) {
        if let Some((at, open)) = self.seen.take(report) {
            self.aligner.see(at, open);
        }
    }

    /// Takes a microphone report. All count: pass every one, in order.
    pub fn hear(&mut self, report: AudioReport) {
        if let Some((at, open)) = self.heard.take(report) {
            self.aligner.hear(at, open);
        }
    }

    /// Belief in the camera's mouth now, 0..1 (the rest of the face: `FaceState::trust`).
    pub fn video_confidence(&self) -> f32 {
        self.seen.mouth_confidence()
    }

    /// When the newest picture with a face was taken.
    pub fn observed_at(&self) -> Option<Timestamp> {
        self.seen.observed_at().map(Timestamp::from_secs_f64)
    }

    /// What the person does at `now`; call once per displayed frame, at any rate.
    pub fn mix(&mut self, now: Timestamp, settings: &Settings) -> FaceState {
        let at = now;
        let now = now.as_secs_f64();
        let dt = self.now.map_or(0.0, |last| (now - last).clamp(0.0, MAX_DT_SECS)) as f32;
        self.now = Some(now);

        self.settle(&settings.calibration);
        let alignment = self.align(now, dt, settings);
        let offset_secs = f64::from(alignment.applied_secs);
        self.seen.step(now, dt, (-offset_secs).max(0.0));
        self.heard.step(now, dt, offset_secs.max(0.0), settings);

        let belief = Belief { audio: self.heard.confidence(), video: self.seen.mouth_confidence() };
        let mouth = self.mouth.step(
            &self.heard.mouth(),
            self.seen.mouth(),
            self.seen.witness(now),
            belief,
            &settings.lipsync,
            dt,
        );
        let trust = Trust { face: self.seen.face_confidence(), voice: belief.audio };
        let neutral_position = self.neutral_position(&settings.calibration, trust.face, dt);
        let state = FaceState {
            at,
            mouth,
            lids: self.seen.lids(),
            brows: self.seen.brows(),
            gaze: self.seen.gaze(),
            head: without_neutral(self.seen.head(), &settings.calibration),
            position: (self.seen.position() - neutral_position) * Vec3::new(1.0, 1.0, -1.0),
            smile: self.seen.smile(),
            // Whoever speaks over closed lips is somebody else: the mouth stays the expression's.
            is_speaking: self.heard.is_speaking() && self.mouth.veto() < 0.5,
            alignment,
            trust,
            video: self.seen.state(),
            audio: self.heard.state(),
        };
        let state = if settings.view.mirror { mirrored(state) } else { state };
        debug_assert!(is_finite(&state), "{state:?}");
        state
    }

    /// A new neutral pose is a rest for the mouth as well.
    fn settle(&mut self, calibration: &CalibrationSettings) {
        let pose = |c: &CalibrationSettings| (c.neutral_head_deg, c.neutral_position_m);
        let is_new = self.calibration.as_ref().is_some_and(|last| pose(last) != pose(calibration));
        if is_new {
            self.seen.settle_mouth();
        }
        if is_new || self.calibration.is_none() {
            self.calibration = Some(calibration.clone());
        }
    }

    /// Measures how much later the picture is, and delays the earlier stream: as set, or else as measured (in mix mode,
    /// where both show at once). No delay while one of them is lost.
    fn align(&mut self, now: f64, dt: f32, settings: &Settings) -> Alignment {
        self.aligner.step(now, dt, self.heard.age_secs(now), self.seen.mouth_age_secs(now));
        if self.heard.confidence() <= 0.0 {
            self.aligner.forget_heard();
        }
        if self.seen.mouth_confidence() <= 0.0 {
            self.aligner.forget_seen();
        }
        let lipsync = &settings.lipsync;
        let measured_secs = self.aligner.picture_later_secs();
        let set_secs = if lipsync.offset_secs.is_finite() { lipsync.offset_secs } else { 0.0 };
        let wanted = match measured_secs {
            Some(secs) if lipsync.auto_offset && set_secs == 0.0 && lipsync.mode == LipsyncMode::Mix => secs,
            _ => set_secs,
        };
        let are_both_here = self.heard.confidence() > 0.5 && self.seen.mouth_confidence() > 0.5;
        let wanted = if are_both_here { wanted.clamp(-MAX_DELAY_SECS, MAX_DELAY_SECS) } else { 0.0 };
        // A changed delay bends time a little instead of tearing it.
        Alignment { measured_secs, applied_secs: self.offset.step(wanted, DELAY_PER_SEC, dt) }
    }

    fn neutral_position(&mut self, calibration: &CalibrationSettings, trust: f32, dt: f32) -> Vec3 {
        let set = Vec3::from(calibration.neutral_position_m);
        if set != Vec3::ZERO && set.is_finite() {
            return set;
        }
        let position = self.seen.position();
        if trust > 0.0 {
            if self.placed_secs == 0.0 {
                self.usual_place = position;
            }
            self.placed_secs = (self.placed_secs + dt).min(USUAL_PLACE_SECS);
            let time = self.placed_secs.max(FIRST_PLACE_SECS);
            self.usual_place += (position - self.usual_place) * crate::signal::smoothing_share(time, dt);
        }
        self.usual_place
    }
}

/// The neutral pose that makes this observation the person's rest.
pub fn neutral_of(observation: &FaceObservation) -> CalibrationSettings {
    let HeadPose { yaw, pitch, roll } = observation.head;
    let angles = [yaw, pitch, roll].map(|a| if a.is_finite() { a.to_degrees() } else { 0.0 });
    let position = if observation.position.is_finite() { observation.position } else { Vec3::ZERO };
    CalibrationSettings {
        neutral_head_deg: angles,
        neutral_position_m: position.to_array(),
        ..CalibrationSettings::default()
    }
}

/// The head as if the camera stood where the person looks at rest.
fn without_neutral(head: HeadPose, calibration: &CalibrationSettings) -> HeadPose {
    let [yaw, pitch, roll] = calibration.neutral_head_deg.map(f32::to_radians);
    let neutral = HeadPose { yaw, pitch, roll };
    let neutral_from_camera = neutral.to_quat().inverse();
    if !neutral_from_camera.is_finite() || neutral_from_camera == Quat::IDENTITY {
        return head;
    }
    HeadPose::from_quat(neutral_from_camera * head.to_quat())
}

/// Swaps the sides: the one place that does (BEHAVIOUR §10). `MouthShape` is symmetric.
fn mirrored(state: FaceState) -> FaceState {
    FaceState {
        lids: Lids { left: state.lids.right, right: state.lids.left },
        brows: Brows { left: state.brows.right, right: state.brows.left },
        gaze: Gaze { yaw: -state.gaze.yaw, ..state.gaze },
        head: HeadPose { yaw: -state.head.yaw, roll: -state.head.roll, ..state.head },
        position: state.position * Vec3::new(-1.0, 1.0, 1.0),
        ..state
    }
}

fn is_finite(state: &FaceState) -> bool {
    let mouth = &state.mouth;
    let HeadPose { yaw, pitch, roll } = state.head;
    state.position.is_finite()
        && [mouth.open, mouth.width, mouth.closed, mouth.audio_share, state.lids.left, state.lids.right, state.smile]
            .iter()
            .chain(&mouth.vowels)
            .chain(&mouth.visemes)
            .chain(&[yaw, pitch, roll, state.gaze.yaw, state.gaze.pitch, state.brows.left, state.brows.right])
            .all(|x| x.is_finite())
}
