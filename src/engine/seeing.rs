//! The `face` thread: newest picture → face model → newest report. Opens, watches and reopens the picture source.
//!
//! The thread owns its source: opened, used and dropped here. A source that dies only ends its own session.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use super::command::Sources;
use super::retry::Retry;
use super::shared::Shared;
use super::telemetry::{History, RateMeter, VideoTelemetry};
use crate::capture::FrameSource;
use crate::face::FaceModel;
use crate::settings::VideoSettings;
use crate::sync::{LatestWriter, SessionClock, StopFlag};
use crate::types::{ErrorKind, FaceReport, SourceError, Timestamp, VideoFrame, VideoState};

/// How long one wait for a picture lasts; between two the thread looks at settings and its stop flag.
const WAIT: Duration = Duration::from_millis(50);
/// Without a picture for this long the source is stalled.
const STALLED_AFTER: Duration = Duration::from_millis(300);
/// A source that gives nothing for this long is opened anew.
const REOPEN_AFTER: Duration = Duration::from_secs(3);

/// An open picture source and its name for the window.
pub struct OpenedFrames {
    /// Gives the pictures.
    pub source: Box<dyn FrameSource>,
    /// For the window.
    pub name: String,
}

/// Opens picture sources; runs on the `face` thread.
pub type FrameOpener = Box<dyn FnMut(Sources, &VideoSettings) -> Result<OpenedFrames, SourceError> + Send>;

/// Makes the face model; runs on the `face` thread, since loading takes a moment.
pub type FaceModelMaker = Box<dyn FnMut() -> Result<Box<dyn FaceModel>, crate::face::FaceError> + Send>;

pub(super) struct Seeing {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: SessionClock,
    pub(super) open: FrameOpener,
    pub(super) make_model: FaceModelMaker,
    pub(super) reports: LatestWriter<FaceReport>,
}

/// Why a session with a source ended.
enum SessionEnd {
    /// The user wants another source.
    Changed,
    /// The source failed or ended.
    Failed(SourceError),
    /// The thread shall end.
    Stopped,
}

/// What the user wants to be open.
#[derive(Clone, PartialEq)]
struct Wanted {
    sources: Sources,
    video: VideoSettings,
}

impl Seeing {
    /// The thread's whole life.
    pub(super) fn run(mut self, stop: &StopFlag) {
        let mut model = loop {
            match (self.make_model)() {
                Ok(model) => break model,
                Err(error) => {
                    tracing::error!("{error}");
                    self.publish_loss(VideoState::Disconnected, Some(error.to_string()));
                    // Nothing mends a broken model but a new installation.
                    if stop.sleep(Duration::from_secs(3600)) {
                        return;
                    }
                }
            }
        };
        let mut retry = Retry::default();
        while !stop.is_set() {
            let wanted = self.wanted();
            if wanted.sources == Sources::Stopped || (wanted.sources == Sources::Devices && !wanted.video.enabled) {
                self.publish_loss(VideoState::Disconnected, None);
                self.sleep_while(&wanted, Duration::from_secs(3600), stop);
                continue;
            }
            model.reset();
            // A driver or network that panics costs its session, never the program.
            let end = catch_unwind(AssertUnwindSafe(|| self.session(&wanted, model.as_mut(), &mut retry, stop)));
            let error = match end {
                Ok(SessionEnd::Changed) => {
                    retry.succeed();
                    continue;
                }
                Ok(SessionEnd::Stopped) => return,
                Ok(SessionEnd::Failed(error)) => error,
                Err(_) => SourceError::device(ErrorKind::Gone, "the camera's driver failed; it is opened anew"),
            };
            self.publish_loss(lost_state(&error), Some(error.to_string()));
            self.sleep_while(&wanted, retry.after_failure(), stop);
        }
    }

    fn wanted(&self) -> Wanted {
        Wanted { sources: self.shared.sources.get(), video: self.shared.settings.get().video.clone() }
    }

    /// Sleeps until `duration` is over, the user wants something else, or asks for a retry.
    fn sleep_while(&self, wanted: &Wanted, duration: Duration, stop: &StopFlag) {
        let retries = self.shared.retry_count();
        let until = self.clock.now() + duration;
        while self.clock.now() < until && *wanted == self.wanted() && retries == self.shared.retry_count() {
            if stop.sleep(Duration::from_millis(50)) {
                return;
            }
        }
    }

    fn session(
        &mut self,
        wanted: &Wanted,
        model: &mut dyn FaceModel,
        retry: &mut Retry,
        stop: &StopFlag,
    ) -> SessionEnd {
        let OpenedFrames { mut source, name } = match (self.open)(wanted.sources, &wanted.video) {
            Ok(opened) => opened,
            Err(error) => return SessionEnd::Failed(error),
        };
        tracing::info!("camera open: {name}");
        self.shared.video.update(|v| {
            *v = VideoTelemetry { source: name, state: VideoState::FaceLost, ..VideoTelemetry::default() };
        });
        let mut tracker_rate = RateMeter::default();
        let mut camera_rate = CameraRate::default();
        let mut tracker_ms = History::new(300);
        let mut last_frame_at = self.clock.now();
        let mut last_seq = None;
        loop {
            if stop.is_set() {
                return SessionEnd::Stopped;
            }
            if *wanted != self.wanted() {
                return SessionEnd::Changed;
            }
            match source.next_frame(WAIT) {
                Ok(frame) => {
                    last_frame_at = self.clock.now();
                    retry.succeed();
                    let camera_fps = camera_rate.frame(&frame);
                    let skipped = last_seq.map_or(0, |last: u64| frame.seq.saturating_sub(last + 1));
                    last_seq = Some(frame.seq);
                    let report = match model.observe(&frame) {
                        Ok(report) => report,
                        Err(error) => {
                            self.shared.video.update(|v| v.message = Some(error.to_string()));
                            continue;
                        }
                    };
                    let now = self.clock.now();
                    tracker_ms.push(now.saturating_since(last_frame_at).as_secs_f32() * 1000.0);
                    let tracker_fps = tracker_rate.tick(now.as_secs_f64());
                    let percentiles = tracker_ms.percentiles();
                    self.shared.video.update(|v| {
                        v.camera_fps = camera_fps;
                        v.tracker_fps = tracker_fps;
                        v.tracker_ms = percentiles;
                        v.dropped_count += skipped;
                        v.message = None;
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

    /// Tells stage and window that there is no source.
    fn publish_loss(&self, state: VideoState, message: Option<String>) {
        let now = self.clock.now();
        self.publish_state(state, message, now);
        self.shared.video.update(|v| {
            v.source.clear();
            (v.camera_fps, v.tracker_fps) = (0.0, 0.0);
        });
    }

    fn publish_state(&self, state: VideoState, message: Option<String>, now: Timestamp) {
        let report = FaceReport { captured_at: now, state, ..FaceReport::default() };
        self.shared.video.update(|v| {
            v.message = message;
            note_report(v, &report);
        });
        self.reports.publish(report);
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
