//! Faults put into the sound of another source, for replay and tests.

use super::AudioSource;
use crate::types::{AudioFault, AudioHints, ErrorKind, Faults, SourceError, Timestamp};

/// Holes are this long ...
const HOLE_SECS: f64 = 0.03;
/// ... and begin this far apart.
const HOLE_EVERY_SECS: f64 = 0.15;

/// A source with faults at set times. While samples are missing, [`AudioSource::read`] takes them from the inner source
/// and gives `(0, time)` for `stalled` and `holes`, and the error for `disconnected`; [`Self::position`] is the time up
/// to which the inner source has been used.
pub struct FaultyAudio<S> {
    source: S,
    faults: Faults,
    /// Read from the source and not dealt with yet.
    waiting: Vec<f32>,
    waiting_at: Timestamp,
}

impl<S: AudioSource> FaultyAudio<S> {
    /// Puts the sound faults of `faults` into `source`.
    pub fn new(source: S, faults: Faults) -> Self {
        Self { source, faults, waiting: Vec::new(), waiting_at: Timestamp::ZERO }
    }

    /// The time of the next sample.
    pub fn position(&self) -> Timestamp {
        self.waiting_at
    }

    fn effect_at(&self, at: Timestamp) -> Option<AudioFault> {
        self.faults.audio_at(at).filter(|fault| {
            let phase = at.as_secs_f64() % HOLE_EVERY_SECS;
            *fault != AudioFault::Holes || phase < HOLE_SECS
        })
    }

    fn time_after(&self, samples: usize) -> Timestamp {
        let secs = samples as f64 / f64::from(self.source.sample_rate_hz().max(1));
        Timestamp::from_secs_f64(self.waiting_at.as_secs_f64() + secs)
    }
}

impl<S: AudioSource> AudioSource for FaultyAudio<S> {
    fn sample_rate_hz(&self) -> u32 {
        self.source.sample_rate_hz()
    }

    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
        if self.faults.is_empty() {
            let (count, at) = self.source.read(out)?;
            self.waiting_at = at;
            self.waiting_at = self.time_after(count);
            return Ok((count, at));
        }
        if self.waiting.is_empty() {
            self.waiting.resize(out.len(), 0.0);
            let read = self.source.read(&mut self.waiting);
            let (count, at) = match read {
                Ok(read) => read,
                Err(error) => {
                    self.waiting.clear();
                    return Err(error);
                }
            };
            self.waiting.truncate(count);
            self.waiting_at = at;
        }
        // One fault at a time: up to where it begins or ends.
        let at = self.waiting_at;
        let effect = self.effect_at(at);
        let limit = self.waiting.len().min(out.len());
        let count = (0..limit).find(|i| self.effect_at(self.time_after(*i)) != effect).unwrap_or(limit);
        let after = self.time_after(count);
        for (to, from) in out.iter_mut().zip(self.waiting.drain(..count)) {
            *to = from;
        }
        self.waiting_at = after;
        match effect {
            None => Ok((count, at)),
            Some(AudioFault::Muted) => {
                out.get_mut(..count).unwrap_or_default().fill(0.0);
                Ok((count, at))
            }
            Some(AudioFault::Stalled | AudioFault::Holes) => Ok((0, at)),
            Some(AudioFault::Disconnected) => {
                Err(SourceError::device(ErrorKind::Gone, "the microphone has been unplugged (as asked for)"))
            }
        }
    }

    fn hints(&self) -> AudioHints {
        self.source.hints()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four seconds of ones at 8 kHz.
    struct Ones(usize);

    impl AudioSource for Ones {
        fn sample_rate_hz(&self) -> u32 {
            8_000
        }

        fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
            let at = Timestamp::from_secs_f64(self.0 as f64 / 8_000.0);
            let count = out.len().min(32_000 - self.0);
            if count == 0 {
                return Err(SourceError::Ended);
            }
            out[..count].fill(1.0);
            self.0 += count;
            Ok((count, at))
        }
    }

    /// For every sample of the four seconds what came out: its value, or `None`; and how often an error came.
    fn run(fault: &str) -> (Vec<Option<f32>>, usize) {
        let faults: Faults = [fault.parse().expect("fault")].into_iter().collect();
        let mut source = FaultyAudio::new(Ones(0), faults);
        let (mut heard, mut errors) = (vec![None; 32_000], 0);
        let mut block = [0.0; 333];
        loop {
            match source.read(&mut block) {
                Ok((count, at)) => {
                    let first = (at.as_secs_f64() * 8_000.0).round() as usize;
                    for (i, value) in block[..count].iter().enumerate() {
                        assert_eq!(heard[first + i].replace(*value), None, "each sample once");
                    }
                }
                Err(SourceError::Ended) => return (heard, errors),
                Err(error) => {
                    assert_eq!(error.kind(), ErrorKind::Gone);
                    errors += 1;
                }
            }
        }
    }

    #[test]
    fn faults_begin_and_end_at_their_sample() {
        let (muted, _) = run("audio=muted@1.0..2.5");
        assert!(
            muted.iter().enumerate().all(|(i, v)| *v == Some(if (8_000..20_000).contains(&i) { 0.0 } else { 1.0 }))
        );
        for kind in ["stalled", "disconnected"] {
            let (heard, errors) = run(&format!("audio={kind}@1.0..2.5"));
            assert!(heard.iter().enumerate().all(|(i, v)| v.is_none() == (8_000..20_000).contains(&i)), "{kind}");
            assert_eq!(errors > 0, kind == "disconnected");
        }
    }

    #[test]
    fn holes_take_a_fifth() {
        let (heard, _) = run("audio=holes@1.0..2.5");
        let missing = heard.iter().filter(|v| v.is_none()).count() as f32 / 12_000.0;
        assert!((missing - 0.2).abs() < 0.02, "{missing}");
        assert!(heard[..8_000].iter().chain(&heard[20_000..]).all(Option::is_some));
    }
}
