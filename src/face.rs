//! A picture becomes a [`FaceReport`]: detector, landmarks, blendshapes, head pose, ratios.
//!
//! Knows nothing of cameras (`capture`) or voices. Sides are the person's; pictures are unflipped.
//!
//! The way of a frame: `watch` looks at the picture as such (dark, black, frozen); `acquire` finds a face while none
//! is followed (`detector`, then `far_detector`) and `liveness` tells it from a picture; `roi` and `crop` cut it out
//! level and square; `mesh` puts 478 landmarks on it, whose box is the next frame's region; `blendshapes` weighs 52
//! expressions; `head` fits position and rotation; `features` measures mouth, eyes, brows and gaze in the head's own
//! space; `lids`, `gaze` and `baseline` know how far this person's eyes open, where they rest and what their face
//! weighs at rest, learned or from a `calibration`; `covered` says what is only made up; `smoothing` calms all.
//! `tracker` is all of it in order.
//!
//! Spaces: frame (pixels, x right, y down), region (0..1 over a rotated rectangle of the frame), camera and head
//! (centimetres, see `head`). The networks are described in `models/face`.

mod acquire;
mod baseline;
#[cfg(test)]
mod bench;
mod blendshapes;
mod calibration;
mod covered;
mod crop;
mod detector;
mod far_detector;
mod features;
mod gaze;
mod head;
mod image_mode;
mod lids;
mod liveness;
mod mesh;
mod network;
mod picture;
mod prelu;
mod roi;
mod smoothing;
mod tracker;
mod watch;

pub use calibration::RestMeter;
pub use image_mode::{ImageFace, ImageMode, Measured};
pub use tracker::{FaceOptions, FaceTracker};

use crate::settings::{CalibrationSettings, VideoSettings};
use crate::types::{ErrorKind, FaceReport, VideoFrame};

/// Why no report could be made.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FaceError {
    /// A model file does not fit or cannot be run.
    #[error("the face model {name} cannot be used ({why}); install omote anew")]
    Model {
        /// Which model.
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// The picture is no picture.
    #[error("a video frame is broken ({0})")]
    Frame(String),
}

impl FaceError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Model { .. } => ErrorKind::Setup,
            Self::Frame(_) => ErrorKind::Corrupt,
        }
    }
}

/// Sees faces.
pub trait FaceModel: Send {
    /// What is in this frame. Follows one face from frame to frame.
    ///
    /// # Errors
    /// If the frame or the model is broken; the next frame may work.
    fn observe(&mut self, frame: &VideoFrame) -> Result<FaceReport, FaceError>;

    /// Forgets the face that was followed.
    fn reset(&mut self);

    /// Takes over what the settings say of the camera (`video.fov_deg`) and of the care to take (`video.quality`);
    /// holds from the next frame on.
    fn configure(&mut self, settings: &VideoSettings);

    /// A frame came that is not looked at for a face, so as to save work. The model may look at the picture as such.
    fn pass(&mut self, _frame: &VideoFrame) {}

    /// Does the work of one tracked frame, so that it can be timed. Changes nothing.
    ///
    /// # Errors
    /// If the model is broken.
    fn rehearse(&mut self) -> Result<(), FaceError> {
        Ok(())
    }

    /// Takes over what was measured of this person; holds from the next frame on. Models without a use for it ignore it.
    fn calibrate(&mut self, _calibration: &CalibrationSettings) {}
}

/// The logistic function; 0..1 even for huge arguments.
fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit.clamp(-80.0, 80.0)).exp())
}
