//! A channel of capacity one whose writer replaces what was not read: old data is worth nothing.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, TrySendError, bounded};

use crate::types::SourceError;

/// The two ends of a new one-slot channel.
pub fn latest<T>() -> (LatestWriter<T>, LatestReader<T>) {
    let (sender, receiver) = bounded(1);
    let replaced = Arc::new(AtomicU64::new(0));
    let writer = LatestWriter { sender, unread: receiver.clone(), replaced: replaced.clone() };
    (writer, LatestReader { receiver, replaced })
}

/// Publishes values; never blocks.
#[derive(Debug)]
pub struct LatestWriter<T> {
    sender: Sender<T>,
    /// Takes back what nobody read.
    unread: Receiver<T>,
    replaced: Arc<AtomicU64>,
}

impl<T> LatestWriter<T> {
    /// Publishes `value` in place of an unread one.
    pub fn publish(&self, value: T) {
        let mut value = value;
        loop {
            match self.sender.try_send(value) {
                Ok(()) | Err(TrySendError::Disconnected(_)) => return,
                Err(TrySendError::Full(back)) => {
                    value = back;
                    if self.unread.try_recv().is_ok() {
                        self.replaced.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }
        }
    }
}

/// Takes the newest value.
#[derive(Debug)]
pub struct LatestReader<T> {
    receiver: Receiver<T>,
    replaced: Arc<AtomicU64>,
}

impl<T> LatestReader<T> {
    /// The newest value that was not taken yet.
    pub fn take(&self) -> Option<T> {
        self.receiver.try_recv().ok()
    }

    /// Waits for a value. `Ended` once the writer is gone and everything is read.
    pub fn wait(&self, timeout: Duration) -> Result<T, SourceError> {
        self.receiver.recv_timeout(timeout).map_err(|error| match error {
            RecvTimeoutError::Timeout => SourceError::Timeout,
            RecvTimeoutError::Disconnected => SourceError::Ended,
        })
    }

    /// Values that were replaced before anybody read them.
    pub fn replaced_count(&self) -> u64 {
        self.replaced.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_value_wins() {
        let (writer, reader) = latest();
        writer.publish(1);
        writer.publish(2);
        writer.publish(3);
        assert_eq!(reader.take(), Some(3));
        assert_eq!(reader.take(), None);
        assert_eq!(reader.replaced_count(), 2);
    }

    #[test]
    fn a_silent_writer_times_out_and_a_dropped_one_ends() {
        let (writer, reader) = latest::<u8>();
        assert_eq!(reader.wait(Duration::from_millis(5)), Err(SourceError::Timeout));
        writer.publish(7);
        drop(writer);
        // The writer's own receiver clone is gone with it; the last value is still there.
        assert_eq!(reader.wait(Duration::from_millis(5)), Ok(7));
        assert_eq!(reader.wait(Duration::from_millis(5)), Err(SourceError::Ended));
    }

    #[test]
    fn read_and_replaced_add_up_across_threads() {
        let (writer, reader) = latest();
        const COUNT: u64 = 200_000;
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || (0..COUNT).for_each(|i| writer.publish(i)))
            .expect("thread");
        let mut read = 0;
        let mut last = None;
        while let Ok(value) = reader.wait(Duration::from_secs(5)) {
            assert!(last.is_none_or(|l| value > l), "values stay in order");
            last = Some(value);
            read += 1;
        }
        thread.join().expect("writer");
        assert_eq!(read + reader.replaced_count(), COUNT);
        assert_eq!(last, Some(COUNT - 1));
    }
}
