//! The drawn presenter: truth, pictures, faults, and that the same script gives the same bytes.
#![allow(clippy::expect_used, clippy::panic, reason = "the helpers of tests, too, may fail")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use omote::audio::AudioSource;
use omote::audio::presenter::{PresenterMicrophone, Recording, Voice};
use omote::capture::FrameSource;
use omote::capture::presenter::{Filming, Painter, PresenterCamera, PresenterPose, PresenterScript, Scene};
use omote::face::{FaceModel, FaceOptions, FaceTracker};
use omote::sync::{Pace, SessionClock, StepClock};
use omote::types::{
    Arkit, AudioFault, Brows, ErrorKind, FaceReport, Gaze, HeadPose, Lids, SourceError, Timestamp, VideoFault,
    VideoFrame, Viseme,
};
use proptest::prelude::*;

const NO_WAIT: Duration = Duration::ZERO;

fn script(lines: &str) -> Arc<PresenterScript> {
    let text = format!("format = 1\nduration = 4.0\n{lines}");
    Arc::new(PresenterScript::from_toml(&text, None).expect("script"))
}

fn small(pace: Pace) -> Filming {
    Filming { width: 160, height: 120, fps: 10, pace, ..Filming::default() }
}

/// Every frame or error of a script filmed at 160x120 and 10 frames a second.
fn film(lines: &str) -> Vec<Result<VideoFrame, SourceError>> {
    let mut camera = PresenterCamera::open(script(lines), small(Pace::Free)).expect("camera");
    let mut all = Vec::new();
    loop {
        match camera.next_frame(NO_WAIT) {
            Err(SourceError::Ended) => return all,
            result => all.push(result),
        }
    }
}

fn mean(frame: &VideoFrame) -> f32 {
    frame.rgb.iter().map(|x| f32::from(*x)).sum::<f32>() / frame.rgb.len() as f32
}

/// The share of bytes that differ by more than what noise does.
fn difference(a: &[u8], b: &[u8]) -> f32 {
    a.iter().zip(b).filter(|(a, b)| a.abs_diff(**b) > 24).count() as f32 / a.len() as f32
}

#[test]
fn the_demo_does_what_its_time_line_says() {
    let demo = PresenterScript::demo().expect("demo");
    assert_eq!(demo.warnings(), &[] as &[String]);
    assert_eq!((demo.duration_secs(), demo.voice_file()), (15.0, Some("demo.wav")));
    let range = |from: f64, to: f64| {
        let demo = &demo;
        let steps = ((to - from) * 100.0) as usize;
        (0..steps).map(move |i| demo.truth(from + i as f64 / 100.0))
    };
    let most = |from, to, f: fn(&PresenterPose) -> f32| range(from, to).map(|t| f(&t.pose)).fold(f32::MIN, f32::max);

    assert!(most(0.0, 0.9, |p| p.jaw) < 0.05, "neutral before the speech");
    assert!(most(0.0, 0.9, |p| p.head.yaw.abs()) < 0.01);
    for (from, to) in [(1.0, 4.47), (7.5, 10.45), (11.0, 13.95)] {
        assert!(most(from, to, |p| p.jaw) > 0.5, "the mouth opens in the speech at {from}");
        assert!(range(from, to).filter(|t| t.viseme != Viseme::Sil).count() as f64 > (to - from) * 80.0);
        for truth in range(from, to).filter(|t| t.viseme == Viseme::Pp) {
            assert!(truth.open < 0.3, "{truth:?}");
        }
    }
    assert!((most(4.5, 6.0, |p| p.head.yaw).to_degrees() - 25.0).abs() < 2.0, "to the own left");
    assert!((most(4.5, 6.0, |p| -p.head.yaw).to_degrees() - 25.0).abs() < 2.0, "to the own right");
    let lids: Vec<_> = range(4.5, 6.0).map(|t| t.pose.lids.left > 0.9).collect();
    assert_eq!(lids.windows(2).filter(|w| !w[0] && w[1]).count(), 2, "two blinks in the turn");
    for truth in range(6.4, 6.95) {
        assert!(truth.open > 0.95 && truth.viseme == Viseme::Sil && truth.pose.brows.left > 0.9, "{truth:?}");
    }
    for truth in range(0.0, 15.0).zip((0..).map(|i| f64::from(i) / 100.0)) {
        let (truth, at) = truth;
        assert_eq!(truth.audio, (8.5..9.5).contains(&at).then_some(AudioFault::Disconnected), "{at}");
        assert_eq!(truth.video, (12.0..13.0).contains(&at).then_some(VideoFault::FaceOut), "{at}");
    }
    assert!(most(14.4, 15.0, |p| p.smile) > 0.8);
}

