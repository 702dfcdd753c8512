//! Bounds on what a file may make us decode, so that a small hostile file cannot fill the memory or keep us busy.

use super::AvatarError;

/// Bytes that all decoding of one file may produce. A heavy avatar (100k vertices, 400 morph targets) needs about half.
const MAX_DECODED_BYTES: u64 = 2 << 30;
/// Warnings kept of one file; more of them say nothing new.
const MAX_WARNINGS: usize = 64;

/// Counts decoded bytes and collects warnings while a file is read.
#[derive(Debug, Default)]
pub(super) struct Budget {
    used: u64,
    warnings: Vec<String>,
    more: usize,
}

impl Budget {
    /// Takes `count * size` bytes from the budget.
    pub(super) fn take(&mut self, count: u64, size: u64, what: &str) -> Result<(), AvatarError> {
        self.used = count.checked_mul(size).and_then(|n| self.used.checked_add(n)).unwrap_or(u64::MAX);
        if self.used > MAX_DECODED_BYTES {
            return Err(AvatarError::TooLarge {
                what: format!("{what} would pass the limit of {} MiB", MAX_DECODED_BYTES >> 20),
            });
        }
        Ok(())
    }

    /// Notes something wrong with the file that does not keep it from loading.
    pub(super) fn warn(&mut self, message: impl Into<String>) {
        let message = message.into();
        if self.warnings.contains(&message) {
            return;
        }
        if self.warnings.len() < MAX_WARNINGS {
            self.warnings.push(message);
        } else {
            self.more += 1;
        }
    }

    /// All warnings.
    pub(super) fn into_warnings(mut self) -> Vec<String> {
        if self.more > 0 {
            self.warnings.push(format!("… and {} more", self.more));
        }
        self.warnings
    }
}
