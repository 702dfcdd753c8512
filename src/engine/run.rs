//! The running engine: starts the threads, takes settings and commands, gives telemetry and previews.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Sender, TrySendError, bounded};

use super::acting::Acting;
use super::command::{Command, Sources};
use super::hearing::{HeardBatch, Hearing, SoundOpener, VisemeModelMaker};
use super::picture::{Picture, PictureOpener, PreviewImage};
use super::seeing::{FaceModelMaker, Seeing, VideoOpener};
use super::shared::Shared;
use super::telemetry::{DeviceLists, Telemetry};
use crate::avatar::{AvatarModel, AvatarProfile};
use crate::settings::Settings;
use crate::sync::{LatestReader, LatestWriter, SessionClock, Worker, latest};

/// Commands that may wait; more is a bug of the window.
const COMMAND_CAPACITY: usize = 16;
/// How often device lists are renewed while a device is missing.
const LIST_EVERY: Duration = Duration::from_secs(2);

/// Lists cameras and microphones; runs on the `devices` thread.
pub type DeviceLister = Box<dyn FnMut() -> DeviceLists + Send>;

/// What an engine is made of. Tests put their own ends in.
pub struct EngineParts {
    /// Settings to begin with.
    pub settings: Settings,
    /// Where pictures and sound come from at first.
    pub sources: Sources,
    /// The session's clock; frames and samples must be stamped with it.
    pub clock: SessionClock,
    /// Opens video sources.
    pub open_video: VideoOpener,
    /// Opens sound sources.
    pub open_sound: SoundOpener,
    /// Makes the face model.
    pub make_face_model: FaceModelMaker,
    /// Makes the viseme model.
    pub make_viseme_model: VisemeModelMaker,
    /// Lists devices.
    pub list_devices: DeviceLister,
    /// Opens the graphics device.
    pub open_picture: PictureOpener,
    /// Size of the picture at first, pixels.
    pub size: [u32; 2],
    /// Seed of everything random.
    pub seed: u64,
}

/// A running engine. Dropping it ends its threads.
pub struct Engine {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    previews: LatestReader<PreviewImage>,
    avatars: Arc<LatestWriter<Arc<AvatarModel>>>,
    avatar_file: Option<String>,
    /// Counts the avatars asked for: only the newest one is taken.
    avatar_request: Arc<AtomicU64>,
    list_request: Sender<()>,
    /// Dropped last to first: the stage goes on until its feeders have ended.
    _workers: Vec<Worker>,
}

impl Engine {
    /// Starts all threads.
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn start(parts: EngineParts) -> std::io::Result<Self> {
        let EngineParts { settings, sources, clock, seed, size, .. } = parts;
        let shared = Shared::new(settings.clone(), sources);
        let (face_writer, faces) = latest();
        let (voice_writer, voices) = latest::<HeardBatch>();
        let (avatar_writer, avatars) = latest();
        let (preview_writer, previews) = latest();
        let (commands, command_reader) = bounded(COMMAND_CAPACITY);
        let (list_request, list_requests) = bounded(1);

        let seeing = Seeing {
            shared: shared.clone(),
            clock,
            open: parts.open_video,
            make_model: parts.make_face_model,
            reports: face_writer,
        };
        let hearing = Hearing::new(shared.clone(), clock, parts.open_sound, parts.make_viseme_model, voice_writer);
        let acting = Acting {
            shared: shared.clone(),
            clock,
            seed,
            faces,
            voices,
            avatars,
            commands: command_reader,
            picture: Picture::new(shared.clone(), parts.open_picture, size, preview_writer),
        };
        let list_shared = shared.clone();
        let mut list_devices = parts.list_devices;
        let workers = vec![
            Worker::spawn("face", move |stop| seeing.run(&stop))?,
            Worker::spawn("voice", move |stop| hearing.run(&stop))?,
            Worker::spawn("devices", move |stop| {
                while !stop.is_set() {
                    let lists = list_devices();
                    list_shared.devices.update(|d| *d = lists);
                    // Looking at devices is not free: do it when asked, or while one is missing.
                    loop {
                        let asked = list_requests.recv_timeout(LIST_EVERY.min(Duration::from_millis(100))).is_ok();
                        if asked || stop.is_set() {
                            break;
                        }
                        if is_device_missing(&list_shared) {
                            stop.sleep(LIST_EVERY);
                            break;
                        }
                    }
                }
            })?,
            Worker::spawn("stage", move |stop| acting.run(&stop))?,
        ];
        let mut engine = Self {
            shared,
            commands,
            previews,
            avatars: Arc::new(avatar_writer),
            avatar_file: None,
            avatar_request: Arc::default(),
            list_request,
            _workers: workers,
        };
        engine.load_avatar(&settings.avatar.file);
        Ok(engine)
    }

