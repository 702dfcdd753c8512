//! Light one-euro smoothing of what was seen: the networks tremble by about a pixel on a resting face.
//!
//! The blendshapes and landmarks stay as the networks give them.

use glam::Vec3;

use crate::signal::OneEuro;
use crate::types::FaceObservation;

/// How one kind of value is smoothed. The units are radians, metres and weights.
///
/// Found by a search over recordings of six people and the drawn presenter: the least trembling at rest (0.9 times that
/// of MediaPipe's video mode) among those that show a head turning to and fro every two seconds 4–8 ms late (MediaPipe:
/// 13 ms). The knee does most of it: a plain one-euro filter as calm as this lags twice as much.
#[derive(Clone, Copy)]
struct Pace {
    /// Cut-off at rest, Hz.
    rest_hz: f32,
    /// Its growth with speed, Hz per unit/s.
    beta: f32,
    /// Cut-off of the speed estimate, Hz.
    speed_hz: f32,
    /// Slower than this is trembling, unit/s.
    knee: f32,
}

const ANGLE: Pace = Pace { rest_hz: 0.2, beta: 40.0, speed_hz: 3.0, knee: 0.6 };
/// A head at half a metre that turns by 1 rad/s moves by about 0.1 m/s.
const POSITION: Pace = Pace { rest_hz: 0.2, beta: 300.0, speed_hz: 3.0, knee: 0.08 };
/// Speech opens and closes the lips at 1 to 8 a second, and lips that come late are worse than lips that tremble.
const MOUTH: Pace = Pace { rest_hz: 2.0, beta: 4.5, speed_hz: 8.0, knee: 1.5 };
const SMILE: Pace = Pace { rest_hz: 0.3, beta: 4.5, speed_hz: 8.0, knee: 3.6 };
const LID: Pace = Pace { rest_hz: 0.8, beta: 4.5, speed_hz: 8.0, knee: 3.6 };
const BROW: Pace = Pace { rest_hz: 0.5, beta: 6.0, speed_hz: 6.0, knee: 2.0 };
const GAZE: Pace = Pace { rest_hz: 0.6, beta: 30.0, speed_hz: 6.0, knee: 0.8 };

/// Filters for one followed face.
#[derive(Debug)]
pub(super) struct Smoothing {
    head: [OneEuro; 3],
    position: [OneEuro; 3],
    mouth: [OneEuro; 3],
    smile: [OneEuro; 1],
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
            smile: filters(SMILE),
            lids: filters(LID),
            brows: filters(BROW),
            gaze: filters(GAZE),
        }
    }
}

fn filters<const N: usize>(pace: Pace) -> [OneEuro; N] {
    [OneEuro::new(pace.rest_hz, pace.beta).with_knee(pace.speed_hz, pace.knee); N]
}

impl Smoothing {
    /// Smooths an observation made `dt` seconds after the last one.
    pub fn apply(&mut self, observation: &mut FaceObservation, dt: f32) {
        let FaceObservation { head, position, mouth, lids, brows, gaze, .. } = observation;
        let Vec3 { x, y, z } = position;
        step(&mut self.head, [&mut head.yaw, &mut head.pitch, &mut head.roll], dt);
        step(&mut self.position, [x, y, z], dt);
        step(&mut self.mouth, [&mut mouth.open, &mut mouth.width, &mut mouth.round], dt);
        step(&mut self.smile, [&mut mouth.smile], dt);
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
