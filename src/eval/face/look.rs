//! One clip through both measuring modes, and what MediaPipe saw of it, reduced to the numbers that figures are made of.

use std::sync::Arc;
use std::time::Duration;

use glam::{Quat, Vec3};

use super::clips::{ClipKind, FaceClip};
use super::reference::{Reference, ReferenceFrame, crc32};
use super::shown::Shown;
use crate::capture::presenter::{Filming, PresenterCamera, PresenterPose, PresenterScript};
use crate::capture::{FrameSource, VideoOptions, open_video};
use crate::eval::EvalError;
use crate::eval::work::WorkClock;
use crate::face::{FaceModel, FaceTracker, ImageFace, ImageMode};
use crate::settings::Settings;
use crate::types::{
    ARKIT_COUNT, Arkit, ErrorKind, FaceObservation, FaceReport, HeadPose, Lids, SourceError, VideoFrame, VideoState,
};

/// A file that gives nothing for this long is broken.
const PATIENCE: Duration = Duration::from_secs(30);
/// Centres of the irises.
const IRISES: (usize, usize) = (468, 473);
/// Middle of the inner lips, and outer corners of the eyes.
const INNER_LIPS: (usize, usize) = (13, 14);
const EYE_CORNERS: (usize, usize) = (33, 263);

/// What both image modes say of a frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct View {
    pub blendshapes: [f32; ARKIT_COUNT],
    /// Depth along the camera's axis, as MediaPipe has it.
    pub head: Quat,
    /// Between the inner lips, in eye distances.
    pub lip_gap: f64,
}

/// What is true of a drawn person.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Known {
    pub moving: Moving,
    /// Where the eyes look, relative to the head: yaw and pitch.
    pub gaze_deg: [f64; 2],
    /// Whether the picture shows the person.
    pub is_seen: bool,
}

/// What moves an avatar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Moving {
    /// Yaw, pitch, roll.
    pub head_deg: [f64; 3],
    /// How far the mouth is open, 0..1.
    pub mouth: f64,
    /// How far both lids are closed in the mean, 0..1.
    pub lids: f64,
}

/// How far landmarks are from the reference's, in the mean over all of them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LandmarkError {
    pub px: f64,
    /// Of the eye distance.
    pub share: f64,
}

/// One frame.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sample {
    pub secs: f64,
    /// Whether omote decoded the same bytes; `None` without a reference for this frame.
    pub is_same_picture: Option<bool>,
    /// Image mode: ours, MediaPipe's, and how far they are apart.
    pub ours: Option<View>,
    pub theirs: Option<View>,
    pub error: Option<LandmarkError>,
    /// Image mode, measured as the tracker measures, unfiltered.
    pub ours_moving: Option<Moving>,
    pub theirs_moving: Option<Moving>,
    /// What is true, where that is known.
    pub truth: Option<Known>,
    /// The product's path.
    pub state: VideoState,
    pub product: Option<Moving>,
    /// Yaw and pitch of the eyes.
    pub product_gaze_deg: Option<[f64; 2]>,
    /// Against MediaPipe's image mode.
    pub product_error: Option<LandmarkError>,
    /// Against the image mode's rotation, camera axis and all.
    pub product_head: Option<Quat>,
    /// Mean square over the landmarks of how far each lies off the middle of its neighbours in time, twice; px².
    pub product_unrest_px2: Option<f64>,
    /// What the tracker worked for this frame.
    pub product_secs: f64,
    /// MediaPipe's video mode.
    pub video: Option<Moving>,
    pub video_blink: Option<f64>,
    pub video_unrest_px2: Option<f64>,
    pub video_secs: Option<f64>,
}

/// A clip, looked at.
#[derive(Clone, Debug, Default)]
pub(super) struct Looked {
    pub samples: Vec<Sample>,
    /// The avatar's lids at 60 pictures a second while they follow the camera; empty for stills.
    pub shown_lids: Vec<(f64, Option<f64>)>,
}

