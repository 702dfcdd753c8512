//! The output window: background, rate, and what OBS needs to know.

use egui::{Color32, ComboBox, Ui};

use super::{ControlState, UiAction, theme};
use crate::engine::Transparency;
use crate::settings::Background;

pub(super) fn output_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    theme::group_ui(ui, "Output for OBS", |ui| {
        let mut is_shown = state.is_output_shown;
        if ui
            .checkbox(&mut is_shown, "Output window")
            .on_hover_text("Capture the window “omote output” in OBS")
            .changed()
        {
            state.actions.push(UiAction::ShowOutput(is_shown));
        }
        let output = &mut state.settings.output;
        ui.horizontal(|ui| {
            ui.label("Background");
            let mut is_transparent = output.background == Background::Transparent;
            if ui.selectable_label(is_transparent, "Transparent").clicked() {
                is_transparent = true;
                output.background = Background::Transparent;
            }
            if ui.selectable_label(!is_transparent, "Colour").clicked() && is_transparent {
                output.background = Background::CHROMA_GREEN;
            }
            if let Background::Color(rgb) = &mut output.background {
                let mut color = Color32::from_rgb(rgb[0], rgb[1], rgb[2]);
                if ui.color_edit_button_srgba(&mut color).changed() {
                    *rgb = [color.r(), color.g(), color.b()];
                }
            }
        });
        if state.telemetry.picture.transparency == Transparency::Unavailable {
            theme::message_ui(
                ui,
                theme::WARN,
                "This system shows no transparent windows: the output is filled with a chroma colour. Add a Chroma \
                 Key filter to the capture in OBS.",
            );
        }
        ui.horizontal(|ui| {
            ui.label("Frames a second");
            for fps in [30, 60, 120] {
                ui.selectable_value(&mut output.fps, fps, fps.to_string());
            }
        });
        ui.horizontal(|ui| {
            ui.label("Edges");
            ComboBox::from_id_salt("Edge smoothing")
                .selected_text(if output.msaa > 1 { "smooth (4×)" } else { "fast" })
                .show_ui(ui, |ui| {
                    ui.selectable_value(&mut output.msaa, 4, "smooth (4×)");
                    ui.selectable_value(&mut output.msaa, 1, "fast");
                })
                .response
                .widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, "Edge smoothing"));
        });
    });
}
