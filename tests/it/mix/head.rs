//! Everything of the face that is not the mouth.

use omote::mix::neutral_of;

use super::scene::*;

#[test]
fn the_head_moves_smoothly_and_hardly_late() {
    let head_at = |t: f64| (0.5 * (std::f64::consts::TAU * 0.8 * t).sin()) as f32;
    for camera_fps in [15.0, 25.0, 30.0, 60.0] {
        let video = |t: f64| {
            let head = HeadPose { yaw: head_at(t), pitch: 0.0, roll: 0.0 };
            Some((VideoState::Tracked, FaceObservation { head, ..observation() }))
        };
        let settings = |_| mode(LipsyncMode::Mix);
        let states = Scene { secs: 6.0, camera_fps, video: &video, ..speech(&settings) }.run();
        let yaw: Vec<f32> = states.iter().map(|s| s.head.yaw).collect();
        // The lag that fits best, against the moment of capture as it reaches the mixer.
        let error = |lag: f64| -> f32 {
            (120..360).map(|i| (yaw[i] - head_at(i as f64 / 60.0 - VIDEO_LATENCY - lag)).powi(2)).sum()
        };
        let lag = (0..100).map(|ms| f64::from(ms) * 0.001).min_by(|a, b| error(*a).total_cmp(&error(*b))).unwrap();
        // Jerkiness: how much the speed changes from display frame to display frame, relative to the speed.
        let speed: Vec<f32> = yaw[120..360].windows(2).map(|w| w[1] - w[0]).collect();
        let jerk =
            speed.windows(2).map(|w| (w[1] - w[0]).abs()).sum::<f32>() / speed.iter().map(|s| s.abs()).sum::<f32>();
        println!("{camera_fps} fps: the head is {:.0} ms late, jerk {jerk:.2}", lag * 1e3);
        assert!(lag <= 0.6 / camera_fps + 0.02, "{camera_fps} fps: {lag} s late");
        assert!(jerk < 0.25, "{camera_fps} fps: jerk {jerk}");
    }
}

#[test]
fn a_face_that_comes_back_elsewhere_does_not_jump() {
    let video = |t: f64| {
        let yaw = if t < 2.0 { 0.5 } else { -0.5 };
        let head = HeadPose { yaw, pitch: 0.1, roll: 0.0 };
        let seen = FaceObservation { head, lids: Lids { left: 1.0, right: 1.0 }, ..observation() };
        (!(1.5..2.5).contains(&t)).then_some((VideoState::Tracked, seen))
    };
    let settings = |_| mode(LipsyncMode::Mix);
    let states = Scene { video: &video, ..speech(&settings) }.run();
    let step = states[60..].windows(2).map(|w| (w[1].head.yaw - w[0].head.yaw).abs()).fold(0.0, f32::max);
    assert!(step < 0.1, "the head steps by {step} rad");
    assert!((states[239].head.yaw + 0.5).abs() < 0.01);
    assert_eq!(states[140].trust.face, 0.0);
}

#[test]
fn neutral_is_removed_and_sides_are_swapped_once() {
    let mut seen = observation();
    seen.head = HeadPose { yaw: 0.4, pitch: 0.2, roll: 0.1 };
    seen.position = Vec3::new(0.1, 0.05, 0.7);
    seen.lids = Lids { left: 0.9, right: 0.1 };
    seen.brows = Brows { left: 0.5, right: -0.5 };
    seen.gaze = Gaze { yaw: 0.2, pitch: 0.1 };
    let state = |settings: Settings| {
        let video = |_| Some((VideoState::Tracked, seen.clone()));
        let settings = |_| settings.clone();
        Scene { secs: 1.0, video: &video, ..speech(&settings) }.run().pop().unwrap()
    };
    let mut settings = mode(LipsyncMode::Mix);
    settings.calibration.neutral_position_m = [0.0, 0.0, 0.6];
    let plain = state(settings.clone());
    assert!((plain.head.yaw - 0.4).abs() < 1e-3 && (plain.head.roll - 0.1).abs() < 1e-3);
    assert!(plain.position.distance(Vec3::new(0.1, 0.05, -0.1)) < 1e-3, "{}", plain.position);
    assert!((plain.lids.left - 0.9).abs() < 1e-3 && (plain.gaze.yaw - 0.2).abs() < 1e-3);

    settings.view.mirror = true;
    let mirrored = state(settings.clone());
    assert!((mirrored.head.yaw + 0.4).abs() < 1e-3 && (mirrored.head.roll + 0.1).abs() < 1e-3);
    assert!((mirrored.head.pitch - 0.2).abs() < 1e-3);
    assert!(mirrored.position.distance(Vec3::new(-0.1, 0.05, -0.1)) < 1e-3, "{}", mirrored.position);
    assert!((mirrored.lids.right - 0.9).abs() < 1e-3 && (mirrored.lids.left - 0.1).abs() < 1e-3);
    assert!((mirrored.brows.right - 0.5).abs() < 1e-3 && (mirrored.gaze.yaw + 0.2).abs() < 1e-3);
    assert_eq!(mirrored.mouth, plain.mouth);

    settings.calibration = neutral_of(&seen);
    let neutral = state(settings);
    let HeadPose { yaw, pitch, roll } = neutral.head;
    assert!(yaw.abs() < 1e-3 && pitch.abs() < 1e-3 && roll.abs() < 1e-3, "{:?}", neutral.head);
    assert!(neutral.position.length() < 1e-3);
}
