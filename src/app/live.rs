//! The live ends of the engine: real devices, the bundled demo, the bundled models.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crate::audio::presenter::{PresenterMicrophone, Recording, Voice};
use crate::audio::{Microphone, list_microphones};
use crate::capture::presenter::{Filming, PresenterCamera, PresenterScript};
use crate::capture::{Camera, list_cameras};
use crate::engine::{DeviceLists, EngineParts, OpenedSound, OpenedVideo, PictureOpener, Sources, VideoFeed};
use crate::face::{FaceOptions, FaceTracker};
use crate::settings::{AudioSettings, Settings, VideoSettings};
use crate::sync::{Pace, SessionClock};
use crate::types::{SourceError, Timestamp};
use crate::{receive, voice};

/// The name of the demo's devices in the window.
const PRESENTER: &str = "the presenter";

/// Everything that makes the live engine.
pub(super) fn parts(settings: Settings, sources: Sources, open_picture: PictureOpener, size: [u32; 2]) -> EngineParts {
    let clock = SessionClock::new();
    let (camera_demo, voice_demo) = {
        let start = DemoStart::default();
        (start.clone(), start)
    };
    EngineParts {
        settings,
        sources,
        clock,
        open_video: Box::new(move |sources, video| open_video(sources, video, clock, &camera_demo)),
        open_sound: Box::new(move |sources, audio| open_sound(sources, audio, clock, &voice_demo)),
        make_face_model: Box::new(|| Ok(Box::new(FaceTracker::load(FaceOptions::default())?))),
        make_viseme_model: Box::new(|| Ok(Box::new(voice::Hearing::new()?))),
        list_devices: Box::new(list_devices),
        open_picture,
        size,
        seed: seed(),
    }
}

/// The acting is another one each day; replay gives its own seed.
fn seed() -> u64 {
    let since_epoch = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    since_epoch.as_nanos() as u64
}

/// When the demo began, so that its camera and its microphone agree; it starts over when it is over.
#[derive(Clone, Default)]
struct DemoStart(Arc<Mutex<Option<Timestamp>>>);

impl DemoStart {
    fn get(&self, now: Timestamp, duration: Duration) -> Timestamp {
        let mut start = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if start.is_none_or(|s| now.saturating_since(s) >= duration) {
            *start = Some(now);
        }
        start.unwrap_or(now)
    }
}

fn demo_script() -> Result<PresenterScript, SourceError> {
    PresenterScript::demo().map_err(|e| SourceError::device(e.kind(), e.to_string()))
}

fn open_video(
    sources: Sources,
    video: &VideoSettings,
    clock: SessionClock,
    demo: &DemoStart,
) -> Result<OpenedVideo, SourceError> {
    if sources == Sources::Demo {
        let script = demo_script()?;
        let starts_at = demo.get(clock.now(), Duration::from_secs_f64(script.duration_secs()));
        let filming = Filming { starts_at, pace: Pace::Live(clock), ..Filming::default() };
        let source = PresenterCamera::open(Arc::new(script), filming)?;
        return Ok(OpenedVideo { feed: VideoFeed::Frames(Box::new(source)), name: PRESENTER.into() });
    }
    if video.source.is_remote() {
        let receiver = receive::open(video, clock)?;
        let name = format!("{} at {}", video.source.title(), receiver.listens_at());
        return Ok(OpenedVideo { feed: VideoFeed::Reports(Box::new(receiver)), name });
    }
    let camera = Camera::open(video, clock)?;
    let name = camera.mode().name.clone();
    Ok(OpenedVideo { feed: VideoFeed::Frames(Box::new(camera)), name })
}

fn open_sound(
    sources: Sources,
    audio: &AudioSettings,
    clock: SessionClock,
    demo: &DemoStart,
) -> Result<OpenedSound, SourceError> {
    if sources == Sources::Demo {
        let script = demo_script()?;
        let duration = Duration::from_secs_f64(script.duration_secs());
        let recording = Recording {
            lasts: Some(duration),
            faults: script.faults().clone(),
            starts_at: demo.get(clock.now(), duration),
            pace: Pace::Live(clock),
        };
        let source = PresenterMicrophone::new(Voice::demo()?, recording);
        return Ok(OpenedSound { source: Box::new(source), name: PRESENTER.into() });
    }
    let microphone = Microphone::open(audio, clock)?;
    let name = microphone.name().to_owned();
    Ok(OpenedSound { source: Box::new(microphone), name })
}

fn list_devices() -> DeviceLists {
    // What cannot be listed is not offered; the source's own message says why.
    let cameras = list_cameras().unwrap_or_default().into_iter().map(|c| c.name).collect();
    let microphones = list_microphones().unwrap_or_default().into_iter().map(|m| m.name).collect();
    DeviceLists { cameras, microphones, is_known: true }
}
