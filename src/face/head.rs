//! Where the head is and how it is turned: a weighted Procrustes fit of the canonical face to the landmarks under a
//! perspective camera, as MediaPipe's geometry pipeline does it – with one difference.
//!
//! The landmark network sees a crop and gives depth along the line of sight to the face. MediaPipe takes it for depth
//! along the camera's axis, which turns a head that merely moves to the side: drawn heads 10–20 cm off the axis came
//! out 5–13° wrong. Here the fit is made in the view of a camera that points at the face: 1–6° wrong, and the position
//! right to 5 mm instead of 30.
//!
//! Camera space: centimetres, x right in the picture, y up, z towards the camera's back, so the head is at negative z.
//! View space: the same, turned so that the middle of the face is straight ahead.
//! Head space: the canonical face's, centimetres, +X the person's left, +Y up, +Z out of the face. For a head that looks
//! straight along the camera's axis, camera and head space have the same axes.

use glam::{DMat3, DQuat, DVec3, Mat3, Quat, Vec2, Vec3};
use serde::Deserialize;

use crate::types::HeadPose;

use super::FaceError;
use super::mesh::MESH_COUNT;

/// The model's own file: vertices of the canonical face and the weights of those that move little with expressions.
const CANONICAL_JSON: &str = include_str!("../../models/face/canonical_face.json");

#[derive(Deserialize)]
struct CanonicalFile {
    vertices_xyz_cm: Vec<[f64; 3]>,
    procrustes_weights: std::collections::BTreeMap<usize, f64>,
}

/// A landmark that takes part in the fit.
#[derive(Clone, Copy)]
struct Anchor {
    landmark: usize,
    in_head_cm: DVec3,
    weight: f64,
}

/// Fits heads to landmarks.
pub(super) struct HeadSolver {
    anchors: Vec<Anchor>,
}

/// A fitted head.
#[derive(Clone, Copy, Debug)]
pub(super) struct Head {
    pub pose: HeadPose,
    /// Metres: x to the person's left, y up, z away from the camera.
    pub position: Vec3,
    /// Cosine of the angle between where the face points and where the camera is from there.
    pub facing: f32,
    projection: Projection,
    head_from_view: Mat3,
    origin_in_view_cm: Vec3,
}

/// From pixels to view space.
#[derive(Clone, Copy, Debug)]
struct Projection {
    center_px: Vec2,
    unit_per_px: f32,
    view_from_camera: Quat,
    /// What a pixel of depth is worth: the picture is stretched away from its middle, depth is not.
    depth_per_px: f32,
    mean_depth_px: f32,
    scale: f32,
}

impl Projection {
    /// A landmark in view space; needs the scale.
    fn to_view_cm(self, landmark_px: Vec3) -> Vec3 {
        let flat = self.flat(landmark_px);
        let distance = (1.0 - flat.z) / self.scale;
        Vec3::new(flat.x * distance, flat.y * distance, -distance)
    }

    /// A landmark on the view's plane at distance 1, with its relative depth in the same unit, nearer ones positive.
    fn flat(self, landmark_px: Vec3) -> Vec3 {
        let ray = self.view_from_camera * ray_in_camera(landmark_px.truncate() - self.center_px, self.unit_per_px);
        (ray.truncate() / -ray.z).extend((self.mean_depth_px - landmark_px.z) * self.depth_per_px)
    }
}

/// The direction of a pixel, at distance 1 along the camera's axis.
fn ray_in_camera(from_center_px: Vec2, unit_per_px: f32) -> Vec3 {
    (from_center_px * Vec2::new(1.0, -1.0) * unit_per_px).extend(-1.0)
}

impl HeadSolver {
    pub fn load() -> Result<Self, FaceError> {
        let error = |why: String| FaceError::Model { name: "canonical_face".to_owned(), why };
        let file: CanonicalFile = serde_json::from_str(CANONICAL_JSON).map_err(|why| error(why.to_string()))?;
        let anchor = |(&landmark, &weight): (&usize, &f64)| {
            let in_head_cm = DVec3::from_array(*file.vertices_xyz_cm.get(landmark)?);
            (in_head_cm.is_finite() && weight > 0.0).then_some(Anchor { landmark, in_head_cm, weight })
        };
        let anchors: Option<Vec<_>> = file.procrustes_weights.iter().map(anchor).collect();
        match anchors {
            Some(anchors) if anchors.len() >= 3 => Ok(Self { anchors }),
            _ => Err(error("its weights do not fit its vertices".to_owned())),
        }
    }

