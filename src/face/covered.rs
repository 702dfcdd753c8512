//! Are the mouth and the eyes to be seen, or is a hand, a mask, a microphone, are sunglasses before them?
//!
//! The landmark network never says so: it draws a mouth on a mask, and moves it. But lips differ from the skin around
//! them – redder, darker, with a dark line or teeth between them – and what covers them does not where the network
//! thinks the lips are. Measured on thirteen people and what was drawn over them: uncovered lips differ by 0.12 (a
//! small, washed-out face) to 1.0, covers by 0.02 to 0.1. How much a person's own lips differ is learned.
//!
//! Space: frame pixels.

use glam::{Vec2, Vec3};

use crate::signal::smoothing_share;

use super::picture::Picture;

/// Outer and inner edge of the lips, from the middle outwards to both sides.
const UPPER_LIP: [(usize, usize); 7] = [(0, 13), (37, 82), (267, 312), (39, 81), (269, 311), (40, 80), (270, 310)];
const LOWER_LIP: [(usize, usize); 7] = [(17, 14), (84, 87), (314, 317), (181, 178), (405, 402), (91, 88), (321, 318)];
/// Inner lips, upper and lower: between them is the line, the teeth or the dark.
const BETWEEN: [(usize, usize); 7] = [(13, 14), (82, 87), (312, 317), (81, 178), (311, 402), (80, 88), (310, 318)];
/// Across a lip, from its outer edge: where it is looked at.
const ON_LIP: [f32; 2] = [0.35, 0.65];
/// Beyond the outer edge, in breadths of the lip: the skin above and below the mouth. Without the corners.
const ABOVE: [f32; 2] = [-0.45, -0.8];
const BELOW: [f32; 2] = [-0.6, -1.1];
const SKIN_PAIRS: usize = 5;
/// Skin beside the mouth, and of the cheeks.
const BESIDE: [usize; 8] = [57, 287, 43, 273, 186, 410, 212, 432];
const CHEEKS: [usize; 10] = [50, 280, 101, 330, 36, 266, 118, 347, 205, 425];
/// Around an eye, and the eye itself: what sunglasses hide.
const AROUND_EYES: [[usize; 8]; 2] = [[27, 29, 28, 56, 23, 24, 22, 26], [257, 259, 258, 286, 253, 254, 252, 256]];
const IN_EYES: [[usize; 5]; 2] = [[468, 159, 145, 33, 133], [473, 386, 374, 263, 362]];

/// Lips that differ less than this from the skin are no lips, whoever it is; at most so much is asked for.
const LEAST_VISIBLE: f32 = 0.085;
const MOST_ASKED: f32 = 0.2;
/// Of what the person's own lips differ by.
const SHARE_OF_OWN: f32 = 0.38;
/// To be believed again they must differ by this factor more.
const BACK_FACTOR: f32 = 1.4;
/// The line between the lips counts half: folds and fingers have some, too.
const LINE_SHARE: f32 = 0.5;
/// The measurements are averaged over so long, and must say the same for so long.
const SMOOTH_SECS: f32 = 0.07;
const COVERED_AFTER_SECS: f32 = 0.1;
const VISIBLE_AFTER_SECS: f32 = 0.1;
/// The person's own lips are learned so slowly.
const LEARN_SECS: f32 = 4.0;
const LEARNED_AFTER_SECS: f32 = 1.0;
/// Faces turned further than this (cosine of 40°) show the lips too slanted to judge them.
const FRONTAL: f32 = 0.77;
/// Eyes nearer to each other than this, pixels, belong to faces whose lips are smaller than what they are judged by: at
/// 8 px a bare mouth differs as little as a mask.
const LEAST_EYES_PX: f32 = 16.0;
/// Natural logarithm of luma, eyes and around them against cheeks: bare ones are −0.1 to −0.8, dark glasses −1.7.
const DARK_GLASSES: f32 = -1.0;
const DARK_GLASSES_BACK: f32 = -0.85;
/// Dark glasses are one surface; in the shadow of brows the eyes stand out.
const ONE_SURFACE: f32 = 0.45;
const EYES_AFTER_SECS: f32 = 0.3;
/// Luma of the cheeks below which lips cannot be told from noise, and from which they can again.
const TOO_DARK: f32 = 10.0;
const BRIGHT_AGAIN: f32 = 13.0;
/// Added to all values, so that noise near black weighs little.
const BLACK_LEVEL: f32 = 2.0;

/// What one picture shows of the places in question.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Measure {
    /// Lips against the skin around them: how much redder, how much lighter; and what is between them against lips.
    /// Natural logarithms.
    lips: Vec3,
    /// Share of the lips inside the picture.
    inside: f32,
    /// Luma of the cheeks, 0..255.
    cheeks: f32,
    /// Between the irises, pixels.
    eyes_px: f32,
    eyes_dark: bool,
    eyes_bare: bool,
}

/// What is covered.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Cover {
    /// The mouth is hidden, or outside the picture.
    pub mouth: bool,
    /// It may be just now: believe no opening.
    pub mouth_doubtful: bool,
    pub eyes: bool,
    /// The face is too dark to see what its mouth does.
    pub too_dark: bool,
}

