//! Frame pacing: sleep to a deadline, skip missed ticks, never more than the set rate.

use std::time::{Duration, Instant};

use crate::sync::StopFlag;

/// Gives the beat of the stage. Present modes that do not block must not run free and eat the game's GPU.
#[derive(Debug)]
pub struct Pacer {
    next: Instant,
    skipped: u64,
}

impl Pacer {
    /// The first tick is due at once.
    pub fn new(now: Instant) -> Self {
        Self { next: now, skipped: 0 }
    }

    /// Sleeps until the next tick at `fps` is due. A tick that is already over is skipped, not made up for.
    pub fn wait(&mut self, fps: u32, stop: &StopFlag) {
        let now = Instant::now();
        let (due, skipped) = next_due(self.next, now, Duration::from_secs_f64(1.0 / f64::from(fps.max(1))));
        self.skipped += skipped;
        self.next = due;
        if let Some(left) = due.checked_duration_since(now) {
            if left > Duration::from_millis(100) {
                stop.sleep(left);
            } else {
                std::thread::sleep(left);
            }
        }
    }

    /// Ticks skipped so far.
    pub fn skipped_count(&self) -> u64 {
        self.skipped
    }
}

/// When the tick after the one at `last` is due, on the grid of `period`, and how many were missed.
fn next_due(last: Instant, now: Instant, period: Duration) -> (Instant, u64) {
    let due = last + period;
    if now <= due {
        return (due, 0);
    }
    // Late: go on at once if less than a whole period was lost, else pick the grid up at the next tick.
    let late = now - due;
    let missed = (late.as_secs_f64() / period.as_secs_f64()).floor();
    (due + period.mul_f64(missed), missed as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn late_frames_skip_ticks_and_keep_the_grid() {
        let start = Instant::now();
        let period = Duration::from_millis(10);
        let at = |ms: u64| start + Duration::from_millis(ms);
        assert_eq!(next_due(at(0), at(3), period), (at(10), 0));
        assert_eq!(next_due(at(0), at(14), period), (at(10), 0));
        assert_eq!(next_due(at(0), at(47), period), (at(40), 3));
    }

    #[test]
    fn the_rate_is_never_above_the_set_one() {
        let mut pacer = Pacer::new(Instant::now());
        let stop = StopFlag::default();
        let start = Instant::now();
        for _ in 0..30 {
            pacer.wait(100, &stop);
        }
        assert!(start.elapsed() >= Duration::from_millis(290), "{:?}", start.elapsed());
    }
}
