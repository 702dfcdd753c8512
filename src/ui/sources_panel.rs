//! Camera and microphone: which one, and how it is doing.

use egui::{ComboBox, Slider, Ui};

use super::meter::level_meter_ui;
use super::words::{self, Mood};
use super::{ControlState, UiAction, calibration_panel, remote_panel, theme};
use crate::engine::{Command, Sources};
use crate::settings::Quality;

pub(super) fn sources_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    theme::group_ui(ui, "Camera and microphone", |ui| {
        camera_ui(ui, state);
        ui.add_space(4.0);
        microphone_ui(ui, state);
        ui.add_space(4.0);
        running_ui(ui, state);
        ui.collapsing("Tracking details", |ui| tracking_ui(ui, state));
    });
}

fn camera_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    let source = state.video_source();
    let telemetry = state.telemetry;
    let video = &mut state.settings.video;
    ui.horizontal(|ui| {
        ui.checkbox(&mut video.enabled, "Face from");
        remote_panel::source_picker_ui(ui, &mut video.source);
    });
    if video.source.is_remote() {
        remote_panel::remote_ui(ui, video, &telemetry.video);
    } else {
        picker_ui(ui, "Camera picker", &mut video.camera, "First camera", &telemetry.devices.cameras, state.actions);
    }
    if !telemetry.is_running || !video.enabled {
        theme::message_ui(ui, theme::DIM, "off");
        return;
    }
    let (mood, text) = words::video_state(telemetry.video.state, source);
    state_ui(ui, mood, text, words::video_hints(telemetry.video.hints));
    if source.is_remote()
        && let Some(message) = &telemetry.video.message
    {
        theme::message_ui(ui, theme::DIM, message);
    }
}

fn microphone_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    let telemetry = state.telemetry;
    let audio = &mut state.settings.audio;
    ui.checkbox(&mut audio.enabled, "Microphone");
    let names = &telemetry.devices.microphones;
    picker_ui(ui, "Microphone picker", &mut audio.microphone, "System default", names, state.actions);
    level_meter_ui(ui, telemetry.audio.level_db, audio.gate_db);
    if !telemetry.is_running || !audio.enabled {
        theme::message_ui(ui, theme::DIM, "off");
        return;
    }
    let (mood, text) = words::audio_state(telemetry.audio.state);
    state_ui(ui, mood, text, words::audio_hints(telemetry.audio.hints));
}

fn running_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    ui.horizontal(|ui| {
        let telemetry = state.telemetry;
        if telemetry.is_running {
            if ui.button("Stop").on_hover_text("Close camera and microphone; the avatar idles").clicked() {
                state.commands.push(Command::SetSources(Sources::Stopped));
            }
        } else if ui.button("Start").on_hover_text("Open camera and microphone").clicked() {
            state.commands.push(Command::SetSources(Sources::Devices));
        }
        calibration_panel::neutral_ui(ui, state);
        if !telemetry.is_demo && ui.button("Demo").on_hover_text("Let the drawn presenter drive the avatar").clicked() {
            state.commands.push(Command::SetSources(Sources::Demo));
        }
    });
}

fn tracking_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    calibration_panel::calibration_ui(ui, state);
    quality_ui(ui, state);
    let motion = &mut state.settings.motion;
    ui.add(Slider::new(&mut motion.head_strength, 0.0..=2.0).text("Head turns"));
    ui.add(Slider::new(&mut motion.position_strength, 0.0..=2.0).text("Head moves"));
    ui.add(Slider::new(&mut motion.body_follow, 0.0..=1.0).text("Body follows"));
    ui.add(Slider::new(&mut motion.gaze_strength, 0.0..=2.0).text("Gaze"));
    ui.add(Slider::new(&mut motion.smile_strength, 0.0..=1.0).text("Smile"));
    ui.add(Slider::new(&mut motion.idle_strength, 0.0..=2.0).text("Idle"));
    ui.checkbox(&mut motion.link_eyes, "Both eyes blink together");
    ui.checkbox(&mut motion.saccades, "Small eye movements");
    ui.checkbox(&mut motion.behaviour_blinks, "Blinks at turns and pauses");
    ui.add(Slider::new(&mut state.settings.audio.gain_db, -30.0..=30.0).text("Gain, dB"));
}

fn quality_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    let (in_force, is_overloaded) = (state.telemetry.video.quality, state.telemetry.video.is_overloaded);
    let chosen = &mut state.settings.video.quality;
    let combo = ComboBox::from_id_salt("Tracking quality").truncate().selected_text(words::quality(*chosen));
    ui.horizontal(|ui| {
        let response = combo.show_ui(ui, |ui| {
            for quality in Quality::ALL {
                let (title, help) = (words::quality(quality), words::quality_help(quality));
                ui.selectable_value(chosen, quality, title).on_hover_text(help);
            }
        });
        response.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, "Tracking quality"));
        response.response.on_hover_text("How much of the machine face tracking may take");
        ui.label("Quality");
    });
    if is_overloaded {
        theme::message_ui(ui, theme::WARN, "the computer has too much to do: every second picture is tracked");
    } else if *chosen == Quality::Auto && in_force != Quality::Auto {
        theme::message_ui(ui, theme::DIM, &format!("now: {}", words::quality(in_force)));
    }
}

/// A drop-down of device names; an empty choice means "take what there is".
fn picker_ui(ui: &mut Ui, label: &str, chosen: &mut String, any: &str, names: &[String], actions: &mut Vec<UiAction>) {
    let shown = if chosen.is_empty() { any } else { chosen.as_str() };
    let width = ui.available_width();
    let combo = ComboBox::from_id_salt(label).width(width).truncate().selected_text(shown.to_owned());
    let response = combo.show_ui(ui, |ui| {
        ui.selectable_value(chosen, String::new(), any);
        for name in names {
            ui.selectable_value(chosen, name.clone(), name);
        }
        if !chosen.is_empty() && !names.contains(chosen) {
            let missing = chosen.clone();
            ui.selectable_value(chosen, missing.clone(), format!("{missing} (not connected)"));
        }
    });
    response.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, label));
    if response.response.clicked() {
        actions.push(UiAction::RefreshDevices);
    }
}

fn state_ui(ui: &mut Ui, mood: Mood, text: &str, hints: impl Iterator<Item = &'static str>) {
    let color = mood_color(mood);
    let mut line = text.to_owned();
    for hint in hints {
        line.push_str(" · ");
        line.push_str(hint);
    }
    theme::message_ui(ui, color, &line);
}

pub(super) fn mood_color(mood: Mood) -> egui::Color32 {
    match mood {
        Mood::Good => theme::GOOD,
        Mood::Degraded => theme::WARN,
        Mood::Lost => theme::BAD,
    }
}
