//! The live microphone.
//!
//! All calls of cpal are made on one thread that belongs to the source: it opens the device, keeps the stream and
//! drops it. Dropping a dead stream may hang (seen with the ALSA plugin of PulseAudio), and so may starting one; the
//! thread is then left behind. The source never waits for it longer than a moment.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use cpal::traits::{DeviceTrait, HostTrait, StreamTrait};
use cpal::{BufferSize, SampleFormat, StreamConfig, SupportedBufferSize, SupportedStreamConfig};
use crossbeam_channel::{Sender, bounded};

use super::AudioSource;
use super::anchor::ClockAnchor;
use super::callback::{AudioCallback, CallbackState, StreamFault};
use super::channels::CHANNEL_LIMIT;
use crate::settings::AudioSettings;
use crate::sync::{Ending, RingReader, SessionClock, StopFlag, Worker};
use crate::types::{AudioHints, ErrorKind, SourceError, Timestamp};

/// How long opening may take.
const OPEN_TIMEOUT: Duration = Duration::from_secs(5);
/// How long a closing stream is waited for.
const CLOSE_PATIENCE: Duration = Duration::from_millis(300);
/// Passed to cpal where its backends can limit a step of opening.
const STEP_TIMEOUT: Duration = Duration::from_secs(2);
/// No samples for this long: the microphone has stalled (BEHAVIOUR §1).
const STALL_AFTER: Duration = Duration::from_millis(80);
/// No samples for this long: it is gone, and is to be opened anew (BEHAVIOUR §1).
const GONE_AFTER: Duration = Duration::from_millis(500);
/// The first samples may take longer: Bluetooth, an idle sound server's first block of 2 s.
const FIRST_SAMPLES_WITHIN: Duration = Duration::from_secs(3);
/// The ring holds this much; the voice thread reads every 5 ms.
const RING_SECS: usize = 2;
/// Sample rates that are taken.
const RATES_HZ: std::ops::RangeInclusive<u32> = 8_000..=192_000;

/// A microphone that is plugged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MicrophoneInfo {
    /// Its name as the pickers show it and `audio.microphone` holds it; unique in one list.
    pub name: String,
    /// True for the one the system uses by default.
    pub is_default: bool,
    /// True if it hears what the computer plays, not the room.
    pub is_monitor: bool,
}

/// The microphones the system has now: the default one first, monitors last. Takes some ten milliseconds and talks to
/// the sound server: not for the UI thread.
///
/// # Errors
/// If the system's list cannot be read.
pub fn list_microphones() -> Result<Vec<MicrophoneInfo>, SourceError> {
    let mut infos: Vec<_> = devices()?.into_iter().map(|d| d.info).collect();
    infos.sort_by_key(|info| (info.is_monitor, !info.is_default));
    Ok(infos)
}

/// How an open microphone is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MicrophoneHealth {
    /// It was opened a moment ago; no samples yet.
    Starting,
    /// Samples come.
    Live,
    /// No samples for 0.08 s and more; they may come again.
    Stalled,
    /// It has failed: [`AudioSource::read`] says why. Open it anew.
    Gone,
}

/// An open microphone.
pub struct Microphone {
    name: String,
    rate_hz: u32,
    reader: RingReader,
    state: Arc<CallbackState>,
    clock: SessionClock,
    opened_at: Timestamp,
    anchor: ClockAnchor,
    observed_block: Option<u64>,
    last_read_at: Timestamp,
    failure: Option<SourceError>,
    /// `None` only inside `drop`.
    worker: Option<Worker>,
}

