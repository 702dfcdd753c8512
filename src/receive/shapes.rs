//! Blendshape weights as phones send them become mouth, lids, brows and gaze.
//!
//! The limits are those of a phone's depth camera, read off published packets; the camera's tracker (`face`) has its
//! own, because its network's weights run differently. Sides are the person's.

use glam::Vec3;

use crate::types::{ARKIT_COUNT, ARKIT_NAMES, Arkit, Brows, FaceObservation, Gaze, HeadPose, Lids, MouthRatios};

/// Between the lips: the jaw's opening less what the lips close of it. At rest up to 0.04, wide open 0.6 and more.
const GAP: (f32, f32) = (0.04, 0.6);
/// Lips that part over closed teeth open the mouth a little too; they rest at up to 0.12.
const LIPS_AT_REST: f32 = 0.12;
const LIPS_SHARE: f32 = 0.5;
/// Open eyes give up to 0.15 (more when looking down), closed ones 0.75 and more.
const BLINK: (f32, f32) = (0.15, 0.75);
const BROW_UP: (f32, f32) = (0.1, 0.7);
const BROW_DOWN: (f32, f32) = (0.1, 0.7);
const BROW_INNER_SHARE: f32 = 0.4;
/// Eye rotation at full weight of the look shapes: published packets have 15.6° at 0.44, 19.1° at 0.54, 5.4° at 0.16.
const LOOK_DEG: f32 = 35.0;
/// Lids over which the eye's direction is no more to be trusted.
const GAZE_HIDDEN: (f32, f32) = (0.5, 0.9);
/// No eye turns further than this.
const MAX_GAZE_RAD: f32 = 0.8;

/// Weights by `Arkit as usize`, 0..1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Shapes(pub [f32; ARKIT_COUNT]);

impl Default for Shapes {
    fn default() -> Self {
        Self([0.0; ARKIT_COUNT])
    }
}

impl Shapes {
    /// Sets the weight of a shape by any of its usual names (`jawOpen`, `JawOpen`, `eyeBlink_L`); false where there is
    /// no such shape. The value must be finite.
    pub fn set(&mut self, name: &str, value: f32) -> bool {
        match index_of(name).and_then(|i| self.0.get_mut(i)) {
            Some(slot) => {
                *slot = value.clamp(0.0, 1.0);
                true
            }
            None => false,
        }
    }

    pub fn get(&self, shape: Arkit) -> f32 {
        self.0.get(shape as usize).copied().unwrap_or(0.0)
    }

    fn mean(&self, a: Arkit, b: Arkit) -> f32 {
        (self.get(a) + self.get(b)) / 2.0
    }

    pub fn mouth(&self) -> MouthRatios {
        let gap = self.get(Arkit::JawOpen) - self.get(Arkit::MouthClose);
        let lips = (self.mean(Arkit::MouthLowerDownLeft, Arkit::MouthLowerDownRight)
            + self.mean(Arkit::MouthUpperUpLeft, Arkit::MouthUpperUpRight))
            / 2.0;
        let open = ramp(gap, GAP) + (lips - LIPS_AT_REST).max(0.0) * LIPS_SHARE;
        let smile = self.mean(Arkit::MouthSmileLeft, Arkit::MouthSmileRight);
        let stretch = self.mean(Arkit::MouthStretchLeft, Arkit::MouthStretchRight);
        let round = self.get(Arkit::MouthPucker).max(self.get(Arkit::MouthFunnel));
        let width = 0.5 + 0.5 * (smile.max(stretch) - round);
        MouthRatios { open: open.clamp(0.0, 1.0), width: width.clamp(0.0, 1.0), round, smile }
    }

    pub fn lids(&self) -> Lids {
        Lids { left: ramp(self.get(Arkit::EyeBlinkLeft), BLINK), right: ramp(self.get(Arkit::EyeBlinkRight), BLINK) }
    }

    pub fn brows(&self) -> Brows {
        let inner = self.get(Arkit::BrowInnerUp);
        let brow = |outer, down| {
            let outer = self.get(outer);
            ramp(outer + (inner - outer) * BROW_INNER_SHARE, BROW_UP) - ramp(self.get(down), BROW_DOWN)
        };
        Brows {
            left: brow(Arkit::BrowOuterUpLeft, Arkit::BrowDownLeft),
            right: brow(Arkit::BrowOuterUpRight, Arkit::BrowDownRight),
        }
    }

