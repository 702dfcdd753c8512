//! A picture becomes a [`FaceReport`]: detector, landmarks, blendshapes, head pose, ratios.
//!
//! Knows nothing of cameras (`capture`) or voices. Sides are the person's; pictures are unflipped.
//!
//! The way of a frame: `watch` looks at the picture as such (dark, black, frozen); `detector` finds a face while none
//! is followed; `roi` and `crop` cut it out level and square; `mesh` puts 478 landmarks on it, whose box is the next
//! frame's region; `blendshapes` weighs 52 expressions; `head` fits position and rotation; `features` measures mouth,
//! lids, brows and gaze in the head's own space; `smoothing` calms them. `tracker` is all of it in order.
//!
//! Spaces: frame (pixels, x right, y down), region (0..1 over a rotated rectangle of the frame), camera and head
//! (centimetres, see `head`). The networks are described in `models/face`.

#[cfg(test)]
mod bench;
mod blendshapes;
mod crop;
mod detector;
mod features;
mod head;
mod image_mode;
mod mesh;
mod network;
mod picture;
mod prelu;
mod roi;
mod smoothing;
mod tracker;
mod watch;

pub use image_mode::{ImageFace, ImageMode, Measured};
pub use tracker::{FaceOptions, FaceTracker};

use crate::settings::VideoSettings;
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

    /// Takes over what the settings say of the camera (`video.fov_deg`); holds from the next frame on.
    fn configure(&mut self, settings: &VideoSettings);
}

/// The logistic function; 0..1 even for huge arguments.
fn sigmoid(logit: f32) -> f32 {
    1.0 / (1.0 + (-logit.clamp(-80.0, 80.0)).exp())
}
