//! Named threads that stop when asked and are joined when dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Tells a thread to end; checked at least every 100 ms.
#[derive(Clone, Debug, Default)]
pub struct StopFlag(Arc<AtomicBool>);

impl StopFlag {
    /// True once the thread shall end.
    pub fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Asks the thread to end.
    pub fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Sleeps for `duration` or until the flag is set, whichever is first; returns whether it is set.
    pub fn sleep(&self, duration: Duration) -> bool {
        let until = Instant::now() + duration;
        while !self.is_set() {
            let Some(left) = until.checked_duration_since(Instant::now()).filter(|d| !d.is_zero()) else {
                return false;
            };
            std::thread::sleep(left.min(Duration::from_millis(50)));
        }
        true
    }
}

/// What became of a thread that was asked to end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// It has ended.
    Joined,
    /// It sits in a call that does not return; it ends by itself if the call ever does.
    LeftBehind,
}

/// A running thread. Dropping it asks the thread to end and waits for it, for a while: one that sits in a driver call
/// that never returns is left behind and reported.
#[derive(Debug)]
pub struct Worker {
    name: String,
    stop: StopFlag,
    thread: Option<JoinHandle<()>>,
    patience: Duration,
}

impl Worker {
    /// How long a drop waits for a thread before it is left behind.
    const PATIENCE: Duration = Duration::from_secs(1);

    /// Starts `run` on a thread called `name` (15 bytes at most show in system tools).
    ///
    /// # Errors
    /// The system's, if it gives no thread.
    pub fn spawn(name: &str, run: impl FnOnce(StopFlag) + Send + 'static) -> std::io::Result<Self> {
        let stop = StopFlag::default();
        let flag = stop.clone();
        let thread = std::thread::Builder::new().name(name.into()).spawn(move || run(flag))?;
        Ok(Self { name: name.into(), stop, thread: Some(thread), patience: Self::PATIENCE })
    }

    /// The flag the thread watches.
    pub fn stop_flag(&self) -> &StopFlag {
        &self.stop
    }

    /// True once the thread has ended by itself or on request.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Asks the thread to end and waits for it for `patience`: for threads in a driver call that may never return.
    /// The caller counts and reports those that are left behind.
    pub fn end(mut self, patience: Duration) -> Ending {
        self.patience = patience;
        self.join_or_leave()
    }

    fn join_or_leave(&mut self) -> Ending {
        self.stop.set();
        let Some(thread) = self.thread.take() else { return Ending::Joined };
        let until = Instant::now() + self.patience;
        while !thread.is_finished() {
            if Instant::now() >= until {
                tracing::warn!("the {} thread does not answer and is left behind", self.name);
                return Ending::LeftBehind;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        if thread.join().is_err() {
            tracing::error!("the {} thread panicked", self.name);
        }
        Ending::Joined
    }

    /// Asks the thread to end and leaves it to itself: for threads in a driver call that may never return.
    pub fn detach(mut self) {
        self.stop.set();
        self.thread = None;
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.join_or_leave();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dropped_worker_has_ended() {
        let done = Arc::new(AtomicBool::new(false));
        let flag = done.clone();
        let worker = Worker::spawn("test", move |stop| {
            while !stop.sleep(Duration::from_secs(10)) {}
            flag.store(true, Ordering::SeqCst);
        })
        .expect("thread");
        assert!(!worker.is_finished());
        drop(worker);
        assert!(done.load(Ordering::SeqCst));
    }
}
