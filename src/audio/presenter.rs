//! The presenter's voice as a built-in microphone: recorded or synthesised speech played in session time, with the
//! faults of the script cut into it.
//!
//! Knows nothing of the drawn person (`capture::presenter`); the caller hands over the script's faults.

use std::io::Cursor;
use std::sync::Arc;
use std::time::Duration;

use super::AudioSource;
use crate::signal::Rng;
use crate::sync::Pace;
use crate::types::{AudioFault, ErrorKind, Faults, SourceError, Timestamp};

/// Longest voice, seconds.
const MAX_SECS: u64 = 3600;
/// Faults begin and end on this grid.
const GRID_PER_SEC: u64 = 1000;
/// Length of a hole and of the sound between two, seconds.
const HOLE_SECS: (f32, f32) = (0.08, 0.30);
const BETWEEN_HOLES_SECS: (f32, f32) = (0.12, 0.55);
/// A reader that comes this much too late has lost what was before, as with a real device's ring.
const RING_SECS: f64 = 0.5;
/// Loudness of the quiet room after the voice has ended: about -76 dB, so that silence is never exact zeros.
const ROOM: f32 = 1.5e-4;

/// What the presenter says.
#[derive(Clone, Debug, PartialEq)]
pub struct Voice {
    /// Mono, -1..1.
    pub samples: Arc<[f32]>,
    /// Samples a second.
    pub rate_hz: u32,
}

impl Voice {
    /// The bundled demo's voice, a WAV file.
    pub const DEMO_WAV: &'static [u8] = include_bytes!("../../assets/presenter/demo.wav");

    /// The voice of the bundled demo: 15 s at 16 kHz.
    ///
    /// # Errors
    /// None that a user could see: the tests read the same bundled file.
    pub fn demo() -> Result<Self, SourceError> {
        Self::from_wav(Self::DEMO_WAV)
    }

    /// Reads a WAV file of at most an hour; several channels are averaged.
    ///
    /// # Errors
    /// `Corrupt` if it is no WAV file that can be played.
    pub fn from_wav(bytes: &[u8]) -> Result<Self, SourceError> {
        let corrupt =
            |what: &str| SourceError::device(ErrorKind::Corrupt, format!("the voice is no usable WAV file: {what}"));
        let mut reader = hound::WavReader::new(Cursor::new(bytes)).map_err(|e| corrupt(&e.to_string()))?;
        let spec = reader.spec();
        if !(4_000..=192_000).contains(&spec.sample_rate) || !(1..=8).contains(&spec.channels) {
            return Err(corrupt("4 to 192 kHz and 1 to 8 channels are expected"));
        }
        if u64::from(reader.duration()) > MAX_SECS * u64::from(spec.sample_rate) {
            return Err(corrupt("it is longer than an hour"));
        }
        let values: Result<Vec<f32>, hound::Error> = match spec.sample_format {
            hound::SampleFormat::Float => reader.samples::<f32>().collect(),
            hound::SampleFormat::Int => {
                let full = (1i64 << spec.bits_per_sample.clamp(1, 32).saturating_sub(1)) as f32;
                reader.samples::<i32>().map(|s| s.map(|s| s as f32 / full)).collect()
            }
        };
        let values = values.map_err(|e| corrupt(&e.to_string()))?;
        let channels = usize::from(spec.channels);
        let mix = |frame: &[f32]| {
            let mean = frame.iter().sum::<f32>() / channels as f32;
            if mean.is_finite() { mean.clamp(-1.0, 1.0) } else { 0.0 }
        };
        Ok(Self { samples: values.chunks_exact(channels).map(mix).collect(), rate_hz: spec.sample_rate })
    }

    /// How long it is.
    pub fn duration(&self) -> Duration {
        Duration::from_secs_f64(self.samples.len() as f64 / f64::from(self.rate_hz.max(1)))
    }
}

/// How the presenter is recorded.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// How long the recording lasts, at most an hour; `None`: as long as the voice. After the voice there is a quiet
    /// room.
    pub lasts: Option<Duration>,
    /// What goes wrong, in the recording's own time. `holes` are 80–300 ms long, the same in every run.
    pub faults: Faults,
    /// The session time at which the recording begins.
    pub starts_at: Timestamp,
    /// When a sample is there.
    pub pace: Pace,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Sound,
    Zeros,
    /// The samples never arrive, the device is there.
    Missing,
    Gone,
}

/// A stretch of samples in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Span {
    to: u64,
    state: State,
}

/// A microphone that hears the presenter.
///
/// By `Pace`: *Free* gives samples as fast as they are read; what a fault swallows is skipped, a disconnection with one
/// error. *Stepped* and *Live* give what has come in up to the clock's time; while disconnected every read fails.
pub struct PresenterMicrophone {
    voice: Voice,
    starts_at: Timestamp,
    pace: Pace,
    spans: Vec<Span>,
    /// The next sample.
    position: u64,
    end: u64,
}

