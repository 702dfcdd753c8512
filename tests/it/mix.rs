//! The mixer at its boundary: reports in, face states out, over scripted speech and scripted losses.

use std::time::Duration;

use glam::Vec3;
use omote::mix::{Mixer, laughter_shape, neutral_of};
use omote::settings::{LipsyncMode, MixStyle, Settings, VideoMouthStyle};
use omote::types::{
    ARKIT_COUNT, AudioHints, AudioReport, AudioState, Brows, FaceObservation, FaceReport, FaceState, Gaze, HeadPose,
    Lids, MouthRatios, Timestamp, VISEME_COUNT, VideoHints, VideoState, Viseme, VisemeFrame, Vowel,
};
use proptest::prelude::*;

/// How late reports come, seconds.
const VIDEO_LATENCY: f64 = 0.05;
const AUDIO_LATENCY: f64 = 0.06;

/// A performance: what there is to see and to hear at each moment. `None` means that no report comes at all.
struct Scene<'a> {
    secs: f64,
    display_hz: f64,
    camera_fps: f64,
    /// Microphone reports come in bunches of this many.
    bunch: usize,
    settings: &'a dyn Fn(f64) -> Settings,
    video: &'a dyn Fn(f64) -> Option<(VideoState, FaceObservation)>,
    audio: &'a dyn Fn(f64) -> Option<(AudioState, VisemeFrame)>,
}

impl Scene<'_> {
    fn run(&self) -> Vec<FaceState> {
        let mut mixer = Mixer::new();
        let (mut frame, mut hop) = (0u64, 0usize);
        (0..(self.secs * self.display_hz) as usize)
            .map(|tick| {
                let now = tick as f64 / self.display_hz;
                while frame as f64 / self.camera_fps + VIDEO_LATENCY <= now {
                    let at = frame as f64 / self.camera_fps;
                    if let Some((state, observation)) = (self.video)(at) {
                        mixer.see(&FaceReport {
                            captured_at: Timestamp::from_secs_f64(at),
                            seq: frame,
                            state,
                            hints: VideoHints::default(),
                            observation: (!state.is_face_lost()).then_some(observation),
                        });
                    }
                    frame += 1;
                }
                while (hop + self.bunch) as f64 * 0.01 + AUDIO_LATENCY <= now {
                    for hop in hop..hop + self.bunch {
                        let at = hop as f64 * 0.01;
                        if let Some((state, frame)) = (self.audio)(at) {
                            let captured_at = Timestamp::from_secs_f64(at);
                            mixer.hear(AudioReport { captured_at, state, hints: AudioHints::default(), frame });
                        }
                    }
                    hop += self.bunch;
                }
                mixer.mix(Timestamp::from_secs_f64(now), &(self.settings)(now))
            })
            .collect()
    }

    /// The opening of the mouth over time.
    fn open(&self) -> Vec<f32> {
        self.run().iter().map(|s| s.mouth.open).collect()
    }
}

fn mode(mode: LipsyncMode) -> Settings {
    let mut settings = Settings::default();
    settings.lipsync.mode = mode;
    settings.view.mirror = false;
    settings
}

/// How far the mouth of somebody who speaks about four and a half syllables a second is open.
fn spoken(t: f64) -> f32 {
    let syllable = 0.5 - 0.5 * (std::f64::consts::TAU * 4.3 * t).cos();
    let stress = 0.7 + 0.25 * (std::f64::consts::TAU * 0.7 * t).sin();
    (syllable * stress) as f32
}

/// Which vowel: they take turns, syllable by syllable.
fn spoken_vowel(t: f64) -> Viseme {
    [Viseme::Aa, Viseme::E, Viseme::Oh, Viseme::Ih, Viseme::Aa, Viseme::Ou][(t * 4.3) as usize % 6]
}

