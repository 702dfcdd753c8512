//! What threads share: a one-slot channel for video and reports, a wait-free ring for samples, stoppable threads.

mod latest;
mod ring;
mod worker;

pub use latest::{LatestReader, LatestWriter, latest};
pub use ring::{RingReader, RingWriter, ring};
pub use worker::{StopFlag, Worker};
