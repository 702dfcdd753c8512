//! VMC protocol (OSC): another program's avatar as it moves, taken for a face.
//!
//! Values arrive message by message, often over many packets: `/VMC/Ext/Bone/Pos` (a bone's name, position and local
//! rotation), `/VMC/Ext/Blend/Val` (a blendshape's name and weight), and `/VMC/Ext/Blend/Apply`, which makes the weights
//! hold and ends a frame. Names are VRM's (old and new) and the 52 of *perfect sync*, in any case of letters.
//!
//! Space on the wire: Unity's, left-handed, x to the avatar's right, y up, z forward, metres. Flipping x gives omote's
//! avatar space. The head's rotation is that of the whole chain from the lowest spine bone up, so that a sender which
//! shares a turn between neck and head is understood as well as one that does not.
//!
//! The protocol's words about tracking: `/VMC/Ext/OK` with 0 means that nothing is ready. Its fourth argument says
//! whether tracking is good, but many senders leave it at 0: it is believed once it has been 1.

use glam::{Quat, Vec3};

use super::osc::{Arg, Args, for_each_message};
use super::shapes::{Shapes, are_sane, ramp, visible_gaze};
use super::{PacketError, Seen};
use crate::types::{FaceObservation, Gaze, HeadPose, Lids, MouthRatios, Timestamp, VideoHints};

/// A sender that has said `Apply` within this time will say it again: its frames end there and not with the head bone.
const APPLIES_WITHIN_SECS: f64 = 0.5;
/// Eye rotation at full weight of `LookLeft` and the like.
const LOOK_DEG: f32 = 30.0;

/// Expressions of VRM that say something about a face.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Vrm {
    A,
    I,
    U,
    E,
    O,
    Blink,
    BlinkLeft,
    BlinkRight,
    LookUp,
    LookDown,
    LookLeft,
    LookRight,
    Happy,
}

const VRM_COUNT: usize = 13;

/// Old and new name of each, by `Vrm as usize`.
const VRM_NAMES: [(&str, &str); VRM_COUNT] = [
    ("A", "aa"),
    ("I", "ih"),
    ("U", "ou"),
    ("E", "ee"),
    ("O", "oh"),
    ("Blink", "blink"),
    ("Blink_L", "blinkLeft"),
    ("Blink_R", "blinkRight"),
    ("LookUp", "lookUp"),
    ("LookDown", "lookDown"),
    ("LookLeft", "lookLeft"),
    ("LookRight", "lookRight"),
    ("Joy", "happy"),
];

/// How far each vowel opens the mouth (BEHAVIOUR §1), and how wide.
const VOWELS: [(Vrm, f32, f32); 5] =
    [(Vrm::A, 1.0, 0.0), (Vrm::I, 0.35, 0.8), (Vrm::U, 0.4, -0.9), (Vrm::E, 0.55, 0.5), (Vrm::O, 0.75, -0.5)];

/// Bones from the lowest up; the product of their rotations turns the head.
const CHAIN: [&str; 5] = ["Spine", "Chest", "UpperChest", "Neck", "Head"];
const HEAD: usize = 4;
const EYES: [&str; 2] = ["LeftEye", "RightEye"];

/// Weights as far as they have been heard of.
#[derive(Clone, Copy, Default)]
struct Weights {
    shapes: Shapes,
    has_shapes: bool,
    vrm: [f32; VRM_COUNT],
    has_vrm: bool,
}

/// What has been heard so far of the avatar at the other end.
#[derive(Default)]
pub(super) struct Vmc {
    /// Heard since the last `Apply`; what is not sent anew keeps its value.
    pending: Weights,
    applied: Weights,
    applied_at: Option<Timestamp>,
    chain: [Quat; CHAIN.len()],
    has_head: bool,
    eyes: [Option<Quat>; 2],
    root_position: Vec3,
    hips_position: Vec3,
    is_ready: Option<bool>,
    has_been_tracked: bool,
    is_badly_tracked: bool,
}

