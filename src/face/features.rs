//! What landmarks and blendshapes say about mouth, lids, brows and gaze.
//!
//! Distances are taken in head space (`head`), where every face has the canonical face's size and looks straight
//! ahead: so they do not change with distance, and little with the head's turning. Sides are the person's.
//! The limits were read off recordings of eight people and the drawn presenter.

use glam::Vec3;

use crate::settings::CalibrationSettings;
use crate::types::{ARKIT_COUNT, Arkit, Brows, FaceObservation, Gaze, Lids, MouthRatios};

use super::baseline::ShapeBaseline;
use super::gaze::{GazeReader, IrisSight};
use super::head::Head;
use super::lids::{EyeSight, LidLevels, LidReader};
use super::mesh::LANDMARK_COUNT;

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

/// Brows beyond this person's rest. A rest not learned yet reaches 0.2, and a still face's noise 0.05.
const BROW_UP: Ramp = Ramp { from: 0.12, to: 0.6 };
const BROW_DOWN: Ramp = Ramp { from: 0.15, to: 0.65 };
const BROW_INNER_SHARE: f32 = 0.4;

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
    iris: usize,
    blink: Arkit,
}

const RIGHT_EYE: Eye =
    Eye { corners: (33, 133), lids: [(159, 145), (160, 144), (158, 153)], iris: 468, blink: Arkit::EyeBlinkRight };
const LEFT_EYE: Eye =
    Eye { corners: (263, 362), lids: [(386, 374), (387, 373), (385, 380)], iris: 473, blink: Arkit::EyeBlinkLeft };

/// How wide an eye is in the picture, pixels.
fn width_px(eye: &Eye, landmarks_px: &[Vec3]) -> f32 {
    match (landmarks_px.get(eye.corners.0), landmarks_px.get(eye.corners.1)) {
        (Some(a), Some(b)) => a.truncate().distance(b.truncate()),
        _ => 0.0,
    }
}

/// The irises seen from `place`, which says where a landmark is in the head's space.
fn irises(place: impl Fn(usize) -> Vec3, landmarks_px: &[Vec3], shapes: &[f32; ARKIT_COUNT]) -> IrisSight {
    let shift = |eye: &Eye| {
        // Depth is left out: the network's irises lie deeper or shallower as it likes.
        let [outer, inner, iris] = [eye.corners.0, eye.corners.1, eye.iris].map(|i| place(i).truncate());
        let (right, left) = if outer.x < inner.x { (outer, inner) } else { (inner, outer) };
        let across = left - right;
        (iris - (left + right) / 2.0).dot(across) / across.length_squared().max(1e-6)
    };
    let shape = |shape: Arkit| shapes[shape as usize];
    let down = shape(Arkit::EyeLookDownLeft) + shape(Arkit::EyeLookDownRight);
    let up = shape(Arkit::EyeLookUpLeft) + shape(Arkit::EyeLookUpRight);
    IrisSight {
        shifts: [&LEFT_EYE, &RIGHT_EYE].map(shift),
        weights: [&LEFT_EYE, &RIGHT_EYE].map(|eye| width_px(eye, landmarks_px).powi(2)),
        down: (down - up) / 2.0,
    }
}

/// The irises of an observation; `None` without landmarks. The head's turning is taken off by its angles alone.
pub(super) fn iris_sight(seen: &FaceObservation) -> Option<IrisSight> {
    let landmarks = seen.landmarks_px.get(..LANDMARK_COUNT)?;
    let head_from_camera = seen.head.to_quat().inverse();
    let place = |landmark: usize| {
        landmarks.get(landmark).map_or(Vec3::ZERO, |&p| head_from_camera * (p * Vec3::new(1.0, -1.0, -1.0)))
    };
    Some(irises(place, landmarks, &seen.blendshapes))
}

/// Height by width of the eyes of an observation, left and right; zeros without landmarks.
pub(super) fn eye_aspects(seen: &FaceObservation) -> [f32; 2] {
    let distance = |a: usize, b: usize| {
        let place = |landmark: usize| seen.landmarks_px.get(landmark);
        place(a).zip(place(b)).map_or(0.0, |(a, b)| a.distance(*b))
    };
    [&LEFT_EYE, &RIGHT_EYE].map(|eye| {
        let height = mean(eye.lids.map(|(upper, lower)| distance(upper, lower)));
        let width = distance(eye.corners.0, eye.corners.1);
        if width > 0.0 { height / width } else { 0.0 }
    })
}

/// What is measured of a face.
#[derive(Clone, Copy, Debug)]
pub(super) struct Features {
    pub mouth: MouthRatios,
    pub lids: Lids,
    pub brows: Brows,
    pub gaze: Gaze,
}

/// What is known of the person: learned while they are seen, or calibrated.
#[derive(Clone, Debug, Default)]
pub(super) struct Person {
    mouth: MouthRest,
    lids: LidReader,
    gaze: GazeReader,
    shapes: ShapeBaseline,
}

