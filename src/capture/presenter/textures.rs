//! What is painted on the presenter once, before the first frame: skin with lips, brows and lashes, the iris, hair,
//! and the room behind.
//!
//! The skin's texture is the face seen straight from the front: u and v follow x and y of the head at rest.

use std::f32::consts::{PI, TAU};

use glam::{Vec2, Vec3};

use super::raster::Texture;
use super::skin::{EYES, INNER_LOWER, INNER_UPPER, OUTER_LIPS};

const SKIN: Vec3 = Vec3::new(238.0, 192.0, 165.0);
const LIPS: Vec3 = Vec3::new(196.0, 92.0, 92.0);
const BROW: Vec3 = Vec3::new(92.0, 58.0, 44.0);
const LASH: Vec3 = Vec3::new(52.0, 32.0, 28.0);
const HAIR: Vec3 = Vec3::new(112.0, 62.0, 42.0);
/// The face's extent in the head's frame, cm: left, right, bottom, top.
const FACE: (f32, f32, f32, f32) = (-8.4, 8.4, -10.4, 10.4);
const FACE_TEXELS: (usize, usize) = (448, 554);

/// The skin's base colour.
pub(super) fn skin_color() -> Vec3 {
    SKIN
}

/// Where a point of the head at rest lies in the skin's texture.
pub(super) fn skin_uv(p: Vec3) -> Vec2 {
    let (left, right, bottom, top) = FACE;
    Vec2::new((p.x - left) / (right - left) * FACE_TEXELS.0 as f32, (top - p.y) / (top - bottom) * FACE_TEXELS.1 as f32)
}

/// Smooth random numbers in 0..1 from a position; the same in every run.
pub(super) fn noise(x: f32, y: f32) -> f32 {
    let hash = |x: i32, y: i32| {
        let mut h = (x as u32).wrapping_mul(0x9E37_79B1) ^ (y as u32).wrapping_mul(0x85EB_CA77);
        h = (h ^ (h >> 15)).wrapping_mul(0x2C1B_3C6D);
        h = (h ^ (h >> 12)).wrapping_mul(0x297A_2D39);
        ((h ^ (h >> 15)) >> 8) as f32 / (1u32 << 24) as f32
    };
    let (fx, fy) = (x - x.floor(), y - y.floor());
    let (ix, iy) = (x.floor() as i32, y.floor() as i32);
    let (sx, sy) = (fx * fx * (3.0 - 2.0 * fx), fy * fy * (3.0 - 2.0 * fy));
    let top = hash(ix, iy) + (hash(ix + 1, iy) - hash(ix, iy)) * sx;
    let bottom = hash(ix, iy + 1) + (hash(ix + 1, iy + 1) - hash(ix, iy + 1)) * sx;
    top + (bottom - top) * sy
}

fn step(from: f32, to: f32, x: f32) -> f32 {
    let t = ((x - from) / (to - from)).clamp(0.0, 1.0);
    t * t * (3.0 - 2.0 * t)
}

fn bump(d: Vec2, radii: Vec2) -> f32 {
    (-(d / radii).length_squared()).exp()
}

/// Distance to an open line, and how far along it (0..1) the nearest point is.
fn along(line: &[Vec2], p: Vec2) -> (f32, f32) {
    let (mut best, mut place) = (f32::MAX, 0.0);
    for (i, ends) in line.windows(2).enumerate() {
        let &[a, b] = ends else { continue };
        let t = ((p - a).dot(b - a) / (b - a).length_squared().max(1e-9)).clamp(0.0, 1.0);
        let d = (p - a.lerp(b, t)).length();
        if d < best {
            (best, place) = (d, (i as f32 + t) / (line.len() - 1) as f32);
        }
    }
    (best, place)
}

