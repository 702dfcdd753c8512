//! When to try a failed device again: after 0.5, 1, 2, then every 4 seconds.

use std::time::Duration;

/// Counts failures in a row.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Retry {
    failures: u32,
}

impl Retry {
    /// Another failure: how long to wait before the next try.
    pub(super) fn after_failure(&mut self) -> Duration {
        let wait = [500, 1000, 2000, 4000].get(self.failures as usize).copied().unwrap_or(4000);
        self.failures = self.failures.saturating_add(1);
        Duration::from_millis(wait)
    }

    /// It works: the next failure is the first one again.
    pub(super) fn succeed(&mut self) {
        self.failures = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_grow_to_four_seconds_and_start_anew_after_success() {
        let mut retry = Retry::default();
        let waits: Vec<_> = (0..6).map(|_| retry.after_failure().as_millis()).collect();
        assert_eq!(waits, [500, 1000, 2000, 4000, 4000, 4000]);
        retry.succeed();
        assert_eq!(retry.after_failure().as_millis(), 500);
    }
}
