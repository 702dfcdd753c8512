//! iFacialMocap: text over UDP, 60 packets a second (30 when the phone is hot).
//!
//! The computer asks the phone's port 49983; the phone answers to port 49983 of the computer:
//!
//! ```text
//! jawOpen-12|eyeBlink_L-7|…|=head#rx,ry,rz,px,py,pz|rightEye#x,y,z|leftEye#x,y,z|
//! ```
//!
//! Weights are 0..100, separated from the name by `-` (version 1) or `&` (version 2 and FaceMotion3D); angles are
//! degrees, positions metres. Both are Apple's: x to the person's left, y up, z from the phone's camera backwards, so
//! that a face has negative z; +x looks down, +y turns to the own left, +z leans to the own right. (In published packets
//! `eyeLookOut_L-44` comes with `leftEye#5.6,15.6,…`, so +y is the own left, and `eyeLookDown` with +x.)
//!
//! There is no word for a lost face: the phone then repeats its last packet.

use glam::Vec3;

use super::shapes::{Shapes, are_sane, head_of_degrees, visible_gaze, wrapped_rad};
use super::{PacketError, Seen};
use crate::types::{FaceObservation, Gaze, VideoHints};

/// Makes the phone send.
pub(super) const REQUEST: &[u8] = b"iFacialMocap_sahuasouryya9218sauhuiayeta91555dy3719";

/// Real packets have about 1.1 kB.
const MAX_BYTES: usize = 8192;
/// Real packets have about 60 entries.
const MAX_ENTRIES: usize = 256;

pub(super) fn read(packet: &[u8]) -> Result<Seen, PacketError> {
    let text = Some(packet).filter(|p| p.len() <= MAX_BYTES).ok_or_else(|| broken("too long"))?;
    let text = std::str::from_utf8(text).map_err(|_| broken("not text"))?;
    let (weights, poses) = text.split_once('=').ok_or_else(|| broken("without a head"))?;
    let mut shapes = Shapes::default();
    let mut shape_count = 0;
    for entry in weights.split('|').take(MAX_ENTRIES) {
        let Some((name, value)) = entry.split_once('&').or_else(|| entry.rsplit_once('-')) else { continue };
        let Ok(percent) = value.trim().parse::<f32>() else { continue };
        if !percent.is_finite() {
            return Err(broken("a number is none"));
        }
        // What this version does not know is none of its business. A `-` left at the end is the value's sign.
        let weight = if name.ends_with('-') { 0.0 } else { percent / 100.0 };
        shape_count += usize::from(shapes.set(name.trim().trim_end_matches('-'), weight));
    }
    if shape_count == 0 {
        return Err(broken("without blendshapes"));
    }
    let (mut head, mut eyes) = (None, [None; 2]);
    for entry in poses.split('|').take(MAX_ENTRIES) {
        match entry.split_once('#') {
            Some(("head", values)) => head = Some(numbers::<6>(values)?),
            Some(("leftEye", values)) => eyes[0] = Some(numbers::<3>(values)?),
            Some(("rightEye", values)) => eyes[1] = Some(numbers::<3>(values)?),
            _ => {}
        }
    }
    let [rx, ry, rz, px, py, pz] = head.ok_or_else(|| broken("without a head"))?;
    let lids = shapes.lids();
    let gaze = gaze_of_eyes(eyes).unwrap_or_else(|| shapes.gaze());
    let seen = FaceObservation {
        confidence: 1.0,
        landmarks_px: Vec::new(),
        head: head_of_degrees([rx, ry, rz]),
        position: Vec3::new(px, py, pz.abs()).clamp(Vec3::splat(-10.0), Vec3::splat(10.0)),
        mouth: shapes.mouth(),
        lids,
        brows: shapes.brows(),
        gaze: visible_gaze(gaze, lids),
        blendshapes: shapes.0,
    };
    Ok(Seen::Face(Box::new(seen), VideoHints::default()))
}

/// Both eyes together, from their rotations in degrees; `None` where the sender gives none (all zeros).
pub(super) fn gaze_of_eyes(eyes: [Option<[f32; 3]>; 2]) -> Option<Gaze> {
    let known: Vec<_> = eyes.into_iter().flatten().filter(|e| *e != [0.0; 3]).collect();
    let count = Some(known.len()).filter(|n| *n > 0)? as f32;
    let mean = |axis: usize| known.iter().filter_map(|e| e.get(axis)).map(|d| wrapped_rad(*d)).sum::<f32>() / count;
    Some(Gaze { yaw: mean(1), pitch: mean(0) })
}

/// Exactly `N` numbers, or more of which the first `N` count. Missing ones are an error.
fn numbers<const N: usize>(text: &str) -> Result<[f32; N], PacketError> {
    let mut values = [0.0; N];
    let mut given = text.split(',');
    for value in &mut values {
        let number = given.next().and_then(|t| t.trim().parse().ok());
        *value = number.ok_or_else(|| broken("a number is missing"))?;
    }
    if are_sane(&values) { Ok(values) } else { Err(broken("a number is none")) }
}

