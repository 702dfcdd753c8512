//! The avatar: which file, how it is framed, its expressions.

use egui::{Slider, Ui};

use super::{ControlState, UiAction, theme};
use crate::engine::Command;
use crate::settings::Framing;

pub(super) fn avatar_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    theme::group_ui(ui, "Avatar", |ui| {
        let telemetry = &state.telemetry.avatar;
        ui.horizontal(|ui| {
            if ui.button("Open…").on_hover_text("A VRM or glTF file; or drop one on this window").clicked() {
                state.actions.push(UiAction::PickAvatar);
            }
            let is_bundled = state.settings.avatar.file.is_empty();
            if ui.add_enabled(!is_bundled, egui::Button::new("Bundled")).clicked() {
                state.settings.avatar.file.clear();
            }
            if telemetry.is_loading {
                ui.spinner();
            }
            ui.add(egui::Label::new(&telemetry.name).truncate());
        });
        if let Some(message) = &telemetry.message {
            theme::message_ui(ui, theme::BAD, message);
        }
        ui.horizontal(|ui| {
            let view = &mut state.settings.view;
            for (framing, label) in [(Framing::Head, "Head"), (Framing::Bust, "Bust"), (Framing::Full, "Full")] {
                ui.selectable_value(&mut view.framing, framing, label);
            }
            ui.separator();
            ui.checkbox(&mut view.mirror, "Mirror").on_hover_text("The avatar moves like your mirror image");
        });
        expressions_ui(ui, state);
        ui.collapsing("Avatar details", |ui| {
            ui.add(Slider::new(&mut state.settings.avatar.correction_strength, 0.0..=1.5).text("Angle correction"));
            ui.checkbox(&mut state.settings.avatar.outline, "Outlines");
            for warning in &state.telemetry.avatar.warnings {
                theme::message_ui(ui, theme::WARN, warning);
            }
        });
    });
}

/// Buttons that show an emotion while they are held down.
fn expressions_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    const EMOTIONS: [&str; 5] = ["happy", "angry", "sad", "relaxed", "surprised"];
    let names = &state.telemetry.avatar.expressions;
    let emotions = names.iter().enumerate().filter(|(_, name)| EMOTIONS.contains(&name.as_str()));
    ui.horizontal_wrapped(|ui| {
        for (index, name) in emotions {
            let button = ui.button(name.as_str()).on_hover_text("Shown while you hold the button");
            let id = button.id.with("held");
            let is_held = button.is_pointer_button_down_on();
            let was_held = ui.data(|data| data.get_temp::<bool>(id)).unwrap_or(false);
            if is_held != was_held {
                ui.data_mut(|data| data.insert_temp(id, is_held));
                let weight = if is_held { 1.0 } else { 0.0 };
                state.commands.push(Command::SetExpression { index, weight });
            }
        }
    });
}
