//! Sound and picture in time.

use super::scene::*;

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

/// Speech as uneven as it is: steady syllables fit at every shift of a whole one.
fn unevenly(t: f64) -> f64 {
    t + 0.06 * (std::f64::consts::TAU * 0.9 * t).sin() + 0.04 * (std::f64::consts::TAU * 1.7 * t + 1.0).sin()
}

/// Speech whose pictures carry stamps that are `later` too late, as most cameras' do.
fn misaligned(later: f64, settings: &dyn Fn(f64) -> Settings, secs: f64) -> Vec<FaceState> {
    let video = move |t: f64| speech_seen(unevenly(t - later));
    let audio = |t: f64| speech_heard(unevenly(t));
    Scene { secs, video: &video, audio: &audio, ..speech(settings) }.run()
}

/// How much later the picture is shown than the sound when nothing is done about it: report latencies, the glide
/// between pictures and the time that the shaping takes.
fn shown_later(settings: &dyn Fn(f64) -> Settings) -> f32 {
    misaligned(0.0, settings, 15.0).pop().unwrap().alignment.measured_secs.expect("sure after 15 s")
}

#[test]
fn the_offset_is_measured_and_corrected_within_bounds() {
    let settings = |_| mode(LipsyncMode::Mix);
    let zero = shown_later(&settings);
    assert!(zero.abs() < 0.04, "aligned streams are shown {zero} s apart");
    for later in [-0.08, -0.03, 0.03, 0.08, 0.12] {
        let states = misaligned(later, &settings, 15.0);
        let alignment = states.last().unwrap().alignment;
        let measured = alignment.measured_secs.expect("sure");
        assert!((measured - zero - later as f32).abs() < 0.02, "{later}: measured {measured}");
        assert!((alignment.applied_secs - measured.clamp(-0.06, 0.06)).abs() < 0.01, "{later}: {alignment:?}");
        assert!(states.iter().all(|s| s.alignment.applied_secs.abs() <= 0.06 + 1e-6));
    }
}

#[test]
fn correcting_brings_sound_and_picture_together() {
    // In mix mode the fused mouth is sharper when both agree: it closes between syllables.
    let settings = |auto_offset: bool| {
        move |_| {
            let mut settings = mode(LipsyncMode::Mix);
            settings.lipsync.auto_offset = auto_offset;
            settings
        }
    };
    let depth = |auto_offset| {
        let states = misaligned(0.06, &settings(auto_offset), 20.0);
        let open: Vec<f32> = states[900..].iter().map(|s| s.mouth.open).collect();
        let mean = open.iter().sum::<f32>() / open.len() as f32;
        open.iter().map(|o| (o - mean).powi(2)).sum::<f32>() / open.len() as f32
    };
    assert!(depth(true) > 1.03 * depth(false), "{} against {}", depth(true), depth(false));
}

#[test]
fn nothing_is_delayed_where_nothing_is_known_or_wanted() {
    let mix = |_| mode(LipsyncMode::Mix);
    let audio = |_| mode(LipsyncMode::Audio);
    let by_hand = |_| {
        let mut settings = mode(LipsyncMode::Mix);
        settings.lipsync.offset_secs = -0.02;
        settings
    };
    assert_eq!(
        misaligned(0.1, &audio, 12.0).last().unwrap().alignment.applied_secs,
        0.0,
        "audio mode waits for nobody"
    );
    let set = misaligned(0.1, &by_hand, 12.0).last().unwrap().alignment;
    assert!((set.applied_secs + 0.02).abs() < 1e-3, "the slider overrides: {set:?}");
    // Closed lips while others speak: nothing to measure.
    let closed = |_| Some((VideoState::Tracked, seen_mouth(0.0, 0.5)));
    let state = Scene { secs: 12.0, video: &closed, ..speech(&mix) }.run().pop().unwrap();
    assert_eq!(state.alignment.measured_secs, None);
    // And none once a source is lost.
    let late = |t: f64| if t < 12.0 { speech_seen(unevenly(t - 0.1)) } else { None };
    let audio = |t: f64| speech_heard(unevenly(t));
    let states = Scene { secs: 13.0, video: &late, audio: &audio, ..speech(&mix) }.run();
    assert!(states[700].alignment.applied_secs > 0.05);
    assert_eq!(states.last().unwrap().alignment.applied_secs, 0.0);
}
