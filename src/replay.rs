//! The whole product without devices or windows: files in, files out, faster than real time.
//!
//! Also the formats for it: observation records, performances (`.omote`), traces, case folders. Two runs on one
//! machine give identical traces.

mod case;
mod feed;
mod performance;
mod records;
mod run;
mod trace;

pub use case::{Case, CaseError, compare_traces};
pub use feed::{SoundFeed, VideoFeed};
pub use performance::{Performance, PerformanceError, PerformanceEvent, PerformanceReport, PerformanceWriter};
pub use records::{AudioRecord, RecordError, VideoRecord};
pub use run::{Inputs, ReplayError, ReplayOptions, ReplaySink, ReplaySummary, TimedExpression, run};
pub use trace::TraceWriter;
