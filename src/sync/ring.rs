//! A ring of samples between the audio callback and the voice thread.
//!
//! The writer is wait-free and allocates nothing: it may live in an audio callback. A reader that falls behind loses
//! the oldest samples, and the loss is counted. Samples are `f32` bits in atomics, so no `unsafe` is needed.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

struct Shared {
    slots: Box<[AtomicU32]>,
    /// Samples whose writing has begun; a slot below `begun - capacity` may hold anything.
    begun: AtomicU64,
    /// Samples whose writing has finished.
    written: AtomicU64,
}

/// The two ends of a ring that holds `capacity` samples (at least 2).
pub fn ring(capacity: usize) -> (RingWriter, RingReader) {
    let slots = (0..capacity.max(2)).map(|_| AtomicU32::new(0)).collect();
    let shared = Arc::new(Shared { slots, begun: AtomicU64::new(0), written: AtomicU64::new(0) });
    (RingWriter { shared: shared.clone() }, RingReader { shared, read: 0, overwritten: 0 })
}

/// The callback's end.
pub struct RingWriter {
    shared: Arc<Shared>,
}

impl RingWriter {
    /// Writes all samples, over the oldest ones if need be. Wait-free; allocates nothing.
    pub fn write(&mut self, samples: impl ExactSizeIterator<Item = f32>) {
        let capacity = self.shared.slots.len() as u64;
        let start = self.shared.written.load(Ordering::Relaxed);
        let end = start + samples.len() as u64;
        self.shared.begun.store(end, Ordering::SeqCst);
        for (at, sample) in (start..end).zip(samples) {
            if let Some(slot) = self.shared.slots.get((at % capacity) as usize) {
                slot.store(sample.to_bits(), Ordering::SeqCst);
            }
        }
        self.shared.written.store(end, Ordering::SeqCst);
    }

    /// Samples written since the ring was made.
    pub fn written_count(&self) -> u64 {
        self.shared.written.load(Ordering::Relaxed)
    }
}

/// The voice thread's end.
pub struct RingReader {
    shared: Arc<Shared>,
    /// Number of the next sample to read.
    read: u64,
    overwritten: u64,
}

impl RingReader {
    /// Fills the front of `out` with the oldest unread samples; returns how many, and the number of the first one
    /// (counted since the ring was made), from which its time follows.
    pub fn read(&mut self, out: &mut [f32]) -> (usize, u64) {
        let capacity = self.shared.slots.len() as u64;
        loop {
            let written = self.shared.written.load(Ordering::SeqCst);
            let oldest = written.saturating_sub(capacity);
            if self.read < oldest {
                self.overwritten += oldest - self.read;
                self.read = oldest;
            }
            let count = written.saturating_sub(self.read).min(out.len() as u64);
            for (i, sample) in out.iter_mut().take(count as usize).enumerate() {
                let slot = (self.read + i as u64) % capacity;
                *sample =
                    self.shared.slots.get(slot as usize).map_or(0.0, |s| f32::from_bits(s.load(Ordering::SeqCst)));
            }
            // What the writer has begun to overwrite meanwhile is not to be trusted: read again, further on.
            let begun = self.shared.begun.load(Ordering::SeqCst);
            let first_safe = begun.saturating_sub(capacity);
            if first_safe > self.read {
                self.overwritten += first_safe - self.read;
                self.read = first_safe;
                continue;
            }
            let first = self.read;
            self.read += count;
            return (count as usize, first);
        }
    }

    /// Samples written since the ring was made.
    pub fn written_count(&self) -> u64 {
        self.shared.written.load(Ordering::SeqCst)
    }

    /// Samples that were overwritten before they were read.
    pub fn overwritten_count(&self) -> u64 {
        self.overwritten
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_come_out_in_order() {
        let (mut writer, mut reader) = ring(8);
        writer.write([1.0, 2.0, 3.0].into_iter());
        let mut out = [0.0; 8];
        assert_eq!(reader.read(&mut out), (3, 0));
        assert_eq!(out[..3], [1.0, 2.0, 3.0]);
        assert_eq!(reader.read(&mut out), (0, 3));
    }

    #[test]
    fn a_late_reader_loses_the_oldest() {
        let (mut writer, mut reader) = ring(4);
        writer.write((0..10).map(|i| i as f32));
        let mut out = [0.0; 8];
        assert_eq!(reader.read(&mut out), (4, 6));
        assert_eq!(out[..4], [6.0, 7.0, 8.0, 9.0]);
        assert_eq!(reader.overwritten_count(), 6);
    }

    #[test]
    fn a_lapping_writer_never_tears_a_read() {
        let (mut writer, mut reader) = ring(64);
        const COUNT: u64 = 2_000_000;
        let thread = std::thread::Builder::new()
            .name("writer".into())
            .spawn(move || {
                for block in 0..COUNT / 16 {
                    writer.write((0..16_usize).map(|i| ((block * 16 + i as u64) % 1_000_003) as f32));
                }
            })
            .expect("thread");
        let mut out = [0.0; 48];
        let mut next = 0;
        let mut read = 0;
        while next < COUNT {
            let (count, first) = reader.read(&mut out);
            assert!(first >= next, "time runs forward");
            for (i, sample) in out[..count].iter().enumerate() {
                assert_eq!(*sample, ((first + i as u64) % 1_000_003) as f32, "sample {} of the stream", first);
            }
            next = first + count as u64;
            read += count as u64;
        }
        thread.join().expect("writer");
        assert_eq!(read + reader.overwritten_count(), COUNT);
    }
}
