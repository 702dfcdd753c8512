//! Traces: one JSON object a line, one line an output frame.

use std::io::Write;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::records::{AudioRecord, VideoRecord, tidy};
use crate::engine::StageFrame;
use crate::types::{Param, Vowel};

/// One line of a trace.
#[derive(Serialize)]
#[expect(missing_docs, reason = "the names are CONTRACT's own")]
pub struct TraceLine<'a> {
    pub t: f64,
    pub video: Option<VideoRecord>,
    pub audio: Option<AudioRecord>,
    pub mouth: MouthTrace,
    pub pose: PoseTrace<'a>,
    pub expressions: Weights<'a>,
    pub morphs: Weights<'a>,
}

/// The mouth shown.
#[derive(Serialize)]
#[expect(missing_docs, reason = "the names are CONTRACT's own")]
pub struct MouthTrace {
    pub mode: &'static str,
    pub audio_share: f32,
    pub open: f32,
    pub width: f32,
    pub closed: f32,
    pub aa: f32,
    pub ih: f32,
    pub ou: f32,
    pub ee: f32,
    pub oh: f32,
}

/// The pose shown; sides are the avatar's.
#[derive(Serialize)]
#[expect(missing_docs, reason = "the names are CONTRACT's own")]
pub struct PoseTrace<'a> {
    pub head: [f32; 3],
    pub blink: [f32; 2],
    pub gaze: [f32; 2],
    pub view: [f32; 2],
    pub corrections: Weights<'a>,
}

/// Names and weights, as a JSON object.
pub struct Weights<'a>(pub Vec<(std::borrow::Cow<'a, str>, f32)>);

impl Serialize for Weights<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, weight) in &self.0 {
            map.serialize_entry(name, &tidy(*weight))?;
        }
        map.end()
    }
}
