//! The `face` thread: newest picture → face model → newest report; or newest report of a remote tracker.
//!
//! The thread owns its source: opened, used and dropped here.

use std::sync::Arc;
use std::time::Duration;

use super::command::Sources;
use super::quality::{Load, Thinning, affordable};
use super::retry::Retry;
use super::shared::Shared;
use super::supervisor::{SessionEnd, Watcher, supervise};
use super::telemetry::{History, RateMeter, VideoTelemetry};
use crate::capture::FrameSource;
use crate::face::{FaceModel, RestMeter};
use crate::receive::ObservationSource;
use crate::settings::{Quality, VideoSettings};
use crate::sync::{LatestWriter, SessionClock, StopFlag};
use crate::types::{ErrorKind, FaceReport, SourceError, Timestamp, VideoFrame, VideoState};

/// How long one wait for a picture lasts; between two the thread looks at settings and its stop flag.
const WAIT: Duration = Duration::from_millis(50);
/// Without a picture for this long the source is stalled.
const STALLED_AFTER: Duration = Duration::from_millis(300);
/// A source that gives nothing for this long is opened anew.
const REOPEN_AFTER: Duration = Duration::from_secs(3);
/// Tracked frames that are timed to learn what the machine can afford, after as many to warm up: a fifth of a second.
const REHEARSALS: usize = 8;

/// An open video source and its name for the window.
pub struct OpenedVideo {
    /// Gives pictures or reports.
    pub feed: VideoFeed,
    /// For the window.
    pub name: String,
}

/// What a video source gives.
pub enum VideoFeed {
    /// Pictures; the face model looks at them.
    Frames(Box<dyn FrameSource>),
    /// Reports of a tracker elsewhere; the face model rests.
    Reports(Box<dyn ObservationSource>),
}

/// Opens video sources; runs on the `face` thread.
pub type VideoOpener = Box<dyn FnMut(Sources, &VideoSettings) -> Result<OpenedVideo, SourceError> + Send>;

/// Makes the face model; runs on the `face` thread, since loading takes a moment.
pub type FaceModelMaker = Box<dyn FnMut() -> Result<Box<dyn FaceModel>, crate::face::FaceError> + Send>;

pub(super) struct Seeing {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: SessionClock,
    pub(super) open: VideoOpener,
    pub(super) make_model: FaceModelMaker,
    pub(super) reports: LatestWriter<FaceReport>,
}

/// What the user wants to be open.
#[derive(PartialEq)]
pub(super) struct Wanted {
    sources: Sources,
    /// Without the quality: that changes while the source stays open.
    video: VideoSettings,
}

/// How the tracker works now.
#[derive(Clone, Copy, Default)]
struct Pace {
    thinning: Thinning,
    load: Load,
    /// What the model was last told; `None` before that.
    quality: Option<Quality>,
    /// What this session measured; `Auto` while it has not.
    found: Quality,
    is_overloaded: bool,
}

impl Seeing {
    /// The thread's whole life.
    pub(super) fn run(self, stop: &StopFlag) {
        let (shared, clock) = (self.shared.clone(), self.clock);
        supervise(self, &shared, clock, stop);
    }

    fn publish_state(&self, state: VideoState, message: Option<String>, now: Timestamp) {
        let report = FaceReport { captured_at: now, state, ..FaceReport::default() };
        self.shared.video.update(|v| {
            v.message = message;
            note_report(v, &report);
        });
        self.reports.publish(report);
    }

