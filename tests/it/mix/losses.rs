//! A source is lost: how the other takes over, and how it comes back.

use super::scene::*;

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
