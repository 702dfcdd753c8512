//! The drawn presenter.

use omote::capture::presenter::{Painter, PresenterPose, Scene};
use omote::types::{Brows, Gaze, HeadPose, Lids};

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
