//! What landmarks and blendshapes say about mouth, lids, brows and gaze.
//!
//! Distances are taken in head space (`head`), where every face has the canonical face's size and looks straight
//! ahead: so they do not change with distance, and little with the head's turning. Sides are the person's.
//! The limits were read off recordings of eight people and the drawn presenter.

use glam::Vec3;

use crate::signal::smoothstep;
use crate::types::{ARKIT_COUNT, Arkit, Brows, Gaze, Lids, MouthRatios};

use super::head::Head;
use super::lids::EyeSight;

/// Inner lips, upper and lower: the middle and a little to each side.
const LIP_PAIRS: [(usize, usize); 3] = [(13, 14), (82, 87), (312, 317)];
/// Outer corners of the mouth: the person's right, left.
const MOUTH_CORNERS: (usize, usize) = (61, 291);
/// Between the inner lips, cm: closed lips measure 0.02–0.1, loud vowels 1.5–2.1, a wide-open mouth 2.5–3.5.
const LIP_GAP: Ramp = Ramp { from: 0.1, to: 2.6 };
/// `jawOpen`: up to 0.07 with closed lips, 0.65 wide open.
const JAW: Ramp = Ramp { from: 0.05, to: 0.65 };
/// The jaw's say in the opening: the gap alone changes with the head's pitch, and a grin shows teeth.
const JAW_SHARE: f32 = 0.35;
/// Width of the mouth against this person's at rest: a full pucker is narrower by 0.2, a broad smile wider by 0.3.
const NARROWER: f32 = 0.2;
const WIDER: f32 = 0.3;
/// The blendshapes' say in the width.
const WIDTH_SHAPE_SHARE: f32 = 0.4;

/// How much narrowing counts as rounding: less may be a rest not learned yet.
const NARROW_ROUND: Ramp = Ramp { from: 0.2, to: 1.0 };

/// Weights of brows at rest reach 0.2 (down) and 0.2 (up, mixed as below); people differ most here.
const BROW_UP: Ramp = Ramp { from: 0.15, to: 0.65 };
const BROW_DOWN: Ramp = Ramp { from: 0.2, to: 0.7 };
const BROW_INNER_SHARE: f32 = 0.4;

/// Eye rotation at full weight of the look shapes, degrees.
const GAZE_YAW_DEG: f32 = 30.0;
const GAZE_PITCH_DEG: f32 = 20.0;
/// Lids over which the iris is no more to be seen.
const GAZE_HIDDEN: Ramp = Ramp { from: 0.5, to: 0.9 };

/// A linear way from 0 to 1; `from` may be the larger.
struct Ramp {
    from: f32,
    to: f32,
}

impl Ramp {
    fn at(&self, value: f32) -> f32 {
        ((value - self.from) / (self.to - self.from)).clamp(0.0, 1.0)
    }
}

/// One eye's landmarks and shapes.
struct Eye {
    /// Towards the ear, towards the nose.
    corners: (usize, usize),
    /// Upper and lower lid, three places along the eye.
    lids: [(usize, usize); 3],
    blink: Arkit,
}

const RIGHT_EYE: Eye =
    Eye { corners: (33, 133), lids: [(159, 145), (160, 144), (158, 153)], blink: Arkit::EyeBlinkRight };
const LEFT_EYE: Eye =
    Eye { corners: (263, 362), lids: [(386, 374), (387, 373), (385, 380)], blink: Arkit::EyeBlinkLeft };

/// A face in one frame, ready to be measured.
pub(super) struct Face<'a> {
    pub landmarks_px: &'a [Vec3],
    pub head: &'a Head,
    pub blendshapes: &'a [f32; ARKIT_COUNT],
}