impl Microphone {
    /// Opens the microphone that `settings` name, or the system's default. Blocks for up to five seconds.
    ///
    /// # Errors
    /// `Gone` if it is not there or does not answer; `Setup` if the system refuses access or it has no usable format.
    pub fn open(settings: &AudioSettings, clock: SessionClock) -> Result<Self, SourceError> {
        let wanted = settings.microphone.trim().to_owned();
        let (ready, opened) = bounded(1);
        let worker = Worker::spawn("microphone", move |stop| own_stream(&wanted, clock, &ready, &stop))
            .map_err(|e| SourceError::device(ErrorKind::Transient, format!("no thread for the microphone ({e})")))?;
        match opened.recv_timeout(OPEN_TIMEOUT) {
            Ok(Ok(opened)) => Ok(Self {
                name: opened.name,
                rate_hz: opened.rate_hz,
                reader: opened.reader,
                state: opened.state,
                clock,
                opened_at: clock.now(),
                anchor: ClockAnchor::new(opened.rate_hz),
                observed_block: None,
                last_read_at: Timestamp::ZERO,
                failure: None,
                worker: Some(worker),
            }),
            Ok(Err(error)) => {
                worker.detach();
                Err(error)
            }
            Err(_) if worker.is_finished() => Err(gone("the sound system failed; plug the microphone in anew")),
            Err(_) => {
                worker.detach();
                Err(gone("the sound system does not answer; restart it or plug the microphone in anew"))
            }
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether samples come.
    pub fn health(&self) -> MicrophoneHealth {
        if self.failure.is_some() || self.state.fault() != StreamFault::None {
            return MicrophoneHealth::Gone;
        }
        let now = self.clock.now();
        match self.state.heard_at() {
            None if now.saturating_since(self.opened_at) > FIRST_SAMPLES_WITHIN => MicrophoneHealth::Gone,
            None => MicrophoneHealth::Starting,
            Some(at) => match now.saturating_since(at) {
                quiet if quiet > GONE_AFTER => MicrophoneHealth::Gone,
                quiet if quiet > STALL_AFTER => MicrophoneHealth::Stalled,
                _ => MicrophoneHealth::Live,
            },
        }
    }

    /// Samples that were overwritten because nobody read them in time.
    pub fn overwritten_count(&self) -> u64 {
        self.reader.overwritten_count()
    }

    /// Overruns the system has reported.
    pub fn glitch_count(&self) -> u64 {
        self.state.glitch_count()
    }

    /// Closes the microphone; says whether its thread has ended or sits in a call that does not return. (`drop` does
    /// the same without saying.)
    pub fn close(mut self) -> Ending {
        self.end()
    }

    fn end(&mut self) -> Ending {
        self.worker.take().map_or(Ending::Joined, |worker| worker.end(CLOSE_PATIENCE))
    }

    fn failure(&self) -> Option<SourceError> {
        match self.state.fault() {
            StreamFault::NoPermission => Some(no_permission()),
            StreamFault::Gone => Some(gone("the microphone has gone; plug it in again or choose another one")),
            StreamFault::None if self.health() == MicrophoneHealth::Gone => {
                Some(gone("the microphone delivers no sound; omote opens it again"))
            }
            StreamFault::None => None,
        }
    }
}

impl Drop for Microphone {
    fn drop(&mut self) {
        self.end();
    }
}

impl AudioSource for Microphone {
    fn sample_rate_hz(&self) -> u32 {
        self.rate_hz
    }

    /// Never waits. After a `Device` error every further call gives the same error.
    fn read(&mut self, out: &mut [f32]) -> Result<(usize, Timestamp), SourceError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        if let Some((first, at)) = self.state.newest_block()
            && self.observed_block != Some(first)
        {
            self.observed_block = Some(first);
            self.anchor.observe(first, at);
        }
        let (count, first) = self.reader.read(out);
        // What was heard before the end is still worth having.
        if count == 0
            && !out.is_empty()
            && let Some(failure) = self.failure()
        {
            self.failure = Some(failure.clone());
            return Err(failure);
        }
        // Small corrections of the anchor never make time run backwards.
        let at = self.anchor.time_of(first).unwrap_or_else(|| self.clock.now()).max(self.last_read_at);
        self.last_read_at = at;
        Ok((count, at))
    }

    fn hints(&self) -> AudioHints {
        AudioHints { wrong_channel: self.state.is_voice_elsewhere(), ..AudioHints::default() }
    }
}

fn gone(message: impl Into<String>) -> SourceError {
    SourceError::device(ErrorKind::Gone, message)
}

fn no_permission() -> SourceError {
    let hint = if cfg!(target_os = "macos") {
        "allow it in System Settings, Privacy & Security, Microphone"
    } else if cfg!(windows) {
        "allow it in Settings, Privacy, Microphone"
    } else {
        "add your user to the group \"audio\" and log in again"
    };
    SourceError::device(ErrorKind::Setup, format!("the system refuses access to the microphone; {hint}"))
}

/// Turns what cpal says into what the user can do.
fn explain(error: &cpal::Error) -> SourceError {
    use cpal::ErrorKind as Kind;
    match error.kind() {
        Kind::PermissionDenied => no_permission(),
        Kind::DeviceBusy => gone("another program uses the microphone alone; close it there"),
        Kind::UnsupportedConfig | Kind::UnsupportedOperation | Kind::InvalidInput => SourceError::device(
            ErrorKind::Setup,
            format!("the microphone offers no sound format that omote can read ({error}); choose another one"),
        ),
        Kind::DeviceNotAvailable => gone("there is no such microphone any more; plug it in or choose another one"),
        Kind::HostUnavailable => gone("the sound system is not running"),
        _ => gone(format!("the microphone failed: {error}")),
    }
}

/// Runs a call of the sound system; a panic in it becomes an error.
fn guarded<T>(call: impl FnOnce() -> Result<T, SourceError>) -> Result<T, SourceError> {
    catch_unwind(AssertUnwindSafe(call)).unwrap_or_else(|_| Err(gone("the sound system failed; restart it")))
}

struct Device {
    info: MicrophoneInfo,
    device: cpal::Device,
}

/// Names of devices that ALSA makes up from its plugins; no microphone stands behind them.
const ALSA_JUNK: [&str; 12] = [
    "null",
    "speex",
    "speexrate",
    "samplerate",
    "lavrate",
    "jack",
    "oss",
    "upmix",
    "vdownmix",
    "usbstream",
    "pulse",
    "pipewire",
];

fn devices() -> Result<Vec<Device>, SourceError> {
    guarded(|| {
        let host = cpal::default_host();
        let default_id = host.default_input_device().and_then(|d| d.id().ok());
        let mut found: Vec<Device> = Vec::new();
        for device in host.input_devices().map_err(|e| explain(&e))? {
            let Ok(id) = device.id() else { continue };
            let name = device.description().map_or_else(|_| id.id().to_owned(), |d| d.name().to_owned());
            let is_default = default_id.as_ref() == Some(&id);
            let is_junk = ALSA_JUNK.contains(&id.id().split(':').next().unwrap_or_default());
            if is_junk && !is_default {
                continue;
            }
            let is_monitor = id.id().ends_with(".monitor");
            let same =
                found.iter().filter(|d| d.info.name == name || d.info.name.starts_with(&format!("{name} ("))).count();
            let name = if same > 0 { format!("{name} ({})", same + 1) } else { name };
            found.push(Device { info: MicrophoneInfo { name, is_default, is_monitor }, device });
        }
        Ok(found)
    })
}

/// What the owner thread hands to the source.
struct Opened {
    name: String,
    rate_hz: u32,
    reader: RingReader,
    state: Arc<CallbackState>,
}

/// The life of a stream, on its own thread.
fn own_stream(wanted: &str, clock: SessionClock, ready: &Sender<Result<Opened, SourceError>>, stop: &StopFlag) {
    let built = guarded(|| {
        let (name, device) = find(wanted)?;
        let (stream, rate_hz, reader, state) = build(&device, clock)?;
        Ok((stream, Opened { name, rate_hz, reader, state }))
    });
    let (stream, state) = match built {
        Ok((stream, opened)) => {
            let state = opened.state.clone();
            let _ = ready.send(Ok(opened));
            (stream, state)
        }
        Err(error) => {
            let _ = ready.send(Err(error));
            return;
        }
    };
    // Starting may wait for the first samples without end; the source's watchdog does not wait for it.
    if guarded(|| stream.play().map_err(|e| explain(&e))).is_err() {
        state.set_fault(StreamFault::Gone);
    }
    // A stream that has failed is dropped at once: it may call its error callback without pause.
    while state.fault() == StreamFault::None && !stop.sleep(Duration::from_millis(50)) {}
    let _ = guarded(|| {
        drop(stream);
        Ok(())
    });
}

fn find(wanted: &str) -> Result<(String, cpal::Device), SourceError> {
    if wanted.is_empty() {
        let device = cpal::default_host().default_input_device();
        let device = device.ok_or_else(|| gone("there is no microphone; plug one in"))?;
        let name = device.description().map_or_else(|_| "default".to_owned(), |d| d.name().to_owned());
        return Ok((name, device));
    }
    let mut devices = devices()?;
    let lower = wanted.to_lowercase();
    let index = devices
        .iter()
        .position(|d| d.info.name == wanted)
        .or_else(|| devices.iter().position(|d| d.info.name.to_lowercase().contains(&lower)))
        .ok_or_else(|| gone(format!("the microphone {wanted:?} is not connected; plug it in or choose another one")))?;
    let found = devices.swap_remove(index);
    Ok((found.info.name, found.device))
}

type Built = (cpal::Stream, u32, RingReader, Arc<CallbackState>);

fn build(device: &cpal::Device, clock: SessionClock) -> Result<Built, SourceError> {
    let supported = usable_config(device)?;
    let rate_hz = supported.sample_rate();
    let channels = usize::from(supported.channels());
    let mut last_error = None;
    for buffer_size in buffer_sizes(Queue::of(device), rate_hz, supported.buffer_size()) {
        let config = StreamConfig { channels: supported.channels(), sample_rate: rate_hz, buffer_size };
        let (mut callback, reader, state) = AudioCallback::new(channels, rate_hz, rate_hz as usize * RING_SECS, clock);
        let on_error = state.clone();
        let built = device.build_input_stream_raw(
            config,
            supported.sample_format(),
            move |data, info| callback.on_data(data, info),
            move |error| on_error.on_error(error.kind()),
            Some(STEP_TIMEOUT),
        );
        match built {
            Ok(stream) => return Ok((stream, rate_hz, reader, state)),
            Err(error) => last_error = Some(error),
        }
    }
    Err(last_error.map_or_else(|| gone("the microphone cannot be opened"), |e| explain(&e)))
}

/// The device's own format if omote can read it, else the best of those it offers.
fn usable_config(device: &cpal::Device) -> Result<SupportedStreamConfig, SourceError> {
    let is_usable = |config: &SupportedStreamConfig| {
        RATES_HZ.contains(&config.sample_rate())
            && (1..=CHANNEL_LIMIT).contains(&usize::from(config.channels()))
            && !matches!(config.sample_format(), SampleFormat::DsdU8 | SampleFormat::DsdU16 | SampleFormat::DsdU32)
    };
    let default = device.default_input_config();
    if let Ok(config) = &default
        && is_usable(config)
    {
        return Ok(*config);
    }
    let mut ranges: Vec<_> = device.supported_input_configs().map_err(|e| explain(&e))?.collect();
    ranges.sort_by(|a, b| b.cmp_default_heuristics(a));
    let offered = ranges.into_iter().filter_map(|range| {
        [48_000, 44_100, 16_000].into_iter().find_map(|rate| range.try_with_sample_rate(rate)).filter(|c| is_usable(c))
    });
    let unusable = || match &default {
        Err(error) => explain(error),
        Ok(_) => explain(&cpal::Error::new(cpal::ErrorKind::UnsupportedConfig)),
    };
    offered.into_iter().next().ok_or_else(unusable)
}

/// How the system treats a block that comes late.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    /// It keeps several blocks.
    Deep,
    /// It keeps one block and throws away the rest: cpal gives PulseAudio a queue of exactly the block asked for.
    OneBlock,
}