impl Person {
    /// Somebody new, of whom only the calibration is known.
    pub fn calibrated(calibration: &CalibrationSettings) -> Self {
        let mut person = Self::default();
        person.calibrate(calibration);
        person
    }

    /// Takes over a calibration; what was never measured stays learned.
    pub fn calibrate(&mut self, calibration: &CalibrationSettings) {
        let CalibrationSettings { lids_open, lids_closed, gaze_rest, shapes_rest, .. } = calibration;
        self.lids.calibrate(LidLevels { open: *lids_open, closed: *lids_closed });
        if lids_open.iter().all(|aspect| *aspect > 0.0) {
            self.gaze.calibrate(*gaze_rest);
        }
        self.shapes.calibrate(shapes_rest);
    }

    /// Measures a face `dt` seconds after the last one, and learns from it if it is seen from the front.
    pub fn read(&mut self, face: &Face<'_>, is_frontal: bool, dt: f32) -> Features {
        let shapes = self.shapes.personal(face.blendshapes, is_frontal, dt);
        let lids = self.lids.read(face.eyes(), is_frontal, dt);
        Features {
            mouth: MouthRatios {
                smile: mean([Arkit::MouthSmileLeft, Arkit::MouthSmileRight].map(|shape| shapes[shape as usize])),
                ..face.mouth(&mut self.mouth, dt)
            },
            lids,
            brows: brows(&shapes),
            gaze: self.gaze.read(face.irises(), lids, is_frontal, dt),
        }
    }
}

/// The eyebrows, from this person's shapes.
fn brows(shapes: &[f32; ARKIT_COUNT]) -> Brows {
    let shape = |shape: Arkit| shapes[shape as usize];
    let inner = shape(Arkit::BrowInnerUp);
    let brow = |outer, down| {
        let outer = shape(outer);
        BROW_UP.at(outer + (inner - outer) * BROW_INNER_SHARE) - BROW_DOWN.at(shape(down))
    };
    Brows {
        left: brow(Arkit::BrowOuterUpLeft, Arkit::BrowDownLeft),
        right: brow(Arkit::BrowOuterUpRight, Arkit::BrowDownRight),
    }
}

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
            widths_px: [&LEFT_EYE, &RIGHT_EYE].map(|eye| width_px(eye, self.landmarks_px)),
        }
    }

    fn aspect(&self, eye: &Eye) -> f32 {
        let height_cm = mean(eye.lids.map(|(upper, lower)| self.distance_cm(upper, lower)));
        height_cm / self.distance_cm(eye.corners.0, eye.corners.1).max(0.1)
    }

    /// Where the irises stand.
    pub fn irises(&self) -> IrisSight {
        let place = |landmark: usize| self.landmarks_px.get(landmark).map_or(Vec3::ZERO, |&p| self.head.in_head_cm(p));
        irises(place, self.landmarks_px, self.blendshapes)
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

    fn read(sitter: &Sitter) -> Features {
        Person::default().read(&sitter.face(), true, 0.03)
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
            let Features { mouth, lids, brows, gaze } = read(&sitter);
            for value in [mouth.open, mouth.width, mouth.round, mouth.smile, lids.left, lids.right] {
                prop_assert!((0.0..=1.0).contains(&value));
            }
            prop_assert!(brows.left.abs() <= 1.0 && brows.right.abs() <= 1.0);
            prop_assert!(gaze.yaw.abs() < 0.8 && gaze.pitch.abs() < 0.8);
        }
    }

    #[test]
    fn sides_are_the_persons() {
        let sitter = straight().with(&[(Arkit::EyeBlinkLeft, 0.7), (Arkit::BrowOuterUpRight, 0.9)]);
        let (eyes, brows) = (sitter.face().eyes(), read(&sitter).brows);
        assert!(eyes.blinks[0] > eyes.blinks[1] + 0.5);
        assert!(eyes.aspects.iter().all(|aspect| (0.2..0.5).contains(aspect)), "{eyes:?}");
        assert!(brows.right > brows.left + 0.5);
    }

    #[test]
    fn irises_to_the_own_left_look_left_however_the_head_is_turned() {
        for yaw in [-0.3, 0.0, 0.3] {
            let mut sitter = Sitter::new(HeadPose { yaw, pitch: 0.1, roll: 0.1 }, Vec3::new(0.0, 0.0, 0.5));
            for eye in [&LEFT_EYE, &RIGHT_EYE] {
                let [a, b] = [eye.corners.0, eye.corners.1].map(|corner| sitter.landmarks_px[corner]);
                let (right, left) = if a.x < b.x { (a, b) } else { (b, a) };
                sitter.landmarks_px[eye.iris] = right.lerp(left, 0.6);
            }
            let shifts = sitter.face().irises().shifts;
            assert!(shifts.iter().all(|shift| (shift - 0.1).abs() < 0.02), "{yaw}: {shifts:?}");
            let gaze = read(&sitter).gaze;
            assert!(gaze.yaw > 0.1, "{gaze:?}");
        }
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