    /// The head behind these landmarks in a picture of this size, for a camera with this vertical field of view.
    /// `None` if they make no head.
    pub fn solve(&self, landmarks_px: &[Vec3], width: usize, height: usize, fov_rad: f32) -> Option<Head> {
        let mesh = landmarks_px.get(..MESH_COUNT)?;
        let middle_px = mesh.iter().sum::<Vec3>().truncate() / MESH_COUNT as f32;
        let size_px = Vec2::new(width as f32, height as f32);
        let sight = ray_in_camera(middle_px - size_px / 2.0, unit_per_px(size_px, fov_rad)).try_normalize()?;
        self.solve_along(sight, mesh, size_px, fov_rad)
    }

    /// The head as MediaPipe fits it, depth taken along the camera's axis: for comparisons. A head that moves to the
    /// side seems to turn here; nothing that users see is made of it.
    pub fn solve_on_axis(&self, landmarks_px: &[Vec3], width: usize, height: usize, fov_rad: f32) -> Option<Head> {
        let mesh = landmarks_px.get(..MESH_COUNT)?;
        self.solve_along(Vec3::NEG_Z, mesh, Vec2::new(width as f32, height as f32), fov_rad)
    }

    /// The head, seen by a camera turned to look along `sight`.
    fn solve_along(&self, sight: Vec3, mesh: &[Vec3], size_px: Vec2, fov_rad: f32) -> Option<Head> {
        let camera_from_view = Quat::from_rotation_arc(Vec3::NEG_Z, sight);
        let unit_per_px = unit_per_px(size_px, fov_rad);
        let mut projection = Projection {
            center_px: size_px / 2.0,
            unit_per_px,
            view_from_camera: camera_from_view.inverse(),
            depth_per_px: unit_per_px * -sight.z,
            mean_depth_px: mesh.iter().map(|p| p.z).sum::<f32>() / mesh.len() as f32,
            scale: 1.0,
        };
        // The depth is relative, so the scale has to be known before anything can be unprojected: first roughly from
        // the flat landmarks, then from the unprojected ones.
        let rough = self.fit(mesh, |p| projection.flat(p))?.scale;
        projection.scale = rough as f32;
        let fine = self.fit(mesh, |p| projection.to_view_cm(p))?.scale;
        projection.scale = (rough * fine) as f32;
        let fit = self.fit(mesh, |p| projection.to_view_cm(p))?;

        let rotation = fit.rotation.as_quat();
        let origin_in_view_cm = fit.translation.as_vec3();
        let toward_camera = (-origin_in_view_cm).try_normalize()?;
        let head = Head {
            pose: HeadPose::from_quat(camera_from_view * rotation),
            position: camera_from_view * origin_in_view_cm * Vec3::new(0.01, 0.01, -0.01),
            facing: (rotation * Vec3::Z).dot(toward_camera),
            projection,
            head_from_view: Mat3::from_quat(rotation.inverse()) * (1.0 / fit.scale as f32),
            origin_in_view_cm,
        };
        head.is_finite().then_some(head)
    }

    /// The similarity that brings the anchors' places in head space closest to where `place` puts their landmarks.
    fn fit(&self, landmarks_px: &[Vec3], place: impl Fn(Vec3) -> Vec3) -> Option<Similarity> {
        let pairs = self.anchors.iter().map(|anchor| {
            let target = landmarks_px.get(anchor.landmark).copied().unwrap_or(Vec3::NAN);
            Pair { source: anchor.in_head_cm, target: place(target).as_dvec3(), weight: anchor.weight }
        });
        Similarity::fit(pairs)
    }
}

impl Head {
    /// A landmark of this face in head space, as large as the canonical face, centimetres.
    pub fn in_head_cm(&self, landmark_px: Vec3) -> Vec3 {
        self.head_from_view * (self.projection.to_view_cm(landmark_px) - self.origin_in_view_cm)
    }

    fn is_finite(&self) -> bool {
        let HeadPose { yaw, pitch, roll } = self.pose;
        [yaw, pitch, roll, self.facing].iter().all(|v| v.is_finite())
            && self.position.is_finite()
            && self.head_from_view.is_finite()
    }
}

/// The size of a pixel on the plane at distance 1.
fn unit_per_px(size_px: Vec2, fov_rad: f32) -> f32 {
    2.0 * (fov_rad / 2.0).tan() / size_px.y
}

#[derive(Clone, Copy)]
struct Pair {
    source: DVec3,
    target: DVec3,
    weight: f64,
}

/// `target ≈ scale · rotation · source + translation`.
#[derive(Clone, Copy, Debug)]
struct Similarity {
    rotation: DQuat,
    scale: f64,
    translation: DVec3,
}

