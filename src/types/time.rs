//! Session time. Comes in with data; a stage never asks for "now".

use std::time::Duration;

/// Time since the session began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(pub Duration);

impl Timestamp {
    /// The beginning of the session.
    pub const ZERO: Self = Self(Duration::ZERO);

    /// `secs` after the beginning; negative, infinite and NaN values become zero.
    pub fn from_secs_f64(secs: f64) -> Self {
        Self(Duration::try_from_secs_f64(secs).unwrap_or_default())
    }

    /// Seconds since the beginning of the session.
    pub fn as_secs_f64(self) -> f64 {
        self.0.as_secs_f64()
    }

    /// How much later `self` is than `earlier`; zero if it is not later.
    pub fn saturating_since(self, earlier: Self) -> Duration {
        self.0.saturating_sub(earlier.0)
    }

    /// Signed seconds from `other` to `self`.
    pub fn secs_after(self, other: Self) -> f64 {
        self.as_secs_f64() - other.as_secs_f64()
    }

    /// This time moved back by `by`, not before the beginning.
    pub fn saturating_sub(self, by: Duration) -> Self {
        Self(self.0.saturating_sub(by))
    }
}

impl std::ops::Add<Duration> for Timestamp {
    type Output = Self;

    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs))
    }
}
