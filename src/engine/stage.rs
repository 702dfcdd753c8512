//! The pure heart: reports in, a posed avatar out. No thread, no clock, no device.

use std::sync::Arc;

use crate::avatar::{AvatarModel, PosedAvatar};
use crate::mix::Mixer;
use crate::motion::{AvatarTraits, Motion};
use crate::rig::{Rig, RigOptions, ViewCamera};
use crate::settings::Settings;
use crate::types::{AudioReport, AvatarPose, FaceReport, FaceState, Timestamp};

/// Mixing, acting and rigging of one avatar.
pub struct Stage {
    mixer: Mixer,
    motion: Motion,
    rig: Rig,
    seen: Option<FaceReport>,
    heard: Option<AudioReport>,
    face: FaceState,
    last_tick: Option<Timestamp>,
}
