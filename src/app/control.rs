//! The control window: shows the panels, hands on what they ask for, saves settings.

use std::path::PathBuf;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use egui::{ColorImage, Context, TextureHandle, TextureOptions, vec2};

use super::shell::SharedSession;
use super::telemetry_file::TelemetryFile;
use crate::engine::{Engine, Telemetry};
use crate::settings::{Quality, Settings, SettingsFile};
use crate::sync::Worker;
use crate::ui::{ControlState, PANEL_COLOR, Preview, UiAction, apply_theme, control_ui};

/// The window is redrawn this often.
const REDRAW_EVERY: Duration = Duration::from_millis(33);
/// Where the processor draws, a redraw is taken from the stream: seldom then, but while somebody works with the window.
const SOFTWARE_REDRAW_EVERY: Duration = Duration::from_millis(200);
const SOFTWARE_IDLE_REDRAW_EVERY: Duration = Duration::from_secs(1);
/// For so long after the pointer moved or a key was pressed the window counts as worked with, seconds.
const WORKED_WITH_SECS: f64 = 4.0;
/// Settings are written once they have not changed for this long.
const SAVE_AFTER: Duration = Duration::from_millis(800);

/// File endings that the dialog offers.
const AVATAR_ENDINGS: [&str; 3] = ["vrm", "glb", "gltf"];

/// The control window's state. Lives on `main`.
pub(super) struct Control {
    session: SharedSession,
    settings: Settings,
    /// What the engine was given last.
    applied: Settings,
    /// What the file holds, and when the settings last differed from it.
    saved: Settings,
    changed_at: Option<Instant>,
    file: Option<SettingsFile>,
    is_save_failure_told: bool,
    notices: Vec<String>,
    telemetry: Telemetry,
    preview: Option<TextureHandle>,
    picked: Option<(Worker, Receiver<PathBuf>)>,
    telemetry_file: Option<TelemetryFile>,
    exit_at: Option<Instant>,
    /// egui's time of the last input.
    input_at: f64,
}

/// What a control window starts with.
pub(super) struct Start {
    /// In force, arguments included.
    pub(super) settings: Settings,
    /// Where settings are kept; `None` where there is no such place.
    pub(super) file: Option<SettingsFile>,
    /// Messages to show.
    pub(super) notices: Vec<String>,
    /// Where telemetry goes.
    pub(super) telemetry_file: Option<TelemetryFile>,
    /// When to end by itself.
    pub(super) exit_after: Option<Duration>,
}

impl Control {
    pub(super) fn new(ctx: &Context, session: SharedSession, start: Start) -> Self {
        let Start { settings, file, notices, telemetry_file, exit_after } = start;
        apply_theme(ctx);
        Self {
            session,
            applied: settings.clone(),
            // Arguments hold for this run; they are written only along with a change of the user's.
            saved: settings.clone(),
            settings,
            changed_at: None,
            file,
            is_save_failure_told: false,
            notices,
            telemetry: Telemetry::default(),
            preview: None,
            picked: None,
            telemetry_file,
            exit_at: exit_after.map(|d| Instant::now() + d),
            input_at: 0.0,
        }
    }
}

impl Control {
    /// Takes what the engine tells, hands over what has changed.
    fn exchange(&mut self) {
        self.session.with(|session| {
            self.notices.append(&mut session.notices);
            let Some(engine) = session.engine.as_mut() else { return };
            if self.settings != self.applied {
                engine.set_settings(self.settings.clone());
                self.applied = self.settings.clone();
            }
            self.telemetry = engine.telemetry();
        });
        let found = self.telemetry.video.quality_found;
        if found != Quality::Auto {
            self.settings.video.quality_found = found;
        }
        if let Some(file) = &mut self.telemetry_file {
            file.write(&self.telemetry);
        }
    }

    /// Takes the newest picture of the avatar, and by that asks for the next one.
    fn renew_preview(&mut self, ctx: &Context) {
        let Some(image) = self.session.with(|s| s.engine.as_ref().and_then(Engine::take_preview)) else { return };
        let size = [image.width as usize, image.height as usize];
        let image = ColorImage::from_rgba_premultiplied(size, &image.rgba);
        match &mut self.preview {
            Some(texture) => texture.set(image, TextureOptions::LINEAR),
            None => self.preview = Some(ctx.load_texture("preview", image, TextureOptions::LINEAR)),
        }
    }

