//! BlazeFace, short range: finds faces in the whole picture. Runs while no face is followed, and now and then beside.

use glam::Vec2;

use super::FaceError;
use super::crop::{Border, Normalisation, crop};
use super::network::{ModelSpec, Network};
use super::picture::Picture;
use super::roi::{FACE_MARGIN, Roi};

/// The model's file and shapes.
pub(super) static MODEL: ModelSpec = ModelSpec {
    name: "face_detector",
    onnx: include_bytes!("../../models/face/face_detector.onnx"),
    input: &[1, 3, SIDE, SIDE],
    outputs: &[("regressors", &[1, ANCHOR_COUNT, BOX_LEN]), ("classificators", &[1, ANCHOR_COUNT, 1])],
};

const SIDE: usize = 128;
pub(super) const NORMALISATION: Normalisation = Normalisation { scale: 1.0 / 127.5, offset: -1.0 };
/// Grids of anchors: cells in a row, anchors in a cell.
const GRIDS: [(usize, usize); 2] = [(16, 2), (8, 6)];
const ANCHOR_COUNT: usize = 896;
/// Centre, size, six key points.
pub(super) const BOX_LEN: usize = 16;
/// MediaPipe's values.
const MIN_SCORE: f32 = 0.5;
const SAME_FACE_IOU: f32 = 0.3;

/// Reads and sums up answers of a BlazeFace network.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    /// The width and height of the network's picture.
    side: usize,
    /// Centres of the anchors, 0..1; their size is 1.
    anchors: Vec<Vec2>,
}

impl Reader {
    /// For a network with these grids of anchors: cells in a row, anchors in a cell.
    pub fn new(side: usize, grids: &[(usize, usize)]) -> Self {
        Self { side, anchors: anchors(grids) }
    }

    /// The faces in a window of the frame, surest first.
    pub fn read(&self, boxes: &[f32], logits: &[f32], window: Roi) -> Vec<Detection> {
        let candidates = decode(boxes, logits, &self.anchors, self.side);
        merge(candidates).into_iter().map(|candidate| candidate.in_frame(window)).collect()
    }
}

/// A face as the detector saw it, in frame pixels.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Detection {
    /// 0.5..1.
    pub score: f32,
    pub center: Vec2,
    pub size: Vec2,
    /// The eyes: the one further left in the picture (the person's right), then the other.
    pub eyes: [Vec2; 2],
}

impl Detection {
    /// The region for the landmark network.
    pub fn roi(&self) -> Roi {
        let eye_line = self.eyes[1] - self.eyes[0];
        Roi { center: self.center, size: self.size * FACE_MARGIN, rotation_rad: eye_line.y.atan2(eye_line.x) }
    }
}

/// The detector network.
pub(super) struct Detector {
    network: Network,
    reader: Reader,
}

impl Detector {
    pub fn load() -> Result<Self, FaceError> {
        Ok(Self { network: Network::load(&MODEL)?, reader: Reader::new(SIDE, &GRIDS) })
    }

    /// All faces in the picture, surest first.
    pub fn detect(&self, picture: Picture<'_>) -> Result<Vec<Detection>, FaceError> {
        let roi = Roi::letterbox(picture.width, picture.height);
        let [boxes, logits] =
            self.network.run(|input| crop(picture, roi, SIDE, Border::Black, NORMALISATION, input))?;
        Ok(self.reader.read(&boxes, &logits, roi))
    }
}

fn anchors(grids: &[(usize, usize)]) -> Vec<Vec2> {
    let mut anchors = Vec::new();
    for &(side, in_cell) in grids {
        for cell in 0..side * side {
            let center = (Vec2::new((cell % side) as f32, (cell / side) as f32) + 0.5) / side as f32;
            anchors.extend(std::iter::repeat_n(center, in_cell));
        }
    }
    anchors
}

/// One anchor's answer in 0..1 of the letterbox: centre, size, six key points.
#[derive(Clone, Copy, Debug)]
struct Candidate {
    score: f32,
    points: [Vec2; BOX_LEN / 2],
}

impl Candidate {
    const CENTER: usize = 0;
    const SIZE: usize = 1;
    const EYES: [usize; 2] = [2, 3];

    fn corners(&self) -> (Vec2, Vec2) {
        let half = self.points[Self::SIZE] / 2.0;
        (self.points[Self::CENTER] - half, self.points[Self::CENTER] + half)
    }

