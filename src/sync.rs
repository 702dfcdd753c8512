//! What threads share: a one-slot channel for video and reports, a wait-free ring for samples, stoppable threads.

mod clock;
mod latest;
mod pace;
mod ring;
mod worker;

pub use clock::SessionClock;
pub use latest::{LatestReader, LatestWriter, latest};
pub use pace::{Pace, StepClock};
pub use ring::{RingReader, RingWriter, ring};
pub use worker::{StopFlag, Worker};
