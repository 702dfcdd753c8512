//! The blendshape network: 146 of the landmarks become 52 ARKit weights.

use glam::Vec3;

use crate::types::ARKIT_COUNT;

use super::FaceError;
use super::network::{ModelSpec, Network};

/// The model's file and shapes. The weights come in the order of `types::Arkit`.
pub(super) static MODEL: ModelSpec = ModelSpec {
    name: "face_blendshapes",
    onnx: include_bytes!("../../models/face/face_blendshapes.onnx"),
    input: &[1, SUBSET.len(), 2],
    outputs: &[("StatefulPartitionedCall_0", &[ARKIT_COUNT])],
};

/// The landmarks it looks at, in its order (MediaPipe's `kLandmarksSubsetIdxs`).
#[rustfmt::skip]
const SUBSET: [usize; 146] = [
    0, 1, 4, 5, 6, 7, 8, 10, 13, 14, 17, 21, 33, 37, 39, 40, 46, 52, 53, 54, 55, 58, 61, 63, 65, 66, 67, 70, 78,
    80, 81, 82, 84, 87, 88, 91, 93, 95, 103, 105, 107, 109, 127, 132, 133, 136, 144, 145, 146, 148, 149, 150, 152,
    153, 154, 155, 157, 158, 159, 160, 161, 162, 163, 168, 172, 173, 176, 178, 181, 185, 191, 195, 197, 234, 246,
    249, 251, 263, 267, 269, 270, 276, 282, 283, 284, 285, 288, 291, 293, 295, 296, 297, 300, 308, 310, 311, 312,
    314, 317, 318, 321, 323, 324, 332, 334, 336, 338, 356, 361, 362, 365, 373, 374, 375, 377, 378, 379, 380, 381,
    382, 384, 385, 386, 387, 388, 389, 390, 397, 398, 400, 402, 405, 409, 415, 454, 466, 468, 469, 470, 471, 472,
    473, 474, 475, 476, 477,
];

/// The blendshape network.
pub(super) struct BlendshapeModel {
    network: Network,
}

impl BlendshapeModel {
    pub fn load() -> Result<Self, FaceError> {
        Ok(Self { network: Network::load(&MODEL)? })
    }

    /// The weights, 0..1, for the landmarks of one face in frame pixels.
    pub fn weigh(&self, landmarks_px: &[Vec3]) -> Result<[f32; ARKIT_COUNT], FaceError> {
        let [values] = self.network.run(|input| {
            for (xy, &index) in input.chunks_exact_mut(2).zip(&SUBSET) {
                let point = landmarks_px.get(index).copied().unwrap_or_default();
                xy.copy_from_slice(&[point.x, point.y]);
            }
        })?;
        let mut weights = [0.0; ARKIT_COUNT];
        for (weight, value) in weights.iter_mut().zip(values) {
            *weight = if value.is_finite() { value.clamp(0.0, 1.0) } else { 0.0 };
        }
        Ok(weights)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_description_lists_the_same_landmarks() {
        let description: toml::Table = include_str!("../../models/face/face_blendshapes.toml").parse().unwrap();
        let listed: Vec<usize> = description["input"]["landmarks"]
            .as_array()
            .unwrap()
            .iter()
            .map(|index| index.as_integer().unwrap() as usize)
            .collect();
        assert_eq!(listed, SUBSET);
        let names: Vec<&str> =
            description["outputs"][0]["names"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
        assert_eq!(names, crate::types::ARKIT_NAMES);
    }
}
