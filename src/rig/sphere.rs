//! Weights on the sphere of view directions: a triangulation of all correction points and their barycentric coordinates.
//!
//! The points are vertices of their convex hull, so its faces are the spherical Delaunay triangulation. A direction hits
//! one flat face; the barycentric coordinates of the hit are the weights: 1 at the own point, 0 at all others, sum 1, and
//! continuous everywhere, the edges, the poles and α = ±180° included.
//!
//! The hull must contain the origin. Where the given points do not span it (none, one, or all on one side), neutral helper
//! points are put in the main directions that have no point nearby; their weight counts as `back`.

use glam::{DMat3, DVec3, Vec3};

use super::view::ViewDirection;

/// Points closer than this are one point: the first has the weight.
const SAME_POINT_RAD: f64 = 0.017;
/// A helper is not needed where a real point is this near.
const HELPER_DISTANCE_RAD: f64 = 0.5;
/// Every face of the hull stays this far from the origin, or helpers are added.
const MIN_FACE_DISTANCE: f64 = 0.1;
/// Moves points a little to decide the triangulation of flat facets; far below what can be seen, far above rounding.
const PERTURBATION: f64 = 1e-6;

/// The triangulated sphere of one set of correction points.
#[derive(Clone, Debug)]
pub struct SphereWeights {
    point_count: usize,
    faces: Vec<Face>,
}

#[derive(Clone, Debug)]
struct Face {
    /// Which weight each corner adds to.
    owners: [usize; 3],
    /// From a direction to its coordinates in the three corners.
    inverse: DMat3,
}

struct Vertex {
    direction: DVec3,
    owner: usize,
}

impl SphereWeights {
    /// Triangulates the points (α, β in radians); the neutral point behind the head is added.
    pub fn new(points: &[(f32, f32)]) -> Self {
        let back = points.len();
        let mut vertices = vec![Vertex { direction: DVec3::NEG_Z, owner: back }];
        for (owner, (alpha, beta)) in points.iter().enumerate() {
            let direction = ViewDirection { alpha: *alpha, beta: *beta }.to_vec3().as_dvec3().normalize_or_zero();
            let is_new = direction != DVec3::ZERO
                && vertices.iter().all(|v| v.direction.angle_between(direction) > SAME_POINT_RAD);
            if is_new {
                vertices.push(Vertex { direction, owner });
            }
        }
        let faces = triangulate(&vertices).unwrap_or_else(|| {
            for direction in [DVec3::Z, DVec3::X, DVec3::NEG_X, DVec3::Y, DVec3::NEG_Y] {
                if vertices.iter().all(|v| v.direction.angle_between(direction) > HELPER_DISTANCE_RAD) {
                    vertices.push(Vertex { direction, owner: back });
                }
            }
            triangulate(&vertices).unwrap_or_default()
        });
        Self { point_count: points.len(), faces }
    }

    /// The weights of a direction (any length), by point, then `back`; they sum to 1. Shorter output gets the first ones.
    pub fn weights(&self, direction: Vec3, out: &mut [f32]) {
        out.fill(0.0);
        let direction = direction.as_dvec3().normalize_or(DVec3::Z);
        let mut best: Option<(f64, DVec3, [usize; 3])> = None;
        for face in &self.faces {
            let corners = face.inverse * direction;
            let sum = corners.x + corners.y + corners.z;
            if sum <= 0.0 {
                continue;
            }
            let corners = corners / sum;
            let inside = corners.min_element();
            if best.is_none_or(|(least, ..)| inside > least) {
                best = Some((inside, corners, face.owners));
            }
        }
        let Some((_, corners, owners)) = best else {
            if let Some(back) = out.get_mut(self.point_count) {
                *back = 1.0;
            }
            return;
        };
        // On an edge one coordinate may be a rounding below zero.
        let corners = corners.max(DVec3::ZERO);
        let sum = corners.x + corners.y + corners.z;
        for (owner, weight) in owners.into_iter().zip(corners.to_array()) {
            if let Some(slot) = out.get_mut(owner) {
                *slot += (weight / sum) as f32;
            }
        }
    }
}

