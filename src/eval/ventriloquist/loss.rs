//! What goes wrong: scripted losses, put into the sound's samples and into what the face networks report.

use std::time::Duration;

use super::VentriloquistError;
use super::material::{CAMERA_LATENCY_SECS, Clip};
use crate::replay::{PerformanceEvent, PerformanceReport};
use crate::signal::Rng;
use crate::types::{AudioFault, FaceReport, Fault, FaultKind, MouthRatios, Timestamp, VideoState};

/// A frozen picture is noticed after this long (`face::watch`).
const FROZEN_AFTER_SECS: f64 = 0.4;
/// A face that comes back is found by the detector, which runs this often at most.
const DETECT_SECS: f64 = 0.045;

/// One way to lose a source, or both.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Loss {
    /// The microphone is pulled out.
    MicrophoneDead,
    /// Exact zeros.
    MicrophoneMuted,
    /// The device is there and gives nothing.
    MicrophoneStalled,
    /// Holes of 80 to 300 ms.
    MicrophoneStutters,
    /// The person leans out of the picture.
    FaceOut,
    /// A hand before the mouth, and the tracker says so.
    MouthCovered,
    /// A hand before the mouth that the tracker takes for a mouth.
    MouthMistaken,
    /// The light goes out.
    Dark,
    /// The same picture again and again.
    CameraFrozen,
    /// The camera gives nothing.
    CameraStalled,
    /// Microphone and camera are gone.
    Both,
    /// Others speak, the own lips are closed; with the camera veto.
    OthersSpeak,
    /// The mouth moves without a sound.
    SilentMouth,
}

/// What is left to move the mouth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Video,
    Audio,
    Nothing,
    /// No loss: both go on, and contradict each other.
    All,
}

impl Loss {
    /// All of them, in the order of the table.
    pub const ALL: [Self; 13] = [
        Self::MicrophoneDead,
        Self::MicrophoneMuted,
        Self::MicrophoneStalled,
        Self::MicrophoneStutters,
        Self::FaceOut,
        Self::MouthCovered,
        Self::MouthMistaken,
        Self::Dark,
        Self::CameraFrozen,
        Self::CameraStalled,
        Self::Both,
        Self::OthersSpeak,
        Self::SilentMouth,
    ];

    /// Its name in the table.
    pub fn name(self) -> &'static str {
        match self {
            Self::MicrophoneDead => "microphone dead",
            Self::MicrophoneMuted => "microphone muted",
            Self::MicrophoneStalled => "microphone stalled",
            Self::MicrophoneStutters => "microphone stutters",
            Self::FaceOut => "face out of frame",
            Self::MouthCovered => "mouth covered",
            Self::MouthMistaken => "mouth mistaken",
            Self::Dark => "dark",
            Self::CameraFrozen => "camera frozen",
            Self::CameraStalled => "camera stalled",
            Self::Both => "both lost",
            Self::OthersSpeak => "others speak",
            Self::SilentMouth => "silent mouth",
        }
    }

    pub(super) fn left(self) -> Left {
        match self {
            Self::MicrophoneDead | Self::MicrophoneMuted | Self::MicrophoneStalled | Self::MicrophoneStutters => {
                Left::Video
            }
            Self::FaceOut
            | Self::MouthCovered
            | Self::MouthMistaken
            | Self::Dark
            | Self::CameraFrozen
            | Self::CameraStalled => Left::Audio,
            Self::Both => Left::Nothing,
            Self::OthersSpeak | Self::SilentMouth => Left::All,
        }
    }

    fn audio_fault(self) -> Option<AudioFault> {
        match self {
            Self::MicrophoneDead | Self::Both => Some(AudioFault::Disconnected),
            Self::MicrophoneMuted => Some(AudioFault::Muted),
            Self::MicrophoneStalled => Some(AudioFault::Stalled),
            Self::MicrophoneStutters => Some(AudioFault::Holes),
            _ => None,
        }
    }
}

/// A stretch of time, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Window {
    pub from: f64,
    pub to: f64,
}

impl Window {
    pub fn contains(&self, t: f64) -> bool {
        (self.from..self.to).contains(&t)
    }

    pub fn shifted(&self, by: f64) -> Self {
        Self { from: self.from + by, to: self.to + by }
    }
}

/// A loss is only fair where nothing else is lost: within this much around it the face must be seen.
const SEEN_AROUND_SECS: f64 = 0.4;