impl Vmc {
    /// Takes a packet that arrived at `at`.
    pub fn read(&mut self, packet: &[u8], at: Timestamp) -> Result<Seen, PacketError> {
        let (mut is_vmc, mut is_frame) = (false, false);
        for_each_message(packet, |address, args| {
            is_vmc |= address.starts_with("/VMC/");
            is_frame |= self.message(address, args, at);
        })
        .map_err(|_| PacketError { protocol: "VMC", why: "not OSC" })?;
        if !is_vmc {
            return Err(PacketError { protocol: "VMC", why: "OSC for something else" });
        }
        if self.is_ready == Some(false) || self.is_badly_tracked {
            return Ok(Seen::NoFace);
        }
        Ok(if is_frame { Seen::Face(Box::new(self.observation()), VideoHints::default()) } else { Seen::Nothing })
    }

    /// Takes a message in; true if it ends a frame. What does not fit its address is passed over, as the protocol wants.
    fn message(&mut self, address: &str, mut args: Args<'_>, at: Timestamp) -> bool {
        match address {
            "/VMC/Ext/Blend/Val" => {
                if let (Some(name), Some(weight)) = (args.text(), args.number()) {
                    self.pending.set(name, weight);
                }
                false
            }
            "/VMC/Ext/Blend/Apply" => {
                self.applied = self.pending;
                self.applied_at = Some(at);
                self.has_head || self.applied.has_shapes || self.applied.has_vrm
            }
            "/VMC/Ext/Bone/Pos" => {
                let (Some(name), Some(pose)) = (args.text(), args.numbers::<7>()) else { return false };
                self.bone(name, pose);
                let applies = self.applied_at.is_some_and(|last| at.secs_after(last) < APPLIES_WITHIN_SECS);
                name == "Head" && self.has_head && !applies
            }
            "/VMC/Ext/Root/Pos" => {
                if let (Some(_), Some([x, y, z])) = (args.text(), args.numbers::<3>()) {
                    self.root_position = position(x, y, z);
                }
                false
            }
            "/VMC/Ext/OK" => {
                self.is_ready = args.int().map(|loaded| loaded != 0).or(self.is_ready);
                let tracking = args.nth(2);
                self.has_been_tracked |= tracking == Some(Arg::Int(1));
                self.is_badly_tracked = self.has_been_tracked && tracking == Some(Arg::Int(0));
                false
            }
            _ => false,
        }
    }

    fn bone(&mut self, name: &str, [px, py, pz, x, y, z, w]: [f32; 7]) {
        let rotation = Quat::from_xyzw(x, -y, -z, w);
        if !are_sane(&[px, py, pz, x, y, z, w]) || !(0.25..4.0).contains(&rotation.length_squared()) {
            return;
        }
        let rotation = rotation.normalize();
        if let Some(slot) = CHAIN.iter().position(|n| *n == name).and_then(|i| self.chain.get_mut(i)) {
            *slot = rotation;
            self.has_head |= name == CHAIN[HEAD];
        } else if let Some(slot) = EYES.iter().position(|n| *n == name).and_then(|i| self.eyes.get_mut(i)) {
            *slot = Some(rotation);
        } else if name == "Hips" {
            self.hips_position = position(px, py, pz);
        }
    }

    fn observation(&self) -> FaceObservation {
        let Weights { shapes, has_shapes, .. } = self.applied;
        let head = self.chain.iter().fold(Quat::IDENTITY, |parent, bone| parent * *bone).normalize();
        let lids = self.applied.lids();
        // All eyes that have a bone, or the shapes.
        let eyes: Vec<_> = self.eyes.iter().flatten().map(|eye| HeadPose::from_quat(*eye)).collect();
        let gaze = match eyes.len() {
            0 if has_shapes => shapes.gaze(),
            0 => self.applied.look(),
            count => Gaze {
                yaw: eyes.iter().map(|e| e.yaw).sum::<f32>() / count as f32,
                pitch: eyes.iter().map(|e| e.pitch).sum::<f32>() / count as f32,
            },
        };
        let mouth = if has_shapes { shapes.mouth() } else { self.applied.mouth() };
        let mut blendshapes = shapes;
        if !has_shapes {
            for (name, weight) in [("jawOpen", mouth.open), ("eyeBlinkLeft", lids.left), ("eyeBlinkRight", lids.right)]
            {
                blendshapes.set(name, weight);
            }
        }
        FaceObservation {
            confidence: 1.0,
            landmarks_px: Vec::new(),
            head: HeadPose::from_quat(head),
            position: (self.root_position + self.hips_position).clamp(Vec3::splat(-10.0), Vec3::splat(10.0)),
            mouth,
            lids,
            brows: shapes.brows(),
            gaze: visible_gaze(gaze, lids),
            blendshapes: blendshapes.0,
        }
    }
}

