//! What holds for any input.

use std::time::Duration;

use proptest::prelude::*;

use omote::types::MouthShape;

use super::scene::*;

fn any_number() -> impl Strategy<Value = f32> {
    prop_oneof![any::<f32>(), Just(f32::NAN), Just(f32::INFINITY), Just(f32::NEG_INFINITY), -2.0f32..2.0, 0.0f32..1.0]
}

fn any_face() -> impl Strategy<Value = FaceReport> {
    let numbers = proptest::collection::vec(any_number(), 17);
    (0.0f64..3.0, 0usize..10, numbers, any::<bool>()).prop_map(|(at, state, n, has_observation)| {
        let states = ["tracked", "turned_away", "mouth_covered", "face_lost", "black", "frozen", "stalled"];
        let observation = FaceObservation {
            confidence: n[0],
            head: HeadPose { yaw: n[1], pitch: n[2], roll: n[3] },
            position: Vec3::new(n[4], n[5], n[6]),
            mouth: MouthRatios { open: n[7], width: n[8], round: n[9], smile: n[10] },
            lids: Lids { left: n[11], right: n[12] },
            brows: Brows { left: n[13], right: n[14] },
            gaze: Gaze { yaw: n[15], pitch: n[16] },
            ..observation()
        };
        FaceReport {
            captured_at: Timestamp::from_secs_f64(at),
            state: states.get(state).and_then(|s| VideoState::from_name(s)).unwrap_or(VideoState::Tracked),
            observation: has_observation.then_some(observation),
            ..FaceReport::default()
        }
    })
}

fn any_sound() -> impl Strategy<Value = AudioReport> {
    (0.0f64..3.0, 0usize..8, proptest::collection::vec(any_number(), 18)).prop_map(|(at, state, n)| {
        let states = ["live", "silent", "muted", "stalled", "disconnected", "no_permission"];
        AudioReport {
            captured_at: Timestamp::from_secs_f64(at),
            state: states.get(state).and_then(|s| AudioState::from_name(s)).unwrap_or(AudioState::Live),
            hints: AudioHints::default(),
            frame: VisemeFrame {
                weights: std::array::from_fn(|i| n[i]),
                level_db: n[15] * 60.0,
                voiced: n[16],
                laughter: n[17],
            },
        }
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

    /// Nothing a model or a device says gets through unchecked, in any order, at any time.
    #[test]
    fn no_report_breaks_the_mixer(
        reports in proptest::collection::vec((any_face(), any_sound(), 0u64..200), 1..40),
        lipsync in 0usize..3,
        style in any::<bool>(),
        numbers in proptest::collection::vec(any_number(), 6),
    ) {
        let mut mixer = Mixer::new();
        let mut settings = mode(LipsyncMode::ALL[lipsync]);
        if style {
            settings.lipsync.mix_style = MixStyle::PerViseme;
            settings.lipsync.video_style = VideoMouthStyle::Snap;
            settings.lipsync.camera_veto = true;
            settings.view.mirror = true;
            settings.lipsync.smoothing = numbers[0];
            settings.lipsync.offset_secs = numbers[1];
            settings.calibration.neutral_head_deg = [numbers[2], numbers[3], 0.0];
            settings.calibration.neutral_position_m = [numbers[4], 0.0, 0.0];
            settings.lipsync.sensitivity = numbers[5];
        }
        let mut now = Timestamp::ZERO;
        for (face, sound, millis) in &reports {
            now = now + Duration::from_millis(*millis);
            mixer.see(face);
            mixer.hear(*sound);
            let state = mixer.mix(now, &settings);
            let mouth = state.mouth;
            prop_assert!((0.0..=1.0).contains(&mouth.open) && (0.0..=1.0).contains(&mouth.width));
            prop_assert!((0.0..=1.0).contains(&mouth.closed) && (0.0..=1.0).contains(&mouth.audio_share));
            prop_assert!(mouth.vowels.iter().chain(&mouth.visemes).all(|w| (0.0..=1.0).contains(w)), "{mouth:?}");
            prop_assert!(mouth.vowels.iter().sum::<f32>() <= 1.0 + 1e-4);
            prop_assert!(mouth.visemes.iter().skip(1).sum::<f32>() <= 1.0 + 1e-4);
            prop_assert!((0.0..=1.0).contains(&state.lids.left) && (0.0..=1.0).contains(&state.trust.face));
            prop_assert!(state.position.is_finite() && state.head.yaw.is_finite() && state.gaze.yaw.is_finite());
        }
    }

    /// Whatever comes, and whoever is lost, the lips never jump: closures apart, 0.15 in 1/60 s is the limit.
    #[test]
    fn the_mouth_is_continuous_in_time(
        pieces in proptest::collection::vec((0.0f32..1.0, 0.0f32..1.0, 0usize..15, 0u8..4, 0usize..3, any::<bool>()), 4..20),
        display_hz in prop_oneof![Just(30.0f64), Just(60.0), Just(144.0)],
    ) {
        let piece = |t: f64| pieces[(t / 0.23) as usize % pieces.len()];
        let video = |t: f64| {
            let (open, width, _, lost, ..) = piece(t);
            let state = if lost == 1 { VideoState::FaceLost } else { VideoState::Tracked };
            (lost != 2).then(|| (state, seen_mouth(open, width)))
        };
        let audio = |t: f64| {
            let (open, _, viseme, lost, ..) = piece(t + 0.1);
            let state = if lost == 1 { AudioState::Muted } else { AudioState::Live };
            (lost != 3).then(|| (state, VisemeFrame { level_db: -50.0 + 40.0 * open, ..only(Viseme::ALL[viseme]) }))
        };
        let settings = |t: f64| {
            let (.., lipsync, camera_veto) = piece(t * 0.7);
            let mut settings = mode(LipsyncMode::ALL[lipsync]);
            settings.lipsync.camera_veto = camera_veto;
            settings
        };
        let states = Scene { secs: 5.0, display_hz, video: &video, audio: &audio, ..speech(&settings) }.run();
        for pair in states.windows(2) {
            let [before, after] = [&pair[0], &pair[1]].map(|s| MouthShape::opening_of(&s.mouth.vowels, 0.0));
            prop_assert!((after - before).abs() <= 0.15 * 60.0 / display_hz as f32 + 1e-4, "{before} to {after}");
            let mouth = pair[1].mouth;
            prop_assert!((mouth.open - MouthShape::opening_of(&mouth.vowels, mouth.closed)).abs() < 1e-5);
        }
    }
}
