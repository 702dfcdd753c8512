//! VTube Studio on a phone (and MeowFace): JSON over UDP, 60 packets a second.
//!
//! The computer asks the phone's port 21412 again and again; each request keeps the data coming for some seconds. A
//! packet holds `FaceFound`, `Rotation` (degrees, like iFacialMocap's), `Position` (x to the person's left, y up, z away
//! from the phone, tenths of a metre: published packets have a face at 4.7), the 52 weights 0..1 in `BlendShapes`, and
//! the rotations of both eyes (+y own left, +x down: `EyeLookOutLeft` 0.26 comes with `EyeLeft.y` 9.1).
//! Names begin with a capital on iPhones, and end with `_L` and `_R` in some Android apps.

use std::borrow::Cow;

use glam::Vec3;
use serde::Deserialize;

use super::ifacialmocap::gaze_of_eyes;
use super::shapes::{Shapes, are_sane, head_of_degrees, visible_gaze};
use super::{PacketError, Seen};
use crate::types::{FaceObservation, VideoHints};

/// Real packets have about 4 kB.
const MAX_BYTES: usize = 32 * 1024;
/// Real packets have 52 weights.
const MAX_SHAPES: usize = 256;
/// Metres in a unit of `Position`.
const METRES: f32 = 0.1;
/// How long the phone shall send after each request. Requests go out every second, so two may be lost.
const SEND_FOR_SECS: f32 = 3.0;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Packet<'a> {
    face_found: bool,
    #[serde(default)]
    rotation: Xyz,
    #[serde(default)]
    position: Xyz,
    #[serde(default)]
    eye_left: Option<Xyz>,
    #[serde(default)]
    eye_right: Option<Xyz>,
    #[serde(default, borrow)]
    blend_shapes: Vec<Weight<'a>>,
}

#[derive(Clone, Copy, Default, Deserialize)]
struct Xyz {
    x: f32,
    y: f32,
    z: f32,
}

impl Xyz {
    fn array(self) -> [f32; 3] {
        [self.x, self.y, self.z]
    }
}

#[derive(Deserialize)]
struct Weight<'a> {
    #[serde(borrow)]
    k: Cow<'a, str>,
    v: f32,
}

/// Asks the phone to send to this port of ours.
pub(super) fn request(port: u16) -> Vec<u8> {
    let request = serde_json::json!({
        "messageType": "iOSTrackingDataRequest",
        "time": SEND_FOR_SECS,
        "sentBy": "omote",
        "ports": [port],
    });
    request.to_string().into_bytes()
}

pub(super) fn read(packet: &[u8]) -> Result<Seen, PacketError> {
    if packet.len() > MAX_BYTES {
        return Err(broken("too long"));
    }
    // The parser gives up on deep nesting by itself.
    let packet: Packet<'_> = serde_json::from_slice(packet).map_err(|_| broken("not its JSON"))?;
    if !packet.face_found {
        return Ok(Seen::NoFace);
    }
    if packet.blend_shapes.len() > MAX_SHAPES {
        return Err(broken("too many blendshapes"));
    }
    let mut shapes = Shapes::default();
    let mut shape_count = 0;
    for Weight { k, v } in &packet.blend_shapes {
        if !v.is_finite() {
            return Err(broken("a number is none"));
        }
        shape_count += usize::from(shapes.set(k, *v));
    }
    if shape_count == 0 {
        return Err(broken("without blendshapes"));
    }
    let (rotation, position) = (packet.rotation.array(), packet.position.array());
    let eyes = [packet.eye_left, packet.eye_right].map(|e| e.map(Xyz::array));
    if !(are_sane(&rotation) && are_sane(&position) && eyes.iter().flatten().all(|e| are_sane(e))) {
        return Err(broken("a number is none"));
    }
    let lids = shapes.lids();
    let gaze = gaze_of_eyes(eyes).unwrap_or_else(|| shapes.gaze());
    let [x, y, z] = position;
    let seen = FaceObservation {
        confidence: 1.0,
        landmarks_px: Vec::new(),
        head: head_of_degrees(rotation),
        position: (Vec3::new(x, y, z.abs()) * METRES).clamp(Vec3::splat(-10.0), Vec3::splat(10.0)),
        mouth: shapes.mouth(),
        lids,
        brows: shapes.brows(),
        gaze: visible_gaze(gaze, lids),
        blendshapes: shapes.0,
    };
    Ok(Seen::Face(Box::new(seen), VideoHints::default()))
}

