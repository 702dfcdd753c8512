//! The canonical pose becomes one avatar's bones, shapes and springs: `AvatarPose` + `AvatarModel` + camera → `PosedAvatar`.
//!
//! Order within a frame: expressions with their overrides, body and head, gaze, constraints, view direction and
//! camera-angle correction (from the *final* head pose), spring bones, matrices.
//!
//! Spaces: *avatar space* (metres, +Y up, facing +Z, +X own left). A bone's rotation in a pose is *normalised*: relative
//! to the T-pose, in avatar axes. With `P` the rest rotation of the bone's parent node in avatar space and `R` the
//! bone's own rest rotation, the node's rotation is `P⁻¹ · N · P · R`, whatever axes the file's bones have.
//!
//! No threads, clocks or files here; buffers are reused, so a frame allocates nothing.

mod body;
mod constraint;
mod face;
mod gaze;
mod skeleton;
mod skin;
mod sphere;
mod spring;
mod view;

use std::sync::Arc;

use glam::Quat;

use crate::avatar::{AvatarModel, Fallbacks, MaterialState, PosedAvatar, lip_shares};
use crate::types::{AvatarPose, Bone, Param};
use body::Body;
use face::Face;
use gaze::Gaze;
use skeleton::Skeleton;
pub use skin::skinned_positions;
pub use sphere::SphereWeights;
use spring::Springs;
pub use view::{ViewCamera, ViewDirection};

/// Name of the neutral correction point behind the head.
pub const BACK: &str = "back";
/// A frame never counts for more than this, seconds: after a hang, springs go on calmly.
pub const MAX_DT_SECS: f32 = 0.1;
/// How far the jaw bone turns at weight 1, radians.
const JAW_OPEN_RAD: f32 = 0.35;

/// What a caller may choose each frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RigOptions {
    /// Strength of the camera-angle correction, 0..1; 0 is exactly off.
    pub correction_strength: f32,
    /// The neck's share of the head's rotation, 0..1; 0 turns the head bone alone.
    pub neck_share: f32,
    /// Whether spring bones swing; otherwise they stay at rest.
    pub springs: bool,
}

impl Default for RigOptions {
    fn default() -> Self {
        // Head turns are shared about evenly between neck and head in people; a little less looks better on big heads.
        Self { correction_strength: 1.0, neck_share: 0.4, springs: true }
    }
}

impl RigOptions {
    /// A plain measurement (`omote snapshot`): no correction, the head bone alone.
    pub const SNAPSHOT: Self = Self { correction_strength: 0.0, neck_share: 0.0, springs: true };
}

/// Poses one avatar. Lives on the `stage` thread.
#[derive(Debug)]
pub struct Rig {
    model: Arc<AvatarModel>,
    fallbacks: Fallbacks,
    skeleton: Skeleton,
    body: Body,
    face: Face,
    gaze: Gaze,
    springs: Springs,
    sphere: SphereWeights,
    /// By correction point of the sidecar, then `back`.
    correction_weights: Vec<f32>,
    view: ViewDirection,
    base_morphs: Vec<f32>,
    /// How much each morph target belongs to the lips, 0..1.
    lip_shares: Vec<f32>,
    base_materials: Vec<MaterialState>,
    posed: PosedAvatar,
}

impl Rig {
    /// A rig in the rest pose.
    pub fn new(model: Arc<AvatarModel>) -> Self {
        let fallbacks = model.fallbacks();
        let points: Vec<(f32, f32)> = model.sidecar.corrections.iter().map(|c| (c.alpha, c.beta)).collect();
        let mut correction_weights = vec![0.0; points.len() + 1];
        if let Some(back) = correction_weights.last_mut() {
            *back = 1.0;
        }
        Self {
            skeleton: Skeleton::new(&model),
            body: Body::new(&model),
            face: Face::new(&model, &fallbacks),
            gaze: Gaze::new(&model, &fallbacks),
            springs: Springs::new(&model),
            sphere: SphereWeights::new(&points),
            correction_weights,
            view: ViewDirection::default(),
            base_morphs: model.base_morph_weights(),
            lip_shares: lip_shares(&model),
            base_materials: model.materials.iter().map(MaterialState::authored).collect(),
            posed: PosedAvatar::rest(&model),
            fallbacks,
            model,
        }
    }

    /// The avatar.
    pub fn model(&self) -> &Arc<AvatarModel> {
        &self.model
    }

