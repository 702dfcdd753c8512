//! The running engine with sources of the test's own: losses, recovery, pacing; no window, no device.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::{Duration, Instant};

use omote::audio::AudioSource;
use omote::capture::FrameSource;
use omote::engine::{
    Command, DeviceLists, Engine, EngineParts, OpenedPicture, OpenedSound, OpenedVideo, Sources, Telemetry, VideoFeed,
};
use omote::face::{FaceError, FaceModel};
use omote::render::{Gpu, GpuOptions, RenderError};
use omote::settings::{AudioSettings, Settings};
use omote::sync::SessionClock;
use omote::types::{
    ARKIT_COUNT, AudioReport, AudioState, ErrorKind, FaceObservation, FaceReport, SourceError, Timestamp, VideoFrame,
    VideoState, VisemeFrame, Vowel,
};
use omote::voice::{Coaching, VisemeModel};

/// What the test does to the sources while the engine runs.
#[derive(Default)]
struct Switches {
    is_camera_there: AtomicBool,
    is_camera_stalled: AtomicBool,
    does_camera_panic: AtomicBool,
    is_microphone_there: AtomicBool,
    camera_opens: AtomicU32,
}

struct TestCamera {
    switches: Arc<Switches>,
    clock: SessionClock,
    seq: u64,
}

impl FrameSource for TestCamera {
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError> {
        if self.switches.does_camera_panic.swap(false, Ordering::SeqCst) {
            panic!("a driver panics (as the test wants)");
        }
        if !self.switches.is_camera_there.load(Ordering::SeqCst) {
            return Err(SourceError::device(ErrorKind::Gone, "unplugged"));
        }
        if self.switches.is_camera_stalled.load(Ordering::SeqCst) {
            std::thread::sleep(timeout);
            return Err(SourceError::Timeout);
        }
        std::thread::sleep(Duration::from_millis(20));
        self.seq += 1;
        let rgb = vec![0; 3].into();
        Ok(VideoFrame { captured_at: self.clock.now(), seq: self.seq, width: 1, height: 1, rgb })
    }
}

struct TestFace;

impl FaceModel for TestFace {
    fn configure(&mut self, _: &omote::settings::VideoSettings) {}

    fn observe(&mut self, frame: &VideoFrame) -> Result<FaceReport, FaceError> {
        let observation = FaceObservation {
            confidence: 1.0,
            landmarks_px: Vec::new(),
            head: Default::default(),
            position: Default::default(),
            mouth: Default::default(),
            lids: Default::default(),
            brows: Default::default(),
            gaze: Default::default(),
            blendshapes: [0.0; ARKIT_COUNT],
        };
        Ok(FaceReport {
            captured_at: frame.captured_at,
            seq: frame.seq,
            state: VideoState::Tracked,
            observation: Some(observation),
            ..FaceReport::default()
        })
    }

    fn reset(&mut self) {}
}

struct TestMicrophone {
    switches: Arc<Switches>,
    clock: SessionClock,
    given: u64,
    opened_at: Timestamp,
}

impl AudioSource for TestMicrophone {
    fn sample_rate_hz(&self) -> u32 {
        16_000
    }

    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
        if !self.switches.is_microphone_there.load(Ordering::SeqCst) {
            return Err(SourceError::device(ErrorKind::Gone, "unplugged"));
        }
        let due = (self.clock.now().saturating_since(self.opened_at).as_secs_f64() * 16_000.0) as u64;
        let count = (due.saturating_sub(self.given) as usize).min(out.len());
        for (i, sample) in out.iter_mut().take(count).enumerate() {
            *sample = ((self.given + i as u64) as f32 * 0.1).sin() * 0.1;
        }
        let at = self.opened_at + Duration::from_secs_f64(self.given as f64 / 16_000.0);
        self.given += count as u64;
        Ok((count, at))
    }
}

struct TestVoice;

impl VisemeModel for TestVoice {
    fn classify(&mut self, samples: &[f32], captured_at: Timestamp, reports: &mut Vec<AudioReport>) {
        if !samples.is_empty() {
            let frame = VisemeFrame { voiced: 1.0, level_db: -20.0, ..VisemeFrame::SILENT };
            reports.push(AudioReport { captured_at, state: AudioState::Live, frame, ..AudioReport::default() });
        }
    }

    fn configure(&mut self, _settings: &AudioSettings) {}

    fn reset(&mut self) {}
}