fn broken(why: &'static str) -> PacketError {
    PacketError { protocol: "VTube Studio", why }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shapes::tests::assert_in_range;
    use super::*;
    use crate::types::Arkit;

    fn packet(rotation: [f32; 3], shapes: &[(&str, f32)]) -> String {
        let shapes: Vec<_> = shapes.iter().map(|(k, v)| serde_json::json!({"k": k, "v": v})).collect();
        let xyz = |[x, y, z]: [f32; 3]| serde_json::json!({"x": x, "y": y, "z": z});
        serde_json::json!({
            "Timestamp": 1_664_817_520_079_i64, "Hotkey": -1, "FaceFound": true, "Rotation": xyz(rotation),
            "Position": xyz([0.468, 1.317, 4.735]), "EyeLeft": xyz([3.552, 9.085, 0.511]),
            "EyeRight": xyz([3.46, 12.895, 0.713]), "BlendShapes": shapes,
        })
        .to_string()
    }

    fn face(text: &str) -> FaceObservation {
        match read(text.as_bytes()) {
            Ok(Seen::Face(seen, _)) => *seen,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn a_packet_as_phones_send_it_is_understood() {
        let seen = face(&packet([-11.1, 9.4, 3.2], &[("JawOpen", 0.66), ("EyeBlinkRight", 0.9), ("TongueOut", 0.1)]));
        assert!((seen.head.yaw.to_degrees() - 9.4).abs() < 0.01, "to the own left");
        assert!((seen.head.pitch.to_degrees() + 11.1).abs() < 0.01, "up");
        assert!((seen.head.roll.to_degrees() + 3.2).abs() < 0.01, "towards the own right shoulder");
        assert!((seen.position - Vec3::new(0.0468, 0.1317, 0.4735)).length() < 1e-4);
        assert!((seen.gaze.yaw.to_degrees() - 10.99).abs() < 0.01 && seen.gaze.pitch > 0.0);
        assert!(seen.mouth.open > 0.95 && seen.lids.right == 1.0 && seen.lids.left == 0.0);
        assert_in_range(&seen);
    }

    #[test]
    fn every_apps_names_are_understood() {
        for name in ["eyeBlink_L", "EyeBlinkLeft", "eyeBlinkLeft"] {
            assert_eq!(face(&packet([0.0; 3], &[(name, 0.8)])).blendshapes[Arkit::EyeBlinkLeft as usize], 0.8);
        }
    }

    #[test]
    fn a_phone_that_sees_no_face_says_so() {
        assert_eq!(read(br#"{"FaceFound":false,"Rotation":{"x":1e30,"y":0,"z":0}}"#), Ok(Seen::NoFace));
        assert_eq!(read(br#"{"FaceFound":false}"#), Ok(Seen::NoFace));
    }

    #[test]
    fn hostile_packets_are_refused() {
        let deep = format!("{}{}", "[".repeat(20_000), "]".repeat(10_000));
        let deep_in_place = format!(r#"{{"FaceFound":true,"More":{deep}"#);
        let many = packet([0.0; 3], &[("JawOpen", 0.5); 500]);
        let huge = format!(r#"{{"FaceFound":true,"Pad":"{}"}}"#, "x".repeat(40_000));
        for text in [
            "",
            "{}",
            "null",
            "[]",
            "hello",
            r#"{"FaceFound":1}"#,
            r#"{"FaceFound":true}"#,
            r#"{"FaceFound":true,"BlendShapes":[{"k":"JawOpen","v":1e999}]}"#,
            r#"{"FaceFound":true,"BlendShapes":[{"k":"JawOpen","v":1e300}]}"#,
            r#"{"FaceFound":true,"BlendShapes":[{"k":"JawOpen","v":null}]}"#,
            r#"{"FaceFound":true,"BlendShapes":[{"k":"Nothing","v":0.5}]}"#,
            r#"{"FaceFound":true,"BlendShapes":[{"k":7,"v":0.5}]}"#,
            r#"{"FaceFound":true,"Rotation":{"x":1e300,"y":0,"z":0},"BlendShapes":[{"k":"JawOpen","v":0.5}]}"#,
            r#"{"FaceFound":true,"Rotation":[1,2],"BlendShapes":[{"k":"JawOpen","v":0.5}]}"#,
            &deep,
            &deep_in_place,
            &many,
            &huge,
        ] {
            assert!(read(text.as_bytes()).is_err(), "{}", &text[..text.len().min(80)]);
        }
        assert!(read(b"{\"FaceFound\":true,\"BlendShapes\":[{\"k\":\"\xff\",\"v\":0.5}]}").is_err());
    }

    #[test]
    fn the_request_is_what_the_phone_expects() {
        let request: serde_json::Value = serde_json::from_slice(&request(21412)).unwrap();
        assert_eq!(request["messageType"], "iOSTrackingDataRequest");
        assert_eq!(request["ports"][0], 21412);
        assert!((0.5..=10.0).contains(&request["time"].as_f64().unwrap()));
        assert!((1..=32).contains(&request["sentBy"].as_str().unwrap().len()));
    }

    proptest! {
        #[test]
        fn mangled_packets_are_refused_or_sane(
            cut in 0..600usize, at in 0..600usize, byte in any::<u8>(), x in any::<f32>(), v in -2.0f32..3.0,
        ) {
            let mut bytes = packet([x, 1.0, 2.0], &[("JawOpen", v), ("MouthPucker", 1.0 - v)]).into_bytes();
            if let Some(b) = bytes.get_mut(at) {
                *b = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            if let Ok(Seen::Face(seen, _)) = read(&bytes) {
                assert_in_range(&seen);
            }
        }

        #[test]
        fn no_bytes_panic(packet in prop::collection::vec(any::<u8>(), 0..500)) {
            let _ = read(&packet);
        }
    }
}
