//! Follows one face by the region of its last landmarks; `acquire` says which.

use std::time::Duration;

use crate::settings::{CalibrationSettings, Quality, VideoSettings};
use crate::types::{
    ARKIT_COUNT, FaceObservation, FaceReport, Gaze, Lids, MouthRatios, Timestamp, VideoFrame, VideoHints, VideoState,
};

use super::acquire::{Acquire, Find, Place};
use super::blendshapes::BlendshapeModel;
use super::covered::{Cover, Covers};
use super::features::{Face, Person};
use super::head::{Head, HeadSolver};
use super::liveness::{Liveness, Sign};
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
/// Of several faces found so many are tried in one frame.
const MAX_TRIES: usize = 2;
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

/// The built-in face model: MediaPipe's networks. Use it on one thread.
pub struct FaceTracker {
    options: FaceOptions,
    acquire: Acquire,
    mesh: MeshModel,
    blendshapes: BlendshapeModel,
    solver: HeadSolver,
    watch: Watch,
    tracking: Tracking,
    smoothing: Smoothing,
    person: Person,
    calibration: CalibrationSettings,
    /// Blendshapes are weighed in every second frame only.
    is_light: bool,
    /// In a light frame after one with blendshapes: those.
    held_blendshapes: Option<[f32; ARKIT_COUNT]>,
    /// When the last observation was made.
    observed_at: Option<Timestamp>,
    is_turned_away: bool,
    liveness: Liveness,
    covers: Covers,
    cover: Cover,
    /// How far the mouth was open when it was surely to be seen.
    sure_open: f32,
}

#[derive(Clone, Copy, Debug)]
enum Tracking {
    /// No face; until when it counts as turned away.
    Lost { turned_away_until: Option<Timestamp> },
    /// The region to look at in the next frame, and how much the face looked at the camera.
    Live { roi: Roi, place: Place, facing: f32 },
}