/// Follows one face.
#[derive(Clone, Debug, Default)]
pub(super) struct Covers {
    cover: Cover,
    /// Smoothed; `None` at first.
    lips: Option<Vec3>,
    /// How much this person's lips differ from the skin, and how many seconds that rests on.
    own: f32,
    own_secs: f32,
    /// For so long the mouth, the eyes have looked otherwise than `cover` says.
    mouth_secs: f32,
    eyes_secs: f32,
}

impl Covers {
    /// The face in this picture, `dt` seconds after the last one. `facing`: cosine of the angle to the line of sight.
    pub fn step(&mut self, picture: Picture<'_>, landmarks_px: &[Vec3], facing: f32, dt: f32) -> Cover {
        let Some(measure) = measure(picture, landmarks_px) else { return self.cover };
        self.cover.too_dark = measure.cheeks < if self.cover.too_dark { BRIGHT_AGAIN } else { TOO_DARK };
        self.cover.mouth_doubtful = self.cover.mouth;
        if self.cover.too_dark || facing < FRONTAL || measure.eyes_px < LEAST_EYES_PX {
            return self.cover;
        }
        self.step_mouth(&measure, dt);
        self.step_eyes(&measure, dt);
        self.cover
    }

    fn step_mouth(&mut self, measure: &Measure, dt: f32) {
        let share = smoothing_share(SMOOTH_SECS, dt);
        let lips = *self.lips.get_or_insert(measure.lips);
        let lips = lips + (measure.lips - lips) * share;
        self.lips = Some(lips);
        let limit = match self.own_secs >= LEARNED_AFTER_SECS {
            true => (self.own * SHARE_OF_OWN).clamp(LEAST_VISIBLE, MOST_ASKED),
            false => LEAST_VISIBLE,
        };
        let is_outside = measure.inside < 0.5;
        let is_hidden = |lips: Vec3, limit: f32| is_outside || difference(lips) < limit;
        let is_otherwise =
            if self.cover.mouth { !is_hidden(lips, limit * BACK_FACTOR) } else { is_hidden(lips, limit) };
        self.mouth_secs = if is_otherwise { self.mouth_secs + dt } else { 0.0 };
        let after = if self.cover.mouth { VISIBLE_AFTER_SECS } else { COVERED_AFTER_SECS };
        if self.mouth_secs >= after {
            self.cover.mouth = !self.cover.mouth;
            self.mouth_secs = 0.0;
        }
        self.cover.mouth_doubtful = self.cover.mouth || is_hidden(measure.lips, limit) || is_hidden(lips, limit);
        if !self.cover.mouth_doubtful && difference(lips) > limit * BACK_FACTOR {
            self.own_secs = (self.own_secs + dt).min(LEARN_SECS);
            let share = (dt / self.own_secs.max(dt)).clamp(0.0, 1.0);
            self.own += (difference(lips) - self.own) * share;
        }
    }

    fn step_eyes(&mut self, measure: &Measure, dt: f32) {
        let is_otherwise = if self.cover.eyes { measure.eyes_bare } else { measure.eyes_dark };
        self.eyes_secs = if is_otherwise { self.eyes_secs + dt } else { 0.0 };
        if self.eyes_secs >= EYES_AFTER_SECS {
            self.cover.eyes = !self.cover.eyes;
            self.eyes_secs = 0.0;
        }
    }
}

/// How much lips differ from the skin around them and from what is between them.
fn difference(lips: Vec3) -> f32 {
    lips.x.abs() + lips.y.abs() + LINE_SHARE * lips.z.abs()
}

