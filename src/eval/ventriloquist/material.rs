//! What is measured on: presenter scripts, whose truth is written down, and recordings of people who talk.
//!
//! The face networks look at each clip once; what they report is kept. Sound is kept as samples, because the voice
//! network is cheap enough to hear every broken version of it.

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use super::VentriloquistError;
use crate::audio::presenter::{PresenterMicrophone, Recording, Voice};
use crate::audio::{AudioSource, sound_of_video};
use crate::capture::presenter::{Filming, PresenterCamera, PresenterScript};
use crate::capture::{FrameSource, VideoOptions, open_video};
use crate::engine::{SoundPath, lost_sound_state};
use crate::face::{FaceModel, FaceOptions, FaceTracker};
use crate::replay::{PerformanceEvent, PerformanceReport};
use crate::sync::{Pace, StepClock};
use crate::types::{AudioReport, ErrorKind, FaceReport, Faults, SourceError, Timestamp};
use crate::voice::{Hearing, VisemeModel};

/// From the light on the sensor to a report: half an exposure, the transfer, the tracker.
pub(super) const CAMERA_LATENCY_SECS: f64 = 0.035;
/// From a sample to the voice stage: one block of the device. The network's own delay comes on top.
pub(super) const MICROPHONE_LATENCY_SECS: f64 = 0.010;
/// Longer clips are cut.
const MAX_SECS: f64 = 120.0;
/// A clip that gives nothing for this long is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// Where a clip comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Material {
    /// The drawn presenter: what the mouth truly does is known.
    Presenter,
    /// A recording: the undisturbed mouth stands for the truth.
    Recording,
}

/// One clip, seen and ready to be heard.
pub(super) struct Clip {
    pub name: String,
    pub material: Material,
    pub secs: f64,
    pub seen: Vec<FaceReport>,
    pub voice: Voice,
    pub script: Option<PresenterScript>,
}

impl Clip {
    /// A bundled presenter script.
    pub fn bundled(script: &BundledScript) -> Result<Self, VentriloquistError> {
        let named = |why: String| VentriloquistError::Clip { clip: script.name.into(), why };
        let parsed =
            PresenterScript::from_toml(script.script, Some(script.phones)).map_err(|e| named(e.to_string()))?;
        let voice = Voice::from_wav(script.voice).map_err(|e| named(e.to_string()))?;
        Self::of_script(script.name, parsed.without_faults(), voice)
    }

    /// A presenter script file with its voice and phones beside it.
    pub fn script_file(path: &Path) -> Result<Self, VentriloquistError> {
        let name = path.file_stem().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let named = |why: String| VentriloquistError::Clip { clip: path.display().to_string(), why };
        let script = PresenterScript::load(path).map_err(|e| named(e.to_string()))?;
        let voice = script.voice_file().ok_or_else(|| named("the script names no voice".into()))?;
        let bytes = std::fs::read(path.with_file_name(voice)).map_err(|e| named(format!("{voice}: {e}")))?;
        let voice = Voice::from_wav(&bytes).map_err(|e| named(e.to_string()))?;
        Self::of_script(&name, script.without_faults(), voice)
    }

    fn of_script(name: &str, script: PresenterScript, voice: Voice) -> Result<Self, VentriloquistError> {
        let named = |why: String| VentriloquistError::Clip { clip: name.into(), why };
        let secs = script.duration_secs().min(MAX_SECS);
        let camera =
            PresenterCamera::open(Arc::new(script.clone()), Filming::default()).map_err(|e| named(e.to_string()))?;
        let seen = watch(camera, secs).map_err(named)?;
        Ok(Self { name: name.into(), material: Material::Presenter, secs, seen, voice, script: Some(script) })
    }

    /// A movie with sound; `None` where it has none.
    pub fn movie(path: &Path) -> Result<Option<Self>, VentriloquistError> {
        let name = path.file_name().map_or_else(String::new, |n| n.to_string_lossy().into_owned());
        let named = |why: String| VentriloquistError::Clip { clip: path.display().to_string(), why };
        let Some(sound) = sound_of_video(path).map_err(|e| named(e.to_string()))? else { return Ok(None) };
        let voice = record(sound).map_err(|e| named(e.to_string()))?;
        let video = open_video(path, VideoOptions { fps: None, size: None }).map_err(|e| named(e.to_string()))?;
        let seen = watch(video, MAX_SECS).map_err(named)?;
        let secs = seen.last().map_or(0.0, |r| r.captured_at.as_secs_f64()).min(voice.duration().as_secs_f64());
        Ok(Some(Self { name, material: Material::Recording, secs, seen, voice, script: None }))
    }

    /// What is heard of the clip with these faults in the microphone, in order of arrival.
    pub fn hear(&self, faults: Faults) -> Result<Vec<PerformanceEvent>, VentriloquistError> {
        let named = |why: String| VentriloquistError::Clip { clip: self.name.clone(), why };
        listen(&self.voice, self.secs, faults).map_err(named)
    }