    fn overlap(&self, other: &Self) -> f32 {
        let ((min_a, max_a), (min_b, max_b)) = (self.corners(), other.corners());
        let area = |size: Vec2| size.x.max(0.0) * size.y.max(0.0);
        let both = area(max_a.min(max_b) - min_a.max(min_b));
        let union = area(max_a - min_a) + area(max_b - min_b) - both;
        if union > 0.0 { both / union } else { 0.0 }
    }

    fn in_frame(&self, roi: Roi) -> Detection {
        Detection {
            score: self.score,
            center: roi.to_frame(self.points[Self::CENTER]),
            size: self.points[Self::SIZE] * roi.size,
            eyes: Self::EYES.map(|eye| roi.to_frame(self.points[eye])),
        }
    }
}

fn decode(boxes: &[f32], logits: &[f32], anchors: &[Vec2], side: usize) -> Vec<Candidate> {
    let mut candidates = Vec::new();
    for ((values, &logit), &anchor) in boxes.chunks_exact(BOX_LEN).zip(logits).zip(anchors) {
        let score = super::sigmoid(logit);
        if !(score >= MIN_SCORE && values.iter().all(|v| v.is_finite())) {
            continue;
        }
        let mut points = [Vec2::ZERO; BOX_LEN / 2];
        for (k, (point, xy)) in points.iter_mut().zip(values.chunks_exact(2)).enumerate() {
            let offset = if k == Candidate::SIZE { Vec2::ZERO } else { anchor };
            *point = Vec2::from_slice(xy) / side as f32 + offset;
        }
        if points[Candidate::SIZE].min_element() > 0.0 {
            candidates.push(Candidate { score, points });
        }
    }
    candidates
}

/// Weighted non-maximum suppression: candidates over the same face become their mean, weighted by score.
fn merge(mut candidates: Vec<Candidate>) -> Vec<Candidate> {
    candidates.sort_by(|a, b| b.score.total_cmp(&a.score));
    let mut faces = Vec::new();
    while let Some(&best) = candidates.first() {
        let mut mean = Candidate { score: best.score, points: [Vec2::ZERO; BOX_LEN / 2] };
        let mut weight = 0.0;
        candidates.retain(|candidate| {
            let is_other = candidate.overlap(&best) <= SAME_FACE_IOU;
            if !is_other {
                weight += candidate.score;
                for (sum, point) in mean.points.iter_mut().zip(candidate.points) {
                    *sum += point * candidate.score;
                }
            }
            is_other
        });
        if weight <= 0.0 {
            break;
        }
        mean.points = mean.points.map(|sum| sum / weight);
        faces.push(mean);
    }
    faces
}

#[cfg(test)]
mod tests {
    use super::*;

    fn candidate(score: f32, center: Vec2, size: f32) -> Candidate {
        let mut points = [center; BOX_LEN / 2];
        points[Candidate::SIZE] = Vec2::splat(size);
        Candidate { score, points }
    }

    #[test]
    fn the_anchors_cover_the_picture_evenly() {
        let anchors = anchors(&GRIDS);
        assert_eq!(anchors.len(), ANCHOR_COUNT);
        let mean = anchors.iter().sum::<Vec2>() / ANCHOR_COUNT as f32;
        assert!(mean.distance(Vec2::splat(0.5)) < 1e-5);
        assert_eq!(anchors[0], Vec2::splat(0.5 / 16.0));
    }

    #[test]
    fn candidates_of_one_face_become_their_weighted_mean() {
        let faces = merge(vec![
            candidate(0.6, Vec2::new(0.33, 0.3), 0.2),
            candidate(0.9, Vec2::new(0.30, 0.3), 0.2),
            candidate(0.7, Vec2::new(0.80, 0.8), 0.2),
        ]);
        assert_eq!(faces.len(), 2);
        assert_eq!(faces[0].score, 0.9);
        assert!((faces[0].points[Candidate::CENTER].x - 0.312).abs() < 1e-6);
    }

    #[test]
    fn broken_numbers_are_no_faces() {
        let mut boxes = vec![64.0; BOX_LEN * 3];
        boxes[5] = f32::NAN;
        boxes[BOX_LEN + Candidate::SIZE * 2] = -1.0;
        let found = decode(&boxes, &[9.0, 9.0, f32::NAN], &anchors(&GRIDS), SIDE);
        assert!(found.is_empty());
    }
}
