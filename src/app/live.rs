//! The live ends of the engine: real devices, the bundled demo, the bundled models.

use crate::audio::{Microphone, list_microphones};
use crate::capture::{Camera, list_cameras};
use crate::engine::{DeviceLists, EngineParts, OpenedFrames, OpenedSound, PictureOpener, Sources};
use crate::face::{FaceOptions, FaceTracker};
use crate::settings::{AudioSettings, Settings, VideoSettings};
use crate::sync::SessionClock;
use crate::types::{ErrorKind, SourceError};
use crate::voice;

/// Everything that makes the live engine.
pub(super) fn parts(settings: Settings, sources: Sources, open_picture: PictureOpener, size: [u32; 2]) -> EngineParts {
    let clock = SessionClock::new();
    EngineParts {
        settings,
        sources,
        clock,
        open_frames: Box::new(move |sources, video| open_frames(sources, video, clock)),
        open_sound: Box::new(move |sources, audio| open_sound(sources, audio, clock)),
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

fn open_frames(sources: Sources, video: &VideoSettings, clock: SessionClock) -> Result<OpenedFrames, SourceError> {
    match sources {
        Sources::Demo => {
            let source = PresenterCamera::paced(demo_script()?, clock)?;
            Ok(OpenedFrames { source: Box::new(source), name: PRESENTER.into() })
        }
        _ => {
            let camera = Camera::open(video, clock)?;
            let name = camera.mode().to_string();
            Ok(OpenedFrames { source: Box::new(camera), name })
        }
    }
}

fn open_sound(sources: Sources, audio: &AudioSettings, clock: SessionClock) -> Result<OpenedSound, SourceError> {
    match sources {
        Sources::Demo => {
            let source = PresenterMicrophone::paced(demo_script()?, clock)?;
            Ok(OpenedSound { source: Box::new(source), name: PRESENTER.into() })
        }
        _ => {
            let microphone = Microphone::open(audio, clock)?;
            let name = microphone.name().to_owned();
            Ok(OpenedSound { source: Box::new(microphone), name })
        }
    }
}

fn list_devices() -> DeviceLists {
    // What cannot be listed is not offered; the source's own message says why.
    let cameras = list_cameras().unwrap_or_default().into_iter().map(|c| c.name).collect();
    let microphones = list_microphones().unwrap_or_default().into_iter().map(|m| m.name).collect();
    DeviceLists { cameras, microphones, is_known: true }
}
