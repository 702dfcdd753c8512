//! The program as others call it: exit codes, one clear message, files in and out.

use std::path::Path;
use std::process::{Command, Output};

fn omote(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_omote")).args(args).env("OMOTE_LOG", "error").output().expect("the program runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn wrong_usage_is_2_failure_is_1_and_both_say_why() {
    for args in [&["--lipsync", "loud"][..], &["replay", "--fps", "0"], &["snapshot"], &["dance"]] {
        let output = omote(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", text(&output.stderr));
    }
    for (args, words) in [
        (&["replay", "--video", "/nowhere/talk.mp4"][..], "/nowhere/talk.mp4"),
        (&["replay"], "--video"),
        (&["replay", "--performance", "/nowhere/p.omote"], "/nowhere/p.omote"),
        (&["replay", "--presenter", "--set", "lipsync.mode=loud"], "lipsync.mode"),
        (&["replay", "--presenter", "--fault", "audio=quiet@1..2"], "muted"),
        (&["replay", "--presenter", "--expression", "dancing@1..2"], "happy"),
        (&["inspect", "/nowhere/me.vrm"], "/nowhere/me.vrm"),
        (&["snapshot", "--out", "/nowhere/x.png", "--avatar", "/nowhere/me.vrm"], "/nowhere/me.vrm"),
        (&["analyze", "--image", "/nowhere/x.png", "--out", "-"], "/nowhere/x.png"),
    ] {
        let output = omote(args);
        assert_eq!(output.status.code(), Some(1), "{args:?}: {}", text(&output.stderr));
        assert!(text(&output.stderr).contains(words), "{args:?}: {}", text(&output.stderr));
        assert!(!text(&output.stderr).contains("panicked"), "{args:?}: {}", text(&output.stderr));
    }
}

#[test]
fn every_command_has_help() {
    for command in ["replay", "snapshot", "inspect", "analyze", "doctor"] {
        let output = omote(&[command, "--help"]);
        assert!(output.status.success() && text(&output.stdout).contains("Example"), "{command}");
    }
}

#[test]
fn a_portrait_is_analysed_and_an_avatar_inspected() {
    let folder = tempfile::tempdir().expect("folder");
    let out = folder.path().join("seen.jsonl");
    let portrait = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/face/astronaut.png");
    let output = omote(&["analyze", "--image", &portrait.to_string_lossy(), "--out", &out.to_string_lossy()]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let line: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&out).expect("records")).expect("JSON");
    assert_eq!((line["kind"].as_str(), line["state"].as_str()), (Some("video"), Some("tracked")));
    assert_eq!(line["blendshapes"].as_object().map(|b| b.len()), Some(51));

    let avatar = Path::new(env!("CARGO_MANIFEST_DIR")).join("assets/avatar/mochi.vrm");
    let output = omote(&["inspect", &avatar.to_string_lossy(), "--json"]);
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(report["name"].as_str(), Some("Mochi"));
    assert!(report["triangles"].as_u64().is_some_and(|n| n > 10_000));
}

#[test]
fn doctor_tells_what_is_there_and_what_to_do() {
    let output = omote(&["doctor", "--json"]);
    assert!(output.status.success(), "{}", text(&output.stderr));
    let checks: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let names: Vec<_> = checks.as_array().expect("list").iter().filter_map(|c| c["what"].as_str()).collect();
    for what in ["cameras", "microphones", "graphics", "models", "bundled avatar", "settings"] {
        assert!(names.contains(&what), "{names:?}");
    }
    let all_told = checks
        .as_array()
        .expect("list")
        .iter()
        .all(|c| c["is_ok"].as_bool() == Some(true) || c["advice"].as_str().is_some_and(|a| !a.is_empty()));
    assert!(all_told, "{checks:#}");
}

#[test]
#[cfg(target_os = "linux")]
fn without_a_desktop_it_says_so_and_nothing_of_its_own_making() {
    let output = Command::new(env!("CARGO_BIN_EXE_omote"))
        .env_remove("DISPLAY")
        .env_remove("WAYLAND_DISPLAY")
        .env_remove("WAYLAND_SOCKET")
        .output()
        .expect("the program starts");
    let message = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{message}");
    assert!(message.contains("desktop session") && message.contains("--demo --headless"), "{message}");
    assert!(!message.contains(".rs"), "{message}");
}
