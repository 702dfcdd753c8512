//! What a thread has worked, for costs that other programs on the machine do not lengthen.

use std::time::Instant;

/// Reads the work of the thread that calls it.
pub(super) struct WorkClock {
    start: Instant,
}

impl WorkClock {
    pub fn new() -> Self {
        Self { start: Instant::now() }
    }

    /// Seconds that this thread has worked; on other systems than Linux the time of day. The system books work in
    /// steps of up to 4 ms: single differences are rough, their mean over many frames is not.
    pub fn secs(&self) -> f64 {
        let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
        let nanos = scheduled.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
        nanos.map_or_else(|| self.start.elapsed().as_secs_f64(), |nanos| nanos * 1e-9)
    }
}
