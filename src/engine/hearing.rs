//! The `voice` thread: samples → 16 kHz → classifier → newest reports.

use std::sync::Arc;
use std::time::Duration;

use super::command::Sources;
use super::retry::Retry;
use super::shared::Shared;
use super::sound_path::SoundPath;
use super::supervisor::{SessionEnd, Watcher, supervise};
use super::telemetry::AudioTelemetry;
use crate::audio::AudioSource;
use crate::settings::AudioSettings;
use crate::sync::{LatestWriter, SessionClock, StopFlag};
use crate::types::{AudioReport, AudioState, ErrorKind, SourceError, Timestamp};
use crate::voice::{VisemeModel, VowelCoach};

/// How often the ring is looked at.
const POLL: Duration = Duration::from_millis(5);
/// Without samples for this long the source is stalled (BEHAVIOUR §1).
const STALLED_AFTER: Duration = Duration::from_millis(80);
/// A source that gives nothing for this long is opened anew (BEHAVIOUR §1).
const REOPEN_AFTER: Duration = Duration::from_millis(500);
/// A freshly opened device may take this long to start.
const START_WITHIN: Duration = Duration::from_secs(3);
/// Reports handed on together: the stage looks every 16 ms or so, a report comes every 10 ms.
const BATCH: usize = 16;

/// The newest reports of the voice stage, oldest first. The reader skips those it has heard before.
#[derive(Clone, Copy, Debug)]
pub struct HeardBatch {
    reports: [AudioReport; BATCH],
    count: usize,
}

impl HeardBatch {
    fn new() -> Self {
        Self { reports: [AudioReport::default(); BATCH], count: 0 }
    }

    fn push(&mut self, report: AudioReport) {
        if self.count == BATCH {
            self.reports.rotate_left(1);
            self.count -= 1;
        }
        self.reports[self.count] = report;
        self.count += 1;
    }

    /// The reports that are newer than `last`.
    pub fn after(&self, last: Option<Timestamp>) -> impl Iterator<Item = &AudioReport> {
        self.reports.iter().take(self.count).filter(move |r| last.is_none_or(|l| r.captured_at > l))
    }
}

/// An open sound source and its name for the window.
pub struct OpenedSound {
    /// Gives the samples.
    pub source: Box<dyn AudioSource>,
    /// For the window.
    pub name: String,
}

/// Opens sound sources; runs on the `voice` thread.
pub type SoundOpener = Box<dyn FnMut(Sources, &AudioSettings) -> Result<OpenedSound, SourceError> + Send>;

/// Makes the viseme model; runs on the `voice` thread.
pub type VisemeModelMaker = Box<dyn FnMut() -> Result<Box<dyn VisemeModel>, crate::voice::VoiceError> + Send>;

pub(super) struct Hearing {
    pub(super) shared: Arc<Shared>,
    pub(super) clock: SessionClock,
    pub(super) open: SoundOpener,
    pub(super) make_model: VisemeModelMaker,
    pub(super) reports: LatestWriter<HeardBatch>,
    pub(super) batch: HeardBatch,
    pub(super) coach: Option<VowelCoach>,
}

/// What the user wants to be open.
#[derive(PartialEq)]
pub(super) struct Wanted {
    sources: Sources,
    microphone: String,
}

impl Hearing {
    pub(super) fn new(
        shared: Arc<Shared>,
        clock: SessionClock,
        open: SoundOpener,
        make_model: VisemeModelMaker,
        reports: LatestWriter<HeardBatch>,
    ) -> Self {
        Self { shared, clock, open, make_model, reports, batch: HeardBatch::new(), coach: None }
    }

    /// The thread's whole life.
    pub(super) fn run(self, stop: &StopFlag) {
        let (shared, clock) = (self.shared.clone(), self.clock);
        supervise(self, &shared, clock, stop);
    }

    fn publish(&mut self, reports: &[AudioReport]) {
        let Some(newest) = reports.last() else { return };
        reports.iter().for_each(|r| self.batch.push(*r));
        self.reports.publish(self.batch);
        self.shared.audio.update(|a| {
            a.state = newest.state;
            a.hints = newest.hints;
            a.level_db = newest.frame.level_db;
            a.voiced = newest.frame.voiced;
            a.message = None;
        });
    }

    /// Lets the speaker who says the vowels be heard, if one is wanted.
    fn coach(&mut self, samples: &[f32]) {
        if !self.shared.is_coaching_wanted() {
            if self.coach.take().is_some() {
                self.shared.audio.update(|a| a.coaching = None);
            }
            return;
        }
        if self.coach.is_none() {
            match VowelCoach::new() {
                Ok(coach) => self.coach = Some(coach),
                Err(error) => {
                    self.shared.want_coaching(false);
                    self.shared.audio.update(|a| a.message = Some(error.to_string()));
                }
            }
        }
        let Some(coach) = &mut self.coach else { return };
        coach.hear(samples);
        let state = coach.state().clone();
        self.shared.audio.update(|a| a.coaching = Some(state));
    }