#[test]
fn the_person_never_jumps() {
    let demo = PresenterScript::demo().expect("demo");
    for i in 0..15 * 60 {
        let (a, b) = (demo.truth(f64::from(i) / 60.0).pose, demo.truth(f64::from(i + 1) / 60.0).pose);
        let turned = a.head.to_quat().angle_between(b.head.to_quat()).to_degrees();
        assert!(turned < 4.0, "{turned} degrees at frame {i}");
        assert!((a.jaw - b.jaw).abs() < 0.35, "frame {i}");
        assert!((a.position - b.position).length() < 0.05, "frame {i}");
    }
}

#[test]
fn the_demo_is_heard_when_it_speaks_and_lost_when_it_says_so() {
    let demo = PresenterScript::demo().expect("demo");
    let voice = Voice::demo().expect("voice");
    assert_eq!((voice.rate_hz, voice.duration()), (16_000, Duration::from_secs(15)));
    let recording = Recording { faults: demo.faults().clone(), ..Recording::default() };
    let mut mic = PresenterMicrophone::new(voice, recording);
    let mut heard = vec![None; 1500];
    let (mut gone, mut out) = (0, [0.0; 160]);
    loop {
        match mic.read(&mut out) {
            Ok((count, at)) => {
                let energy: f32 = out[..count].iter().map(|s| s * s).sum::<f32>() / count.max(1) as f32;
                heard[(at.as_secs_f64() * 100.0).round() as usize] = Some(energy.sqrt());
            }
            Err(SourceError::Ended) => break,
            Err(e) => {
                assert_eq!(e.kind(), ErrorKind::Gone);
                gone += 1;
            }
        }
    }
    assert_eq!(gone, 1);
    let missing = heard.iter().enumerate().filter(|(_, h)| h.is_none()).map(|(i, _)| i).collect::<Vec<_>>();
    assert_eq!((missing.first(), missing.last(), missing.len()), (Some(&850), Some(&949), 100));
    let loud = |from: usize, to: usize| heard[from..to].iter().flatten().fold(0.0f32, |m, x| m.max(*x));
    assert!(loud(610, 740) < 0.01, "the gasp is silent: {}", loud(610, 740));
    for (from, to) in [(100, 447), (750, 1049), (1100, 1398)] {
        assert!(loud(from, to) > 0.05, "{from}: {}", loud(from, to));
    }
}

#[test]
fn the_same_script_gives_the_same_bytes_whatever_came_before() {
    let lines = "blinks = [0.3]\n[tracks]\nsway = [[0, 1]]\njaw = [[0, 0], [0.5, 1], [1, 0]]\n\"head.yaw\" = [[0, -20], [4, 20]]";
    let (first, second) = (film(lines), film(lines));
    assert_eq!(first.len(), 40);
    assert!(first == second, "two runs differ");
    // A reader that is late gets the same frame.
    let mut camera = PresenterCamera::open(script(lines), small(Pace::Free)).expect("camera");
    let mut frames = std::iter::repeat_with(|| camera.next_frame(NO_WAIT).expect("frame"));
    let seventh = frames.nth(7).expect("frame");
    assert_eq!((seventh.seq, seventh.captured_at), (7, Timestamp::from_secs_f64(0.7)));
    assert!(Ok(seventh) == first[7]);
    let moving = difference(&first[0].as_ref().expect("frame").rgb, &first[5].as_ref().expect("frame").rgb);
    assert!(moving > 0.005, "{moving}");
}