    /// The step to work in. Measures the machine if nobody has, and tells the model when the step changes.
    fn settle_quality(&self, pace: &mut Pace, wanted: &Wanted, model: &mut (dyn FaceModel + 'static)) -> Quality {
        let settings = self.shared.settings.get();
        let (chosen, known) = (settings.video.quality, settings.video.quality_found);
        if (chosen, known, pace.found) == (Quality::Auto, Quality::Auto, Quality::Auto) {
            pace.found = self.measure(model);
            tracing::info!("face tracking: this machine affords the step {}", pace.found.name());
        }
        let quality = match chosen {
            Quality::Auto if pace.is_overloaded => Quality::Eco,
            Quality::Auto if known != Quality::Auto => known,
            Quality::Auto => pace.found,
            chosen => chosen,
        };
        if pace.quality.replace(quality) != Some(quality) {
            model.configure(&VideoSettings { quality, ..wanted.video.clone() });
        }
        quality
    }

    /// What this machine can afford. The quickest frames count: what else runs at this moment will not always run.
    fn measure(&self, model: &mut (dyn FaceModel + 'static)) -> Quality {
        let mut least = Duration::MAX;
        for round in 0..2 * REHEARSALS {
            let start = self.clock.now();
            if model.rehearse().is_err() {
                return Quality::Full;
            }
            if round >= REHEARSALS {
                least = least.min(self.clock.now().saturating_since(start));
            }
        }
        affordable(least)
    }

    /// Looks at pictures until the source fails or something else is wanted.
    fn look(
        &mut self,
        wanted: &Wanted,
        mut source: Box<dyn FrameSource>,
        model: &mut (dyn FaceModel + 'static),
        retry: &mut Retry,
        stop: &StopFlag,
    ) -> SessionEnd {
        let mut tracker_rate = RateMeter::default();
        let mut camera_rate = CameraRate::default();
        let mut tracker_ms = History::new(300);
        let mut last_frame_at = self.clock.now();
        let mut last_seq = None;
        let mut pace = Pace::default();
        let mut rest = RestMeter::default();
        let mut calibrated = None;
        loop {
            if stop.is_set() {
                return SessionEnd::Stopped;
            }
            if self.wanted().as_ref() != Some(wanted) {
                return SessionEnd::Changed;
            }
            let quality = self.settle_quality(&mut pace, wanted, model);
            match source.next_frame(WAIT) {
                Ok(frame) => {
                    last_frame_at = self.clock.now();
                    retry.succeed();
                    let camera_fps = camera_rate.frame(&frame);
                    let skipped = last_seq.map_or(0, |last: u64| frame.seq.saturating_sub(last + 1));
                    last_seq = Some(frame.seq);
                    if !pace.thinning.takes(frame.captured_at, quality) {
                        model.pass(&frame);
                        continue;
                    }
                    let settings = self.shared.settings.get();
                    if calibrated.as_ref() != Some(&settings.calibration) {
                        model.calibrate(&settings.calibration);
                        calibrated = Some(settings.calibration.clone());
                    }
                    let report = match model.observe(&frame) {
                        Ok(report) => report,
                        Err(error) => {
                            self.shared.video.update(|v| v.message = Some(error.to_string()));
                            continue;
                        }
                    };
                    let now = self.clock.now();
                    let spent = now.saturating_since(last_frame_at);
                    tracker_ms.push(spent.as_secs_f32() * 1000.0);
                    let camera_interval_secs = if camera_fps > 0.0 { 1.0 / camera_fps } else { 0.0 };
                    pace.is_overloaded = pace.load.note(now, spent, camera_interval_secs);
                    let tracker_fps = tracker_rate.tick(now.as_secs_f64());
                    let percentiles = tracker_ms.percentiles();
                    match &report.observation {
                        Some(seen) => rest.add(seen, report.captured_at),
                        None => rest.clear(),
                    }
                    let rest = rest.rest();
                    self.shared.video.update(|v| {
                        v.camera_fps = camera_fps;
                        v.tracker_fps = tracker_fps;
                        v.tracker_ms = percentiles;
                        v.dropped_count += skipped;
                        (v.quality, v.quality_found) = (quality, pace.found);
                        v.is_overloaded = pace.is_overloaded && quality == Quality::Eco;
                        v.message = None;
                        v.rest = rest;
                        note_report(v, &report);
                    });
                    self.reports.publish(report);
                }
                Err(SourceError::Timeout) => {
                    let now = self.clock.now();
                    let waited = now.saturating_since(last_frame_at);
                    if waited > REOPEN_AFTER {
                        let message = "the camera gives no pictures; it is opened anew";
                        return SessionEnd::Failed(SourceError::device(ErrorKind::Transient, message));
                    }
                    if waited > STALLED_AFTER {
                        self.publish_state(VideoState::Stalled, None, now);
                    }
                }
                Err(SourceError::Ended) if wanted.sources == Sources::Demo => return SessionEnd::Changed,
                Err(error) => return SessionEnd::Failed(error),
            }
        }
    }

    /// Hands on what a tracker elsewhere reports, until the source fails or something else is wanted.
    fn listen(
        &mut self,
        wanted: &Wanted,
        mut source: Box<dyn ObservationSource>,
        retry: &mut Retry,
        stop: &StopFlag,
    ) -> SessionEnd {
        let mut rate = RateMeter::default();
        loop {
            if stop.is_set() {
                return SessionEnd::Stopped;
            }
            if self.wanted().as_ref() != Some(wanted) {
                return SessionEnd::Changed;
            }
            let report = match source.next_report(WAIT) {
                Ok(report) => report,
                Err(SourceError::Timeout) => continue,
                Err(error) => return SessionEnd::Failed(error),
            };
            retry.succeed();
            let now_secs = self.clock.now().as_secs_f64();
            let fps = if report.observation.is_some() { rate.tick(now_secs) } else { rate.rate(now_secs) };
            let (message, dropped_count) = (source.advice(), source.dropped_count());
            self.shared.video.update(|v| {
                (v.camera_fps, v.tracker_fps) = (fps, fps);
                v.dropped_count = dropped_count;
                v.message = message;
                note_report(v, &report);
            });
            self.reports.publish(report);
        }
    }
}

impl Watcher for Seeing {
    type Model = dyn FaceModel;
    type Wanted = Wanted;

    fn make_model(&mut self) -> Result<Box<dyn FaceModel>, String> {
        (self.make_model)().map_err(|e| e.to_string())
    }

    fn wanted(&self) -> Option<Wanted> {
        let sources = self.shared.sources.get();
        let video = self.shared.settings.get().video.clone();
        let video = VideoSettings { quality: Quality::Auto, quality_found: Quality::Auto, ..video };
        let is_off = sources == Sources::Stopped || (sources == Sources::Devices && !video.enabled);
        (!is_off).then_some(Wanted { sources, video })
    }

    fn session(
        &mut self,
        wanted: &Wanted,
        model: &mut (dyn FaceModel + 'static),
        retry: &mut Retry,
        stop: &StopFlag,
    ) -> SessionEnd {
        let OpenedVideo { feed, name } = match (self.open)(wanted.sources, &wanted.video) {
            Ok(opened) => opened,
            Err(error) => return SessionEnd::Failed(error),
        };
        match &feed {
            VideoFeed::Frames(_) => tracing::info!("camera open: {name}"),
            VideoFeed::Reports(_) => tracing::info!("listening to {}", wanted.video.source.title()),
        }
        self.shared.video.update(|v| {
            *v = VideoTelemetry { source: name, state: VideoState::FaceLost, ..VideoTelemetry::default() };
        });
        match feed {
            VideoFeed::Frames(source) => {
                model.reset();
                self.look(wanted, source, model, retry, stop)
            }
            VideoFeed::Reports(source) => self.listen(wanted, source, retry, stop),
        }
    }

    fn tell_loss(&mut self, error: Option<&SourceError>) {
        let now = self.clock.now();
        let is_remote = self.shared.settings.get().video.source.is_remote();
        let state = error.filter(|_| !is_remote).map_or(VideoState::Disconnected, lost_state);
        self.publish_state(state, error.map(ToString::to_string), now);
        self.shared.video.update(|v| {
            v.source.clear();
            v.rest = None;
            (v.camera_fps, v.tracker_fps) = (0.0, 0.0);
        });
    }

    fn driver_failed(&self) -> &'static str {
        "the video source's driver failed; it is opened anew"
    }
}

fn note_report(video: &mut VideoTelemetry, report: &FaceReport) {
    video.state = report.state;
    video.hints = report.hints;
    let seen = report.observation.as_ref();
    video.confidence = seen.map_or(0.0, |o| o.confidence);
    video.raw_head = seen.map(|o| o.head);
    video.raw_position = seen.map(|o| o.position);
}

/// The state in which a failed source leaves the picture.
pub fn lost_state(error: &SourceError) -> VideoState {
    match error {
        SourceError::Timeout => VideoState::Stalled,
        SourceError::Device { kind: ErrorKind::Transient, .. } => VideoState::Stalled,
        SourceError::Device { kind: ErrorKind::Setup, .. } => VideoState::NoPermission,
        _ => VideoState::Disconnected,
    }
}

/// Pictures a second by the camera's own numbering, so that skipped ones count.
#[derive(Default)]
struct CameraRate {
    first: Option<(u64, Timestamp)>,
    rate: f32,
}

impl CameraRate {
    fn frame(&mut self, frame: &VideoFrame) -> f32 {
        let Some((seq, at)) = self.first else {
            self.first = Some((frame.seq, frame.captured_at));
            return 0.0;
        };
        let secs = frame.captured_at.secs_after(at);
        if secs >= 1.0 {
            self.rate = (frame.seq.saturating_sub(seq) as f64 / secs) as f32;
            self.first = Some((frame.seq, frame.captured_at));
        }
        self.rate
    }
}
