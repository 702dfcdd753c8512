//! A checked look at the pixels of a video frame, so that later stages may trust sizes.

use crate::types::VideoFrame;

use super::FaceError;

/// Larger pictures are no camera's; the limit keeps coordinates far from overflow.
const MAX_SIDE: u32 = 16_384;

/// RGB rows whose length fits the size; at least 1×1.
#[derive(Clone, Copy)]
pub(super) struct Picture<'a> {
    pub width: usize,
    pub height: usize,
    pub rgb: &'a [u8],
}

impl<'a> Picture<'a> {
    pub fn new(frame: &'a VideoFrame) -> Result<Self, FaceError> {
        let VideoFrame { width, height, .. } = *frame;
        if width == 0 || height == 0 || width > MAX_SIDE || height > MAX_SIDE {
            return Err(FaceError::Frame(format!("a size of {width}×{height} pixels")));
        }
        let (width, height) = (width as usize, height as usize);
        if frame.rgb.len() != width * height * 3 {
            let len = frame.rgb.len();
            return Err(FaceError::Frame(format!("{len} bytes instead of {}", width * height * 3)));
        }
        Ok(Self { width, height, rgb: &frame.rgb })
    }

    /// The colour at a place inside the picture.
    pub fn pixel(&self, x: usize, y: usize) -> [u8; 3] {
        match self.rgb.get((y * self.width + x) * 3..) {
            Some(&[r, g, b, ..]) => [r, g, b],
            _ => [0; 3],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::Timestamp;

    #[test]
    fn sizes_that_do_not_fit_are_refused() {
        let frame = |width, height, len: usize| VideoFrame {
            captured_at: Timestamp::ZERO,
            seq: 0,
            width,
            height,
            rgb: vec![0; len].into(),
        };
        assert!(Picture::new(&frame(1, 1, 3)).is_ok());
        assert!(Picture::new(&frame(3, 5, 45)).is_ok());
        for (width, height, len) in
            [(0, 4, 0), (4, 0, 0), (2, 2, 11), (2, 2, 13), (u32::MAX, u32::MAX, 3), (1 << 15, 1, 3 << 15)]
        {
            assert!(matches!(Picture::new(&frame(width, height, len)), Err(FaceError::Frame(_))), "{width}×{height}");
        }
    }
}