fn heard(t: f64) -> VisemeFrame {
    let open = spoken(t).min(1.0);
    let mut frame =
        VisemeFrame { weights: [0.0; VISEME_COUNT], level_db: -32.0 + 8.0 * open, voiced: 0.95, laughter: 0.0 };
    frame.weights[spoken_vowel(t) as usize] = 0.8 * open;
    frame.weights[Viseme::Nn as usize] = 0.2 * open;
    frame.weights[Viseme::Sil as usize] = 1.0 - open;
    frame
}

fn only(viseme: Viseme) -> VisemeFrame {
    let mut frame = VisemeFrame { weights: [0.0; VISEME_COUNT], level_db: -28.0, voiced: 0.95, laughter: 0.0 };
    frame.weights[viseme as usize] = 1.0;
    frame
}

fn observation() -> FaceObservation {
    FaceObservation {
        confidence: 0.95,
        landmarks_px: Vec::new(),
        head: HeadPose::default(),
        position: Vec3::new(0.0, 0.0, 0.6),
        mouth: MouthRatios::default(),
        lids: Lids::default(),
        brows: Brows::default(),
        gaze: Gaze::default(),
        blendshapes: [0.0; ARKIT_COUNT],
    }
}

fn seen_mouth(open: f32, width: f32) -> FaceObservation {
    FaceObservation { mouth: MouthRatios { open, width, ..MouthRatios::default() }, ..observation() }
}

fn speech_seen(t: f64) -> Option<(VideoState, FaceObservation)> {
    Some((VideoState::Tracked, seen_mouth(0.8 * spoken(t), 0.55)))
}

fn speech_heard(t: f64) -> Option<(AudioState, VisemeFrame)> {
    Some((AudioState::Live, heard(t)))
}

fn nothing_seen(_: f64) -> Option<(VideoState, FaceObservation)> {
    None
}

fn nothing_heard(_: f64) -> Option<(AudioState, VisemeFrame)> {
    None
}

fn speech<'a>(settings: &'a dyn Fn(f64) -> Settings) -> Scene<'a> {
    Scene {
        secs: 4.0,
        display_hz: 60.0,
        camera_fps: 30.0,
        bunch: 1,
        settings,
        video: &speech_seen,
        audio: &speech_heard,
    }
}

fn range_of(values: &[f32]) -> f32 {
    let (min, max) = values.iter().fold((f32::MAX, f32::MIN), |(min, max), v| (min.min(*v), max.max(*v)));
    max - min
}

fn seconds(open: &[f32], from: f64, until: f64) -> &[f32] {
    &open[(from * 60.0).round() as usize..(until * 60.0).round() as usize]
}

#[test]
fn each_mode_moves_the_mouth_from_its_own_source() {
    for (lipsync, video, audio, moves) in [
        (LipsyncMode::Audio, false, true, true),
        (LipsyncMode::Audio, true, false, false),
        (LipsyncMode::Video, true, false, true),
        (LipsyncMode::Video, false, true, false),
        (LipsyncMode::Mix, true, false, true),
        (LipsyncMode::Mix, false, true, true),
        (LipsyncMode::Mix, true, true, true),
        (LipsyncMode::Mix, false, false, false),
    ] {
        let settings = |_| mode(lipsync);
        let mut scene = speech(&settings);
        scene.video = if video { &speech_seen } else { &nothing_seen };
        scene.audio = if audio { &speech_heard } else { &nothing_heard };
        let range = range_of(seconds(&scene.open(), 1.0, 4.0));
        assert_eq!(range > 0.4, moves, "{lipsync:?}, video {video}, audio {audio}: moves by {range}");
        assert!(moves || range < 0.01, "{lipsync:?}, video {video}, audio {audio}: moves by {range}");
    }
}

/// One disturbance of the speech at 2 s, with what the mouth shows of it.
struct Disturbance<'a> {
    name: &'a str,
    video: &'a dyn Fn(f64) -> Option<(VideoState, FaceObservation)>,
    audio: &'a dyn Fn(f64) -> Option<(AudioState, VisemeFrame)>,
}

