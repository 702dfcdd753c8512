//! OpenSeeFace: binary, little-endian, 1785 bytes a face, up to 36 faces in a packet.
//!
//! A packet is sent only if at least one face was found, so silence means that there is none. `success` says whether
//! the pose could be fitted, `error` how badly it fits.
//!
//! **Spaces.** The tracker's face space is x to the person's right, y up, z out of the face; its camera space is x down
//! in the picture, y right, z away (both left-handed: rows come before columns there). The quaternion on the wire is
//! that of the *inverse* of `camera_from_face`. The fit starts from nothing and settles in the mirrored depth: the face
//! lies at negative z, and `camera_from_face` has its first two rows negated. Also the middle of the picture is taken
//! for (width/2, height/2) in (row, column), which turns every head by some degrees; both are known, so both are undone
//! here. Checked with the tracker's own solver (OpenCV) on projected heads: turned by up to 30° they come out within 5°
//! and a straight one within 2.5°; roll is exact. Distances come out 1.4 times too long, which [`METRES`] contains.

use glam::{Mat3, Quat, Vec2, Vec3};

use super::shapes::{are_sane, ramp, visible_gaze};
use super::{PacketError, Seen};
use crate::types::{ARKIT_COUNT, Arkit, Brows, FaceObservation, Gaze, HeadPose, Lids, MouthRatios, VideoHints};

/// Bytes of one face.
const FACE_BYTES: usize = 1785;
const POINTS: usize = 68;
/// Where the fields are in a face.
mod at {
    pub const ID: usize = 8;
    pub const SIZE: usize = 12;
    pub const RIGHT_OPEN: usize = 20;
    pub const LEFT_OPEN: usize = 24;
    pub const SUCCESS: usize = 28;
    pub const ERROR: usize = 29;
    pub const QUATERNION: usize = 33;
    pub const TRANSLATION: usize = 61;
    pub const CONFIDENCE: usize = 73;
    pub const POINTS_3D: usize = 889;
    pub const FEATURES: usize = 1729;
}
/// Among the 70 points: where the right and the left eye look at, and their centres.
const GAZE_POINTS: [(usize, usize); 2] = [(66, 68), (67, 69)];
/// The tracker itself draws no gaze below this confidence.
const GAZE_CONFIDENCE: f32 = 0.2;
/// Among the 14 features.
const BROW_LEFT: usize = 3;
const BROW_RIGHT: usize = 6;
const CORNER_LEFT: usize = 8;
const CORNER_RIGHT: usize = 10;
const MOUTH_OPEN: usize = 12;
const MOUTH_WIDE: usize = 13;

/// The tracker calls a fit worse than this an anomaly, pixels. Good ones have 2 to 10.
const MAX_ERROR_PX: f32 = 300.0;
/// From here on a fit is believed less.
const DOUBTFUL_ERROR_PX: f32 = 60.0;
/// The model's face is 0.91 units wide.
const METRES: f32 = 0.115;
/// The tracker calls an eye open above 0.3.
const EYE_CLOSED: (f32, f32) = (0.75, 0.2);

/// Follows one face from packet to packet.
#[derive(Debug, Default)]
pub(super) struct OpenSeeFace {
    followed_id: Option<i32>,
}

impl OpenSeeFace {
    pub fn read(&mut self, packet: &[u8]) -> Result<Seen, PacketError> {
        if packet.is_empty() || !packet.len().is_multiple_of(FACE_BYTES) {
            return Err(broken("its length is wrong"));
        }
        let mut best: Option<Face> = None;
        let mut face_count = 0;
        for bytes in packet.chunks_exact(FACE_BYTES) {
            let Some(face) = Face::read(Fields(bytes))? else { continue };
            face_count += 1;
            let is_better = |b: &Face| {
                let is_followed = |f: &Face| self.followed_id == Some(f.id);
                (is_followed(&face), face.confidence) > (is_followed(b), b.confidence)
            };
            if best.as_ref().is_none_or(is_better) {
                best = Some(face);
            }
        }
        let Some(face) = best else { return Ok(Seen::NoFace) };
        self.followed_id = Some(face.id);
        let hints = VideoHints { several_faces: face_count > 1, ..VideoHints::default() };
        Ok(Seen::Face(Box::new(face.observation()), hints))
    }
}

/// Reads numbers by their place.
struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn bytes<const N: usize>(&self, at: usize) -> [u8; N] {
        let found = self.0.get(at..).and_then(|rest| rest.first_chunk::<N>());
        found.copied().unwrap_or([0; N])
    }

    fn number(&self, at: usize) -> f32 {
        f32::from_le_bytes(self.bytes(at))
    }

    fn numbers<const N: usize>(&self, at: usize) -> [f32; N] {
        std::array::from_fn(|i| self.number(at + 4 * i))
    }
}

