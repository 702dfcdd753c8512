//! `omote eval lipsync` over small recordings of the project's own.
#![allow(
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "clippy sees helpers of tests as library code"
)]

use std::path::{Path, PathBuf};
use std::process::Command;

use omote::eval::{LipsyncOptions, eval_lipsync};
use omote::signal::Rng;

fn file(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Two speakers and a quiet room.
fn recordings() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (from, to) in [
        ("tests/it/voice/vowels.wav", "vowels/a.wav"),
        ("tests/it/voice/vowels.tsv", "vowels/a.tsv"),
        ("assets/presenter/demo.wav", "presenter/demo.wav"),
        ("assets/presenter/demo.phones.tsv", "presenter/demo.tsv"),
    ] {
        let to = folder.path().join(to);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::copy(file(from), to).unwrap();
    }
    std::fs::create_dir(folder.path().join("room")).unwrap();
    let spec = hound::WavSpec {
        channels: 2,
        sample_rate: 44_100,
        bits_per_sample: 16,
        sample_format: hound::SampleFormat::Int,
    };
    let mut writer = hound::WavWriter::create(folder.path().join("room/room.wav"), spec).unwrap();
    let mut rng = Rng::new(4);
    (0..44_100 * 4).for_each(|_| writer.write_sample((rng.normal() * 30.0) as i16).unwrap());
    writer.finalize().unwrap();
    folder
}

#[test]
fn a_folder_is_scored_by_sub_folder_and_in_total() {
    let folder = recordings();
    let mut seen = Vec::new();
    let eval = eval_lipsync(folder.path(), &LipsyncOptions::default(), &mut |g| seen.push(g.name.clone())).unwrap();
    assert_eq!(seen, ["presenter", "room", "vowels"]);
    let [presenter, room, vowels] = eval.groups.as_slice() else { panic!("{:?}", eval.groups) };
    println!("{:?}", eval.total);
    assert!(
        vowels.figures.six_pooled.unwrap() >= 0.85 && vowels.figures.vowel_pooled.unwrap() >= 0.75,
        "{:?}",
        vowels.figures
    );
    assert!(vowels.figures.vowel.unwrap() >= vowels.figures.vowel_pooled.unwrap());
    assert!(presenter.figures.six_pooled.unwrap() >= 0.84, "{:?}", presenter.figures);
    assert!(presenter.figures.lips_heard.unwrap() >= 0.8 && presenter.figures.lips_shown.unwrap() >= 0.8);
    assert!(presenter.figures.onsets >= 1 && presenter.figures.onsets_missed == 0);
    let onset_ms = presenter.figures.onset_ms.unwrap();
    assert!((20.0..=90.0).contains(&onset_ms), "{onset_ms}");
    assert!(presenter.figures.mouth_onset_ms.unwrap() <= 130.0);
    assert_eq!((room.figures.frames, room.figures.six), (0, None));
    assert_eq!(room.figures.false_open, Some(0.0));
    assert_eq!(eval.total.files, 3);
    assert_eq!(eval.total.figures.frames, presenter.figures.frames + vowels.figures.frames);
}

#[test]
fn a_calibration_is_made_of_sounds_that_no_score_counts() {
    let folder = recordings();
    // Two of three copies are used up, a second of each vowel; the third is scored.
    for copy in ["b", "c"] {
        for extension in ["wav", "tsv"] {
            let from = folder.path().join("vowels/a").with_extension(extension);
            std::fs::copy(from, folder.path().join("vowels").join(copy).with_extension(extension)).unwrap();
        }
    }
    let options = LipsyncOptions { calibrate: true, ..LipsyncOptions::default() };
    let eval = eval_lipsync(folder.path(), &options, &mut |_| {}).unwrap();
    let [presenter, room, vowels] = eval.groups.as_slice() else { panic!("{:?}", eval.groups) };
    let (plain, calibrated) = (&vowels.figures, vowels.calibrated.as_ref().expect("enough of each vowel"));
    println!("{:?} -> {:?}; {:?} -> {:?}", plain.six, calibrated.six, plain.vowel, calibrated.vowel);
    assert!(calibrated.six.unwrap() >= plain.six.unwrap() && calibrated.vowel.unwrap() >= plain.vowel.unwrap());
    assert_eq!(calibrated.frames, plain.frames, "the same sounds are counted");
    assert!((600..1100).contains(&plain.frames), "{}", plain.frames);
    assert_eq!((&presenter.calibrated, &room.calibrated), (&None, &None), "too few sounds of some vowel");
    assert_eq!(eval.total.calibrated.as_ref().map(|f| f.frames), Some(eval.total.figures.frames));
}

#[test]
fn the_command_prints_a_table_or_json_and_says_what_is_wrong() {
    let folder = recordings();
    std::fs::remove_dir_all(folder.path().join("presenter")).unwrap();
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_omote"));
        command.args(["eval", "lipsync"]).arg(folder.path()).args(arguments).output().unwrap()
    };
    let table = String::from_utf8(run(&[]).stdout).unwrap();
    println!("{table}");
    assert!(table.lines().any(|l| l.starts_with("vowels ")) && table.lines().any(|l| l.starts_with("total ")));
    let json: serde_json::Value = serde_json::from_slice(&run(&["--json", "-", "--latency", "low"]).stdout).unwrap();
    assert_eq!(json["groups"][0]["name"], "room");
    assert!(json["total"]["figures"]["six"].as_f64().unwrap() > 0.5);
    std::fs::write(folder.path().join("vowels/a.tsv"), "0\tsoon\ta\taa").unwrap();
    let failed = run(&[]);
    assert_eq!(failed.status.code(), Some(1));
    let message = String::from_utf8(failed.stderr).unwrap();
    assert!(message.contains("line 1") && message.contains("a.tsv"), "{message}");
    let missing = Command::new(env!("CARGO_BIN_EXE_omote")).args(["eval", "lipsync", "/no/such"]).output().unwrap();
    assert!(String::from_utf8(missing.stderr).unwrap().contains("no such folder"));
}

#[test]
fn five_vowels_become_a_setting_and_are_forgotten_again() {
    let folder = tempfile::tempdir().unwrap();
    let settings = folder.path().join("settings.toml");
    let run = |arguments: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_omote"));
        command.arg("calibrate").args(arguments).arg("--settings").arg(&settings).output().unwrap()
    };
    let numbers = || {
        let (settings, warnings) = omote::settings::SettingsFile::at(&settings).load();
        assert_eq!(warnings, [""; 0]);
        settings.audio.voice_calibration
    };
    let vowels = file("tests/it/voice/vowels.wav");
    let learnt = run(&[vowels.to_str().unwrap()]);
    assert!(learnt.status.success(), "{}", String::from_utf8_lossy(&learnt.stderr));
    assert!(omote::voice::Calibration::from_numbers(&numbers()).is_some());
    let speech = file("assets/presenter/demo.wav");
    let refused = run(&[speech.to_str().unwrap()]);
    assert_eq!(refused.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a, i, u, e, o"));
    assert!(run(&["--clear"]).status.success());
    assert_eq!(numbers(), [0.0; 0]);
}
