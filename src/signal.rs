//! Filters and random numbers. Every function takes `dt`; nothing reads a clock; the same input gives the same output.

mod filter;
mod one_euro;
mod rng;

pub use filter::{AttackRelease, Slew, Spring, ease_in_out, smoothing_share, smoothstep};
pub use one_euro::OneEuro;
pub use rng::Rng;