fn start(switches: &Arc<Switches>, settings: Settings, has_gpu: bool) -> Engine {
    let clock = SessionClock::new();
    let (camera_switches, microphone_switches) = (switches.clone(), switches.clone());
    Engine::start(EngineParts {
        settings,
        sources: Sources::Devices,
        clock,
        open_video: Box::new(move |_, _| {
            camera_switches.camera_opens.fetch_add(1, Ordering::SeqCst);
            if !camera_switches.is_camera_there.load(Ordering::SeqCst) {
                return Err(SourceError::device(ErrorKind::Gone, "no camera is plugged in"));
            }
            let source = TestCamera { switches: camera_switches.clone(), clock, seq: 0 };
            Ok(OpenedVideo { feed: VideoFeed::Frames(Box::new(source)), name: "test camera".into() })
        }),
        open_sound: Box::new(move |_, _| {
            if !microphone_switches.is_microphone_there.load(Ordering::SeqCst) {
                return Err(SourceError::device(ErrorKind::Gone, "no microphone is plugged in"));
            }
            let opened_at = clock.now();
            let source = TestMicrophone { switches: microphone_switches.clone(), clock, given: 0, opened_at };
            Ok(OpenedSound { source: Box::new(source), name: "test microphone".into() })
        }),
        make_face_model: Box::new(|| Ok(Box::new(TestFace))),
        make_viseme_model: Box::new(|| Ok(Box::new(TestVoice))),
        list_devices: Box::new(|| DeviceLists { is_known: true, ..DeviceLists::default() }),
        open_picture: Box::new(move || {
            if !has_gpu {
                return Err(RenderError::NoAdapter { seen: "none in this test".into() });
            }
            Ok(OpenedPicture { gpu: Gpu::new(GpuOptions::default())?, surface: None })
        }),
        size: [64, 48],
        seed: 1,
    })
    .expect("threads")
}