#[test]
fn faults_look_like_what_they_are() {
    let sway = "[tracks]\nsway = [[0, 1]]\n\"head.yaw\" = [[0, -20], [4, 20]]";
    let plain = film(sway);
    let with = |fault: &str| film(&format!("faults = [\"video={fault}@1..2\"]\n{sway}"));
    let frame = |frames: &[Result<VideoFrame, SourceError>], i: usize| frames[i].clone().expect("frame");
    let outside_is_plain = |frames: &[Result<VideoFrame, SourceError>], what: &str| {
        assert_eq!(frames.len(), 40, "{what}");
        for i in (0..10).chain(20..40) {
            assert!(frames[i] == plain[i], "{what}: frame {i}");
        }
    };
    let frozen = with("frozen");
    outside_is_plain(&frozen, "frozen");
    for i in 10..20 {
        let shown = frame(&frozen, i);
        assert!(
            shown.rgb == frame(&plain, 9).rgb
                && shown.seq == i as u64
                && shown.captured_at == frame(&plain, i).captured_at
        );
    }
    let black = with("black");
    outside_is_plain(&black, "black");
    assert!((10..20).all(|i| frame(&black, i).rgb.iter().all(|x| *x == 0)));
    let dark = with("dark");
    outside_is_plain(&dark, "dark");
    assert!((10..20).all(|i| mean(&frame(&dark, i)) < 0.06 * mean(&frame(&plain, i))));
    let out = with("face_out");
    outside_is_plain(&out, "face_out");
    assert!(difference(&frame(&out, 10).rgb, &frame(&out, 19).rgb) < 0.001, "nobody moves");
    assert!(difference(&frame(&out, 10).rgb, &frame(&plain, 10).rgb) > 0.15, "somebody is gone");
    let covered = with("covered");
    outside_is_plain(&covered, "covered");
    assert!((0.02..0.2).contains(&difference(&frame(&covered, 15).rgb, &frame(&plain, 15).rgb)));
    let stalled = with("stalled");
    outside_is_plain(&stalled, "stalled");
    assert!((10..20).all(|i| stalled[i] == Err(SourceError::Timeout)));
    let gone = with("disconnected");
    outside_is_plain(&gone, "disconnected");
    assert!((10..20).all(|i| gone[i].as_ref().map_err(SourceError::kind).err() == Some(ErrorKind::Gone)));
}

#[test]
fn a_stepped_camera_gives_what_is_due() {
    let clock = StepClock::default();
    let filming = Filming { starts_at: Timestamp::from_secs_f64(5.0), ..small(Pace::Stepped(clock.clone())) };
    let mut camera = PresenterCamera::open(script("faults = [\"video=stalled@0.5..1.0\"]"), filming).expect("camera");
    assert_eq!(camera.next_frame(NO_WAIT), Err(SourceError::Timeout));
    clock.advance_to(Timestamp::from_secs_f64(5.3));
    let due: Vec<_> = std::iter::from_fn(|| camera.next_frame(NO_WAIT).ok()).map(|f| f.seq).collect();
    assert_eq!(due, [0, 1, 2, 3]);
    assert_eq!(camera.next_at(), Timestamp::from_secs_f64(5.4));
    clock.advance_to(Timestamp::from_secs_f64(6.1));
    let due: Vec<_> = std::iter::from_fn(|| camera.next_frame(NO_WAIT).ok()).map(|f| f.seq).collect();
    assert_eq!(due, [4, 10, 11], "the stall swallowed 5 to 9");
}

