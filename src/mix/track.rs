//! Movement between two camera frames: values that glide to the newest observation.
//!
//! Interpolating between the last two observations is smooth and a whole camera frame late; following the newest one
//! exponentially moves in the camera's rhythm instead of the display's; extrapolating alone overshoots with the noise.
//! So a [`Track`] glides in a straight line and arrives when the next observation is due, and what needs to be early
//! (the head) is aimed half a frame ahead by its caller. A steady movement is shown at a steady speed, half a camera
//! frame late.

use crate::signal::smoothstep;

/// `N` numbers on their way to the newest observation.
#[derive(Clone, Copy, Debug)]
pub(super) struct Track<const N: usize> {
    from: [f32; N],
    to: [f32; N],
    elapsed_secs: f32,
    glide_secs: f32,
    /// How far beyond the goal the glide goes on while the next one is late: 1 stops there, 1.25 a quarter farther.
    coast: f32,
    /// What is still shown of the place before a gap.
    bridge: [f32; N],
    bridge_elapsed_secs: f32,
    bridge_secs: f32,
}

impl<const N: usize> Track<N> {
    /// At rest at `value`.
    pub fn new(value: [f32; N]) -> Self {
        Self {
            from: value,
            to: value,
            elapsed_secs: 0.0,
            glide_secs: 0.0,
            coast: 1.0,
            bridge: [0.0; N],
            bridge_elapsed_secs: 0.0,
            bridge_secs: 0.0,
        }
    }

    /// The same, which coasts on to `coast` times the way while the next goal is late.
    pub fn coasting(self, coast: f32) -> Self {
        Self { coast, ..self }
    }

    /// Sets out for `to`, to arrive in `glide_secs`.
    pub fn aim(&mut self, to: [f32; N], glide_secs: f32) {
        self.from = self.glided();
        self.to = to;
        self.elapsed_secs = 0.0;
        self.glide_secs = glide_secs;
    }

    /// Continues at `to` after a gap: what is shown moves there within `bridge_secs`, on top of all later movement.
    pub fn rejoin(&mut self, to: [f32; N], bridge_secs: f32) {
        let shown = self.value();
        *self = Self::new(to).coasting(self.coast);
        self.bridge = std::array::from_fn(|i| shown[i] - to[i]);
        self.bridge_secs = bridge_secs;
    }

    /// Lets time pass.
    pub fn step(&mut self, dt: f32) {
        self.elapsed_secs += dt;
        self.bridge_elapsed_secs += dt;
    }

    /// What is shown now.
    pub fn value(&self) -> [f32; N] {
        let mut value = self.glided();
        let left = 1.0 - share(self.bridge_elapsed_secs, self.bridge_secs).min(1.0);
        if left > 0.0 {
            let left = smoothstep(left);
            for (value, bridge) in value.iter_mut().zip(self.bridge) {
                *value += bridge * left;
            }
        }
        value
    }

    fn glided(&self) -> [f32; N] {
        let share = share(self.elapsed_secs, self.glide_secs).min(self.coast);
        std::array::from_fn(|i| self.from[i] + (self.to[i] - self.from[i]) * share)
    }
}

fn share(elapsed: f32, whole: f32) -> f32 {
    if whole > 0.0 { (elapsed / whole).max(0.0) } else { 1.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_movement_is_shown_at_a_steady_speed() {
        let mut track = Track::new([0.0]);
        let mut last = 0.0;
        for frame in 0..30 {
            track.aim([frame as f32], 1.0 / 30.0);
            for _ in 0..2 {
                track.step(1.0 / 60.0);
                let value = track.value()[0];
                assert!(frame == 0 || (value - last - 0.5).abs() < 1e-3, "{frame}: {last} to {value}");
                last = value;
            }
        }
    }

    #[test]
    fn rejoining_does_not_jump() {
        let mut track = Track::new([1.0]);
        track.rejoin([-1.0], 0.25);
        let mut last = track.value()[0];
        assert_eq!(last, 1.0);
        for _ in 0..60 {
            track.step(1.0 / 60.0);
            let value = track.value()[0];
            assert!((last - value) <= 0.21 && value <= last);
            last = value;
        }
        assert_eq!(last, -1.0);
    }
}
