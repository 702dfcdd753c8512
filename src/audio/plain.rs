//! Any source as what the voice stage wants: 16 kHz mono, without offset, with the user's gain.

use super::{AudioSource, Conditioner, OUTPUT_RATE_HZ, RateError, Resampler};
use crate::types::{AudioHints, SourceError, Timestamp};

/// Samples taken from the source at a time: 10 ms at 48 kHz.
const BLOCK: usize = 480;

/// A source at 16 kHz.
pub struct PlainAudio<S> {
    source: S,
    conditioner: Conditioner,
    resampler: Resampler,
    block: [f32; BLOCK],
    /// Resampled and not given out yet.
    waiting: Vec<f32>,
    /// The moment of the first one of them.
    waiting_at: Timestamp,
}

impl<S: AudioSource> PlainAudio<S> {
    /// Makes `source` plain.
    ///
    /// # Errors
    /// If its rate is out of range.
    pub fn new(source: S, gain_db: f32) -> Result<Self, RateError> {
        let rate_hz = source.sample_rate_hz();
        Ok(Self {
            source,
            conditioner: Conditioner::new(rate_hz, gain_db),
            resampler: Resampler::new(rate_hz)?,
            block: [0.0; BLOCK],
            waiting: Vec::with_capacity(BLOCK * 4),
            waiting_at: Timestamp::ZERO,
        })
    }

    /// Changes the gain, dB.
    pub fn set_gain_db(&mut self, gain_db: f32) {
        self.conditioner.set_gain_db(gain_db);
    }

    /// The source itself.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// All that a file still holds.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn read_all(&mut self) -> Result<Vec<f32>, SourceError> {
        let (mut samples, mut block) = (Vec::new(), [0.0; BLOCK]);
        loop {
            match self.read(&mut block) {
                Ok((0, _)) | Err(SourceError::Ended) => return Ok(samples),
                Ok((count, _)) => samples.extend(block.iter().take(count)),
                Err(error) => return Err(error),
            }
        }
    }

    /// Gives the source back, to close it.
    pub fn into_source(self) -> S {
        self.source
    }
}

impl<S: AudioSource> AudioSource for PlainAudio<S> {
    fn sample_rate_hz(&self) -> u32 {
        OUTPUT_RATE_HZ
    }

    /// Gives at most what one block of the source makes: times stay exact, also across lost samples.
    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
        while self.waiting.is_empty() {
            let (count, at) = self.source.read(&mut self.block)?;
            if count == 0 {
                return Ok((0, at));
            }
            let block = self.block.get_mut(..count).unwrap_or_default();
            self.conditioner.process(block);
            self.waiting_at = self.resampler.push(block, at, &mut self.waiting);
        }
        let count = self.waiting.len().min(out.len());
        for (to, from) in out.iter_mut().zip(self.waiting.drain(..count)) {
            *to = from;
        }
        let at = self.waiting_at;
        self.waiting_at = Timestamp::from_secs_f64(at.as_secs_f64() + count as f64 / f64::from(OUTPUT_RATE_HZ));
        Ok((count, at))
    }

    fn hints(&self) -> AudioHints {
        self.source.hints().or(self.conditioner.hints())
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::wav::tests::wav;
    use super::*;

    #[test]
    fn a_tone_keeps_its_pitch_its_level_and_its_time() {
        let spec = hound::WavSpec {
            channels: 2,
            sample_rate: 44_100,
            bits_per_sample: 16,
            sample_format: hound::SampleFormat::Int,
        };
        let tone = |t: f64| ((t * 500.0 * std::f64::consts::TAU).sin() * 0.25) as f32;
        let bytes = wav(spec, (0..44_100).flat_map(|i| [tone(f64::from(i) / 44_100.0), 0.0]));
        let source = super::super::WavSource::read_from(Path::new("t.wav"), std::io::Cursor::new(bytes)).expect("wav");
        let mut plain = PlainAudio::new(source, 6.0206).expect("rate");
        let (mut out, mut block) = (Vec::new(), [0.0; 100]);
        loop {
            match plain.read(&mut block) {
                Ok((count, at)) => {
                    assert!((at.as_secs_f64() - out.len() as f64 / 16_000.0).abs() < 1e-5);
                    out.extend_from_slice(&block[..count]);
                }
                Err(SourceError::Ended) => break,
                Err(error) => panic!("{error}"),
            }
        }
        assert!(out.len() > 15_900, "{}", out.len());
        for (i, value) in out.iter().enumerate().skip(4000) {
            let want = 2.0 * tone(i as f64 / 16_000.0);
            // The DC blocker turns the phase of 500 Hz by 3°.
            assert!((value - want).abs() < 0.04, "sample {i}: {value} for {want}");
        }
    }
}
