//! The offline loop: all that came in by a frame's time goes to the stage, then the frame is made.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::feed::{SoundFeed, SoundItem, VideoFeed, VideoItem};
use super::performance::{Performance, PerformanceEvent, PerformanceReport};
use crate::avatar::AvatarModel;
use crate::engine::{SoundPath, Stage, StageFrame, Thinning, camera_of, lost_sound_state, lost_state};
use crate::face::{FaceError, FaceModel};
use crate::render::Camera;
use crate::settings::{Quality, Settings};
use crate::types::{AudioReport, FaceReport, SourceError, Timestamp};
use crate::voice::{VisemeModel, VoiceError};

/// A file that never ends is cut here.
const MAX_SECS: f64 = 24.0 * 3600.0;
/// Samples read at once; more than 10 ms at any rate.
const SAMPLES: usize = 4096;

/// Why a replay ended early.
#[derive(Debug, thiserror::Error)]
pub enum ReplayError {
    /// An input is broken.
    #[error(transparent)]
    Source(#[from] SourceError),
    /// The face model cannot be run.
    #[error(transparent)]
    Face(#[from] FaceError),
    /// The viseme model cannot be run.
    #[error(transparent)]
    Voice(#[from] VoiceError),
    /// The sound has a rate that no microphone has.
    #[error(transparent)]
    Rate(#[from] crate::audio::RateError),
    /// An output cannot be written.
    #[error("{0:#}")]
    Output(anyhow::Error),
}

/// Where a replay gets its reports from.
#[expect(clippy::large_enum_variant, reason = "there is only ever one of them")]
pub enum Inputs {
    /// Pictures and sound, through the models.
    Media {
        /// Pictures and who looks at them.
        video: Option<(VideoFeed, Box<dyn FaceModel>)>,
        /// Sound and who hears it.
        audio: Option<(SoundFeed, Box<dyn VisemeModel>)>,
    },
    /// Reports that were recorded.
    Performance(Performance),
}

/// Shows an expression for a while.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TimedExpression {
    /// Index into the avatar's expressions.
    pub slot: usize,
    /// When it begins to show.
    pub from: Timestamp,
    /// When it begins to go.
    pub to: Timestamp,
}

/// What a replay is made of.
pub struct ReplayOptions {
    /// In force all along.
    pub settings: Settings,
    /// The avatar.
    pub model: Arc<AvatarModel>,
    /// Output frames a second.
    pub fps: u32,
    /// Width by height of the picture; decides the camera.
    pub aspect: f32,
    /// Seed of everything random.
    pub seed: u64,
    /// Expressions to show.
    pub expressions: Vec<TimedExpression>,
    /// Take as long as the recording did.
    pub is_realtime: bool,
}

/// Who gets what a replay makes.
pub trait ReplaySink {
    /// Something was seen; the stage gets it at `now`.
    ///
    /// # Errors
    /// If it cannot be written.
    fn seen(&mut self, _report: &FaceReport, _now: Timestamp) -> anyhow::Result<()> {
        Ok(())
    }

    /// Something was heard; the stage gets it at `now`.
    ///
    /// # Errors
    /// If it cannot be written.
    fn heard(&mut self, _report: &AudioReport, _now: Timestamp) -> anyhow::Result<()> {
        Ok(())
    }

    /// A frame was made, looked at through `camera`.
    ///
    /// # Errors
    /// If it cannot be written.
    fn frame(&mut self, frame: &StageFrame<'_>, camera: &Camera) -> anyhow::Result<()>;
}

/// What a replay did.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ReplaySummary {
    /// Output frames.
    pub frame_count: u64,
    /// Pictures looked at.
    pub seen_count: u64,
    /// Pictures with a face.
    pub tracked_count: u64,
    /// 10 ms steps of sound.
    pub heard_count: u64,
}

/// Runs the whole product over its inputs.
///
/// # Errors
/// If an input is broken or an output cannot be written.
pub fn run(inputs: Inputs, options: &ReplayOptions, sink: &mut dyn ReplaySink) -> Result<ReplaySummary, ReplayError> {
    let camera = camera_of(&options.model, &options.settings, options.aspect);
    let mut stage = Stage::new(options.model.clone(), options.seed);
    let mut summary = ReplaySummary::default();
    let mut reports = Reports::open(inputs, &options.settings)?;
    let began = Instant::now();
    let mut expressions = vec![false; options.expressions.len()];
    loop {
        let secs = summary.frame_count as f64 / f64::from(options.fps.max(1));
        let now = Timestamp::from_secs_f64(secs);
        if secs > MAX_SECS {
            return Ok(summary);
        }
        reports.bring(now, &mut stage, sink, &mut summary)?;
        if reports.is_over() && secs > reports.end.as_secs_f64() {
            return Ok(summary);
        }
        for (shown, timed) in expressions.iter_mut().zip(&options.expressions) {
            let is_on = now >= timed.from && now < timed.to;
            if is_on != *shown {
                *shown = is_on;
                stage.express(timed.slot, if is_on { 1.0 } else { 0.0 });
            }
        }
        let frame = stage.tick(now, &options.settings, &camera);
        sink.frame(&frame, &camera).map_err(ReplayError::Output)?;
        summary.frame_count += 1;
        if options.is_realtime {
            std::thread::sleep(Duration::from_secs_f64(secs).saturating_sub(began.elapsed()));
        }
    }
}

/// Brings reports to the stage as their time comes.
struct Reports {
    source: Source,
    /// When the last one was.
    end: Timestamp,
}

enum Source {
    Media { video: Option<Eyes>, audio: Option<Ears> },
    Performance { events: std::vec::IntoIter<PerformanceEvent>, ahead: Option<PerformanceEvent> },
}

struct Eyes {
    feed: VideoFeed,
    model: Box<dyn FaceModel>,
    quality: Quality,
    thinning: Thinning,
    is_lost: bool,
}

struct Ears {
    feed: SoundFeed,
    model: Box<dyn VisemeModel>,
    path: SoundPath,
    samples: Vec<f32>,
    is_lost: bool,
}

impl Reports {
    fn open(inputs: Inputs, settings: &Settings) -> Result<Self, ReplayError> {
        let source = match inputs {
            Inputs::Performance(performance) => {
                Source::Performance { events: performance.events.into_iter(), ahead: None }
            }
            Inputs::Media { video, audio } => {
                let quality = settings.video.quality;
                let thinning = Thinning::default();
                let video = video.map(|(feed, model)| Eyes { feed, model, quality, thinning, is_lost: false });
                let audio = match audio {
                    Some((feed, mut model)) => {
                        model.configure(&settings.audio);
                        let path = SoundPath::new(feed.sample_rate_hz(), settings.audio.gain_db)?;
                        Some(Ears { feed, model, path, samples: vec![0.0; SAMPLES], is_lost: false })
                    }
                    None => None,
                };
                Source::Media { video, audio }
            }
        };
        Ok(Self { source, end: Timestamp::ZERO })
    }

    fn is_over(&self) -> bool {
        match &self.source {
            Source::Media { video, audio } => {
                video.as_ref().is_none_or(|v| v.feed.is_over()) && audio.as_ref().is_none_or(|a| a.feed.is_over())
            }
            Source::Performance { events, ahead } => ahead.is_none() && events.len() == 0,
        }
    }

    /// Everything that was seen and heard by `now`.
    fn bring(
        &mut self,
        now: Timestamp,
        stage: &mut Stage,
        sink: &mut dyn ReplaySink,
        summary: &mut ReplaySummary,
    ) -> Result<(), ReplayError> {
        let mut seen = |report: FaceReport, sink: &mut dyn ReplaySink, stage: &mut Stage| {
            summary.seen_count += 1;
            summary.tracked_count += u64::from(report.observation.is_some());
            sink.seen(&report, now).map_err(ReplayError::Output)?;
            stage.see(report);
            Ok::<_, ReplayError>(())
        };
        let mut heard_count = 0;
        let mut heard = |report: AudioReport, sink: &mut dyn ReplaySink, stage: &mut Stage| {
            heard_count += 1;
            sink.heard(&report, now).map_err(ReplayError::Output)?;
            stage.hear(report);
            Ok::<_, ReplayError>(())
        };
        let end = &mut self.end;
        match &mut self.source {
            Source::Performance { events, ahead } => loop {
                if ahead.is_none() {
                    *ahead = events.next();
                }
                let Some(event) = ahead.take_if(|e| e.arrived_at <= now) else { break };
                *end = event.arrived_at;
                match event.report {
                    PerformanceReport::Video(report) => seen(report, sink, stage)?,
                    PerformanceReport::Audio(report) => heard(report, sink, stage)?,
                }
            },
            Source::Media { video, audio } => {
                if let Some(eyes) = video {
                    while let Some(item) = eyes.feed.due(now)? {
                        let Some(report) = eyes.look(item)? else { continue };
                        let is_lost = eyes.is_lost;
                        *end = (*end).max(report.captured_at);
                        seen(report, sink, stage)?;
                        if is_lost && matches!(eyes.feed, VideoFeed::Stepped { .. }) {
                            break;
                        }
                    }
                }
                if let Some(ears) = audio {
                    while let Some(item) = ears.feed.due(now, &mut ears.samples)? {
                        match item {
                            SoundItem::Lost(at, error) => {
                                ears.is_lost = true;
                                *end = (*end).max(at);
                                let state = lost_sound_state(&error);
                                heard(AudioReport { captured_at: at, state, ..AudioReport::default() }, sink, stage)?;
                                if matches!(ears.feed, SoundFeed::Stepped { .. }) {
                                    break;
                                }
                            }
                            SoundItem::Samples(count, at) => {
                                *end = (*end).max(at);
                                for report in ears.listen(count, at) {
                                    heard(*report, sink, stage)?;
                                }
                            }
                        }
                    }
                }
            }
        }
        summary.heard_count += heard_count;
        Ok(())
    }
}

impl Eyes {
    /// What the item shows; `None` for a picture that is not looked at, to save work.
    fn look(&mut self, item: VideoItem) -> Result<Option<FaceReport>, ReplayError> {
        match item {
            VideoItem::Lost(at, error) => {
                self.is_lost = true;
                Ok(Some(FaceReport { captured_at: at, state: lost_state(&error), ..FaceReport::default() }))
            }
            VideoItem::Frame(frame) => {
                if std::mem::take(&mut self.is_lost) {
                    // As live: a camera that comes back is opened anew.
                    self.model.reset();
                }
                if !self.thinning.takes(frame.captured_at, self.quality) {
                    self.model.pass(&frame);
                    return Ok(None);
                }
                Ok(Some(self.model.observe(&frame)?))
            }
        }
    }
}

impl Ears {
    fn listen(&mut self, count: usize, at: Timestamp) -> &[AudioReport] {
        if std::mem::take(&mut self.is_lost) {
            self.path.reset();
            self.model.reset();
        }
        let samples = self.samples.get_mut(..count).unwrap_or_default();
        self.path.set_source_hints(self.feed.hints());
        self.path.hear(self.model.as_mut(), samples, at)
    }
}
