//! WAV files: any rate, channel count and sample format. Streamed; one channel is given out, the one with the voice.

use std::fs::File;
use std::io::{BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use hound::{SampleFormat, WavReader};

use super::AudioSource;
use super::channels::{CHANNEL_LIMIT, ChannelPicker};
use crate::types::{AudioHints, ErrorKind, SourceError, Timestamp};

/// Sound of a WAV file, with times from 0 at the file's own rate.
pub struct WavSource<R = BufReader<File>> {
    path: PathBuf,
    reader: WavReader<R>,
    rate_hz: u32,
    channels: usize,
    /// Begins with the channel that is best over the whole file, and follows the voice if it moves.
    picker: ChannelPicker,
    /// To -1..1; integers by their bit depth.
    scale: f32,
    /// Frames that can be read; a recording that was cut off has fewer than it says.
    frames: u64,
    next: u64,
}

impl WavSource {
    /// Opens a file.
    ///
    /// # Errors
    /// `Setup` if it is missing, `Corrupt` if it is no WAV file or of a kind that is not read.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let file = File::open(path).map_err(|e| {
            SourceError::device(ErrorKind::Setup, format!("the sound file cannot be opened ({e}): {}", path.display()))
        })?;
        Self::read_from(path, BufReader::with_capacity(64 << 10, file))
    }
}

impl<R: Read + Seek> WavSource<R> {
    /// Reads from `reader`; `path` is for messages.
    pub(super) fn read_from(path: &Path, reader: R) -> Result<Self, SourceError> {
        let mut reader = WavReader::new(reader).map_err(|e| corrupt(path, &explain(&e)))?;
        let spec = reader.spec();
        let channels = usize::from(spec.channels);
        if !(1..=CHANNEL_LIMIT).contains(&channels) {
            return Err(corrupt(path, &format!("it has {channels} channels; 1 to {CHANNEL_LIMIT} are read")));
        }
        if !super::resample::INPUT_RATES_HZ.contains(&spec.sample_rate) {
            return Err(corrupt(path, &format!("its rate of {} Hz is not 8000 to 192000 Hz", spec.sample_rate)));
        }
        let scale = match (spec.sample_format, spec.bits_per_sample) {
            (SampleFormat::Float, 32) => 1.0,
            (SampleFormat::Int, bits @ 1..=32) => 1.0 / (1_u64 << (bits - 1)) as f32,
            (_, bits) => return Err(corrupt(path, &format!("{bits}-bit samples of this kind are not read"))),
        };
        let rate_hz = spec.sample_rate;
        let (frames, channel) = survey(&mut reader, channels, rate_hz, scale);
        if frames == 0 && reader.len() > 0 {
            return Err(corrupt(path, "its samples cannot be read"));
        }
        reader.seek(0).map_err(|e| corrupt(path, &e.to_string()))?;
        let picker = ChannelPicker::starting_at(channel, channels, rate_hz);
        Ok(Self { path: path.into(), reader, rate_hz, channels, picker, scale, frames, next: 0 })
    }

    /// The length, seconds.
    pub fn duration_secs(&self) -> f64 {
        self.frames as f64 / f64::from(self.rate_hz)
    }

    /// The channel that is given out, from 0.
    pub fn channel(&self) -> usize {
        self.picker.current()
    }
}

fn corrupt(path: &Path, why: &str) -> SourceError {
    SourceError::device(ErrorKind::Corrupt, format!("the sound file cannot be read: {why}: {}", path.display()))
}

fn explain(error: &hound::Error) -> String {
    match error {
        hound::Error::Unsupported => "this kind of WAV is not read; write 8 to 32 bit PCM or 32-bit float".into(),
        other => other.to_string(),
    }
}

/// Calls `take` with every sample until the end or the first that cannot be read.
fn for_samples<R: Read>(reader: &mut WavReader<R>, scale: f32, limit: u64, mut take: impl FnMut(f32)) {
    let mut give = |sample: f32| take(if sample.is_finite() { sample } else { 0.0 });
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    match reader.spec().sample_format {
        SampleFormat::Float => reader.samples::<f32>().take(limit).map_while(Result::ok).for_each(&mut give),
        SampleFormat::Int => {
            reader.samples::<i32>().take(limit).map_while(Result::ok).for_each(|s| give(s as f32 * scale));
        }
    }
}

/// Calls `take` with every frame until the end or the first that cannot be read whole; returns how many there were.
fn for_frames<R: Read>(
    reader: &mut WavReader<R>,
    channels: usize,
    scale: f32,
    limit: u64,
    mut take: impl FnMut(&[f32; CHANNEL_LIMIT]),
) -> u64 {
    let mut frame = [0.0; CHANNEL_LIMIT];
    let mut filled = 0;
    let mut frames = 0;
    for_samples(reader, scale, limit.saturating_mul(channels as u64), |sample| {
        if let Some(slot) = frame.get_mut(filled) {
            *slot = sample;
        }
        filled += 1;
        if filled == channels {
            take(&frame);
            filled = 0;
            frames += 1;
        }
    });
    frames
}

/// How many whole frames there are, and which channel has the voice.
fn survey<R: Read>(reader: &mut WavReader<R>, channels: usize, rate_hz: u32, scale: f32) -> (u64, usize) {
    let mut picker = ChannelPicker::new(channels, rate_hz);
    let frames = for_frames(reader, channels, scale, u64::MAX, |frame| {
        picker.pick(|channel| frame.get(channel).copied().unwrap_or_default());
    });
    (frames, picker.best_so_far())
}