impl Clip {
    /// True where the mouth is seen all through a window and around it.
    pub fn is_seen(&self, window: Window) -> bool {
        let around = Window { from: window.from - SEEN_AROUND_SECS, to: window.to + SEEN_AROUND_SECS };
        let mut within = self.seen.iter().filter(|r| around.contains(r.captured_at.as_secs_f64()));
        within.all(|r| r.observation.is_some() && !r.state.is_mouth_lost())
    }
}

/// All that reaches the mixer of a clip with this loss in these windows, in order of arrival. `heard` is what is heard
/// of the whole sound.
pub(super) fn disturbed(
    clip: &Clip,
    heard: &[PerformanceEvent],
    loss: Loss,
    windows: &[Window],
) -> Result<Vec<PerformanceEvent>, VentriloquistError> {
    let mut events = match loss.audio_fault() {
        Some(fault) => {
            let at = Timestamp::from_secs_f64;
            let fault = |w: &Window| Fault { kind: FaultKind::Audio(fault), from: at(w.from), to: at(w.to) };
            clip.hear(windows.iter().map(fault).collect())?
        }
        None if loss == Loss::SilentMouth => clip.hear_quiet_room()?,
        None => heard.to_vec(),
    };
    events.extend(seen_through(&clip.seen, loss, windows));
    events.sort_by_key(|e| e.arrived_at);
    Ok(events)
}

/// What the face networks report while this is wrong with the picture.
pub(super) fn seen_through(seen: &[FaceReport], loss: Loss, windows: &[Window]) -> Vec<PerformanceEvent> {
    let mut rng = Rng::new(0x006d_6f75_7468);
    let mut hidden = Hidden::default();
    let mut last_good: Option<FaceReport> = None;
    let mut events = Vec::with_capacity(seen.len());
    for report in seen {
        let t = report.captured_at.as_secs_f64();
        let window = windows.iter().find(|w| w.contains(t));
        let after = windows.iter().any(|w| (0.0..DETECT_SECS).contains(&(t - w.to)));
        let lost = |state| FaceReport { state, observation: None, ..report.clone() };
        let with_mouth = |state, mouth: MouthRatios, confidence: f32| {
            let mut report = FaceReport { state, ..report.clone() };
            if let Some(observation) = &mut report.observation {
                observation.mouth = mouth;
                observation.confidence = observation.confidence.min(confidence);
            }
            report
        };
        let shown = match (loss, window) {
            (Loss::FaceOut, Some(_)) => Some(lost(VideoState::FaceLost)),
            (Loss::FaceOut | Loss::Dark, None) if after => Some(lost(VideoState::FaceLost)),
            (Loss::Dark, Some(_)) => Some(lost(VideoState::TooDark)),
            (Loss::Both, Some(_)) => Some(lost(VideoState::Disconnected)),
            (Loss::CameraStalled, Some(_)) => None,
            (Loss::MouthCovered, Some(_)) => Some(with_mouth(VideoState::MouthCovered, hidden.next(&mut rng), 0.9)),
            (Loss::MouthMistaken, Some(_)) => Some(with_mouth(VideoState::Tracked, hidden.next(&mut rng), 0.8)),
            (Loss::CameraFrozen, Some(w)) if t - w.from >= FROZEN_AFTER_SECS => Some(lost(VideoState::Frozen)),
            (Loss::CameraFrozen, Some(_)) => {
                let frozen = last_good.clone().unwrap_or_else(|| report.clone());
                Some(FaceReport { captured_at: report.captured_at, seq: report.seq, ..frozen })
            }
            (Loss::OthersSpeak, _) => {
                let still =
                    MouthRatios { open: 0.01 * rng.unit(), width: 0.49 + 0.02 * rng.unit(), ..MouthRatios::default() };
                Some(with_mouth(report.state, still, 1.0))
            }
            _ => {
                last_good = Some(report.clone());
                Some(report.clone())
            }
        };
        if let Some(shown) = shown {
            let arrived_at = shown.captured_at + Duration::from_secs_f64(CAMERA_LATENCY_SECS);
            events.push(PerformanceEvent { arrived_at, report: PerformanceReport::Video(shown) });
        }
    }
    events
}

/// What a tracker makes of a mouth that it cannot see: nearly closed lips that tremble.
#[derive(Default)]
struct Hidden {
    open: f32,
    width: f32,
}

impl Hidden {
    fn next(&mut self, rng: &mut Rng) -> MouthRatios {
        self.open = (0.8 * self.open + 0.2 * rng.range(0.0, 0.2)).clamp(0.0, 1.0);
        self.width = 0.8 * self.width + 0.2 * rng.range(-0.1, 0.1);
        MouthRatios { open: self.open, width: 0.5 + self.width, ..MouthRatios::default() }
    }
}
