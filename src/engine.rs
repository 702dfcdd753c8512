//! The running product: the pure [`Stage`], the threads that feed it, pacing, reconnecting, telemetry.
//!
//! `engine` alone maps an error's kind to an action. It knows the modules below it, and no window.

mod acting;
mod command;
mod hearing;
mod pacer;
mod picture;
mod quality;
mod retry;
mod run;
mod seeing;
mod shared;
mod sound_path;
mod stage;
mod supervisor;
mod telemetry;

pub use command::{Command, SettingsCell, Sources};
pub use hearing::{HeardBatch, OpenedSound, SoundOpener, VisemeModelMaker, lost_sound_state};
pub use pacer::Pacer;
pub use picture::{OpenedPicture, PictureOpener, PreviewImage, camera_of, scene_of};
pub use quality::Thinning;
pub use run::{DeviceLister, Engine, EngineParts};
pub use seeing::{FaceModelMaker, OpenedVideo, VideoFeed, VideoOpener, lost_state};
pub use sound_path::SoundPath;
pub use stage::{Stage, StageFrame};
pub use telemetry::{
    AudioTelemetry, AvatarTelemetry, DeviceLists, History, Percentiles, PictureTelemetry, RateMeter, StageTelemetry,
    Telemetry, Transparency, VideoTelemetry,
};