impl Similarity {
    /// The weighted least-squares fit (Horn 1987: the rotation is the eigenvector of a 4×4 matrix). `None` for broken
    /// or degenerate points.
    fn fit(pairs: impl Iterator<Item = Pair> + Clone) -> Option<Self> {
        let total: f64 = pairs.clone().map(|p| p.weight).sum();
        let mean_source = pairs.clone().map(|p| p.source * p.weight).sum::<DVec3>() / total;
        let mean_target = pairs.clone().map(|p| p.target * p.weight).sum::<DVec3>() / total;
        // Rows by source axis, columns by target axis.
        let mut covariance = DMat3::ZERO;
        let mut spread = 0.0;
        for pair in pairs {
            let (source, target) = (pair.source - mean_source, (pair.target - mean_target) * pair.weight);
            covariance += DMat3::from_cols(source * target.x, source * target.y, source * target.z);
            spread += source.length_squared() * pair.weight;
        }
        if !covariance.is_finite() || spread <= 0.0 {
            return None;
        }
        let rotation = rotation_from_covariance(covariance);
        let rotated = DMat3::from_quat(rotation);
        let agreement: f64 = (0..3).map(|axis| rotated.row(axis).dot(covariance.col(axis))).sum();
        let scale = agreement / spread;
        if !(scale.is_finite() && scale > 1e-9) {
            return None;
        }
        Some(Self { rotation, scale, translation: mean_target - rotation * mean_source * scale })
    }
}

/// The rotation that turns the sources onto the targets best, from `Σ source · targetᵀ`.
fn rotation_from_covariance(s: DMat3) -> DQuat {
    // `at(i, j)`: source axis i, target axis j.
    let at = |i: usize, j: usize| s.col(j)[i];
    let (xx, yy, zz) = (at(0, 0), at(1, 1), at(2, 2));
    let (xy, yx, yz, zy, zx, xz) = (at(0, 1), at(1, 0), at(1, 2), at(2, 1), at(2, 0), at(0, 2));
    let symmetric = [
        [xx + yy + zz, yz - zy, zx - xz, xy - yx],
        [yz - zy, xx - yy - zz, xy + yx, zx + xz],
        [zx - xz, xy + yx, yy - xx - zz, yz + zy],
        [xy - yx, zx + xz, yz + zy, zz - xx - yy],
    ];
    let [w, x, y, z] = largest_eigenvector(symmetric);
    let quat = DQuat::from_xyzw(x, y, z, w);
    if quat.length_squared() > 0.0 { quat.normalize() } else { DQuat::IDENTITY }
}

