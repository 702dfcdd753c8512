//! A picture becomes a [`FaceReport`]: detector, landmarks, blendshapes, head pose, ratios.
//!
//! Knows nothing of cameras (`capture`) or voices. Sides are the person's; pictures are unflipped.

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
}