impl Queue {
    fn of(device: &cpal::Device) -> Self {
        let is_pulse = device.id().is_ok_and(|id| id.host().name().eq_ignore_ascii_case("pulseaudio"));
        if is_pulse { Self::OneBlock } else { Self::Deep }
    }

    /// Block lengths to ask for, the best first, frames at 48 kHz. A queue of one block of 10 ms lost most of the sound on
    /// a busy machine; one of 40 ms lost 1 %.
    fn blocks(self) -> [u64; 2] {
        match self {
            Self::Deep => [480, 1024],
            Self::OneBlock => [1_920, 2_880],
        }
    }
}

/// Small blocks first, then whatever the system likes.
fn buffer_sizes(queue: Queue, rate_hz: u32, supported: &SupportedBufferSize) -> Vec<BufferSize> {
    let mut sizes: Vec<BufferSize> = Vec::new();
    for at_48k in queue.blocks() {
        let frames = u32::try_from(at_48k * u64::from(rate_hz) / 48_000).unwrap_or(1024);
        let frames = match *supported {
            SupportedBufferSize::Range { min, max } if min <= max => frames.clamp(min, max),
            _ => frames,
        };
        if !sizes.contains(&BufferSize::Fixed(frames)) {
            sizes.push(BufferSize::Fixed(frames));
        }
    }
    sizes.push(BufferSize::Default);
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn block_sizes_follow_the_rate_and_the_device() {
        let any = SupportedBufferSize::Unknown;
        assert_eq!(
            buffer_sizes(Queue::Deep, 48_000, &any),
            [BufferSize::Fixed(480), BufferSize::Fixed(1024), BufferSize::Default]
        );
        assert_eq!(
            buffer_sizes(Queue::Deep, 16_000, &any),
            [BufferSize::Fixed(160), BufferSize::Fixed(341), BufferSize::Default]
        );
        let large = SupportedBufferSize::Range { min: 2048, max: 4096 };
        assert_eq!(buffer_sizes(Queue::Deep, 48_000, &large), [BufferSize::Fixed(2048), BufferSize::Default]);
    }

    #[test]
    fn errors_of_the_sound_system_say_what_to_do() {
        let kind = |kind| explain(&cpal::Error::new(kind)).kind();
        assert_eq!(kind(cpal::ErrorKind::PermissionDenied), ErrorKind::Setup);
        assert_eq!(kind(cpal::ErrorKind::UnsupportedConfig), ErrorKind::Setup);
        assert_eq!(kind(cpal::ErrorKind::DeviceNotAvailable), ErrorKind::Gone);
        assert_eq!(kind(cpal::ErrorKind::BackendError), ErrorKind::Gone);
    }
}
