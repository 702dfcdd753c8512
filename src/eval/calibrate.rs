//! Calibration from a speaker's own recordings.
use super::{EvalError, labels::Labels};
use std::path::Path;
pub(super) fn calibration_of(_recordings: &mut [(&Path, Option<Labels>)]) -> Result<Option<()>, EvalError> {
    Ok(None)
}
