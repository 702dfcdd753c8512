//! The program: command line, the two windows, settings on disk. Owns the engine.

mod analyze_command;
mod calibrate_command;
mod cli;
mod control;
mod doctor_command;
mod eval_command;
mod inspect_command;
mod live;
mod movie;
mod replay_command;
mod say;
mod sheet;
mod shell;
mod snapshot_command;
mod telemetry_file;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context as _, anyhow, bail};
use clap::Parser;
use winit::event_loop::EventLoop;

use crate::engine::Sources;
use crate::render::{self, RenderError};
use crate::settings::{Settings, SettingsFile};

pub use cli::{AppArgs, Cli, Command};

/// The whole program; returns what the process exits with.
pub fn run() -> ExitCode {
    let began = Instant::now();
    let cli = Cli::parse();
    let result = match &cli.command {
        None => match &cli.app.headless {
            Some(folder) => replay_command::demo(folder, &cli.app.set),
            None => run_windows(&cli.app, began),
        },
        Some(Command::Replay(args)) => replay_command::replay(args),
        Some(Command::Snapshot(args)) => snapshot_command::snapshot(args),
        Some(Command::Inspect(args)) => inspect_command::inspect(args),
        Some(Command::Analyze(args)) => analyze_command::analyze(args),
        Some(Command::Calibrate(args)) => calibrate_command::calibrate(args),
        Some(Command::Eval(args)) => eval_command::eval(args),
        Some(Command::Doctor(args)) => doctor_command::doctor(args.json),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            say::say(&format!("omote: {error:#}"));
            ExitCode::FAILURE
        }
    }
}

/// The app with its two windows.
fn run_windows(args: &AppArgs, began: Instant) -> anyhow::Result<()> {
    let mut notices = Vec::new();
    let (file, mut settings) = load_settings(args, &mut notices);
    args.apply(&mut settings).map_err(|error| anyhow!(error))?;
    let sources = if args.demo { Sources::Demo } else { Sources::Devices };
    let telemetry_file = match &args.telemetry {
        Some(path) => Some(
            telemetry_file::TelemetryFile::create(path, began)
                .with_context(|| format!("the telemetry file cannot be written: {}", path.display()))?,
        ),
        None => None,
    };
    let exit_after = args.exit_after.and_then(|secs| Duration::try_from_secs_f64(secs).ok());

    let event_loop = EventLoop::<eframe::UserEvent>::with_user_event().build().map_err(|error| {
        anyhow!(
            "no window can be opened: omote needs a desktop session (or use `omote --demo --headless DIR`): {}",
            reason(&error)
        )
    })?;
    if render::list_adapters().is_empty() {
        // Without one there is no window to say it in.
        bail!(RenderError::NoAdapter { seen: "none was found".into() });
    }
    let session = shell::SharedSession::default();
    let viewport = egui::ViewportBuilder::default()
        .with_title("omote")
        .with_app_id("omote")
        .with_inner_size([1060.0, 720.0])
        .with_min_inner_size([640.0, 420.0]);
    // Flat colours need no dithering.
    let options = eframe::NativeOptions { viewport, dithering: false, ..eframe::NativeOptions::default() };
    let (control_session, control_settings) = (session.clone(), settings.clone());
    let eframe = eframe::create_native(
        "omote",
        options,
        Box::new(move |cc| {
            Ok(Box::new(control::Control::new(
                &cc.egui_ctx,
                control_session,
                control::Start { settings: control_settings, file, notices, telemetry_file, exit_after },
            )))
        }),
        &event_loop,
    );
    let mut shell = shell::Shell { eframe, session, output: None, is_shown: true, start: Some((settings, sources)) };
    event_loop.run_app(&mut shell).context("the window system failed")
}

/// What winit says, without the place in its source that says it.
fn reason(error: &winit::error::EventLoopError) -> String {
    let text = error.to_string();
    let is_place = |part: &str| part.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok());
    match text.strip_prefix("os error at ").and_then(|rest| rest.split_once(": ")) {
        Some((place, reason)) if is_place(place) => reason.to_owned(),
        _ => text,
    }
}

/// The settings file and what it holds; what is wrong with it becomes a notice.
fn load_settings(args: &AppArgs, notices: &mut Vec<String>) -> (Option<SettingsFile>, Settings) {
    let file = args.settings.as_ref().map(SettingsFile::at).or_else(SettingsFile::in_config_folder);
    let Some(mut file) = file else {
        notices.push(
            "This system names no folder for settings: they hold until omote ends. --settings names a file.".into(),
        );
        return (None, Settings::default());
    };
    let (settings, mut warnings) = file.load();
    notices.append(&mut warnings);
    if args.reset_settings {
        if let Err(error) = file.save(&Settings::default()) {
            notices.push(error.to_string());
        }
        return (Some(file), Settings::default());
    }
    (Some(file), settings)
}