#[test]
fn a_live_camera_keeps_time_and_drops_what_it_is_late_for() {
    let clock = SessionClock::new();
    let mut camera = PresenterCamera::open(script(""), small(Pace::Live(clock))).expect("camera");
    let first = camera.next_frame(Duration::from_secs(1)).expect("frame");
    let second = camera.next_frame(Duration::from_secs(1)).expect("frame");
    assert!(second.seq > first.seq);
    assert!(clock.now() >= second.captured_at, "a frame is there before it is due");
    assert_eq!(camera.next_frame(Duration::from_millis(1)), Err(SourceError::Timeout));
    std::thread::sleep(Duration::from_millis(350));
    let late = camera.next_frame(Duration::from_secs(1)).expect("frame");
    assert!(late.seq >= second.seq + 3, "{} after {}", late.seq, second.seq);
}

#[test]
fn what_cannot_be_filmed_is_said() {
    for filming in [
        Filming { width: 0, ..Filming::default() },
        Filming { height: 100_000, ..Filming::default() },
        Filming { fps: 0, ..Filming::default() },
    ] {
        assert_eq!(PresenterCamera::open(script(""), filming).err().map(|e| e.kind()), Some(ErrorKind::Setup));
    }
}

#[test]
fn a_wrong_script_is_refused_with_its_place() {
    let error = |text: &str| PresenterScript::from_toml(text, None).expect_err(text).to_string();
    let head = "format = 1\nduration = 2.0\n";
    assert!(error("format = 2\nduration = 1.0").contains("`format`"));
    assert!(error("format = 1").contains("`duration`"));
    assert!(error("format = 1\nduration = inf").contains("`duration`"));
    assert!(error("format = [").contains("TOML"));
    for (line, place) in [
        ("blinks = [3.0]", "`blinks`"),
        ("faults = [\"video=gone@1..2\"]", "`faults[0]`"),
        ("voice = \"../secret.wav\"", "`voice`"),
        ("phones = 7", "`phones`"),
        ("tracks = 1", "`tracks`"),
        ("[tracks]\njaw = [[0.0, 0.5], [1.0, 1.5]]", "`tracks.jaw[1]`"),
        ("[tracks]\njaw = [[1.0, 0.5], [0.5, 0.5]]", "`tracks.jaw[1]`"),
        ("[tracks]\njaw = [[0.0, 0.5, \"bouncy\"]]", "`tracks.jaw[0]`"),
        ("[tracks]\n\"head.yaw\" = [[0.0, nan]]", "`tracks.head.yaw[0]`"),
    ] {
        let said = error(&format!("{head}{line}"));
        assert!(said.contains(place), "{line}: {said}");
    }
    let odd = PresenterScript::from_toml(&format!("{head}colour = 1\n[tracks]\ntail = []"), None).expect("lenient");
    assert_eq!(odd.warnings().len(), 2);
}