/// Distance to a closed outline, negative inside.
fn inside(outline: &[Vec2], p: Vec2) -> f32 {
    let mut best = f32::MAX;
    let mut is_in = false;
    let mut a = outline.last().copied().unwrap_or_default();
    for &b in outline {
        let t = ((p - a).dot(b - a) / (b - a).length_squared().max(1e-9)).clamp(0.0, 1.0);
        best = best.min((p - a.lerp(b, t)).length());
        if (a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x {
            is_in = !is_in;
        }
        a = b;
    }
    if is_in { -best } else { best }
}

/// A smooth line through these points (Catmull–Rom).
fn curve(points: &[Vec2]) -> Vec<Vec2> {
    const STEPS: usize = 5;
    let at = |i: isize| points[i.clamp(0, points.len() as isize - 1) as usize];
    let mut line = Vec::new();
    for i in 0..points.len() as isize - 1 {
        let (p, q, r, s) = (at(i - 1), at(i), at(i + 1), at(i + 2));
        for k in 0..STEPS {
            let t = k as f32 / STEPS as f32;
            let bend =
                (r - p) * t + (p * 2.0 - q * 5.0 + r * 4.0 - s) * t * t + (q * 3.0 - p - r * 3.0 + s) * t * t * t;
            line.push(q + bend * 0.5);
        }
    }
    line.extend(points.last());
    line
}

/// The face's skin, painted for the points of the head at rest.
pub(super) fn skin(rest: &[Vec3]) -> Texture {
    let flat = |ids: &[usize]| ids.iter().filter_map(|i| rest.get(*i)).map(|p| p.truncate()).collect::<Vec<_>>();
    let mut outer = flat(&OUTER_LIPS);
    outer.extend(outer.first().copied());
    let outer = curve(&outer);
    let seam: Vec<Vec2> = flat(&INNER_UPPER).iter().zip(flat(&INNER_LOWER)).map(|(u, l)| u.lerp(l, 0.5)).collect();
    let eyes = EYES.each_ref().map(|eye| {
        let mut brow = flat(&eye.brow);
        brow.truncate(5);
        let lower: Vec<Vec2> = flat(&eye.brow).split_off(5).into_iter().rev().collect();
        let spine: Vec<Vec2> = brow.iter().zip(&lower).map(|(a, b)| a.lerp(*b, 0.5)).collect();
        (curve(&flat(&eye.upper)), curve(&flat(&eye.lower)), curve(&spine), eye.side)
    });
    let (left, right, bottom, top) = FACE;
    let mut texels = Vec::with_capacity(FACE_TEXELS.0 * FACE_TEXELS.1);
    for row in 0..FACE_TEXELS.1 {
        for column in 0..FACE_TEXELS.0 {
            let p = Vec2::new(
                left + (right - left) * (column as f32 + 0.5) / FACE_TEXELS.0 as f32,
                top - (top - bottom) * (row as f32 + 0.5) / FACE_TEXELS.1 as f32,
            );
            let mut color = complexion(p);
            for (upper, lower, spine, side) in &eyes {
                if (p.x - side * 3.4).abs() < 3.6 && (p.y - 3.6).abs() < 3.2 {
                    color = eye_and_brow(color, p, *side, upper, lower, spine);
                }
            }
            if p.x.abs() < 3.4 && (p.y + 4.3).abs() < 2.2 {
                color = lips(color, p, &outer, &seam);
            }
            texels.push(color.to_array());
        }
    }
    Texture { width: FACE_TEXELS.0, height: FACE_TEXELS.1, texels }
}

/// Bare skin: blush, soft shadows where light does not reach, freckles, nostrils.
fn complexion(p: Vec2) -> Vec3 {
    let mirrored = Vec2::new(p.x.abs(), p.y);
    let at = |x: f32, y: f32| mirrored - Vec2::new(x, y);
    let mut color = SKIN * (0.985 + 0.03 * noise(p.x * 1.3 + 7.0, p.y * 1.3));
    let toward = |color: Vec3, other: Vec3, amount: f32| color.lerp(other, amount.clamp(0.0, 1.0));
    let blush = 0.36 * bump(at(4.5, -0.6), Vec2::new(1.9, 1.4)) + 0.22 * bump(at(0.0, -0.5), Vec2::new(1.0, 0.9));
    color = toward(color, Vec3::new(232.0, 132.0, 116.0), blush);
    color = toward(color, Vec3::new(236.0, 160.0, 140.0), 0.2 * bump(at(0.0, -7.8), Vec2::new(1.6, 1.0)));
    // Eye sockets, the bridge's sides, under the nose, under the lip, the fold beside the nose, the temples.
    let shade = 0.30 * bump(at(1.75, 3.1), Vec2::new(0.8, 1.1))
        + 0.20 * bump(at(3.2, 3.45), Vec2::new(1.8, 0.55))
        + 0.13 * bump(at(3.2, 1.35), Vec2::new(1.5, 0.5))
        + 0.14 * bump(at(1.25, 0.6), Vec2::new(0.5, 1.6))
        + 0.34 * bump(at(0.0, -1.95), Vec2::new(1.2, 0.38))
        + 0.30 * bump(at(0.0, -6.0), Vec2::new(1.5, 0.38))
        + 0.14 * bump(at(0.0, -2.9), Vec2::new(0.28, 0.5))
        + 0.26 * bump(at(1.65, -1.0), Vec2::new(0.28, 0.6))
        + 0.12 * bump(Vec2::new((mirrored.x - 2.35) + (p.y + 2.2) * 0.45, p.y + 2.3), Vec2::new(0.22, 1.0))
        + 0.16 * step(6.3, 8.2, mirrored.x)
        + 0.42 * step(5.9, 8.0, p.y + 0.10 * mirrored.x * mirrored.x * 0.55);
    color = toward(color, Vec3::new(172.0, 104.0, 86.0), shade);
    // Light on the bridge, the tip of the nose and the cheekbones.
    let light = 0.16 * bump(at(0.0, 1.6), Vec2::new(0.5, 2.2))
        + 0.22 * bump(at(0.12, -0.35), Vec2::new(0.45, 0.4))
        + 0.10 * bump(at(4.0, 1.0), Vec2::new(1.2, 0.6));
    color = toward(color, Vec3::new(255.0, 228.0, 208.0), light);
    let freckle = noise(p.x * 4.6, p.y * 4.6 + 31.0) * (0.4 + 0.6 * bump(at(2.4, -0.2), Vec2::new(2.6, 1.0)));
    color = toward(color, Vec3::new(196.0, 126.0, 96.0), 0.38 * step(0.72, 0.86, freckle));
    let nostril = bump(at(0.74, -1.36), Vec2::new(0.38, 0.17));
    toward(color, Vec3::new(96.0, 42.0, 38.0), 0.95 * step(0.25, 0.75, nostril))
}

fn eye_and_brow(skin: Vec3, p: Vec2, side: f32, upper: &[Vec2], lower: &[Vec2], spine: &[Vec2]) -> Vec3 {
    let mut color = skin;
    let (to_upper, place) = along(upper, p);
    let above = p.y > 2.62 || to_upper < 0.05;
    if above {
        // Eye shadow, the crease, and the dark line of the lashes, stronger outside.
        color = color.lerp(Vec3::new(196.0, 130.0, 112.0), 0.30 * (1.0 - step(0.1, 0.75, to_upper)));
        let crease = (to_upper - 0.42).abs();
        color = color.lerp(Vec3::new(150.0, 88.0, 74.0), 0.34 * (1.0 - step(0.03, 0.12, crease)) * (1.0 - 0.6 * place));
        color = color.lerp(LASH, 1.0 - step(0.04, 0.13 + 0.05 * (1.0 - place), to_upper));
        let wing = Vec2::new(p.x - side * 4.75, p.y - 2.95);
        color = color.lerp(
            LASH,
            0.8 * step(0.4, 0.8, bump(Vec2::new(wing.x - side * 0.7 * wing.y, wing.y), Vec2::new(0.3, 0.14))),
        );
    }
    let (to_lower, place) = along(lower, p);
    if p.y < 2.75 {
        color = color.lerp(Vec3::new(214.0, 140.0, 126.0), 0.5 * (1.0 - step(0.05, 0.3, to_lower)));
        color = color.lerp(LASH, 0.55 * (1.0 - step(0.02, 0.10, to_lower)) * (1.0 - place).powf(0.7));
    }
    // The brow: hairs that lean outwards, thick inside, thin outside.
    let (to_spine, place) = along(spine, p);
    let half = 0.12 + 0.26 * step(0.0, 0.75, place) - 0.05 * step(0.85, 1.0, place);
    let hair = noise((p.x * side + p.y * 0.8) * 9.0, (p.y - p.x * side * 0.25) * 2.4);
    let dense = (1.0 - step(half * 0.55, half * 1.15 + 0.06, to_spine + 0.10 * (hair - 0.5))) * (0.72 + 0.4 * hair);
    color.lerp(BROW, (0.92 * dense).clamp(0.0, 1.0))
}

fn lips(skin: Vec3, p: Vec2, outer: &[Vec2], seam: &[Vec2]) -> Vec3 {
    let edge = inside(outer, p);
    let mut color = skin.lerp(LIPS, 0.92 * (1.0 - step(-0.14, 0.06, edge)));
    let (to_seam, _) = along(seam, p);
    let seam_y = seam.get(5).map_or(-4.3, |s| s.y);
    if edge < 0.0 {
        let is_lower = p.y < seam_y;
        if is_lower {
            color = color.lerp(
                Vec3::new(236.0, 150.0, 144.0),
                0.55 * bump(p - Vec2::new(0.25, seam_y - 0.62), Vec2::new(0.95, 0.22)),
            );
        } else {
            color *= 0.93;
        }
        color *= 0.95 + 0.08 * noise(p.x * 8.0, p.y * 1.5);
    }
    let corner = bump(Vec2::new(p.x.abs() - 2.35, p.y - seam_y + 0.1), Vec2::new(0.28, 0.22));
    color = color.lerp(Vec3::new(140.0, 62.0, 60.0), 0.4 * corner);
    color.lerp(Vec3::new(112.0, 40.0, 44.0), 0.85 * (1.0 - step(0.03, 0.16, to_seam)))
}

/// Texels across the eye's texture, which shows the front of the eyeball: 90° off the axis at the rim.
pub(super) const EYE_TEXELS: usize = 256;
/// The iris's rim, as the sine of its angle off the eye's axis.
const IRIS: f32 = 0.47;

/// An eyeball seen along its axis.
pub(super) fn eye() -> Texture {
    let mut texels = Vec::with_capacity(EYE_TEXELS * EYE_TEXELS);
    let half = EYE_TEXELS as f32 / 2.0;
    for row in 0..EYE_TEXELS {
        for column in 0..EYE_TEXELS {
            let p = Vec2::new((column as f32 + 0.5) / half - 1.0, 1.0 - (row as f32 + 0.5) / half);
            let (r, angle) = (p.length(), p.y.atan2(p.x));
            let white = Vec3::new(246.0, 242.0, 240.0).lerp(Vec3::new(226.0, 190.0, 182.0), step(0.6, 1.0, r));
            let ray = noise((angle + PI) / TAU * 64.0, r * 9.0);
            let deep = Vec3::new(44.0, 74.0, 62.0);
            let bright = Vec3::new(118.0, 150.0, 96.0);
            let amber = Vec3::new(170.0, 120.0, 58.0);
            let mut iris = deep.lerp(bright, (0.25 + 0.55 * ray + 0.35 * step(0.3, -0.4, p.y)).clamp(0.0, 1.0));
            iris = iris.lerp(amber, 0.75 * (1.0 - step(0.20, 0.32, r + 0.05 * ray)));
            iris = iris.lerp(Vec3::new(24.0, 34.0, 32.0), 0.85 * step(IRIS - 0.10, IRIS, r));
            let mut color = iris.lerp(white, step(IRIS - 0.015, IRIS + 0.03, r));
            color = color.lerp(Vec3::new(14.0, 11.0, 12.0), 1.0 - step(0.185, 0.215, r));
            texels.push(color.to_array());
        }
    }
    Texture { width: EYE_TEXELS, height: EYE_TEXELS, texels }
}

/// Texels of the hair: around the head, from the crown down.
pub(super) const HAIR_TEXELS: (usize, usize) = (512, 128);

/// Hair, strand beside strand.
pub(super) fn hair() -> Texture {
    let mut texels = Vec::with_capacity(HAIR_TEXELS.0 * HAIR_TEXELS.1);
    for row in 0..HAIR_TEXELS.1 {
        let v = row as f32 / HAIR_TEXELS.1 as f32;
        for column in 0..HAIR_TEXELS.0 {
            let u = column as f32 / HAIR_TEXELS.0 as f32;
            let wave = u + 0.006 * (v * 9.0 + 3.0 * noise(u * 12.0, 1.0)).sin();
            let strand = 0.55 * noise(wave * 170.0, v * 3.0) + 0.45 * noise(wave * 60.0, v * 2.0 + 9.0);
            let mut color = HAIR * (0.72 + 0.5 * strand);
            let shine = (v - 0.40 - 0.07 * (strand - 0.5)) / 0.085;
            color += Vec3::new(92.0, 62.0, 44.0) * (0.55 * strand * (-shine * shine).exp());
            color *= 1.0 - 0.35 * step(0.75, 1.0, v) - 0.3 * (1.0 - step(0.0, 0.05, v));
            texels.push(color.to_array());
        }
    }
    Texture { width: HAIR_TEXELS.0, height: HAIR_TEXELS.1, texels }
}

/// The room behind, out of focus: a wall in evening light, a window with a view, a shelf with books, a plant. 0..255.
pub(super) fn room(width: usize, height: usize) -> Vec<Vec3> {
    let aspect = width as f32 / height.max(1) as f32;
    let mut pixels = Vec::with_capacity(width * height);
    // A soft-edged box: centre, half size, how soft.
    let slab = |p: Vec2, center: Vec2, half: Vec2, soft: f32| {
        let d = (p - center).abs() - half;
        (1.0 - step(-soft, soft, d.x)) * (1.0 - step(-soft, soft, d.y))
    };
    for row in 0..height {
        for column in 0..width {
            let p = Vec2::new(
                ((column as f32 + 0.5) / width as f32 - 0.5) * aspect,
                0.5 - (row as f32 + 0.5) / height as f32,
            );
            let mut color = Vec3::new(196.0, 186.0, 178.0)
                .lerp(Vec3::new(120.0, 116.0, 124.0), step(0.1, 0.9, (p - Vec2::new(0.12, 0.2)).length()));
            // The window on the right with sky and hills.
            let pane = slab(p, Vec2::new(0.46, 0.17), Vec2::new(0.17, 0.24), 0.018);
            let hill = -0.02 + 0.03 * (p.x * 17.0).sin();
            let view = Vec3::new(206.0, 226.0, 240.0)
                .lerp(Vec3::new(252.0, 226.0, 196.0), step(0.35, 0.0, p.y))
                .lerp(Vec3::new(140.0, 166.0, 142.0), step(hill + 0.03, hill - 0.03, p.y));
            let frame = slab(p, Vec2::new(0.46, 0.17), Vec2::new(0.195, 0.265), 0.014);
            color = color.lerp(Vec3::new(228.0, 222.0, 214.0), 0.85 * frame).lerp(view, pane);
            let bars = (1.0 - step(0.004, 0.016, (p.x - 0.46).abs())).max(1.0 - step(0.004, 0.016, (p.y - 0.2).abs()));
            color = color.lerp(Vec3::new(228.0, 222.0, 214.0), 0.85 * bars * pane);
            // Two boards with books on the left.
            for (board, seed) in [(0.13f32, 3.0f32), (-0.12, 17.0)] {
                let reach = 1.0 - step(-0.29, -0.25, p.x);
                let slot = ((p.x + 1.0) * 26.0).floor();
                let tall = 0.085 + 0.06 * noise(slot * 3.7 + 0.5, seed + 0.5);
                let tone = noise(slot * 7.3 + 0.5, seed * 2.0 + 0.5);
                let cover = Vec3::new(112.0, 132.0, 140.0)
                    .lerp(Vec3::new(190.0, 120.0, 88.0), step(0.35, 0.75, tone))
                    .lerp(Vec3::new(206.0, 186.0, 142.0), step(0.55, 0.95, noise(slot * 5.1 + 0.5, seed)));
                let side = ((p.x + 1.0) * 26.0 - slot - 0.5).abs();
                let there = reach * step(0.2, 0.3, noise(slot * 2.3 + 0.5, seed * 4.0));
                let book = step(board - 0.008, board + 0.008, p.y)
                    * (1.0 - step(board + tall - 0.012, board + tall + 0.012, p.y));
                color = color.lerp(cover, 0.75 * there * book * (1.0 - step(0.38, 0.58, side)));
                let plank = 1.0 - step(0.008, 0.02, (p.y - board + 0.01).abs());
                color = color.lerp(Vec3::new(150.0, 112.0, 84.0), 0.8 * plank * reach);
            }
            pixels.push(color);
        }
    }
    pixels
}
