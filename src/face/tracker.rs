//! Follows one face: the detector only while none is followed, else the region of the last landmarks.

use std::time::Duration;

use crate::settings::{CalibrationSettings, VideoSettings};
use crate::types::{FaceObservation, FaceReport, Timestamp, VideoFrame, VideoHints, VideoState};

use super::blendshapes::BlendshapeModel;
use super::detector::{Detection, Detector};
use super::features::{Face, Person};
use super::head::{Head, HeadSolver};
use super::mesh::{Mesh, MeshModel};
use super::picture::Picture;
use super::roi::{Roi, bounds};
use super::smoothing::Smoothing;
use super::watch::{Light, Look, Watch};
use super::{FaceError, FaceModel};

/// MediaPipe's threshold for "there is still a face".
const MIN_PRESENCE: f32 = 0.5;
/// To begin to follow one it must be surer: blurred lettering came to 0.76, faces turned by 40° to 0.92.
const MIN_NEW_PRESENCE: f32 = 0.85;
/// While no face is followed the detector runs at most this often; it is cheap beside the landmarks.
const DETECT_EVERY: Duration = Duration::from_millis(45);
/// A longer gap between frames breaks the smoothing: what was is no hint to what is.
const GAP: Duration = Duration::from_millis(500);
/// Cosines of the angle between face and camera beyond which the mouth is no more to be seen (55°), and within which
/// it is again (48°).
const TURNED_AWAY: f32 = 0.574;
const TURNED_BACK: f32 = 0.669;
/// A face lost at more than this angle (35°) has turned away, for some seconds; then it is gone.
const LOST_TURNING: f32 = 0.819;
const TURNED_AWAY_FOR: Duration = Duration::from_secs(2);
/// Eyes nearer to each other than this (pixels) give poor blendshapes: 28 px were off by 0.08 where 100 are by 0.01.
const FAR_EYE_DISTANCE_PX: f32 = 26.0;
/// Faces that look past the camera by more than this (30°) teach nothing about the person.
const LEARNS_FACING: f32 = 0.866;
/// Centres of the irises.
const IRISES: (usize, usize) = (468, 473);

/// How the tracker works.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct FaceOptions {
    /// Light smoothing of what was seen; off for measurements.
    pub smoothing: bool,
    /// Vertical field of view of the camera, degrees (`video.fov_deg`).
    pub fov_deg: f32,
}

impl Default for FaceOptions {
    fn default() -> Self {
        Self { smoothing: true, fov_deg: 63.0 }
    }
}

/// The built-in face model: MediaPipe's three networks. Use it on one thread.
pub struct FaceTracker {
    options: FaceOptions,
    detector: Detector,
    mesh: MeshModel,
    blendshapes: BlendshapeModel,
    solver: HeadSolver,
    watch: Watch,
    tracking: Tracking,
    smoothing: Smoothing,
    person: Person,
    calibration: CalibrationSettings,
    /// When the last observation was made.
    observed_at: Option<Timestamp>,
    is_turned_away: bool,
    sees_several: bool,
}

#[derive(Clone, Copy, Debug)]
enum Tracking {
    /// No face; when the detector last ran, and until when the face counts as turned away.
    Lost { detected_at: Option<Timestamp>, turned_away_until: Option<Timestamp> },
    /// The region to look at in the next frame, and how much the face looked at the camera.
    Live { roi: Roi, facing: f32 },
}

impl Tracking {
    const START: Self = Self::Lost { detected_at: None, turned_away_until: None };
}

/// All that one frame shows of the followed face.
struct Seen {
    mesh: Mesh,
    head: Head,
}

impl FaceTracker {
    /// Loads the networks: half a second.
    ///
    /// # Errors
    /// If a built-in model does not fit: the build is broken.
    pub fn load(options: FaceOptions) -> Result<Self, FaceError> {
        Ok(Self {
            options,
            detector: Detector::load()?,
            mesh: MeshModel::load()?,
            blendshapes: BlendshapeModel::load()?,
            solver: HeadSolver::load()?,
            watch: Watch::default(),
            tracking: Tracking::START,
            smoothing: Smoothing::default(),
            person: Person::default(),
            calibration: CalibrationSettings::default(),
            observed_at: None,
            is_turned_away: false,
            sees_several: false,
        })
    }

    /// Changes how it works from the next frame on.
    pub fn set_options(&mut self, options: FaceOptions) {
        self.options = options;
    }

    /// The followed face in this picture, or a newly found one.
    fn see(&mut self, picture: Picture<'_>, at: Timestamp) -> Result<Option<Seen>, FaceError> {
        if let Tracking::Live { roi, facing } = self.tracking {
            if let Some(seen) = self.see_in(picture, roi, MIN_PRESENCE)? {
                return Ok(Some(seen));
            }
            let is_turning = facing < LOST_TURNING;
            self.lose(is_turning.then_some(at + TURNED_AWAY_FOR));
        }
        let Tracking::Lost { detected_at, turned_away_until } = self.tracking else { return Ok(None) };
        // A time that goes backwards is a new start.
        if detected_at.is_some_and(|last| at >= last && at.saturating_since(last) < DETECT_EVERY) {
            return Ok(None);
        }
        self.tracking = Tracking::Lost { detected_at: Some(at), turned_away_until };
        let detections = self.detector.detect(picture)?;
        self.sees_several = detections.len() > 1;
        match nearest(&detections) {
            Some(detection) => self.see_in(picture, detection.roi(), MIN_NEW_PRESENCE),
            None => Ok(None),
        }
    }

