//! The solid parts of the presenter beside the skin: hair, ears, eyes, teeth, tongue, neck, shoulders and a hand.
//!
//! Space: the head's own frame in centimetres; neck and shoulders are given where they are while the head looks ahead.

use std::f32::consts::{PI, TAU};

use glam::{Mat3, Vec2, Vec3};

use super::mesh::Mesh;
use super::skin::{EyePoints, Eyeball, INNER_LOWER, INNER_UPPER};
use super::textures::{EYE_TEXELS, HAIR_TEXELS, noise, skin_color};

const SWEATER: Vec3 = Vec3::new(46.0, 112.0, 122.0);
const COLLAR: Vec3 = Vec3::new(62.0, 134.0, 142.0);

/// Blends between table rows `(x, value)`; the ends go on flat.
fn table(rows: &[(f32, f32)], x: f32) -> f32 {
    let mut last = rows.first().copied().unwrap_or_default();
    for &(at, value) in rows {
        if x <= at {
            let t = if at > last.0 { ((x - last.0) / (at - last.0)).clamp(0.0, 1.0) } else { 1.0 };
            return last.1 + (value - last.1) * (t * t * (3.0 - 2.0 * t));
        }
        last = (at, value);
    }
    last.1
}

/// How low the hair reaches at an angle around the head (0 the front, radians, + the person's left): fringe swept to
/// one side, tucked behind the ears, chin-long at the back.
fn hair_edge(angle: f32) -> f32 {
    let degrees = angle.to_degrees();
    let side = [
        (0.0, 7.3),
        (25.0, 6.9),
        (46.0, 5.9),
        (60.0, 4.6),
        (70.0, 2.9),
        (79.0, 0.9),
        (85.0, 1.6),
        (91.0, 3.0),
        (96.0, 2.4),
        (101.0, -1.5),
        (108.0, -6.3),
        (122.0, -7.8),
        (180.0, -8.6),
    ];
    let mut y = table(&side, degrees.abs());
    // The fringe: high at the parting, lower to the person's left.
    let parting = -22.0;
    let sweep = table(
        &[
            (parting - 14.0, 0.0),
            (parting, 0.9),
            (parting + 8.0, 0.3),
            (18.0, -0.75),
            (40.0, -0.95),
            (62.0, -0.4),
            (75.0, 0.0),
        ],
        degrees,
    );
    y += sweep;
    let front = 1.0 - ((degrees.abs() - 60.0) / 15.0).clamp(0.0, 1.0);
    y + front * 0.26 * ((degrees * 0.37).sin() * 0.6 + (degrees * 0.17 + 1.0).sin() * 0.6)
}

/// The hair as one shell from the crown to its edge, with the edge turned in.
pub(super) fn hair() -> Mesh {
    const COLUMNS: u32 = 96;
    const ROWS: u32 = 26;
    let center = Vec3::new(0.0, 2.4, -2.1);
    let mut mesh = Mesh::default();
    for row in 0..ROWS {
        let t = (row as f32 / (ROWS - 3) as f32).min(1.0);
        for column in 0..=COLUMNS {
            let angle = (column as f32 / COLUMNS as f32 * 2.0 - 1.0) * PI;
            let (sin, cos) = angle.sin_cos();
            let edge = hair_edge(angle);
            let crown = 13.0;
            // Rows are even along the arc, not in height.
            let fall = 1.0 - (t * 0.5 * PI).cos() * (1.0 - 0.35 * t);
            let y = crown + (edge - crown) * fall.clamp(0.0, 1.0);
            let rise = ((y - center.y) / (crown - center.y)).clamp(-1.0, 1.0);
            let mut round = if rise > 0.0 { (1.0 - rise * rise).max(0.0).sqrt() } else { 1.0 };
            // A bob: out over the ears, in again at the ends.
            let low = ((center.y - y) / 10.5).clamp(0.0, 1.0);
            let behind = ((angle.to_degrees().abs() - 90.0) / 16.0).clamp(0.0, 1.0);
            round += behind * (0.14 * (PI * (low * 1.15).min(1.0)).sin() - 0.10 * low * low);
            let back = (0.5 - 0.5 * cos).clamp(0.0, 1.0);
            let radii = Vec2::new(8.75 - 0.25 * back, table(&[(0.0, 8.35), (1.0, 8.9)], back));
            let volume = 1.0 + 0.025 * (noise(angle * 6.0 + 20.0, 2.0) - 0.5) + 0.012 * ((angle * 19.0).sin() * t);
            // The last rows turn in under the edge.
            let tuck = match row {
                r if r + 1 == ROWS => 0.86,
                r if r + 2 == ROWS => 0.95,
                _ => 1.0,
            };
            let p = Vec3::new(radii.x * round * sin, y - center.y, radii.y * round * cos)
                * Vec3::new(volume * tuck, 1.0, volume * tuck);
            let (u, v) = (column as f32 / COLUMNS as f32, t);
            let shade = if tuck < 1.0 { 0.6 } else { 1.0 };
            mesh.push(
                center + p + Vec3::new(0.0, if tuck < 1.0 { 0.25 } else { 0.0 }, 0.0),
                Vec3::splat(shade),
                Vec2::new(u * HAIR_TEXELS.0 as f32, v * (HAIR_TEXELS.1 - 1) as f32),
            );
        }
    }
    mesh.join_grid(0, COLUMNS + 1, ROWS, false);
    mesh.update_normals();
    mesh
}

