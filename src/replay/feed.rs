//! Sources in replay: what is due at a moment, and what is missing.

use std::time::Duration;

use crate::audio::{AudioSource, FaultyAudio};
use crate::capture::{FaultyFrames, FrameSource};
use crate::sync::StepClock;
use crate::types::{AudioHints, ErrorKind, Faults, SourceError, Timestamp, VideoFrame};

/// Something that a picture source gives.
pub(super) enum VideoItem {
    Frame(VideoFrame),
    /// The source fails at this moment.
    Lost(Timestamp, SourceError),
}

/// Pictures in order of time.
pub enum VideoFeed {
    /// A file: read as fast as it goes, its own time stamps say when a picture is due.
    File {
        /// The file, with the faults asked for.
        source: FaultyFrames<Box<dyn FrameSource>>,
        /// Read, not due yet.
        ahead: Option<VideoFrame>,
        /// True after the last picture.
        is_over: bool,
    },
    /// A source that keeps to a clock which replay moves.
    Stepped {
        /// The source.
        source: Box<dyn FrameSource>,
        /// Its clock.
        clock: StepClock,
        /// True after the last picture.
        is_over: bool,
    },
}

impl VideoFeed {
    /// Pictures of a file.
    pub fn file(source: Box<dyn FrameSource>, faults: Faults) -> Self {
        Self::File { source: FaultyFrames::new(source, faults), ahead: None, is_over: false }
    }

    /// Pictures of a source that keeps to `clock`.
    pub fn stepped(source: Box<dyn FrameSource>, clock: StepClock) -> Self {
        Self::Stepped { source, clock, is_over: false }
    }

    /// The next thing that has happened by `now`; `None` once there is no more for now.
    ///
    /// # Errors
    /// If a file is broken; a fault that was asked for is no error.
    pub(super) fn due(&mut self, now: Timestamp) -> Result<Option<VideoItem>, SourceError> {
        match self {
            Self::File { source, ahead, is_over } => loop {
                if let Some(frame) = ahead.take_if(|f| f.captured_at <= now) {
                    return Ok(Some(VideoItem::Frame(frame)));
                }
                if ahead.is_some() || *is_over {
                    return Ok(None);
                }
                match source.next_frame(Duration::from_secs(10)) {
                    Ok(frame) => *ahead = Some(frame),
                    Err(SourceError::Ended) => *is_over = true,
                    // Only a fault that was asked for makes a file wait or go away.
                    Err(SourceError::Timeout) => return Ok(None),
                    Err(error) if error.kind() == ErrorKind::Gone => {
                        return Ok(Some(VideoItem::Lost(source.position(), error)));
                    }
                    Err(error) => return Err(error),
                }
            },
            Self::Stepped { source, clock, is_over } => {
                if *is_over {
                    return Ok(None);
                }
                clock.advance_to(now);
                match source.next_frame(Duration::ZERO) {
                    Ok(frame) => Ok(Some(VideoItem::Frame(frame))),
                    Err(SourceError::Timeout) => Ok(None),
                    Err(SourceError::Ended) => {
                        *is_over = true;
                        Ok(None)
                    }
                    Err(error) => Ok(Some(VideoItem::Lost(now, error))),
                }
            }
        }
    }

    /// True after the last picture.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::File { ahead, is_over, .. } => *is_over && ahead.is_none(),
            Self::Stepped { is_over, .. } => *is_over,
        }
    }
}

/// Something that a sound source gives.
pub(super) enum SoundItem {
    /// So many samples at the front of the buffer, the first captured at this time.
    Samples(usize, Timestamp),
    /// The source fails at this moment.
    Lost(Timestamp, SourceError),
}

/// Sound in order of time.
pub enum SoundFeed {
    /// A file.
    File {
        /// The file, with the faults asked for.
        source: FaultyAudio<Box<dyn AudioSource>>,
        /// Up to which time it was read.
        read_to: Timestamp,
        /// True after the last sample.
        is_over: bool,
    },
    /// A source that keeps to a clock which replay moves.
    Stepped {
        /// The source.
        source: Box<dyn AudioSource>,
        /// Its clock.
        clock: StepClock,
        /// True after the last sample.
        is_over: bool,
    },
}

impl SoundFeed {
    /// Sound of a file.
    pub fn file(source: Box<dyn AudioSource>, faults: Faults) -> Self {
        Self::File { source: FaultyAudio::new(source, faults), read_to: Timestamp::ZERO, is_over: false }
    }

    /// Sound of a source that keeps to `clock`.
    pub fn stepped(source: Box<dyn AudioSource>, clock: StepClock) -> Self {
        Self::Stepped { source, clock, is_over: false }
    }

    /// Samples a second.
    pub(super) fn sample_rate_hz(&self) -> u32 {
        match self {
            Self::File { source, .. } => source.sample_rate_hz(),
            Self::Stepped { source, .. } => source.sample_rate_hz(),
        }
    }

    /// What the source says about itself.
    pub(super) fn hints(&self) -> AudioHints {
        match self {
            Self::File { source, .. } => source.hints(),
            Self::Stepped { source, .. } => source.hints(),
        }
    }

    /// The next samples that were captured by `now`; `None` once there are no more for now.
    ///
    /// # Errors
    /// If a file is broken; a fault that was asked for is no error.
    pub(super) fn due(&mut self, now: Timestamp, out: &mut [f32]) -> Result<Option<SoundItem>, SourceError> {
        match self {
            Self::File { source, read_to, is_over } => {
                let rate = f64::from(source.sample_rate_hz());
                let wanted = (now.secs_after(*read_to) * rate).floor();
                if *is_over || wanted < 1.0 {
                    return Ok(None);
                }
                // In steps of 10 ms, so that faults are as fine as that.
                let step = (wanted as usize).min((rate / 100.0).ceil() as usize).min(out.len());
                let result = source.read(out.get_mut(..step).unwrap_or_default());
                let before = std::mem::replace(read_to, source.position());
                match result {
                    // Nothing came and no time passed: there is no more for now.
                    Ok((0, _)) | Err(SourceError::Timeout) if *read_to == before => Ok(None),
                    Ok((count, at)) => Ok(Some(SoundItem::Samples(count, at))),
                    Err(SourceError::Timeout) => Ok(Some(SoundItem::Samples(0, *read_to))),
                    Err(SourceError::Ended) => {
                        *is_over = true;
                        Ok(None)
                    }
                    Err(error) if error.kind() == ErrorKind::Gone => Ok(Some(SoundItem::Lost(*read_to, error))),
                    Err(error) => Err(error),
                }
            }
            Self::Stepped { source, clock, is_over } => {
                if *is_over {
                    return Ok(None);
                }
                clock.advance_to(now);
                match source.read(out) {
                    Ok((0, _)) | Err(SourceError::Timeout) => Ok(None),
                    Ok((count, at)) => Ok(Some(SoundItem::Samples(count, at))),
                    Err(SourceError::Ended) => {
                        *is_over = true;
                        Ok(None)
                    }
                    Err(error) => Ok(Some(SoundItem::Lost(now, error))),
                }
            }
        }
    }

    /// True after the last sample.
    pub(super) fn is_over(&self) -> bool {
        match self {
            Self::File { is_over, .. } | Self::Stepped { is_over, .. } => *is_over,
        }
    }
}