/// The parts that look; loaded once for all clips.
pub(super) struct Looker {
    image_mode: ImageMode,
    tracker: FaceTracker,
    work: WorkClock,
}

impl Looker {
    pub fn load(settings: &Settings) -> Result<Self, EvalError> {
        let mut tracker = FaceTracker::load(crate::face::FaceOptions::default())?;
        tracker.configure(&settings.video);
        Ok(Self { image_mode: ImageMode::load()?, tracker, work: WorkClock::new() })
    }

    /// Looks at all frames of a clip.
    pub fn look(&mut self, clip: &FaceClip, settings: &Settings) -> Result<Looked, EvalError> {
        let Opened { mut source, script } = open(clip)?;
        let mut reference = match &clip.reference {
            Some(path) => Reference::open(path, &clip.name)?,
            None => None,
        };
        self.tracker.reset();
        let mut shown = (clip.kind != ClipKind::Still).then(|| Shown::new(settings));
        let mut looked = Looked::default();
        let (mut product_unrest, mut video_unrest) = (Unrest::default(), Unrest::default());
        while let Some(frame) = next_frame(source.as_mut())? {
            let known = match &mut reference {
                Some(reference) => reference.next_frame()?.filter(|(seq, _)| *seq == frame.seq).map(|(_, known)| known),
                None => None,
            };
            let video_face = known.as_ref().and_then(|k| k.video.as_ref()).map(|v| v.face.landmarks_px.as_slice());
            video_unrest.push(video_face, |i, v| set(&mut looked.samples, i, |s| s.video_unrest_px2 = v));
            let (mut sample, observation) = self.sample(&frame, known, settings.video.fov_deg, shown.as_mut())?;
            sample.truth = script.as_deref().map(|script| truth_at(script, sample.secs));
            let landmarks = observation.as_ref().map(|o| o.landmarks_px.as_slice()).filter(|l| !l.is_empty());
            product_unrest.push(landmarks, |i, v| set(&mut looked.samples, i, |s| s.product_unrest_px2 = v));
            looked.samples.push(sample);
        }
        looked.shown_lids = shown.map(Shown::finish).unwrap_or_default();
        Ok(looked)
    }

    /// Forgets the face of the last clip.
    pub fn forget(&mut self) {
        self.tracker.reset();
    }

    /// What the product sees in the next frame of a clip.
    pub fn follow(&mut self, frame: &VideoFrame) -> Result<FaceReport, EvalError> {
        Ok(self.tracker.observe(frame)?)
    }

    /// What image mode sees in a frame.
    pub fn single(&self, frame: &VideoFrame) -> Result<Option<ImageFace>, EvalError> {
        Ok(self.image_mode.look(frame)?)
    }

