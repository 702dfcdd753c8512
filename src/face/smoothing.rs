//! Light one-euro smoothing of what was seen: the networks tremble by about a pixel on a resting face.
//!
//! The blendshapes and landmarks stay as the networks give them.

use glam::Vec3;

use crate::signal::OneEuro;
use crate::types::FaceObservation;

/// Cut-off at rest (Hz) and its growth with speed (Hz per unit/s). The units are radians, metres and weights: a head
/// turned at 1 rad/s is smoothed at about 8 Hz, a mouth that opens within 0.1 s at about 30 Hz (5 ms of lag).
const ANGLE: (f32, f32) = (2.0, 6.0);
const POSITION: (f32, f32) = (1.5, 30.0);
const MOUTH: (f32, f32) = (5.0, 2.5);
const LID: (f32, f32) = (6.0, 3.0);
const BROW: (f32, f32) = (3.0, 3.0);
const GAZE: (f32, f32) = (3.0, 8.0);
/// Cut-off of the speed estimates, Hz: the usual 1 Hz notices the start of a movement too late.
const SPEED_CUTOFF_HZ: f32 = 6.0;

/// Filters for one followed face.
#[derive(Debug)]
pub(super) struct Smoothing {
    head: [OneEuro; 3],
    position: [OneEuro; 3],
    mouth: [OneEuro; 4],
    lids: [OneEuro; 2],
    brows: [OneEuro; 2],
    gaze: [OneEuro; 2],
}

impl Default for Smoothing {
    fn default() -> Self {
        Self {
            head: filters(ANGLE),
            position: filters(POSITION),
            mouth: filters(MOUTH),
            lids: filters(LID),
            brows: filters(BROW),
            gaze: filters(GAZE),
        }
    }
}

fn filters<const N: usize>((min_cutoff_hz, beta): (f32, f32)) -> [OneEuro; N] {
    let mut filter = OneEuro::new(min_cutoff_hz, beta);
    filter.speed_cutoff_hz = SPEED_CUTOFF_HZ;
    [filter; N]
}

impl Smoothing {
    /// Smooths an observation made `dt` seconds after the last one.
    pub fn apply(&mut self, observation: &mut FaceObservation, dt: f32) {
        let FaceObservation { head, position, mouth, lids, brows, gaze, .. } = observation;
        let Vec3 { x, y, z } = position;
        step(&mut self.head, [&mut head.yaw, &mut head.pitch, &mut head.roll], dt);
        step(&mut self.position, [x, y, z], dt);
        step(&mut self.mouth, [&mut mouth.open, &mut mouth.width, &mut mouth.round, &mut mouth.smile], dt);
        step(&mut self.lids, [&mut lids.left, &mut lids.right], dt);
        step(&mut self.brows, [&mut brows.left, &mut brows.right], dt);
        step(&mut self.gaze, [&mut gaze.yaw, &mut gaze.pitch], dt);
    }
}

fn step<const N: usize>(filters: &mut [OneEuro; N], values: [&mut f32; N], dt: f32) {
    for (filter, value) in filters.iter_mut().zip(values) {
        *value = filter.step(*value, dt);
    }
}
