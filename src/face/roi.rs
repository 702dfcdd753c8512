//! The region of interest: a rotated rectangle of the frame that becomes a network's input.
//!
//! Frame space: pixels, x right, y down, (0, 0) the first pixel. Region space: 0..1 over the rectangle.

use glam::{Vec2, Vec3};

/// A rotated rectangle in frame pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Roi {
    pub center: Vec2,
    pub size: Vec2,
    /// Clockwise as seen (y down), radians.
    pub rotation_rad: f32,
}

/// How much larger than the face the region is; the landmark network was trained with it.
pub(super) const FACE_MARGIN: f32 = 1.5;

/// Outer corners of the eyes: their line gives the region's rotation.
const RIGHT_EYE_OUTER: usize = 33;
const LEFT_EYE_OUTER: usize = 263;

impl Roi {
    /// The square around the whole picture, with borders where the picture is shorter.
    pub fn letterbox(width: usize, height: usize) -> Self {
        let (width, height) = (width as f32, height as f32);
        Self { center: Vec2::new(width, height) / 2.0, size: Vec2::splat(width.max(height)), rotation_rad: 0.0 }
    }

    /// The square around landmarks, turned so that the eyes are level. `None` for fewer than a mesh of points.
    pub fn around_landmarks(landmarks_px: &[Vec3]) -> Option<Self> {
        let (right, left) = (landmarks_px.get(RIGHT_EYE_OUTER)?, landmarks_px.get(LEFT_EYE_OUTER)?);
        let (min, max) = bounds(landmarks_px)?;
        let eye_line = left.truncate() - right.truncate();
        Some(Self {
            center: (min + max) / 2.0,
            size: Vec2::splat(FACE_MARGIN * (max - min).max_element()),
            rotation_rad: eye_line.y.atan2(eye_line.x),
        })
    }

    /// A place in the region, as a place in the frame.
    pub fn to_frame(self, in_region: Vec2) -> Vec2 {
        self.center + Vec2::from_angle(self.rotation_rad).rotate((in_region - 0.5) * self.size)
    }

    /// True where sampling makes sense: finite, neither tiny nor absurdly large, its centre in or near the picture.
    pub fn is_usable(self, width: usize, height: usize) -> bool {
        let frame = Vec2::new(width as f32, height as f32);
        let reach = frame.max_element();
        self.center.is_finite()
            && self.rotation_rad.is_finite()
            && self.size.min_element() >= 8.0
            && self.size.max_element() <= 4.0 * reach
            && self.center.cmpge(-frame * 0.5).all()
            && self.center.cmple(frame * 1.5).all()
    }
}

/// The corners of the smallest upright box around points, in frame pixels. `None` without points or with broken ones.
pub(super) fn bounds(points: &[Vec3]) -> Option<(Vec2, Vec2)> {
    let first = points.first()?.truncate();
    let corners = points.iter().fold((first, first), |(min, max), p| (min.min(p.truncate()), max.max(p.truncate())));
    let is_finite = points.iter().all(|p| p.is_finite());
    is_finite.then_some(corners)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_corners_of_a_turned_region_are_where_they_should_be() {
        let roi = Roi {
            center: Vec2::new(100.0, 50.0),
            size: Vec2::new(20.0, 10.0),
            rotation_rad: std::f32::consts::FRAC_PI_2,
        };
        assert!(roi.to_frame(Vec2::ZERO).distance(Vec2::new(105.0, 40.0)) < 1e-4);
        assert!(roi.to_frame(Vec2::splat(0.5)).distance(roi.center) < 1e-4);
    }

    #[test]
    fn broken_landmarks_give_no_usable_region() {
        assert_eq!(Roi::around_landmarks(&[]), None);
        let mut points = vec![Vec3::ZERO; 478];
        assert!(!Roi::around_landmarks(&points).unwrap().is_usable(640, 480), "no size");
        points[400] = Vec3::NAN;
        assert_eq!(Roi::around_landmarks(&points), None);
    }
}
