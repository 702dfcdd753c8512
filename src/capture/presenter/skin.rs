//! The face's skin: the canonical face mesh, closed at the lips and carried on over the sides of the head, and how
//! jaw, lips, lids and brows move it.
//!
//! Space: the head's own frame in centimetres, origin between the ears, +x the person's left, +y up, +z to the front.

use glam::Vec3;
use serde::Deserialize;

use super::mesh::Smoother;
use super::pose::PresenterPose;

/// MediaPipe's canonical face model (Apache-2.0, see assets/presenter/LICENSE.face.md).
const CANONICAL_FACE: &str = include_str!("../../../assets/presenter/canonical_face.json");
const FACE_POINTS: usize = 468;
/// Rings of skin that carry the face's outline on to the sides of the head.
const SIDE_RINGS: usize = 3;
/// How far the jaw turns when it is fully open.
const JAW_OPEN_RAD: f32 = 0.47;
/// The jaw's hinge, near the ears.
const JAW_HINGE: Vec3 = Vec3::new(0.0, 1.0, -3.0);
/// How high above the lowest point of the eye's opening a closed upper lid stops, as a share of the opening.
const LID_MEETS: f32 = 0.02;

pub(super) const OUTER_LIPS: [usize; 20] =
    [61, 146, 91, 181, 84, 17, 314, 405, 321, 375, 291, 409, 270, 269, 267, 0, 37, 39, 40, 185];
pub(super) const INNER_UPPER: [usize; 11] = [78, 191, 80, 81, 82, 13, 312, 311, 310, 415, 308];
pub(super) const INNER_LOWER: [usize; 11] = [78, 95, 88, 178, 87, 14, 317, 402, 318, 324, 308];
/// Rings of the lips from the inner edge outwards.
const UPPER_RINGS: [[usize; 9]; 2] =
    [[183, 42, 41, 38, 12, 268, 271, 272, 407], [184, 74, 73, 72, 11, 302, 303, 304, 408]];
const LOWER_RINGS: [[usize; 9]; 2] =
    [[96, 89, 179, 86, 15, 316, 403, 319, 325], [77, 90, 180, 85, 16, 315, 404, 320, 307]];
const LOWER_OUTER: [usize; 9] = [146, 91, 181, 84, 17, 314, 405, 321, 375];
const CORNERS: [usize; 8] = [61, 291, 78, 308, 76, 306, 62, 292];
const OVAL: [usize; 36] = [
    10, 338, 297, 332, 284, 251, 389, 356, 454, 323, 361, 288, 397, 365, 379, 378, 400, 377, 152, 148, 176, 149, 150,
    136, 172, 58, 132, 93, 234, 127, 162, 21, 54, 103, 67, 109,
];

/// The points of one eye and its brow.
pub(super) struct EyePoints {
    /// -1 the person's right, 1 the left.
    pub side: f32,
    /// The upper edge of the opening from the outer to the inner corner.
    pub upper: [usize; 9],
    /// The lower edge, likewise.
    pub lower: [usize; 9],
    /// The crease above the upper lid, from outside inwards.
    crease: [usize; 7],
    /// The brow's upper edge from outside inwards, then its lower edge back.
    pub brow: [usize; 10],
}

pub(super) const EYES: [EyePoints; 2] = [
    EyePoints {
        side: -1.0,
        upper: [33, 246, 161, 160, 159, 158, 157, 173, 133],
        lower: [33, 7, 163, 144, 145, 153, 154, 155, 133],
        crease: [247, 30, 29, 27, 28, 56, 190],
        brow: [70, 63, 105, 66, 107, 55, 65, 52, 53, 46],
    },
    EyePoints {
        side: 1.0,
        upper: [263, 466, 388, 387, 386, 385, 384, 398, 362],
        lower: [263, 249, 390, 373, 374, 380, 381, 382, 362],
        crease: [467, 260, 259, 257, 258, 286, 414],
        brow: [300, 293, 334, 296, 336, 285, 295, 282, 283, 276],
    },
];

#[derive(Deserialize)]
struct CanonicalFace {
    vertices: Vec<[f32; 3]>,
    triangles: Vec<u32>,
}

/// An eyeball in the head's frame.
#[derive(Clone, Copy, Debug)]
pub(super) struct Eyeball {
    pub center: Vec3,
    /// Sideways, up, forward.
    pub radii: Vec3,
}

/// How much one coarse point takes part in each movement.
#[derive(Clone, Copy, Default)]
struct Share {
    jaw: f32,
    pucker: f32,
    smile: [f32; 2],
    cheek: [f32; 2],
    spread: f32,
    brow: [f32; 2],
}