#[test]
fn a_script_file_brings_its_phones() {
    let dir = tempfile::tempdir().expect("dir");
    let path = dir.path().join("act.toml");
    std::fs::write(&path, "format = 1\nduration = 1.0\nphones = \"act.tsv\"").expect("write");
    let missing = PresenterScript::load(&path).expect_err("no phones");
    assert!(missing.kind() == ErrorKind::Setup && missing.to_string().contains("act.tsv"), "{missing}");
    std::fs::write(dir.path().join("act.tsv"), "0.2\t0.5\ta\taa\n").expect("write");
    let script = PresenterScript::load(&path).expect("script");
    assert_eq!(script.truth(0.3).viseme, Viseme::Aa);
    assert!(script.truth(0.35).open > 0.5);
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn mangled_scripts_never_panic(at in 0usize..4000, with in "\\PC{0,6}", cut in 0usize..40) {
        let demo = include_str!("../../assets/presenter/demo.toml");
        let at = (0..=at.min(demo.len())).rev().find(|i| demo.is_char_boundary(*i)).unwrap_or(0);
        let end = (at + cut).min(demo.len());
        let end = (end..=demo.len()).find(|i| demo.is_char_boundary(*i)).unwrap_or(demo.len());
        let text = format!("{}{with}{}", &demo[..at], &demo[end..]);
        if let Ok(script) = PresenterScript::from_toml(&text, Some("0.1\t0.3\ta\taa\n")) {
            let pose = script.truth(script.duration_secs() * 0.4).pose;
            prop_assert!(pose == pose.clamped());
        }
    }

    #[test]
    fn mangled_phones_never_panic(text in "([0-9.eE+-]{0,6}\t){0,3}[a-zA-Z_\t\n]{0,8}(\n|\t[0-9.]{1,3}\t[a-z]\tPP\n){0,4}") {
        if let Ok(script) = PresenterScript::from_toml("format = 1\nduration = 9.0", Some(&text)) {
            let truth = script.truth(1.0);
            prop_assert!((0.0..=1.0).contains(&truth.open) && (0.0..=1.0).contains(&truth.width));
        }
    }

    #[test]
    fn truth_is_in_range_at_any_time(secs in prop_oneof![Just(f64::NAN), Just(f64::INFINITY), -1e3..1e6f64, 0.0..15.0f64]) {
        let demo = PresenterScript::demo().expect("demo");
        let truth = demo.truth(secs);
        prop_assert!(truth.pose == truth.pose.clamped());
        prop_assert!(truth.pose.head_position().is_finite());
        prop_assert!((0.0..=1.0).contains(&truth.open) && (0.0..=1.0).contains(&truth.width));
    }

    #[test]
    fn any_pose_can_be_drawn(values in proptest::array::uniform12(prop_oneof![-2.0..2.0f32, Just(f32::NAN), Just(1e30f32)])) {
        let [jaw, pucker, spread, smile, left, right, brow, yaw, pitch, roll, x, z] = values;
        let pose = PresenterPose {
            jaw, pucker, spread, smile,
            lids: Lids { left, right },
            brows: Brows { left: brow, right: -brow },
            gaze: Gaze { yaw: pitch, pitch: roll },
            head: HeadPose { yaw, pitch, roll },
            position: glam::Vec3::new(x, z * 0.1, z),
        };
        PAINTER.with_borrow_mut(|(painter, rgb)| painter.paint(&Scene { mouth_covered: true, ..Scene::of(pose) }, rgb));
    }
}

thread_local! {
    static PAINTER: std::cell::RefCell<(Painter, Vec<u8>)> = {
        let painter = Painter::new(64, 48).expect("painter");
        let rgb = vec![0; painter.picture_len()];
        std::cell::RefCell::new((painter, rgb))
    };
}

/// What the networks see in one still picture of a pose.
fn seen(tracker: &mut FaceTracker, painter: &mut Painter, scene: &Scene, secs: f64) -> FaceReport {
    let mut rgb = vec![0; painter.picture_len()];
    painter.paint(scene, &mut rgb);
    let captured_at = Timestamp::from_secs_f64(secs);
    let frame = VideoFrame { captured_at, seq: 0, width: 640, height: 480, rgb: rgb.into() };
    tracker.reset();
    tracker.observe(&frame).expect("report")
}

