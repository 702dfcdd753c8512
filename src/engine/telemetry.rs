//! What the engine tells about itself: numbers for the window, never log lines.

use std::collections::VecDeque;

use glam::Vec3;
use serde::Serialize;

use crate::settings::LipsyncMode;
use crate::types::{Alignment, AudioHints, AudioState, HeadPose, MouthShape, Trust, VideoHints, VideoState};
use crate::voice::Coaching;

/// Everything the control window shows. A copy is made for each window frame.
#[derive(Clone, Debug, Default)]
#[expect(missing_docs, reason = "each part has its own doc")]
pub struct Telemetry {
    pub video: VideoTelemetry,
    pub audio: AudioTelemetry,
    pub stage: StageTelemetry,
    pub picture: PictureTelemetry,
    pub avatar: AvatarTelemetry,
    pub devices: DeviceLists,
    /// True while the bundled demo plays in place of the devices.
    pub is_demo: bool,
    /// False while the user has stopped camera and microphone.
    pub is_running: bool,
}

/// The camera and the tracker.
#[derive(Clone, Debug, Default)]
pub struct VideoTelemetry {
    /// Name of the open source; empty where none is open.
    pub source: String,
    /// State of the source.
    pub state: VideoState,
    /// Remarks that are no loss.
    pub hints: VideoHints,
    /// What is wrong and what to do, in words.
    pub message: Option<String>,
    /// Pictures a second that the camera gives.
    pub camera_fps: f32,
    /// Pictures a second that the tracker looks at.
    pub tracker_fps: f32,
    /// Time the tracker takes for a picture, milliseconds.
    pub tracker_ms: Percentiles,
    /// How sure the tracker is, 0..1.
    pub confidence: f32,
    /// Head rotation before the neutral pose is taken off; `None` without a face.
    pub raw_head: Option<HeadPose>,
    /// Head position in the camera's space, metres; `None` without a face.
    pub raw_position: Option<Vec3>,
    /// Broken or unread pictures so far.
    pub dropped_count: u64,
}

/// The microphone and the classifier.
#[derive(Clone, Debug)]
pub struct AudioTelemetry {
    /// Name of the open source; empty where none is open.
    pub source: String,
    /// State of the source.
    pub state: AudioState,
    /// Remarks that are no loss.
    pub hints: AudioHints,
    /// What is wrong and what to do, in words.
    pub message: Option<String>,
    /// Loudness, dB of full scale.
    pub level_db: f32,
    /// Probability of speech.
    pub voiced: f32,
    /// Samples a second of the device.
    pub sample_rate_hz: u32,
    /// Where the speaker is who says the five vowels; `None` while nobody is asked to.
    pub coaching: Option<Coaching>,
}

impl Default for AudioTelemetry {
    fn default() -> Self {
        Self {
            source: String::new(),
            state: AudioState::Disconnected,
            hints: AudioHints::default(),
            message: None,
            level_db: -120.0,
            voiced: 0.0,
            sample_rate_hz: 0,
            coaching: None,
        }
    }
}

/// Mixing, acting and pacing.
#[derive(Clone, Debug, Default)]
pub struct StageTelemetry {
    /// Frames a second that leave the stage.
    pub fps: f32,
    /// Mixing, acting and rigging of a frame, milliseconds.
    pub act_ms: Percentiles,
    /// Drawing and showing of a frame on the CPU side, milliseconds.
    pub draw_ms: Percentiles,
    /// Age of an observation when its first frame is handed to the window, milliseconds.
    pub latency_ms: Percentiles,
    /// The mouth shown.
    pub mouth: MouthShape,
    /// The mode it was made in.
    pub mode: LipsyncMode,
    /// How much each source is believed.
    pub trust: Trust,
    /// How sound and picture lie in time.
    pub alignment: Alignment,
    /// Frames made since the start.
    pub frame_count: u64,
    /// Ticks that were skipped because the frame before took too long.
    pub skipped_count: u64,
}