/// Both ears.
pub(super) fn ears() -> Mesh {
    let mut both = Mesh::default();
    for side in [-1.0f32, 1.0] {
        let turn =
            Mat3::from_rotation_y(side * 0.5) * Mat3::from_rotation_x(-0.12) * Mat3::from_rotation_z(side * -0.10);
        let mut ear = Mesh::ellipsoid(Vec3::ZERO, Vec3::new(0.62, 2.15, 1.25), Mat3::IDENTITY, skin_color());
        for (p, color) in ear.positions.iter_mut().zip(&mut ear.colors) {
            // Narrow at the lobe, hollow on the outer side.
            p.z *= 1.0 - 0.28 * (-p.y / 2.0).clamp(0.0, 1.0);
            let hollow = (-((p.y - 0.2) / 1.2).powi(2) - ((p.z - 0.15) / 0.62).powi(2)).exp();
            if p.x * side > 0.0 {
                p.x -= side * 0.45 * hollow;
                *color = color.lerp(Vec3::new(176.0, 98.0, 84.0), 0.75 * hollow);
            }
            *color = color.lerp(Vec3::new(226.0, 140.0, 120.0), 0.3);
        }
        both.append(&ear.map(|p| turn * p + Vec3::new(side * 8.05, 0.35, -3.3)));
    }
    both
}

/// The front half of an eyeball around its own axis, which is +z; the texture is centred on the axis.
pub(super) fn eyeball(ball: &Eyeball) -> Mesh {
    const COLUMNS: u32 = 28;
    const ROWS: u32 = 9;
    let mut mesh = Mesh::default();
    let half = EYE_TEXELS as f32 / 2.0;
    for row in 0..ROWS {
        // From the axis outwards, seen from the front.
        let (sin_v, cos_v) = (0.5 * PI * row as f32 / (ROWS - 1) as f32).sin_cos();
        for column in 0..COLUMNS {
            let (sin_u, cos_u) = (TAU * column as f32 / COLUMNS as f32).sin_cos();
            let direction = Vec3::new(sin_v * cos_u, sin_v * sin_u, cos_v);
            mesh.push(
                direction * ball.radii.z,
                Vec3::ONE,
                Vec2::new(half * (1.0 + direction.x * 0.995), half * (1.0 - direction.y * 0.995)),
            );
        }
    }
    // Rows run outwards and columns counter-clockwise.
    mesh.join_grid(0, COLUMNS, ROWS, true);
    mesh.update_normals();
    mesh
}

/// Teeth along an arc: `top` and `bottom` at the middle.
fn teeth(top: f32, bottom: f32, forward: f32, half_width: f32) -> Mesh {
    const COLUMNS: u32 = 33;
    let mut mesh = Mesh::default();
    for row in 0..3 {
        let v = row as f32 / 2.0;
        for column in 0..COLUMNS {
            let u = column as f32 / (COLUMNS - 1) as f32 * 2.0 - 1.0;
            let x = u * half_width;
            let gap = ((u * 5.0).fract().abs() - 0.5).abs() > 0.42;
            let shade = if gap { 0.86 } else { 1.0 } * (1.0 - 0.42 * u * u) * (1.0 - 0.08 * (v - 0.5).abs());
            mesh.push(
                Vec3::new(x, top + (bottom - top) * v + 0.05 * u * u, forward - 0.30 * x * x + 0.12 * v),
                Vec3::new(248.0, 243.0, 234.0) * shade,
                Vec2::ZERO,
            );
        }
    }
    mesh.join_grid(0, COLUMNS, 3, false);
    mesh.update_normals();
    mesh
}

/// The upper teeth, fixed to the head.
pub(super) fn upper_teeth(mouth: Vec3) -> Mesh {
    teeth(mouth.y + 0.75, mouth.y - 0.18, mouth.z - 0.85, 1.95)
}

/// The lower teeth and the tongue, fixed to the jaw (at rest).
pub(super) fn lower_mouth(mouth: Vec3) -> Mesh {
    let mut mesh = teeth(mouth.y - 0.42, mouth.y - 1.15, mouth.z - 1.05, 1.75);
    mesh.append(&Mesh::ellipsoid(
        Vec3::new(0.0, mouth.y - 1.0, mouth.z - 2.3),
        Vec3::new(1.5, 0.55, 1.5),
        Mat3::IDENTITY,
        Vec3::new(206.0, 98.0, 98.0),
    ));
    mesh
}

