//! Samples of any source become reports: gain and DC removal, 16 kHz, classifier. The same live and in replay.

use std::time::Duration;

use crate::audio::{Conditioner, RateError, Resampler};
use crate::types::{AudioHints, AudioReport, Timestamp};
use crate::voice::VisemeModel;

/// What lies between an [`AudioSource`](crate::audio::AudioSource) and the mixer.
#[derive(Debug)]
pub struct SoundPath {
    conditioner: Conditioner,
    resampler: Resampler,
    resampled: Vec<f32>,
    reports: Vec<AudioReport>,
    source_hints: AudioHints,
}

impl SoundPath {
    /// A path for a source of this rate.
    ///
    /// # Errors
    /// If no microphone has such a rate.
    pub fn new(sample_rate_hz: u32, gain_db: f32) -> Result<Self, RateError> {
        Ok(Self {
            conditioner: Conditioner::new(sample_rate_hz, gain_db),
            resampler: Resampler::new(sample_rate_hz)?,
            resampled: Vec::with_capacity(8192),
            reports: Vec::with_capacity(64),
            source_hints: AudioHints::default(),
        })
    }

    /// How long a sample waits in here before the classifier gets it; time stamps already allow for it.
    pub fn delay(&self) -> Duration {
        self.resampler.delay()
    }

    /// What the source says about itself; goes into the next reports.
    pub fn set_source_hints(&mut self, hints: AudioHints) {
        self.source_hints = hints;
    }

    /// Gain before the classifier, dB.
    pub fn set_gain_db(&mut self, gain_db: f32) {
        self.conditioner.set_gain_db(gain_db);
    }

    /// Forgets the stream: the next samples come from a device that was opened anew. The model has its own reset.
    pub fn reset(&mut self) {
        self.resampler.reset();
    }

    /// The 16 kHz samples of the last call of [`SoundPath::hear`].
    pub fn resampled(&self) -> &[f32] {
        &self.resampled
    }

    /// Takes the next samples, the first captured at `captured_at`; gives the reports that became complete.
    pub fn hear(&mut self, model: &mut dyn VisemeModel, samples: &mut [f32], captured_at: Timestamp) -> &[AudioReport] {
        self.conditioner.process(samples);
        self.resampled.clear();
        let at = self.resampler.push(samples, captured_at, &mut self.resampled);
        self.reports.clear();
        model.classify(&self.resampled, at, &mut self.reports);
        let hints = self.source_hints.or(self.conditioner.hints());
        self.reports.iter_mut().for_each(|report| report.hints = report.hints.or(hints));
        &self.reports
    }
}