    /// The result of the last [`Rig::pose`]; the rest pose before.
    pub fn posed(&self) -> &PosedAvatar {
        &self.posed
    }

    /// From which side the camera saw the face in the last frame.
    pub fn view(&self) -> ViewDirection {
        self.view
    }

    /// Names and weights of the camera-angle corrections as applied in the last frame; `back` takes what is left of 1.
    pub fn corrections(&self) -> impl Iterator<Item = (&str, f32)> {
        let names = self.model.sidecar.corrections.iter().map(|c| c.name.as_str()).chain(Some(BACK));
        names.zip(self.correction_weights.iter().copied())
    }

    /// Names and weights of the expressions of the last frame that are on, after overrides and with corrections.
    pub fn expressions(&self) -> impl Iterator<Item = (&str, f32)> {
        let names = self.model.expressions.iter().chain(&self.fallbacks.extra).map(|e| e.name.as_str());
        names.zip(self.face.weights().iter().copied()).filter(|(_, weight)| *weight != 0.0)
    }

    /// Lets hair and clothes start anew from rest at the next frame (after a cut).
    pub fn reset_springs(&mut self) {
        self.springs.reset();
    }

    /// Poses the avatar for one frame, `dt_secs` after the last one (0 for the first or a still).
    pub fn pose(&mut self, pose: &AvatarPose, camera: &ViewCamera, dt_secs: f32, options: &RigOptions) -> &PosedAvatar {
        let dt_secs = if dt_secs.is_finite() { dt_secs.clamp(0.0, MAX_DT_SECS) } else { 0.0 };
        let model = Arc::clone(&self.model);
        let model = &*model;
        let params = &pose.params;

        let look = self.gaze.weights(params.get(Param::GazeYaw), params.get(Param::GazePitch));
        let masks = self.face.resolve(model, &self.fallbacks, pose, &look);

        self.body.pose(pose, options.neck_share.clamp(0.0, 1.0));
        let jaw = Quat::from_rotation_x(masks.jaw_open * JAW_OPEN_RAD);
        self.body.turn(Bone::Jaw, jaw);
        let gaze = self.gaze.eyes(params.get(Param::GazeYaw), params.get(Param::GazePitch), masks.look_at);
        self.body.turn(Bone::LeftEye, gaze[0]);
        self.body.turn(Bone::RightEye, gaze[1]);
        self.skeleton.apply(model, self.body.rotations(), self.body.hips_offset());
        constraint::apply(model, &mut self.skeleton);
        self.skeleton.update_world(model);

        self.view = view::direction(model, &self.skeleton, camera);
        self.correct(options.correction_strength);
        self.show_face();

        self.springs.update(model, &mut self.skeleton, dt_secs, options.springs);
        let (posed, world) = (&mut self.posed, self.skeleton.world());
        for mesh in &model.meshes {
            posed.set_matrices(model, mesh, |node| world.get(node).copied().unwrap_or_default());
        }
        posed.time_secs += dt_secs;
        debug_assert!(posed.joint_matrices.iter().all(|m| m.is_finite()), "a joint matrix is not finite");
        debug_assert!(posed.morph_weights.iter().all(|w| w.is_finite()), "a morph weight is not finite");
        posed
    }

    /// Weighs the corrections for the current view and adds them to the expressions.
    fn correct(&mut self, strength: f32) {
        let strength = if strength.is_finite() { strength.clamp(0.0, 1.0) } else { 0.0 };
        self.sphere.weights(self.view.to_vec3(), &mut self.correction_weights);
        let mut rest = 1.0;
        for (point, weight) in self.model.sidecar.corrections.iter().zip(&mut self.correction_weights) {
            *weight *= strength;
            rest -= *weight;
            if *weight > 0.0 {
                for (expression, full) in &point.expressions {
                    self.face.add(*expression, *weight * full);
                }
            }
        }
        if let Some(back) = self.correction_weights.last_mut() {
            *back = rest.max(0.0);
        }
    }

    /// Expression weights become morph weights and material colours, over the authored base.
    fn show_face(&mut self) {
        self.posed.morph_weights.copy_from_slice(&self.base_morphs);
        self.posed.materials.copy_from_slice(&self.base_materials);
        let expressions = self.model.expressions.iter().chain(&self.fallbacks.extra);
        for (expression, weights) in expressions.zip(self.face.weights_of_lips()) {
            if weights.0 != 0.0 {
                face::play(expression, weights, &self.lip_shares, &self.base_materials, &mut self.posed);
            }
        }
    }
}