impl<R: Read + Seek + Send> AudioSource for WavSource<R> {
    fn sample_rate_hz(&self) -> u32 {
        self.rate_hz
    }

    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
        let at = Timestamp::from_secs_f64(self.next as f64 / f64::from(self.rate_hz));
        let wanted = (self.frames - self.next).min(out.len() as u64);
        if wanted == 0 {
            return if out.is_empty() { Ok((0, at)) } else { Err(SourceError::Ended) };
        }
        let (picker, mut slots) = (&mut self.picker, out.iter_mut());
        let read = for_frames(&mut self.reader, self.channels, self.scale, wanted, |frame| {
            let value = picker.pick(|channel| frame.get(channel).copied().unwrap_or_default());
            if let Some(slot) = slots.next() {
                *slot = value;
            }
        });
        if read != wanted {
            return Err(corrupt(&self.path, "it has changed while it was read"));
        }
        self.next += wanted;
        Ok((wanted as usize, at))
    }

    fn hints(&self) -> AudioHints {
        AudioHints { wrong_channel: self.picker.is_voice_elsewhere(), ..AudioHints::default() }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use std::io::Cursor;

    use proptest::prelude::*;

    use super::*;

    pub(in crate::audio) fn wav(spec: hound::WavSpec, samples: impl Iterator<Item = f32>) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let mut writer = hound::WavWriter::new(&mut bytes, spec).expect("writer");
        let peak = (1_i64 << (spec.bits_per_sample - 1)) as f32 - 1.0;
        for sample in samples {
            match spec.sample_format {
                SampleFormat::Float => writer.write_sample(sample).expect("write"),
                SampleFormat::Int => writer.write_sample((sample * peak) as i32).expect("write"),
            }
        }
        writer.finalize().expect("finish");
        bytes.into_inner()
    }

    fn spec(channels: u16, rate: u32, bits: u16, sample_format: SampleFormat) -> hound::WavSpec {
        hound::WavSpec { channels, sample_rate: rate, bits_per_sample: bits, sample_format }
    }

    fn open(bytes: &[u8]) -> Result<WavSource<Cursor<&[u8]>>, SourceError> {
        WavSource::read_from(Path::new("test.wav"), Cursor::new(bytes))
    }

    fn all(mut source: impl AudioSource) -> Vec<f32> {
        let mut out = Vec::new();
        let mut block = [0.0; 77];
        loop {
            match source.read(&mut block) {
                Ok((count, at)) => {
                    let want = out.len() as f64 / f64::from(source.sample_rate_hz());
                    assert!((at.as_secs_f64() - want).abs() < 1e-6);
                    out.extend_from_slice(&block[..count]);
                }
                Err(SourceError::Ended) => return out,
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn every_sample_format_and_channel_count_is_read() {
        for (bits, format) in [
            (8, SampleFormat::Int),
            (16, SampleFormat::Int),
            (24, SampleFormat::Int),
            (32, SampleFormat::Int),
            (32, SampleFormat::Float),
        ] {
            for channels in [1_u16, 2, 6] {
                let tone = |i: usize| (i as f32 * 0.1).sin() * 0.5;
                // The voice is on the last channel, a whisper of it on the others.
                let last = usize::from(channels) - 1;
                let samples =
                    (0..500).flat_map(|i| (0..=last).map(move |c| tone(i) * if c == last { 1.0 } else { 0.2 }));
                let bytes = wav(spec(channels, 44_100, bits, format), samples);
                let source = open(&bytes).expect("open");
                assert_eq!((source.channel(), source.sample_rate_hz()), (last, 44_100));
                let out = all(source);
                assert_eq!(out.len(), 500);
                let worst = out.iter().enumerate().map(|(i, v)| (v - tone(i)).abs()).fold(0.0, f32::max);
                assert!(worst < 0.013, "{bits} bits {format:?} {channels} channels: {worst}");
            }
        }
    }

    #[test]
    fn a_recording_that_was_cut_off_is_read_as_far_as_it_goes() {
        let bytes = wav(spec(2, 16_000, 16, SampleFormat::Int), (0..2000).map(|i| i as f32 / 4000.0));
        let out = all(open(&bytes[..44 + 1001]).expect("open"));
        assert_eq!(out.len(), 250);
    }

    #[test]
    fn broken_files_say_why() {
        let error = |bytes: &[u8]| open(bytes).err().expect("error");
        assert_eq!(error(b"").kind(), ErrorKind::Corrupt);
        assert!(error(b"RIFF....").to_string().contains("test.wav"));
        let fast = wav(spec(1, 400_000, 16, SampleFormat::Int), [0.0].into_iter());
        assert!(error(&fast).to_string().contains("400000 Hz"));
        let whole = wav(spec(1, 16_000, 16, SampleFormat::Int), [0.5; 10].into_iter());
        assert!(error(&whole[..44]).to_string().contains("cannot be read"));
        let silent = wav(spec(1, 16_000, 16, SampleFormat::Int), [].into_iter());
        assert!(all(open(&silent).expect("open")).is_empty());
        let nan = wav(spec(1, 16_000, 32, SampleFormat::Float), [f32::NAN, 0.5].into_iter());
        assert_eq!(all(open(&nan).expect("open")), [0.0, 0.5]);
    }

    proptest! {
        #[test]
        fn mangled_files_never_panic(hits in proptest::collection::vec((0_usize..60, any::<u8>()), 1..12)) {
            let mut bytes = wav(spec(2, 16_000, 16, SampleFormat::Int), [0.5; 40].into_iter());
            for (at, value) in hits {
                bytes[at] = value;
            }
            if let Ok(mut source) = open(&bytes) {
                let mut block = [0.0; 16];
                while source.read(&mut block).is_ok() {}
            }
        }
    }
}
