//! What runs inside the operating system's audio callback.
//!
//! No allocation, lock, channel, log, system call or panic in here: samples go into the ring, everything else into
//! atomics (`tests/it/alloc.rs` runs [`AudioCallback::on_samples`] under a counting allocator).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use cpal::{FromSample, Sample, SampleFormat};

use super::channels::ChannelPicker;
use crate::sync::{RingReader, RingWriter, SessionClock, ring};
use crate::types::Timestamp;

/// Latencies a driver reports beyond this are not believed.
const LATENCY_LIMIT: Duration = Duration::from_millis(250);

/// What the callbacks tell the source.
#[derive(Debug, Default)]
pub struct CallbackState {
    /// Odd while a pair is being written, so that the reader takes no half of one.
    turn: AtomicU64,
    /// Number of the first sample of the newest block.
    block_first: AtomicU64,
    /// When it was captured, nanoseconds of session time.
    block_nanos: AtomicU64,
    /// When the newest callback ran, nanoseconds of session time; 0 before the first.
    heard_nanos: AtomicU64,
    /// The gravest error so far, as [`StreamFault`].
    fault: AtomicU32,
    /// Overruns and the like, which the stream survives.
    glitches: AtomicU64,
    is_voice_elsewhere: AtomicBool,
}

/// Why a stream is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u32)]
pub enum StreamFault {
    /// It is not.
    None,
    /// The device or the sound server has gone, or its settings have changed: open anew.
    Gone,
    /// The system refuses access.
    NoPermission,
}

impl CallbackState {
    /// The newest block: number of its first sample and when that one was captured. `None` before the first block, and
    /// while the callback is just writing one.
    pub fn newest_block(&self) -> Option<(u64, Timestamp)> {
        let before = self.turn.load(Ordering::SeqCst);
        let pair = (self.block_first.load(Ordering::SeqCst), self.block_nanos.load(Ordering::SeqCst));
        let after = self.turn.load(Ordering::SeqCst);
        let is_whole = before == after && before.is_multiple_of(2) && before > 0;
        is_whole.then(|| (pair.0, Timestamp(Duration::from_nanos(pair.1))))
    }

    /// When samples last came; `None` if never.
    pub fn heard_at(&self) -> Option<Timestamp> {
        let nanos = self.heard_nanos.load(Ordering::SeqCst);
        (nanos > 0).then(|| Timestamp(Duration::from_nanos(nanos)))
    }

    /// What the error callback has said.
    pub fn fault(&self) -> StreamFault {
        match self.fault.load(Ordering::SeqCst) {
            0 => StreamFault::None,
            2 => StreamFault::NoPermission,
            _ => StreamFault::Gone,
        }
    }

    /// Overruns so far.
    pub fn glitch_count(&self) -> u64 {
        self.glitches.load(Ordering::Relaxed)
    }

    /// True while another channel than the one in use has the voice, and for a while after it was taken.
    pub fn is_voice_elsewhere(&self) -> bool {
        self.is_voice_elsewhere.load(Ordering::Relaxed)
    }

    /// The error callback. It may come 150 000 times a second, or never: it only adds to atomics.
    pub fn on_error(&self, kind: cpal::ErrorKind) {
        use cpal::ErrorKind as Kind;
        let fault = match kind {
            // The stream goes on.
            Kind::Xrun | Kind::RealtimeDenied | Kind::DeviceChanged => {
                self.glitches.fetch_add(1, Ordering::Relaxed);
                return;
            }
            Kind::PermissionDenied => StreamFault::NoPermission,
            _ => StreamFault::Gone,
        };
        self.set_fault(fault);
    }

    /// Notes that the stream is over.
    pub fn set_fault(&self, fault: StreamFault) {
        self.fault.fetch_max(fault as u32, Ordering::SeqCst);
    }
}

/// The data callback of one stream.
pub struct AudioCallback {
    ring: RingWriter,
    picker: ChannelPicker,
    channels: usize,
    rate_hz: u32,
    clock: SessionClock,
    state: Arc<CallbackState>,
}

impl AudioCallback {
    /// The callback of a stream of interleaved frames, the reader of its samples and what it tells the source.
    /// The ring holds `capacity` samples.
    pub fn new(
        channels: usize,
        rate_hz: u32,
        capacity: usize,
        clock: SessionClock,
    ) -> (Self, RingReader, Arc<CallbackState>) {
        let (writer, reader) = ring(capacity);
        let state = Arc::new(CallbackState::default());
        let callback = Self {
            ring: writer,
            picker: ChannelPicker::new(channels, rate_hz),
            channels: channels.max(1),
            rate_hz: rate_hz.max(1),
            clock,
            state: state.clone(),
        };
        (callback, reader, state)
    }

    /// Takes what cpal delivers, in any of its sample formats.
    pub fn on_data(&mut self, data: &cpal::Data, info: &cpal::InputCallbackInfo) {
        let times = info.timestamp();
        let latency = times.callback.saturating_duration_since(times.capture);
        macro_rules! dispatch {
            ($($format:ident => $sample:ty),*) => {
                match data.sample_format() {
                    $(SampleFormat::$format => {
                        if let Some(samples) = data.as_slice::<$sample>() {
                            self.on_samples(samples, latency);
                        }
                    })*
                    // No other format is asked for.
                    _ => {}
                }
            };
        }
        dispatch!(
            I8 => i8, I16 => i16, I24 => cpal::I24, I32 => i32, I64 => i64,
            U8 => u8, U16 => u16, U24 => cpal::U24, U32 => u32, U64 => u64, F32 => f32, F64 => f64
        );
    }

