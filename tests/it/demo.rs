//! The presenter's demo through the whole product: against what is true of it, and against a stored trace.

use std::sync::Arc;

use omote::audio::presenter::{PresenterMicrophone, Recording, Voice};
use omote::avatar;
use omote::capture::presenter::{Filming, PresenterCamera, PresenterScript, PresenterTruth};
use omote::engine::StageFrame;
use omote::face::{FaceOptions, FaceTracker};
use omote::render::Camera;
use omote::replay::{
    Inputs, Performance, PerformanceWriter, ReplayOptions, ReplaySink, SoundFeed, TraceWriter, VideoFeed, run,
};
use omote::settings::{LipsyncMode, Settings};
use omote::sync::{Pace, StepClock};
use omote::types::{AudioReport, AudioState, FaceReport, Fault, VideoState};
use omote::voice;

/// Output frames a second of these runs.
const FPS: u32 = 30;
/// A mouth that moves less than this counts as still.
const STILL: f32 = 0.04;

/// One output frame, as far as the checks need it.
struct Row {
    t: f64,
    open: f32,
    head_yaw_deg: f32,
    blink: f32,
    video: VideoState,
    audio: AudioState,
    line: String,
}

/// What a run leaves behind.
struct Collected {
    rows: Vec<Row>,
    mode: LipsyncMode,
    performance: PerformanceWriter<Vec<u8>>,
}

impl ReplaySink for Collected {
    fn seen(&mut self, report: &FaceReport) -> anyhow::Result<()> {
        Ok(self.performance.video(report)?)
    }

    fn heard(&mut self, report: &AudioReport) -> anyhow::Result<()> {
        Ok(self.performance.audio(report)?)
    }

    fn frame(&mut self, frame: &StageFrame<'_>, _camera: &Camera) -> anyhow::Result<()> {
        let mut trace = TraceWriter::new(Vec::new());
        trace.frame(frame, self.mode)?;
        let params = &frame.pose.params;
        self.rows.push(Row {
            t: frame.now.as_secs_f64(),
            open: frame.face.mouth.open,
            head_yaw_deg: params.get(omote::types::Param::HeadYaw).to_degrees(),
            blink: params.get(omote::types::Param::BlinkLeft),
            video: frame.face.video,
            audio: frame.face.audio,
            line: String::from_utf8(trace.finish()?)?,
        });
        Ok(())
    }
}

fn settings(mode: LipsyncMode) -> Settings {
    let mut settings = Settings::default();
    settings.view.mirror = false;
    settings.lipsync.mode = mode;
    settings
}

fn script(faults: &[&str]) -> PresenterScript {
    let mut script = PresenterScript::demo().expect("bundled script");
    for fault in faults {
        script.add_fault(fault.parse::<Fault>().expect("fault"));
    }
    script
}

fn media(faults: &[&str]) -> Inputs {
    let script = script(faults);
    let clock = StepClock::default();
    let pace = Pace::Stepped(clock.clone());
    let lasts = std::time::Duration::from_secs_f64(script.duration_secs());
    let recording =
        Recording { lasts: Some(lasts), faults: script.faults().clone(), pace: pace.clone(), ..Recording::default() };
    let microphone = PresenterMicrophone::new(Voice::demo().expect("bundled voice"), recording);
    let camera =
        PresenterCamera::open(Arc::new(script), Filming { pace, ..Filming::default() }).expect("bundled presenter");
    Inputs::Media {
        video: Some((
            VideoFeed::stepped(Box::new(camera), clock.clone()),
            Box::new(FaceTracker::load(FaceOptions::default()).expect("bundled models")),
        )),
        audio: Some((
            SoundFeed::stepped(Box::new(microphone), clock),
            Box::new(voice::Hearing::new().expect("bundled model")),
        )),
    }
}

fn play(inputs: Inputs, mode: LipsyncMode) -> (Vec<Row>, Vec<u8>) {
    let options = ReplayOptions {
        settings: settings(mode),
        model: Arc::new(avatar::bundled().expect("bundled avatar")),
        fps: FPS,
        aspect: 4.0 / 3.0,
        seed: 0,
        expressions: Vec::new(),
        is_realtime: false,
    };
    let performance = PerformanceWriter::performance(Vec::new()).expect("writer");
    let mut collected = Collected { rows: Vec::new(), mode, performance };
    run(inputs, &options, &mut collected).expect("replay");
    (collected.rows, collected.performance.finish().expect("writer"))
}

