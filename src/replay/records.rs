//! Observations as JSON: angles in degrees, times in seconds, weights 0..1, the person's left and right.
//!
//! The same records stand in traces, in `analyze` output and in performances.

use std::collections::BTreeMap;

use glam::Vec3;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::types::{
    ARKIT_COUNT, ARKIT_NAMES, AudioHints, AudioReport, AudioState, Brows, FaceObservation, FaceReport, Gaze, HeadPose,
    Lids, MouthRatios, Timestamp, VISEME_COUNT, VideoHints, VideoState, Viseme, VisemeFrame,
};

/// A record that is not what CONTRACT says.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct RecordError(pub(super) String);

/// What was seen. Without a face, everything measured is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are CONTRACT's own")]
pub struct VideoRecord {
    pub state: String,
    pub hints: Vec<String>,
    pub confidence: Option<f32>,
    /// Seconds since the picture was taken; in traces only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub age: Option<f32>,
    pub open: Option<f32>,
    pub width: Option<f32>,
    pub round: Option<f32>,
    pub smile: Option<f32>,
    pub head: Option<[f32; 3]>,
    pub position: Option<[f32; 3]>,
    pub blink: Option<[f32; 2]>,
    pub brows: Option<[f32; 2]>,
    pub gaze: Option<[f32; 2]>,
    pub blendshapes: Option<Blendshapes>,
}

/// What was heard.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "the names are CONTRACT's own")]
pub struct AudioRecord {
    pub state: String,
    pub hints: Vec<String>,
    pub confidence: f32,
    pub level_db: f32,
    pub voiced: f32,
    pub visemes: Visemes,
    pub laughter: f32,
}

/// The 51 ARKit weights by name; `_neutral` is left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Blendshapes(pub [f32; ARKIT_COUNT]);

/// The 15 viseme weights by name.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Visemes(pub [f32; VISEME_COUNT]);

impl Serialize for Blendshapes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(ARKIT_NAMES.iter().zip(self.0).skip(1).map(|(name, weight)| (name, tidy(weight))))
    }
}

impl<'de> Deserialize<'de> for Blendshapes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, f32>::deserialize(deserializer)?;
        Ok(Self(std::array::from_fn(|i| map.get(ARKIT_NAMES[i]).copied().map_or(0.0, unit))))
    }
}

impl Serialize for Visemes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(Viseme::ALL.iter().zip(self.0).map(|(viseme, weight)| (viseme.name(), tidy(weight))))
    }
}

impl<'de> Deserialize<'de> for Visemes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let map = BTreeMap::<String, f32>::deserialize(deserializer)?;
        Ok(Self(Viseme::ALL.map(|v| map.get(v.name()).copied().map_or(0.0, unit))))
    }
}

impl VideoRecord {
    /// The record of a report.
    pub fn of(report: &FaceReport) -> Self {
        let mut record = Self {
            state: report.state.name().into(),
            hints: report.hints.names().map(Into::into).collect(),
            ..Self::default()
        };
        if let Some(seen) = &report.observation {
            let degrees = |radians: f32| tidy(radians.to_degrees());
            record.confidence = Some(tidy(seen.confidence));
            record.open = Some(tidy(seen.mouth.open));
            record.width = Some(tidy(seen.mouth.width));
            record.round = Some(tidy(seen.mouth.round));
            record.smile = Some(tidy(seen.mouth.smile));
            record.head = Some([seen.head.yaw, seen.head.pitch, seen.head.roll].map(degrees));
            record.position = Some(seen.position.to_array().map(tidy));
            record.blink = Some([seen.lids.left, seen.lids.right].map(tidy));
            record.brows = Some([seen.brows.left, seen.brows.right].map(tidy));
            record.gaze = Some([seen.gaze.yaw, seen.gaze.pitch].map(degrees));
            record.blendshapes = Some(Blendshapes(seen.blendshapes));
        }
        record
    }

    /// The report of a record, taken at `at`. Landmarks are not recorded.
    ///
    /// # Errors
    /// If the state or a hint is unknown or a number is not finite.
    pub fn to_report(&self, at: Timestamp, seq: u64) -> Result<FaceReport, RecordError> {
        let state = VideoState::from_name(&self.state)
            .ok_or_else(|| RecordError(format!("there is no video state {:?}", self.state)))?;
        let mut hints = VideoHints::default();
        for hint in &self.hints {
            let slot = match hint.as_str() {
                "eyes_covered" => &mut hints.eyes_covered,
                "at_edge" => &mut hints.at_edge,
                "picture" => &mut hints.picture,
                "far" => &mut hints.far,
                "low_fps" => &mut hints.low_fps,
                "several_faces" => &mut hints.several_faces,
                other => return Err(RecordError(format!("there is no video hint {other:?}"))),
            };
            *slot = true;
        }
        let observation = match (self.head, self.open) {
            (Some(head), Some(open)) => Some(self.observation(head, open)?),
            _ => None,
        };
        Ok(FaceReport { captured_at: at, seq, state, hints, observation })
    }