    /// Where both eyes look by the look shapes alone, for senders that give no eye rotation.
    pub fn gaze(&self) -> Gaze {
        let left = self.mean(Arkit::EyeLookOutLeft, Arkit::EyeLookInRight);
        let right = self.mean(Arkit::EyeLookInLeft, Arkit::EyeLookOutRight);
        let down = self.mean(Arkit::EyeLookDownLeft, Arkit::EyeLookDownRight);
        let up = self.mean(Arkit::EyeLookUpLeft, Arkit::EyeLookUpRight);
        Gaze { yaw: (left - right) * LOOK_DEG.to_radians(), pitch: (down - up) * LOOK_DEG.to_radians() }
    }
}

/// The shape of this name, in any of the spellings that trackers use.
pub(super) fn index_of(name: &str) -> Option<usize> {
    let (stem, side) = match name.as_bytes() {
        [.., b'_', b'L' | b'l'] => (name.get(..name.len() - 2)?, "Left"),
        [.., b'_', b'R' | b'r'] => (name.get(..name.len() - 2)?, "Right"),
        _ => (name, ""),
    };
    let is_it = |known: &&str| {
        known.len() == stem.len() + side.len()
            && known.get(..stem.len()).is_some_and(|k| k.eq_ignore_ascii_case(stem))
            && known.ends_with(side)
    };
    // `_neutral` is no shape.
    ARKIT_NAMES.iter().position(is_it).filter(|&i| i != Arkit::Neutral as usize)
}

/// From 0 at `from` to 1 at `to`, clamped.
pub(super) fn ramp(value: f32, (from, to): (f32, f32)) -> f32 {
    ((value - from) / (to - from)).clamp(0.0, 1.0)
}

/// Eyes behind closed lids look straight ahead.
pub(super) fn visible_gaze(gaze: Gaze, lids: Lids) -> Gaze {
    let visible = 1.0 - ramp((lids.left + lids.right) / 2.0, GAZE_HIDDEN);
    let limit = |angle: f32| angle.clamp(-MAX_GAZE_RAD, MAX_GAZE_RAD) * visible;
    Gaze { yaw: limit(gaze.yaw), pitch: limit(gaze.pitch) }
}

/// A head from rotations about its own axes (x to the person's left, y up, z out of the face), degrees, as Apple's face
/// tracking counts them: +x looks down, +y turns to the own left, +z leans to the own right.
pub(super) fn head_of_degrees([x, y, z]: [f32; 3]) -> HeadPose {
    HeadPose { yaw: wrapped_rad(y), pitch: wrapped_rad(x), roll: -wrapped_rad(z) }
}

/// Degrees of any number of turns as radians within half a turn to either side.
pub(super) fn wrapped_rad(degrees: f32) -> f32 {
    ((degrees + 180.0).rem_euclid(360.0) - 180.0).to_radians()
}

/// True if all numbers are such that arithmetic with them means something.
pub(super) fn are_sane(values: &[f32]) -> bool {
    values.iter().all(|v| v.is_finite() && v.abs() < 1e6)
}

