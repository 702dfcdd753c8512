//! A face held still for a second, measured: what the calibration buttons store.
//!
//! [`RestMeter`] averages the last second of observations all the time, so that a press of a button finds the second
//! just past. Which pose that was – neutral, or eyes closed – only the person knows.

use glam::Vec3;

use crate::settings::CalibrationSettings;
use crate::types::{ARKIT_COUNT, FaceObservation, Timestamp};

use super::features::{eye_aspects, iris_sight};

/// How long a pose is averaged.
const WINDOW_SECS: f64 = 1.0;
/// So many observations at least, and the window's larger part, must be there.
const MIN_COUNT: usize = 6;
const MIN_SPAN_SECS: f64 = 0.7;
const MAX_COUNT: usize = 256;

/// What is kept of one observation.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Timestamp,
    head_rad: [f32; 3],
    position_m: Vec3,
    aspects: [f32; 2],
    gaze: [f32; 2],
    shapes: [f32; ARKIT_COUNT],
}

/// Averages the last second of a face.
#[derive(Clone, Debug, Default)]
pub struct RestMeter {
    samples: std::collections::VecDeque<Sample>,
}

impl RestMeter {
    /// Takes an observation of a face; one without landmarks (from another tracker) gives head and shapes only.
    pub fn add(&mut self, seen: &FaceObservation, at: Timestamp) {
        if self.samples.back().is_some_and(|last| at < last.at) {
            self.samples.clear();
        }
        let sample = Sample {
            at,
            head_rad: [seen.head.yaw, seen.head.pitch, seen.head.roll],
            position_m: seen.position,
            aspects: eye_aspects(seen),
            gaze: iris_sight(seen).map_or([0.0; 2], |sight| sight.rest()),
            shapes: seen.blendshapes,
        };
        let numbers = sample.head_rad.iter().chain(&sample.aspects).chain(&sample.gaze).chain(&sample.shapes);
        if !(numbers.copied().all(f32::is_finite) && sample.position_m.is_finite()) {
            return;
        }
        self.samples.push_back(sample);
        let is_old = |sample: &Sample| at.secs_after(sample.at) > WINDOW_SECS;
        while self.samples.len() > MAX_COUNT || self.samples.front().is_some_and(is_old) {
            self.samples.pop_front();
        }
    }

    /// Forgets everything: the face is lost.
    pub fn clear(&mut self) {
        self.samples.clear();
    }

    /// The pose of the last second as a neutral one; `None` until a second was seen. `lids_closed` stays unset.
    pub fn rest(&self) -> Option<CalibrationSettings> {
        let (first, last) = (self.samples.front()?, self.samples.back()?);
        if self.samples.len() < MIN_COUNT || last.at.secs_after(first.at) < MIN_SPAN_SECS {
            return None;
        }
        let mean = |value: &dyn Fn(&Sample) -> f32| {
            let sum: f64 = self.samples.iter().map(|sample| f64::from(value(sample))).sum();
            // Thousandths are finer than any of it is known, and keep the file readable.
            ((sum / self.samples.len() as f64 * 1000.0).round() / 1000.0) as f32
        };
        Some(CalibrationSettings {
            neutral_head_deg: [0, 1, 2].map(|i| mean(&|s: &Sample| s.head_rad[i].to_degrees())),
            neutral_position_m: [0, 1, 2].map(|i| mean(&|s: &Sample| s.position_m[i])),
            lids_open: [0, 1].map(|i| mean(&|s: &Sample| s.aspects[i])),
            lids_closed: [0.0; 2],
            gaze_rest: [0, 1].map(|i| mean(&|s: &Sample| s.gaze[i])),
            shapes_rest: (0..ARKIT_COUNT).map(|i| mean(&|s: &Sample| s.shapes[i])).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Brows, Gaze, HeadPose, Lids, MouthRatios};

    fn seen(yaw: f32) -> FaceObservation {
        FaceObservation {
            confidence: 1.0,
            landmarks_px: Vec::new(),
            head: HeadPose { yaw, ..HeadPose::default() },
            position: Vec3::new(0.0, 0.1, 0.6),
            mouth: MouthRatios::default(),
            lids: Lids::default(),
            brows: Brows::default(),
            gaze: Gaze::default(),
            blendshapes: [0.25; ARKIT_COUNT],
        }
    }

    #[test]
    fn a_second_is_averaged_and_less_is_none() {
        let mut meter = RestMeter::default();
        for i in 0..90 {
            assert_eq!(meter.rest().is_some(), i > 21, "{i}");
            let yaw = 0.1 + if i % 2 == 0 { 0.02 } else { -0.02 };
            meter.add(&seen(yaw), Timestamp::from_secs_f64(f64::from(i) / 30.0));
        }
        let rest = meter.rest().unwrap();
        assert!((rest.neutral_head_deg[0] - 0.1f32.to_degrees()).abs() < 0.1, "{rest:?}");
        assert_eq!(rest.neutral_position_m, [0.0, 0.1, 0.6]);
        assert_eq!(rest.shapes_rest, vec![0.25; ARKIT_COUNT]);
        meter.add(&seen(f32::NAN), Timestamp::from_secs_f64(3.0));
        assert!(meter.rest().unwrap().neutral_head_deg[0].is_finite());
        meter.clear();
        assert_eq!(meter.rest(), None);
    }
}