    fn sample(
        &mut self,
        frame: &VideoFrame,
        known: Option<ReferenceFrame>,
        fov_deg: f32,
        shown: Option<&mut Shown>,
    ) -> Result<(Sample, Option<FaceObservation>), EvalError> {
        let size = (frame.width, frame.height);
        let before = self.work.secs();
        let report = self.tracker.observe(frame)?;
        let product_secs = self.work.secs() - before;
        if let Some(shown) = shown {
            shown.see(&report);
        }
        let ours = self.image_mode.look(frame)?;
        let measure = |face: &ImageFace| self.image_mode.measure(face, size, fov_deg);
        let ours_measured = ours.as_ref().and_then(measure);
        let is_same_picture = known.as_ref().map(|known| known.crc == crc32(&frame.rgb));
        let video_secs = known.as_ref().and_then(|k| k.video_ms).map(|ms| ms / 1e3);
        let (image, video) = known.map(|k| (k.image, k.video)).unwrap_or_default();

        let theirs_moving = image.as_ref().and_then(|theirs| {
            let measured = measure(&theirs.face)?;
            Some(moving(measured.head, measured.mouth.open, measured.lids))
        });
        let video_moving = video.as_ref().and_then(|theirs| {
            let measured = measure(&theirs.face)?;
            Some(moving(HeadPose::from_quat(theirs.head), measured.mouth.open, measured.lids))
        });
        let video_blink = video.as_ref().map(|theirs| {
            let blink = |shape: Arkit| f64::from(theirs.face.blendshapes[shape as usize]);
            f64::midpoint(blink(Arkit::EyeBlinkLeft), blink(Arkit::EyeBlinkRight))
        });
        let against = |landmarks: &[Vec3]| landmark_error(landmarks, &image.as_ref()?.face.landmarks_px);
        let observation = report.observation;
        let sample = Sample {
            secs: frame.captured_at.as_secs_f64(),
            is_same_picture,
            error: ours.as_ref().and_then(|face| against(&face.landmarks_px)),
            ours: ours.as_ref().zip(ours_measured).map(|(face, measured)| view(face, measured.head_on_axis)),
            theirs: image.as_ref().map(|theirs| view(&theirs.face, theirs.head)),
            ours_moving: ours_measured.map(|m| moving(m.head, m.mouth.open, m.lids)),
            theirs_moving,
            truth: None,
            state: report.state,
            product_gaze_deg: observation
                .as_ref()
                .map(|o| [o.gaze.yaw, o.gaze.pitch].map(|angle| f64::from(angle).to_degrees())),
            product: observation.as_ref().map(|o| moving(o.head, o.mouth.open, o.lids)),
            product_error: observation.as_ref().and_then(|o| against(&o.landmarks_px)),
            product_head: observation.as_ref().map(|o| o.head.to_quat()),
            product_unrest_px2: None,
            product_secs,
            video: video_moving,
            video_blink,
            video_unrest_px2: None,
            video_secs,
        };
        Ok((sample, observation))
    }
}

/// Pictures, and the script they are drawn from.
pub(super) struct Opened {
    pub source: Box<dyn FrameSource>,
    pub script: Option<Arc<PresenterScript>>,
}

/// Opens the pictures of a clip.
pub(super) fn open(clip: &FaceClip) -> Result<Opened, EvalError> {
    if clip.kind != ClipKind::Presenter {
        return Ok(Opened { source: open_video(&clip.path, VideoOptions::default())?, script: None });
    }
    let script = PresenterScript::load(&clip.path).map_err(|error| EvalError::Labels {
        path: clip.path.clone(),
        line: 0,
        why: error.to_string(),
    })?;
    let script = Arc::new(script);
    let source = Box::new(PresenterCamera::open(script.clone(), Filming::default())?);
    Ok(Opened { source, script: Some(script) })
}

/// The next frame; `None` at the end. A frame that a script's fault swallows is left out.
pub(super) fn next_frame(source: &mut dyn FrameSource) -> Result<Option<VideoFrame>, EvalError> {
    loop {
        match source.next_frame(PATIENCE) {
            Ok(frame) => return Ok(Some(frame)),
            Err(SourceError::Ended) => return Ok(None),
            Err(
                error
                @ (SourceError::Timeout | SourceError::Device { kind: ErrorKind::Setup | ErrorKind::Corrupt, .. }),
            ) => {
                return Err(error.into());
            }
            Err(SourceError::Device { .. }) => {}
        }
    }
}

fn truth_at(script: &PresenterScript, secs: f64) -> Known {
    let truth = script.truth(secs);
    let PresenterPose { head, lids, gaze, .. } = truth.pose;
    Known {
        moving: moving(head, truth.open, lids),
        gaze_deg: [gaze.yaw, gaze.pitch].map(|angle| f64::from(angle).to_degrees()),
        is_seen: truth.video.is_none(),
    }
}

fn moving(head: HeadPose, mouth: f32, lids: Lids) -> Moving {
    Moving { head_deg: degrees(head), mouth: f64::from(mouth), lids: f64::from(f32::midpoint(lids.left, lids.right)) }
}