#[test]
fn a_loss_neither_jumps_nor_silences_the_mouth() {
    let settings = |_| mode(LipsyncMode::Mix);
    let undisturbed = speech(&settings).open();
    let seen_alone = Scene { audio: &nothing_heard, ..speech(&settings) }.open();
    let heard_alone = Scene { video: &nothing_seen, ..speech(&settings) }.open();
    // Wherever in a syllable it happens.
    for lost_from in [2.0, 2.04, 2.08, 2.12, 2.16, 2.20] {
        let is_lost = |t: f64| (lost_from..3.0).contains(&t);
        let lost_face = (VideoState::FaceLost, observation());
        let dead_microphone = (AudioState::Disconnected, VisemeFrame::SILENT);
        let covered = (VideoState::MouthCovered, seen_mouth(0.0, 0.5));
        for (case, remaining) in [
            (
                Disturbance {
                    name: "microphone unplugged",
                    video: &speech_seen,
                    audio: &|t| if is_lost(t) { Some(dead_microphone) } else { speech_heard(t) },
                },
                &seen_alone,
            ),
            (
                Disturbance {
                    name: "samples stop",
                    video: &speech_seen,
                    audio: &|t| if is_lost(t) { None } else { speech_heard(t) },
                },
                &seen_alone,
            ),
            (
                Disturbance {
                    name: "face lost",
                    video: &|t| if is_lost(t) { Some(lost_face.clone()) } else { speech_seen(t) },
                    audio: &speech_heard,
                },
                &heard_alone,
            ),
            (
                Disturbance {
                    name: "mouth covered",
                    video: &|t| if is_lost(t) { Some(covered.clone()) } else { speech_seen(t) },
                    audio: &speech_heard,
                },
                &heard_alone,
            ),
            (
                Disturbance {
                    name: "camera stalls",
                    video: &|t| if is_lost(t) { None } else { speech_seen(t) },
                    audio: &speech_heard,
                },
                &heard_alone,
            ),
        ] {
            let name = format!("{} at {lost_from} s", case.name);
            let open = Scene { video: case.video, audio: case.audio, ..speech(&settings) }.open();
            let difference: Vec<f32> = open.iter().zip(&undisturbed).map(|(a, b)| a - b).collect();
            let step = difference.windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
            let still = ventriloquist_secs(&open);
            println!("{name}: largest step {step:.3}, ventriloquist time {still:.3} s");
            assert!(step <= 0.15, "{name}: the difference steps by {step}");
            assert!(still <= 0.25, "{name}: the mouth stood still for {still} s");

            // 0.3 s after the last report came, the mouth is that of the other source alone.
            let recovered = lost_from + AUDIO_LATENCY + 0.3;
            for (shown, wanted) in seconds(&open, recovered, 3.0).iter().zip(seconds(remaining, recovered, 3.0)) {
                assert!((shown - wanted).abs() < 0.03, "{name}: {shown} for {wanted}");
            }
            // And 0.4 s after the return that of both.
            for (shown, wanted) in seconds(&open, 3.4, 4.0).iter().zip(seconds(&undisturbed, 3.4, 4.0)) {
                assert!((shown - wanted).abs() < 0.03, "{name}: {shown} for {wanted} after the return");
            }
        }
    }
}

/// Seconds in which the person speaks and the mouth stands still: it has moved less than 0.03 in 0.1 s, where the voice
/// has moved the lips more than 0.1.
fn ventriloquist_secs(open: &[f32]) -> f64 {
    (72..open.len())
        .filter(|&i| {
            let spoken: Vec<f32> = (0..6).map(|k| spoken((i - k) as f64 / 60.0 - AUDIO_LATENCY)).collect();
            range_of(&spoken) > 0.1 && range_of(&open[i - 5..=i]) < 0.03
        })
        .count() as f64
        / 60.0
}