impl Tracking {
    const START: Self = Self::Lost { turned_away_until: None };
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
            acquire: Acquire::load()?,
            mesh: MeshModel::load()?,
            blendshapes: BlendshapeModel::load()?,
            solver: HeadSolver::load()?,
            watch: Watch::default(),
            tracking: Tracking::START,
            smoothing: Smoothing::default(),
            is_light: false,
            held_blendshapes: None,
            person: Person::default(),
            calibration: CalibrationSettings::default(),
            observed_at: None,
            is_turned_away: false,
            liveness: Liveness::default(),
            covers: Covers::default(),
            cover: Cover::default(),
            sure_open: 0.0,
        })
    }

    /// Changes how it works from the next frame on.
    pub fn set_options(&mut self, options: FaceOptions) {
        self.options = options;
    }

    /// The followed face in this picture, or a newly found one.
    fn see(&mut self, picture: Picture<'_>, at: Timestamp) -> Result<Option<Seen>, FaceError> {
        if let Tracking::Live { roi, place, facing } = self.tracking {
            if let Some(seen) = self.see_rival(picture, at, place)? {
                return Ok(Some(seen));
            }
            if let Some(seen) = self.see_in(picture, roi, MIN_PRESENCE)? {
                return Ok(Some(seen));
            }
            let is_turning = facing < LOST_TURNING;
            self.lose(is_turning.then_some(at + TURNED_AWAY_FOR), at);
        }
        for find in self.acquire.search(picture, at)?.into_iter().take(MAX_TRIES) {
            if let Some(seen) = self.see_find(picture, find)? {
                return Ok(Some(seen));
            }
        }
        Ok(None)
    }

    /// A face to follow instead of a picture of one.
    fn see_rival(&mut self, picture: Picture<'_>, at: Timestamp, followed: Place) -> Result<Option<Seen>, FaceError> {
        let is_picture = self.liveness.is_surely_picture();
        if is_picture {
            self.acquire.note_picture(followed, at);
        } else if self.liveness.is_alive() {
            self.acquire.note_live(followed);
        }
        let Some(rival) = self.acquire.look_beside(picture, at, followed, is_picture)? else { return Ok(None) };
        let seen = self.see_find(picture, rival)?;
        if seen.is_some() {
            self.forget_face();
        }
        Ok(seen)
    }

    /// A newly found face; follows it from now on.
    fn see_find(&mut self, picture: Picture<'_>, find: Find) -> Result<Option<Seen>, FaceError> {
        let mut roi = find.roi;
        if find.is_far && roi.is_usable(picture.width, picture.height) {
            let rough = self.mesh.observe(picture, roi)?;
            let Some(refined) = Roi::around_landmarks(&rough.landmarks_px) else { return Ok(None) };
            roi = refined;
        }
        self.see_in(picture, roi, MIN_NEW_PRESENCE)
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
        let Some(place) = Place::of_landmarks(&mesh.landmarks_px) else { return Ok(None) };
        self.tracking = Tracking::Live { roi: next, place, facing: head.facing };
        Ok(Some(Seen { mesh, head }))
    }

    fn lose(&mut self, turned_away_until: Option<Timestamp>, at: Timestamp) {
        if let Tracking::Live { place, .. } = self.tracking {
            self.acquire.begin((!self.liveness.is_picture()).then_some(place), at);
        }
        self.tracking = Tracking::Lost { turned_away_until };
        self.forget_face();
    }

    /// What was known of the followed face does not hold for another.
    fn forget_face(&mut self) {
        self.observed_at = None;
        self.is_turned_away = false;
        self.held_blendshapes = None;
        self.liveness = Liveness::default();
        (self.covers, self.cover, self.sure_open) = (Covers::default(), Cover::default(), 0.0);
    }

    /// Measures what was seen.
    fn describe(&mut self, picture: Picture<'_>, seen: Seen, at: Timestamp) -> Result<FaceObservation, FaceError> {
        let Seen { mesh, head } = seen;
        let blendshapes = match self.held_blendshapes.take() {
            Some(held) => held,
            None => {
                let weights = self.blendshapes.weigh(&mesh.landmarks_px)?;
                self.held_blendshapes = self.is_light.then_some(weights);
                weights
            }
        };
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
            self.liveness = Liveness::default();
        }
        self.cover = self.covers.step(picture, &observation.landmarks_px, head.facing, dt.unwrap_or(0.0));
        self.hide(&mut observation);
        self.liveness.step(Sign::of(&observation), dt.unwrap_or(0.0));
        if self.options.smoothing {
            self.smoothing.apply(&mut observation, dt.unwrap_or(0.0));
        }
        self.observed_at = Some(at);
        Ok(observation)
    }

    /// Takes out what the networks only made up: they draw a mouth on every hand and eyes on dark glasses.
    fn hide(&mut self, observation: &mut FaceObservation) {
        let mouth = &mut observation.mouth;
        if self.cover.mouth {
            (*mouth, self.sure_open) = (MouthRatios::default(), 0.0);
        } else if self.cover.mouth_doubtful {
            // What comes before the mouth may close it, never open it.
            mouth.open = mouth.open.min(self.sure_open);
        } else {
            self.sure_open = mouth.open;
        }
        if self.cover.eyes {
            (observation.lids, observation.gaze) = (Lids::default(), Gaze::default());
        }
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
        match self.cover {
            _ if self.is_turned_away => VideoState::TurnedAway,
            Cover { mouth: true, .. } => VideoState::MouthCovered,
            _ => VideoState::Tracked,
        }
    }

    fn hints(&self, picture: Picture<'_>, look: Look, observation: Option<&FaceObservation>) -> VideoHints {
        let mut hints = VideoHints { low_fps: look.is_low_fps, ..VideoHints::default() };
        if let Some(observation) = observation {
            let landmarks = &observation.landmarks_px;
            hints.several_faces = self.acquire.sees_several();
            hints.eyes_covered = self.cover.eyes;
            hints.picture = self.liveness.is_picture();
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

impl FaceModel for FaceTracker {
    fn observe(&mut self, frame: &VideoFrame) -> Result<FaceReport, FaceError> {
        let picture = Picture::new(frame)?;
        let at = frame.captured_at;
        let look = self.watch.look(picture, at);
        let (state, observation) = match look {
            Look { light: Light::Black, .. } => {
                self.lose(None, at);
                (VideoState::Black, None)
            }
            Look { is_frozen: true, .. } => (VideoState::Frozen, None),
            Look { light, .. } => match self.see(picture, at)? {
                Some(seen) => {
                    let facing = seen.head.facing;
                    let observation = self.describe(picture, seen, at)?;
                    match self.cover.too_dark {
                        true => (VideoState::TooDark, None),
                        false => (self.presence(facing), Some(observation)),
                    }
                }
                None => (self.absence(at, light), None),
            },
        };
        let hints = self.hints(picture, look, observation.as_ref());
        Ok(FaceReport { captured_at: at, seq: frame.seq, state, hints, observation })
    }

    fn reset(&mut self) {
        self.watch = Watch::default();
        self.person = Person::calibrated(&self.calibration);
        self.tracking = Tracking::START;
        self.forget_face();
        self.acquire.reset();
    }

    fn configure(&mut self, settings: &VideoSettings) {
        self.options.fov_deg = settings.fov_deg;
        self.is_light = settings.quality == Quality::Light;
        self.held_blendshapes = None;
    }

    fn pass(&mut self, frame: &VideoFrame) {
        if let Ok(picture) = Picture::new(frame) {
            // Frozen and slow sources are told by every picture.
            self.watch.look(picture, frame.captured_at);
        }
    }

    fn rehearse(&mut self) -> Result<(), FaceError> {
        const SIDE: usize = 256;
        let picture = Picture { width: SIDE, height: SIDE, rgb: &[128; SIDE * SIDE * 3] };
        let mesh = self.mesh.observe(picture, Roi::letterbox(SIDE, SIDE))?;
        self.blendshapes.weigh(&mesh.landmarks_px)?;
        Ok(())
    }

    fn calibrate(&mut self, calibration: &CalibrationSettings) {
        self.calibration = calibration.clone();
        self.person.calibrate(calibration);
    }
}
