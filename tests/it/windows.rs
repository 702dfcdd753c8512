//! The two windows on a virtual display with software graphics: they appear, the output keeps its rate whatever
//! happens to the control window, and shows the avatar; what is set in the window is there at the next start; devices come
//! and go. Needs Xvfb, openbox, xdotool and ImageMagick, and for devices a C compiler and PulseAudio.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use omote::capture::FrameSource;
use omote::capture::presenter::{Filming, PresenterCamera, PresenterScript};
use omote::sync::Pace;

/// Ends a child with its test.
struct Running(Child);

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// True where the tools are there; where they are not, `CI` makes that a failure.
fn has_tools() -> bool {
    for (tool, flag) in [("Xvfb", "-help"), ("openbox", "--version"), ("xdotool", "version"), ("import", "-version")] {
        let found = Command::new(tool).arg(flag).stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok();
        if !found {
            assert!(std::env::var_os("CI").is_none(), "{tool} is not installed, so the windows cannot be tested");
            eprintln!("SKIPPED: {tool} is not installed");
            return false;
        }
    }
    true
}

/// A display of its own, with a window manager. It must not reset when one client goes before the next has come.
fn display() -> (Running, Running, String) {
    let mut server = Command::new("Xvfb")
        .args(["-displayfd", "1", "-screen", "0", "1300x900x24", "-nolisten", "tcp", "-noreset"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("Xvfb");
    let mut number = Vec::new();
    let mut stdout = server.stdout.take().expect("pipe");
    let mut byte = [0];
    while stdout.read(&mut byte).expect("display number") == 1 && byte[0] != b'\n' {
        number.push(byte[0]);
    }
    let display = format!(":{}", String::from_utf8(number).expect("number"));
    let manager = Command::new("openbox").env("DISPLAY", &display).stderr(Stdio::null()).spawn().expect("openbox");
    (Running(server), Running(manager), display)
}

fn xdotool(display: &str, args: &[&str]) -> String {
    let output = Command::new("xdotool").args(args).env("DISPLAY", display).output().expect("xdotool");
    String::from_utf8_lossy(&output.stdout).trim().to_owned()
}

fn window(display: &str, title: &str) -> String {
    let began = Instant::now();
    loop {
        let found = xdotool(display, &["search", "--name", &format!("^{title}$")]);
        if let Some(id) = found.lines().next() {
            return id.to_owned();
        }
        assert!(began.elapsed() < Duration::from_secs(60), "there is no window {title:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Frames so far by the last line of telemetry that has come, and when that was.
fn frames(path: &Path) -> Option<(f64, f64)> {
    let text = std::fs::read_to_string(path).ok()?;
    let line: serde_json::Value = serde_json::from_str(text.lines().last()?).ok()?;
    Some((line["t"].as_f64()?, line["stage"]["frames"].as_f64()?))
}

/// Output frames a second over about `secs`.
fn rate(path: &Path, secs: u64) -> f64 {
    let began = Instant::now();
    let first = loop {
        if let Some(first) = frames(path).filter(|f| f.1 > 0.0) {
            break first;
        }
        assert!(began.elapsed() < Duration::from_secs(60), "no frame comes");
        std::thread::sleep(Duration::from_millis(100));
    };
    std::thread::sleep(Duration::from_secs(secs));
    let last = frames(path).expect("telemetry");
    (last.1 - first.1) / (last.0 - first.0).max(0.1)
}

/// The program on `display`, with its files in `folder`.
fn omote(display: &str, folder: &Path) -> Command {
    let mut app = Command::new(env!("CARGO_BIN_EXE_omote"));
    app.args(["--set", "output.width=160", "--set", "output.height=120", "--set", "output.msaa=1"])
        .args(["--exit-after", "120", "--settings"])
        .arg(folder.join("settings.toml"))
        .arg("--telemetry")
        .arg(folder.join("telemetry.jsonl"))
        .env("DISPLAY", display)
        .env_remove("WAYLAND_DISPLAY")
        .env("XDG_RUNTIME_DIR", folder)
        .env("OMOTE_LOG", "error");
    app
}

/// Waits for a line of telemetry in which `is_so`.
fn await_telemetry(folder: &Path, what: &str, is_so: impl Fn(&serde_json::Value) -> bool) -> serde_json::Value {
    let began = Instant::now();
    let mut last = String::new();
    while began.elapsed() < Duration::from_secs(60) {
        let text = std::fs::read_to_string(folder.join("telemetry.jsonl")).unwrap_or_default();
        last = text.lines().last().unwrap_or_default().to_owned();
        if let Ok(line) = serde_json::from_str(&last)
            && is_so(&line)
        {
            return line;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("{what} does not come; the last line of telemetry is {last}");
}

/// A talking face as the fake camera takes it: the presenter in the demo's first second, in Motion JPEG.
fn presenter_clip() -> Vec<u8> {
    let filming = Filming { fps: 15, pace: Pace::Free, ..Filming::default() };
    let script = PresenterScript::demo().expect("bundled script");
    let mut camera = PresenterCamera::open(script.into(), filming).expect("presenter");
    let mut clip = Vec::new();
    for _ in 0..15 {
        let frame = camera.next_frame(Duration::from_secs(10)).expect("picture");
        let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut clip, 90);
        encoder.encode(&frame.rgb, frame.width, frame.height, image::ExtendedColorType::Rgb8).expect("encode");
    }
    clip
}

#[test]
fn devices_are_taken_lost_and_found_and_settings_last() {
    if !has_tools() {
        return;
    }
    if !["cc", "pulseaudio", "paplay", "pactl"].iter().all(|tool| super::devices::is_installed(tool)) {
        return super::devices::skip("no C compiler or no PulseAudio for the fake devices");
    }
    let folder = tempfile::tempdir().expect("folder");
    let dir = folder.path();
    let (_server, _manager, display) = display();
    let library = super::devices::fake_camera(dir);
    std::fs::write(dir.join("clip"), presenter_clip()).expect("clip");
    let pulse = [
        ("PULSE_SERVER", format!("unix:{}/pulse/native", dir.display())),
        ("PULSE_RUNTIME_PATH", format!("{}/pulse", dir.display())),
        ("XDG_RUNTIME_DIR", dir.display().to_string()),
        ("HOME", format!("{}/home", dir.display())),
    ];
    let tools = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tools");
    let _sound = Running(Command::new(tools.join("null-sink.sh")).arg(dir).spawn().expect("null-sink.sh"));
    let is_up = || Command::new("pactl").arg("info").envs(pulse.clone()).output().is_ok_and(|o| o.status.success());
    let began = Instant::now();
    while !is_up() {
        assert!(began.elapsed() < Duration::from_secs(20), "the sound server does not start");
        std::thread::sleep(Duration::from_millis(100));
    }
    let wav = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/presenter/demo.wav");
    let play = "while paplay --latency-msec=100 \"$0\"; do :; done";
    let _voice = Running(Command::new("sh").args(["-c", play]).arg(wav).envs(pulse.clone()).spawn().expect("paplay"));

    let app = omote(&display, dir)
        .envs(pulse.clone())
        .env("LD_PRELOAD", library)
        .env("FAKECAM_SOURCE", dir.join("clip"))
        .env("FAKECAM_CTRL", dir.join("control"))
        .spawn();
    let mut app = Running(app.expect("the program starts"));
    await_telemetry(dir, "a tracked face and a voice", |t| {
        t["video"]["state"] == "tracked" && t["audio"]["state"] == "live" && t["stage"]["mode"] == "mix"
    });
    await_telemetry(dir, "a mouth that opens", |t| t["stage"]["mouth_open"].as_f64() > Some(0.15));

    // The switch of the lip-sync modes: first button of the column of controls.
    let control = window(&display, "omote");
    xdotool(&display, &["windowsize", "--sync", &control, "1060", "720"]);
    xdotool(&display, &["mousemove", "--window", &control, "795", "60", "sleep", "0.3", "click", "1"]);
    await_telemetry(dir, "lip-sync by sound alone", |t| t["stage"]["mode"] == "audio");

    std::fs::write(dir.join("control"), "unplug").expect("control");
    let lost = await_telemetry(dir, "the loss of the camera", |t| t["video"]["state"] == "disconnected");
    assert!(lost["video"]["message"].as_str().is_some_and(|m| !m.is_empty()), "the loss is explained: {lost}");
    std::fs::write(dir.join("control"), "ok").expect("control");
    await_telemetry(dir, "the camera's return", |t| t["video"]["state"] == "tracked");
    assert!(app.0.try_wait().expect("status").is_none(), "the program is still running");

    // Long enough after the click the settings are on disk; a kill is the worst end there is.
    drop(app);
    std::fs::remove_file(dir.join("telemetry.jsonl")).expect("telemetry");
    let app = omote(&display, dir).envs(pulse).spawn();
    let _app = Running(app.expect("the program starts again"));
    let restored = await_telemetry(dir, "the second start", |t| t["stage"]["frames"].as_f64() > Some(0.0));
    assert_eq!(restored["stage"]["mode"], "audio", "{restored}");
}

#[test]
fn without_a_graphics_adapter_it_ends_and_says_what_to_do() {
    if !has_tools() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let (_server, _manager, display) = display();
    let output = omote(&display, folder.path())
        .env("VK_ICD_FILENAMES", "/nonexistent")
        .env("VK_DRIVER_FILES", "/nonexistent")
        .env("LIBGL_DRIVERS_PATH", "/nonexistent")
        .env("EGL_PLATFORM", "surfaceless")
        .output()
        .expect("the program starts");
    let message = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("graphics"), "{message}");
}

#[test]
fn the_output_keeps_its_rate_whatever_the_control_window_does() {
    if !has_tools() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let (_server, _manager, display) = display();
    let telemetry = folder.path().join("telemetry.jsonl");
    let app = omote(&display, folder.path())
        .args(["--demo", "--fps", "30", "--background", "#0000FF"])
        .spawn()
        .expect("the program starts");
    let mut app = Running(app);
    let (control, output) = (window(&display, "omote"), window(&display, "omote output"));
    rate(&telemetry, 3);
    // Other tests run at the same time: what counts is that it can keep the rate, so a bad moment is tried again.
    let mut usual = 0.0;
    let mut minimised = 0.0;
    for _ in 0..3 {
        usual = rate(&telemetry, 4);
        xdotool(&display, &["windowminimize", &control]);
        minimised = rate(&telemetry, 4);
        xdotool(&display, &["windowmap", &control]);
        if minimised > 0.7 * usual {
            break;
        }
    }
    for i in 0..10 {
        xdotool(&display, &["windowsize", &control, &(700 + i * 20).to_string(), &(500 + i * 15).to_string()]);
        xdotool(&display, &["windowsize", &output, &(160 + i * 4).to_string(), &(120 + i * 3).to_string()]);
        std::thread::sleep(Duration::from_millis(150));
    }
    let resized = rate(&telemetry, 4);
    eprintln!("frames a second: usual {usual:.1}, control window minimised {minimised:.1}, resized {resized:.1}");
    assert!(usual <= 31.0 && minimised <= 31.0 && resized <= 31.0, "the set rate is passed");
    assert!(minimised > 0.7 * usual, "minimising the control window costs frames");
    assert!(resized > 0.4 * usual, "resizing costs frames for good");

    let shot = folder.path().join("output.png");
    let taken =
        Command::new("import").args(["-window", &output]).arg(&shot).env("DISPLAY", &display).status().expect("import");
    assert!(taken.success());
    let picture = image::open(&shot).expect("screenshot").to_rgb8();
    let blue = picture.pixels().filter(|p| p.0 == [0, 0, 255]).count();
    let all = (picture.width() * picture.height()) as usize;
    assert!(blue > all / 5, "the chroma colour fills the background ({blue} of {all})");
    assert!(all - blue > all / 5, "the avatar stands before it ({} of {all})", all - blue);
    assert!(app.0.try_wait().expect("status").is_none(), "the program is still running");
}
