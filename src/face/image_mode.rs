//! MediaPipe's image mode, for measurements: every frame by itself, detector first, no following, no filter, no states.
//!
//! What little differs from MediaPipe comes from the crop: it rounds sampling positions to 1/32 px and colours to
//! bytes, ours does neither. With both imitated, landmarks were equal to 0.001 px instead of 0.02–0.05.
//!
//! `omote eval face` compares it number by number with MediaPipe's. It uses the same parts as the tracker, so what is
//! found equal here is equal there. Heads are given both ways (see `head`): as MediaPipe fits them, and as the tracker
//! does.

use glam::{Quat, Vec3};

use super::FaceError;
use super::blendshapes::BlendshapeModel;
use super::detector::Detector;
use super::features::{Face, MouthRest};
use super::head::HeadSolver;
use super::mesh::MeshModel;
use super::picture::Picture;
use crate::types::{ARKIT_COUNT, Arkit, HeadPose, Lids, MouthRatios, VideoFrame};

/// MediaPipe's threshold for a face in the region that the detector gave.
const MIN_PRESENCE: f32 = 0.5;

/// Looks at single frames. Use it on one thread.
pub struct ImageMode {
    detector: Detector,
    mesh: MeshModel,
    blendshapes: BlendshapeModel,
    solver: HeadSolver,
}

/// A face as MediaPipe's image mode describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageFace {
    /// 478 landmarks in frame pixels (x right, y down, z towards the back, same scale).
    pub landmarks_px: Vec<Vec3>,
    /// The 52 ARKit weights, 0..1.
    pub blendshapes: [f32; ARKIT_COUNT],
}

/// What landmarks and blendshapes come to, unfiltered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The head's rotation in camera space as MediaPipe's geometry pipeline has it: depth along the camera's axis.
    pub head_on_axis: Quat,
    /// The head as the tracker has it: depth along the line of sight.
    pub head: HeadPose,
    /// The mouth, for a resting width that nobody learned.
    pub mouth: MouthRatios,
    /// The eyelids by the `eyeBlink` shapes alone; the tracker knows more of the person.
    pub lids: Lids,
}

/// `eyeBlink` of open eyes and of closed ones, of most people.
const EYE_BLINK: (f32, f32) = (0.2, 0.6);

/// How far a lid is closed.
fn closed(blendshapes: &[f32; ARKIT_COUNT], shape: Arkit) -> f32 {
    ((blendshapes[shape as usize] - EYE_BLINK.0) / (EYE_BLINK.1 - EYE_BLINK.0)).clamp(0.0, 1.0)
}

impl ImageMode {
    /// Loads the networks: half a second.
    ///
    /// # Errors
    /// If a built-in model does not fit: the build is broken.
    pub fn load() -> Result<Self, FaceError> {
        Ok(Self {
            detector: Detector::load()?,
            mesh: MeshModel::load()?,
            blendshapes: BlendshapeModel::load()?,
            solver: HeadSolver::load()?,
        })
    }

    /// The surest face in this frame.
    ///
    /// # Errors
    /// If the frame or the model is broken.
    pub fn look(&self, frame: &VideoFrame) -> Result<Option<ImageFace>, FaceError> {
        let picture = Picture::new(frame)?;
        let detections = self.detector.detect(picture)?;
        let Some(roi) = detections.first().map(super::detector::Detection::roi) else { return Ok(None) };
        if !roi.is_usable(picture.width, picture.height) {
            return Ok(None);
        }
        let mesh = self.mesh.observe(picture, roi)?;
        if mesh.presence < MIN_PRESENCE {
            return Ok(None);
        }
        let blendshapes = self.blendshapes.weigh(&mesh.landmarks_px)?;
        Ok(Some(ImageFace { landmarks_px: mesh.landmarks_px, blendshapes }))
    }

    /// What a face comes to, whoever saw it. `None` if its landmarks make no head.
    pub fn measure(&self, face: &ImageFace, (width, height): (u32, u32), fov_deg: f32) -> Option<Measured> {
        let (width, height, fov_rad) = (width as usize, height as usize, fov_deg.to_radians());
        let ImageFace { landmarks_px, blendshapes } = face;
        let head = self.solver.solve(landmarks_px, width, height, fov_rad)?;
        let on_axis = self.solver.solve_on_axis(landmarks_px, width, height, fov_rad)?;
        let face = Face { landmarks_px, head: &head, blendshapes };
        Some(Measured {
            head_on_axis: on_axis.pose.to_quat(),
            head: head.pose,
            mouth: face.mouth(&mut MouthRest::default(), 0.0),
            lids: Lids {
                left: closed(blendshapes, Arkit::EyeBlinkLeft),
                right: closed(blendshapes, Arkit::EyeBlinkRight),
            },
        })
    }
}
