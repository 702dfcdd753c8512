//! The two windows on a virtual display with software graphics: they appear, the output keeps its rate whatever
//! happens to the control window, and shows the avatar. Needs Xvfb, openbox, xdotool and ImageMagick.

use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

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

#[test]
fn the_output_keeps_its_rate_whatever_the_control_window_does() {
    if !has_tools() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let (_server, _manager, display) = display();
    let telemetry = folder.path().join("telemetry.jsonl");
    let app = Command::new(env!("CARGO_BIN_EXE_omote"))
        .args(["--demo", "--fps", "30", "--background", "#0000FF", "--exit-after", "120"])
        .args(["--set", "output.width=160", "--set", "output.height=120", "--set", "output.msaa=1"])
        .arg("--settings")
        .arg(folder.path().join("settings.toml"))
        .arg("--telemetry")
        .arg(&telemetry)
        .env("DISPLAY", &display)
        .env_remove("WAYLAND_DISPLAY")
        .env("XDG_RUNTIME_DIR", folder.path())
        .env("OMOTE_LOG", "error")
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
