//! The status row: rates, latency, confidence, reasons.

use egui::{Color32, RichText, Sense, Ui, vec2};

use super::sources_panel::mood_color;
use super::{ControlState, theme, words};

pub(super) fn status_ui(ui: &mut Ui, state: &ControlState<'_>) {
    let telemetry = state.telemetry;
    let (video, audio, stage) = (&telemetry.video, &telemetry.audio, &telemetry.stage);
    ui.horizontal_wrapped(|ui| {
        let dim = |text: String| RichText::new(text).color(theme::DIM).size(12.0);
        let source = state.video_source();
        let (mood, text) = words::video_state(video.state, source);
        let device = if video.source.is_empty() { source.title() } else { video.source.as_str() };
        state_dot_ui(ui, mood_color(mood));
        ui.label(RichText::new(format!("{device}: {text}")).color(mood_color(mood)).size(12.0));
        let (mood, text) = words::audio_state(audio.state);
        let device = if audio.source.is_empty() { "microphone" } else { audio.source.as_str() };
        state_dot_ui(ui, mood_color(mood));
        ui.label(RichText::new(format!("{device}: {text}")).color(mood_color(mood)).size(12.0));
        ui.separator();
        if source.is_remote() {
            ui.label(dim(format!("tracker {:.0}/s", video.tracker_fps)));
        } else {
            ui.label(dim(format!("camera {:.0}/s", video.camera_fps)));
            ui.label(dim(format!("tracker {:.0}/s, {:.0} ms", video.tracker_fps, video.tracker_ms.p50)));
        }
        ui.label(dim(format!("sure {:.0} %", video.confidence * 100.0)));
        ui.separator();
        ui.label(dim(format!("output {:.0}/s", stage.fps))).on_hover_text(format!(
            "{} × {}, {}",
            telemetry.picture.size[0], telemetry.picture.size[1], telemetry.picture.adapter
        ));
        ui.label(dim(format!("latency {:.0} ms (95 %: {:.0})", stage.latency_ms.p50, stage.latency_ms.p95)))
            .on_hover_text("From the camera's picture to the first frame that shows it");
    });
}

/// A dot in the colour of a state.
fn state_dot_ui(ui: &mut Ui, color: Color32) {
    let (rect, _) = ui.allocate_exact_size(vec2(9.0, 12.0), Sense::hover());
    ui.painter().circle_filled(rect.center(), 4.0, color);
}