/// The faces of the convex hull; `None` where it does not contain the origin with some room.
fn triangulate(vertices: &[Vertex]) -> Option<Vec<Face>> {
    let moved: Vec<DVec3> = vertices
        .iter()
        .enumerate()
        .map(|(i, v)| (v.direction + jitter(i) * PERTURBATION).normalize_or_zero())
        .collect();
    let mut faces = Vec::new();
    for (i, a) in moved.iter().enumerate() {
        for (j, b) in moved.iter().enumerate().skip(i + 1) {
            for (k, c) in moved.iter().enumerate().skip(j + 1) {
                let normal = (*b - *a).cross(*c - *a);
                let outwards = normal * normal.dot(*a).signum();
                let is_outside =
                    |(other, p): (usize, &DVec3)| other != i && other != j && other != k && outwards.dot(*p - *a) > 0.0;
                if moved.iter().enumerate().any(is_outside) {
                    continue;
                }
                if outwards.normalize_or_zero().dot(*a) < MIN_FACE_DISTANCE {
                    return None;
                }
                let corner = |index: usize| vertices.get(index);
                let (va, vb, vc) = (corner(i)?, corner(j)?, corner(k)?);
                let inverse = DMat3::from_cols(va.direction, vb.direction, vc.direction).inverse();
                faces.push(Face { owners: [va.owner, vb.owner, vc.owner], inverse });
            }
        }
    }
    // A closed triangulated sphere has 2n - 4 faces; anything else does not surround the origin.
    (vertices.len() >= 4 && faces.len() == 2 * vertices.len() - 4).then_some(faces)
}