/// The skin at rest and how it moves.
pub(super) struct Skin {
    rest: Vec<Vec3>,
    shares: Vec<Share>,
    pub smoother: Smoother,
    /// Fine corners that may lie over an eyeball: which eye.
    over_eye: Vec<(usize, usize)>,
    pub eyeballs: [Eyeball; 2],
    /// The hole of each eye, as triangles of coarse points.
    pub eye_holes: [Vec<[u32; 3]>; 2],
}

fn bump(distance: f32, radius: f32) -> f32 {
    (-(distance / radius) * (distance / radius)).exp()
}

fn ramp(x: f32) -> f32 {
    let t = x.clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

impl Skin {
    /// The skin at rest, `levels` times subdivided.
    pub fn new(levels: usize) -> Option<Self> {
        let face: CanonicalFace = serde_json::from_str(CANONICAL_FACE).ok()?;
        if face.vertices.len() != FACE_POINTS || face.triangles.iter().any(|i| *i as usize >= FACE_POINTS) {
            return None;
        }
        let mut rest: Vec<Vec3> = face.vertices.into_iter().map(Vec3::from).collect();
        close_lips(&mut rest);
        give_character(&mut rest);
        let is_hole = |t: &[u32; 3], upper: &[usize], lower: &[usize]| {
            t.iter().all(|i| upper.contains(&(*i as usize)) || lower.contains(&(*i as usize)))
        };
        let mut eye_holes = [Vec::new(), Vec::new()];
        let mut triangles = Vec::new();
        for t in face.triangles.as_chunks::<3>().0 {
            if let Some(eye) = EYES.iter().position(|e| is_hole(t, &e.upper, &e.lower)) {
                eye_holes[eye].push(*t);
            } else if !is_hole(t, &INNER_UPPER, &INNER_LOWER) {
                triangles.push(*t);
            }
        }
        add_sides(&mut rest, &mut triangles);
        let smoother = Smoother::new(rest.len(), &triangles, levels);
        let shares = (0..rest.len()).map(|i| share_of(&rest, i)).collect();
        let eyeballs = [eyeball(&rest, &EYES[0]), eyeball(&rest, &EYES[1])];
        let mut fine = Vec::new();
        smoother.apply(&rest, &mut fine);
        let over_eye = fine
            .iter()
            .enumerate()
            .filter_map(|(i, p)| {
                let eye = usize::from(p.x > 0.0);
                let d = *p - eyeballs[eye].center;
                (d.x.abs() < 1.9 && d.y.abs() < 1.6 && d.z > 0.0).then_some((i, eye))
            })
            .collect();
        Some(Self { rest, shares, smoother, over_eye, eyeballs, eye_holes })
    }

    /// The coarse points at rest.
    pub fn rest(&self) -> &[Vec3] {
        &self.rest
    }

    /// The coarse points in this pose.
    pub fn deform(&self, pose: &PresenterPose, out: &mut Vec<Vec3>) {
        out.clear();
        let mouth_y = self.rest.get(13).map_or(-4.0, |p| p.y);
        let lips_pushed = pose.pucker * (1.0 - 0.3 * pose.jaw);
        for (rest, share) in self.rest.iter().zip(&self.shares) {
            let mut p = *rest;
            p.x -= 0.46 * lips_pushed * share.pucker * rest.x;
            p.z += 0.62 * lips_pushed * share.pucker;
            p.y += 0.22 * lips_pushed * share.pucker * (rest.y - mouth_y).clamp(-1.0, 1.0);
            for (i, side) in [(0, -1.0), (1, 1.0)] {
                let corner =
                    Vec3::new(0.86 * side, 0.70, -0.4) * pose.smile + Vec3::new(0.55 * side, 0.04, -0.25) * pose.spread;
                p += corner * share.smile[i];
                p += Vec3::new(0.12 * side, 0.3, 0.28) * (pose.smile * share.cheek[i]);
                let brow = if i == 0 { pose.brows.right } else { pose.brows.left };
                let lift = if brow > 0.0 { 0.75 * brow } else { 0.4 * brow };
                p.y += lift * share.brow[i];
                p.x -= side * 0.2 * (-brow).max(0.0) * share.brow[i];
            }
            // Lips part a little in "ee".
            p.y += pose.spread * share.spread * 0.12 * (rest.y - mouth_y).signum();
            out.push(open_jaw(p, pose.jaw * share.jaw));
        }
        self.close_lids(pose, out);
    }

    fn close_lids(&self, pose: &PresenterPose, points: &mut [Vec3]) {
        for (i, (eye, lid)) in EYES.iter().zip([pose.lids.right, pose.lids.left]).enumerate() {
            // A look down takes the lid along, a look up lifts it; a raised brow opens the eye wide.
            let brow = if i == 0 { pose.brows.right } else { pose.brows.left };
            let follows = (0.5 * pose.gaze.pitch).clamp(-0.12, 0.3) - 0.12 * brow.max(0.0);
            let closed = (lid + (1.0 - lid) * (follows + 0.12 * pose.smile)).clamp(-0.25, 1.0);
            let at = |points: &[Vec3], i: usize| points.get(i).copied().unwrap_or_default();
            for (upper, lower) in eye.upper.iter().zip(&eye.lower).take(8).skip(1) {
                let (u, l) = (at(points, *upper), at(points, *lower));
                let meeting = l.lerp(u, LID_MEETS);
                if let Some(p) = points.get_mut(*upper) {
                    *p = u.lerp(meeting, closed);
                }
                if let Some(p) = points.get_mut(*lower) {
                    *p = l.lerp(u, 0.14 * pose.smile * (1.0 - lid));
                }
            }
            for (crease, upper) in eye.crease.iter().zip(&eye.upper[1..8]) {
                let lowered = self.rest.get(*upper).map_or(0.0, |rest| rest.y - at(points, *upper).y);
                if let Some(p) = points.get_mut(*crease) {
                    p.y -= 0.42 * lowered;
                }
            }
        }
    }

    /// Pushes fine corners out of the eyeballs, so that closed lids bulge over them.
    pub fn lay_lids_over_eyes(&self, fine: &mut [Vec3]) {
        for (i, eye) in &self.over_eye {
            let ball = self.eyeballs[*eye];
            if let Some(p) = fine.get_mut(*i) {
                let grown = ball.radii + Vec3::splat(0.06);
                let d = *p - ball.center;
                let flat = (d.x / grown.x).powi(2) + (d.y / grown.y).powi(2);
                if flat < 1.0 {
                    p.z = p.z.max(ball.center.z + grown.z * (1.0 - flat).sqrt());
                }
            }
        }
    }
}

/// A point of the jaw when it is open by this much.
pub(super) fn open_jaw(p: Vec3, open: f32) -> Vec3 {
    let (sin, cos) = (JAW_OPEN_RAD * open).sin_cos();
    let q = p - JAW_HINGE;
    JAW_HINGE + Vec3::new(q.x, q.y * cos - q.z * sin, q.y * sin + q.z * cos)
}

/// The canonical face's lips stand half a centimetre apart; here they meet, and the outer rings follow part of the way.
fn close_lips(points: &mut [Vec3]) {
    let at = |points: &[Vec3], i: usize| points.get(i).copied().unwrap_or_default();
    let gaps: Vec<(Vec3, Vec3)> = INNER_UPPER
        .iter()
        .zip(&INNER_LOWER)
        .map(|(u, l)| {
            let (u, l) = (at(points, *u), at(points, *l));
            let middle = u.lerp(l, 0.45) + Vec3::new(0.0, 0.0, 0.1);
            (middle - u, middle - l)
        })
        .collect();
    for (column, (up, down)) in gaps.iter().enumerate() {
        let inner = [(INNER_UPPER.get(column), up), (INNER_LOWER.get(column), down)];
        for (i, shift) in inner {
            if column > 0
                && column < 10
                && let Some(p) = i.and_then(|i| points.get_mut(*i))
            {
                *p += *shift;
            }
        }
        for (rings, shift) in [(&UPPER_RINGS, up), (&LOWER_RINGS, down)] {
            for (ring, share) in rings.iter().zip([0.72, 0.38]) {
                let i = column.checked_sub(1).and_then(|c| ring.get(c));
                if let Some(p) = i.and_then(|i| points.get_mut(*i)) {
                    *p += *shift * share;
                }
            }
        }
    }
}

/// The canonical face is an average; here it becomes somebody: wider eyes, a smaller nose, a softer jaw.
fn give_character(points: &mut [Vec3]) {
    for p in points.iter_mut() {
        let nose = bump((*p - Vec3::new(0.0, -0.6, 7.0)).length(), 2.3);
        p.z -= 0.2 * nose * (p.z - 4.6).max(0.0);
        p.y += 0.28 * nose;
        p.x *= 1.0 - 0.10 * nose;
        p.x *= 1.0 - 0.075 * ramp((-2.5 - p.y) / 6.0);
        p.y += 0.5 * ramp((-5.6 - p.y) / 3.5);
        let corner = bump((Vec3::new(p.x.abs(), p.y, p.z) - Vec3::new(2.4, -4.3, 4.2)).length(), 1.2);
        p.y += 0.13 * corner;
        p.x += 0.09 * corner * p.x.signum();
    }
    for eye in &EYES {
        let mut shift = |i: usize, up: f32| {
            if let Some(p) = points.get_mut(i) {
                p.y += up;
            }
        };
        for (k, (upper, lower)) in eye.upper.iter().zip(&eye.lower).enumerate() {
            let middle = (std::f32::consts::PI * k as f32 / 8.0).sin();
            if k > 0 && k < 8 {
                shift(*upper, 0.24 * middle);
                shift(*lower, -0.07 * middle);
            }
        }
        for (k, crease) in eye.crease.iter().enumerate() {
            shift(*crease, 0.16 * (std::f32::consts::PI * (k as f32 + 1.0) / 8.0).sin());
        }
    }
}

/// Carries the face's outline on over the sides of the head and under the chin.
fn add_sides(points: &mut Vec<Vec3>, triangles: &mut Vec<[u32; 3]>) {
    let n = OVAL.len() as u32;
    let mut ring: Vec<u32> = OVAL.iter().map(|i| *i as u32).collect();
    for step in 1..=SIDE_RINGS {
        let t = step as f32 / SIDE_RINGS as f32;
        let next: Vec<u32> = OVAL
            .iter()
            .map(|i| {
                let p = points.get(*i).copied().unwrap_or_default();
                // 1 at the chin, 0 at the ears and above.
                let under = ramp((-1.5 - p.y) / 6.5);
                let above = ramp((p.y - 1.0) / 6.0);
                let sideways = 1.0 - under * 0.42 * t - above * 0.1 * t;
                let y = p.y + under * (0.16 * t - 0.10 * t * (1.0 - t)) * -p.y.min(0.0) + above * 1.2 * t;
                let back = (2.2 + 3.2 * above) * t * (1.0 + 0.75 * under) + 1.6 * t * t * (1.0 - under);
                points.push(Vec3::new(p.x * sideways, y, p.z - back));
                points.len() as u32 - 1
            })
            .collect();
        for k in 0..n {
            let (a, b) = (k as usize, ((k + 1) % n) as usize);
            // The outline runs clockwise seen from the front, and the new ring lies behind it.
            triangles.push([ring[a], ring[b], next[a]]);
            triangles.push([ring[b], next[b], next[a]]);
        }
        ring = next;
    }
}

fn share_of(rest: &[Vec3], i: usize) -> Share {
    let Some(p) = rest.get(i).copied() else { return Share::default() };
    let at = |i: usize| rest.get(i).copied().unwrap_or_default();
    let mouth = at(13);
    let is_lower =
        LOWER_OUTER.contains(&i) || INNER_LOWER[1..10].contains(&i) || LOWER_RINGS.iter().any(|ring| ring.contains(&i));
    let is_upper = INNER_UPPER[1..10].contains(&i)
        || UPPER_RINGS.iter().any(|ring| ring.contains(&i))
        || OUTER_LIPS[11..].contains(&i);
    let below = mouth.y - p.y;
    let jaw = if CORNERS.contains(&i) {
        0.36
    } else if is_lower {
        let t = (p.x.abs() / 2.4).min(1.0);
        0.4 + 0.6 * (1.0 - t * t * t)
    } else if is_upper {
        0.0
    } else {
        ramp((below + 0.4) / 2.0) * ramp((p.z + 3.0) / 4.5)
    };
    // The sides of the head follow the outline they came from.
    let jaw = if i >= FACE_POINTS { 0.85 * ramp((-2.5 - p.y) / 3.0) * ramp((p.z + 3.0) / 4.5) } else { jaw };
    let flat = |q: Vec3| (p - q).truncate().length();
    let around_mouth = flat(mouth);
    let eye_top = 3.3;
    let brow = |eye: &EyePoints| {
        let nearest = eye.brow.iter().map(|b| flat(at(*b))).fold(f32::MAX, f32::min);
        bump(nearest, 1.3) * ramp((p.y - eye_top) / 0.9) * if i >= FACE_POINTS { 0.0 } else { 1.0 }
    };
    Share {
        jaw,
        pucker: bump(around_mouth, 2.6),
        smile: [bump((p - at(61)).length(), 1.65), bump((p - at(291)).length(), 1.65)],
        cheek: [bump((p - at(50)).length(), 1.8), bump((p - at(280)).length(), 1.8)],
        spread: bump(around_mouth, 1.8) * (1.0 - bump(below.abs(), 0.15) * 0.3),
        brow: [brow(&EYES[0]), brow(&EYES[1])],
    }
}

fn eyeball(rest: &[Vec3], eye: &EyePoints) -> Eyeball {
    let ring = || eye.upper.iter().chain(&eye.lower).filter_map(|i| rest.get(*i));
    let count = ring().count().max(1) as f32;
    let middle = ring().fold(Vec3::ZERO, |sum, p| sum + *p) / count;
    let radii = Vec3::new(1.52, 1.45, 1.2);
    Eyeball { center: middle + Vec3::new(0.0, 0.0, 0.12 - radii.z), radii }
}