    /// Takes new settings; loads another avatar if they name one.
    pub fn set_settings(&mut self, settings: Settings) {
        self.load_avatar(&settings.avatar.file);
        self.shared.settings.set(settings);
    }

    /// Hands a command to the stage.
    pub fn send(&self, command: Command) {
        // Sources and retries are needed even while the stage hangs in a driver.
        match command {
            Command::SetSources(sources) => self.shared.sources.update(|s| *s = sources),
            Command::Retry => self.shared.retry_now(),
            Command::CoachVowels(is_wanted) => self.shared.want_coaching(is_wanted),
            command => {
                if let Err(TrySendError::Full(command)) = self.commands.try_send(command) {
                    tracing::error!("the stage does not take commands; dropped: {command:?}");
                }
            }
        }
    }

    /// Asks for new device lists.
    pub fn refresh_devices(&self) {
        // Full means it is asked for already.
        let _ = self.list_request.try_send(());
    }

    /// A copy of all telemetry.
    pub fn telemetry(&self) -> Telemetry {
        let sources = self.shared.sources.get();
        Telemetry {
            video: self.shared.video.get(),
            audio: self.shared.audio.get(),
            stage: self.shared.stage.get(),
            picture: self.shared.picture.get(),
            avatar: self.shared.avatar.get(),
            devices: self.shared.devices.get(),
            is_demo: sources == Sources::Demo,
            is_running: sources != Sources::Stopped,
        }
    }

    /// The newest preview that was not taken yet. Asks for the next one too: while nobody takes any, none is drawn.
    pub fn take_preview(&self) -> Option<PreviewImage> {
        self.shared.want_preview();
        self.previews.take()
    }

    /// Reads an avatar file on a thread of its own; the old avatar stays until the new one is whole.
    fn load_avatar(&mut self, file: &str) {
        if self.avatar_file.as_deref() == Some(file) {
            return;
        }
        self.avatar_file = Some(file.to_owned());
        let path = (!file.is_empty()).then(|| PathBuf::from(file));
        let (shared, avatars, newest) = (self.shared.clone(), self.avatars.clone(), self.avatar_request.clone());
        let request = newest.fetch_add(1, Ordering::SeqCst) + 1;
        shared.avatar.update(|a| a.is_loading = true);
        let loader = Worker::spawn("loader", move |_| {
            let loaded = read_avatar(path.as_deref(), shared.avatar.get().name.is_empty());
            // The user may have chosen another one meanwhile.
            if newest.load(Ordering::SeqCst) == request {
                take_avatar(&shared, &avatars, path.as_deref(), loaded);
            }
        });
        match loader {
            // It ends by itself; a slow disk must not keep the window waiting.
            Ok(loader) => loader.detach(),
            Err(error) => self.shared.avatar.update(|a| {
                a.is_loading = false;
                a.message = Some(format!("no thread to read the avatar with: {error}"));
            }),
        }
    }
}

/// Reads the avatar; if that fails and none is shown yet, the bundled one takes its place. Why it failed comes along.
fn read_avatar(path: Option<&Path>, is_stage_empty: bool) -> (Option<AvatarModel>, Option<String>) {
    let loaded = match path {
        Some(path) => crate::avatar::load(path),
        None => crate::avatar::bundled(),
    };
    match loaded {
        Ok(model) => (Some(model), None),
        Err(error) => {
            tracing::warn!("{error}");
            let stand_in = if is_stage_empty { crate::avatar::bundled().ok() } else { None };
            (stand_in, Some(error.to_string()))
        }
    }
}

/// Puts the avatar on stage and tells the window.
fn take_avatar(
    shared: &Shared,
    avatars: &LatestWriter<Arc<AvatarModel>>,
    path: Option<&Path>,
    (model, message): (Option<AvatarModel>, Option<String>),
) {
    shared.avatar.update(|a| {
        a.is_loading = false;
        a.message = message;
    });
    let Some(model) = model else { return };
    let name = match (path, model.meta.name.as_str()) {
        (Some(path), "") => path.file_stem().map(|s| s.to_string_lossy().into_owned()).unwrap_or_default(),
        (_, name) => name.to_owned(),
    };
    shared.avatar.update(|a| {
        a.name = name;
        a.warnings.clone_from(&model.warnings);
        a.expressions = AvatarProfile::of(&model).expressions;
    });
    avatars.publish(Arc::new(model));
}

fn is_device_missing(shared: &Shared) -> bool {
    let settings = shared.settings.get();
    shared.sources.get() == Sources::Devices
        && ((settings.video.enabled && shared.video.get().source.is_empty())
            || (settings.audio.enabled && shared.audio.get().source.is_empty()))
}