impl Weights {
    fn set(&mut self, name: &str, weight: f32) {
        if self.shapes.set(name, weight) {
            self.has_shapes = true;
        } else if let Some(slot) = VRM_NAMES
            .iter()
            .position(|(old, new)| name.eq_ignore_ascii_case(old) || name.eq_ignore_ascii_case(new))
            .and_then(|i| self.vrm.get_mut(i))
        {
            *slot = weight.clamp(0.0, 1.0);
            self.has_vrm = true;
        }
    }

    fn get(&self, expression: Vrm) -> f32 {
        self.vrm.get(expression as usize).copied().unwrap_or(0.0)
    }

    fn lids(&self) -> Lids {
        let both = self.get(Vrm::Blink);
        let lids = self.shapes.lids();
        Lids {
            left: lids.left.max(both).max(self.get(Vrm::BlinkLeft)),
            right: lids.right.max(both).max(self.get(Vrm::BlinkRight)),
        }
    }

    fn look(&self) -> Gaze {
        let at = |to, from| (self.get(to) - self.get(from)) * LOOK_DEG.to_radians();
        Gaze { yaw: at(Vrm::LookLeft, Vrm::LookRight), pitch: at(Vrm::LookDown, Vrm::LookUp) }
    }

    fn mouth(&self) -> MouthRatios {
        let sum = |of: fn(f32, f32) -> f32| VOWELS.iter().map(|(v, open, wide)| self.get(*v) * of(*open, *wide)).sum();
        let (open, wide): (f32, f32) = (sum(|open, _| open), sum(|_, wide| wide));
        MouthRatios {
            open: open.clamp(0.0, 1.0),
            width: (0.5 + 0.5 * wide).clamp(0.0, 1.0),
            round: ramp(-wide, (0.0, 1.0)),
            smile: self.get(Vrm::Happy),
        }
    }
}

