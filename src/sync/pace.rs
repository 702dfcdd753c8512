//! How a source of recorded or drawn material keeps time: as fast as it is read, by hand, or by the session's clock.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::SessionClock;
use crate::types::Timestamp;

/// A clock that stands still until it is set. Clones share the time, so that whoever runs a replay holds one and the
/// sources hold others.
#[derive(Clone, Debug, Default)]
pub struct StepClock(Arc<AtomicU64>);

impl StepClock {
    /// Sets the time; it never runs backwards.
    pub fn advance_to(&self, at: Timestamp) {
        let nanos = u64::try_from(at.0.as_nanos()).unwrap_or(u64::MAX);
        self.0.fetch_max(nanos, Ordering::AcqRel);
    }

    /// The time last set.
    pub fn now(&self) -> Timestamp {
        Timestamp(std::time::Duration::from_nanos(self.0.load(Ordering::Acquire)))
    }
}

/// Who says what time it is for a source of recorded or drawn material.
#[derive(Clone, Debug, Default)]
pub enum Pace {
    /// Nobody: each read gives the next piece at once.
    #[default]
    Free,
    /// The holder of the step clock: what is later than its time is not there yet. Never sleeps.
    Stepped(StepClock),
    /// The session's clock: a read sleeps until the next piece is due, as a device does.
    Live(SessionClock),
}

impl Pace {
    /// The time up to which material has come in; `None` if it is as late as anybody likes.
    pub fn now(&self) -> Option<Timestamp> {
        match self {
            Self::Free => None,
            Self::Stepped(clock) => Some(clock.now()),
            Self::Live(clock) => Some(clock.now()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_clock_is_shared_and_never_runs_backwards() {
        let clock = StepClock::default();
        let pace = Pace::Stepped(clock.clone());
        assert_eq!(pace.now(), Some(Timestamp::ZERO));
        clock.advance_to(Timestamp::from_secs_f64(1.5));
        clock.advance_to(Timestamp::from_secs_f64(1.0));
        assert_eq!(pace.now(), Some(Timestamp::from_secs_f64(1.5)));
        assert_eq!(Pace::Free.now(), None);
    }
}