/// The eigenvector of the largest eigenvalue of a symmetric matrix, by cyclic Jacobi rotations.
fn largest_eigenvector(mut a: [[f64; 4]; 4]) -> [f64; 4] {
    /// Jacobi converges quadratically; a 4×4 matrix is done after five or six sweeps.
    const SWEEPS: usize = 12;
    let mut vectors = [[0.0; 4]; 4];
    for (i, row) in vectors.iter_mut().enumerate() {
        row[i] = 1.0;
    }
    for _ in 0..SWEEPS {
        for p in 0..3 {
            for q in p + 1..4 {
                if a[p][q].abs() < 1e-300 {
                    continue;
                }
                let theta = (a[q][q] - a[p][p]) / (2.0 * a[p][q]);
                let t = if theta >= 0.0 { 1.0 } else { -1.0 } / (theta.abs() + theta.hypot(1.0));
                let (c, s) = (1.0 / t.hypot(1.0), t / t.hypot(1.0));
                for row in &mut a {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
                let (row_p, row_q) = (a[p], a[q]);
                a[p] = std::array::from_fn(|k| c * row_p[k] - s * row_q[k]);
                a[q] = std::array::from_fn(|k| s * row_p[k] + c * row_q[k]);
                for row in &mut vectors {
                    (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
                }
            }
        }
    }
    let largest = (0..4).max_by(|&i, &j| a[i][i].total_cmp(&a[j][j])).unwrap_or(0);
    vectors.map(|row| row[largest])
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(in crate::face) const FOV_RAD: f32 = 63.0 * std::f32::consts::PI / 180.0;

    /// The canonical face, held before a camera: landmarks in pixels of a 640×480 picture.
    pub(in crate::face) fn project(pose: HeadPose, position_m: Vec3) -> Vec<Vec3> {
        let file: CanonicalFile = serde_json::from_str(CANONICAL_JSON).unwrap();
        let px_per_unit = 480.0 / (2.0 * (FOV_RAD / 2.0).tan());
        let origin = position_m * Vec3::new(100.0, 100.0, -100.0);
        let camera: Vec<Vec3> =
            file.vertices_xyz_cm.iter().map(|&v| pose.to_quat() * DVec3::from_array(v).as_vec3() + origin).collect();
        // The network's depth: along the line of sight, relative, in pixels at the face's mean distance.
        let sight = (camera.iter().sum::<Vec3>() / camera.len() as f32).normalize_or_zero();
        let distance = camera.iter().map(|p| p.dot(sight)).sum::<f32>() / camera.len() as f32;
        let depth_per_cm = px_per_unit / distance / -sight.z;
        let mut landmarks: Vec<Vec3> = camera
            .iter()
            .map(|p| {
                let at = p.truncate() / -p.z * px_per_unit;
                Vec3::new(320.0 + at.x, 240.0 - at.y, (p.dot(sight) - distance) * depth_per_cm)
            })
            .collect();
        landmarks.resize(super::super::mesh::LANDMARK_COUNT, Vec3::ZERO);
        landmarks
    }

    proptest! {
        #[test]
        fn a_known_head_is_found_again(
            yaw in -0.8f32..0.8,
            pitch in -0.6f32..0.6,
            roll in -0.6f32..0.6,
            x in -0.15f32..0.15,
            y in -0.1f32..0.1,
            z in 0.35f32..1.2,
        ) {
            let (pose, position) = (HeadPose { yaw, pitch, roll }, Vec3::new(x, y, z));
            let head = HeadSolver::load().unwrap().solve(&project(pose, position), 640, 480, FOV_RAD).unwrap();
            let angle = head.pose.to_quat().angle_between(pose.to_quat()).to_degrees();
            prop_assert!(angle < 1.0, "{angle}° off: {:?}", head.pose);
            prop_assert!(head.position.distance(position) < 0.02 * z, "{} instead of {position}", head.position);
        }

        #[test]
        fn no_numbers_make_it_panic_or_give_nan(seed in any::<u64>(), scale in prop_oneof![Just(0.0f32), Just(1.0), Just(1e30)]) {
            let mut rng = crate::signal::Rng::new(seed);
            let landmarks: Vec<Vec3> =
                (0..478).map(|_| Vec3::new(rng.normal(), rng.normal(), rng.normal()) * scale).collect();
            if let Some(head) = HeadSolver::load().unwrap().solve(&landmarks, 640, 480, FOV_RAD) {
                prop_assert!(head.is_finite());
            }
        }
    }

    /// Along the camera's axis it must be MediaPipe's own answer, to the last digits of the stored numbers.
    #[test]
    fn along_the_cameras_axis_it_is_mediapipes_answer() {
        let text = include_str!("../../tests/data/face/astronaut.mediapipe.json");
        let json: serde_json::Value = serde_json::from_str(text).unwrap();
        let number = |value: &serde_json::Value| value.as_f64().unwrap() as f32;
        let landmarks: Vec<Vec3> = json["landmarks_normalized"]
            .as_array()
            .unwrap()
            .iter()
            .map(|p| Vec3::from_array([0, 1, 2].map(|i| number(&p[i]))) * 512.0)
            .collect();
        let head = HeadSolver::load()
            .unwrap()
            .solve_along(Vec3::NEG_Z, &landmarks[..MESH_COUNT], Vec2::splat(512.0), FOV_RAD)
            .unwrap();
        let column = |j: usize| Vec3::from_array([0, 1, 2].map(|i| number(&json["matrix_cm"][i][j])));
        let rotation = Quat::from_mat3(&Mat3::from_cols(column(0), column(1), column(2)));
        let angle = head.pose.to_quat().angle_between(rotation).to_degrees();
        assert!(angle < 0.1, "{angle}°");
        assert!((head.position * Vec3::new(100.0, 100.0, -100.0)).distance(column(3)) < 0.05, "{}", head.position);
    }

    #[test]
    fn the_signs_are_the_contracts() {
        let solver = HeadSolver::load().unwrap();
        let position = Vec3::new(0.1, 0.05, 0.6);
        let pose = HeadPose { yaw: 0.3, pitch: 0.2, roll: 0.1 };
        let landmarks = project(pose, position);
        // Own left and lower in the picture: the tip of the nose against the middle of the eyes' outer corners.
        let nose_to_eyes = landmarks[4] - (landmarks[33] + landmarks[263]) / 2.0;
        assert!(nose_to_eyes.x > 0.0, "turned to the own left is to the right in an unflipped picture");
        assert!(landmarks[263].y > landmarks[33].y, "tilted to the own left brings the left eye down");
        let head = solver.solve(&landmarks, 640, 480, FOV_RAD).unwrap();
        assert!(head.pose.yaw > 0.25 && head.pose.pitch > 0.15 && head.pose.roll > 0.05, "{:?}", head.pose);
        assert!(head.position.x > 0.0 && head.position.y > 0.0 && head.position.z > 0.0);
        let nose = head.in_head_cm(landmarks[4]);
        assert!(nose.distance(Vec3::new(0.0, -0.46, 7.59)) < 0.4, "{nose}");
    }

    #[test]
    fn too_few_landmarks_make_no_head() {
        let solver = HeadSolver::load().unwrap();
        assert!(solver.solve(&[Vec3::ONE; 100], 640, 480, FOV_RAD).is_none());
        assert!(solver.solve(&[Vec3::NAN; 478], 640, 480, FOV_RAD).is_none());
    }
}