fn between(rows: &[Row], from: f64, to: f64) -> impl Iterator<Item = &Row> {
    rows.iter().filter(move |r| r.t >= from && r.t < to)
}

/// Seconds within a stretch in which the mouth stands still for longer than a fifth of a second.
fn still_secs(rows: &[Row], from: f64, to: f64) -> f64 {
    let rows: Vec<_> = between(rows, from, to).collect();
    let window = (0.2 * f64::from(FPS)) as usize;
    let still = rows.windows(window).filter(|w| {
        let (min, max) = w.iter().fold((1.0_f32, 0.0_f32), |(lo, hi), r| (lo.min(r.open), hi.max(r.open)));
        max - min < STILL
    });
    still.count() as f64 / f64::from(FPS)
}

/// One run of the networks serves all checks; they take their time.
#[test]
fn the_demo_is_what_its_script_says_and_what_it_was() {
    let (rows, performance) = play(media(&[]), LipsyncMode::Mix);
    let truth = script(&[]);
    follows_the_truth(&rows, &truth);
    goes_on_speaking_through_losses(&rows);

    // The recorded performance gives the same frames in milliseconds, twice the same to the last bit.
    let recorded = || Inputs::Performance(Performance::read(performance.as_slice()).expect("performance"));
    let (first, _) = play(recorded(), LipsyncMode::Mix);
    let (second, _) = play(recorded(), LipsyncMode::Mix);
    assert!(first.iter().zip(&second).all(|(a, b)| a.line == b.line), "two runs differ");
    // The run itself ends with its last sample, the performance with its last report.
    assert!(rows.len().abs_diff(first.len()) <= 3, "{} frames became {}", rows.len(), first.len());
    for (a, b) in rows.iter().zip(&first) {
        assert!((a.open - b.open).abs() < 2e-3, "t {}: open {} became {}", a.t, a.open, b.open);
        assert!((a.head_yaw_deg - b.head_yaw_deg).abs() < 0.05, "t {}", a.t);
    }
    for mode in [LipsyncMode::Audio, LipsyncMode::Video] {
        speaks_in_mode(&play(recorded(), mode).0, mode);
    }
    agrees_with_the_stored_trace(&rows);
}

fn follows_the_truth(rows: &[Row], script: &PresenterScript) {
    let truth = |row: &Row| -> PresenterTruth { script.truth(row.t) };
    let tracked = rows.iter().filter(|r| r.video == VideoState::Tracked).count();
    assert!(tracked * 100 >= rows.len() * 88, "tracked in {tracked} of {} frames", rows.len());
    // Head turns: 25° to each side around 5 s; the tracker reads a little less, and later.
    let yaw_range = between(rows, 4.5, 6.0)
        .fold((0.0_f32, 0.0_f32), |(lo, hi), r| (lo.min(r.head_yaw_deg), hi.max(r.head_yaw_deg)));
    assert!(yaw_range.0 < -13.0 && yaw_range.1 > 13.0, "head turns reach {yaw_range:?}");
    let wrong_way = between(rows, 4.5, 6.0)
        .filter(|r| {
            let yaw = truth(r).pose.head.yaw.to_degrees();
            yaw.abs() > 20.0 && yaw.signum() != r.head_yaw_deg.signum()
        })
        .count();
    assert!(wrong_way <= 4, "the head turns the wrong way in {wrong_way} frames");
    // A silent gasp opens the mouth although nothing is heard.
    let gasp = between(rows, 6.4, 7.0).map(|r| r.open).fold(1.0, f32::min);
    assert!(gasp > 0.6, "the gasp opens to {gasp}");
    // Silence and closed lips: the mouth rests.
    let rest = between(rows, 0.3, 0.9).map(|r| r.open).fold(0.0, f32::max);
    assert!(rest < 0.1, "the mouth at rest opens to {rest}");
    // The two blinks of the script are seen.
    let blinks = between(rows, 4.5, 6.0)
        .fold((0, false), |(n, was), r| {
            let is = r.blink > 0.6;
            (n + u32::from(is && !was), is)
        })
        .0;
    assert!((2..=4).contains(&blinks), "{blinks} blinks");
    // How far the mouth opens goes with how far it truly does.
    let (mut sum, mut n) = (0.0, 0);
    let pairs: Vec<_> = rows.iter().map(|r| (truth(r).open, r.open)).collect();
    let mean = |f: fn(&(f32, f32)) -> f32| pairs.iter().map(f).sum::<f32>() / pairs.len() as f32;
    let (mx, my) = (mean(|p| p.0), mean(|p| p.1));
    let (mut sxy, mut sxx, mut syy) = (0.0, 0.0, 0.0);
    for (x, y) in &pairs {
        sxy += (x - mx) * (y - my);
        sxx += (x - mx).powi(2);
        syy += (y - my).powi(2);
        sum += (x - y).abs();
        n += 1;
    }
    let correlation = sxy / (sxx * syy).sqrt().max(1e-9);
    eprintln!("mouth opening against truth: correlation {correlation:.2}, mean error {:.3}", sum / n as f32);
    assert!(correlation > 0.6, "the mouth's opening correlates with the truth by {correlation}");
}

