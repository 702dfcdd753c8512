//! Plain values that cross stages; no behaviour beyond clamp and lerp.
//!
//! Angles are radians, lengths metres, weights 0..1 unless a field says otherwise.
//! Up to the observation, *left* is the person's left; from the pose on it is the avatar's.
//! Head rotation is `R = Ry(yaw) · Rx(pitch) · Rz(-roll)`: yaw > 0 turns to the own left, pitch > 0 looks down,
//! roll > 0 tilts towards the own left shoulder.

mod arkit;
mod bones;
mod error;
mod face;
mod fault;
mod mouth;
mod params;
mod pose;
mod time;
mod video;
mod voice;

pub use arkit::{ARKIT_COUNT, ARKIT_NAMES, Arkit};
pub use bones::{BONE_COUNT, Bone};
pub use error::{ErrorKind, SourceError};
pub use face::{
    Alignment, Brows, FaceObservation, FaceReport, FaceState, Gaze, HeadPose, Lids, MouthRatios, Trust, VideoHints,
    VideoState,
};
pub use fault::{AudioFault, Fault, FaultKind, Faults, ParseFaultError, VideoFault};
pub use mouth::{MouthShape, VOWEL_COUNT, Vowel};
pub use params::{PARAM_COUNT, Param, ParamGroup, ParameterSet};
pub use pose::{AvatarPose, BodyPose};
pub use time::Timestamp;
pub use video::VideoFrame;
pub use voice::{AudioHints, AudioReport, AudioState, VISEME_COUNT, Viseme, VisemeFrame};