/// What omote takes of a face.
struct Face {
    id: i32,
    size_px: Vec2,
    right_open: f32,
    left_open: f32,
    quaternion: Quat,
    translation: Vec3,
    confidence: f32,
    gaze: Option<Gaze>,
    features: [f32; 14],
}

impl Face {
    /// `None` where the tracker itself does not trust the face.
    fn read(fields: Fields<'_>) -> Result<Option<Self>, PacketError> {
        let size: [f32; 2] = fields.numbers(at::SIZE);
        let opens = [fields.number(at::RIGHT_OPEN), fields.number(at::LEFT_OPEN)];
        let error_px = fields.number(at::ERROR);
        let quaternion: [f32; 4] = fields.numbers(at::QUATERNION);
        let translation: [f32; 3] = fields.numbers(at::TRANSLATION);
        let confidences: [f32; POINTS] = fields.numbers(at::CONFIDENCE);
        let features: [f32; 14] = fields.numbers(at::FEATURES);
        // Poses that failed may hold anything; landmarks and features still must be numbers.
        if !(are_sane(&size) && are_sane(&opens) && are_sane(&confidences) && are_sane(&features)) {
            return Err(broken("a number is none"));
        }
        let [success] = fields.bytes::<1>(at::SUCCESS);
        if success > 1 || size[0] < 1.0 || size[1] < 1.0 {
            return Err(broken("its fields are wrong"));
        }
        if success == 0 || !error_px.is_finite() || !(0.0..=MAX_ERROR_PX).contains(&error_px) {
            return Ok(None);
        }
        let quaternion = Quat::from_array(quaternion);
        if !are_sane(&translation) || !(0.5..2.0).contains(&quaternion.length_squared()) || translation[2].abs() < 0.1 {
            return Err(broken("its pose is none"));
        }
        let mean = confidences.iter().take(66).sum::<f32>() / 66.0;
        let doubt = ramp(error_px, (DOUBTFUL_ERROR_PX, MAX_ERROR_PX));
        Ok(Some(Self {
            id: i32::from_le_bytes(fields.bytes(at::ID)),
            size_px: Vec2::from_array(size),
            right_open: opens[0],
            left_open: opens[1],
            quaternion: quaternion.normalize(),
            translation: Vec3::from_array(translation),
            confidence: mean.clamp(0.0, 1.0) * (1.0 - doubt),
            gaze: gaze(&fields, &confidences),
            features,
        }))
    }

    fn feature(&self, index: usize) -> f32 {
        self.features.get(index).copied().unwrap_or(0.0).clamp(-1.0, 1.0)
    }

    fn observation(&self) -> FaceObservation {
        let (head, position) = self.pose();
        let lid = |open| ramp(open, EYE_CLOSED);
        let lids = Lids { left: lid(self.left_open), right: lid(self.right_open) };
        let brows = Brows { left: self.feature(BROW_LEFT), right: self.feature(BROW_RIGHT) };
        // Features are 0 at this person's median, ±1 at the extremes seen. Corners count downwards.
        let corners = [CORNER_LEFT, CORNER_RIGHT].map(|i| self.feature(i));
        let (smile, wide) = (-(corners[0] + corners[1]) / 2.0, self.feature(MOUTH_WIDE));
        let mouth = MouthRatios {
            open: self.feature(MOUTH_OPEN).max(0.0),
            width: (0.5 + 0.5 * wide).clamp(0.0, 1.0),
            round: (-wide).max(0.0),
            smile: smile.max(0.0),
        };
        let mut blendshapes = [0.0; ARKIT_COUNT];
        for (shape, weight) in [
            (Arkit::EyeBlinkLeft, lids.left),
            (Arkit::EyeBlinkRight, lids.right),
            (Arkit::JawOpen, mouth.open),
            (Arkit::MouthPucker, mouth.round),
            (Arkit::MouthSmileLeft, (-corners[0]).max(0.0)),
            (Arkit::MouthSmileRight, (-corners[1]).max(0.0)),
            (Arkit::BrowOuterUpLeft, brows.left.max(0.0)),
            (Arkit::BrowOuterUpRight, brows.right.max(0.0)),
            (Arkit::BrowDownLeft, (-brows.left).max(0.0)),
            (Arkit::BrowDownRight, (-brows.right).max(0.0)),
        ] {
            if let Some(slot) = blendshapes.get_mut(shape as usize) {
                *slot = weight;
            }
        }
        FaceObservation {
            confidence: self.confidence,
            landmarks_px: Vec::new(),
            head,
            position,
            mouth,
            lids,
            brows,
            gaze: visible_gaze(self.gaze.unwrap_or_default(), lids),
            blendshapes,
        }
    }