fn goes_on_speaking_through_losses(rows: &[Row]) {
    for (what, from, to) in [("microphone", 8.5, 9.5), ("face", 12.0, 13.0)] {
        let still = still_secs(rows, from, to);
        eprintln!("{what} lost: mouth still for {still:.2} s of {:.1} s", to - from);
        assert!(still <= 0.25, "{what} lost in mid-sentence: the mouth stands still for {still} s");
    }
    let in_loss = |t: f64| rows.iter().find(|r| r.t >= t).expect("frame");
    assert_eq!(in_loss(8.8).audio, AudioState::Disconnected);
    assert_eq!(in_loss(10.0).audio, AudioState::Live, "the microphone is taken again");
    assert!(in_loss(12.5).video.is_face_lost());
    assert_eq!(in_loss(13.6).video, VideoState::Tracked, "the face is found again");
}

fn speaks_in_mode(rows: &[Row], mode: LipsyncMode) {
    let moved = |from, to| between(rows, from, to).map(|r| r.open).fold(0.0, f32::max);
    assert!(moved(1.2, 4.2) > 0.25, "{mode:?}: speech opens to {}", moved(1.2, 4.2));
    let gasp = moved(6.4, 7.0);
    match mode {
        // Sound knows nothing of a silent gasp, and nothing at all while the microphone is lost.
        LipsyncMode::Audio => assert!(gasp < 0.1 && moved(8.9, 9.4) < 0.1, "{gasp}"),
        LipsyncMode::Video => assert!(gasp > 0.6 && moved(12.4, 12.9) < 0.1, "{gasp}"),
        LipsyncMode::Mix => {}
    }
}

/// Numbers of the run against `demo/trace.expected.jsonl`: every tenth frame, tolerance for other CPUs' kernels.
fn agrees_with_the_stored_trace(rows: &[Row]) {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases/demo/trace.expected.jsonl");
    let kept: String = rows.iter().step_by(10).map(|r| r.line.as_str()).collect();
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        std::fs::create_dir_all(path.parent().expect("folder")).expect("folder");
        std::fs::write(&path, kept).expect("written");
        return;
    }
    let expected = std::fs::read_to_string(&path).expect("stored trace; make it with UPDATE_EXPECT=1");
    assert_eq!(kept.lines().count(), expected.lines().count());
    for (now, then) in kept.lines().zip(expected.lines()) {
        let (now, then): (serde_json::Value, serde_json::Value) =
            (serde_json::from_str(now).expect("JSON"), serde_json::from_str(then).expect("JSON"));
        let t = then["t"].as_f64().expect("time");
        let number = |v: &serde_json::Value, path: &str| v.pointer(path).and_then(serde_json::Value::as_f64);
        for (path, tolerance) in [
            ("/t", 1e-6),
            ("/mouth/open", 0.08),
            ("/pose/head/0", 1.5),
            ("/pose/head/1", 1.5),
            ("/pose/head/2", 1.5),
            ("/pose/blink/0", 0.25),
            ("/pose/view/0", 1.5),
        ] {
            let (a, b) = (number(&now, path), number(&then, path));
            let fits = a.zip(b).is_some_and(|(a, b)| (a - b).abs() <= tolerance);
            assert!(fits, "t {t}: {path} was {b:?} and is {a:?}");
        }
        for path in ["/video/state", "/audio/state", "/mouth/mode"] {
            assert_eq!(now.pointer(path), then.pointer(path), "t {t}: {path}");
        }
    }
}
