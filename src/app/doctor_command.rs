//! `omote doctor`: what works on this machine, what does not, and what to do.

use std::io::Write;

use anyhow::Context;
use serde::Serialize;

use crate::audio::list_microphones;
use crate::capture::list_cameras;
use crate::face::{FaceOptions, FaceTracker};
use crate::output::can_be_transparent;
use crate::render::{Gpu, GpuOptions, list_adapters};
use crate::settings::{Settings, SettingsFile, VideoSettings, VideoSource};
use crate::sync::SessionClock;
use crate::{avatar, receive, voice};

/// One thing that was checked.
#[derive(Debug, Serialize)]
struct Check {
    what: &'static str,
    is_ok: bool,
    found: Vec<String>,
    /// What to do; empty where all is well.
    advice: String,
}

impl Check {
    fn of(what: &'static str, result: Result<Vec<String>, String>) -> Self {
        match result {
            Ok(found) => Self { what, is_ok: true, found, advice: String::new() },
            Err(advice) => Self { what, is_ok: false, found: Vec::new(), advice },
        }
    }
}

/// Checks everything and prints the result.
///
/// # Errors
/// If standard output cannot be written. What is found wrong is printed, and is no failure of this command.
pub(super) fn doctor(is_json: bool) -> anyhow::Result<()> {
    let checks = [
        cameras(),
        microphones(),
        remote_trackers(),
        graphics(),
        models(),
        bundled_avatar(),
        settings_folder(),
        movies(),
    ];
    let mut out = std::io::stdout().lock();
    let write = |out: &mut std::io::StdoutLock<'_>| -> std::io::Result<()> {
        if is_json {
            serde_json::to_writer_pretty(&mut *out, &checks)?;
            return writeln!(out);
        }
        for check in &checks {
            writeln!(out, "{:4} {}", if check.is_ok { "ok" } else { "!!" }, check.what)?;
            for line in &check.found {
                writeln!(out, "       {line}")?;
            }
            if !check.advice.is_empty() {
                writeln!(out, "       {}", check.advice)?;
            }
        }
        Ok(())
    };
    write(&mut out).context("standard output cannot be written")
}

fn cameras() -> Check {
    let listed = list_cameras().map(|c| c.into_iter().map(|c| c.name).collect::<Vec<_>>()).map_err(|e| e.to_string());
    Check::of(
        "cameras",
        listed.and_then(|names| {
            if names.is_empty() {
                Err("no camera: plug one in; on Linux it shows as /dev/video0. omote takes it when it appears".into())
            } else {
                Ok(names)
            }
        }),
    )
}

fn microphones() -> Check {
    let listed =
        list_microphones().map(|m| m.into_iter().map(|m| m.name).collect::<Vec<_>>()).map_err(|e| e.to_string());
    Check::of(
        "microphones",
        listed.and_then(|names| {
            if names.is_empty() {
                Err("no microphone: plug one in, or start the system's sound service".into())
            } else {
                Ok(names)
            }
        }),
    )
}

fn remote_trackers() -> Check {
    let mut found = Vec::new();
    let network = VideoSettings { network: true, ..VideoSettings::default() };
    if let Some(address) = receive::this_computer(&network) {
        found.push(format!("this computer is {address} in the network"));
    }
    let mut busy = Vec::new();
    for source in VideoSource::ALL.into_iter().filter(|s| s.is_remote()) {
        match receive::open(&VideoSettings { source, ..VideoSettings::default() }, SessionClock::new()) {
            Ok(_) => found.push(format!("{}: port {} is free", source.title(), source.usual_port())),
            Err(error) => busy.push(format!("{}: {error}", source.title())),
        }
    }
    Check { what: "phones and other trackers (optional)", is_ok: busy.is_empty(), found, advice: busy.join("; ") }
}

fn graphics() -> Check {
    let adapters = list_adapters();
    let opened = Gpu::new(GpuOptions::default()).map_err(|e| e.to_string());
    let mut found: Vec<_> = adapters
        .iter()
        .map(|a| {
            let kind = if a.is_software { ", software: slow" } else { "" };
            format!("{} ({}{kind}; {})", a.name, a.backend, a.driver)
        })
        .collect();
    if !can_be_transparent(&adapters) {
        found.push("no transparent windows: the output is filled with a chroma colour".into());
    }
    Check::of("graphics", opened.map(|_| found))
}

fn models() -> Check {
    let face = FaceTracker::load(FaceOptions::default()).map(|_| "face: detector, landmarks, blendshapes".to_owned());
    let voice = voice::Hearing::new().map(|_| "voice: visemes".to_owned());
    Check::of(
        "models",
        match (face, voice) {
            (Ok(face), Ok(voice)) => Ok(vec![face, voice]),
            (Err(error), _) => Err(error.to_string()),
            (_, Err(error)) => Err(error.to_string()),
        },
    )
}

fn bundled_avatar() -> Check {
    Check::of("bundled avatar", avatar::bundled().map(|m| vec![m.meta.name]).map_err(|e| e.to_string()))
}

fn settings_folder() -> Check {
    let Some(mut file) = SettingsFile::in_config_folder() else {
        return Check::of(
            "settings",
            Err("the system names no folder for settings: give a file with --settings".into()),
        );
    };
    let (settings, warnings) = file.load();
    let path = file.path().display().to_string();
    let is_new = !file.path().exists();
    // Writing what was read changes nothing; a missing file is made with defaults only when the app saves.
    let written =
        if is_new { probe(&file, &Settings::default()) } else { file.save(&settings).map_err(|e| e.to_string()) };
    Check::of("settings", written.map(|()| std::iter::once(path).chain(warnings).collect()))
}

/// Whether the folder can be written to, without leaving anything behind.
fn probe(file: &SettingsFile, settings: &Settings) -> Result<(), String> {
    let beside = file.path().with_extension("probe");
    SettingsFile::at(&beside).save(settings).map_err(|e| e.to_string())?;
    std::fs::remove_file(beside).map_err(|e| e.to_string())
}

fn movies() -> Check {
    let found = if super::movie::MovieWriter::is_available() {
        Ok(vec!["ffmpeg: movies can be read and written".into()])
    } else {
        Err("ffmpeg is not installed: replay reads WAV, y4m, MJPEG and pictures only, and writes no movies".into())
    };
    Check::of("movies (optional)", found)
}
