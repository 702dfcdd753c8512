//! Slow aimless movement: a few sines whose rates have no common period.

use std::f32::consts::TAU;

use crate::signal::Rng;

const SINES: usize = 3;
const WEIGHTS: [f32; SINES] = [0.5, 0.3, 0.2];
/// Rates relative to the first: 1, the golden ratio, 1 + √2.
const RATES: [f32; SINES] = [1.0, 1.618, 2.414];

/// A number that wanders in -1..1.
#[derive(Clone, Debug)]
pub(super) struct Wander {
    phases: [f32; SINES],
    hz: f32,
}

impl Wander {
    /// Wanders at about `hz`, from a random place.
    pub fn new(hz: f32, rng: &mut Rng) -> Self {
        Self { phases: std::array::from_fn(|_| rng.range(0.0, TAU)), hz: hz * rng.range(0.9, 1.1) }
    }

    /// The value `dt` seconds later.
    pub fn step(&mut self, dt: f32) -> f32 {
        let mut value = 0.0;
        for ((phase, rate), weight) in self.phases.iter_mut().zip(RATES).zip(WEIGHTS) {
            *phase = (*phase + TAU * self.hz * rate * dt) % TAU;
            value += weight * phase.sin();
        }
        value
    }
}
