//! Phones and other trackers in place of the camera: which protocol, which port, from whom.

use egui::{ComboBox, DragValue, TextEdit, Ui};

use super::theme;
use crate::engine::VideoTelemetry;
use crate::settings::{VideoSettings, VideoSource};

/// A drop-down of where the face comes from.
pub(super) fn source_picker_ui(ui: &mut Ui, chosen: &mut VideoSource) {
    let width = ui.available_width();
    let combo = ComboBox::from_id_salt("video source").width(width).truncate().selected_text(chosen.title());
    let response = combo.show_ui(ui, |ui| {
        for source in VideoSource::ALL {
            ui.selectable_value(chosen, source, source.title()).on_hover_text(explanation(source));
        }
    });
    response.response.widget_info(|| egui::WidgetInfo::labeled(egui::Role::ComboBox, true, "Face picker"));
}

/// Port, sender and network of a remote source.
pub(super) fn remote_ui(ui: &mut Ui, video: &mut VideoSettings, telemetry: &VideoTelemetry) {
    ui.horizontal(|ui| {
        let label = ui.label("Port");
        let usual = video.source.usual_port();
        let mut port = if video.port == 0 { usual } else { video.port };
        // Typed, not dragged: each new value opens the port anew.
        let field = DragValue::new(&mut port).range(1..=u16::MAX).speed(0.0).update_while_editing(false);
        if ui.add(field).labelled_by(label.id).changed() {
            video.port = if port == usual { 0 } else { port };
        }
        let label = ui.label("Sender");
        sender_ui(ui, &mut video.sender).labelled_by(label.id);
    });
    ui.checkbox(&mut video.network, "The sender is another device").on_hover_text(
        "Listens to the network. Without this only programs on this computer are heard; a firewall may ask.",
    );
    ui.checkbox(&mut video.sender_mirrors, "The sender mirrors")
        .on_hover_text("Turn on if left and right come out swapped.");
    if !telemetry.source.is_empty() {
        theme::message_ui(ui, theme::DIM, &format!("listening: {}", telemetry.source));
    }
}

/// The sender's address; taken over when the field is left, so that half an address is never tried.
fn sender_ui(ui: &mut Ui, sender: &mut String) -> egui::Response {
    let id = ui.make_persistent_id("video sender");
    let mut draft: String = ui.data(|d| d.get_temp(id)).unwrap_or_else(|| sender.clone());
    let response = ui.add(TextEdit::singleline(&mut draft).hint_text("anyone").desired_width(f32::INFINITY));
    if response.lost_focus() {
        draft.trim().clone_into(sender);
        ui.data_mut(|d| d.remove_temp::<String>(id));
    } else if response.has_focus() {
        ui.data_mut(|d| d.insert_temp(id, draft));
    }
    response.on_hover_text("The address that the phone or the other program shows, such as 192.168.1.20")
}

fn explanation(source: VideoSource) -> &'static str {
    match source {
        VideoSource::Camera => "A camera of this computer",
        VideoSource::IFacialMocap => "The app iFacialMocap on a phone, or another one with its protocol",
        VideoSource::VtsPhone => "VTube Studio on a phone, or MeowFace",
        VideoSource::OpenSeeFace => "The OpenSeeFace tracker on this or another computer",
        VideoSource::Vmc => "Any program that sends the VMC protocol",
    }
}