impl Face<'_> {
    /// The mouth, and a chance to learn how wide it is at rest, `dt` seconds after the last frame.
    pub fn mouth(&self, rest: &mut MouthRest, dt: f32) -> MouthRatios {
        let gap = LIP_GAP.at(mean(LIP_PAIRS.map(|(upper, lower)| self.distance_cm(upper, lower))));
        let jaw = JAW.at(self.shape(Arkit::JawOpen));
        // A jaw that drops behind closed lips opens no mouth.
        let open = (gap + (jaw - gap) * JAW_SHARE).min(2.0 * gap);
        let smile = mean([Arkit::MouthSmileLeft, Arkit::MouthSmileRight].map(|shape| self.shape(shape)));
        let stretch = mean([Arkit::MouthStretchLeft, Arkit::MouthStretchRight].map(|shape| self.shape(shape)));
        let purse = self.shape(Arkit::MouthPucker).max(self.shape(Arkit::MouthFunnel));

        let width_cm = self.distance_cm(MOUTH_CORNERS.0, MOUTH_CORNERS.1);
        if open < MouthRest::MAX_OPEN && smile.max(stretch).max(purse) < MouthRest::MAX_SHAPE {
            rest.learn(width_cm, dt);
        }
        let change = width_cm / rest.width_cm - 1.0;
        let measured = (if change < 0.0 { change / NARROWER } else { change / WIDER }).clamp(-1.0, 1.0);
        let shaped = (smile.max(stretch) - purse).clamp(-1.0, 1.0);
        let signed_width = measured + (shaped - measured) * WIDTH_SHAPE_SHARE;
        MouthRatios {
            open: open.clamp(0.0, 1.0),
            width: (0.5 + 0.5 * signed_width).clamp(0.0, 1.0),
            round: purse.max(NARROW_ROUND.at(-measured)).clamp(0.0, 1.0),
            smile: smile.clamp(0.0, 1.0),
        }
    }

    /// What the eyes' openings look like.
    pub fn eyes(&self) -> EyeSight {
        EyeSight {
            aspects: [&LEFT_EYE, &RIGHT_EYE].map(|eye| self.aspect(eye)),
            blinks: [&LEFT_EYE, &RIGHT_EYE].map(|eye| self.shape(eye.blink)),
        }
    }

    fn aspect(&self, eye: &Eye) -> f32 {
        let height_cm = mean(eye.lids.map(|(upper, lower)| self.distance_cm(upper, lower)));
        height_cm / self.distance_cm(eye.corners.0, eye.corners.1).max(0.1)
    }

    /// The eyebrows.
    pub fn brows(&self) -> Brows {
        let inner = self.shape(Arkit::BrowInnerUp);
        let brow = |outer, down| {
            let outer = self.shape(outer);
            BROW_UP.at(outer + (inner - outer) * BROW_INNER_SHARE) - BROW_DOWN.at(self.shape(down))
        };
        Brows {
            left: brow(Arkit::BrowOuterUpLeft, Arkit::BrowDownLeft),
            right: brow(Arkit::BrowOuterUpRight, Arkit::BrowDownRight),
        }
    }

    /// Where the eyes look, from both eyes together. Closed eyes look straight ahead.
    pub fn gaze(&self, lids: Lids) -> Gaze {
        let to_left = self.shape(Arkit::EyeLookOutLeft) + self.shape(Arkit::EyeLookInRight);
        let to_right = self.shape(Arkit::EyeLookInLeft) + self.shape(Arkit::EyeLookOutRight);
        let down = self.shape(Arkit::EyeLookDownLeft) + self.shape(Arkit::EyeLookDownRight);
        let up = self.shape(Arkit::EyeLookUpLeft) + self.shape(Arkit::EyeLookUpRight);
        let visible = 1.0 - smoothstep(GAZE_HIDDEN.at((lids.left + lids.right) / 2.0));
        Gaze {
            yaw: (to_left - to_right) / 2.0 * GAZE_YAW_DEG.to_radians() * visible,
            pitch: (down - up) / 2.0 * GAZE_PITCH_DEG.to_radians() * visible,
        }
    }

    fn shape(&self, shape: Arkit) -> f32 {
        self.blendshapes[shape as usize]
    }

    fn distance_cm(&self, a: usize, b: usize) -> f32 {
        let place = |landmark: usize| self.landmarks_px.get(landmark).map(|&p| self.head.in_head_cm(p));
        place(a).zip(place(b)).map_or(0.0, |(a, b)| a.distance(b))
    }
}

fn mean<const N: usize>(values: [f32; N]) -> f32 {
    values.iter().sum::<f32>() / N as f32
}

/// How wide this person's mouth is at rest: people differ by a fifth, as much as an "ee" widens it.
/// Learned from relaxed, closed mouths.
#[derive(Clone, Copy, Debug)]
pub(super) struct MouthRest {
    /// Head space, so against the canonical face's size.
    width_cm: f32,
    /// How many seconds the width rests on.
    secs: f32,
}

impl Default for MouthRest {
    fn default() -> Self {
        Self { width_cm: Self::TYPICAL_CM, secs: 0.2 }
    }
}

impl MouthRest {
    /// Of eight people: 4.3–5.2.
    const TYPICAL_CM: f32 = 4.8;
    /// Lips further apart, or shapes stronger than these, are no rest.
    const MAX_OPEN: f32 = 0.15;
    const MAX_SHAPE: f32 = 0.12;
    /// So long a memory in the end: a change of seat or light is learned within half a minute.
    const MEMORY_SECS: f32 = 15.0;