#[test]
fn the_face_networks_take_the_presenter_for_a_face_and_follow_it() {
    let mut tracker = FaceTracker::load(FaceOptions { smoothing: false, fov_deg: 63.0 }).expect("models");
    let mut painter = Painter::new(640, 480).expect("painter");
    let mut table = Vec::new();
    for (i, (name, scene)) in sheet_scenes().into_iter().enumerate() {
        let report = seen(&mut tracker, &mut painter, &scene, i as f64);
        if let Some(o) = &report.observation {
            println!(
                "{name:11} {:?} confidence {:.2} head {:+.0} {:+.0} {:+.0} at {:.3} open {:.2} width {:.2} smile {:.2} lids {:.2} {:.2} brows {:+.2} gaze {:+.0} {:+.0} | jawOpen {:.2} blink {:.2} {:.2} pucker {:.2}",
                report.state,
                o.confidence,
                o.head.yaw.to_degrees(),
                o.head.pitch.to_degrees(),
                o.head.roll.to_degrees(),
                o.position,
                o.mouth.open,
                o.mouth.width,
                o.mouth.smile,
                o.lids.left,
                o.lids.right,
                o.brows.left,
                o.gaze.yaw.to_degrees(),
                o.gaze.pitch.to_degrees(),
                o.blendshapes[Arkit::JawOpen as usize],
                o.blendshapes[Arkit::EyeBlinkLeft as usize],
                o.blendshapes[Arkit::EyeBlinkRight as usize],
                o.blendshapes[Arkit::MouthPucker as usize],
            );
        } else {
            println!("{name:11} {:?}", report.state);
        }
        table.push((name, report));
    }
    let of = |name: &str| {
        let report = &table.iter().find(|(n, _)| *n == name).expect("scene").1;
        report.observation.as_ref().unwrap_or_else(|| panic!("{name} is no face: {:?}", report.state))
    };
    let shape = |name, shape: Arkit| of(name).blendshapes[shape as usize];
    assert!(of("rest").confidence > 0.9);
    assert!(
        shape("rest", Arkit::JawOpen) < 0.1
            && shape("jaw_half", Arkit::JawOpen) > 0.25
            && shape("jaw", Arkit::JawOpen) > 0.45
    );
    assert!(shape("rest", Arkit::MouthSmileLeft) < 0.15 && shape("smile", Arkit::MouthSmileLeft) > 0.6);
    assert!(shape("rest", Arkit::MouthPucker) < 0.35 && shape("pucker", Arkit::MouthPucker) > 0.8);
    assert!(
        shape("rest", Arkit::EyeBlinkLeft) < 0.15
            && shape("blink", Arkit::EyeBlinkLeft) > 0.45
            && shape("blink", Arkit::EyeBlinkRight) > 0.45
    );
    assert!(shape("wink_left", Arkit::EyeBlinkLeft) > shape("wink_left", Arkit::EyeBlinkRight) + 0.2);
    assert!(shape("wink_right", Arkit::EyeBlinkRight) > shape("wink_right", Arkit::EyeBlinkLeft) + 0.15);
    assert!(shape("gaze_left", Arkit::EyeLookOutLeft) > 0.6 && shape("gaze_right", Arkit::EyeLookInLeft) > 0.6);
    assert!(shape("brows_up", Arkit::BrowInnerUp) > shape("rest", Arkit::BrowInnerUp) + 0.15);
    let rest = of("rest").head;
    for (name, yaw, pitch, roll) in [
        ("yaw_30", 30.0, 0.0, 0.0),
        ("yaw_-30", -30.0, 0.0, 0.0),
        ("pitch_15", 0.0, 15.0, 0.0),
        ("pitch_-15", 0.0, -15.0, 0.0),
        ("roll_20", 0.0, 0.0, 20.0f32),
        ("roll_-20", 0.0, 0.0, -20.0),
    ] {
        let head = of(name).head;
        let off = [head.yaw - rest.yaw, head.pitch - rest.pitch, head.roll - rest.roll].map(f32::to_degrees);
        for (off, truth) in off.into_iter().zip([yaw, pitch, roll]) {
            assert!((off - truth).abs() < 8.0, "{name}: {off} for {truth}");
        }
    }
}

/// The stored picture allows for other machines' rounding, not for another drawing.
#[test]
fn the_presenter_looks_as_stored() {
    let pose = PresenterPose {
        jaw: 0.4,
        smile: 0.3,
        head: HeadPose { yaw: 0.2, pitch: 0.05, roll: 0.1 },
        position: glam::Vec3::new(0.0, 0.0, 0.36),
        ..PresenterPose::default()
    };
    let mut painter = Painter::new(160, 120).expect("painter");
    let mut rgb = vec![0; painter.picture_len()];
    painter.paint(&Scene::of(pose), &mut rgb);
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/presenter/portrait.expected.png");
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        image::save_buffer(&path, &rgb, 160, 120, image::ColorType::Rgb8).expect("png");
    }
    let stored = image::open(&path).expect("stored picture; UPDATE_EXPECT=1 makes it").into_rgb8();
    assert_eq!(stored.dimensions(), (160, 120));
    let outliers = stored.as_raw().iter().zip(&rgb).filter(|(a, b)| a.abs_diff(**b) > 6).count();
    assert!(outliers * 200 < rgb.len(), "{outliers} of {} bytes differ by more than 6", rgb.len());
}