/// The inside of the mouth: from the inner edge of the lips back to a dark end; corners follow the lips each frame.
pub(super) struct Cavity {
    pub mesh: Mesh,
}

impl Cavity {
    pub fn new() -> Self {
        let mut mesh = Mesh::default();
        for color in [Vec3::new(122.0, 44.0, 48.0), Vec3::new(74.0, 22.0, 28.0), Vec3::new(34.0, 10.0, 14.0)] {
            for _ in 0..20 {
                mesh.push(Vec3::ZERO, color, Vec2::ZERO);
            }
        }
        let end = mesh.push(Vec3::ZERO, Vec3::new(24.0, 8.0, 10.0), Vec2::ZERO);
        mesh.join_grid(0, 20, 3, true);
        mesh.triangles.extend((0..20).map(|i| [40 + i, end, 40 + (i + 1) % 20]));
        mesh.normals = vec![Vec3::Z; mesh.positions.len()];
        Self { mesh }
    }

    /// Hangs it behind these lips (coarse points of the skin).
    pub fn follow(&mut self, points: &[Vec3]) {
        let ring = INNER_UPPER.iter().chain(INNER_LOWER[1..10].iter().rev());
        let lips = || ring.clone().map(|i| points.get(*i).copied().unwrap_or_default());
        let middle = lips().fold(Vec3::ZERO, |sum, p| sum + p) / 20.0;
        for (i, p) in lips().enumerate() {
            for (row, (grow, back)) in [(1.06, 0.12), (1.15, 1.3), (0.9, 2.3)].into_iter().enumerate() {
                if let Some(q) = self.mesh.positions.get_mut(row * 20 + i) {
                    *q = middle + (p - middle) * Vec3::new(1.0 + (grow - 1.0) * 0.3, grow, 1.0)
                        - Vec3::new(0.0, 0.0, back);
                }
            }
        }
        if let Some(q) = self.mesh.positions.last_mut() {
            *q = middle - Vec3::new(0.0, 0.0, 2.6);
        }
    }
}

/// Lashes of an upper lid: a dark ribbon along its edge, as the coarse points of the skin lie now.
pub(super) fn lashes(eye: &EyePoints, points: &[Vec3], mesh: &mut Mesh) {
    mesh.positions.clear();
    mesh.triangles.clear();
    let color = Vec3::new(40.0, 25.0, 23.0);
    let count = eye.upper.len();
    for (i, id) in eye.upper.iter().enumerate() {
        let p = points.get(*id).copied().unwrap_or_default();
        let outer = 1.0 - i as f32 / (count - 1) as f32;
        let thick = 0.05 + 0.15 * outer.powf(0.6) * (outer * 6.0 + 0.2).min(1.0) * (1.0 - 0.2 * outer);
        let wing = if i == 0 { Vec3::new(eye.side * 0.28, 0.14, -0.12) } else { Vec3::ZERO };
        mesh.positions.push(p + wing + Vec3::new(eye.side * 0.10 * outer, thick * 0.7, 0.16));
        mesh.positions.push(p + wing * 0.9 + Vec3::new(0.0, -thick * 0.45, 0.2));
    }
    mesh.colors.resize(mesh.positions.len(), color);
    mesh.colors.fill(color);
    mesh.normals.resize(mesh.positions.len(), Vec3::Z);
    mesh.uvs.resize(mesh.positions.len(), Vec2::ZERO);
    for i in 0..count as u32 - 1 {
        let a = i * 2;
        mesh.triangles.push([a, a + 1, a + 2]);
        mesh.triangles.push([a + 2, a + 1, a + 3]);
    }
}

/// One ring of a lofted body: height, half width, half depth, how far back, colour.
struct Ring(f32, f32, f32, f32, Vec3);

fn loft(rings: &[Ring], squareness: f32) -> Mesh {
    const COLUMNS: u32 = 48;
    let mut mesh = Mesh::default();
    for Ring(y, half_width, half_depth, back, color) in rings {
        for column in 0..COLUMNS {
            let (sin, cos) = (TAU * column as f32 / COLUMNS as f32).sin_cos();
            let bend = |x: f32| x.signum() * x.abs().powf(squareness);
            mesh.push(Vec3::new(half_width * bend(sin), *y, half_depth * bend(cos) - back), *color, Vec2::ZERO);
        }
    }
    mesh.join_grid(0, COLUMNS, rings.len() as u32, true);
    mesh.update_normals();
    mesh
}