    /// The head in omote's spaces (see the module's doc).
    fn pose(&self) -> (HeadPose, Vec3) {
        let fitted_from_face = Mat3::from_quat(self.quaternion.conjugate());
        let depth = self.translation.z;
        // Where the fit believes the head to be seen, and where it is seen.
        let fitted_ray = (self.translation / depth).truncate().extend(1.0);
        let shift = (self.size_px.x - self.size_px.y) / 2.0 / self.size_px.x;
        let true_ray = fitted_ray + Vec3::new(shift, -shift, 0.0);
        let along = |ray: Vec3| Mat3::from_quat(Quat::from_rotation_arc(Vec3::Z, ray.normalize_or(Vec3::Z)));
        let mirror = if depth < 0.0 { Vec3::new(-1.0, -1.0, 1.0) } else { Vec3::ONE };
        let view_from_face = Mat3::from_diagonal(mirror) * along(fitted_ray).transpose() * fitted_from_face;
        let camera_from_face = along(true_ray) * view_from_face;

        // omote's axes: x to the person's left (right in the picture), y up, z out of the face (towards the camera).
        let ours_from_camera = Mat3::from_cols(-Vec3::Y, Vec3::X, -Vec3::Z);
        let face_from_ours = Mat3::from_diagonal(Vec3::new(-1.0, 1.0, 1.0));
        let rotation = Quat::from_mat3(&(ours_from_camera * camera_from_face * face_from_ours)).normalize();
        let position = ours_from_camera * (true_ray * depth.abs()) * Vec3::new(1.0, 1.0, -1.0) * METRES;
        (HeadPose::from_quat(rotation), position.clamp(Vec3::splat(-10.0), Vec3::splat(10.0)))
    }
}

/// Where the eyes look, from the lines through their centres; `None` where the tracker is not sure.
fn gaze(fields: &Fields<'_>, confidences: &[f32; POINTS]) -> Option<Gaze> {
    // On the wire y and z have the other sign than in face space, where x is to the person's right.
    let point = |i: usize| Vec3::from_array(fields.numbers(at::POINTS_3D + 12 * i)) * Vec3::new(-1.0, -1.0, -1.0);
    let mut sum = Gaze::default();
    let mut count = 0.0;
    for (target, center) in GAZE_POINTS {
        let line = point(target) - point(center);
        let is_sure = confidences.get(target).is_some_and(|c| *c >= GAZE_CONFIDENCE);
        if is_sure && line.is_finite() && line.z > 1e-4 && line.length() < 1e3 {
            sum.yaw += line.x.atan2(line.z);
            sum.pitch -= line.y.atan2(line.z);
            count += 1.0;
        }
    }
    (count > 0.0).then(|| Gaze { yaw: sum.yaw / count, pitch: sum.pitch / count })
}