/// Far above what it costs (15 ms in a test build), as machines that build are busy.
#[test]
fn painting_is_quick() {
    let mut painter = Painter::new(640, 480).expect("painter");
    let mut rgb = vec![0; painter.picture_len()];
    let quickest = (0..8)
        .map(|seed| {
            let begun = Instant::now();
            painter.paint(&Scene { noise_seed: seed, ..Scene::of(PresenterPose::default()) }, &mut rgb);
            begun.elapsed()
        })
        .min();
    assert!(quickest < Some(Duration::from_millis(100)), "{quickest:?}");
}

fn sheet_scenes() -> Vec<(&'static str, Scene)> {
    let rest = PresenterPose::default();
    let deg = f32::to_radians;
    let head = |yaw: f32, pitch: f32, roll: f32| PresenterPose {
        head: HeadPose { yaw: deg(yaw), pitch: deg(pitch), roll: deg(roll) },
        ..rest
    };
    let lids = |left, right| PresenterPose { lids: Lids { left, right }, ..rest };
    let gaze = |yaw: f32, pitch: f32| PresenterPose { gaze: Gaze { yaw: deg(yaw), pitch: deg(pitch) }, ..rest };
    let mut covered = Scene::of(rest);
    covered.mouth_covered = true;
    let mut dark = Scene::of(rest);
    dark.light = 0.04;
    let poses = [
        ("rest", rest),
        ("jaw_half", PresenterPose { jaw: 0.5, ..rest }),
        ("jaw", PresenterPose { jaw: 1.0, ..rest }),
        ("gasp", PresenterPose { jaw: 1.0, brows: Brows { left: 1.0, right: 1.0 }, ..rest }),
        ("blink", lids(1.0, 1.0)),
        ("wink_left", lids(1.0, 0.0)),
        ("wink_right", lids(0.0, 1.0)),
        ("lids_half", lids(0.5, 0.5)),
        ("smile", PresenterPose { smile: 1.0, ..rest }),
        ("smile_open", PresenterPose { smile: 1.0, jaw: 0.3, ..rest }),
        ("pucker", PresenterPose { pucker: 1.0, ..rest }),
        ("ou", PresenterPose { pucker: 0.9, jaw: 0.3, ..rest }),
        ("ee", PresenterPose { spread: 1.0, jaw: 0.2, ..rest }),
        ("brows_up", PresenterPose { brows: Brows { left: 1.0, right: 1.0 }, ..rest }),
        ("brows_down", PresenterPose { brows: Brows { left: -1.0, right: -1.0 }, ..rest }),
        ("yaw_30", head(30.0, 0.0, 0.0)),
        ("yaw_-30", head(-30.0, 0.0, 0.0)),
        ("pitch_15", head(0.0, 15.0, 0.0)),
        ("pitch_-15", head(0.0, -15.0, 0.0)),
        ("roll_20", head(0.0, 0.0, 20.0)),
        ("roll_-20", head(0.0, 0.0, -20.0)),
        ("gaze_left", gaze(25.0, 0.0)),
        ("gaze_right", gaze(-25.0, 0.0)),
        ("gaze_up", gaze(0.0, -18.0)),
        ("gaze_down", gaze(0.0, 18.0)),
        ("yaw_45_jaw", PresenterPose { jaw: 0.7, ..head(45.0, 0.0, 0.0) }),
        ("far", PresenterPose { position: glam::Vec3::new(0.08, 0.04, 0.7), ..rest }),
        ("near", PresenterPose { position: glam::Vec3::new(0.0, -0.01, 0.3), ..rest }),
    ];
    let mut scenes: Vec<_> = poses.into_iter().map(|(name, pose)| (name, Scene::of(pose))).collect();
    scenes.push(("covered", covered));
    scenes.push(("dark", dark));
    scenes.push(("empty", Scene { person: None, ..Scene::of(rest) }));
    scenes
}

