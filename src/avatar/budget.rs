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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_holds_for_the_sum_and_for_overflow() {
        let mut budget = Budget::default();
        assert!(budget.take(1 << 20, 1024, "half").is_ok());
        assert!(budget.take(1 << 20, 1024, "the other half").is_ok());
        assert!(matches!(budget.take(1, 1, "one byte more"), Err(AvatarError::TooLarge { .. })));
        assert!(Budget::default().take(u64::MAX, u64::MAX, "all").is_err());
    }

    #[test]
    fn warnings_are_few_and_different() {
        let mut budget = Budget::default();
        for n in 0..200 {
            budget.warn(format!("{}", n / 2));
        }
        assert_eq!(budget.into_warnings().len(), MAX_WARNINGS + 1);
    }
}
