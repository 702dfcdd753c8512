//! The avatar's own expressions: slots that fade in and out over the saved base.

use super::{Layer, LayerInput};
use crate::signal::ease_in_out;
use crate::types::AvatarPose;

/// A change waits at most this long for a blink to end (BEHAVIOUR §3).
const MAX_WAIT_SECS: f32 = 0.12;

/// A wish to show an expression to some degree.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ExpressionCommand {
    /// The expression, by `AvatarPose::slots` index.
    pub slot: usize,
    /// Weight to fade to, 0 (gone) to 1.
    pub weight: f32,
    /// How long the fade takes.
    pub fade_secs: f32,
}

impl ExpressionCommand {
    /// The usual fade.
    pub const FADE_SECS: f32 = 0.2;

    /// Fades `slot` in.
    pub fn show(slot: usize) -> Self {
        Self { slot, weight: 1.0, fade_secs: Self::FADE_SECS }
    }

    /// Fades `slot` out.
    pub fn hide(slot: usize) -> Self {
        Self { weight: 0.0, ..Self::show(slot) }
    }
}

/// Writes the slots. The parameters that it finds are the base: the layers before it write them anew in every frame, so
/// whatever an expression does to them in this one pass is gone with the frame and cannot add up.
#[derive(Debug)]
pub(super) struct Expressions {
    fades: Vec<Fade>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Fade {
    from: f32,
    to: f32,
    elapsed_secs: f32,
    fade_secs: f32,
    waiting: Option<Waiting>,
}

#[derive(Clone, Copy, Debug)]
struct Waiting {
    to: f32,
    fade_secs: f32,
    waited_secs: f32,
}

impl Expressions {
    pub fn new(slot_count: usize) -> Self {
        Self { fades: vec![Fade::default(); slot_count] }
    }

    pub fn command(&mut self, command: ExpressionCommand) {
        if !command.weight.is_finite() || !command.fade_secs.is_finite() {
            return;
        }
        if let Some(fade) = self.fades.get_mut(command.slot) {
            let to = command.weight.clamp(0.0, 1.0);
            fade.waiting = Some(Waiting { to, fade_secs: command.fade_secs.max(0.0), waited_secs: 0.0 });
        }
    }

    /// True while a fade runs or waits.
    pub fn is_changing(&self) -> bool {
        self.fades.iter().any(|f| f.waiting.is_some() || f.elapsed_secs < f.fade_secs)
    }
}

impl Layer for Expressions {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        for (fade, slot) in self.fades.iter_mut().zip(&mut pose.slots) {
            fade.step(input.dt, input.is_blinking);
            *slot = fade.value();
        }
    }
}

impl Fade {
    fn step(&mut self, dt: f32, is_blinking: bool) {
        self.elapsed_secs = (self.elapsed_secs + dt).min(self.fade_secs);
        if let Some(waiting) = &mut self.waiting {
            if is_blinking && waiting.waited_secs + dt < MAX_WAIT_SECS {
                waiting.waited_secs += dt;
                return;
            }
            let (to, fade_secs) = (waiting.to, waiting.fade_secs);
            *self = Self { from: self.value(), to, elapsed_secs: 0.0, fade_secs, waiting: None };
        }
    }

    fn value(&self) -> f32 {
        if self.elapsed_secs >= self.fade_secs {
            return self.to;
        }
        self.from + (self.to - self.from) * ease_in_out(self.elapsed_secs / self.fade_secs)
    }
}