    fn observation(&self, head: [f32; 3], open: f32) -> Result<FaceObservation, RecordError> {
        let [yaw, pitch, roll] = head.map(f32::to_radians);
        let [left, right] = self.blink.unwrap_or_default().map(unit);
        let [brow_left, brow_right] = self.brows.unwrap_or_default();
        let [gaze_yaw, gaze_pitch] = self.gaze.unwrap_or_default().map(f32::to_radians);
        let position = Vec3::from_array(self.position.unwrap_or_default());
        let numbers = [yaw, pitch, roll, open, brow_left, brow_right, gaze_yaw, gaze_pitch];
        if !numbers.iter().all(|n| n.is_finite()) || !position.is_finite() {
            return Err(RecordError("a number is not finite".into()));
        }
        Ok(FaceObservation {
            confidence: unit(self.confidence.unwrap_or(1.0)),
            landmarks_px: Vec::new(),
            head: HeadPose { yaw, pitch, roll },
            position,
            mouth: MouthRatios {
                open: unit(open),
                width: unit(self.width.unwrap_or(0.5)),
                round: unit(self.round.unwrap_or(0.0)),
                smile: unit(self.smile.unwrap_or(0.0)),
            },
            lids: Lids { left, right },
            brows: Brows { left: brow_left.clamp(-1.0, 1.0), right: brow_right.clamp(-1.0, 1.0) },
            gaze: Gaze { yaw: gaze_yaw, pitch: gaze_pitch },
            blendshapes: self.blendshapes.as_ref().map_or([0.0; ARKIT_COUNT], |b| b.0),
        })
    }
}

impl AudioRecord {
    /// The record of a report.
    pub fn of(report: &AudioReport) -> Self {
        Self {
            state: report.state.name().into(),
            hints: report.hints.names().map(Into::into).collect(),
            confidence: if report.state.is_lost() { 0.0 } else { 1.0 },
            level_db: tidy(report.frame.level_db),
            voiced: tidy(report.frame.voiced),
            visemes: Visemes(report.frame.weights),
            laughter: tidy(report.frame.laughter),
        }
    }

    /// The report of a record, captured at `at`.
    ///
    /// # Errors
    /// If the state or a hint is unknown or a number is not finite.
    pub fn to_report(&self, at: Timestamp) -> Result<AudioReport, RecordError> {
        let state = AudioState::from_name(&self.state)
            .ok_or_else(|| RecordError(format!("there is no audio state {:?}", self.state)))?;
        let mut hints = AudioHints::default();
        for hint in &self.hints {
            let slot = match hint.as_str() {
                "clipping" => &mut hints.clipping,
                "wrong_channel" => &mut hints.wrong_channel,
                "too_quiet" => &mut hints.too_quiet,
                "noisy" => &mut hints.noisy,
                other => return Err(RecordError(format!("there is no audio hint {other:?}"))),
            };
            *slot = true;
        }
        if !self.level_db.is_finite() {
            return Err(RecordError("level_db is not finite".into()));
        }
        let frame = VisemeFrame {
            weights: self.visemes.0,
            level_db: self.level_db.clamp(-120.0, 20.0),
            voiced: unit(self.voiced),
            laughter: unit(self.laughter),
        };
        Ok(AudioReport { captured_at: at, state, hints, frame })
    }
}

/// Rounded to 1e-5, so that files stay small and readable.
pub(super) fn tidy(value: f32) -> f32 {
    ((f64::from(value) * 1e5).round() / 1e5) as f32
}

/// A weight from a file: 0..1, NaN becomes 0.
fn unit(value: f32) -> f32 {
    if value.is_nan() { 0.0 } else { value.clamp(0.0, 1.0) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_a_round_trip() {
        let observation = FaceObservation {
            confidence: 0.9,
            landmarks_px: Vec::new(),
            head: HeadPose { yaw: 0.2, pitch: -0.1, roll: 0.05 },
            position: Vec3::new(0.1, -0.05, 0.6),
            mouth: MouthRatios { open: 0.4, width: 0.6, round: 0.1, smile: 0.3 },
            lids: Lids { left: 0.1, right: 0.9 },
            brows: Brows { left: -0.5, right: 0.5 },
            gaze: Gaze { yaw: 0.1, pitch: 0.2 },
            blendshapes: std::array::from_fn(|i| if i == 0 { 0.0 } else { i as f32 / 100.0 }),
        };
        let hints = VideoHints { far: true, ..VideoHints::default() };
        let at = Timestamp::from_secs_f64(1.5);
        let report =
            FaceReport { captured_at: at, seq: 3, state: VideoState::Tracked, hints, observation: Some(observation) };
        let text = serde_json::to_string(&VideoRecord::of(&report)).expect("JSON");
        assert!(text.contains("\"jawOpen\"") && !text.contains("_neutral"), "{text}");
        let back: VideoRecord = serde_json::from_str(&text).expect("JSON");
        let back = back.to_report(at, 3).expect("record");
        let (a, b) = (back.observation.expect("face"), report.observation.expect("face"));
        assert!((a.head.yaw - b.head.yaw).abs() < 1e-6 && (a.gaze.pitch - b.gaze.pitch).abs() < 1e-6);
        assert_eq!((a.mouth, a.lids, a.brows, a.blendshapes), (b.mouth, b.lids, b.brows, b.blendshapes));
    }

    #[test]
    fn no_face_stays_no_face() {
        let report = FaceReport { state: VideoState::FaceLost, ..FaceReport::default() };
        let record = VideoRecord::of(&report);
        let text = serde_json::to_string(&record).expect("JSON");
        assert!(text.contains("\"head\":null"), "{text}");
        assert_eq!(record.to_report(Timestamp::ZERO, 0), Ok(report));
    }

    #[test]
    fn hostile_records_are_refused() {
        for text in ["{\"state\":\"happy\"}", "{\"state\":\"tracked\",\"hints\":[\"x\"]}"] {
            let record: VideoRecord = serde_json::from_str(text).expect("JSON");
            assert!(record.to_report(Timestamp::ZERO, 0).is_err(), "{text}");
        }
        let mut record = VideoRecord { state: "tracked".into(), ..VideoRecord::default() };
        (record.head, record.open) = (Some([f32::NAN, 0.0, 0.0]), Some(2.0));
        assert!(record.to_report(Timestamp::ZERO, 0).is_err());
    }
}