/// `None` for landmarks that are no whole face.
fn measure(picture: Picture<'_>, landmarks_px: &[Vec3]) -> Option<Measure> {
    let at = |i: usize| landmarks_px.get(i).map_or(Vec2::ZERO, |p| p.truncate());
    if landmarks_px.len() < super::mesh::LANDMARK_COUNT || !landmarks_px.iter().all(|p| p.is_finite()) {
        return None;
    }
    let across = |pairs: &[(usize, usize)], shares: [f32; 2]| -> Vec<Vec2> {
        pairs.iter().flat_map(|&(outer, inner)| shares.map(|t| at(outer).lerp(at(inner), t))).collect()
    };
    let color = |points: &[Vec2]| median(points.iter().map(|&p| sample(picture, p)).collect());
    let upper = across(&UPPER_LIP, ON_LIP);
    let lower = across(&LOWER_LIP, ON_LIP);
    let lips = (color(&upper) + color(&lower)) / 2.0;
    let above = color(&across(&UPPER_LIP[..SKIN_PAIRS], ABOVE));
    let below = color(&across(&LOWER_LIP[..SKIN_PAIRS], BELOW));
    let beside = color(&BESIDE.map(at));
    let skin = median(vec![above, below, beside]);
    let between = BETWEEN.map(|(a, b)| (at(a) + at(b)) / 2.0);
    let between = between.iter().map(|&p| sample(picture, p)).sum::<Vec3>() / between.len() as f32;
    let cheeks = luma(color(&CHEEKS.map(at)));

    let frame = Vec2::new(picture.width as f32, picture.height as f32);
    let is_inside = |p: &&Vec2| p.cmpge(Vec2::ZERO).all() && p.cmplt(frame).all();
    let inside = upper.iter().chain(&lower).filter(is_inside).count();
    let against = |color: Vec3| (luma(color) / cheeks).ln();
    let eyes = [0, 1].map(|i| (against(color(&AROUND_EYES[i].map(at))), against(color(&IN_EYES[i].map(at)))));
    let is_dark =
        |&(around, within): &(f32, f32)| around.max(within) < DARK_GLASSES && (around - within).abs() < ONE_SURFACE;
    let is_bare = |&(around, within): &(f32, f32)| around.max(within) > DARK_GLASSES_BACK;
    Some(Measure {
        lips: Vec3::new(
            redness(lips) - redness(skin),
            (luma(lips) / luma(skin)).ln(),
            (luma(between) / luma(lips)).ln(),
        ),
        inside: inside as f32 / (upper.len() + lower.len()) as f32,
        cheeks: cheeks - BLACK_LEVEL,
        eyes_px: at(IN_EYES[0][0]).distance(at(IN_EYES[1][0])),
        eyes_dark: eyes.iter().all(is_dark),
        eyes_bare: eyes.iter().any(is_bare),
    })
}

fn redness(color: Vec3) -> f32 {
    (color.x / color.y).ln()
}

/// BT.601.
fn luma(color: Vec3) -> f32 {
    color.dot(Vec3::new(0.299, 0.587, 0.114))
}

/// Channel by channel, of a few colours.
fn median(mut colors: Vec<Vec3>) -> Vec3 {
    Vec3::from_array([0, 1, 2].map(|channel| {
        colors.sort_unstable_by(|a, b| a[channel].total_cmp(&b[channel]));
        let middle = colors.len() / 2;
        colors.get(middle).map_or(0.0, |color| color[channel])
    }))
}

/// The colour at a place, bilinear, edge pixels repeated outside; above black.
fn sample(picture: Picture<'_>, at: Vec2) -> Vec3 {
    let last = Vec2::new(picture.width.saturating_sub(1) as f32, picture.height.saturating_sub(1) as f32);
    let at = at.clamp(Vec2::ZERO, last);
    let (column, row) = (at.x as usize, at.y as usize);
    let fraction = at - at.floor();
    let pixel = |x: usize, y: usize| {
        let rgb = picture.pixel(x.min(picture.width - 1), y.min(picture.height - 1));
        Vec3::from_array(rgb.map(f32::from))
    };
    let upper = pixel(column, row).lerp(pixel(column + 1, row), fraction.x);
    let lower = pixel(column, row + 1).lerp(pixel(column + 1, row + 1), fraction.x);
    upper.lerp(lower, fraction.y) + BLACK_LEVEL
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(covers: &mut Covers, lips: Vec3, secs: f32) -> Cover {
        let measure = Measure { lips, inside: 1.0, cheeks: 150.0, eyes_px: 50.0, eyes_dark: false, eyes_bare: true };
        for _ in 0..(secs * 30.0).round() as usize {
            covers.step_mouth(&measure, 1.0 / 30.0);
        }
        covers.cover
    }

    #[test]
    fn a_mouth_is_covered_and_bare_again_within_a_third_of_a_second() {
        let mut covers = Covers::default();
        let (bare, hand) = (Vec3::new(0.3, -0.25, -0.2), Vec3::new(0.01, -0.05, 0.03));
        assert_eq!(step(&mut covers, bare, 3.0), Cover::default());
        assert!(step(&mut covers, hand, 1.0 / 30.0).mouth_doubtful, "doubt is at once");
        assert!(step(&mut covers, hand, 0.3).mouth);
        assert!(step(&mut covers, hand, 30.0).mouth, "and what covers is not learned");
        assert!(!step(&mut covers, bare, 0.3).mouth);
    }

    #[test]
    fn pale_lips_are_learned_and_a_mask_worn_from_the_start_is_none() {
        let mut covers = Covers::default();
        let pale = Vec3::new(0.02, -0.1, -0.06);
        assert!(!step(&mut covers, pale, 5.0).mouth);
        assert!(step(&mut Covers::default(), Vec3::new(-0.01, 0.02, -0.05), 0.3).mouth);
    }

    #[test]
    fn no_landmarks_make_it_panic() {
        let rgb = [100; 3 * 12];
        let picture = Picture { width: 4, height: 3, rgb: &rgb };
        assert_eq!(measure(picture, &[]), None);
        assert_eq!(measure(picture, &vec![Vec3::NAN; 478]), None);
        for scale in [0.0, 1.0, -1e30, 1e30] {
            let measure = measure(picture, &vec![Vec3::splat(scale); 478]).unwrap();
            assert!(measure.lips.is_finite() && measure.cheeks.is_finite());
        }
    }
}