/// The neck, from under the jaw into the sweater.
pub(super) fn neck() -> Mesh {
    let skin = skin_color();
    let shadow = Vec3::new(150.0, 92.0, 76.0);
    loft(
        &[
            Ring(-4.5, 5.0, 4.4, 5.2, shadow),
            Ring(-6.6, 4.95, 4.8, 5.0, shadow),
            Ring(-8.6, 4.85, 4.8, 4.8, skin.lerp(shadow, 0.85)),
            Ring(-10.4, 4.8, 4.6, 5.0, skin.lerp(shadow, 0.45)),
            Ring(-12.2, 5.0, 4.7, 5.2, skin.lerp(shadow, 0.15)),
            Ring(-13.6, 6.0, 5.2, 5.3, skin),
            Ring(-15.2, 8.0, 6.4, 5.3, skin),
        ],
        1.0,
    )
}

/// How much of the head's turn a point of the neck takes part in.
pub(super) fn neck_follows(y: f32) -> f32 {
    ((y + 13.0) / 7.5).clamp(0.0, 1.0)
}

/// The sweater with its collar.
pub(super) fn shoulders() -> Mesh {
    let mut mesh = loft(
        &[
            Ring(-12.6, 5.9, 5.5, 5.2, COLLAR * 0.5),
            Ring(-12.3, 6.2, 5.9, 5.2, COLLAR),
            Ring(-12.7, 6.7, 6.5, 5.1, COLLAR),
            Ring(-13.6, 7.3, 6.9, 5.1, COLLAR * 0.94),
            Ring(-14.0, 7.6, 6.9, 5.1, SWEATER * 0.62),
            Ring(-14.2, 8.4, 7.1, 5.1, SWEATER),
            Ring(-15.2, 11.6, 7.4, 5.2, SWEATER),
            Ring(-16.4, 15.2, 7.9, 5.4, SWEATER),
            Ring(-18.2, 18.2, 8.4, 5.6, SWEATER),
            Ring(-21.0, 19.9, 9.0, 5.6, SWEATER),
            Ring(-26.0, 20.8, 9.9, 5.6, SWEATER * 0.97),
            Ring(-34.0, 21.6, 10.8, 5.6, SWEATER * 0.95),
            Ring(-60.0, 22.6, 11.6, 5.6, SWEATER * 0.9),
        ],
        0.86,
    );
    for (p, color) in mesh.positions.iter().zip(&mut mesh.colors) {
        // The fold between arm and chest, and knit.
        let fold =
            (-((p.x.abs() - 14.6 - (p.y + 22.0) * 0.05) / 0.9).powi(2)).exp() * ((-20.5 - p.y) / 4.0).clamp(0.0, 1.0);
        *color *= 1.0 - 0.28 * fold;
    }
    mesh
}

/// The inside of the collar.
pub(super) fn collar_lining() -> Mesh {
    // From below upwards, so that the inside is the outside.
    loft(&[Ring(-16.5, 6.6, 6.2, 5.2, COLLAR * 0.3), Ring(-12.3, 6.2, 5.9, 5.2, COLLAR * 0.62)], 0.86)
}

/// A hand held before the mouth, and its sleeve; moves with the head's place, not its turn.
pub(super) fn hand() -> Mesh {
    let mut mesh = Mesh::default();
    let skin = skin_color();
    // Palm and fingers point up and to the person's left across the mouth; the arm comes from the right.
    let tilt = Mat3::from_rotation_z(-1.02);
    let at = Vec3::new(-2.2, -5.9, 8.4);
    let mut put = |offset: Vec3, radii: Vec3, lean: f32, color: Vec3| {
        let turn = tilt * Mat3::from_rotation_z(lean);
        mesh.append(&Mesh::ellipsoid(at + tilt * offset, radii, turn, color));
    };
    put(Vec3::new(0.0, 0.0, 0.0), Vec3::new(3.9, 4.2, 1.4), 0.0, skin);
    for (i, (x, length)) in [(-2.75f32, 3.2f32), (-0.95, 3.8), (0.9, 3.6), (2.6, 2.9)].into_iter().enumerate() {
        let shade = 1.0 - 0.03 * i as f32;
        put(Vec3::new(x, 2.0 + length * 0.5, 0.35), Vec3::new(1.04, length * 1.2, 0.95), -0.02 * x, skin * shade);
    }
    put(Vec3::new(-4.1, 0.6, 0.4), Vec3::new(1.1, 2.7, 1.05), 0.62, skin);
    put(Vec3::new(0.2, -6.3, -0.4), Vec3::new(2.5, 3.8, 1.8), 0.0, skin * 0.97);
    put(Vec3::new(0.6, -13.6, -1.2), Vec3::new(3.5, 6.8, 3.0), 0.08, SWEATER);
    put(Vec3::new(2.2, -23.5, -2.4), Vec3::new(4.5, 9.5, 3.8), 0.16, SWEATER * 0.93);
    mesh
}
