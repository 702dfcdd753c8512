//! The clock of a session: the one place where live data gets its time.

use std::time::Instant;

use crate::types::Timestamp;

/// Time since the session began. Clones share the same beginning. Only device threads and the stage's tick read it;
/// everything else gets its times with the data.
#[derive(Clone, Copy, Debug)]
pub struct SessionClock {
    began: Instant,
}

impl SessionClock {
    /// A session that begins now.
    #[expect(clippy::new_without_default, reason = "a default would hide that a clock is read")]
    pub fn new() -> Self {
        Self { began: Instant::now() }
    }

    /// The time now. Monotonic; allocates nothing and takes no lock, so an audio callback may call it.
    pub fn now(&self) -> Timestamp {
        Timestamp(self.began.elapsed())
    }
}
