//! What threads share: a one-slot channel for video and reports, a wait-free ring for samples, stoppable
//! threads, the session's clock, child processes.

mod clock;
mod latest;
mod pace;
mod process;
mod ring;
mod worker;

pub use clock::SessionClock;
pub use latest::{LatestReader, LatestWriter, latest};
pub use pace::{Pace, StepClock};
<<<<<<< HEAD
<<<<<<< HEAD
pub use process::{ChildProcess, ProcessOutput, file_url, last_line, run_for_output};
=======
pub use process::{ChildProcess, ProcessOutput, last_line, run_for_output};
>>>>>>> render
=======
pub use process::{ChildProcess, ProcessOutput, last_line, run_for_output};
>>>>>>> presenter
pub use ring::{RingReader, RingWriter, ring};
pub use worker::{Ending, StopFlag, Worker};
