//! The level meter.

use egui::{Rect, Response, Role, Sense, Ui, WidgetInfo, pos2, vec2};

use super::theme;

/// What the left end of the meter stands for, dB of full scale.
const FLOOR_DB: f32 = -60.0;

/// A bar for a level in dB of full scale, with a mark at the gate.
pub(super) fn level_meter_ui(ui: &mut Ui, level_db: f32, gate_db: f32) -> Response {
    let (rect, response) = ui.allocate_exact_size(vec2(ui.available_width(), 10.0), Sense::hover());
    let share = |db: f32| ((db - FLOOR_DB) / -FLOOR_DB).clamp(0.0, 1.0);
    let painter = ui.painter();
    painter.rect_filled(rect, 3.0, ui.visuals().extreme_bg_color);
    let color = match level_db {
        db if db > -3.0 => theme::BAD,
        db if db > -9.0 => theme::WARN,
        _ => theme::GOOD,
    };
    let filled = Rect::from_min_size(rect.min, vec2(rect.width() * share(level_db), rect.height()));
    painter.rect_filled(filled, 3.0, color);
    let gate = rect.left() + rect.width() * share(gate_db);
    painter.line_segment([pos2(gate, rect.top()), pos2(gate, rect.bottom())], (1.0, theme::DIM));
    response.widget_info(|| WidgetInfo::labeled(Role::ProgressIndicator, true, "Microphone level"));
    response.on_hover_text(format!("{level_db:.0} dB of full scale; the mark is the gate"))
}
