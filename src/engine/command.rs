//! What the window asks of the engine, and the snapshot of settings that all threads read.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::settings::Settings;

/// Where pictures and sound come from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sources {
    /// The camera and the microphone of the settings.
    #[default]
    Devices,
    /// The bundled presenter's demo.
    Demo,
    /// Nothing: the user has stopped.
    Stopped,
}

/// A request to the engine.
#[derive(Clone, Debug, PartialEq)]
pub enum Command {
    /// Takes pictures and sound from elsewhere.
    SetSources(Sources),
    /// Tries failed devices again at once.
    Retry,
    /// Turns an expression of the avatar on or off, by its index in `AvatarTelemetry::expressions`.
    SetExpression {
        /// Which one.
        index: usize,
        /// 0 off, 1 on.
        weight: f32,
    },
    /// Begins to lead the speaker through the five vowels (`AudioTelemetry::coaching`), or ends that.
    CoachVowels(bool),
    /// The output surface has a new size.
    Resize([u32; 2]),
}

/// The newest settings, for all threads. The lock is held for a copy of a pointer only.
#[derive(Debug)]
pub struct SettingsCell {
    settings: Mutex<Arc<Settings>>,
    generation: AtomicU64,
}

impl SettingsCell {
    /// A cell with these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings: Mutex::new(Arc::new(settings)), generation: AtomicU64::new(0) }
    }

    /// The newest settings.
    pub fn get(&self) -> Arc<Settings> {
        self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts new settings in place.
    pub fn set(&self, settings: Settings) {
        *self.settings.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(settings);
        self.generation.fetch_add(1, Ordering::Release);
    }

    /// Grows with every [`SettingsCell::set`].
    pub fn generation(&self) -> u64 {
        self.generation.load(Ordering::Acquire)
    }
}
