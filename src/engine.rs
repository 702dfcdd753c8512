//! The running product: the pure [`Stage`], the threads that feed it, pacing, reconnecting, telemetry.
//!
//! `engine` alone maps an error's kind to an action. It knows the modules below it, and no window.

mod command;
mod pacer;
mod telemetry;

pub use command::{Command, SettingsCell, Sources};
pub use pacer::Pacer;
pub use telemetry::{
    AudioTelemetry, AvatarTelemetry, DeviceLists, History, Percentiles, PictureTelemetry, RateMeter, StageTelemetry,
    Telemetry, Transparency, VideoTelemetry,
};
