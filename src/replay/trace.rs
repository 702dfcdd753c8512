//! Traces: one JSON object a line, one line an output frame.

use std::borrow::Cow;
use std::io::Write;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::records::{AudioRecord, VideoRecord, tidy};
use crate::avatar::AvatarModel;
use crate::engine::StageFrame;
use crate::settings::LipsyncMode;
use crate::types::{Param, Vowel};

/// One line of a trace; the names are CONTRACT's own.
#[derive(Serialize)]
pub(super) struct TraceLine<'a> {
    t: f64,
    video: Option<VideoRecord>,
    audio: Option<AudioRecord>,
    mouth: MouthTrace,
    pose: PoseTrace<'a>,
    expressions: Weights<'a>,
    morphs: Weights<'a>,
}

/// The mouth shown.
#[derive(Serialize)]
pub(super) struct MouthTrace {
    mode: &'static str,
    audio_share: f32,
    open: f32,
    width: f32,
    closed: f32,
    /// Seconds by which the sound (negative: the picture) is held back to align both.
    offset: f32,
    aa: f32,
    ih: f32,
    ou: f32,
    ee: f32,
    oh: f32,
}

/// The pose shown; sides are the avatar's.
#[derive(Serialize)]
pub(super) struct PoseTrace<'a> {
    head: [f32; 3],
    blink: [f32; 2],
    gaze: [f32; 2],
    view: [f32; 2],
    corrections: Weights<'a>,
}

/// Names and weights, as a JSON object.
pub(super) struct Weights<'a>(Vec<(Cow<'a, str>, f32)>);

impl<'a> TraceLine<'a> {
    /// The line of a frame.
    pub(super) fn of(frame: &StageFrame<'a>, mode: LipsyncMode) -> Self {
        let degrees = |radians: f32| tidy(radians.to_degrees());
        let (face, params) = (frame.face, &frame.pose.params);
        let angle = |param: Param| degrees(params.get(param));
        let mouth = &face.mouth;
        let vowel = |vowel: Vowel| tidy(params.get(Param::of_vowel(vowel)));
        let view = frame.rig.view();
        Self {
            t: (frame.now.as_secs_f64() * 1e6).round() / 1e6,
            video: frame.seen.map(|report| VideoRecord {
                // The mixer knows of losses that no report tells: nothing comes any more.
                state: face.video.name().into(),
                age: Some(tidy(frame.now.secs_after(report.captured_at) as f32)),
                ..VideoRecord::of(report)
            }),
            audio: frame.heard.map(|report| AudioRecord { state: face.audio.name().into(), ..AudioRecord::of(report) }),
            mouth: MouthTrace {
                mode: mode.name(),
                audio_share: tidy(mouth.audio_share),
                open: tidy(mouth.open),
                width: tidy(mouth.width),
                closed: tidy(mouth.closed),
                offset: tidy(face.alignment.applied_secs),
                aa: vowel(Vowel::Aa),
                ih: vowel(Vowel::Ih),
                ou: vowel(Vowel::Ou),
                ee: vowel(Vowel::Ee),
                oh: vowel(Vowel::Oh),
            },
            pose: PoseTrace {
                head: [Param::HeadYaw, Param::HeadPitch, Param::HeadRoll].map(angle),
                blink: [Param::BlinkLeft, Param::BlinkRight].map(|p| tidy(params.get(p))),
                gaze: [Param::GazeYaw, Param::GazePitch].map(angle),
                view: [degrees(view.alpha), degrees(view.beta)],
                corrections: Weights(
                    frame.rig.corrections().filter(|(_, w)| *w > 0.0).map(|(n, w)| (n.to_owned().into(), w)).collect(),
                ),
            },
            expressions: Weights(frame.rig.expressions().map(|(n, w)| (n.to_owned().into(), w)).collect()),
            morphs: Weights(morphs(frame.model, &frame.posed.morph_weights)),
        }
    }
}

/// `Mesh/morph` and weight of every morph target that is on.
fn morphs<'a>(model: &'a AvatarModel, weights: &[f32]) -> Vec<(Cow<'a, str>, f32)> {
    let mut on = Vec::new();
    for mesh in &model.meshes {
        let of_mesh = weights.get(mesh.morph_offset..).unwrap_or_default();
        for (name, weight) in mesh.morph_names.iter().zip(of_mesh) {
            if weight.abs() > 1e-6 {
                on.push((format!("{}/{name}", mesh.name).into(), *weight));
            }
        }
    }
    on
}

/// Writes a trace as the frames come.
#[derive(Debug)]
pub struct TraceWriter<W> {
    out: W,
}

impl<W: Write> TraceWriter<W> {
    /// Begins a trace.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// Writes the line of a frame.
    ///
    /// # Errors
    /// The system's.
    pub fn frame(&mut self, frame: &StageFrame<'_>, mode: LipsyncMode) -> std::io::Result<()> {
        serde_json::to_writer(&mut self.out, &TraceLine::of(frame, mode))?;
        self.out.write_all(b"\n")
    }

    /// Hands everything to the system.
    ///
    /// # Errors
    /// The system's.
    pub fn finish(mut self) -> std::io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }
}

impl Serialize for Weights<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, weight) in &self.0 {
            map.serialize_entry(name, &tidy(*weight))?;
        }
        map.end()
    }
}
