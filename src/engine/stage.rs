//! The pure heart: reports in, a posed avatar out. No thread, no clock, no device.

use std::sync::Arc;

use crate::avatar::{AvatarModel, AvatarProfile, PosedAvatar};
use crate::mix::Mixer;
use crate::motion::{AvatarTraits, ExpressionCommand, Motion};
use crate::render::Camera;
use crate::rig::{Rig, RigOptions, ViewCamera};
use crate::settings::Settings;
use crate::types::{AudioReport, AvatarPose, FaceReport, FaceState, Timestamp};

/// Frames further apart than this are a pause: springs must not explode over it.
const MAX_DT_SECS: f32 = 0.25;

/// Mixing, acting and rigging of one avatar. The same reports, times and seed give the same frames.
pub struct Stage {
    mixer: Mixer,
    motion: Motion,
    rig: Rig,
    model: Arc<AvatarModel>,
    seen: Option<FaceReport>,
    heard: Option<AudioReport>,
    face: FaceState,
    ticked_at: Option<Timestamp>,
}

/// One output frame and what led to it.
pub struct StageFrame<'a> {
    /// The moment shown.
    pub now: Timestamp,
    /// The newest report of the picture source; `None` before the first.
    pub seen: Option<&'a FaceReport>,
    /// The newest report of the voice stage; `None` before the first.
    pub heard: Option<&'a AudioReport>,
    /// What the mixer believes.
    pub face: &'a FaceState,
    /// What the avatar shall do.
    pub pose: &'a AvatarPose,
    /// What is drawn.
    pub posed: &'a PosedAvatar,
    /// The avatar and how it is looked at.
    pub rig: &'a Rig,
    /// The avatar.
    pub model: &'a AvatarModel,
}

impl Stage {
    /// A stage at rest.
    pub fn new(model: Arc<AvatarModel>, seed: u64) -> Self {
        Self {
            mixer: Mixer::new(),
            motion: Motion::new(seed, traits_of(&model)),
            rig: Rig::new(model.clone()),
            model,
            seen: None,
            heard: None,
            face: FaceState::default(),
            ticked_at: None,
        }
    }

    /// Another avatar takes over in the same state.
    pub fn set_avatar(&mut self, model: Arc<AvatarModel>) {
        self.motion.set_avatar(traits_of(&model));
        self.rig = Rig::new(model.clone());
        self.model = model;
    }

    /// The avatar.
    pub fn model(&self) -> &Arc<AvatarModel> {
        &self.model
    }

    /// Takes what was seen.
    pub fn see(&mut self, report: FaceReport) {
        self.mixer.see(&report);
        self.seen = Some(report);
    }

    /// Takes what was heard.
    pub fn hear(&mut self, report: AudioReport) {
        self.mixer.hear(report);
        self.heard = Some(report);
    }

    /// Shows an expression of the avatar to some degree, by its slot.
    pub fn express(&mut self, slot: usize, weight: f32) {
        self.motion.command(ExpressionCommand { slot, weight, fade_secs: ExpressionCommand::FADE_SECS });
    }

    /// The frame at `now`, looked at through `camera`. Times must not run backwards.
    pub fn tick(&mut self, now: Timestamp, settings: &Settings, camera: &Camera) -> StageFrame<'_> {
        let dt = self.ticked_at.map_or(0.0, |last| now.saturating_since(last).as_secs_f32()).min(MAX_DT_SECS);
        self.ticked_at = Some(now);
        self.face = self.mixer.mix(now, settings);
        let pose = self.motion.step(&self.face, dt, settings);
        let view = ViewCamera { position: camera.position, target: camera.target, ..ViewCamera::default() };
        let options = RigOptions { correction_strength: settings.avatar.correction_strength, ..RigOptions::default() };
        self.rig.pose(pose, &view, dt, &options);
        StageFrame {
            now,
            seen: self.seen.as_ref(),
            heard: self.heard.as_ref(),
            face: &self.face,
            pose: self.motion.pose(),
            posed: self.rig.posed(),
            rig: &self.rig,
            model: &self.model,
        }
    }
}

fn traits_of(model: &AvatarModel) -> AvatarTraits {
    let profile = AvatarProfile::of(model);
    AvatarTraits { slot_count: profile.expressions.len(), iris_scale: profile.iris_scale }
}