fn broken(why: &'static str) -> PacketError {
    PacketError { protocol: "OpenSeeFace", why }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shapes::tests::assert_in_range;
    use super::*;

    /// Writes packets as the tracker does.
    struct Packet(Vec<u8>);

    impl Packet {
        /// A face that looks straight ahead: what the tracker's solver gives for one at (0, 0) in 640×480.
        fn new() -> Self {
            let mut packet = Self(vec![0; FACE_BYTES]);
            packet.put(at::SIZE, &[640.0, 480.0]);
            packet.put(at::RIGHT_OPEN, &[1.0, 1.0]);
            packet.0[at::SUCCESS] = 1;
            packet.put(at::ERROR, &[6.5]);
            packet.put(at::CONFIDENCE, &[0.9; POINTS]);
            packet.pose([0.7055, 0.701, 0.0017, -0.1039], [0.517, -0.527, -4.19])
        }

        fn put(&mut self, at: usize, values: &[f32]) {
            for (i, value) in values.iter().enumerate() {
                self.0[at + 4 * i..at + 4 * i + 4].copy_from_slice(&value.to_le_bytes());
            }
        }

        fn pose(mut self, quaternion: [f32; 4], translation: [f32; 3]) -> Self {
            self.put(at::QUATERNION, &quaternion);
            self.put(at::TRANSLATION, &translation);
            self
        }

        fn with(mut self, at: usize, values: &[f32]) -> Self {
            self.put(at, values);
            self
        }

        fn face(&self) -> FaceObservation {
            match OpenSeeFace::default().read(&self.0) {
                Ok(Seen::Face(seen, _)) => *seen,
                other => panic!("{other:?}"),
            }
        }
    }

    /// Quaternions and translations of the tracker's own solver (`cv2.solvePnP` from zeros, then frame to frame) for a
    /// head at (0, 0, 3) units whose angles are known.
    #[test]
    fn heads_come_out_as_they_were() {
        for (size, [yaw, pitch, roll], quaternion, translation) in [
            ([640.0, 480.0], [0.0, 0.0, 0.0], [0.7055, 0.701, 0.0017, -0.1039], [0.517, -0.527, -4.19]),
            ([640.0, 480.0], [25.0, 0.0, 0.0], [0.6975, 0.6512, -0.1386, -0.2651], [0.474, -0.475, -3.794]),
            ([640.0, 480.0], [0.0, -24.0, 0.0], [0.6788, 0.6941, 0.1125, -0.2115], [0.47, -0.519, -4.129]),
            ([640.0, 480.0], [0.0, 20.0, 0.0], [0.7137, 0.6935, -0.0988, -0.0017], [0.542, -0.521, -4.155]),
            ([640.0, 480.0], [0.0, 0.0, 20.0], [0.8161, 0.5686, 0.0179, -0.1014], [0.517, -0.523, -4.187]),
            ([640.0, 480.0], [-15.0, 8.0, -10.0], [0.617, 0.7824, 0.0741, 0.0406], [0.452, -0.451, -3.612]),
            ([640.0, 360.0], [0.0, 0.0, 0.0], [0.7023, 0.6905, -0.0036, -0.1732], [0.918, -0.932, -4.229]),
            ([640.0, 360.0], [25.0, 0.0, 0.0], [0.6918, 0.6287, -0.1375, -0.3274], [0.828, -0.829, -3.779]),
            ([640.0, 360.0], [0.0, 0.0, 20.0], [0.8107, 0.5601, 0.0259, -0.1685], [0.915, -0.924, -4.214]),
        ] {
            let head = Packet::new().with(at::SIZE, &size).pose(quaternion, translation).face().head;
            for (name, got, want) in [("yaw", head.yaw, yaw), ("pitch", head.pitch, pitch), ("roll", head.roll, roll)] {
                assert!(
                    (got.to_degrees() - want).abs() < 5.0,
                    "{name} of {yaw}, {pitch}, {roll}: {}",
                    got.to_degrees()
                );
            }
        }
    }

    #[test]
    fn a_head_that_moves_does_not_turn() {
        // 0.5 units to the person's left, then up: 8 cm of a face 14.5 cm wide.
        let left = Packet::new().pose([0.695, 0.6716, -0.1197, -0.2272], [0.508, -1.205, -4.105]).face();
        let up = Packet::new().pose([0.6886, 0.6875, 0.1048, -0.2053], [1.199, -0.527, -4.176]).face();
        assert!((left.position.x - 0.08).abs() < 0.005 && left.position.y.abs() < 0.005, "{}", left.position);
        assert!((up.position.y - 0.08).abs() < 0.005 && up.position.x.abs() < 0.005, "{}", up.position);
        assert!((left.position.z - 0.48).abs() < 0.02);
        for head in [left.head, up.head] {
            assert!(head.yaw.abs().max(head.pitch.abs()).max(head.roll.abs()).to_degrees() < 3.0, "{head:?}");
        }
    }

    #[test]
    fn lids_mouth_and_brows_are_the_persons() {
        let seen = Packet::new().with(at::RIGHT_OPEN, &[0.1, 0.95]).face();
        assert!(seen.lids.right == 1.0 && seen.lids.left == 0.0);
        let feature = |i: usize, value: f32| Packet::new().with(at::FEATURES + 4 * i, &[value]).face();
        assert_eq!(feature(MOUTH_OPEN, 0.8).mouth.open, 0.8);
        assert_eq!(feature(MOUTH_OPEN, -0.8).mouth.open, 0.0);
        assert_eq!(feature(MOUTH_WIDE, 1.0).mouth.width, 1.0);
        assert_eq!(feature(MOUTH_WIDE, -0.6).mouth.round, 0.6);
        assert_eq!(feature(CORNER_LEFT, -1.0).mouth.smile, 0.5, "corners count downwards");
        assert!(feature(BROW_LEFT, 0.7).brows.left == 0.7 && feature(BROW_LEFT, 0.7).brows.right == 0.0);
        assert_eq!(feature(BROW_RIGHT, -0.7).brows.right, -0.7);
    }

    #[test]
    fn gaze_is_the_line_through_the_eye() {
        let look = |x: f32, y: f32| {
            let mut packet = Packet::new();
            for (target, center) in GAZE_POINTS {
                packet.put(at::POINTS_3D + 12 * center, &[0.2, -0.3, 0.5]);
                // In face space z is out of the face and y up; the wire has both negated.
                packet.put(at::POINTS_3D + 12 * target, &[0.2 + x, -0.3 - y, 0.5 - 0.08]);
            }
            packet.face().gaze
        };
        let gaze = look(-0.02, 0.0);
        assert!((gaze.yaw.to_degrees() - 14.0).abs() < 0.5 && gaze.pitch.abs() < 1e-3, "own left: {gaze:?}");
        let gaze = look(0.0, -0.02);
        assert!((gaze.pitch.to_degrees() - 14.0).abs() < 0.5 && gaze.yaw.abs() < 1e-3, "down: {gaze:?}");
    }

    #[test]
    fn a_face_the_tracker_does_not_trust_is_no_face() {
        let mut failed = Packet::new().with(at::QUATERNION, &[f32::NAN; 4]);
        failed.0[at::SUCCESS] = 0;
        assert_eq!(OpenSeeFace::default().read(&failed.0), Ok(Seen::NoFace));
        for error in [9_999_999.0, f32::NAN, f32::INFINITY, -1.0] {
            assert_eq!(OpenSeeFace::default().read(&Packet::new().with(at::ERROR, &[error]).0), Ok(Seen::NoFace));
        }
        let (good, doubtful) = (Packet::new().face(), Packet::new().with(at::ERROR, &[200.0]).face());
        assert!(good.confidence > 0.85 && doubtful.confidence < 0.5);
    }

    #[test]
    fn the_face_that_was_followed_is_followed_on() {
        let face = |id: i32, open: f32, confidence: f32| {
            let mut packet = Packet::new().with(at::FEATURES + 4 * MOUTH_OPEN, &[open]);
            packet.put(at::CONFIDENCE, &[confidence; POINTS]);
            packet.0[at::ID..at::ID + 4].copy_from_slice(&id.to_le_bytes());
            packet.0
        };
        let mut tracker = OpenSeeFace::default();
        let mut open_of = |packet: &[u8]| match tracker.read(packet) {
            Ok(Seen::Face(seen, hints)) => (seen.mouth.open, hints.several_faces),
            other => panic!("{other:?}"),
        };
        assert_eq!(open_of(&face(3, 0.3, 0.6)), (0.3, false));
        let both = [face(1, 0.1, 0.9), face(3, 0.4, 0.5)].concat();
        assert_eq!(open_of(&both), (0.4, true), "not the surer stranger");
        assert_eq!(open_of(&face(1, 0.1, 0.9)), (0.1, false), "unless alone");
    }

    #[test]
    fn hostile_packets_are_refused() {
        let mut tracker = OpenSeeFace::default();
        let good = Packet::new().0;
        for length in [0, 1, 1784, 1786, 3569] {
            assert!(tracker.read(&vec![0; length]).is_err(), "{length}");
        }
        assert!(tracker.read(&good[..1784]).is_err());
        assert!(tracker.read(&vec![0xff; FACE_BYTES]).is_err());
        assert!(tracker.read(&vec![0; FACE_BYTES]).is_err(), "no picture is 0×0");
        for (at, value) in [
            (at::SIZE, f32::NAN),
            (at::QUATERNION, f32::INFINITY),
            (at::QUATERNION, 1e9),
            (at::TRANSLATION, f32::NAN),
            (at::TRANSLATION + 8, 0.0),
            (at::CONFIDENCE + 40, f32::NAN),
            (at::FEATURES, f32::NEG_INFINITY),
        ] {
            assert!(tracker.read(&Packet::new().with(at, &[value]).0).is_err(), "{value} at {at}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_of_the_right_length_are_refused_or_sane(bytes in prop::collection::vec(any::<u8>(), FACE_BYTES)) {
            if let Ok(Seen::Face(seen, _)) = OpenSeeFace::default().read(&bytes) {
                assert_in_range(&seen);
            }
        }

        #[test]
        fn mangled_packets_are_refused_or_sane(at in 12..440usize, value in any::<f32>(), ok in 0..=1u8) {
            let mut packet = Packet::new();
            packet.put(at * 4, &[value]);
            packet.0[at::SUCCESS] = ok;
            if let Ok(Seen::Face(seen, _)) = OpenSeeFace::default().read(&packet.0) {
                assert_in_range(&seen);
            }
        }
    }
}
