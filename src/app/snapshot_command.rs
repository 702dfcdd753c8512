//! `omote snapshot`: a plain measurement of an avatar.

use std::sync::Arc;

use anyhow::{Context, bail};
use glam::{Vec2, Vec3};

use super::cli::{OnOff, SnapshotArgs};
use super::replay_command::load_avatar;
use crate::avatar::{AvatarModel, AvatarProfile};
use crate::render::{self, Background, Camera, Framing, Gpu, GpuOptions, Lighting, Msaa, Outlines, SnapshotOptions};
use crate::rig::{Rig, RigOptions, ViewCamera};
use crate::settings;
use crate::types::{AvatarPose, Bone, Param};

/// Springs and constraints move at this rate under `--time`.
const STEP_SECS: f32 = 1.0 / 60.0;
/// Longest time to let pass.
const MAX_SECS: f32 = 600.0;

/// Takes the picture.
pub(super) fn snapshot(args: &SnapshotArgs) -> anyhow::Result<()> {
    if !(args.fov.is_finite() && (1.0..=170.0).contains(&args.fov)) {
        bail!("--fov must be from 1 to 170 degrees");
    }
    if !(args.time.is_finite() && (0.0..=MAX_SECS).contains(&args.time)) {
        bail!("--time must be from 0 to {MAX_SECS} seconds");
    }
    let model = Arc::new(load_avatar(args.avatar.as_deref())?);
    let pose = pose_of(args, &model)?;
    let aspect = args.size[0] as f32 / args.size[1] as f32;
    let camera = camera_of(args, &model, aspect);
    let mut options = RigOptions::SNAPSHOT;
    if args.view.is_some() {
        options.correction_strength = 1.0;
    }
    let view = ViewCamera { position: camera.position, target: camera.target, ..ViewCamera::default() };
    let mut rig = Rig::new(model.clone());
    rig.pose(&pose, &view, 0.0, &options);
    for _ in 0..(args.time / STEP_SECS).round() as u32 {
        rig.pose(&pose, &view, STEP_SECS, &options);
    }
    let light = args.light.map_or(Lighting::PLAIN.direction, |l| Vec3::from_array(l.0));
    let options = SnapshotOptions {
        camera: Some(camera),
        lighting: Lighting { direction: light, ..Lighting::PLAIN },
        background: match args.background {
            settings::Background::Transparent => Background::Transparent,
            settings::Background::Color(rgb) => Background::Color(rgb),
        },
        outlines: if args.outline == OnOff::On { Outlines::Shown } else { Outlines::Hidden },
        width: args.size[0],
        height: args.size[1],
        msaa: Msaa::from_samples(args.msaa),
    };
    let gpu = Gpu::new(GpuOptions::default())?;
    let picture = render::snapshot(&gpu, &model, rig.posed(), &options)?;
    gpu.flush()?;
    picture.save(&args.out).with_context(|| format!("the picture cannot be written: {}", args.out.display()))
}

fn pose_of(args: &SnapshotArgs, model: &AvatarModel) -> anyhow::Result<AvatarPose> {
    let names = AvatarProfile::of(model).expressions;
    let mut pose = AvatarPose { slots: vec![0.0; names.len()], ..AvatarPose::default() };
    for text in &args.expression {
        let parsed =
            text.split_once('=').and_then(|(n, w)| Some((n, w.parse::<f32>().ok().filter(|w| w.is_finite())?)));
        let (name, weight) =
            parsed.with_context(|| format!("--expression {text:?}: NAME=W is expected, as in aa=0.5"))?;
        let slot = names.iter().position(|n| n == name).and_then(|i| pose.slots.get_mut(i));
        let slot =
            slot.with_context(|| format!("this avatar has no expression {name:?}; it has {}", names.join(", ")))?;
        *slot = weight.clamp(0.0, 1.0);
    }
    let angles = args.head.map_or([0.0; 3], |h| h.0).map(f32::to_radians);
    for (param, angle) in [Param::HeadYaw, Param::HeadPitch, Param::HeadRoll].into_iter().zip(angles) {
        pose.params.set(param, angle);
    }
    let gaze = args.gaze.map_or([0.0; 2], |g| g.0).map(f32::to_radians);
    for (param, angle) in [Param::GazeYaw, Param::GazePitch].into_iter().zip(gaze) {
        pose.params.set(param, angle);
    }
    Ok(pose)
}

fn camera_of(args: &SnapshotArgs, model: &AvatarModel, aspect: f32) -> Camera {
    let fov = args.fov.to_radians();
    let framed = render::frame_avatar(model, Framing::Head, fov, aspect);
    if let Some(numbers) = args.camera {
        let [px, py, pz, tx, ty, tz] = numbers.0;
        return Camera { position: Vec3::new(px, py, pz), target: Vec3::new(tx, ty, tz), ..framed };
    }
    let Some(view) = args.view else { return framed };
    // The same distance from the face, on the side asked for.
    let Vec2 { x: alpha, y: beta } = Vec2::from_array(view.0.map(f32::to_radians));
    let distance = framed.position.distance(framed.target);
    let side = Vec3::new(beta.cos() * alpha.sin(), beta.sin(), beta.cos() * alpha.cos());
    // The direction is the face's: a turned head takes the camera along.
    let head = args.head.map_or([0.0; 3], |h| h.0).map(f32::to_radians);
    let turned = crate::types::HeadPose { yaw: head[0], pitch: head[1], roll: head[2] }.to_quat() * side;
    let center = face_center(model).unwrap_or(framed.target);
    Camera { position: center + turned * distance, target: center, ..framed }
}

/// Between the eyes, or the head bone where there are none.
fn face_center(model: &AvatarModel) -> Option<Vec3> {
    let at = |bone| model.bone(bone).and_then(|n| model.nodes.get(n)).map(|n| n.avatar_from_node.w_axis.truncate());
    match (at(Bone::LeftEye), at(Bone::RightEye)) {
        (Some(left), Some(right)) => Some((left + right) * 0.5),
        _ => at(Bone::Head),
    }
}
