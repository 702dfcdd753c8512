//! The one integration test binary (image tests must flush the GPU before the process ends).

#![allow(
    clippy::expect_used,
    clippy::panic,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test fails by panicking and says what it skipped"
)]

mod alloc;
mod avatar;
mod capture;
mod demo;
mod devices;
mod engine;
mod eval;
mod eval_face;
mod face;
mod feel;
mod hearing;
mod layers;
mod mix;
mod motion;
mod presenter;
mod program;
mod receive;
mod render;
mod rig;
mod shaders;
mod ui;
mod ventriloquist;
mod voice;
mod windows;
