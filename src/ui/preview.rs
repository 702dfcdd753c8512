//! The big picture of the avatar, and what to say when there is nothing to move it.

use egui::{Align2, Color32, CornerRadius, FontId, Frame, Image, Margin, TextureId, Ui, Vec2};

use super::{ControlState, theme};
use crate::engine::{Command, Sources};

/// The avatar's picture as the window holds it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Preview {
    /// The texture; `None` before the first picture.
    pub texture: Option<TextureId>,
    /// Its size, pixels.
    pub size: Vec2,
}

pub(super) fn preview_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    messages_ui(ui, state);
    let area = ui.available_rect_before_wrap();
    ui.painter().rect_filled(area, 8.0, ui.visuals().extreme_bg_color);
    match state.preview.texture {
        Some(texture) if state.preview.size.x > 0.0 && state.preview.size.y > 0.0 => {
            let scale = (area.width() / state.preview.size.x).min(area.height() / state.preview.size.y);
            let rect = egui::Rect::from_center_size(area.center(), state.preview.size * scale);
            Image::new((texture, rect.size())).alt_text("Avatar").paint_at(ui, rect);
        }
        _ => {
            let text = if state.telemetry.picture.message.is_some() { "No picture" } else { "Starting…" };
            ui.painter().text(area.center(), Align2::CENTER_CENTER, text, FontId::proportional(18.0), theme::DIM);
        }
    }
    ui.advance_cursor_after_rect(area);
}

/// Above the picture: what is wrong, and the way out.
fn messages_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    let telemetry = state.telemetry;
    let mut dismissed = None;
    for (i, notice) in state.notices.iter().enumerate() {
        banner_ui(ui, theme::WARN, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label(notice);
                if ui.small_button("Dismiss").clicked() {
                    dismissed = Some(i);
                }
            });
        });
    }
    if let Some(i) = dismissed {
        state.notices.remove(i);
    }
    if let Some(message) = &telemetry.picture.message {
        banner_ui(ui, theme::WARN, |ui| ui.label(message));
    }
    let video_lost = telemetry.video.source.is_empty() && state.settings.video.enabled;
    let audio_lost = telemetry.audio.source.is_empty() && state.settings.audio.enabled;
    if telemetry.is_demo {
        banner_ui(ui, theme::ACCENT, |ui| {
            ui.horizontal_wrapped(|ui| {
                ui.label("The demo's presenter moves the avatar.");
                if ui.button("End the demo").clicked() {
                    state.commands.push(Command::SetSources(Sources::Devices));
                }
            });
        });
    } else if telemetry.is_running && (video_lost || audio_lost) {
        banner_ui(ui, theme::BAD, |ui| {
            let face = state.video_source();
            let missing = match (video_lost, audio_lost) {
                (true, _) if face.is_remote() => format!("{} cannot be listened to yet.", face.title()),
                (true, true) => "No camera and no microphone yet: plug one in, it is taken when it appears.".into(),
                (true, false) => "No camera yet: plug one in, it is taken when it appears.".into(),
                (false, _) => "No microphone yet: plug one in, it is taken when it appears.".to_owned(),
            };
            ui.label(missing);
            let details = [(video_lost, &telemetry.video.message), (audio_lost, &telemetry.audio.message)];
            for message in details.into_iter().filter_map(|(lost, m)| m.as_ref().filter(|_| lost)) {
                theme::message_ui(ui, theme::DIM, message);
            }
            ui.horizontal_wrapped(|ui| {
                if ui.button("Try again").clicked() {
                    state.commands.push(Command::Retry);
                }
                if ui.button("Play the demo").clicked() {
                    state.commands.push(Command::SetSources(Sources::Demo));
                }
            });
        });
    }
}

fn banner_ui<R>(ui: &mut Ui, color: Color32, contents: impl FnOnce(&mut Ui) -> R) -> R {
    let frame = Frame::new()
        .fill(color.gamma_multiply(0.18))
        .stroke((1.0, color.gamma_multiply(0.7)))
        .corner_radius(CornerRadius::same(6))
        .inner_margin(Margin::same(8))
        .outer_margin(Margin { bottom: 6, ..Margin::ZERO });
    frame
        .show(ui, |ui| {
            ui.set_width(ui.available_width());
            contents(ui)
        })
        .inner
}