fn broken(why: &'static str) -> PacketError {
    PacketError { protocol: "iFacialMocap", why }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::shapes::tests::assert_in_range;
    use super::*;
    use crate::types::Arkit;

    /// As the maker's page gives it, shortened.
    const PUBLISHED: &str = "mouthSmile_R-0|eyeLookOut_L-44|eyeLookIn_R-54|mouthClose-2|jawOpen-2|eyeBlink_R-0|\
        eyeBlink_L-0|eyeLookDown_L-16|eyeLookDown_R-16|hapihapi-0|=head#-1.6704091,-7.3032465,2.886358,0.084120944,\
        0.03458406,-0.4721467|rightEye#5.3555145,19.067966,1.8478252|leftEye#5.5607924,15.616646,1.5515244|";

    fn face(text: &str) -> FaceObservation {
        match read(text.as_bytes()) {
            Ok(Seen::Face(seen, _)) => *seen,
            other => panic!("{text}: {other:?}"),
        }
    }

    fn with_head(head: &str) -> FaceObservation {
        face(&format!("jawOpen-0|=head#{head}|"))
    }

    #[test]
    fn a_published_packet_is_understood() {
        let seen = face(PUBLISHED);
        assert!((seen.head.yaw.to_degrees() + 7.303).abs() < 0.01, "turned to the own right: {:?}", seen.head);
        assert!((seen.head.pitch.to_degrees() + 1.670).abs() < 0.01);
        assert!((seen.head.roll.to_degrees() + 2.886).abs() < 0.01);
        assert!((seen.position - Vec3::new(0.0841, 0.0346, 0.4721)).length() < 1e-3);
        assert!((seen.gaze.yaw.to_degrees() - 17.34).abs() < 0.01, "to the own left, as the look shapes say");
        assert!(seen.gaze.pitch.to_degrees() > 5.0, "down");
        assert_eq!((seen.mouth.open, seen.lids.left, seen.lids.right), (0.0, 0.0, 0.0));
        assert_eq!(seen.blendshapes[Arkit::EyeLookOutLeft as usize], 0.44);
        assert_in_range(&seen);
    }

    #[test]
    fn signs_are_the_persons() {
        assert!(with_head("0,20,0,0,0,-0.5").head.yaw > 0.3, "+y turns to the own left");
        assert!(with_head("15,0,0,0,0,-0.5").head.pitch > 0.2, "+x looks down");
        assert!(with_head("0,0,-15,0,0,-0.5").head.roll > 0.2, "-z leans to the own left shoulder");
        assert_eq!(with_head("0,0,0,0.1,0.2,-0.5").position, Vec3::new(0.1, 0.2, 0.5));
        assert!((with_head("0,350,0,0,0,-0.5").head.yaw.to_degrees() + 10.0).abs() < 1e-3, "350° are -10°");
    }

    #[test]
    fn both_separators_and_the_eyes_shapes_are_understood() {
        let seen = face("jawOpen&62|eyeBlinkLeft&90|eyeLookUpLeft&50|eyeLookUpRight&50|FM_SAD&0|=head#0,0,0,0,0,-0.4|");
        assert!(seen.mouth.open > 0.95 && seen.lids.left == 1.0 && seen.lids.right == 0.0);
        assert!(seen.gaze.pitch < 0.0, "up, though no eye rotation was given");
        let seen = face("jawOpen-62|eyeBlink_R-90|=head#0,0,0,0,0,-0.4|");
        assert!(seen.lids.right == 1.0 && seen.lids.left == 0.0);
        let negative = face("jawOpen--5|eyeBlink_L-1e9|=head#0,0,0,0,0,0");
        assert_eq!(negative.mouth.open, 0.0);
        assert_eq!(negative.blendshapes[Arkit::EyeBlinkLeft as usize], 1.0);
    }

    #[test]
    fn what_is_no_packet_is_refused_with_a_reason() {
        let long = format!("jawOpen-1|{}=head#0,0,0,0,0,0", "x-1|".repeat(3000));
        for (packet, why) in [
            (&b""[..], "without a head"),
            (b"hello", "without a head"),
            (b"jawOpen-5|=", "without a head"),
            (b"=head#0,0,0,0,0,0", "without blendshapes"),
            (b"jawOpen-5|=head#0,0,0,0,0|", "a number is missing"),
            (b"jawOpen-5|=head#0,0,0,0,0,x|", "a number is missing"),
            (b"jawOpen-5|=head#0,0,0,0,0,nan|", "a number is none"),
            (b"jawOpen-5|=head#inf,0,0,0,0,0|", "a number is none"),
            (b"jawOpen-nan|=head#0,0,0,0,0,0|", "a number is none"),
            (b"jawOpen-5|=head#0,0,0,0,0,0|leftEye#1,2|", "a number is missing"),
            (b"jawOpen-5|=head#0,0,0,0,0,0\xff\xfe", "not text"),
            (long.as_bytes(), "too long"),
        ] {
            let error = read(packet).expect_err(why);
            assert_eq!(error.why, why, "{:?}", String::from_utf8_lossy(packet));
        }
        assert!(read(REQUEST).is_err(), "the request comes back from somebody who thinks omote is a phone");
    }

    proptest! {
        #[test]
        fn no_bytes_panic(packet in prop::collection::vec(any::<u8>(), 0..2000)) {
            if let Ok(Seen::Face(seen, _)) = read(&packet) {
                assert_in_range(&seen);
            }
        }

        #[test]
        fn mangled_packets_are_refused_or_sane(cut in 0..400usize, at in 0..400usize, byte in any::<u8>(), angle in any::<f32>()) {
            let mut bytes = PUBLISHED.replace("-7.3032465", &angle.to_string()).into_bytes();
            if let Some(b) = bytes.get_mut(at) {
                *b = byte;
            }
            bytes.truncate(bytes.len().saturating_sub(cut));
            if let Ok(Seen::Face(seen, _)) = read(&bytes) {
                assert_in_range(&seen);
            }
        }
    }
}
