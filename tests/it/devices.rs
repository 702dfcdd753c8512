//! The real nokhwa and cpal code, end to end, against a fake camera and a null sink.
//!
//! What is preloaded and which sound server is used must be set before a process starts. So each test here starts this
//! test binary once more, with the environment it needs, and lets it run one of the modules `camera_child` and
//! `microphone_child`, whose tests are ignored otherwise. Missing tools are an error where `CI` is set; elsewhere the
//! test says that it was skipped.

#![cfg(target_os = "linux")]
#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "the helpers of tests, too, may fail")]

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Set in child processes; names a folder for their files.
const CHILD_DIR: &str = "OMOTE_TEST_CHILD_DIR";
/// The fake camera's picture size.
const SIZE: (u32, u32) = (320, 240);

/// The folder of a child process; `None` in the ordinary test run.
fn child_dir() -> Option<PathBuf> {
    std::env::var_os(CHILD_DIR).map(PathBuf::from)
}

/// Says that a check cannot run here; fails where it must.
pub(super) fn skip(why: &str) {
    assert!(std::env::var_os("CI").is_none(), "{why}");
    println!("SKIPPED: {why}");
}

pub(super) fn is_installed(program: &str) -> bool {
    Command::new(program).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
}

/// Runs the ignored tests `filter` of this binary in a process of their own; `count` of them must pass.
fn run_child(filter: &str, count: usize, dir: &Path, environment: &[(&str, &str)]) {
    let exe = std::env::current_exe().expect("own path");
    let log = std::fs::File::create(dir.join("log")).expect("log");
    let mut child = Command::new(exe)
        .args(["--ignored", "--nocapture", "--test-threads=1", filter])
        .env(CHILD_DIR, dir)
        .envs(environment.iter().copied())
        .stdin(Stdio::null())
        .stdout(log.try_clone().expect("log"))
        .stderr(log)
        .process_group(0)
        .spawn()
        .expect("child");
    let until = Instant::now() + Duration::from_secs(90);
    let status = loop {
        match child.try_wait().expect("child") {
            Some(status) => break Some(status),
            None if Instant::now() > until => {
                // With everything that it has started.
                let _ = Command::new("kill").args(["-9", "--", &format!("-{}", child.id())]).status();
                let _ = child.wait();
                break None;
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    let log = std::fs::read_to_string(dir.join("log")).unwrap_or_default();
    println!("{log}");
    let status = status.unwrap_or_else(|| panic!("{filter} hangs"));
    assert!(status.success(), "{filter}: {status}");
    assert!(log.contains(&format!("{count} passed")), "{count} tests of {filter} should have run");
}

/// The colours of the fake camera's four quarters: top left, top right, bottom left, bottom right.
const QUARTERS: [[u8; 3]; 4] = [[200, 60, 50], [60, 180, 70], [50, 80, 200], [190, 190, 190]];

fn test_picture() -> image::RgbImage {
    image::RgbImage::from_fn(SIZE.0, SIZE.1, |x, y| {
        image::Rgb(QUARTERS[usize::from(x >= SIZE.0 / 2) + 2 * usize::from(y >= SIZE.1 / 2)])
    })
}

/// BT.601, limited range.
fn yuv([r, g, b]: [u8; 3]) -> [u8; 3] {
    let [r, g, b] = [r, g, b].map(|c| f32::from(c) / 255.0);
    let y = 0.299 * r + 0.587 * g + 0.114 * b;
    [16.0 + 219.0 * y, 128.0 + 224.0 * (b - y) / 1.772, 128.0 + 224.0 * (r - y) / 1.402].map(|v| v.round() as u8)
}

/// Two frames in the camera's own format.
fn clip(format: &str) -> Vec<u8> {
    let picture = test_picture();
    let pixel = |x: u32, y: u32| yuv(picture.get_pixel(x, y).0);
    let (w, h) = SIZE;
    let frame: Vec<u8> = match format {
        "MJPG" => {
            let mut bytes = Vec::new();
            image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 90).encode_image(&picture).expect("encode");
            bytes
        }
        "YUYV" => (0..h)
            .flat_map(|y| (0..w / 2).map(move |x| (x * 2, y)))
            .flat_map(|(x, y)| [pixel(x, y)[0], pixel(x, y)[1], pixel(x + 1, y)[0], pixel(x, y)[2]])
            .collect(),
        _ => {
            let luma = (0..h).flat_map(|y| (0..w).map(move |x| (x, y))).map(|(x, y)| pixel(x, y)[0]);
            let chroma = (0..h / 2)
                .flat_map(|y| (0..w / 2).map(move |x| (x * 2, y * 2)))
                .flat_map(|(x, y)| [pixel(x, y)[1], pixel(x, y)[2]]);
            luma.chain(chroma).collect()
        }
    };
    frame.repeat(2)
}

/// Compiles the fake camera into `dir`.
pub(super) fn fake_camera(dir: &Path) -> PathBuf {
    let library = dir.join("libfakecam.so");
    let code = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/fakecam.c");
    let mut compiler = Command::new("cc");
    compiler
        .args(["-O2", "-Wall", "-Werror", "-fPIC", "-shared", "-pthread", "-o"])
        .arg(&library)
        .arg(code)
        .arg("-ldl");
    assert!(compiler.status().expect("cc").success(), "the fake camera does not compile");
    library
}

/// Runs camera tests against the fake camera.
fn with_fake_camera(format: &str, filter: &str, count: usize) {
    if !is_installed("cc") {
        return skip("no C compiler for the fake camera");
    }
    let dir = tempfile::tempdir().expect("folder");
    let library = fake_camera(dir.path());
    let source = dir.path().join("clip");
    std::fs::write(&source, clip(format)).expect("clip");
    run_child(
        filter,
        count,
        dir.path(),
        &[
            ("LD_PRELOAD", library.to_str().expect("path")),
            ("FAKECAM_SOURCE", source.to_str().expect("path")),
            ("FAKECAM_FORMAT", format),
            ("FAKECAM_SIZE", &format!("{}x{}", SIZE.0, SIZE.1)),
            ("FAKECAM_CTRL", dir.path().join("control").to_str().expect("path")),
        ],
    );
}

#[test]
fn a_camera_with_motion_jpeg_survives_all_faults() {
    with_fake_camera("MJPG", "devices::camera_child::", 6);
}

#[test]
fn a_camera_with_yuyv_gives_the_right_colours() {
    with_fake_camera("YUYV", "devices::camera_child::pictures", 1);
}

#[test]
fn a_camera_with_nv12_gives_the_right_colours() {
    with_fake_camera("NV12", "devices::camera_child::pictures", 1);
}

#[test]
fn a_microphone_survives_the_death_of_its_sound_server() {
    if !["pulseaudio", "pacat", "pactl"].iter().all(|program| is_installed(program)) {
        return skip("PulseAudio and its tools are not installed");
    }
    let dir = tempfile::tempdir().expect("folder");
    let server = format!("unix:{}/pulse/native", dir.path().display());
    run_child(
        "devices::microphone_child::",
        1,
        dir.path(),
        &[
            ("PULSE_SERVER", &server),
            ("PULSE_RUNTIME_PATH", dir.path().join("pulse").to_str().expect("path")),
            ("XDG_RUNTIME_DIR", dir.path().to_str().expect("path")),
            ("HOME", dir.path().to_str().expect("path")),
        ],
    );
}

mod camera_child {
    use omote::capture::{Camera, FrameSource, list_cameras};
    use omote::settings::VideoSettings;
    use omote::sync::{Ending, SessionClock};
    use omote::types::{ErrorKind, SourceError, Timestamp, VideoFrame};

    use super::*;

    /// Switches the fake camera; false outside a child process.
    fn switch(to: &str) -> bool {
        let Some(dir) = child_dir() else { return false };
        // In one step, so that the camera never reads half of it.
        std::fs::write(dir.join("control.new"), to).expect("control");
        std::fs::rename(dir.join("control.new"), dir.join("control")).expect("control");
        true
    }

    fn settings() -> VideoSettings {
        VideoSettings { width: SIZE.0, height: SIZE.1, ..Default::default() }
    }

    /// Opens the camera, trying again for a while: a thread left behind may still let go of it.
    fn open() -> Camera {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match Camera::open(&settings(), SessionClock::new()) {
                Ok(camera) => return camera,
                Err(error) if Instant::now() > until => panic!("{error}"),
                Err(_) => std::thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// The next frame; waits for up to ten seconds.
    fn frame(camera: &mut Camera) -> VideoFrame {
        let until = Instant::now() + Duration::from_secs(10);
        loop {
            match camera.next_frame(Duration::from_millis(100)) {
                Ok(frame) => return frame,
                Err(SourceError::Timeout) if Instant::now() < until => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// Takes frames until one call gives none; panics if that never happens.
    fn error(camera: &mut Camera) -> SourceError {
        let until = Instant::now() + Duration::from_secs(10);
        while Instant::now() < until {
            if let Err(error) = camera.next_frame(Duration::from_millis(300)) {
                return error;
            }
        }
        panic!("frames keep coming");
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn pictures_come_with_their_colours_and_times() {
        if !switch("ok") {
            return;
        }
        let names: Vec<_> = list_cameras().expect("list").into_iter().map(|c| c.name).collect();
        assert_eq!(names, ["Fake Camera"]);
        let mut camera = open();
        println!("{:?}", camera.mode());
        assert_eq!((camera.mode().width, camera.mode().height, camera.mode().fps), (SIZE.0, SIZE.1, 30));
        let began = Instant::now();
        let mut last: Option<(u64, Timestamp)> = None;
        for _ in 0..15 {
            let frame = frame(&mut camera);
            assert_eq!((frame.width, frame.height), SIZE);
            for (i, want) in QUARTERS.iter().enumerate() {
                let (x, y) = (SIZE.0 / 4 + SIZE.0 / 2 * (i as u32 % 2), SIZE.1 / 4 + SIZE.1 / 2 * (i as u32 / 2));
                let got = &frame.rgb[((y * SIZE.0 + x) * 3) as usize..][..3];
                assert!(got.iter().zip(want).all(|(a, b)| a.abs_diff(*b) <= 6), "quarter {i}: {got:?} for {want:?}");
            }
            assert!(last.is_none_or(|(seq, at)| frame.seq > seq && frame.captured_at > at));
            last = Some((frame.seq, frame.captured_at));
        }
        let took = began.elapsed();
        println!("15 frames in {took:?}, {} damaged, {} replaced", camera.skipped_count(), camera.replaced_count());
        assert!((Duration::from_millis(350)..Duration::from_secs(5)).contains(&took), "{took:?} for half a second");
        assert_eq!(camera.skipped_count(), 0);
        assert_eq!(camera.close(), Ending::Joined);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_stalled_camera_times_out_and_comes_back() {
        if !switch("ok") {
            return;
        }
        let mut camera = open();
        frame(&mut camera);
        switch("stall");
        assert_eq!(error(&mut camera), SourceError::Timeout);
        let began = Instant::now();
        assert_eq!(camera.next_frame(Duration::from_millis(100)), Err(SourceError::Timeout));
        assert!(began.elapsed() < Duration::from_secs(2), "the time-out holds");
        switch("ok");
        frame(&mut camera);
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn a_stalled_camera_can_be_dropped_and_opened_again() {
        if !switch("ok") {
            return;
        }
        let mut camera = open();
        frame(&mut camera);
        switch("stall");
        error(&mut camera);
        let began = Instant::now();
        assert_eq!(camera.close(), Ending::LeftBehind);
        assert!(began.elapsed() < Duration::from_secs(2), "closing took {:?}", began.elapsed());
        switch("ok");
        frame(&mut open());
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn an_unplugged_camera_is_gone_until_it_is_back() {
        if !switch("ok") {
            return;
        }
        let mut camera = open();
        frame(&mut camera);
        switch("unplug");
        let gone = error(&mut camera);
        assert_eq!(gone.kind(), ErrorKind::Gone);
        assert!(gone.to_string().contains("unplugged"), "{gone}");
        assert_eq!(camera.next_frame(Duration::ZERO), Err(gone), "it stays gone");
        assert_eq!(list_cameras().expect("list"), []);
        let none = Camera::open(&settings(), SessionClock::new()).expect_err("nothing there");
        assert_eq!(none.kind(), ErrorKind::Gone);
        assert_eq!(camera.close(), Ending::Joined);
        switch("ok");
        frame(&mut open());
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn damaged_pictures_are_left_out_and_counted() {
        if !switch("ok") {
            return;
        }
        let mut camera = open();
        frame(&mut camera);
        switch("corrupt");
        assert_eq!(error(&mut camera), SourceError::Timeout);
        assert!(camera.skipped_count() > 0);
        switch("ok");
        frame(&mut camera);
        println!("{} damaged pictures", camera.skipped_count());
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn refusals_say_what_to_do() {
        if !switch("deny") {
            return;
        }
        let denied = Camera::open(&settings(), SessionClock::new()).expect_err("denied");
        assert_eq!(denied.kind(), ErrorKind::Setup);
        assert!(denied.to_string().contains("refuses access"), "{denied}");
        switch("busy");
        let busy = Camera::open(&settings(), SessionClock::new()).expect_err("busy");
        assert_eq!(busy.kind(), ErrorKind::Gone);
        assert!(busy.to_string().contains("another program"), "{busy}");
        switch("ok");
        let other = VideoSettings { camera: "Other".into(), ..settings() };
        let missing = Camera::open(&other, SessionClock::new()).expect_err("missing");
        assert!(missing.to_string().contains("\"Other\""), "{missing}");
        let named = VideoSettings { camera: "Fake Camera".into(), ..settings() };
        assert!(Camera::open(&named, SessionClock::new()).is_ok());
    }
}

mod microphone_child {
    use omote::audio::{AudioSource, Microphone, MicrophoneHealth, list_microphones};
    use omote::settings::AudioSettings;
    use omote::sync::SessionClock;
    use omote::types::{ErrorKind, SourceError};

    use super::*;

    /// A process that dies with its owner.
    struct Guard(Child);

    impl Drop for Guard {
        fn drop(&mut self) {
            let _ = self.0.kill();
            let _ = self.0.wait();
        }
    }

    const TONE_HZ: f64 = 440.0;

    /// A sound server, and players that keep a tone going.
    struct Server {
        server: Guard,
        _players: [Guard; 2],
    }

    fn start_server(dir: &Path) -> Server {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools/null-sink.sh");
        let server = Guard(Command::new(script).arg(dir).spawn().expect("null-sink.sh"));
        let until = Instant::now() + Duration::from_secs(20);
        while !Command::new("pactl").arg("info").output().is_ok_and(|o| o.status.success()) {
            assert!(Instant::now() < until, "the sound server does not start");
            std::thread::sleep(Duration::from_millis(100));
        }
        let tone = dir.join("tone.raw");
        let samples: Vec<u8> = (0..48_000 * 60)
            .map(|i| (f64::from(i) / 48_000.0 * TONE_HZ * std::f64::consts::TAU).sin() * 8_000.0)
            .flat_map(|s| (s as i16).to_le_bytes())
            .collect();
        std::fs::write(&tone, samples).expect("tone");
        // The tone has half a second in hand, so that a loaded machine does not break it up; silence played beside it
        // keeps the sink's own blocks, and so the microphone's delay, short.
        let play = |latency: &str, file: &Path| {
            let player = Command::new("pacat")
                .args(["--playback", latency, "--rate=48000", "--channels=1", "--format=s16le"])
                .stdin(std::fs::File::open(file).expect("sound to play"))
                .spawn();
            Guard(player.expect("pacat"))
        };
        let players = [play("--latency-msec=500", &tone), play("--latency-msec=20", Path::new("/dev/zero"))];
        // Until somebody plays to it, a null sink works in blocks of 2 s: a microphone would count as gone.
        let is_playing = || {
            Command::new("pactl")
                .args(["list", "short", "sink-inputs"])
                .output()
                .is_ok_and(|o| o.stdout.split(|b| *b == b'\n').count() > 2)
        };
        while !is_playing() {
            assert!(Instant::now() < until, "the tone does not start");
            std::thread::sleep(Duration::from_millis(50));
        }
        std::thread::sleep(Duration::from_millis(300));
        Server { server, _players: players }
    }

    /// Reads until `count` samples of sound have come; panics after 15 s. Checks their times on the way.
    fn listen(microphone: &mut Microphone, clock: &SessionClock, count: usize) -> Vec<f32> {
        let until = Instant::now() + Duration::from_secs(15);
        let mut heard: Vec<f32> = Vec::new();
        let mut block = [0.0; 1024];
        let mut last = None;
        while heard.len() < count {
            assert!(Instant::now() < until, "only {} samples in 15 s", heard.len());
            let (n, at) = microphone.read(&mut block).expect("read");
            if n == 0 {
                std::thread::sleep(Duration::from_millis(5));
                continue;
            }
            assert!(last.is_none_or(|last| at >= last), "time runs forward");
            last = Some(at);
            let age = clock.now().secs_after(at);
            assert!((-0.05..3.0).contains(&age), "sound that is {age} s old");
            let is_silent = block[..n].iter().all(|s| s.abs() < 1e-3);
            // The tone starts some time after the server.
            if !(heard.is_empty() && is_silent) {
                heard.extend_from_slice(&block[..n]);
            }
        }
        heard
    }

    /// The power of `samples` at one frequency, as a share of all their power.
    fn share_at(samples: &[f32], rate_hz: u32, hz: f64) -> f64 {
        let (mut re, mut im, mut all) = (0.0, 0.0, 0.0);
        for (i, sample) in samples.iter().enumerate() {
            let phase = i as f64 / f64::from(rate_hz) * hz * std::f64::consts::TAU;
            let sample = f64::from(*sample);
            re += sample * phase.cos();
            im += sample * phase.sin();
            all += sample * sample;
        }
        2.0 * (re * re + im * im) / (samples.len() as f64 * all.max(1e-12))
    }

    #[test]
    #[ignore = "runs in a process of its own"]
    fn sound_is_heard_lost_and_heard_again() {
        let Some(dir) = child_dir() else { return };
        let clock = SessionClock::new();
        let mut server = start_server(&dir);

        let listed = list_microphones().expect("list");
        println!("{listed:?}");
        assert!(listed.iter().any(|m| m.is_default && m.is_monitor));
        let mut microphone = Microphone::open(&AudioSettings::default(), clock).expect("open");
        let rate = microphone.sample_rate_hz();
        assert_eq!(rate, 48_000);
        let heard = listen(&mut microphone, &clock, 48_000);
        // A loaded machine makes gaps.
        let until = Instant::now() + Duration::from_secs(5);
        while microphone.health() != MicrophoneHealth::Live {
            assert!(Instant::now() < until, "{:?}", microphone.health());
            std::thread::sleep(Duration::from_millis(2));
        }
        // cpal gives PulseAudio a queue of one block, so a loaded machine loses some: look at 5 ms at a time.
        let windows: Vec<&[f32]> = heard.chunks_exact(240).collect();
        let share_of =
            |hz: f64| windows.iter().filter(|w| share_at(w, rate, hz) > 0.85).count() as f64 / windows.len() as f64;
        let shares = [TONE_HZ, TONE_HZ / 2.0, TONE_HZ * 2.0].map(share_of);
        println!("{}: shares of 5 ms with a pure tone of 440, 220, 880 Hz: {shares:.3?}", microphone.name());
        assert!(shares[0] > 0.5 && shares[1] < 0.1 && shares[2] < 0.1);

        let named = AudioSettings { microphone: "No Such Thing".into(), ..Default::default() };
        let missing = Microphone::open(&named, clock).err().expect("missing");
        assert!(missing.to_string().contains("No Such Thing"), "{missing}");

        server.server.0.kill().expect("kill");
        let killed = Instant::now();
        let mut block = [0.0; 4096];
        let gone = loop {
            match microphone.read(&mut block) {
                Ok(_) => assert!(killed.elapsed() < Duration::from_secs(5), "the loss goes unnoticed"),
                Err(error) => break error,
            }
            std::thread::sleep(Duration::from_millis(5));
        };
        println!("loss noticed after {:?}: {gone}", killed.elapsed());
        assert!(killed.elapsed() < Duration::from_secs(1));
        assert_eq!(gone.kind(), ErrorKind::Gone);
        assert_eq!(microphone.read(&mut block), Err(gone), "it stays gone");
        let closing = Instant::now();
        let ending = microphone.close();
        println!("closed in {:?}: {ending:?}", closing.elapsed());
        assert!(closing.elapsed() < Duration::from_secs(2));

        let opening = Instant::now();
        let none = Microphone::open(&AudioSettings::default(), clock).err().expect("no server");
        println!("without a server, after {:?}: {none}", opening.elapsed());
        assert!(matches!(none, SourceError::Device { .. }));
        assert!(opening.elapsed() < Duration::from_secs(7));

        drop(server);
        let _server = start_server(&dir);
        let mut microphone = Microphone::open(&AudioSettings::default(), clock).expect("open again");
        listen(&mut microphone, &clock, 9_600);
    }
}