/// Waits until the telemetry is as wanted; fails with what it is.
fn wait_for(engine: &Engine, what: &str, limit: Duration, is_so: impl Fn(&Telemetry) -> bool) -> Telemetry {
    let began = Instant::now();
    loop {
        let telemetry = engine.telemetry();
        if is_so(&telemetry) {
            return telemetry;
        }
        assert!(began.elapsed() < limit, "{what} did not come: {telemetry:#?}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

const LONG: Duration = Duration::from_secs(20);

#[test]
fn the_speaker_is_led_through_the_vowels_only_when_asked() {
    let switches = Arc::new(Switches::default());
    switches.is_microphone_there.store(true, Ordering::SeqCst);
    let engine = start(&switches, Settings::default(), false);
    let telemetry = wait_for(&engine, "hearing", LONG, |t| t.audio.state == AudioState::Live);
    assert_eq!(telemetry.audio.coaching, None);
    for _ in 0..2 {
        engine.send(Command::CoachVowels(true));
        wait_for(&engine, "the first vowel", LONG, |t| {
            matches!(t.audio.coaching, Some(Coaching::Hold { vowel: Vowel::Aa, .. }))
        });
        engine.send(Command::CoachVowels(false));
        wait_for(&engine, "the end", LONG, |t| t.audio.coaching.is_none());
    }
}

#[test]
fn devices_may_come_fail_and_return_at_any_time() {
    let switches = Arc::new(Switches::default());
    let engine = start(&switches, Settings::default(), false);
    // Neither device at first: the avatar is there all the same, and the reasons are told.
    let telemetry =
        wait_for(&engine, "an idle avatar", LONG, |t| t.stage.frame_count > 10 && !t.avatar.name.is_empty());
    assert_eq!(telemetry.video.state, VideoState::Disconnected);
    assert!(telemetry.video.message.is_some_and(|m| m.contains("plugged in")));
    assert!(telemetry.picture.message.is_some_and(|m| m.contains("no graphics adapter")));
    // They appear: both are taken without a restart.
    switches.is_camera_there.store(true, Ordering::SeqCst);
    switches.is_microphone_there.store(true, Ordering::SeqCst);
    engine.send(Command::Retry);
    wait_for(&engine, "tracking", LONG, |t| t.video.state == VideoState::Tracked && t.stage.trust.face > 0.9);
    wait_for(&engine, "hearing", LONG, |t| t.audio.state == AudioState::Live);
    // The camera stalls, then gives pictures again.
    switches.is_camera_stalled.store(true, Ordering::SeqCst);
    wait_for(&engine, "a stall", LONG, |t| t.video.state == VideoState::Stalled && t.stage.trust.face < 0.1);
    switches.is_camera_stalled.store(false, Ordering::SeqCst);
    wait_for(&engine, "pictures", LONG, |t| t.video.state == VideoState::Tracked && t.stage.trust.face > 0.9);
    // Its driver panics: it is opened anew.
    let opens = switches.camera_opens.load(Ordering::SeqCst);
    switches.does_camera_panic.store(true, Ordering::SeqCst);
    wait_for(&engine, "a new session", LONG, |t| {
        switches.camera_opens.load(Ordering::SeqCst) > opens && t.video.state == VideoState::Tracked
    });
    // The microphone is pulled out and put back.
    switches.is_microphone_there.store(false, Ordering::SeqCst);
    wait_for(&engine, "the loss", LONG, |t| t.audio.state == AudioState::Disconnected && t.stage.trust.voice < 0.1);
    switches.is_microphone_there.store(true, Ordering::SeqCst);
    wait_for(&engine, "the return", LONG, |t| t.audio.state == AudioState::Live);
    // The user stops and starts.
    engine.send(Command::SetSources(Sources::Stopped));
    wait_for(&engine, "the stop", LONG, |t| !t.is_running && t.video.source.is_empty() && t.audio.source.is_empty());
    engine.send(Command::SetSources(Sources::Devices));
    wait_for(&engine, "the start", LONG, |t| t.video.state == VideoState::Tracked);
    let began = Instant::now();
    drop(engine);
    assert!(began.elapsed() < Duration::from_secs(3), "the engine ends in {:?}", began.elapsed());
}

#[test]
fn a_broken_avatar_leaves_the_old_one_on_stage() {
    let switches = Arc::new(Switches::default());
    let mut engine = start(&switches, Settings::default(), false);
    wait_for(&engine, "the bundled avatar", LONG, |t| t.avatar.name == "Mochi" && !t.avatar.is_loading);
    let folder = tempfile::tempdir().expect("folder");
    let broken = folder.path().join("broken.vrm");
    std::fs::write(&broken, b"PK\x03\x04 this is a zip").expect("file");
    let mut settings = Settings::default();
    settings.avatar.file = broken.to_string_lossy().into_owned();
    engine.set_settings(settings);
    let telemetry = wait_for(&engine, "the refusal", LONG, |t| t.avatar.message.is_some());
    assert_eq!(telemetry.avatar.name, "Mochi");
    let frames = telemetry.stage.frame_count;
    wait_for(&engine, "further frames", LONG, |t| t.stage.frame_count > frames + 5);
}

#[test]
fn the_stage_keeps_to_its_rate_and_leaves_the_processor_alone() {
    let switches = Arc::new(Switches::default());
    let mut settings = Settings::default();
    settings.output.fps = 60;
    let engine = start(&switches, settings, false);
    wait_for(&engine, "the avatar", LONG, |t| t.stage.frame_count > 5);
    let (began, first, before) = (Instant::now(), engine.telemetry().stage.frame_count, stage_ticks());
    std::thread::sleep(Duration::from_secs(3));
    let elapsed = began.elapsed().as_secs_f64();
    let fps = (engine.telemetry().stage.frame_count - first) as f64 / elapsed;
    // Telemetry lags by up to 50 ms: three frames.
    assert!(fps <= 61.0 + 3.0 / elapsed, "{fps} frames a second");
    for (thread, ticks) in stage_ticks() {
        let Some(earlier) = before.get(&thread) else { continue };
        let busy = (ticks - earlier) as f64 / 100.0 / elapsed;
        eprintln!("{fps:.1} frames a second, {:.0} % of a core", busy * 100.0);
        assert!(busy < 0.7, "a stage thread without a picture keeps a core busy: {busy}");
    }
}

/// Processor time of all threads named `stage`, in hundredths of a second; empty where the system does not tell.
fn stage_ticks() -> std::collections::BTreeMap<String, u64> {
    let mut found = std::collections::BTreeMap::new();
    for task in std::fs::read_dir("/proc/self/task").into_iter().flatten().flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        if read("comm").trim() == "stage" {
            let text = read("stat");
            let fields: Vec<_> = text.rsplit(") ").next().unwrap_or("").split(' ').collect();
            let ticks = |i: usize| fields.get(i).and_then(|f| f.parse::<u64>().ok()).unwrap_or(0);
            found.insert(task.file_name().to_string_lossy().into_owned(), ticks(11) + ticks(12));
        }
    }
    found
}