    /// Takes a block of interleaved frames whose first one was captured `latency` ago, as the driver says.
    pub fn on_samples<T: Sample + Copy>(&mut self, interleaved: &[T], latency: Duration)
    where
        f32: FromSample<T>,
    {
        let now = self.clock.now();
        let frames = interleaved.len() / self.channels;
        if frames == 0 {
            return;
        }
        // The first frame of a block cannot be younger than the block is long.
        let block = Duration::from_nanos(frames as u64 * 1_000_000_000 / u64::from(self.rate_hz));
        let latency = if latency > LATENCY_LIMIT { block } else { latency.max(block) };
        let captured_at = now.saturating_sub(latency);
        let first = self.ring.written_count();

        let picker = &mut self.picker;
        self.ring.write(interleaved.chunks_exact(self.channels).map(|frame| {
            picker.pick(|channel| frame.get(channel).map_or(0.0, |sample| finite(f32::from_sample(*sample))))
        }));

        let state = &*self.state;
        state.turn.fetch_add(1, Ordering::SeqCst);
        state.block_first.store(first, Ordering::SeqCst);
        state.block_nanos.store(nanos(captured_at), Ordering::SeqCst);
        state.turn.fetch_add(1, Ordering::SeqCst);
        state.heard_nanos.store(nanos(now).max(1), Ordering::SeqCst);
        state.is_voice_elsewhere.store(picker.is_voice_elsewhere(), Ordering::Relaxed);
    }
}

/// Drivers do deliver NaN (seen with an ALSA file device); nothing behind this may meet one.
fn finite(sample: f32) -> f32 {
    if sample.is_finite() { sample.clamp(-4.0, 4.0) } else { 0.0 }
}

fn nanos(at: Timestamp) -> u64 {
    u64::try_from(at.0.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_all(reader: &mut RingReader) -> Vec<f32> {
        let mut out = vec![0.0; 4096];
        let (count, _) = reader.read(&mut out);
        out.truncate(count);
        out
    }

    #[test]
    fn every_format_arrives_as_plain_numbers() {
        fn check<T: Sample + Copy>(samples: &[T])
        where
            f32: FromSample<T>,
        {
            let (mut callback, mut reader, _) = AudioCallback::new(1, 48_000, 64, SessionClock::new());
            callback.on_samples(samples, Duration::ZERO);
            let out = read_all(&mut reader);
            for (got, want) in out.iter().zip([0.0, 0.5, -0.5]) {
                assert!((got - want).abs() < 0.01, "{}: {out:?}", std::any::type_name::<T>());
            }
        }
        check::<i8>(&[0, 64, -64]);
        check::<i16>(&[0, 16_384, -16_384]);
        check::<i32>(&[0, 1 << 30, -(1 << 30)]);
        check::<i64>(&[0, 1 << 62, -(1 << 62)]);
        check::<u8>(&[128, 192, 64]);
        check::<u16>(&[32_768, 49_152, 16_384]);
        check::<u32>(&[1 << 31, 3 << 30, 1 << 30]);
        check::<f32>(&[0.0, 0.5, -0.5]);
        check::<f64>(&[0.0, 0.5, -0.5]);
    }

    #[test]
    fn not_a_number_becomes_silence() {
        let (mut callback, mut reader, _) = AudioCallback::new(1, 48_000, 64, SessionClock::new());
        callback.on_samples(&[f32::NAN, 0.1, f32::INFINITY, f32::NEG_INFINITY, 1e30, 0.0], Duration::ZERO);
        assert_eq!(read_all(&mut reader), [0.0, 0.1, 0.0, 0.0, 4.0, 0.0]);
    }

    #[test]
    fn a_cut_frame_at_the_end_is_left_out() {
        let (mut callback, mut reader, state) = AudioCallback::new(2, 48_000, 64, SessionClock::new());
        assert_eq!(state.newest_block(), None);
        callback.on_samples(&[0.1_f32, 0.2, 0.3], Duration::ZERO);
        assert_eq!(read_all(&mut reader).len(), 1);
        callback.on_samples::<f32>(&[], Duration::ZERO);
        callback.on_samples(&[0.1_f32, 0.2], Duration::from_secs(99));
        assert_eq!(state.newest_block().map(|(first, _)| first), Some(1));
        assert!(state.heard_at().is_some());
    }

    #[test]
    fn only_the_gravest_error_counts() {
        let state = CallbackState::default();
        state.on_error(cpal::ErrorKind::Xrun);
        assert_eq!((state.fault(), state.glitch_count()), (StreamFault::None, 1));
        state.on_error(cpal::ErrorKind::PermissionDenied);
        for _ in 0..150_000 {
            state.on_error(cpal::ErrorKind::BackendError);
        }
        assert_eq!(state.fault(), StreamFault::NoPermission);
    }
}