/// A place in Unity's space as one in the camera's: the avatar faces the camera.
fn position(x: f32, y: f32, z: f32) -> Vec3 {
    Some(Vec3::new(-x, y, -z)).filter(|p| are_sane(&p.to_array())).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rosc::{OscPacket, OscType};

    use super::super::osc::tests::{bundle, bytes, osc};
    use super::super::shapes::tests::assert_in_range;
    use super::*;
    use crate::types::Arkit;

    fn blend(name: &str, weight: f32) -> OscPacket {
        osc("/VMC/Ext/Blend/Val", vec![OscType::String(name.into()), OscType::Float(weight)])
    }

    fn apply() -> OscPacket {
        osc("/VMC/Ext/Blend/Apply", vec![])
    }

    /// A bone turned as Unity counts: degrees about x (+ down), y (+ to the own right), z (+ to the own left).
    fn bone(name: &str, [x, y, z]: [f32; 3]) -> OscPacket {
        let q = Quat::from_euler(glam::EulerRot::YXZ, y.to_radians(), x.to_radians(), z.to_radians());
        let numbers = [0.0, 0.1, 0.0, q.x, q.y, q.z, q.w].map(OscType::Float);
        osc("/VMC/Ext/Bone/Pos", std::iter::once(OscType::String(name.into())).chain(numbers).collect())
    }

    fn ok(args: &[i32]) -> OscPacket {
        osc("/VMC/Ext/OK", args.iter().map(|i| OscType::Int(*i)).collect())
    }

    fn face(seen: Result<Seen, PacketError>) -> FaceObservation {
        match seen {
            Ok(Seen::Face(seen, _)) => *seen,
            other => panic!("{other:?}"),
        }
    }

    fn read(messages: Vec<OscPacket>) -> FaceObservation {
        face(Vmc::default().read(&bytes(&bundle(messages)), Timestamp::ZERO))
    }

    #[test]
    fn perfect_sync_in_one_bundle() {
        let seen = read(vec![
            bone("Head", [10.0, -20.0, 5.0]),
            blend("JawOpen", 0.7),
            blend("eyeBlinkLeft", 0.9),
            blend("Angry", 1.0),
            apply(),
        ]);
        assert!((seen.head.yaw.to_degrees() - 20.0).abs() < 0.1, "to the own left: {:?}", seen.head);
        assert!((seen.head.pitch.to_degrees() - 10.0).abs() < 0.1, "down");
        assert!((seen.head.roll.to_degrees() - 5.0).abs() < 0.1, "towards the own left shoulder");
        assert!(seen.mouth.open > 0.95 && seen.lids.left == 1.0 && seen.lids.right == 0.0);
        assert_eq!(seen.blendshapes[Arkit::JawOpen as usize], 0.7);
        assert_in_range(&seen);
    }

    #[test]
    fn old_and_new_names_of_expressions() {
        for (a, o, blink) in [("A", "O", "Blink_L"), ("aa", "oh", "blinkLeft"), ("AA", "OH", "BLINKLEFT")] {
            let seen = read(vec![blend(a, 0.4), blend(o, 0.4), blend(blink, 0.8), apply()]);
            assert!((seen.mouth.open - 0.7).abs() < 1e-5 && seen.mouth.width < 0.5, "{a}");
            assert!(seen.lids.left == 0.8 && seen.lids.right == 0.0);
        }
        let seen = read(vec![blend("Blink", 1.0), blend("Joy", 0.6), apply()]);
        assert!(seen.lids.left == 1.0 && seen.lids.right == 1.0 && seen.mouth.smile == 0.6);
        let seen = read(vec![blend("U", 1.0), apply()]);
        assert!(seen.mouth.round > 0.8 && seen.mouth.width < 0.1);
        let seen = read(vec![blend("LookLeft", 1.0), blend("LookDown", 0.5), apply()]);
        assert!((seen.gaze.yaw.to_degrees() - 30.0).abs() < 0.1 && (seen.gaze.pitch.to_degrees() - 15.0).abs() < 0.1);
    }

    #[test]
    fn a_turn_shared_between_bones_is_one_turn() {
        let turn = |name| bone(name, [0.0, -10.0, 0.0]);
        let seen = read(vec![turn("Chest"), turn("Neck"), turn("Head"), apply()]);
        assert!((seen.head.yaw.to_degrees() - 30.0).abs() < 0.1);
        let seen =
            read(vec![bone("LeftEye", [5.0, -12.0, 0.0]), bone("RightEye", [5.0, -8.0, 0.0]), bone("Head", [0.0; 3])]);
        assert!((seen.gaze.yaw.to_degrees() - 10.0).abs() < 0.1 && (seen.gaze.pitch.to_degrees() - 5.0).abs() < 0.1);
    }

    #[test]
    fn weights_hold_from_apply_on_over_many_packets() {
        let mut vmc = Vmc::default();
        let mut send = |packet: OscPacket| vmc.read(&bytes(&packet), Timestamp::ZERO);
        assert_eq!(send(blend("A", 1.0)), Ok(Seen::Nothing));
        assert_eq!(face(send(apply())).mouth.open, 1.0);
        assert_eq!(send(bone("Head", [0.0, -30.0, 0.0])), Ok(Seen::Nothing), "the frame ends with Apply");
        assert_eq!(send(blend("A", 0.0)), Ok(Seen::Nothing));
        let seen = face(send(blend("Blink", 1.0)).and_then(|_| send(apply())));
        assert!(seen.mouth.open == 0.0 && seen.lids.left == 1.0 && seen.head.yaw > 0.5);
    }

    #[test]
    fn a_sender_of_bones_alone_is_understood() {
        let mut vmc = Vmc::default();
        let at = |secs| Timestamp::from_secs_f64(secs);
        let head = bytes(&bone("Head", [0.0, -30.0, 0.0]));
        assert!(face(vmc.read(&head, at(1.0))).head.yaw > 0.5);
        let _ = vmc.read(&bytes(&apply()), at(1.1));
        assert_eq!(vmc.read(&head, at(1.2)), Ok(Seen::Nothing));
        assert!(face(vmc.read(&head, at(2.0))).head.yaw > 0.5);
    }

    #[test]
    fn the_protocols_own_words_about_loss() {
        let mut vmc = Vmc::default();
        let mut send = |ok: OscPacket| vmc.read(&bytes(&bundle(vec![ok, bone("Head", [0.0; 3])])), Timestamp::ZERO);
        assert!(matches!(send(ok(&[1])), Ok(Seen::Face(..))));
        assert_eq!(send(ok(&[0])), Ok(Seen::NoFace));
        assert!(matches!(send(ok(&[1, 3, 0, 0])), Ok(Seen::Face(..))), "a sender that never says more than 0");
        assert!(matches!(send(ok(&[1, 3, 0, 1])), Ok(Seen::Face(..))));
        assert_eq!(send(ok(&[1, 3, 0, 0])), Ok(Seen::NoFace));
        assert!(matches!(send(ok(&[1, 3, 0, 1])), Ok(Seen::Face(..))));
    }

    #[test]
    fn where_the_avatar_stands_is_where_the_person_is() {
        let place = |x: f32, y: f32, z: f32| {
            let numbers = [x, y, z, 0.0, 0.0, 0.0, 1.0].map(OscType::Float);
            let args = std::iter::once(OscType::String("Hips".into())).chain(numbers).collect();
            read(vec![osc("/VMC/Ext/Bone/Pos", args), bone("Head", [0.0; 3])]).position
        };
        assert_eq!(place(0.1, 0.9, 0.2), Vec3::new(-0.1, 0.9, -0.2), "to the own right, up, towards the camera");
    }

    #[test]
    fn what_does_not_fit_is_passed_over() {
        let mut vmc = Vmc::default();
        let wrong = bundle(vec![
            osc("/VMC/Ext/Blend/Val", vec![OscType::String("A".into())]),
            osc("/VMC/Ext/Blend/Val", vec![OscType::Float(1.0), OscType::String("A".into())]),
            blend("A", f32::NAN),
            blend("A", f32::INFINITY),
            osc("/VMC/Ext/Bone/Pos", vec![OscType::String("Head".into()), OscType::Float(1.0)]),
            osc("/VMC/Ext/Unheard", vec![OscType::Int(1)]),
            apply(),
        ]);
        assert_eq!(vmc.read(&bytes(&wrong), Timestamp::ZERO), Ok(Seen::Nothing));
        let numbers = [f32::NAN, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0].map(OscType::Float);
        let args: Vec<_> = std::iter::once(OscType::String("Head".into())).chain(numbers).collect();
        assert_eq!(vmc.read(&bytes(&osc("/VMC/Ext/Bone/Pos", args)), Timestamp::ZERO), Ok(Seen::Nothing));
        assert!(
            vmc.read(&bytes(&osc("/avatar/parameters/x", vec![])), Timestamp::ZERO).is_err(),
            "another program's OSC"
        );
        assert!(vmc.read(b"{\"FaceFound\":true}", Timestamp::ZERO).is_err());
    }

    proptest! {
        #[test]
        fn any_numbers_give_values_in_range(values in prop::collection::vec(any::<f32>(), 16)) {
            let bone = |name: &str, n: &[f32]| {
                let numbers = n.iter().map(|v| OscType::Float(*v));
                osc("/VMC/Ext/Bone/Pos", std::iter::once(OscType::String(name.into())).chain(numbers).collect())
            };
            let packet = bundle(vec![
                bone("Head", &values[..7]), bone("Hips", &values[7..14]), blend("JawOpen", values[14]),
                blend("Blink", values[15]), apply(),
            ]);
            if let Ok(Seen::Face(seen, _)) = Vmc::default().read(&bytes(&packet), Timestamp::ZERO) {
                assert_in_range(&seen);
            }
        }

        #[test]
        fn mangled_packets_never_panic(at in 0..300usize, byte in any::<u8>(), cut in 0..300usize) {
            let mut packet = bytes(&bundle(vec![bone("Head", [1.0, 2.0, 3.0]), blend("JawOpen", 0.5), apply(), ok(&[1])]));
            if let Some(b) = packet.get_mut(at) {
                *b = byte;
            }
            packet.truncate(packet.len().saturating_sub(cut));
            if let Ok(Seen::Face(seen, _)) = Vmc::default().read(&packet, Timestamp::ZERO) {
                assert_in_range(&seen);
            }
        }
    }
}
