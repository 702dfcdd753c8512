//! FaceMesh V2: 478 landmarks of the face in a region of the frame, and whether there is a face at all.

use glam::{Vec2, Vec3};

use super::FaceError;
use super::crop::{Border, Normalisation, crop};
use super::network::{ModelSpec, Network};
use super::picture::Picture;
use super::roi::Roi;

/// The model's file and shapes. The third output is unused: nobody documents it.
pub(super) static MODEL: ModelSpec = ModelSpec {
    name: "face_landmarks_detector",
    onnx: include_bytes!("../../models/face/face_landmarks_detector.onnx"),
    input: &[1, 3, SIDE, SIDE],
    outputs: &[("Identity", &[1, 1, 1, LANDMARK_COUNT * 3]), ("Identity_1", &[1, 1, 1, 1]), ("Identity_2", &[1, 1])],
};

/// Landmarks of the face and of both irises.
pub(super) const LANDMARK_COUNT: usize = 478;
/// The first of them belong to the mesh of the canonical face, the last ten to the irises.
pub(super) const MESH_COUNT: usize = 468;
const SIDE: usize = 256;
const NORMALISATION: Normalisation = Normalisation { scale: 1.0 / 255.0, offset: 0.0 };

/// What the network saw.
#[derive(Clone, Debug)]
pub(super) struct Mesh {
    /// Frame pixels; z towards the back in the same scale.
    pub landmarks_px: Vec<Vec3>,
    /// How sure the network is that it saw a face, 0..1.
    pub presence: f32,
}

/// The landmark network.
pub(super) struct MeshModel {
    network: Network,
}

impl MeshModel {
    pub fn load() -> Result<Self, FaceError> {
        Ok(Self { network: Network::load(&MODEL)? })
    }

    /// The face in a usable region. Broken numbers give presence 0.
    pub fn observe(&self, picture: Picture<'_>, roi: Roi) -> Result<Mesh, FaceError> {
        let [points, presence, _] =
            self.network.run(|input| crop(picture, roi, SIDE, Border::Replicate, NORMALISATION, input))?;
        Ok(read(&points, presence.first().copied().unwrap_or(f32::NAN), roi))
    }
}

fn read(points: &[f32], logit: f32, roi: Roi) -> Mesh {
    let landmarks_px: Vec<Vec3> = points
        .chunks_exact(3)
        .map(|point| {
            let point = Vec3::from_slice(point) / SIDE as f32;
            roi.to_frame(Vec2::new(point.x, point.y)).extend(point.z * roi.size.x)
        })
        .collect();
    let is_sound = landmarks_px.len() == LANDMARK_COUNT && landmarks_px.iter().all(|p| p.is_finite());
    let presence = if is_sound && logit.is_finite() { super::sigmoid(logit) } else { 0.0 };
    Mesh { landmarks_px, presence }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn landmarks_come_back_to_where_the_crop_took_them_from(
            center in (0.0f32..640.0, 0.0f32..480.0),
            size in 20.0f32..500.0,
            rotation_rad in -3.0f32..3.0,
            at in (0.0f32..256.0, 0.0f32..256.0),
        ) {
            let roi = Roi { center: center.into(), size: Vec2::splat(size), rotation_rad };
            let points: Vec<f32> = [at.0, at.1, 32.0].repeat(LANDMARK_COUNT);
            let mesh = read(&points, 3.0, roi);
            // From the frame back into the crop, by the inverse written out.
            let offset = Vec2::from_angle(-rotation_rad).rotate(mesh.landmarks_px[0].truncate() - roi.center);
            let back = (offset / size + 0.5) * 256.0;
            prop_assert!(back.distance(at.into()) < 0.05);
            prop_assert!((mesh.landmarks_px[0].z - size / 8.0).abs() < 1e-3);
        }
    }

    #[test]
    fn broken_numbers_are_no_face() {
        let roi = Roi::letterbox(10, 10);
        let mut points = vec![1.0; LANDMARK_COUNT * 3];
        assert!(read(&points, 5.0, roi).presence > 0.9);
        assert_eq!(read(&points, f32::NAN, roi).presence, 0.0);
        assert_eq!(read(&points[3..], 5.0, roi).presence, 0.0);
        points[7] = f32::INFINITY;
        assert_eq!(read(&points, 5.0, roi).presence, 0.0);
    }
}