/// How the output window shows its background.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Transparency {
    /// No window yet.
    #[default]
    Unknown,
    /// What is behind shows through.
    Transparent,
    /// The window has a solid background because the user chose one.
    Opaque,
    /// The system cannot do transparency here: the chroma colour is shown in its place.
    Unavailable,
}

/// The graphics side.
#[derive(Clone, Debug, Default)]
pub struct PictureTelemetry {
    /// Name of the graphics adapter; empty where there is none.
    pub adapter: String,
    /// Everything is drawn by the processor: the control window should be sparing.
    pub is_software: bool,
    /// What is wrong and what to do, in words.
    pub message: Option<String>,
    /// Size of the output, pixels.
    pub size: [u32; 2],
    /// How the window shows its background.
    pub transparency: Transparency,
}

/// The avatar.
#[derive(Clone, Debug, Default)]
pub struct AvatarTelemetry {
    /// Its name.
    pub name: String,
    /// True while a file is being read.
    pub is_loading: bool,
    /// Why the last file was refused, in words.
    pub message: Option<String>,
    /// What is wrong with the file that is shown.
    pub warnings: Vec<String>,
    /// Names of its expressions.
    pub expressions: Vec<String>,
}

/// What the pickers offer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceLists {
    /// Names of cameras.
    pub cameras: Vec<String>,
    /// Names of microphones.
    pub microphones: Vec<String>,
    /// False until the first look.
    pub is_known: bool,
}

/// Median, 95th percentile and maximum of the last values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Percentiles {
    pub p50: f32,
    pub p95: f32,
    pub max: f32,
}

/// The last values of a measurement.
#[derive(Clone, Debug)]
pub struct History {
    values: VecDeque<f32>,
    sorted: Vec<f32>,
    capacity: usize,
}

impl History {
    /// Keeps the last `capacity` values.
    pub fn new(capacity: usize) -> Self {
        Self { values: VecDeque::with_capacity(capacity), sorted: Vec::with_capacity(capacity), capacity }
    }

    /// Adds a value in place of the oldest.
    pub fn push(&mut self, value: f32) {
        if self.values.len() == self.capacity {
            self.values.pop_front();
        }
        self.values.push_back(value);
    }

    /// Percentiles of what is kept; zeros where nothing is.
    pub fn percentiles(&mut self) -> Percentiles {
        self.sorted.clear();
        self.sorted.extend(self.values.iter().copied());
        self.sorted.sort_unstable_by(f32::total_cmp);
        let at = |share: f32| {
            let last = self.sorted.len().saturating_sub(1);
            self.sorted.get((last as f32 * share).round() as usize).copied().unwrap_or(0.0)
        };
        Percentiles { p50: at(0.5), p95: at(0.95), max: at(1.0) }
    }
}

/// Counts events a second over about the last second.
#[derive(Clone, Debug, Default)]
pub struct RateMeter {
    started_secs: f64,
    count: u32,
    rate: f32,
}

impl RateMeter {
    /// One event at this session time; returns the present rate.
    pub fn tick(&mut self, now_secs: f64) -> f32 {
        self.count += 1;
        self.rate(now_secs)
    }

    /// The present rate, per second; falls to zero when nothing comes.
    pub fn rate(&mut self, now_secs: f64) -> f32 {
        let elapsed = now_secs - self.started_secs;
        if elapsed >= 1.0 {
            self.rate = (f64::from(self.count) / elapsed) as f32;
            self.count = 0;
            self.started_secs = now_secs;
        }
        self.rate
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_of_the_last_values() {
        let mut history = History::new(100);
        assert_eq!(history.percentiles(), Percentiles::default());
        (0..200).for_each(|i| history.push(i as f32));
        let Percentiles { p50, p95, max } = history.percentiles();
        assert_eq!((p50, p95, max), (150.0, 194.0, 199.0));
    }

    #[test]
    fn a_rate_falls_to_zero_when_nothing_comes() {
        let mut meter = RateMeter::default();
        (0..61).for_each(|i| {
            meter.tick(f64::from(i) / 30.0);
        });
        assert!((meter.rate(2.01) - 30.0).abs() < 1.5);
        meter.rate(4.0);
        assert_eq!(meter.rate(6.0), 0.0);
    }
}