impl PresenterMicrophone {
    /// Starts recording.
    pub fn new(voice: Voice, recording: Recording) -> Self {
        let rate = u64::from(voice.rate_hz.max(1));
        let lasts = recording.lasts.unwrap_or_else(|| voice.duration()).min(Duration::from_secs(MAX_SECS));
        let end = (lasts.as_secs_f64() * rate as f64).round() as u64;
        let spans = spans_of(&recording.faults, end, rate);
        Self { voice, starts_at: recording.starts_at, pace: recording.pace, spans, position: 0, end }
    }

    fn rate(&self) -> f64 {
        f64::from(self.voice.rate_hz.max(1))
    }

    fn time_of(&self, sample: u64) -> Timestamp {
        self.starts_at + Duration::from_secs_f64(sample as f64 / self.rate())
    }

    /// How many samples have come in.
    fn arrived(&self) -> u64 {
        self.pace.now().map_or(self.end, |now| {
            // Half a sample of grace, as session times are whole nanoseconds.
            let secs = now.saturating_since(self.starts_at).as_secs_f64();
            ((secs * self.rate() + 0.5) as u64).min(self.end)
        })
    }

    /// The state at a sample, and the first sample after it that may have another one.
    fn state_at(&self, sample: u64) -> (State, u64) {
        let i = self.spans.partition_point(|s| s.to <= sample);
        self.spans.get(i).map_or((State::Sound, self.end), |s| (s.state, s.to))
    }

    fn sample(&self, i: u64) -> f32 {
        let recorded = usize::try_from(i).ok().and_then(|i| self.voice.samples.get(i));
        recorded.copied().unwrap_or_else(|| Rng::new(i).range(-ROOM, ROOM))
    }
}

impl AudioSource for PresenterMicrophone {
    fn sample_rate_hz(&self) -> u32 {
        self.voice.rate_hz
    }

    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
        let gone =
            || SourceError::device(ErrorKind::Gone, "the presenter's microphone has been unplugged (by its script)");
        let arrived = self.arrived();
        if let Pace::Live(_) = self.pace {
            let oldest = arrived.saturating_sub((RING_SECS * self.rate()) as u64);
            self.position = self.position.max(oldest);
        }
        loop {
            if self.position >= self.end {
                return Err(SourceError::Ended);
            }
            let (state, to) = self.state_at(self.position);
            let to = to.min(arrived);
            if to <= self.position {
                // Nothing new; a device that is gone says so at each read.
                return if state == State::Gone { Err(gone()) } else { Ok((0, self.time_of(self.position))) };
            }
            match state {
                State::Missing => self.position = to,
                State::Gone => {
                    self.position = to;
                    // With a clock, a loss that is over by now is only a gap.
                    if self.pace.now().is_none() {
                        return Err(gone());
                    }
                }
                State::Sound | State::Zeros => {
                    let at = self.position;
                    let count = usize::try_from(to - at).unwrap_or(usize::MAX).min(out.len());
                    for (i, slot) in (at..to).zip(out.iter_mut()) {
                        *slot = if state == State::Zeros { 0.0 } else { self.sample(i) };
                    }
                    self.position += count as u64;
                    return Ok((count, self.time_of(at)));
                }
            }
        }
    }
}

