//! How good the product is, measured over folders of labelled files (`omote eval`).
//!
//! Runs the product's own path, never a copy of it. Prints nothing: `app` shows the figures.

pub mod ventriloquist;
