//! Colours and distances of the control window.

use egui::{Color32, Context, CornerRadius, Frame, Margin, RichText, Stroke, Ui, Visuals};

/// Width of the column of controls, points.
pub(super) const CONTROLS_WIDTH: f32 = 330.0;

/// Distance between groups, points.
pub(super) const GAP: f32 = 8.0;

/// The colour of what is chosen: the vermilion of a lacquered mask.
pub(super) const ACCENT: Color32 = Color32::from_rgb(214, 72, 58);
/// All is well.
pub(super) const GOOD: Color32 = Color32::from_rgb(108, 190, 120);
/// Degraded.
pub(super) const WARN: Color32 = Color32::from_rgb(232, 178, 72);
/// Lost.
pub(super) const BAD: Color32 = Color32::from_rgb(232, 96, 84);
/// What lies behind everything. The window is cleared with it: no panel has to be filled.
pub const PANEL_COLOR: Color32 = Color32::from_rgb(28, 28, 33);
/// Side remarks.
pub(super) const DIM: Color32 = Color32::from_rgb(150, 150, 160);

/// Gives a window omote's look.
pub fn apply_theme(ctx: &Context) {
    let mut visuals = Visuals::dark();
    visuals.panel_fill = Color32::TRANSPARENT;
    visuals.window_fill = PANEL_COLOR;
    visuals.extreme_bg_color = Color32::from_rgb(18, 18, 22);
    visuals.faint_bg_color = Color32::from_rgb(36, 36, 42);
    visuals.selection.bg_fill = ACCENT;
    visuals.selection.stroke = Stroke::new(1.0, Color32::WHITE);
    visuals.hyperlink_color = Color32::from_rgb(240, 140, 120);
    let radius = CornerRadius::same(6);
    for widget in [
        &mut visuals.widgets.noninteractive,
        &mut visuals.widgets.inactive,
        &mut visuals.widgets.hovered,
        &mut visuals.widgets.active,
        &mut visuals.widgets.open,
    ] {
        widget.corner_radius = radius;
    }
    visuals.widgets.noninteractive.fg_stroke.color = Color32::from_rgb(206, 206, 212);
    visuals.widgets.inactive.fg_stroke.color = Color32::from_rgb(220, 220, 226);
    ctx.set_visuals(visuals);
    // Names of devices and avatars come in all scripts: a character no font has is a box, never a failure.
    ctx.set_missing_glyph_policy(egui::epaint::text::MissingGlyphPolicy::Tofu);
    ctx.all_styles_mut(|style| {
        style.spacing.item_spacing = egui::vec2(8.0, 6.0);
        style.spacing.button_padding = egui::vec2(10.0, 5.0);
        style.spacing.slider_width = 96.0;
    });
}

/// A titled group of controls.
pub(super) fn group_ui<R>(ui: &mut Ui, title: &str, contents: impl FnOnce(&mut Ui) -> R) -> R {
    let frame = Frame::new()
        .fill(ui.visuals().faint_bg_color)
        .corner_radius(CornerRadius::same(8))
        .inner_margin(Margin::same(10))
        .outer_margin(Margin { bottom: GAP as i8, ..Margin::ZERO });
    let response = frame.show(ui, |ui| {
        ui.set_width(ui.available_width());
        ui.label(RichText::new(title).strong().size(15.0));
        contents(ui)
    });
    response.inner
}

/// A message with what to do, in its colour.
pub(super) fn message_ui(ui: &mut Ui, color: Color32, text: &str) {
    ui.add(egui::Label::new(RichText::new(text).color(color).size(12.5)).wrap());
}