fn set(samples: &mut [Sample], at: usize, change: impl FnOnce(&mut Sample)) {
    if let Some(sample) = samples.get_mut(at) {
        change(sample);
    }
}

fn view(face: &ImageFace, head: Quat) -> View {
    let eyes = distance(&face.landmarks_px, EYE_CORNERS).max(1.0);
    View { blendshapes: face.blendshapes, head, lip_gap: distance(&face.landmarks_px, INNER_LIPS) / eyes }
}

fn degrees(head: HeadPose) -> [f64; 3] {
    [head.yaw, head.pitch, head.roll].map(|angle| f64::from(angle).to_degrees())
}

/// Between two landmarks in the picture, px.
fn distance(landmarks_px: &[Vec3], (a, b): (usize, usize)) -> f64 {
    let at = |i: usize| landmarks_px.get(i).map(|p| p.truncate().as_dvec2());
    at(a).zip(at(b)).map_or(0.0, |(a, b)| a.distance(b))
}

/// `None` unless both are whole sets.
fn landmark_error(ours: &[Vec3], theirs: &[Vec3]) -> Option<LandmarkError> {
    if ours.len() != theirs.len() || ours.is_empty() {
        return None;
    }
    let sum: f64 = ours.iter().zip(theirs).map(|(a, b)| f64::from(a.truncate().distance(b.truncate()))).sum();
    let px = sum / ours.len() as f64;
    Some(LandmarkError { px, share: px / distance(theirs, IRISES).max(1.0) })
}

/// Second differences of all landmarks, frame by frame: a frame's is known once the next one is there.
#[derive(Default)]
struct Unrest {
    count: usize,
    last: [Vec<Vec3>; 2],
}

impl Unrest {
    /// Takes the landmarks of the next frame, and gives the mean square of the frame before, if that has neighbours.
    fn push(&mut self, landmarks_px: Option<&[Vec3]>, mut give: impl FnMut(usize, Option<f64>)) {
        let next = landmarks_px.unwrap_or_default();
        let [before, at] = &self.last;
        if !next.is_empty() && next.len() == before.len() && next.len() == at.len() && self.count > 0 {
            let off = |((a, b), c): ((&Vec3, &Vec3), &Vec3)| {
                f64::from((a.truncate() - 2.0 * b.truncate() + c.truncate()).length_squared())
            };
            let sum: f64 = before.iter().zip(at).zip(next).map(off).sum();
            give(self.count - 1, Some(sum / next.len() as f64));
        }
        self.last.swap(0, 1);
        if let Some(newest) = self.last.last_mut() {
            newest.clear();
            newest.extend_from_slice(next);
        }
        self.count += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unrest_belongs_to_the_frame_in_the_middle() {
        let mut unrest = Unrest::default();
        let mut got = Vec::new();
        for x in [Some(0.0), Some(1.0), Some(4.0), None, Some(4.0), Some(4.0), Some(4.0)] {
            let points = x.map(|x| vec![Vec3::new(x, 0.0, 9.0); 3]);
            unrest.push(points.as_deref(), |i, v| got.push((i, v)));
        }
        assert_eq!(got, [(1, Some(4.0)), (5, Some(0.0))]);
    }

    #[test]
    fn landmark_errors_are_means_and_shares_of_the_eye_distance() {
        let mut theirs = vec![Vec3::ZERO; 478];
        theirs[IRISES.1].x = 50.0;
        let ours: Vec<Vec3> = theirs.iter().map(|p| *p + Vec3::new(0.3, 0.4, 100.0)).collect();
        let error = landmark_error(&ours, &theirs).unwrap();
        assert!((error.px - 0.5).abs() < 1e-5 && (error.share - 0.01).abs() < 1e-7);
        assert_eq!(landmark_error(&ours[1..], &theirs), None);
    }
}