    /// The face in a region of the picture; follows it from now on.
    fn see_in(&mut self, picture: Picture<'_>, roi: Roi, min_presence: f32) -> Result<Option<Seen>, FaceError> {
        let (width, height) = (picture.width, picture.height);
        if !roi.is_usable(width, height) {
            return Ok(None);
        }
        let mesh = self.mesh.observe(picture, roi)?;
        if mesh.presence < min_presence {
            return Ok(None);
        }
        let Some(next) = Roi::around_landmarks(&mesh.landmarks_px).filter(|roi| roi.is_usable(width, height)) else {
            return Ok(None);
        };
        let Some(head) = self.solver.solve(&mesh.landmarks_px, width, height, self.options.fov_deg.to_radians()) else {
            return Ok(None);
        };
        self.tracking = Tracking::Live { roi: next, facing: head.facing };
        Ok(Some(Seen { mesh, head }))
    }

    fn lose(&mut self, turned_away_until: Option<Timestamp>) {
        self.tracking = Tracking::Lost { detected_at: None, turned_away_until };
        self.observed_at = None;
        self.is_turned_away = false;
    }

    /// Measures what was seen.
    fn describe(&mut self, seen: Seen, at: Timestamp) -> Result<FaceObservation, FaceError> {
        let Seen { mesh, head } = seen;
        let blendshapes = self.blendshapes.weigh(&mesh.landmarks_px)?;
        let face = Face { landmarks_px: &mesh.landmarks_px, head: &head, blendshapes: &blendshapes };
        let dt = self.secs_since_last(at);
        let features = self.person.read(&face, head.facing > LEARNS_FACING, dt.unwrap_or(0.0));
        let mut observation = FaceObservation {
            confidence: mesh.presence,
            landmarks_px: mesh.landmarks_px,
            head: head.pose,
            position: head.position,
            mouth: features.mouth,
            lids: features.lids,
            brows: features.brows,
            gaze: features.gaze,
            blendshapes,
        };
        if dt.is_none() {
            self.smoothing = Smoothing::default();
        }
        if self.options.smoothing {
            self.smoothing.apply(&mut observation, dt.unwrap_or(0.0));
        }
        self.observed_at = Some(at);
        Ok(observation)
    }

    /// Seconds since the last observation; `None` if that was too long ago to mean anything now.
    fn secs_since_last(&self, at: Timestamp) -> Option<f32> {
        let last = self.observed_at.filter(|&last| last <= at)?;
        let gap = at.saturating_since(last);
        (gap <= GAP).then_some(gap.as_secs_f32())
    }

    /// Why there is no observation in a picture that could show a face.
    fn absence(&self, at: Timestamp, light: Light) -> VideoState {
        match self.tracking {
            Tracking::Lost { turned_away_until: Some(until), .. } if at <= until => VideoState::TurnedAway,
            _ if light == Light::Dark => VideoState::TooDark,
            _ => VideoState::FaceLost,
        }
    }

    /// With hysteresis, so that a face at the limit does not flicker between two states.
    fn presence(&mut self, facing: f32) -> VideoState {
        self.is_turned_away = facing < if self.is_turned_away { TURNED_BACK } else { TURNED_AWAY };
        if self.is_turned_away { VideoState::TurnedAway } else { VideoState::Tracked }
    }

    fn hints(&self, picture: Picture<'_>, look: Look, observation: Option<&FaceObservation>) -> VideoHints {
        let mut hints = VideoHints { low_fps: look.is_low_fps, ..VideoHints::default() };
        if let Some(observation) = observation {
            let landmarks = &observation.landmarks_px;
            hints.several_faces = self.sees_several;
            hints.at_edge = bounds(landmarks).is_some_and(|(min, max)| {
                min.min_element() < 0.0 || max.x > picture.width as f32 || max.y > picture.height as f32
            });
            if let (Some(right), Some(left)) = (landmarks.get(IRISES.0), landmarks.get(IRISES.1)) {
                hints.far = right.distance(*left) < FAR_EYE_DISTANCE_PX;
            }
        }
        hints
    }
}

/// The face to follow: of several, the largest sure one is the person at the desk.
fn nearest(detections: &[Detection]) -> Option<&Detection> {
    let weight = |d: &Detection| d.score * d.size.x * d.size.y;
    detections.iter().max_by(|a, b| weight(a).total_cmp(&weight(b)))
}

impl FaceModel for FaceTracker {
    fn observe(&mut self, frame: &VideoFrame) -> Result<FaceReport, FaceError> {
        let picture = Picture::new(frame)?;
        let at = frame.captured_at;
        let look = self.watch.look(picture, at);
        let (state, observation) = match look {
            Look { light: Light::Black, .. } => {
                self.lose(None);
                (VideoState::Black, None)
            }
            Look { is_frozen: true, .. } => (VideoState::Frozen, None),
            Look { light, .. } => match self.see(picture, at)? {
                Some(seen) => (self.presence(seen.head.facing), Some(self.describe(seen, at)?)),
                None => (self.absence(at, light), None),
            },
        };
        let hints = self.hints(picture, look, observation.as_ref());
        Ok(FaceReport { captured_at: at, seq: frame.seq, state, hints, observation })
    }

    fn reset(&mut self) {
        self.watch = Watch::default();
        self.person = Person::calibrated(&self.calibration);
        self.sees_several = false;
        self.lose(None);
    }

    fn configure(&mut self, settings: &VideoSettings) {
        self.options.fov_deg = settings.fov_deg;
    }

    fn calibrate(&mut self, calibration: &CalibrationSettings) {
        self.calibration = calibration.clone();
        self.person.calibrate(calibration);
    }
}
