//! The seen mouth: styles, vowels, silent expressions, calibration.

use super::scene::*;

#[test]
fn video_mode_names_vowels_and_snaps() {
    let snap = |_| {
        let mut settings = mode(LipsyncMode::Video);
        settings.lipsync.video_style = VideoMouthStyle::Snap;
        settings
    };
    for (open, width, round, vowel) in [
        (0.9, 0.6, 0.0, Vowel::Aa),
        (0.12, 0.9, 0.0, Vowel::Ih),
        (0.35, 0.95, 0.0, Vowel::Ee),
        (0.15, 0.2, 0.8, Vowel::Ou),
        (0.7, 0.3, 0.8, Vowel::Oh),
    ] {
        let video = |_| {
            let mouth = MouthRatios { open, width, round, smile: 0.0 };
            Some((VideoState::Tracked, FaceObservation { mouth, ..observation() }))
        };
        let smooth = |_| mode(LipsyncMode::Video);
        let mouth = Scene { secs: 1.5, video: &video, ..speech(&smooth) }.run()[89].mouth;
        let (winner, _) = mouth.vowels.iter().enumerate().max_by(|a, b| a.1.total_cmp(b.1)).unwrap();
        assert_eq!(winner, vowel as usize, "open {open} width {width} round {round}: {:?}", mouth.vowels);
        assert!((mouth.open - open).abs() < 0.05, "{open} shown as {}", mouth.open);
        assert_eq!(mouth.audio_share, 0.0);
    }
    for (open, shown) in [(0.2, 0.0), (0.3, 0.5), (0.65, 0.5), (0.75, 1.0)] {
        let video = |_| Some((VideoState::Tracked, seen_mouth(open, 0.5)));
        let mouth = Scene { secs: 1.5, video: &video, ..speech(&snap) }.run()[89].mouth;
        assert!((mouth.open - shown).abs() < 0.01, "{open} snaps to {}", mouth.open);
    }
    // A closed-lip smile is no "ee".
    let smiling = |_| Some((VideoState::Tracked, seen_mouth(0.0, 1.0)));
    for settings in [&snap as &dyn Fn(f64) -> Settings, &|_| mode(LipsyncMode::Video)] {
        let mouth = Scene { secs: 1.5, video: &smiling, ..speech(settings) }.run()[89].mouth;
        assert!(mouth.open < 0.01 && mouth.vowels.iter().all(|w| *w < 0.01), "{mouth:?}");
    }
}

/// A mouth seen like this in mix mode while nobody makes a sound.
fn silently(open: f32, width: f32, round: f32) -> FaceState {
    let settings = |_| mode(LipsyncMode::Mix);
    let video = |_| {
        let mouth = MouthRatios { open, width, round, smile: 0.0 };
        Some((VideoState::Tracked, FaceObservation { mouth, ..observation() }))
    };
    let audio = |_| Some((AudioState::Silent, VisemeFrame { level_db: -60.0, ..VisemeFrame::SILENT }));
    Scene { secs: 1.5, video: &video, audio: &audio, ..speech(&settings) }.run().pop().unwrap()
}

#[test]
fn silent_expressions_are_the_cameras_to_show() {
    for (name, open, width, round, vowel, least) in [
        ("yawn", 1.0, 0.42, 0.1, Vowel::Aa, 0.75),
        ("gasp", 0.85, 0.5, 0.05, Vowel::Aa, 0.6),
        ("silent o", 0.6, 0.3, 0.7, Vowel::Oh, 0.4),
        ("kiss", 0.12, 0.1, 0.9, Vowel::Ou, 0.04),
    ] {
        let mouth = silently(open, width, round).mouth;
        let winner = (0..5).max_by(|a, b| mouth.vowels[*a].total_cmp(&mouth.vowels[*b])).unwrap();
        assert_eq!(winner, vowel as usize, "{name}: {:?}", mouth.vowels);
        assert!(mouth.open >= least, "{name} opens to {}", mouth.open);
        assert!(mouth.audio_share <= 0.5, "{name}: {}", mouth.audio_share);
    }
}

#[test]
fn the_steps_of_the_snapped_look_are_those_of_the_rule() {
    let settings = |_| {
        let mut settings = mode(LipsyncMode::Video);
        settings.lipsync.video_style = VideoMouthStyle::Snap;
        settings
    };
    let shown = |open: f32, width: f32| {
        let video = |_| Some((VideoState::Tracked, seen_mouth(open, width)));
        Scene { secs: 1.0, video: &video, ..speech(&settings) }.run().pop().unwrap().mouth
    };
    // Around the limits by a little more than the calibration moves in a second.
    for (open, wanted) in [(0.0, 0.0), (0.22, 0.0), (0.29, 0.5), (0.67, 0.5), (0.74, 1.0), (1.0, 1.0)] {
        let mouth = shown(open, 0.5);
        assert!((mouth.open - wanted).abs() < 0.01, "{open} snaps to {}", mouth.open);
    }
    for (width, wanted) in [(0.5, 0.0), (0.58, 0.0), (0.62, 0.35), (0.78, 0.35), (0.82, 0.7)] {
        let ih = shown(0.15, width).vowels[Vowel::Ih as usize];
        assert!((ih - wanted).abs() < 0.01, "width {width} becomes i {ih}");
    }
    let grin = shown(0.9, 0.9);
    assert!(grin.open > 0.99 && grin.vowels.iter().sum::<f32>() <= 1.0 + 1e-5, "how far comes first: {grin:?}");
}

#[test]
fn a_person_who_hardly_opens_the_mouth_is_understood_after_a_while() {
    let settings = |_| mode(LipsyncMode::Video);
    let video = |t: f64| Some((VideoState::Tracked, seen_mouth(0.06 + 0.4 * spoken(t), 0.5)));
    let open = Scene { secs: 90.0, video: &video, ..speech(&settings) }.open();
    let range = |from, until| {
        let slice = seconds(&open, from, until);
        (slice.iter().copied().fold(1.0, f32::min), slice.iter().copied().fold(0.0, f32::max))
    };
    let (_, early) = range(1.0, 4.0);
    let (closed, late) = range(80.0, 90.0);
    assert!(early < 0.5, "at first as the tracker sees it: {early}");
    assert!(late > 0.7, "then as this person opens: {late}");
    assert!(closed < 0.04, "and lips at rest are closed: {closed}");
}

#[test]
fn the_neutral_pose_is_a_rest_for_the_mouth() {
    let video = |_| Some((VideoState::Tracked, seen_mouth(0.1, 0.55)));
    let settings = |t| {
        let mut settings = mode(LipsyncMode::Video);
        if t > 1.0 {
            settings.calibration.neutral_head_deg = [3.0, 0.0, 0.0];
        }
        settings
    };
    let states = Scene { secs: 1.5, video: &video, ..speech(&settings) }.run();
    assert!(states[58].mouth.open > 0.05, "{:?}", states[58].mouth);
    let mouth = states[89].mouth;
    assert!(mouth.open < 0.01 && (mouth.width - 0.5).abs() < 0.01, "{mouth:?}");
}
