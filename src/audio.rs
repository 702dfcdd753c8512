//! Sources of sound: microphones (cpal), WAV files, the presenter's voice. Channels and rates are made plain here.
//!
//! Knows nothing of visemes. All cpal calls stay on the thread that owns the device.

mod anchor;
mod callback;
mod channels;
mod condition;
mod faulty;
mod files;
mod microphone;
mod plain;
pub mod presenter;
mod resample;
mod wav;

pub use anchor::ClockAnchor;
pub use callback::{AudioCallback, CallbackState, StreamFault};
pub use channels::ChannelPicker;
pub use condition::Conditioner;
pub use faulty::FaultyAudio;
pub use files::{open_audio, sound_of_video};
pub use microphone::{Microphone, MicrophoneHealth, MicrophoneInfo, list_microphones};
pub use plain::PlainAudio;
pub use resample::{OUTPUT_RATE_HZ, RateError, Resampler};
pub use wav::WavSource;

use crate::types::{AudioHints, SourceError, Timestamp};

/// Gives mono samples.
pub trait AudioSource: Send {
    /// Samples a second; constant for an open source.
    fn sample_rate_hz(&self) -> u32;

    /// Fills the front of `out` with the next samples, -1..1, without waiting: how many, and when the first one was
    /// captured. `(0, _)` if none are there yet.
    ///
    /// # Errors
    /// `Ended` after the last sample of a file, `Device` if the device failed.
    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError>;

    /// What is odd about the source now.
    fn hints(&self) -> AudioHints {
        AudioHints::default()
    }
}

impl<S: AudioSource + ?Sized> AudioSource for Box<S> {
    fn sample_rate_hz(&self) -> u32 {
        (**self).sample_rate_hz()
    }

    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
        (**self).read(out)
    }

    fn hints(&self) -> AudioHints {
        (**self).hints()
    }
}
