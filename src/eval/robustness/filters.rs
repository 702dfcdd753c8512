//! What happens to pictures: bad light, bad lenses, and things before the face. Pure functions of picture and seed.
//!
//! Space: pixels of the picture, x right, y down; landmarks as the face model gives them.

use glam::{Vec2, Vec3};
use image::{Rgb, RgbImage, imageops};

use crate::signal::Rng;

/// Landmarks around what a mask covers: from ear to ear along the jaw, back over the nose.
const MASK_EDGE: [usize; 26] = [
    234, 93, 132, 58, 172, 136, 150, 149, 176, 148, 152, 377, 400, 378, 379, 365, 397, 288, 361, 323, 454, 347, 277,
    197, 47, 118,
];
const EYES: [(usize, usize); 2] = [(33, 133), (263, 362)];
const FOREHEAD: usize = 151;
const CHIN: usize = 152;
const CHEEK: usize = 50;

/// What is held or worn before the face.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Worn {
    /// A mask of this colour.
    Mask([u8; 3]),
    /// Frames with clear glass.
    Glasses,
    Sunglasses,
    /// Four fingers across the mouth, in the colour of the person's cheek.
    Hand,
    Microphone,
}

/// The picture with every pixel changed by `change`.
fn each_pixel(picture: &RgbImage, mut change: impl FnMut(Vec3) -> Vec3) -> RgbImage {
    let mut out = picture.clone();
    out.pixels_mut().for_each(|pixel| *pixel = rgb(change(vec(*pixel))));
    out
}

fn vec(pixel: Rgb<u8>) -> Vec3 {
    Vec3::from_array(pixel.0.map(f32::from))
}

fn rgb(color: Vec3) -> Rgb<u8> {
    Rgb(color.round().clamp(Vec3::ZERO, Vec3::splat(255.0)).to_array().map(|v| v as u8))
}

/// A sensor's noise with this deviation in 8-bit steps, after `light` of the light is left.
pub(super) fn dim(picture: &RgbImage, light: f32, noise: f32, seed: u64) -> RgbImage {
    let mut rng = Rng::new(seed);
    each_pixel(picture, |color| color * light + nearly_normal(&mut rng) * noise)
}

/// Three numbers of deviation 1: sums of four uniform ones of ten bits each, which is far quicker than logarithms.
fn nearly_normal(rng: &mut Rng) -> Vec3 {
    let bits = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
    let uniform = |i: u32| (bits >> (10 * i) & 0x3FF) as f32 / 1024.0 - 0.4995;
    Vec3::from_array([0, 1, 2].map(|channel| (0..4).map(|k| uniform(channel * 4 + k)).sum::<f32>() / 0.577))
}

pub(super) fn grey(picture: &RgbImage) -> RgbImage {
    each_pixel(picture, |color| Vec3::splat(color.dot(Vec3::new(0.299, 0.587, 0.114))))
}

/// Darker skin: what has the hue of skin keeps this share of its light.
pub(super) fn skin(picture: &RgbImage, share: Vec3) -> RgbImage {
    each_pixel(picture, |color| {
        let warmth = ((color.x - color.z - 15.0) / 30.0).clamp(0.0, 1.0) * f32::from(u8::from(color.x > color.y));
        color * Vec3::ONE.lerp(share, warmth)
    })
}

/// Everything has moved by so many pixels to the right while the shutter was open.
pub(super) fn motion_blur(picture: &RgbImage, length: u32) -> RgbImage {
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let from = x.saturating_sub(length / 2);
        let to = (x + length.div_ceil(2)).min(picture.width() - 1).max(from);
        let sum: Vec3 = (from..=to).map(|x| vec(*picture.get_pixel(x, y))).sum();
        rgb(sum / (to - from + 1) as f32)
    })
}

/// A lamp that shines into the lens, its middle at this share of the picture.
pub(super) fn glare(picture: &RgbImage, middle: Vec2) -> RgbImage {
    let size = Vec2::new(picture.width() as f32, picture.height() as f32);
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let away = (Vec2::new(x as f32, y as f32) - middle * size).length() / size.y;
        let shine = 330.0 * (-(away / 0.16).powi(2)).exp() + 45.0 * (-(away / 0.6).powi(2)).exp();
        rgb(vec(*picture.get_pixel(x, y)) + shine)
    })
}