    /// What is heard while nobody makes a sound.
    pub fn hear_quiet_room(&self) -> Result<Vec<PerformanceEvent>, VentriloquistError> {
        let named = |why: String| VentriloquistError::Clip { clip: self.name.clone(), why };
        let silence = Voice { samples: [].into(), rate_hz: self.voice.rate_hz };
        listen(&silence, self.secs, Faults::default()).map_err(named)
    }
}

/// A presenter script that comes with the program.
#[derive(Clone, Copy, Debug)]
pub struct BundledScript {
    /// Its name in the figures.
    pub name: &'static str,
    script: &'static str,
    phones: &'static str,
    voice: &'static [u8],
}

macro_rules! bundled {
    ($name:literal, $script:literal, $sound:literal) => {
        BundledScript {
            name: $name,
            script: include_str!(concat!("../../../assets/presenter/", $script, ".toml")),
            phones: include_str!(concat!("../../../assets/presenter/", $sound, ".phones.tsv")),
            voice: include_bytes!(concat!("../../../assets/presenter/", $sound, ".wav")),
        }
    };
}

/// All of them.
pub const BUNDLED: &[BundledScript] = &[
    bundled!("demo", "demo", "demo"),
    bundled!("talk_en", "talk_en", "talk_en"),
    bundled!("talk_de", "talk_de", "talk_de"),
];

/// The reports of the face networks on every frame.
fn watch(mut source: impl FrameSource, secs: f64) -> Result<Vec<FaceReport>, String> {
    let mut tracker = FaceTracker::load(FaceOptions::default()).map_err(|e| e.to_string())?;
    let mut seen = Vec::new();
    loop {
        match source.next_frame(PATIENCE) {
            Ok(frame) if frame.captured_at.as_secs_f64() > secs => return Ok(seen),
            Ok(frame) => {
                let mut report = tracker.observe(&frame).map_err(|e| e.to_string())?;
                if let Some(observation) = &mut report.observation {
                    observation.landmarks_px = Vec::new();
                }
                seen.push(report);
            }
            Err(SourceError::Ended) => return Ok(seen),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// A whole sound file in memory.
fn record(mut source: Box<dyn AudioSource>) -> Result<Voice, SourceError> {
    let rate_hz = source.sample_rate_hz();
    let limit = (MAX_SECS * f64::from(rate_hz)) as usize;
    let (mut samples, mut block) = (Vec::new(), vec![0.0; 4096]);
    let mut idle = 0;
    while samples.len() < limit && idle < 100_000 {
        match source.read(&mut block) {
            Ok((0, _)) | Err(SourceError::Timeout) => idle += 1,
            Ok((count, _)) => {
                idle = 0;
                samples.extend_from_slice(block.get(..count).unwrap_or_default());
            }
            Err(SourceError::Ended) => break,
            Err(error) => return Err(error),
        }
    }
    Ok(Voice { samples: samples.into(), rate_hz })
}

/// The product's way from samples to reports, 10 ms at a time as live.
fn listen(voice: &Voice, secs: f64, faults: Faults) -> Result<Vec<PerformanceEvent>, String> {
    let clock = StepClock::default();
    let recording = Recording {
        lasts: Some(Duration::from_secs_f64(secs)),
        faults,
        pace: Pace::Stepped(clock.clone()),
        ..Recording::default()
    };
    let mut microphone = PresenterMicrophone::new(voice.clone(), recording);
    let mut model = Hearing::new().map_err(|e| e.to_string())?;
    let mut path = SoundPath::new(microphone.sample_rate_hz(), 0.0).map_err(|e| e.to_string())?;
    let mut samples = vec![0.0; 8192];
    let mut events = Vec::new();
    let mut is_lost = false;
    for step in 0..=(secs * 100.0) as u64 {
        let now = Timestamp::from_secs_f64(step as f64 / 100.0);
        clock.advance_to(now);
        let arrived_at = now + Duration::from_secs_f64(MICROPHONE_LATENCY_SECS);
        let mut push = |report: AudioReport| {
            events.push(PerformanceEvent { arrived_at, report: PerformanceReport::Audio(report) });
        };
        loop {
            match microphone.read(&mut samples) {
                Ok((0, _)) | Err(SourceError::Timeout) => break,
                Ok((count, at)) => {
                    if std::mem::take(&mut is_lost) {
                        path.reset();
                        model.reset();
                    }
                    let samples = samples.get_mut(..count).unwrap_or_default();
                    path.hear(&mut model, samples, at).iter().copied().for_each(&mut push);
                }
                Err(error) if error.kind() == ErrorKind::Gone => {
                    is_lost = true;
                    let state = lost_sound_state(&error);
                    push(AudioReport { captured_at: now, state, ..AudioReport::default() });
                    break;
                }
                Err(_) => return Ok(events),
            }
        }
    }
    Ok(events)
}
