//! A camera picture on its way from `capture` to `face`.

use std::sync::Arc;

use super::Timestamp;

/// One picture of a video source: 8-bit RGB rows from the top left, unflipped, no padding.
#[derive(Clone, Debug, PartialEq)]
pub struct VideoFrame {
    /// When the picture was taken.
    pub captured_at: Timestamp,
    /// Counts the frames of the source, from 0.
    pub seq: u64,
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// `width * height * 3` bytes of sRGB; cheap to hand on.
    pub rgb: Arc<[u8]>,
}