/// The picture seen through `source`: where in it each new pixel is taken from; edge pixels go on outside.
fn warp(picture: &RgbImage, source: impl Fn(Vec2) -> Vec2) -> RgbImage {
    let last = Vec2::new(picture.width() as f32 - 1.0, picture.height() as f32 - 1.0);
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let at = source(Vec2::new(x as f32, y as f32)).clamp(Vec2::ZERO, last);
        imageops::interpolate_bilinear(picture, at.x, at.y).unwrap_or(Rgb([0; 3]))
    })
}

/// Turned about its middle, clockwise as seen.
pub(super) fn rotate(picture: &RgbImage, angle_rad: f32) -> RgbImage {
    let middle = Vec2::new(picture.width() as f32, picture.height() as f32) / 2.0;
    warp(picture, |at| middle + Vec2::from_angle(-angle_rad).rotate(at - middle))
}

/// Moved by a share of its size: what leaves the frame is gone.
pub(super) fn shift(picture: &RgbImage, by: Vec2) -> RgbImage {
    let size = Vec2::new(picture.width() as f32, picture.height() as f32);
    warp(picture, |at| at - by * size)
}

/// Made smaller about its middle, as by a lens of a wider angle.
pub(super) fn shrink(picture: &RgbImage, share: f32) -> RgbImage {
    let (width, height) = picture.dimensions();
    let small = imageops::resize(
        picture,
        ((width as f32 * share) as u32).max(1),
        ((height as f32 * share) as u32).max(1),
        imageops::FilterType::Triangle,
    );
    let (left, top) = ((width - small.width()) / 2, (height - small.height()) / 2);
    RgbImage::from_fn(width, height, |x, y| {
        let within = |v: u32, from: u32, len: u32| v.saturating_sub(from).min(len - 1);
        *small.get_pixel(within(x, left, small.width()), within(y, top, small.height()))
    })
}

/// A framed picture hung up at a place.
pub(super) fn hang(picture: &RgbImage, poster: &RgbImage, left: i64, top: i64) -> RgbImage {
    let mut out = picture.clone();
    let frame = RgbImage::from_pixel(poster.width() + 8, poster.height() + 8, Rgb([52, 40, 34]));
    imageops::replace(&mut out, &frame, left - 4, top - 4);
    imageops::replace(&mut out, poster, left, top);
    out
}

