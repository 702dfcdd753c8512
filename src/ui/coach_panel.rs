//! Leads the user through the five vowels, and keeps what was heard.

use std::time::Duration;

use egui::{ProgressBar, RichText, Ui};

use super::{ControlState, theme};
use crate::engine::Command;
use crate::types::Vowel;
use crate::voice::Coaching;

/// Often enough for a bar that fills while one speaks.
const REDRAW_EVERY: Duration = Duration::from_millis(80);

pub(super) fn coach_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    let telemetry = &state.telemetry.audio;
    match &telemetry.coaching {
        None => {
            let is_calibrated = !state.settings.audio.voice_calibration.is_empty();
            ui.label(if is_calibrated { "Your vowels are known" } else { "Vowels: as most people say them" });
            ui.horizontal(|ui| {
                let help = "Say ah, ee, oo, eh and oh for a second each. Helps voices that are sung, whispered, very \
                            high or very low; most voices need it not.";
                let can_begin = !telemetry.source.is_empty() && !state.telemetry.is_demo;
                if ui.add_enabled(can_begin, egui::Button::new("Learn my vowels")).on_hover_text(help).clicked() {
                    state.commands.push(Command::CoachVowels(true));
                }
                if is_calibrated && ui.button("Forget").on_hover_text("Hear vowels as most people say them").clicked() {
                    state.settings.audio.voice_calibration.clear();
                }
            });
        }
        Some(Coaching::Done(calibration)) if !calibration.is_useful() => {
            theme::message_ui(ui, theme::GOOD, "Your vowels are heard well already: there is nothing to learn.");
            end_ui(ui, state, "All right");
        }
        Some(Coaching::Done(calibration)) => {
            state.settings.audio.voice_calibration = calibration.to_numbers();
            state.commands.push(Command::CoachVowels(false));
        }
        Some(Coaching::Failed(error)) => {
            theme::message_ui(ui, theme::WARN, &format!("That did not work: {error}."));
            end_ui(ui, state, "All right");
        }
        Some(Coaching::Hold { vowel, share }) => {
            ui.label(RichText::new(format!("Hold {}", spelling(*vowel))).size(18.0).color(theme::ACCENT));
            ui.add(ProgressBar::new(*share));
            step_ui(ui, state);
        }
        Some(Coaching::Pause { next }) => {
            ui.label(RichText::new(format!("Good. Pause, then {}", spelling(*next))).size(18.0));
            ui.add(ProgressBar::new(1.0));
            step_ui(ui, state);
        }
    }
}

fn end_ui(ui: &mut Ui, state: &mut ControlState<'_>, label: &str) {
    if ui.button(label).clicked() {
        state.commands.push(Command::CoachVowels(false));
    }
}

fn step_ui(ui: &mut Ui, state: &mut ControlState<'_>) {
    end_ui(ui, state, "Cancel");
    ui.ctx().request_repaint_after(REDRAW_EVERY);
}

fn spelling(vowel: Vowel) -> &'static str {
    match vowel {
        Vowel::Aa => "“ah” as in father",
        Vowel::Ih => "“ee” as in see",
        Vowel::Ou => "“oo” as in moon",
        Vowel::Ee => "“eh” as in bed",
        Vowel::Oh => "“oh” as in more",
    }
}
