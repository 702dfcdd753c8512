//! `omote eval face` over the portrait, whose reference is known, and a presenter who blinks.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "clippy sees helpers of tests as library code"
)]

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use omote::capture::FrameSource;
use omote::capture::presenter::{Filming, PresenterCamera, PresenterScript};
use omote::eval::face::{FaceEvalOptions, eval_face, limits};

/// Turns the head, then blinks with the head still.
const SCRIPT: &str = r#"
format = 1
duration = 2.0
blinks = [1.3]
[tracks]
"head.yaw" = [[0.0, 0.0], [0.3, 12.0], [0.7, -12.0], [0.9, 0.0]]
jaw = [[0.1, 0.0], [0.4, 0.7], [0.6, 0.0], [0.7, 0.6], [0.9, 0.0]]
"#;

/// The presenter as a YUV4MPEG2 file, which needs no ffmpeg.
fn film(path: &Path) {
    let script = Arc::new(PresenterScript::from_toml(SCRIPT, None).unwrap());
    let filming = Filming { width: 320, height: 240, ..Filming::default() };
    let mut camera = PresenterCamera::open(script, filming).unwrap();
    let mut out = std::io::BufWriter::new(std::fs::File::create(path).unwrap());
    writeln!(out, "YUV4MPEG2 W320 H240 F30:1 Ip A1:1 C444 XCOLORRANGE=FULL").unwrap();
    while let Ok(frame) = camera.next_frame(Duration::ZERO) {
        let plane = |red: f32, green: f32, blue: f32, offset: f32| -> Vec<u8> {
            let weigh = |p: &[u8]| red * f32::from(p[0]) + green * f32::from(p[1]) + blue * f32::from(p[2]) + offset;
            frame.rgb.chunks_exact(3).map(|p| weigh(p).round().clamp(0.0, 255.0) as u8).collect()
        };
        writeln!(out, "FRAME").unwrap();
        out.write_all(&plane(0.299, 0.587, 0.114, 0.0)).unwrap();
        out.write_all(&plane(-0.1687, -0.3313, 0.5, 128.0)).unwrap();
        out.write_all(&plane(0.5, -0.4187, -0.0813, 128.0)).unwrap();
    }
    out.flush().unwrap();
}

fn clips() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/face");
    std::fs::create_dir_all(folder.path().join("stills")).unwrap();
    for name in ["astronaut.png", "astronaut.face.jsonl"] {
        std::fs::copy(data.join(name), folder.path().join("stills").join(name)).unwrap();
    }
    film(&folder.path().join("presenter.y4m"));
    let truth = "blinks = [1.35]\nface = true\n";
    std::fs::write(folder.path().join("presenter.truth.toml"), truth).unwrap();
    std::fs::create_dir(folder.path().join("script")).unwrap();
    std::fs::write(folder.path().join("script/nod.toml"), SCRIPT).unwrap();
    std::fs::write(folder.path().join("broken.y4m"), "YUV4MPEG2 W0 H0\n").unwrap();
    folder
}

#[test]
fn the_portrait_keeps_parity_and_the_presenters_blinks_are_counted() {
    let folder = clips();
    let overlays = folder.path().join(".overlays");
    let options = FaceEvalOptions { overlays: Some(overlays.clone()), ..FaceEvalOptions::default() };
    let mut seen = Vec::new();
    let eval = eval_face(folder.path(), &options, &mut |clip| seen.push(clip.name.clone())).unwrap();
    println!("{}", omote::eval::face::table(&eval));
    assert_eq!(seen, ["broken.y4m", "presenter.y4m", "nod.toml", "astronaut.png"]);
    assert_eq!(eval.unmeasured.len(), 1, "{:?}", eval.unmeasured);
    let [top, script, stills] = eval.groups.as_slice() else { panic!("three groups") };

    let parity = stills.all.parity.as_ref().unwrap();
    assert_eq!((parity.frames, parity.common, parity.other_pixels, parity.clips_within_limits), (1, 1, 0, 1));
    assert!(parity.landmarks_px.unwrap() <= limits::LANDMARKS_PX && parity.head_deg.unwrap() <= limits::HEAD_DEG);
    assert!(parity.blendshapes.unwrap() <= limits::BLENDSHAPES);

    let presenter = &top.all.product;
    assert_eq!((&top.all.parity, top.all.frames), (&None, 60));
    assert!(presenter.seen_where_there.unwrap() >= 0.95 && presenter.seen_where_none.is_none());
    let blinks = presenter.blinks.as_ref().unwrap();
    assert_eq!((blinks.counted, blinks.found, blinks.wrong), (1, 1, 0), "{blinks:?}");
    let lag_ms = presenter.lag_head_ms.ours.unwrap();
    assert!((-5.0..40.0).contains(&lag_ms), "{lag_ms} ms");
    assert!(presenter.jitter_head_deg.ours.unwrap() < 1.0 && presenter.cost_ms.ours.unwrap() > 0.1);
    assert_eq!(eval.total.frames, 121);

    // The same person from the script itself, at twice the size: its truth needs no file.
    let blinks = script.all.product.blinks.as_ref().unwrap();
    assert_eq!((blinks.counted, blinks.found, blinks.wrong), (1, 1, 0), "{blinks:?}");
    let truth = script.all.truth.as_ref().unwrap();
    assert!(truth.frames >= 55 && truth.head_deg.iter().all(|e| e.unwrap() < 3.0), "{truth:?}");
    assert!(truth.mouth_r.unwrap() > 0.95 && truth.lids_r.unwrap() > 0.85, "{truth:?}");
    assert!(truth.lag_ms[0].unwrap().abs() < 25.0, "{truth:?}");
    for picture in ["presenter.y4m.png", "stills/astronaut.png.png"] {
        assert!(overlays.join(picture).is_file(), "{picture}");
    }
}

#[test]
fn the_command_prints_a_table_or_json_and_says_what_is_wrong() {
    let folder = clips();
    let run = |below: &str, arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_omote"));
        command.args(["eval", "face"]).arg(folder.path().join(below)).args(arguments).output().unwrap()
    };
    let table = run("stills", &[]);
    assert!(table.status.success(), "{}", String::from_utf8_lossy(&table.stderr));
    let text = String::from_utf8(table.stdout).unwrap();
    assert!(text.contains("PARITY") && text.lines().any(|l| l.starts_with("astronaut.png")), "{text}");
    let json: serde_json::Value = serde_json::from_slice(&run("stills", &["--json", "-"]).stdout).unwrap();
    assert_eq!(json["total"]["parity"]["clips_within_limits"], 1);
    std::fs::write(folder.path().join("stills/astronaut.truth.toml"), "blinks = 3").unwrap();
    let failed = run("stills", &[]);
    assert_eq!(failed.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&failed.stdout).contains("astronaut.truth.toml"));
    assert!(String::from_utf8_lossy(&run("nothing", &[]).stderr).contains("no such folder"));
}
