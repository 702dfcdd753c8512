//! The one-euro filter (Casiez, Roussel and Vogel 2012): heavy smoothing at rest, little lag in motion.

use super::smoothing_share;

/// Smooths one value.
#[derive(Clone, Copy, Debug)]
pub struct OneEuro {
    /// Cut-off at rest, Hz: lower is smoother.
    pub min_cutoff_hz: f32,
    /// How much speed raises the cut-off, Hz per unit/s: higher lags less.
    pub beta: f32,
    /// Cut-off of the speed estimate, Hz.
    pub speed_cutoff_hz: f32,
    /// Speeds well below this count little (unit/s): noise looks slow, and must not open its own filter. 0 is the paper's.
    pub speed_knee: f32,
    state: Option<State>,
}

#[derive(Clone, Copy, Debug)]
struct State {
    value: f32,
    speed: f32,
}

impl OneEuro {
    /// A filter without history.
    pub fn new(min_cutoff_hz: f32, beta: f32) -> Self {
        Self { min_cutoff_hz, beta, speed_cutoff_hz: 1.0, speed_knee: 0.0, state: None }
    }

    /// With this cut-off of the speed estimate (Hz), and speeds well below the knee (unit/s) counting little.
    #[must_use]
    pub fn with_knee(self, speed_cutoff_hz: f32, speed_knee: f32) -> Self {
        Self { speed_cutoff_hz, speed_knee, ..self }
    }

    /// Forgets everything: the next value passes unchanged.
    pub fn reset(&mut self) {
        self.state = None;
    }

    /// The smoothed value `dt` seconds after the last call. NaN input repeats the last value.
    pub fn step(&mut self, value: f32, dt: f32) -> f32 {
        let Some(state) = &mut self.state else {
            let value = if value.is_finite() { value } else { 0.0 };
            self.state = Some(State { value, speed: 0.0 });
            return value;
        };
        if !value.is_finite() || dt <= 0.0 {
            return state.value;
        }
        let speed = (value - state.value) / dt;
        state.speed += (speed - state.speed) * cutoff_share(self.speed_cutoff_hz, dt);
        let speed = state.speed.abs();
        let counted = if speed > 0.0 { speed * speed / (speed + self.speed_knee) } else { 0.0 };
        let cutoff_hz = self.min_cutoff_hz + self.beta * counted;
        state.value += (value - state.value) * cutoff_share(cutoff_hz, dt);
        state.value
    }
}

fn cutoff_share(cutoff_hz: f32, dt: f32) -> f32 {
    smoothing_share(1.0 / (std::f32::consts::TAU * cutoff_hz.max(1e-3)), dt)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_settles_alike_at_any_rate() {
        let settle = |rate: usize| {
            let mut filter = OneEuro::new(1.5, 0.1);
            filter.step(0.0, 0.0);
            (0..rate).fold(0.0, |_, _| filter.step(1.0, 1.0 / rate as f32))
        };
        let reference = settle(144);
        assert!(reference > 0.99);
        for rate in [30, 60] {
            assert!((settle(rate) - reference).abs() < 0.01, "{rate} Hz");
        }
    }

    #[test]
    fn nan_repeats_the_last_value() {
        let mut filter = OneEuro::new(1.0, 0.0);
        filter.step(0.5, 0.01);
        assert_eq!(filter.step(f32::NAN, 0.01), 0.5);
    }
}
