//! The life of a thread that owns a device and a model: open, watch, lose, wait, open anew.
//!
//! The face and the voice thread share it. A source that dies, or a driver that panics, ends its own session only.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use super::retry::Retry;
use super::shared::Shared;
use crate::sync::{SessionClock, StopFlag};
use crate::types::{ErrorKind, SourceError};

/// How long nothing but a new wish of the user ends a wait.
const IDLE: Duration = Duration::from_secs(3600);
/// How often a waiting thread looks at wishes and its stop flag.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Why a session with a source ended.
pub(super) enum SessionEnd {
    /// The user wants another source.
    Changed,
    /// The source failed or ended.
    Failed(SourceError),
    /// The thread shall end.
    Stopped,
}

/// What a supervised thread does.
pub(super) trait Watcher {
    /// What the source's data goes through.
    type Model: ?Sized;
    /// What the user wants to be open.
    type Wanted: PartialEq;

    /// Makes the model; loading takes a moment.
    fn make_model(&mut self) -> Result<Box<Self::Model>, String>;

    /// What the user wants now; `None` while nothing shall be open.
    fn wanted(&self) -> Option<Self::Wanted>;

    /// Opens the wanted source and uses it until it fails or something else is wanted. Calls `retry.succeed` once data
    /// comes.
    fn session(
        &mut self,
        wanted: &Self::Wanted,
        model: &mut Self::Model,
        retry: &mut Retry,
        stop: &StopFlag,
    ) -> SessionEnd;

    /// Tells stage and window that there is no source: `error` says why, `None` that none is wanted.
    fn tell_loss(&mut self, error: Option<&SourceError>);

    /// What is said of a driver that panicked.
    fn driver_failed(&self) -> &'static str;
}

/// The thread's whole life.
pub(super) fn supervise<W: Watcher>(mut watcher: W, shared: &Shared, clock: SessionClock, stop: &StopFlag) {
    let mut model = loop {
        match watcher.make_model() {
            Ok(model) => break model,
            Err(message) => {
                tracing::error!("{message}");
                watcher.tell_loss(Some(&SourceError::device(ErrorKind::Gone, message)));
                // Nothing mends a broken model but a new installation.
                if stop.sleep(IDLE) {
                    return;
                }
            }
        }
    };
    let mut retry = Retry::default();
    while !stop.is_set() {
        let Some(wanted) = watcher.wanted() else {
            watcher.tell_loss(None);
            wait(&watcher, None, IDLE, (shared, clock), stop);
            continue;
        };
        let end = catch_unwind(AssertUnwindSafe(|| watcher.session(&wanted, &mut model, &mut retry, stop)));
        let error = match end {
            Ok(SessionEnd::Changed) => {
                retry.succeed();
                continue;
            }
            Ok(SessionEnd::Stopped) => return,
            Ok(SessionEnd::Failed(error)) => error,
            Err(_) => SourceError::device(ErrorKind::Gone, watcher.driver_failed()),
        };
        watcher.tell_loss(Some(&error));
        wait(&watcher, Some(&wanted), retry.after_failure(), (shared, clock), stop);
    }
}

/// Waits until `duration` is over, the user wants something else, or asks for a retry.
fn wait<W: Watcher>(
    watcher: &W,
    wanted: Option<&W::Wanted>,
    duration: Duration,
    (shared, clock): (&Shared, SessionClock),
    stop: &StopFlag,
) {
    let retries = shared.retry_count();
    let until = clock.now() + duration;
    while clock.now() < until && wanted == watcher.wanted().as_ref() && retries == shared.retry_count() {
        if stop.sleep(LOOK_EVERY) {
            return;
        }
    }
}
