//! Audio, video or mix: the switch streamers reach for when a microphone dies.

use egui::{Button, RichText, Slider, Ui, vec2};

use super::{ControlState, coach_panel, theme};
use crate::settings::{LipsyncMode, LipsyncSettings, MixStyle, VideoMouthStyle};
use crate::types::Alignment;

pub(super) fn lipsync_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    theme::group_ui(ui, "Lip-sync", |ui| {
        let lipsync = &mut state.settings.lipsync;
        ui.horizontal(|ui| {
            let gaps = ui.spacing().item_spacing.x * (LipsyncMode::ALL.len() - 1) as f32;
            let width = (ui.available_width() - gaps) / LipsyncMode::ALL.len() as f32;
            for mode in LipsyncMode::ALL {
                let (label, help) = match mode {
                    LipsyncMode::Audio => ("Audio", "The microphone moves the mouth"),
                    LipsyncMode::Video => ("Video", "The camera moves the mouth"),
                    LipsyncMode::Mix => ("Mix", "Both: if one is lost, the other goes on"),
                };
                let button = Button::new(RichText::new(label).size(15.0)).selected(lipsync.mode == mode);
                if ui.add_sized(vec2(width, 32.0), button).on_hover_text(help).clicked() {
                    lipsync.mode = mode;
                }
            }
        });
        share_ui(ui, state);
        let alignment = state.telemetry.stage.alignment;
        ui.collapsing("Lip-sync details", |ui| {
            let gate_db = &mut state.settings.audio.gate_db;
            let lipsync = &mut state.settings.lipsync;
            ui.add(Slider::new(&mut lipsync.sensitivity, 0.2..=3.0).text("Sensitivity"));
            ui.add(Slider::new(gate_db, -90.0..=-10.0).text("Noise gate, dB"))
                .on_hover_text("Sound below this is silence");
            ui.add(Slider::new(&mut lipsync.smoothing, 0.0..=1.0).text("Smoothing"));
            offset_ui(ui, lipsync, alignment);
            ui.horizontal(|ui| {
                ui.label("Video style");
                ui.selectable_value(&mut lipsync.video_style, VideoMouthStyle::Smooth, "Smooth");
                ui.selectable_value(&mut lipsync.video_style, VideoMouthStyle::Snap, "Snap");
            });
            ui.horizontal(|ui| {
                ui.label("Mix");
                ui.selectable_value(&mut lipsync.mix_style, MixStyle::Opening, "Opening");
                ui.selectable_value(&mut lipsync.mix_style, MixStyle::PerViseme, "Per viseme");
            });
            ui.checkbox(&mut lipsync.camera_veto, "A mouth seen closed stays closed");
            coach_panel::coach_ui(ui, state);
        });
    });
}

/// Sound and picture in time: measured and corrected, or set by hand.
fn offset_ui(ui: &mut Ui, lipsync: &mut LipsyncSettings, alignment: Alignment) {
    let mut offset_ms = lipsync.offset_secs * 1000.0;
    let slider = Slider::new(&mut offset_ms, -250.0..=250.0).text("Sound later, ms").fixed_decimals(0);
    if ui.add(slider).on_hover_text("0 leaves it to the measurement; the earlier one waits, by at most 60 ms").changed()
    {
        lipsync.offset_secs = offset_ms / 1000.0;
    }
    ui.checkbox(&mut lipsync.auto_offset, "Align sound and picture as measured");
    let measured = match alignment.measured_secs {
        Some(secs) => format!("picture {:+.0} ms behind the sound", secs * 1e3),
        None => "picture and sound not compared yet: talk for ten seconds".into(),
    };
    let text = format!("{measured} · {:+.0} ms applied", alignment.applied_secs * 1e3);
    ui.label(RichText::new(text).color(theme::DIM).size(12.0));
}

/// Where the mouth comes from right now.
fn share_ui(ui: &mut Ui, state: &ControlState<'_>) {
    let mouth = &state.telemetry.stage.mouth;
    let text = format!("mouth {:>3.0} % open · {:>3.0} % from sound", mouth.open * 100.0, mouth.audio_share * 100.0);
    ui.label(RichText::new(text).color(theme::DIM).monospace().size(12.0));
}