/// The recording's states one after another.
fn spans_of(faults: &Faults, end: u64, rate: u64) -> Vec<Span> {
    if faults.is_empty() {
        return vec![Span { to: end, state: State::Sound }];
    }
    let mut spans: Vec<Span> = Vec::new();
    let mut rng = Rng::new(0x686f_6c65);
    let (mut hole_from, mut hole_to) = (0.0f32, 0.0f32);
    for tick in 0..(end * GRID_PER_SEC).div_ceil(rate) {
        let secs = tick as f64 / GRID_PER_SEC as f64;
        while secs as f32 >= hole_to {
            hole_from = hole_to + rng.range(BETWEEN_HOLES_SECS.0, BETWEEN_HOLES_SECS.1);
            hole_to = hole_from + rng.range(HOLE_SECS.0, HOLE_SECS.1);
        }
        let state = match faults.audio_at(Timestamp::from_secs_f64(secs)) {
            None => State::Sound,
            Some(AudioFault::Muted) => State::Zeros,
            Some(AudioFault::Stalled) => State::Missing,
            Some(AudioFault::Disconnected) => State::Gone,
            Some(AudioFault::Holes) if secs as f32 >= hole_from => State::Missing,
            Some(AudioFault::Holes) => State::Sound,
        };
        let to = ((tick + 1) * rate / GRID_PER_SEC).min(end);
        match spans.last_mut() {
            Some(last) if last.state == state => last.to = to,
            _ => spans.push(Span { to, state }),
        }
    }
    spans
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sync::StepClock;

    const RATE: u32 = 16_000;

    fn secs(t: f64) -> Timestamp {
        Timestamp::from_secs_f64(t)
    }

    fn microphone(faults: &[&str], pace: Pace) -> PresenterMicrophone {
        let samples = (0..RATE * 3).map(|i| 0.5 + 0.4 * (i as f32 * 0.02).sin()).collect();
        let faults = faults.iter().map(|f| f.parse::<crate::types::Fault>().expect("fault")).collect();
        PresenterMicrophone::new(Voice { samples, rate_hz: RATE }, Recording { faults, pace, ..Recording::default() })
    }

    /// Everything there is to read: pieces with their times, and how many errors of a gone device.
    fn read_all(mic: &mut PresenterMicrophone) -> (Vec<(f64, Vec<f32>)>, usize) {
        let (mut pieces, mut gone) = (Vec::new(), 0);
        let mut out = [9.0; 500];
        loop {
            match mic.read(&mut out) {
                Ok((count, at)) => pieces.push((at.as_secs_f64(), out[..count].to_vec())),
                Err(SourceError::Ended) => return (pieces, gone),
                Err(e) => {
                    assert_eq!(e.kind(), ErrorKind::Gone);
                    gone += 1;
                }
            }
        }
    }

    #[test]
    fn without_faults_every_sample_comes_with_its_time() {
        let (pieces, gone) = read_all(&mut microphone(&[], Pace::Free));
        let mut expected = 0.0;
        for (at, samples) in &pieces {
            assert!((at - expected).abs() < 1e-6);
            expected += samples.len() as f64 / f64::from(RATE);
        }
        assert!((expected - 3.0).abs() < 1e-9);
        assert_eq!(gone, 0);
    }

    #[test]
    fn faults_cut_what_they_say_and_nothing_else() {
        let count = |faults: &[&str]| {
            let (pieces, gone) = read_all(&mut microphone(faults, Pace::Free));
            let zeros = pieces.iter().flat_map(|p| &p.1).filter(|s| **s == 0.0).count();
            let all: usize = pieces.iter().map(|p| p.1.len()).sum();
            let in_fault = pieces.iter().filter(|p| (1.0..1.9).contains(&p.0)).count();
            [all, zeros, gone, in_fault]
        };
        assert_eq!(count(&["audio=muted@1..2"])[..3], [48_000, 16_000, 0]);
        assert_eq!(count(&["audio=stalled@1..2"]), [32_000, 0, 0, 0]);
        assert_eq!(count(&["audio=disconnected@1..2"]), [32_000, 0, 1, 0]);
        let [all, zeros, gone, _] = count(&["audio=holes@0..3"]);
        assert!((20_000..42_000).contains(&all), "{all}");
        assert_eq!((zeros, gone), (0, 0));
    }

    #[test]
    fn holes_are_as_long_as_promised() {
        let (pieces, _) = read_all(&mut microphone(&["audio=holes@0..3"], Pace::Free));
        let mut end = 0.0;
        let mut holes = 0;
        for (at, samples) in &pieces {
            let hole = at - end;
            if hole > 1e-6 {
                assert!((0.078..0.303).contains(&hole), "{hole}");
                holes += 1;
            }
            end = at + samples.len() as f64 / f64::from(RATE);
        }
        assert!(holes >= 3, "{holes}");
    }

    #[test]
    fn a_stepped_microphone_gives_what_has_come_in_and_fails_while_gone() {
        let clock = StepClock::default();
        let mut mic = microphone(&["audio=disconnected@1..2"], Pace::Stepped(clock.clone()));
        let mut out = [0.0; 48_000];
        assert_eq!(mic.read(&mut out), Ok((0, Timestamp::ZERO)));
        clock.advance_to(secs(0.01));
        assert_eq!(mic.read(&mut out), Ok((160, Timestamp::ZERO)));
        assert_eq!(mic.read(&mut out), Ok((0, secs(0.01))));
        clock.advance_to(secs(1.5));
        assert_eq!(mic.read(&mut out), Ok((16_000 - 160, secs(0.01))));
        for _ in 0..3 {
            assert_eq!(mic.read(&mut out).map_err(|e| e.kind()), Err(ErrorKind::Gone));
        }
        clock.advance_to(secs(2.25));
        assert_eq!(mic.read(&mut out), Ok((4_000, secs(2.0))));
        clock.advance_to(secs(9.0));
        assert_eq!(mic.read(&mut out), Ok((12_000, secs(2.25))));
        assert_eq!(mic.read(&mut out), Err(SourceError::Ended));
    }

    #[test]
    fn silence_after_the_voice_is_a_quiet_room() {
        let voice = Voice { samples: vec![0.5; 1600].into(), rate_hz: RATE };
        let recording = Recording { lasts: Some(Duration::from_millis(300)), ..Recording::default() };
        let (pieces, _) = read_all(&mut PresenterMicrophone::new(voice, recording));
        let samples: Vec<f32> = pieces.into_iter().flat_map(|p| p.1).collect();
        assert_eq!(samples.len(), 4800);
        let room = &samples[1600..];
        assert!(room.iter().all(|s| s.abs() <= ROOM));
        assert!(room.iter().filter(|s| **s == 0.0).count() < 10);
    }

    #[test]
    fn what_is_no_wav_file_is_refused() {
        for bytes in [&b""[..], b"RIFF", &[0; 100]] {
            assert_eq!(Voice::from_wav(bytes).expect_err("no wav").kind(), ErrorKind::Corrupt);
        }
    }
}