#[test]
fn with_both_lost_the_mouth_rests_soon() {
    let settings = |_| mode(LipsyncMode::Mix);
    // Lost in the middle of an open vowel.
    let audio = |t: f64| if t < 2.05 { Some((AudioState::Live, only(Viseme::Aa))) } else { None };
    let video = |t: f64| if t < 2.05 { Some((VideoState::Tracked, seen_mouth(0.9, 0.5))) } else { None };
    let states = Scene { audio: &audio, video: &video, ..speech(&settings) }.run();
    assert!(states[123].mouth.open > 0.7);
    // The last reports arrive up to 0.06 s after the moment they describe.
    for state in &states[((2.05 + AUDIO_LATENCY + 0.4) * 60.0) as usize..] {
        assert!(state.mouth.open < 0.01 && state.mouth.closed < 0.01, "{:?}", state.mouth);
        assert_eq!((state.trust.face, state.trust.voice), (0.0, 0.0));
        assert!(!state.is_speaking);
        assert_eq!((state.video, state.audio), (VideoState::Stalled, AudioState::Stalled));
    }
}

#[test]
fn switching_modes_while_speaking_does_not_jump() {
    let sequence = LipsyncMode::ALL;
    for from in sequence {
        for to in sequence {
            let undisturbed = speech(&|_| mode(from)).open();
            let wanted = speech(&|_| mode(to)).open();
            for switched_at in [2.0, 2.03, 2.07, 2.12, 2.17, 2.21] {
                let settings = |t| mode(if t < switched_at { from } else { to });
                let open = speech(&settings).open();
                let difference: Vec<f32> = open.iter().zip(&undisturbed).map(|(a, b)| a - b).collect();
                let step = difference[..((switched_at + 0.2) * 60.0) as usize]
                    .windows(2)
                    .map(|w| (w[1] - w[0]).abs())
                    .fold(0.0, f32::max);
                assert!(step <= 0.15, "{from:?} to {to:?}: the difference steps by {step}");
                let arrived = ((switched_at + 0.16) * 60.0) as usize;
                for (shown, wanted) in open[arrived..].iter().zip(&wanted[arrived..]) {
                    assert!((shown - wanted).abs() < 1e-3, "{from:?} to {to:?}: {shown} for {wanted}");
                }
            }
        }
    }
}

#[test]
fn switching_between_sources_that_disagree_does_not_jump() {
    let audio = |_| Some((AudioState::Live, only(Viseme::Aa)));
    let video = |_| Some((VideoState::Tracked, seen_mouth(0.0, 0.5)));
    for from in LipsyncMode::ALL {
        for to in LipsyncMode::ALL {
            let settings = |t| mode(if t < 1.5 { from } else { to });
            let open = Scene { secs: 2.5, audio: &audio, video: &video, ..speech(&settings) }.open();
            let step = seconds(&open, 1.4, 2.5).windows(2).map(|w| (w[1] - w[0]).abs()).fold(0.0, f32::max);
            assert!(step <= 0.15, "{from:?} to {to:?}: the mouth steps by {step}");
        }
    }
}

#[test]
fn the_display_rate_does_not_matter() {
    for lipsync in LipsyncMode::ALL {
        let settings = |_| mode(lipsync);
        let at = |display_hz: f64| {
            let states = Scene { display_hz, ..speech(&settings) }.run();
            (15..40).map(|i| states[(i as f64 * 0.1 * display_hz).round() as usize].mouth.open).collect::<Vec<_>>()
        };
        let reference = at(240.0);
        for display_hz in [30.0, 60.0, 120.0] {
            let mean = at(display_hz).iter().zip(&reference).map(|(a, b)| (a - b).abs()).sum::<f32>() / 25.0;
            assert!(mean < 0.05, "{lipsync:?} at {display_hz} Hz: {mean} off in the mean");
        }
        // Slow displays only have to be sane.
        let range = range_of(&Scene { display_hz: 8.0, ..speech(&settings) }.open());
        assert!(range > 0.2, "{lipsync:?} at 8 Hz moves by {range}");
    }
}

#[test]
fn slow_cameras_are_not_lost() {
    for camera_fps in [8.0, 10.0, 15.0, 25.0, 60.0] {
        let settings = |_| mode(LipsyncMode::Video);
        let states = Scene { camera_fps, ..speech(&settings) }.run();
        for state in &states[90..] {
            assert_eq!(state.trust.face, 1.0, "at {camera_fps} fps");
            assert_eq!(state.video, VideoState::Tracked, "at {camera_fps} fps");
        }
    }
}

