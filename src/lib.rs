//! omote (面, the mask): a webcam and a microphone drive a 3D avatar that OBS captures.
//!
//! One straight path, one type between each two stages:
//!
//! ```text
//! camera ──VideoFrame──▶ face ──FaceReport──┐  (or `receive`: phones and other trackers)
//!                                           ├▶ mix ─FaceState─▶ motion ─AvatarPose─▶ rig ─PosedAvatar─▶ render
//! microphone ──samples──▶ voice ─AudioReport┘
//! ```
//!
//! The same path runs live from devices, from files (`omote replay`) and in tests; only the two ends differ.
//! Modules are layered (`tests/it/layers.rs` checks it); the architecture section of README.md is the map.

pub mod app;
pub mod audio;
pub mod avatar;
pub mod capture;
pub mod engine;
pub mod eval;
pub mod face;
pub mod mix;
pub mod motion;
pub mod output;
pub mod receive;
pub mod render;
pub mod replay;
pub mod rig;
pub mod settings;
pub mod signal;
pub mod sync;
pub mod types;
pub mod ui;
pub mod voice;
