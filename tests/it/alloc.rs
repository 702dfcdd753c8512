//! The audio callback allocates nothing: an allocation may wait for a lock, and then the sound has a hole.

// A global allocator cannot be written without `unsafe`; this one only counts and hands on.
#![expect(unsafe_code, reason = "GlobalAlloc is an unsafe trait")]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::time::Duration;

use omote::audio::AudioCallback;
use omote::engine::SoundPath;
use omote::settings::AudioSettings;
use omote::sync::SessionClock;
use omote::types::{AudioReport, Timestamp};
use omote::voice::VisemeModel;

struct Counting;

thread_local! {
    /// Allocations and frees of this thread. Needs no allocation itself, and no destructor.
    static CALLS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    // A thread that is ending has no counter any more; nobody asks for it.
    let _ = CALLS.try_with(|calls| calls.set(calls.get() + 1));
}

// SAFETY: every call goes to the system's allocator unchanged.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count();
        // SAFETY: the caller keeps the contract of `dealloc`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the caller keeps the contract of `realloc`.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn calls() -> u64 {
    CALLS.with(Cell::get)
}

#[test]
fn the_counter_counts() {
    let before = calls();
    drop(std::hint::black_box(vec![1_u8; 100]));
    assert_eq!(calls() - before, 2);
}

#[test]
fn the_audio_callback_neither_allocates_nor_frees() {
    for channels in [1, 2, 8] {
        let (mut callback, _reader, state) = AudioCallback::new(channels, 48_000, 4_800, SessionClock::new());
        let floats: Vec<f32> = (0..480 * channels).map(|i| (i as f32 * 0.3).sin()).collect();
        let ints: Vec<i16> = floats.iter().map(|s| (s * 30_000.0) as i16).collect();
        let before = calls();
        // Several times round the ring, with errors in between, in both common formats.
        for i in 0..100 {
            callback.on_samples(&floats, Duration::from_millis(12));
            callback.on_samples(&ints, Duration::from_millis(i));
            state.on_error(cpal::ErrorKind::Xrun);
        }
        state.on_error(cpal::ErrorKind::BackendError);
        assert_eq!(calls() - before, 0, "{channels} channels");
    }
}

/// A classifier that is not there.
struct Deaf;

impl VisemeModel for Deaf {
    fn classify(&mut self, samples: &[f32], captured_at: Timestamp, reports: &mut Vec<AudioReport>) {
        if !samples.is_empty() {
            reports.push(AudioReport { captured_at, ..AudioReport::default() });
        }
    }

    fn configure(&mut self, _settings: &AudioSettings) {}

    fn reset(&mut self) {}
}

#[test]
fn the_front_end_allocates_nothing_once_it_runs() {
    for rate_hz in [8_000, 44_100, 192_000] {
        let mut path = SoundPath::new(rate_hz, 6.0).expect("rate");
        let mut block: Vec<f32> = (0..rate_hz as usize / 100).map(|i| (i as f32 * 0.3).sin()).collect();
        let mut hear = |count: u32| {
            for i in 0..count {
                path.hear(&mut Deaf, &mut block, Timestamp::from_secs_f64(f64::from(i) / 100.0));
            }
        };
        hear(50);
        let before = calls();
        hear(500);
        assert_eq!(calls() - before, 0, "{rate_hz} Hz");
    }
}