/// Paints every movement for the eye: `OMOTE_PRESENTER_SHEET=dir cargo test --test it presenter::sheet -- --ignored`.
#[test]
#[ignore = "writes pictures to look at into the folder OMOTE_PRESENTER_SHEET"]
fn sheet() {
    let Ok(dir) = std::env::var("OMOTE_PRESENTER_SHEET") else {
        println!("skipped: OMOTE_PRESENTER_SHEET names no folder");
        return;
    };
    let begun = std::time::Instant::now();
    let mut painter = Painter::new(640, 480).expect("painter");
    println!("painter: {:?}", begun.elapsed());
    let mut rgb = vec![0; painter.picture_len()];
    for (name, scene) in sheet_scenes() {
        let begun = std::time::Instant::now();
        painter.paint(&scene, &mut rgb);
        println!("{name}: {:?}", begun.elapsed());
        image::save_buffer(format!("{dir}/{name}.png"), &rgb, 640, 480, image::ColorType::Rgb8).expect("png");
    }
}

/// What a picture costs in processor time: `cargo test --release --test it presenter::cost -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn cost() {
    // Nanoseconds this thread has run; wall time where the system does not say.
    let begun = std::time::Instant::now();
    let ran = || {
        let stat = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
        let nanos = stat.split(' ').next().and_then(|n| n.parse().ok());
        std::time::Duration::from_nanos(nanos.unwrap_or(begun.elapsed().as_nanos() as u64))
    };
    let before = ran();
    let mut painter = Painter::new(640, 480).expect("painter");
    println!("painter: {:?}", ran() - before);
    let mut rgb = vec![0; painter.picture_len()];
    let pose = PresenterPose { jaw: 0.5, ..PresenterPose::default() };
    for scene in [Scene::of(pose), Scene { person: None, ..Scene::of(pose) }] {
        painter.paint(&scene, &mut rgb);
        let before = ran();
        for seed in 0..40 {
            painter.paint(&Scene { noise_seed: seed, ..scene }, &mut rgb);
        }
        println!("person {}: {:?} a picture", scene.person.is_some(), (ran() - before) / 40);
    }
}

/// Films the demo for the eye: `OMOTE_PRESENTER_SHEET=dir cargo test --test it presenter::demo_film -- --ignored`.
#[test]
#[ignore = "writes pictures to look at into the folder OMOTE_PRESENTER_SHEET"]
fn demo_film() {
    let Ok(dir) = std::env::var("OMOTE_PRESENTER_SHEET") else {
        println!("skipped: OMOTE_PRESENTER_SHEET names no folder");
        return;
    };
    let demo = Arc::new(PresenterScript::demo().expect("demo"));
    let mut camera = PresenterCamera::open(Arc::clone(&demo), Filming::default()).expect("camera");
    let mut truth = String::new();
    loop {
        match camera.next_frame(NO_WAIT) {
            Ok(frame) => {
                let path = format!("{dir}/demo_{:04}.png", frame.seq);
                image::save_buffer(path, &frame.rgb, frame.width, frame.height, image::ColorType::Rgb8).expect("png");
                let t = camera.truth_of(&frame);
                truth += &format!(
                    "{}\t{:.3}\t{:.3}\t{:.3}\t{:.3}\t{:.2}\t{:.2}\t{:.2}\t{}\n",
                    frame.seq,
                    t.open,
                    t.width,
                    t.pose.lids.left,
                    t.pose.smile,
                    t.pose.head.yaw.to_degrees(),
                    t.pose.head.pitch.to_degrees(),
                    t.pose.head.roll.to_degrees(),
                    t.video.map_or("-", VideoFault::name)
                );
            }
            Err(SourceError::Ended) => break,
            Err(_) => {}
        }
    }
    std::fs::write(format!("{dir}/demo_truth.tsv"), truth).expect("truth");
}