    /// How long the window may stay as it is.
    fn redraw_after(&mut self, ctx: &Context) -> Duration {
        let (now, has_input) = ctx.input(|i| (i.time, !i.events.is_empty()));
        if has_input {
            self.input_at = now;
        }
        match (self.telemetry.picture.is_software, now - self.input_at < WORKED_WITH_SECS) {
            (false, _) => REDRAW_EVERY,
            (true, true) => SOFTWARE_REDRAW_EVERY,
            (true, false) => SOFTWARE_IDLE_REDRAW_EVERY,
        }
    }

    /// Writes the settings once they have stayed the same for a moment.
    fn save_when_calm(&mut self, is_last: bool) {
        if self.settings == self.saved {
            self.changed_at = None;
            return;
        }
        let since = *self.changed_at.get_or_insert_with(Instant::now);
        if !is_last && since.elapsed() < SAVE_AFTER {
            return;
        }
        self.changed_at = None;
        self.saved = self.settings.clone();
        let Some(file) = &self.file else { return };
        match file.save(&self.settings) {
            Ok(()) => self.is_save_failure_told = false,
            Err(error) => {
                tracing::warn!("{error}");
                if !self.is_save_failure_told {
                    self.is_save_failure_told = true;
                    self.notices.push(error.to_string());
                }
            }
        }
    }

    /// Asks for an avatar file; the system's dialog runs on a thread of its own.
    fn pick_avatar(&mut self) {
        if self.picked.as_ref().is_some_and(|(worker, _)| !worker.is_finished()) {
            return;
        }
        let (sender, receiver) = channel();
        let worker = Worker::spawn("dialog", move |_| {
            let dialog = rfd::FileDialog::new().set_title("Choose an avatar").add_filter("Avatars", &AVATAR_ENDINGS);
            if let Some(path) = dialog.pick_file() {
                // Nobody listens any more when the app has ended meanwhile.
                let _ = sender.send(path);
            }
        });
        match worker {
            Ok(worker) => self.picked = Some((worker, receiver)),
            Err(error) => self.notices.push(format!("The file dialog cannot be opened: {error}")),
        }
    }

    fn take_files(&mut self, ctx: &Context) {
        if let Some(path) = self.picked.as_ref().and_then(|(_, receiver)| receiver.try_recv().ok()) {
            self.settings.avatar.file = path.to_string_lossy().into_owned();
        }
        let dropped = ctx.input(|i| i.raw.dropped_files.first().map(|f| f.path().to_owned()));
        if let Some(path) = dropped {
            self.settings.avatar.file = path.to_string_lossy().into_owned();
        }
    }

    fn act(&mut self, actions: Vec<UiAction>) {
        for action in actions {
            match action {
                UiAction::PickAvatar => self.pick_avatar(),
                UiAction::ShowOutput(is_shown) => self.session.with(|s| s.is_output_shown = is_shown),
                UiAction::RefreshDevices => self.session.with(|s| {
                    if let Some(engine) = &s.engine {
                        engine.refresh_devices();
                    }
                }),
            }
        }
    }
}

impl eframe::App for Control {
    fn logic(&mut self, ctx: &Context, _frame: &mut eframe::Frame) {
        self.exchange();
        self.take_files(ctx);
        self.save_when_calm(false);
        if self.exit_at.is_some_and(|at| Instant::now() >= at) {
            ctx.send_viewport_cmd(egui::ViewportCommand::Close);
        }
        let redraw_after = self.redraw_after(ctx);
        ctx.request_repaint_after(redraw_after);
    }

    fn ui(&mut self, ui: &mut egui::Ui, _frame: &mut eframe::Frame) {
        self.renew_preview(ui.ctx());
        let (mut commands, mut actions) = (Vec::new(), Vec::new());
        let preview = self.preview.as_ref().map_or(Preview::default(), |texture| {
            let [width, height] = texture.size();
            Preview { texture: Some(texture.id()), size: vec2(width as f32, height as f32) }
        });
        control_ui(
            ui,
            &mut ControlState {
                settings: &mut self.settings,
                telemetry: &self.telemetry,
                preview,
                is_output_shown: self.session.with(|s| s.is_output_shown),
                notices: &mut self.notices,
                commands: &mut commands,
                actions: &mut actions,
            },
        );
        self.session.with(|s| {
            if let Some(engine) = &s.engine {
                commands.into_iter().for_each(|command| engine.send(command));
            }
        });
        self.act(actions);
    }

    fn clear_color(&self, _: &egui::Visuals) -> [f32; 4] {
        PANEL_COLOR.to_normalized_gamma_f32()
    }

    fn on_exit(&mut self) {
        self.save_when_calm(true);
    }
}
