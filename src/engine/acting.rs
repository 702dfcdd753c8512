//! The `stage` thread: once per displayed frame, newest reports in, a picture out. It paces itself and never waits for
//! the control window, a device or a file.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Receiver;

use super::command::Command;
use super::hearing::HeardBatch;
use super::pacer::Pacer;
use super::picture::{Picture, camera_of};
use super::shared::Shared;
use super::stage::Stage;
use super::telemetry::{History, RateMeter, StageTelemetry};
use crate::avatar::AvatarModel;
use crate::sync::{LatestReader, SessionClock, StopFlag};
use crate::types::{FaceReport, Timestamp};

/// How many of the last values percentiles are made of.
const HISTORY: usize = 600;
/// How long an overloaded stage waits for the next observation: one picture of a camera with 25 a second.
const OVERLOAD_WAIT: Duration = Duration::from_millis(40);
/// It waits only while observations come.
const CAMERA_ALIVE_WITHIN: Duration = Duration::from_millis(250);
/// How often telemetry is renewed.
const TELL_EVERY: Duration = Duration::from_millis(50);

pub(super) struct Acting {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: SessionClock,
    pub(super) seed: u64,
    pub(super) faces: LatestReader<FaceReport>,
    pub(super) voices: LatestReader<HeardBatch>,
    pub(super) avatars: LatestReader<Arc<AvatarModel>>,
    pub(super) commands: Receiver<Command>,
    pub(super) picture: Picture,
}

/// What is measured about the stage.
struct Meters {
    rate: RateMeter,
    act_ms: History,
    draw_ms: History,
    latency_ms: History,
    told_at: Timestamp,
    frames: u64,
}

impl Acting {
    /// The thread's whole life.
    pub(super) fn run(mut self, stop: &StopFlag) {
        let mut pacer = Pacer::new(Instant::now());
        let mut stage: Option<Stage> = None;
        let mut heard_until = None;
        let mut unseen: Option<Timestamp> = None;
        let mut seen_at: Option<Timestamp> = None;
        let mut frame_took = Duration::ZERO;
        let mut meters = Meters {
            rate: RateMeter::default(),
            act_ms: History::new(HISTORY),
            draw_ms: History::new(HISTORY),
            latency_ms: History::new(HISTORY),
            told_at: Timestamp::ZERO,
            frames: 0,
        };
        while !stop.is_set() {
            let settings = self.shared.settings.get();
            pacer.wait(settings.output.fps, stop);
            if let Some(model) = self.avatars.take() {
                match &mut stage {
                    Some(stage) => stage.set_avatar(model),
                    None => stage = Some(Stage::new(model, self.seed)),
                }
            }
            self.obey(stage.as_mut());
            let Some(stage) = &mut stage else { continue };
            // Whatever has to be waited for is waited for before the newest reports are taken.
            self.picture.prepare(&settings, self.clock.now());
            let period = Duration::from_secs_f64(1.0 / f64::from(settings.output.fps.max(1)));
            if let Some(report) = self.newest_face(frame_took > period, seen_at) {
                if report.observation.is_some() {
                    unseen = Some(report.captured_at);
                    seen_at = Some(self.clock.now());
                }
                stage.see(report);
            }
            if let Some(batch) = self.voices.take() {
                for report in batch.after(heard_until) {
                    heard_until = Some(report.captured_at);
                    stage.hear(*report);
                }
            }
            let began = Instant::now();
            let now = self.clock.now();
            let model = stage.model().clone();
            let camera = camera_of(&model, &settings, self.picture.aspect());
            let frame = stage.tick(now, &settings, &camera);
            let acted = Instant::now();
            let is_shown = self.picture.show(&model, frame.posed, camera, &settings, now);
            meters.act_ms.push((acted - began).as_secs_f32() * 1000.0);
            meters.draw_ms.push(acted.elapsed().as_secs_f32() * 1000.0);
            let shown_at = self.clock.now();
            if is_shown && let Some(captured_at) = unseen.take() {
                meters.latency_ms.push(shown_at.saturating_since(captured_at).as_secs_f32() * 1000.0);
            }
            frame_took = began.elapsed();
            meters.frames += 1;
            let fps = meters.rate.tick(shown_at.as_secs_f64());
            if shown_at.saturating_since(meters.told_at) >= TELL_EVERY {
                meters.told_at = shown_at;
                self.shared.stage.update(|s| {
                    *s = StageTelemetry {
                        fps,
                        act_ms: meters.act_ms.percentiles(),
                        draw_ms: meters.draw_ms.percentiles(),
                        latency_ms: meters.latency_ms.percentiles(),
                        mouth: frame.face.mouth,
                        mode: settings.lipsync.mode,
                        trust: frame.face.trust,
                        alignment: frame.face.alignment,
                        frame_count: meters.frames,
                        skipped_count: pacer.skipped_count(),
                    };
                });
                self.shared.picture.update(|p| p.clone_from(self.picture.telemetry()));
            }
        }
    }

    /// The newest report. A machine that cannot keep the rate anyway waits a moment for the next one: the frame then
    /// shows it fresh instead of one frame late, and the tracker gets the processor meanwhile.
    fn newest_face(&self, is_overloaded: bool, seen_at: Option<Timestamp>) -> Option<FaceReport> {
        let report = self.faces.take();
        let is_camera_alive = seen_at.is_some_and(|at| self.clock.now().saturating_since(at) < CAMERA_ALIVE_WITHIN);
        if report.is_some() || !is_overloaded || !is_camera_alive {
            return report;
        }
        self.faces.wait(OVERLOAD_WAIT).ok()
    }

    fn obey(&mut self, mut stage: Option<&mut Stage>) {
        while let Ok(command) = self.commands.try_recv() {
            match command {
                Command::SetSources(sources) => self.shared.sources.update(|s| *s = sources),
                Command::Retry => self.shared.retry_now(),
                Command::CoachVowels(is_wanted) => self.shared.want_coaching(is_wanted),
                Command::Resize(size) => self.picture.resize(size),
                Command::SetExpression { index, weight } => {
                    if let Some(stage) = stage.as_deref_mut() {
                        stage.express(index, weight);
                    }
                }
            }
        }
    }
}