/// A fixed pseudo-random vector for each index, so that no four points lie in one plane.
fn jitter(index: usize) -> DVec3 {
    let component = |salt: f64| {
        let x = ((index as f64 + 1.0) * 12.9898 + salt * 78.233).sin() * 43_758.545_3;
        2.0 * (x - x.floor()) - 1.0
    };
    DVec3::new(component(1.0), component(2.0), component(3.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const DEFAULT: [(f32, f32); 7] =
        [(0.0, 0.0), (75.0, 0.0), (-75.0, 0.0), (0.0, 50.0), (0.0, -50.0), (50.0, -40.0), (-50.0, -40.0)];

    fn sphere(degrees: &[(f32, f32)]) -> SphereWeights {
        let points: Vec<(f32, f32)> = degrees.iter().map(|(a, b)| (a.to_radians(), b.to_radians())).collect();
        SphereWeights::new(&points)
    }

    fn at(sphere: &SphereWeights, alpha: f32, beta: f32) -> Vec<f32> {
        let mut out = vec![0.0; sphere.point_count + 1];
        let direction = ViewDirection { alpha: alpha.to_radians(), beta: beta.to_radians() };
        sphere.weights(direction.to_vec3(), &mut out);
        out
    }

    #[test]
    fn each_point_has_itself_alone() {
        let sphere = sphere(&DEFAULT);
        for (index, (alpha, beta)) in DEFAULT.into_iter().chain([(180.0, 0.0)]).enumerate() {
            for (other, weight) in at(&sphere, alpha, beta).into_iter().enumerate() {
                let expected = if other == index { 1.0 } else { 0.0 };
                assert!((weight - expected).abs() < 1e-5, "point {index}: {other} has {weight}");
            }
        }
    }

    #[test]
    fn between_front_and_left_only_those_two_play() {
        let weights = at(&sphere(&DEFAULT), 37.5, 0.0);
        assert!((weights[0] - 0.5).abs() < 1e-3 && (weights[1] - 0.5).abs() < 1e-3, "{weights:?}");
    }

    #[test]
    fn the_sides_mirror_each_other() {
        let sphere = sphere(&DEFAULT);
        for (alpha, beta) in [(20.0, 10.0), (60.0, -30.0), (120.0, 40.0), (10.0, 80.0)] {
            let (l, r) = (at(&sphere, alpha, beta), at(&sphere, -alpha, beta));
            let mirrored = [r[0], r[2], r[1], r[3], r[4], r[6], r[5], r[7]];
            assert!(l.iter().zip(mirrored).all(|(a, b)| (a - b).abs() < 1e-4), "{l:?} {mirrored:?}");
        }
    }

    #[test]
    fn poles_and_the_seam_behind_are_not_special() {
        let sphere = sphere(&DEFAULT);
        for (a, b) in [((180.0, 20.0), (-180.0, 20.0)), ((0.0, 90.0), (123.0, 90.0)), ((50.0, -90.0), (-70.0, -90.0))] {
            let (a, b) = (at(&sphere, a.0, a.1), at(&sphere, b.0, b.1));
            assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 1e-4), "{a:?} {b:?}");
        }
    }

    #[test]
    fn small_and_flat_sets_work() {
        let sets: [&[(f32, f32)]; 7] = [
            &[],
            &[(75.0, 0.0)],
            &[(75.0, 0.0), (-75.0, 0.0)],
            &[(0.0, 0.0), (90.0, 0.0), (-90.0, 0.0)],
            &[(0.0, 50.0), (0.0, -50.0), (0.0, 0.0)],
            // A cube: every facet is flat with four corners.
            &[
                (45.0, 35.264),
                (-45.0, 35.264),
                (135.0, 35.264),
                (-135.0, 35.264),
                (45.0, -35.264),
                (-45.0, -35.264),
                (135.0, -35.264),
                (-135.0, -35.264),
            ],
            // Twice the same point and one on `back`.
            &[(30.0, 10.0), (30.0, 10.0), (180.0, 0.0)],
        ];
        for set in sets {
            let sphere = sphere(set);
            assert!(!sphere.faces.is_empty(), "{set:?}");
            for alpha in (-180..=180).step_by(15) {
                for beta in (-90..=90).step_by(15) {
                    let weights = at(&sphere, alpha as f32, beta as f32);
                    assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-5, "{set:?} {alpha} {beta} {weights:?}");
                }
            }
        }
        assert_eq!(at(&sphere(&[]), 12.0, 34.0), [1.0]);
        let one = sphere(&[(75.0, 0.0)]);
        assert!((at(&one, 75.0, 0.0)[0] - 1.0).abs() < 1e-5);
        // Alone, a side correction is off in front and behind.
        assert!(at(&one, 0.0, 0.0)[0] < 1e-5 && at(&one, 180.0, 0.0)[0] < 1e-5);
    }

    fn any_points() -> impl Strategy<Value = Vec<(f32, f32)>> {
        prop::collection::vec((-180.0_f32..180.0, -90.0_f32..90.0), 0..12)
    }

    proptest! {
        #[test]
        fn weights_are_shares(points in any_points(), alpha in -180.0_f32..180.0, beta in -90.0_f32..90.0) {
            let weights = at(&sphere(&points), alpha, beta);
            prop_assert!(weights.iter().all(|w| (0.0..=1.0001).contains(w)));
            prop_assert!((weights.iter().sum::<f32>() - 1.0).abs() < 1e-4);
        }

        #[test]
        fn own_point_is_one(points in any_points()) {
            let sphere = sphere(&points);
            for (index, (alpha, beta)) in points.iter().enumerate() {
                let direction = |a: f32, b: f32| ViewDirection { alpha: a.to_radians(), beta: b.to_radians() }.to_vec3();
                let own = direction(*alpha, *beta);
                let is_apart = |p: &Vec3| p.angle_between(own) > 0.035;
                let others = points.iter().enumerate().filter(|(i, _)| *i != index).map(|(_, (a, b))| direction(*a, *b));
                if others.chain([Vec3::NEG_Z]).all(|p| is_apart(&p)) {
                    let weights = at(&sphere, *alpha, *beta);
                    prop_assert!((weights[index] - 1.0).abs() < 1e-3, "{:?}", weights);
                }
            }
        }

        /// A step of 0.01° never changes a weight by more than the steepest slope between points 2° apart allows.
        #[test]
        fn weights_are_continuous(alpha in -180.0_f32..180.0, beta in -89.0_f32..89.0, turn in 0.0_f32..std::f32::consts::TAU) {
            let sphere = sphere(&DEFAULT);
            let (a, b) = (at(&sphere, alpha, beta), at(&sphere, alpha + 0.01 * turn.cos(), beta + 0.01 * turn.sin()));
            prop_assert!(a.iter().zip(&b).all(|(x, y)| (x - y).abs() < 0.002), "{:?} {:?}", a, b);
        }
    }
}