/// Holds or wears something. Nothing happens without a whole face.
pub(super) fn wear(picture: &RgbImage, worn: Worn, landmarks_px: &[Vec3], seed: u64) -> RgbImage {
    if landmarks_px.len() < 468 {
        return picture.clone();
    }
    let at = |i: usize| landmarks_px.get(i).map_or(Vec2::ZERO, |p| p.truncate());
    let middle = EYES.map(|(outer, inner)| (at(outer) + at(inner)) / 2.0);
    let across = middle[1] - middle[0];
    let eyes = across.length().max(1.0);
    // In eye distances, along the line of the eyes and down the face.
    let axes = |origin: Vec2| {
        let along = across / eyes;
        move |p: Vec2| Vec2::new((p - origin).dot(along), (p - origin).dot(along.perp())) / eyes
    };
    let mut out = picture.clone();
    let mut rng = Rng::new(seed);
    let mut paint = |reach: f32, color_at: &mut dyn FnMut(Vec2) -> Option<Vec3>| {
        let (from, to) = (middle[0].min(middle[1]) - reach * eyes, middle[0].max(middle[1]) + reach * eyes);
        for (x, y, pixel) in out.enumerate_pixels_mut() {
            let p = Vec2::new(x as f32, y as f32);
            if p.cmpge(from).all()
                && p.cmple(to).all()
                && let Some(color) = color_at(p)
            {
                *pixel = rgb(color + rng.normal() * 2.0);
            }
        }
    };
    let nearest = |p: Vec2| {
        let (x, y) = (p.x.max(0.0) as u32, p.y.max(0.0) as u32);
        vec(*picture.get_pixel(x.min(picture.width() - 1), y.min(picture.height() - 1)))
    };
    let mouth = (at(13) + at(14)) / 2.0;
    match worn {
        Worn::Mask(color) => {
            let chin = (at(CHIN) - at(1)) * 0.08;
            let edge: Vec<Vec2> = MASK_EDGE
                .iter()
                .enumerate()
                .map(|(i, &p)| at(p) + if (5..16).contains(&i) { chin } else { Vec2::ZERO })
                .collect();
            let light = nearest(at(FOREHEAD)).element_sum() / 3.0 / 190.0;
            let place = axes(mouth);
            paint(4.0, &mut |p| {
                let p_in = place(p);
                let pleat = [-0.4f32, -0.1, 0.2].iter().map(|y| (-((p_in.y - y) / 0.03).powi(2)).exp()).sum::<f32>();
                let round = 1.0 - 0.22 * p_in.x * p_in.x;
                is_inside(&edge, p)
                    .then(|| Vec3::from_array(color.map(f32::from)) * light * round * (1.0 - 0.12 * pleat))
            });
        }
        Worn::Glasses | Worn::Sunglasses => {
            for middle in middle {
                let place = axes(middle);
                paint(1.5, &mut |p| {
                    let away = (place(p) / Vec2::new(0.44, 0.36)).length();
                    let is_frame = (0.9..1.05).contains(&away);
                    (is_frame || (worn == Worn::Sunglasses && away < 1.0)).then_some(Vec3::new(24.0, 22.0, 24.0))
                });
            }
            let place = axes((middle[0] + middle[1]) / 2.0);
            paint(1.5, &mut |p| {
                let p = place(p);
                (p.x.abs() < 0.1 && p.y.abs() < 0.035).then_some(Vec3::new(24.0, 22.0, 24.0))
            });
        }
        Worn::Hand => {
            let skin = nearest(at(CHEEK)) * Vec3::new(1.0, 0.96, 0.94);
            let tilt = Vec2::from_angle(-0.35);
            let place = axes(mouth);
            paint(5.0, &mut |p| {
                let p = tilt.rotate(place(p));
                (0..4).find_map(|finger| {
                    let (tip, across) = ([0.75, 0.95, 0.9, 0.7][finger], p.y - (finger as f32 - 1.5) * 0.36);
                    let beyond = (p.x - (tip - 0.2)).max(0.0);
                    let is_on = p.x > -3.0 && Vec2::new(beyond, across).length() < 0.2;
                    is_on.then(|| skin * (1.0 - 0.35 * (across.abs() / 0.2).powi(3)))
                })
            });
        }
        Worn::Microphone => {
            let place = axes(mouth);
            paint(5.0, &mut |p| {
                let p = place(p) - Vec2::new(0.08, 0.2);
                let ball = p.length() < 0.62;
                let stand = p.y > 0.0 && (p.x - p.y * 0.12).abs() < 0.2;
                let mesh = 62.0 + 30.0 * f32::from(u8::from((p.y * 9.0 + p.x * 2.0).sin() > 0.8));
                (ball || stand).then(|| Vec3::splat(if ball { mesh } else { 50.0 }))
            });
        }
    }
    out
}

/// Even–odd rule.
fn is_inside(edge: &[Vec2], p: Vec2) -> bool {
    let mut inside = false;
    for (i, &a) in edge.iter().enumerate() {
        let b = edge[(i + 1) % edge.len()];
        if (a.y > p.y) != (b.y > p.y) && p.x < (b.x - a.x) * (p.y - a.y) / (b.y - a.y) + a.x {
            inside = !inside;
        }
    }
    inside
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_keep_the_size_and_do_what_they_say() {
        let picture = RgbImage::from_fn(40, 30, |x, _| Rgb([if x < 20 { 200 } else { 40 }, 90, 60]));
        assert!(dim(&picture, 0.04, 0.0, 1).pixels().all(|p| p.0[0] <= 8));
        assert_eq!(dim(&picture, 1.0, 2.5, 7), dim(&picture, 1.0, 2.5, 7), "the same seed, the same noise");
        assert_eq!(shift(&picture, Vec2::new(0.25, 0.0)).get_pixel(25, 5).0[0], 200);
        assert_eq!(rotate(&picture, std::f32::consts::PI).get_pixel(35, 5).0[0], 200);
        let blurred = motion_blur(&picture, 9);
        assert!((60..180).contains(&blurred.get_pixel(20, 5).0[0]) && blurred.get_pixel(2, 5).0[0] == 200);
        assert_eq!(shrink(&picture, 0.5).dimensions(), (40, 30));
        assert_eq!(wear(&picture, Worn::Hand, &[], 1), picture);
    }
}