    fn publish_state(&mut self, state: AudioState, message: Option<String>, now: Timestamp) {
        let report = AudioReport { captured_at: now, state, ..AudioReport::default() };
        self.batch.push(report);
        self.reports.publish(self.batch);
        self.shared.audio.update(|a| {
            a.state = state;
            a.message = message;
            a.level_db = -120.0;
            a.voiced = 0.0;
        });
    }
}

impl Watcher for Hearing {
    type Model = dyn VisemeModel;
    type Wanted = Wanted;

    fn make_model(&mut self) -> Result<Box<dyn VisemeModel>, String> {
        (self.make_model)().map_err(|e| e.to_string())
    }

    fn wanted(&self) -> Option<Wanted> {
        let sources = self.shared.sources.get();
        let settings = self.shared.settings.get();
        let is_off = sources == Sources::Stopped || (sources == Sources::Devices && !settings.audio.enabled);
        (!is_off).then(|| Wanted { sources, microphone: settings.audio.microphone.clone() })
    }

    fn session(
        &mut self,
        wanted: &Wanted,
        model: &mut (dyn VisemeModel + 'static),
        retry: &mut Retry,
        stop: &StopFlag,
    ) -> SessionEnd {
        model.reset();
        let settings = self.shared.settings.get();
        let OpenedSound { mut source, name } = match (self.open)(wanted.sources, &settings.audio) {
            Ok(opened) => opened,
            Err(error) => return SessionEnd::Failed(error),
        };
        tracing::info!("microphone open: {name}");
        let sample_rate_hz = source.sample_rate_hz();
        self.shared.audio.update(|a| {
            *a =
                AudioTelemetry { source: name, sample_rate_hz, state: AudioState::Silent, ..AudioTelemetry::default() };
        });
        let mut path = match SoundPath::new(sample_rate_hz, settings.audio.gain_db) {
            Ok(path) => path,
            Err(error) => return SessionEnd::Failed(SourceError::device(ErrorKind::Setup, error.to_string())),
        };
        let mut samples = vec![0.0; (sample_rate_hz as usize / 10).max(160)];
        let opened_at = self.clock.now();
        let mut last_samples_at: Option<Timestamp> = None;
        loop {
            if stop.is_set() {
                return SessionEnd::Stopped;
            }
            if self.wanted().as_ref() != Some(wanted) {
                return SessionEnd::Changed;
            }
            match source.read(&mut samples) {
                Ok((0, _)) => {
                    let now = self.clock.now();
                    let waited = now.saturating_since(last_samples_at.unwrap_or(opened_at));
                    let patience = if last_samples_at.is_some() { REOPEN_AFTER } else { START_WITHIN };
                    if waited > patience {
                        let message = "the microphone gives no sound; it is opened anew";
                        return SessionEnd::Failed(SourceError::device(ErrorKind::Transient, message));
                    }
                    if last_samples_at.is_some() && waited > STALLED_AFTER {
                        self.publish_state(AudioState::Stalled, None, now);
                    }
                    std::thread::sleep(POLL);
                }
                Ok((count, captured_at)) => {
                    last_samples_at = Some(self.clock.now());
                    retry.succeed();
                    let settings = self.shared.settings.get();
                    path.set_gain_db(settings.audio.gain_db);
                    path.set_source_hints(source.hints());
                    model.configure(&settings.audio);
                    let heard = samples.get_mut(..count).unwrap_or_default();
                    self.publish(path.hear(model, heard, captured_at));
                    self.coach(path.resampled());
                    if count < samples.len() {
                        std::thread::sleep(POLL);
                    }
                }
                Err(SourceError::Timeout) => std::thread::sleep(POLL),
                Err(SourceError::Ended) if wanted.sources == Sources::Demo => return SessionEnd::Changed,
                Err(error) => return SessionEnd::Failed(error),
            }
        }
    }

    fn tell_loss(&mut self, error: Option<&SourceError>) {
        let state = error.map_or(AudioState::Disconnected, lost_sound_state);
        let now = self.clock.now();
        self.publish_state(state, error.map(ToString::to_string), now);
        self.shared.audio.update(|a| a.source.clear());
    }

    fn driver_failed(&self) -> &'static str {
        "the microphone's driver failed; it is opened anew"
    }
}

/// The state in which a failed source leaves the sound.
pub fn lost_sound_state(error: &SourceError) -> AudioState {
    match error {
        SourceError::Timeout => AudioState::Stalled,
        SourceError::Device { kind: ErrorKind::Transient, .. } => AudioState::Stalled,
        SourceError::Device { kind: ErrorKind::Setup, .. } => AudioState::NoPermission,
        _ => AudioState::Disconnected,
    }
}
