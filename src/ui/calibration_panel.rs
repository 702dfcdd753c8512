//! Calibration of the face: the neutral pose, and closed eyes, each held for a second.
//!
//! The engine measures the last second all the time; the buttons only say what it was.

use egui::{Button, Id, Ui};

use super::{ControlState, theme};
use crate::engine::VideoTelemetry;
use crate::settings::CalibrationSettings;

/// From the press to the end of the measured second: time to close the eyes, and to keep them closed for a second.
const EYES_CLOSED_SECS: f64 = 2.0;
/// Closed eyes must look at least this much lower than open ones; else they were not closed.
const CLOSED_SHARE: f32 = 0.75;

/// The button beside Start and Stop.
pub(super) fn neutral_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    let video = &state.telemetry.video;
    let help = "Sit as you like to sit, look at the screen for a second with your mouth closed, and press: \
                this is straight ahead, and your face at rest, from now on";
    let button = ui.add_enabled(video.raw_head.is_some(), Button::new("Set neutral pose")).on_hover_text(help);
    if button.clicked() {
        set_neutral(&mut state.settings.calibration, video);
    }
}

/// The rest, in the tracking details.
pub(super) fn calibration_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    let id = Id::unique("eyes closed calibration");
    let now = ui.input(|input| input.time);
    let started_at: Option<f64> = ui.data(|data| data.get_temp(id));
    ui.horizontal(|ui| match started_at {
        Some(started_at) if now - started_at < EYES_CLOSED_SECS => {
            ui.label("Keep your eyes closed for two seconds …");
            ui.ctx().request_repaint_after_secs(0.1);
        }
        Some(_) => {
            ui.data_mut(|data| data.remove::<f64>(id));
            if let Err(problem) = set_eyes_closed(&mut state.settings.calibration, &state.telemetry.video) {
                state.notices.push(problem.to_owned());
            }
        }
        None => {
            let is_ready = state.settings.calibration.lids_open[0] > 0.0 && state.telemetry.video.rest.is_some();
            let help = "First set the neutral pose. Then press, close your eyes, and count to three. \
                        Helps with glasses; without it omote learns from your blinks";
            let button = ui.add_enabled(is_ready, Button::new("Calibrate closed eyes"));
            if button.on_hover_text(help).on_disabled_hover_text(help).clicked() {
                ui.data_mut(|data| data.insert_temp(id, now));
            }
            let is_set = state.settings.calibration != CalibrationSettings::default();
            let forget = ui.add_enabled(is_set, Button::new("Forget"));
            if forget.on_hover_text("Learn this face anew while running").clicked() {
                state.settings.calibration = CalibrationSettings::default();
            }
        }
    });
    if state.settings.calibration.lids_closed[0] > 0.0 {
        theme::message_ui(ui, theme::DIM, "Open and closed eyes are calibrated");
    }
}

/// The last second becomes the neutral pose; without a whole second, this moment's head.
fn set_neutral(calibration: &mut CalibrationSettings, video: &VideoTelemetry) {
    let closed = calibration.lids_closed;
    if let Some(rest) = &video.rest {
        // Eyes that are hardly open are no measure of open eyes.
        *calibration = CalibrationSettings { lids_closed: closed, ..rest.clone() };
    } else if let Some(head) = video.raw_head {
        calibration.neutral_head_deg = [head.yaw, head.pitch, head.roll].map(f32::to_degrees);
        calibration.neutral_position_m = video.raw_position.unwrap_or_default().to_array();
    }
}

fn set_eyes_closed(calibration: &mut CalibrationSettings, video: &VideoTelemetry) -> Result<(), &'static str> {
    let Some(rest) = &video.rest else { return Err("The face was not seen long enough; try again facing the camera") };
    let are_closed = rest.lids_open.iter().zip(&calibration.lids_open).all(|(now, open)| *now < CLOSED_SHARE * open);
    if !are_closed {
        return Err("The eyes were not seen closed; press, close them, and wait for two seconds");
    }
    calibration.lids_closed = rest.lids_open;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::HeadPose;

    fn video(aspect: f32) -> VideoTelemetry {
        let rest = CalibrationSettings {
            neutral_head_deg: [1.0, 2.0, 3.0],
            lids_open: [aspect; 2],
            shapes_rest: vec![0.1; 52],
            ..CalibrationSettings::default()
        };
        VideoTelemetry { rest: Some(rest), raw_head: Some(HeadPose::default()), ..VideoTelemetry::default() }
    }

    #[test]
    fn neutral_then_closed_keeps_both() {
        let mut calibration = CalibrationSettings::default();
        set_neutral(&mut calibration, &video(0.32));
        assert_eq!(set_eyes_closed(&mut calibration, &video(0.18)), Ok(()));
        assert_eq!((calibration.lids_open, calibration.lids_closed), ([0.32; 2], [0.18; 2]));
        set_neutral(&mut calibration, &video(0.30));
        assert_eq!((calibration.lids_open, calibration.lids_closed), ([0.30; 2], [0.18; 2]), "closed eyes stay known");
        assert_eq!(calibration.neutral_head_deg, [1.0, 2.0, 3.0]);
    }

    #[test]
    fn open_eyes_and_no_face_are_refused() {
        let mut calibration = CalibrationSettings { lids_open: [0.3; 2], ..CalibrationSettings::default() };
        assert!(set_eyes_closed(&mut calibration, &video(0.29)).is_err());
        assert!(set_eyes_closed(&mut calibration, &VideoTelemetry::default()).is_err());
        assert_eq!(calibration.lids_closed, [0.0; 2]);
    }
}
