//! Sources of pictures: cameras (nokhwa), files, the drawn presenter. Pixel formats become RGB here.
//!
//! Knows nothing of faces. A device is opened, used and closed on the thread that owns the source.

mod avi;
mod camera;
mod camera_format;
mod faulty;
mod ffmpeg;
mod files;
mod folder;
mod jpeg;
mod mjpeg;
mod pixels;
mod pool;
pub mod presenter;
mod resize;
mod y4m;

use std::time::Duration;

pub use camera::{Camera, CameraInfo, CameraMode, list_cameras};
pub use faulty::FaultyFrames;
pub use files::{VideoOptions, open_video};

use crate::types::{SourceError, VideoFrame};

/// Gives pictures, one after another.
pub trait FrameSource: Send {
    /// The next picture; waits for it up to `timeout`.
    ///
    /// # Errors
    /// `Timeout` if none came, `Ended` after the last one of a file, `Device` if the source failed.
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError>;
}

impl<S: FrameSource + ?Sized> FrameSource for Box<S> {
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError> {
        (**self).next_frame(timeout)
    }
}