    fn learn(&mut self, width_cm: f32, dt: f32) {
        // Nothing broken may stay in the memory.
        if (1.0..20.0).contains(&width_cm) && dt > 0.0 {
            self.secs = (self.secs + dt).min(Self::MEMORY_SECS);
            self.width_cm += (width_cm - self.width_cm) * (dt / self.secs).min(1.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::face::head::HeadSolver;
    use crate::face::head::tests::{FOV_RAD, project};
    use crate::types::HeadPose;

    struct Sitter {
        landmarks_px: Vec<Vec3>,
        head: Head,
        blendshapes: [f32; ARKIT_COUNT],
    }

    impl Sitter {
        fn new(pose: HeadPose, position: Vec3) -> Self {
            let landmarks_px = project(pose, position);
            let head = HeadSolver::load().unwrap().solve(&landmarks_px, 640, 480, FOV_RAD).unwrap();
            Self { landmarks_px, head, blendshapes: [0.0; ARKIT_COUNT] }
        }

        fn with(mut self, shapes: &[(Arkit, f32)]) -> Self {
            for &(shape, weight) in shapes {
                self.blendshapes[shape as usize] = weight;
            }
            self
        }

        fn face(&self) -> Face<'_> {
            Face { landmarks_px: &self.landmarks_px, head: &self.head, blendshapes: &self.blendshapes }
        }
    }

    fn lids_of(sitter: &Sitter) -> Lids {
        crate::face::lids::LidReader::default().read(sitter.face().eyes(), true, 0.03)
    }

    fn straight() -> Sitter {
        Sitter::new(HeadPose::default(), Vec3::new(0.0, 0.0, 0.5))
    }

    proptest! {
        #[test]
        fn ratios_depend_little_on_distance_and_turning(
            yaw in -0.5f32..0.5, pitch in -0.3f32..0.3, roll in -0.5f32..0.5, x in -0.1f32..0.1, z in 0.35f32..1.2,
        ) {
            let turned = Sitter::new(HeadPose { yaw, pitch, roll }, Vec3::new(x, 0.0, z));
            let mouth = |sitter: &Sitter| sitter.face().mouth(&mut MouthRest::default(), 0.0);
            let (turned, straight) = (mouth(&turned), mouth(&straight()));
            prop_assert!((turned.open - straight.open).abs() < 0.02, "{turned:?}");
            prop_assert!((turned.width - straight.width).abs() < 0.06, "{turned:?}");
        }

        #[test]
        fn any_weights_give_values_in_range(weights in prop::collection::vec(0.0f32..=1.0, ARKIT_COUNT)) {
            let mut sitter = straight();
            sitter.blendshapes.copy_from_slice(&weights);
            let (face, mut rest) = (sitter.face(), MouthRest::default());
            let (mouth, lids, brows) = (face.mouth(&mut rest, 0.03), lids_of(&sitter), face.brows());
            for value in [mouth.open, mouth.width, mouth.round, mouth.smile, lids.left, lids.right] {
                prop_assert!((0.0..=1.0).contains(&value));
            }
            prop_assert!(brows.left.abs() <= 1.0 && brows.right.abs() <= 1.0);
            prop_assert!(face.gaze(lids).yaw.abs() < 0.6);
        }
    }

    #[test]
    fn sides_are_the_persons() {
        let sitter = straight().with(&[(Arkit::EyeBlinkLeft, 0.7), (Arkit::BrowOuterUpRight, 0.9)]);
        let (eyes, brows) = (sitter.face().eyes(), sitter.face().brows());
        assert!(eyes.blinks[0] > eyes.blinks[1] + 0.5);
        assert!(eyes.aspects.iter().all(|aspect| (0.2..0.5).contains(aspect)), "{eyes:?}");
        assert!(brows.right > brows.left + 0.5);
        let sitter = straight().with(&[(Arkit::EyeLookOutLeft, 0.6), (Arkit::EyeLookInRight, 0.6)]);
        let gaze = sitter.face().gaze(Lids::default());
        assert!(gaze.yaw > 0.2 && gaze.pitch == 0.0, "both eyes to the own left: {gaze:?}");
        assert_eq!(sitter.face().gaze(Lids { left: 1.0, right: 1.0 }).yaw, 0.0);
    }

    #[test]
    fn closed_lips_stay_closed_however_low_the_jaw() {
        let mut sitter = straight().with(&[(Arkit::JawOpen, 0.6)]);
        for (upper, lower) in LIP_PAIRS {
            sitter.landmarks_px[lower] = sitter.landmarks_px[upper];
        }
        assert_eq!(sitter.face().mouth(&mut MouthRest::default(), 0.0).open, 0.0);
    }

    #[test]
    fn the_width_at_rest_is_learned_and_becomes_the_middle() {
        let (sitter, mut rest) = (straight(), MouthRest::default());
        let before = sitter.face().mouth(&mut rest, 0.0).width;
        let mut after = before;
        for _ in 0..60 {
            after = sitter.face().mouth(&mut rest, 1.0 / 30.0).width;
        }
        assert!((after - 0.5).abs() < 0.02 && (after - 0.5).abs() < (before - 0.5).abs(), "{before} → {after}");
        let smiling = straight().with(&[(Arkit::MouthSmileLeft, 0.8), (Arkit::MouthSmileRight, 0.8)]);
        let learned = rest.width_cm;
        let mouth = smiling.face().mouth(&mut rest, 1.0);
        assert!(mouth.width > 0.6 && mouth.smile == 0.8);
        assert_eq!(rest.width_cm, learned, "a smile is no rest");
    }
}