/// Undoes the sender's mirror: left and right change places.
pub(super) fn swap_sides(seen: &mut FaceObservation) {
    std::mem::swap(&mut seen.lids.left, &mut seen.lids.right);
    std::mem::swap(&mut seen.brows.left, &mut seen.brows.right);
    (seen.head.yaw, seen.head.roll) = (-seen.head.yaw, -seen.head.roll);
    seen.gaze.yaw = -seen.gaze.yaw;
    seen.position *= Vec3::new(-1.0, 1.0, 1.0);
    for (left, name) in ARKIT_NAMES.iter().enumerate() {
        if let Some(stem) = name.strip_suffix("Left")
            && let Some(right) = ARKIT_NAMES.iter().position(|n| n.strip_suffix("Right") == Some(stem))
        {
            seen.blendshapes.swap(left, right);
        }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// What every observation must be, whatever came in.
    pub fn assert_in_range(seen: &FaceObservation) {
        let HeadPose { yaw, pitch, roll } = seen.head;
        assert!([yaw, pitch, roll].iter().all(|a| a.abs() <= 3.15), "{:?}", seen.head);
        assert!(seen.position.is_finite() && seen.position.abs().max_element() <= 10.0, "{}", seen.position);
        let mouth = seen.mouth;
        for value in [mouth.open, mouth.width, mouth.round, mouth.smile, seen.lids.left, seen.lids.right] {
            assert!((0.0..=1.0).contains(&value), "{seen:?}");
        }
        assert!(seen.brows.left.abs() <= 1.0 && seen.brows.right.abs() <= 1.0);
        assert!(seen.gaze.yaw.abs() <= MAX_GAZE_RAD && seen.gaze.pitch.abs() <= MAX_GAZE_RAD);
        assert!((0.0..=1.0).contains(&seen.confidence));
        assert!(seen.blendshapes.iter().all(|w| (0.0..=1.0).contains(w)));
    }

    #[test]
    fn names_are_known_in_every_spelling() {
        for name in ["eyeBlinkLeft", "EyeBlinkLeft", "eyeblinkleft", "eyeBlink_L", "EyeBlink_l"] {
            assert_eq!(index_of(name), Some(Arkit::EyeBlinkLeft as usize), "{name}");
        }
        assert_eq!(index_of("jawOpen"), Some(Arkit::JawOpen as usize));
        assert_eq!(index_of("JawOpen"), Some(Arkit::JawOpen as usize));
        assert_eq!(index_of("mouthLeft"), Some(Arkit::MouthLeft as usize));
        for stranger in ["", "_", "_L", "_neutral", "tongueOut", "jawOpe", "jawOpenn", "眼_L", "eyeBlink", "hapihapi"]
        {
            assert_eq!(index_of(stranger), None, "{stranger}");
        }
    }

    #[test]
    fn a_mouth_opens_widens_and_rounds_by_its_shapes() {
        let mouth = |weights: &[(&str, f32)]| {
            let mut shapes = Shapes::default();
            assert!(weights.iter().all(|(name, value)| shapes.set(name, *value)));
            shapes.mouth()
        };
        assert_eq!(mouth(&[]), MouthRatios::default());
        assert_eq!(mouth(&[("jawOpen", 0.12), ("mouthClose", 0.08)]).open, 0.0, "at rest");
        assert!(mouth(&[("jawOpen", 0.7)]).open > 0.95);
        assert!(mouth(&[("jawOpen", 0.5), ("mouthClose", 0.48)]).open < 0.05, "the jaw drops behind closed lips");
        assert!(mouth(&[("mouthSmileLeft", 0.8), ("mouthSmileRight", 0.8)]).width > 0.85);
        let pucker = mouth(&[("mouthPucker", 0.9)]);
        assert!(pucker.width < 0.1 && pucker.round > 0.8);
    }

    #[test]
    fn swapping_sides_twice_changes_nothing() {
        let mut shapes = Shapes::default();
        shapes.set("eyeBlinkLeft", 0.9);
        shapes.set("mouthLeft", 0.4);
        let seen = FaceObservation {
            confidence: 1.0,
            landmarks_px: Vec::new(),
            head: HeadPose { yaw: 0.1, pitch: 0.2, roll: 0.3 },
            position: Vec3::new(0.1, 0.2, 0.5),
            mouth: shapes.mouth(),
            lids: shapes.lids(),
            brows: Brows { left: 0.5, right: -0.5 },
            gaze: Gaze { yaw: 0.2, pitch: 0.1 },
            blendshapes: shapes.0,
        };
        let mut swapped = seen.clone();
        swap_sides(&mut swapped);
        assert_eq!(swapped.head, HeadPose { yaw: -0.1, pitch: 0.2, roll: -0.3 });
        assert_eq!((swapped.lids.left, swapped.lids.right), (seen.lids.right, seen.lids.left));
        assert_eq!(swapped.brows, Brows { left: -0.5, right: 0.5 });
        assert_eq!(swapped.gaze, Gaze { yaw: -0.2, pitch: 0.1 });
        assert_eq!(swapped.position.x, -0.1);
        assert_eq!(swapped.blendshapes[Arkit::EyeBlinkRight as usize], 0.9);
        assert_eq!(swapped.blendshapes[Arkit::MouthRight as usize], 0.4);
        swap_sides(&mut swapped);
        assert_eq!(swapped, seen);
    }

    proptest! {
        #[test]
        fn any_weights_give_values_in_range(weights in prop::collection::vec(0.0f32..=1.0, ARKIT_COUNT), deg in -1e5f32..1e5) {
            let mut shapes = Shapes::default();
            shapes.0.copy_from_slice(&weights);
            let lids = shapes.lids();
            assert_in_range(&FaceObservation {
                confidence: 1.0,
                landmarks_px: Vec::new(),
                head: head_of_degrees([deg, -deg, deg / 3.0]),
                position: Vec3::ZERO,
                mouth: shapes.mouth(),
                lids,
                brows: shapes.brows(),
                gaze: visible_gaze(shapes.gaze(), lids),
                blendshapes: shapes.0,
            });
        }

        #[test]
        fn no_name_panics(name in "\\PC{0,20}") {
            index_of(&name);
        }
    }
}