#[test]
fn lips_close_for_p_even_in_bunches() {
    for bunch in [1, 2, 4] {
        for lipsync in [LipsyncMode::Audio, LipsyncMode::Mix] {
            let settings = |_| mode(lipsync);
            // "apa": the closure lasts 60 ms.
            let audio = |t: f64| {
                let is_p = (2.0..2.06).contains(&t);
                Some((AudioState::Live, only(if is_p { Viseme::Pp } else { Viseme::Aa })))
            };
            let video = |_| Some((VideoState::Tracked, seen_mouth(0.4, 0.5)));
            let states = Scene { bunch, audio: &audio, video: &video, ..speech(&settings) }.run();
            let closed = states[90..].iter().filter(|s| s.mouth.open < 0.15).count();
            assert!(closed >= 3, "{lipsync:?}, bunches of {bunch}: closed for {closed} frames");
            let before = states[115].mouth.open;
            assert!(before > 0.5, "{lipsync:?}: {before} before the closure");
            assert!(states[150].mouth.open > 0.5 && states[150].mouth.closed < 0.01, "{lipsync:?}: opens again");
        }
    }
}

#[test]
fn a_short_f_is_held_for_its_forty_milliseconds() {
    let settings = |_| mode(LipsyncMode::Audio);
    let audio = |t: f64| {
        let is_f = (2.0..2.015).contains(&t);
        Some((AudioState::Live, only(if is_f { Viseme::Ff } else { Viseme::Aa })))
    };
    let states = Scene { display_hz: 240.0, audio: &audio, ..speech(&settings) }.run();
    let closed = states.iter().filter(|s| s.mouth.closed > 0.6).count() as f64 / 240.0;
    assert!((0.035..0.08).contains(&closed), "closed for {closed} s");
}

#[test]
fn sound_names_the_vowel_and_both_say_how_far() {
    let settings = |_| mode(LipsyncMode::Mix);
    for (viseme, vowel) in [
        (Viseme::Aa, Vowel::Aa),
        (Viseme::Ih, Vowel::Ih),
        (Viseme::Ou, Vowel::Ou),
        (Viseme::E, Vowel::Ee),
        (Viseme::Oh, Vowel::Oh),
    ] {
        let audio = |_| Some((AudioState::Live, only(viseme)));
        let video = |_| Some((VideoState::Tracked, seen_mouth(vowel.opening(), 0.5)));
        let states = Scene { secs: 2.0, audio: &audio, video: &video, ..speech(&settings) }.run();
        let mouth = states[119].mouth;
        assert!(mouth.vowels[vowel as usize] > 0.9, "{vowel:?}: {:?}", mouth.vowels);
        assert!((mouth.open - vowel.opening()).abs() < 0.05, "{vowel:?}: opens {}", mouth.open);
        assert!((mouth.audio_share - 0.5).abs() < 0.35, "{vowel:?}: audio's share {}", mouth.audio_share);
        assert!((mouth.visemes.iter().sum::<f32>() - 1.0).abs() < 1e-3);
    }
    // A silent gasp is the camera's to show: 0.8 by the rule's mean of 0.8 against 0.
    let audio = |_| Some((AudioState::Silent, VisemeFrame::SILENT));
    let video = |_| Some((VideoState::Tracked, seen_mouth(0.9, 0.5)));
    let states = Scene { secs: 2.0, audio: &audio, video: &video, ..speech(&settings) }.run();
    let mouth = states[119].mouth;
    assert!((mouth.open - 0.72).abs() < 0.03, "gasp shown as {}", mouth.open);
    assert!((mouth.audio_share - 0.2).abs() < 0.02, "audio's share {}", mouth.audio_share);
}

