//! What the engine's threads share: settings, the choice of sources, telemetry. Locks are held for a copy only.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::command::{SettingsCell, Sources};
use super::telemetry::{
    AudioTelemetry, AvatarTelemetry, DeviceLists, PictureTelemetry, StageTelemetry, VideoTelemetry,
};

/// One value behind a lock that is held for a copy only.
#[derive(Debug, Default)]
pub(super) struct Cell<T>(Mutex<T>);

impl<T: Clone> Cell<T> {
    /// A copy of the value.
    pub(super) fn get(&self) -> T {
        self.lock().clone()
    }

    /// Changes the value; `change` must be short and must not lock anything.
    pub(super) fn update(&self, change: impl FnOnce(&mut T)) {
        change(&mut self.lock());
    }

    fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Shared by all threads of one engine.
#[derive(Debug)]
pub(super) struct Shared {
    pub(super) settings: SettingsCell,
    pub(super) sources: Cell<Sources>,
    /// Grows when the user asks for a retry.
    retries: AtomicU64,
    /// Somebody looks at previews: set with each look, taken with each preview.
    is_preview_wanted: AtomicBool,
    /// The user wants to be led through the vowels.
    is_coaching_wanted: AtomicBool,
    pub(super) video: Cell<VideoTelemetry>,
    pub(super) audio: Cell<AudioTelemetry>,
    pub(super) stage: Cell<StageTelemetry>,
    pub(super) picture: Cell<PictureTelemetry>,
    pub(super) avatar: Cell<AvatarTelemetry>,
    pub(super) devices: Cell<DeviceLists>,
}

impl Shared {
    pub(super) fn new(settings: crate::settings::Settings, sources: Sources) -> Arc<Self> {
        let shared = Self {
            settings: SettingsCell::new(settings),
            sources: Cell::default(),
            retries: AtomicU64::new(0),
            is_preview_wanted: AtomicBool::new(false),
            is_coaching_wanted: AtomicBool::new(false),
            video: Cell::default(),
            audio: Cell::default(),
            stage: Cell::default(),
            picture: Cell::default(),
            avatar: Cell::default(),
            devices: Cell::default(),
        };
        shared.sources.update(|s| *s = sources);
        Arc::new(shared)
    }

    /// Asks waiting threads to try at once.
    pub(super) fn retry_now(&self) {
        self.retries.fetch_add(1, Ordering::Relaxed);
    }

    /// Asks for one more preview.
    pub(super) fn want_preview(&self) {
        self.is_preview_wanted.store(true, Ordering::Relaxed);
    }

    /// Whether a preview was asked for since the last call.
    pub(super) fn take_preview_wish(&self) -> bool {
        self.is_preview_wanted.swap(false, Ordering::Relaxed)
    }

    /// Begins or ends to lead the user through the vowels.
    pub(super) fn want_coaching(&self, is_wanted: bool) {
        self.is_coaching_wanted.store(is_wanted, Ordering::Relaxed);
    }

    pub(super) fn is_coaching_wanted(&self) -> bool {
        self.is_coaching_wanted.load(Ordering::Relaxed)
    }

    /// How often a retry was asked for.
    pub(super) fn retry_count(&self) -> u64 {
        self.retries.load(Ordering::Relaxed)
    }
}
