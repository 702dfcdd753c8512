//! The control window's panels. They edit [`Settings`] and push [`Command`]s; they read [`Telemetry`].
//!
//! Never calls a device, never waits. Degrees and per cents live here; radians everywhere else.

mod avatar_panel;
mod coach_panel;
mod lipsync_panel;
mod meter;
mod output_panel;
mod preview;
mod remote_panel;
mod sources_panel;
mod status;
mod theme;
mod words;

use egui::{CentralPanel, Panel, ScrollArea, Ui};

use crate::engine::{Command, Telemetry};
use crate::settings::{Settings, VideoSource};

pub use preview::Preview;
pub use theme::{PANEL_COLOR, apply_theme};

/// What only the app can do for the window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UiAction {
    /// Ask for an avatar file in a dialog of the system.
    PickAvatar,
    /// Show or hide the output window.
    ShowOutput(bool),
    /// Read device lists anew.
    RefreshDevices,
}

/// All the panels work on.
pub struct ControlState<'a> {
    /// Edited in place.
    pub settings: &'a mut Settings,
    /// What the engine tells.
    pub telemetry: &'a Telemetry,
    /// The picture of the avatar.
    pub preview: Preview,
    /// True while the output window is shown.
    pub is_output_shown: bool,
    /// Messages of the app itself (settings that cannot be saved, …).
    pub notices: &'a mut Vec<String>,
    /// Requests to the engine.
    pub commands: &'a mut Vec<Command>,
    /// Requests to the app.
    pub actions: &'a mut Vec<UiAction>,
}

impl ControlState<'_> {
    /// Where the face comes from now: the demo is filmed, whatever the settings say.
    fn video_source(&self) -> VideoSource {
        if self.telemetry.is_demo { VideoSource::Camera } else { self.settings.video.source }
    }
}

/// The whole control window.
pub fn control_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    Panel::bottom("status").show(ui, |ui| status::status_ui(ui, state));
    Panel::right("controls").resizable(false).exact_size(theme::CONTROLS_WIDTH).show(ui, |ui| {
        ScrollArea::vertical().auto_shrink([false, false]).show(ui, |ui| {
            ui.add_space(theme::GAP);
            lipsync_panel::lipsync_ui(ui, state);
            sources_panel::sources_ui(ui, state);
            avatar_panel::avatar_ui(ui, state);
            output_panel::output_ui(ui, state);
            ui.add_space(theme::GAP);
        });
    });
    CentralPanel::default().show(ui, |ui| preview::preview_ui(ui, state));
}