#[test]
fn the_per_viseme_style_fuses_aa_with_the_opening() {
    let settings = |_| {
        let mut settings = mode(LipsyncMode::Mix);
        settings.lipsync.mix_style = MixStyle::PerViseme;
        settings
    };
    let audio = |_| Some((AudioState::Live, only(Viseme::Ou)));
    let video = |_| Some((VideoState::Tracked, seen_mouth(0.0, 0.5)));
    let states = Scene { secs: 2.0, audio: &audio, video: &video, ..speech(&settings) }.run();
    assert!(states[119].mouth.vowels[Vowel::Ou as usize] > 0.8, "u is sound's alone: {:?}", states[119].mouth);
    let states = Scene { secs: 2.0, video: &video, ..speech(&settings) }.run();
    assert!(states.iter().all(|s| s.mouth.vowels.iter().sum::<f32>() <= 1.0 + 1e-5));
}

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

#[test]
fn the_camera_vetoes_other_peoples_voices_only_when_asked() {
    let closed = |_| Some((VideoState::Tracked, seen_mouth(0.0, 0.5)));
    for (camera_veto, most) in [(true, 0.02), (false, 1.0)] {
        let settings = |_| {
            let mut settings = mode(LipsyncMode::Mix);
            settings.lipsync.camera_veto = camera_veto;
            settings
        };
        let open = Scene { video: &closed, ..speech(&settings) }.open();
        let largest = seconds(&open, 1.0, 4.0).iter().copied().fold(0.0, f32::max);
        assert!(largest <= most && (camera_veto || largest > 0.4), "veto {camera_veto}: opens {largest}");
    }
}

#[test]
fn the_gate_bridges_gaps_between_words_and_closes_soon() {
    let settings = |_| mode(LipsyncMode::Audio);
    // Gaps of 0.05 s twice a second; the end at 3 s.
    let audio = |t: f64| {
        let is_gap = t % 0.5 < 0.05 || t >= 3.0;
        Some((AudioState::Live, if is_gap { VisemeFrame { level_db: -50.0, ..VisemeFrame::SILENT } } else { heard(t) }))
    };
    let states = Scene { audio: &audio, ..speech(&settings) }.run();
    let speaking: Vec<bool> = states.iter().map(|s| s.is_speaking).collect();
    let changes = speaking.windows(2).filter(|w| w[0] != w[1]).count();
    assert_eq!(changes, 2, "begins and ends once");
    let end = speaking.iter().rposition(|s| *s).unwrap() as f64 / 60.0 - AUDIO_LATENCY - 3.0;
    assert!((0.0..=0.16).contains(&end), "ends {end} s after the last sound");
    assert!(states[239].mouth.open < 0.01);
}

#[test]
fn an_offset_delays_the_earlier_stream() {
    let lag = |lipsync_mode, offset_secs: f32| {
        let settings = move |_| {
            let mut settings = mode(lipsync_mode);
            settings.lipsync.offset_secs = offset_secs;
            settings
        };
        let states = Scene { display_hz: 240.0, ..speech(&settings) }.run();
        // When the mouth first opens half way after 2.15 s.
        let from = (2.15 * 240.0) as usize;
        let low = (from..).find(|i| states[*i].mouth.open < 0.15).unwrap();
        (low..).find(|i| states[*i].mouth.open > 0.3).unwrap() as f32 / 240.0
    };
    for (lipsync_mode, offset) in [(LipsyncMode::Audio, 0.05), (LipsyncMode::Video, -0.05)] {
        let moved = lag(lipsync_mode, offset) - lag(lipsync_mode, 0.0);
        assert!((moved - 0.05).abs() < 0.02, "{lipsync_mode:?}: {offset} moves it by {moved}");
        assert!(lag(lipsync_mode, -offset) - lag(lipsync_mode, 0.0) < 0.01, "{lipsync_mode:?}: not the later one");
    }
}

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

#[test]
fn laughter_begins_at_the_threshold_and_ends_at_one() {
    for (score, expected) in [(0.0, 0.0), (0.5, 0.0), (0.75, 0.5), (1.0, 1.0), (f32::NAN, 0.0)] {
        assert_eq!(laughter_shape(score, 0.5, 1.0), expected);
    }
    assert_eq!(laughter_shape(1.0, 0.5, 3.0), 1.0);
}

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
}
