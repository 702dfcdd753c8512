//! Acting: a [`FaceState`] becomes an [`AvatarPose`] through ordered layers.
//!
//! base and idle → head → body follow → gaze and saccades → blink → brows → mouth → expressions over the saved base →
//! clamp. Each parameter group is written by one layer; the pose starts from nothing in every frame, so nothing
//! accumulates. Everything is in avatar space: +Y up, the avatar faces +Z, +X and `left` are its own left. The mirror
//! has been applied before (`mix`).
//!
//! Knows no avatar file, no skeleton, no clock: what it needs of an avatar is [`AvatarTraits`], chance comes from a seed.
//! Made and used on the stage thread; no allocation after construction.

mod base;
mod blink;
mod body;
mod expression;
mod face;
mod gaze;
mod head;
mod saccade;
mod wander;

pub use expression::ExpressionCommand;

use crate::settings::{MotionSettings, Settings};
use crate::signal::{Rng, Slew, smoothstep};
use crate::types::{AvatarPose, FaceState};

/// The tracked head takes over in this time, and is given up in that.
const PRESENCE_RISE_SECS: f32 = 0.3;
const PRESENCE_FALL_SECS: f32 = 0.6;
/// Frames further apart count as this far apart.
const MAX_DT_SECS: f32 = 0.25;

/// What `motion` needs to know of an avatar.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AvatarTraits {
    /// Number of the avatar's own expressions: the length of `AvatarPose::slots`.
    pub slot_count: usize,
    /// Size of the iris relative to a human one (1); big anime irises need smaller saccades.
    pub iris_scale: f32,
}

/// What every layer gets.
#[derive(Clone, Copy, Debug)]
pub struct LayerInput<'a> {
    /// What the person does.
    pub face: &'a FaceState,
    /// Seconds since the last frame.
    pub dt: f32,
    /// The user's wishes.
    pub settings: &'a MotionSettings,
    /// What the avatar can do.
    pub traits: &'a AvatarTraits,
    /// How much the tracked head is acted, 0 (idle) to 1: the trust in the face, eased.
    pub presence: f32,
    /// True while an automatic blink plays; an expression waits for its end.
    pub is_blinking: bool,
    /// True while an expression changes; no blink begins.
    pub is_expression_changing: bool,
}

/// One step of the acting. Layers run in order; each writes the groups it owns.
pub trait Layer: Send {
    /// Writes this layer's part of the pose.
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose);
}

/// The actor: holds the layers and the pose.
#[derive(Debug)]
pub struct Motion {
    traits: AvatarTraits,
    presence: Slew,
    base: base::Base,
    head: head::Head,
    body: body::BodyFollow,
    gaze: gaze::GazeLayer,
    blink: blink::Blink,
    brows: face::BrowLayer,
    mouth: face::MouthLayer,
    expressions: expression::Expressions,
    pose: AvatarPose,
}

impl Motion {
    /// An actor at rest. The same seed gives the same chance movements.
    pub fn new(seed: u64, traits: AvatarTraits) -> Self {
        let mut rng = Rng::new(seed);
        let mut fork = || Rng::new(rng.next_u64());
        Self {
            traits,
            presence: Slew::default(),
            base: base::Base::new(&mut fork()),
            head: head::Head::new(&mut fork()),
            body: body::BodyFollow::default(),
            gaze: gaze::GazeLayer::new(fork()),
            blink: blink::Blink::new(fork()),
            brows: face::BrowLayer,
            mouth: face::MouthLayer::default(),
            expressions: expression::Expressions::new(traits.slot_count),
            pose: AvatarPose { slots: vec![0.0; traits.slot_count], ..AvatarPose::default() },
        }
    }

    /// Another avatar takes the stage: its slots start at 0, everything else goes on.
    pub fn set_avatar(&mut self, traits: AvatarTraits) {
        self.traits = traits;
        self.expressions = expression::Expressions::new(traits.slot_count);
        self.pose.slots.clear();
        self.pose.slots.resize(traits.slot_count, 0.0);
    }

    /// Shows or hides an expression; an unknown slot is ignored.
    pub fn command(&mut self, command: ExpressionCommand) {
        self.expressions.command(command);
    }

    /// The pose of the last step.
    pub fn pose(&self) -> &AvatarPose {
        &self.pose
    }

    /// The pose `dt` seconds after the last one.
    pub fn step(&mut self, face: &FaceState, dt: f32, settings: &Settings) -> &AvatarPose {
        let dt = if dt.is_finite() { dt.clamp(0.0, MAX_DT_SECS) } else { 0.0 };
        let trust = if face.trust.face.is_finite() { face.trust.face.clamp(0.0, 1.0) } else { 0.0 };
        let change_secs = if trust > self.presence.value { PRESENCE_RISE_SECS } else { PRESENCE_FALL_SECS };
        let input = LayerInput {
            face,
            dt,
            settings: &settings.motion,
            traits: &self.traits,
            presence: smoothstep(self.presence.step(trust, 1.0 / change_secs, dt)),
            is_blinking: self.blink.is_active(),
            is_expression_changing: self.expressions.is_changing(),
        };
        let pose = &mut self.pose;
        pose.at = face.at;
        pose.params = Default::default();
        let layers: [&mut dyn Layer; 8] = [
            &mut self.base,
            &mut self.head,
            &mut self.body,
            &mut self.gaze,
            &mut self.blink,
            &mut self.brows,
            &mut self.mouth,
            &mut self.expressions,
        ];
        for layer in layers {
            layer.apply(&input, pose);
        }
        debug_assert!(is_sane(pose), "{pose:?}");
        pose
    }
}

fn is_sane(pose: &AvatarPose) -> bool {
    pose.params.values().iter().chain(&pose.slots).chain([&pose.blend]).all(|x| x.is_finite())
        && pose.poses.iter().all(|p| p.hips_offset_m.is_finite() && p.bones.iter().all(|b| b.is_normalized()))
}
