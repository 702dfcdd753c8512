//! The whole product without devices or windows: files in, files out, faster than real time.
//!
//! Also the formats for it: observation records, performances (`.omote`), traces, case folders. Two runs on one
//! machine give identical traces.

mod performance;
mod records;
mod trace;

pub use performance::{Performance, PerformanceError, PerformanceEvent, PerformanceWriter};
pub use records::{AudioRecord, RecordError, VideoRecord};
pub use trace::{TraceLine, TraceWriter};
