//! Poses in, vertices out. Variants of one avatar that must look alike need no reference pictures.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::Path;
use std::sync::Arc;

use glam::{Quat, Vec3};
use omote::avatar::{self, AvatarModel, OverrideKind};
use omote::rig::{BACK, Rig, RigOptions, ViewCamera, ViewDirection, skinned_positions};
use omote::types::{AvatarPose, Bone, HeadPose, Param};

use crate::avatar::test_files;

fn data(name: &str) -> AvatarModel {
    avatar::load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)).unwrap()
}

/// All vertices of all meshes by mesh name, in file order.
fn vertices(rig: &Rig) -> Vec<(String, Vec<Vec3>)> {
    let model = rig.model();
    model
        .meshes
        .iter()
        .enumerate()
        .map(|(m, mesh)| {
            let parts = (0..mesh.primitives.len()).flat_map(|p| skinned_positions(model, rig.posed(), m, p));
            (mesh.name.clone(), parts.collect())
        })
        .collect()
}

/// A pose that uses head, arms, mouth, lids and brows, but no bone that small avatars lack.
fn lively_pose() -> AvatarPose {
    let mut pose = AvatarPose::default();
    for (param, value) in [
        (Param::Aa, 0.6),
        (Param::BlinkLeft, 0.5),
        (Param::HeadYaw, 0.35),
        (Param::HeadPitch, 0.17),
        (Param::HeadRoll, 0.1),
        (Param::GazeYaw, 0.3),
        (Param::GazePitch, -0.1),
        (Param::BodyX, 0.05),
        (Param::Sad, 0.2),
    ] {
        pose.params.set(param, value);
    }
    pose.poses[0].bones[Bone::LeftUpperArm as usize] = Quat::from_rotation_z(-1.2);
    pose.poses[0].bones[Bone::RightUpperArm as usize] = Quat::from_rotation_z(1.2);
    pose.poses[0].bones[Bone::Spine as usize] = Quat::from_rotation_y(0.1);
    pose.poses[1] = pose.poses[0].clone();
    pose
}

const PLAIN: RigOptions = RigOptions { correction_strength: 0.0, neck_share: 0.0, springs: false };

fn posed(model: AvatarModel, pose: &AvatarPose, options: &RigOptions) -> Rig {
    let mut rig = Rig::new(Arc::new(model));
    rig.pose(pose, &ViewCamera::default(), 0.0, options);
    rig
}

/// The largest distance between vertices of two rigs of the same geometry.
fn largest_difference(a: &Rig, b: &Rig) -> f32 {
    let (a, b) = (vertices(a), vertices(b));
    assert_eq!(a.len(), b.len());
    let mut largest = 0.0_f32;
    for ((name, a), (_, b)) in a.iter().zip(&b) {
        assert_eq!(a.len(), b.len(), "{name}");
        largest = a.iter().zip(b).map(|(x, y)| x.distance(*y)).fold(largest, f32::max);
    }
    largest
}

#[test]
fn variants_of_one_avatar_pose_alike() {
    let pose = lively_pose();
    let base = posed(data("avatars/mochi_small.vrm"), &pose, &PLAIN);
    for name in ["avatars/mochi_small_rotbones.vrm", "avatars/mochi_small_multiskin.vrm", "mochi_small_vrm0.vrm"] {
        let difference = largest_difference(&base, &posed(data(name), &pose, &PLAIN));
        assert!(difference < 2e-4, "{name} differs by {difference} m");
    }
    // An avatar that declares no optional bone: they fold away.
    let mut few = data("avatars/mochi_small.vrm");
    for bone in [Bone::Chest, Bone::UpperChest, Bone::Neck, Bone::LeftShoulder, Bone::RightShoulder] {
        few.bones[bone as usize] = None;
    }
    let difference = largest_difference(&base, &posed(few, &pose, &PLAIN));
    assert!(difference < 2e-4, "without optional bones: {difference} m");
}

#[test]
fn plain_gltf_moves_by_its_names() {
    let mut pose = lively_pose();
    // Without VRM data nobody says how far the eyes go.
    pose.params.set(Param::GazeYaw, 0.0);
    pose.params.set(Param::GazePitch, 0.0);
    let base = posed(data("avatars/mochi_small.vrm"), &pose, &PLAIN);
    let gltf = posed(data("mochi_small.glb"), &pose, &PLAIN);
    let difference = largest_difference(&base, &gltf);
    assert!(difference < 2e-4, "{difference} m");
}

#[test]
fn the_rest_pose_leaves_every_vertex_in_place() {
    for name in ["avatars/mochi_small.vrm", "avatars/mochi_small_rotbones.vrm"] {
        let rig = posed(data(name), &AvatarPose::default(), &RigOptions::SNAPSHOT);
        let model = Arc::clone(rig.model());
        for (m, mesh) in model.meshes.iter().enumerate() {
            for (p, primitive) in mesh.primitives.iter().enumerate() {
                for (a, b) in skinned_positions(&model, rig.posed(), m, p).iter().zip(&primitive.positions) {
                    assert!(a.distance(*b) < 1e-4, "{name}: {a} is not {b}");
                }
            }
        }
    }
}

#[test]
#[ignore = "needs OMOTE_TEST_DATA"]
fn all_test_avatars_can_be_posed() {
    let pose = lively_pose();
    for path in test_files(&["vrm/files", "vrm/odd"]) {
        let Ok(model) = avatar::load(&path) else { continue };
        let mut rig = Rig::new(Arc::new(model));
        for _ in 0..5 {
            let posed = rig.pose(&pose, &ViewCamera::default(), 1.0 / 60.0, &RigOptions::default());
            assert!(posed.joint_matrices.iter().all(|m| m.is_finite()), "{}", path.display());
        }
    }
    let files = test_files(&["vrm/files"]);
    let find = |name: &str| files.iter().find(|p| p.ends_with(name)).map(|p| avatar::load(p).unwrap());
    if let (Some(v1), Some(v0)) = (find("mochi.vrm"), find("mochi_vrm0.vrm")) {
        let difference = largest_difference(&posed(v1, &pose, &PLAIN), &posed(v0, &pose, &PLAIN));
        assert!(difference < 2e-4, "VRM 0.x differs by {difference} m");
    }
}

/// Where the camera stands for a view direction, seen from the head.
fn camera_at(view: ViewDirection, head: Vec3) -> ViewCamera {
    ViewCamera { position: head + view.to_vec3() * 2.0, target: head, ..ViewCamera::default() }
}

fn head_center(model: &AvatarModel) -> Vec3 {
    let node = &model.nodes[model.bone(Bone::Head).unwrap()];
    node.avatar_from_node.transform_point3(model.look_at.unwrap().offset_from_head)
}

#[test]
fn the_view_direction_follows_camera_and_head() {
    let model = Arc::new(avatar::bundled().unwrap());
    let center = head_center(&model);
    let mut rig = Rig::new(Arc::clone(&model));
    for (alpha, beta) in [(0.0, 0.0), (1.0, 0.2), (-2.0, -0.5), (0.3, 1.2)] {
        let view = ViewDirection { alpha, beta };
        rig.pose(&AvatarPose::default(), &camera_at(view, center), 0.0, &RigOptions::default());
        assert!(rig.view().to_vec3().distance(view.to_vec3()) < 1e-3, "{:?} is not {view:?}", rig.view());
    }
    // A head turned to its left shows its right side to a camera in front.
    let mut pose = AvatarPose::default();
    pose.params.set(Param::HeadYaw, 0.5);
    let front = camera_at(ViewDirection::default(), center + Vec3::Z * 40.0);
    rig.pose(&pose, &front, 0.0, &RigOptions::default());
    assert!((rig.view().alpha + 0.5).abs() < 0.01, "{:?}", rig.view());
    // Looking down shows the top of the head.
    pose.params.set(Param::HeadYaw, 0.0);
    pose.params.set(Param::HeadPitch, 0.4);
    rig.pose(&pose, &front, 0.0, &RigOptions::default());
    assert!((rig.view().beta - 0.4).abs() < 0.01, "{:?}", rig.view());
}

#[test]
fn corrections_sum_to_one_and_are_exactly_off_at_zero() {
    let model = Arc::new(avatar::bundled().unwrap());
    assert_eq!(model.sidecar.corrections.len(), 7);
    assert!(model.sidecar.corrections.iter().all(|c| !c.expressions.is_empty()));
    let center = head_center(&model);
    let mut rig = Rig::new(Arc::clone(&model));
    let left = camera_at(ViewDirection { alpha: 75.0_f32.to_radians(), beta: 0.0 }, center);
    for strength in [1.0, 0.5, 0.0] {
        let options = RigOptions { correction_strength: strength, ..RigOptions::default() };
        rig.pose(&AvatarPose::default(), &left, 0.0, &options);
        let weights: Vec<(&str, f32)> = rig.corrections().collect();
        assert!((weights.iter().map(|(_, w)| w).sum::<f32>() - 1.0).abs() < 1e-5);
        let of = |name: &str| weights.iter().find(|(n, _)| *n == name).unwrap().1;
        assert!((of("left") - strength).abs() < 1e-3 && (of(BACK) - (1.0 - strength)).abs() < 1e-3, "{weights:?}");
    }
    let off = rig.posed().clone();
    assert!(off.morph_weights.iter().all(|w| *w == 0.0));
    assert_eq!(rig.expressions().count(), 0);
}

#[test]
fn parameters_reach_the_right_shapes() {
    let model = Arc::new(avatar::bundled().unwrap());
    let mut rig = Rig::new(Arc::clone(&model));
    let mut on = |set: &[(Param, f32)]| -> Vec<(String, f32)> {
        let mut pose = AvatarPose::default();
        set.iter().for_each(|(p, v)| pose.params.set(*p, *v));
        rig.pose(&pose, &ViewCamera::default(), 0.0, &PLAIN);
        rig.expressions().map(|(n, w)| (n.to_owned(), (w * 1000.0).round() / 1000.0)).collect()
    };
    let named = |list: &[(&str, f32)]| list.iter().map(|(n, w)| ((*n).to_owned(), *w)).collect::<Vec<_>>();
    assert_eq!(on(&[(Param::Aa, 0.5)]), named(&[("aa", 0.5)]));
    assert_eq!(on(&[(Param::BlinkLeft, 1.0)]), named(&[("blinkLeft", 1.0)]));
    // happy blocks blinks; the mouth is free to speak.
    assert_eq!(
        on(&[(Param::Happy, 0.5), (Param::BlinkLeft, 1.0), (Param::Aa, 1.0)]),
        named(&[("aa", 1.0), ("happy", 0.5)])
    );
    // A smile of the mouth alone does not.
    let smile = on(&[(Param::MouthSmile, 0.5), (Param::BlinkRight, 1.0)]);
    assert_eq!(smile, named(&[("blinkRight", 1.0), ("mouthSmileLeft", 0.5), ("mouthSmileRight", 0.5)]));
    assert!(on(&[(Param::BrowLeft, -1.0)]).contains(&("browDownLeft".into(), 1.0)));
    // Pressed lips close the vowel.
    assert!(on(&[(Param::Aa, 1.0), (Param::MouthClosed, 1.0)]).iter().all(|(n, _)| n != "aa"));
    assert_eq!(on(&[(Param::GazeYaw, 45.0_f32.to_radians())]), named(&[("lookLeft", 1.0)]));
}

#[test]
fn the_head_bone_turns_by_the_parameters() {
    let model = Arc::new(avatar::bundled().unwrap());
    let head = model.bone(Bone::Head).unwrap();
    let mesh = model.meshes.iter().find(|m| m.skin.is_some()).unwrap();
    let joint = model.skins[mesh.skin.unwrap()].joints.iter().position(|j| *j == head).unwrap();
    let mut rig = Rig::new(Arc::clone(&model));
    let mut pose = AvatarPose::default();
    let wanted = HeadPose { yaw: 0.4, pitch: 0.2, roll: -0.1 };
    pose.params.set(Param::HeadYaw, wanted.yaw);
    pose.params.set(Param::HeadPitch, wanted.pitch);
    pose.params.set(Param::HeadRoll, wanted.roll);
    for neck_share in [0.0, 0.4, 1.0] {
        let options = RigOptions { neck_share, ..PLAIN };
        let posed = rig.pose(&pose, &ViewCamera::default(), 0.0, &options);
        // Bind matrices of this avatar have no rotation, so the joint matrix carries the head's.
        let (_, rotation, _) = posed.joint_matrices[mesh.joint_offset + joint].to_scale_rotation_translation();
        for axis in [Vec3::X, Vec3::Y, Vec3::Z] {
            assert!((rotation * axis).distance(wanted.to_quat() * axis) < 1e-4);
        }
    }
}

#[test]
fn hostile_poses_stay_finite() {
    let mut rig = Rig::new(Arc::new(data("avatars/mochi_small.vrm")));
    let mut pose = lively_pose();
    pose.poses[0].bones = [Quat::from_xyzw(f32::NAN, 0.0, 0.0, 0.0); omote::types::BONE_COUNT];
    pose.poses[1].hips_offset_m = Vec3::splat(f32::INFINITY);
    pose.blend = f32::NAN;
    pose.slots = vec![f32::NAN; 500];
    let camera = ViewCamera { position: Vec3::NAN, ..ViewCamera::default() };
    for dt in [f32::NAN, -1.0, 1e9, 0.02] {
        let options = RigOptions { correction_strength: f32::NAN, ..RigOptions::default() };
        let posed = rig.pose(&pose, &camera, dt, &options);
        assert!(posed.joint_matrices.iter().all(|m| m.is_finite()));
        assert!(posed.morph_weights.iter().all(|w| w.is_finite()));
    }
}

#[test]
fn hair_swings_and_comes_to_rest() {
    let mut rig = Rig::new(Arc::new(avatar::bundled().unwrap()));
    let mut pose = AvatarPose::default();
    let rest = rig.pose(&pose, &ViewCamera::default(), 0.0, &RigOptions::default()).clone();
    let mut moved = 0.0_f32;
    let mut started = std::time::Instant::now();
    for frame in 0..600 {
        // Two seconds of head shaking, then stillness.
        let t = frame as f32 / 60.0;
        pose.params.set(Param::HeadYaw, if t < 2.0 { 0.5 * (t * 9.0).sin() } else { 0.0 });
        let posed = rig.pose(&pose, &ViewCamera::default(), 1.0 / 60.0, &RigOptions::default());
        let farthest = posed.joint_matrices.iter().zip(&rest.joint_matrices);
        moved = farthest
            .map(|(a, b)| (*a - *b).abs_diff_eq(glam::Mat4::ZERO, 0.05))
            .fold(moved, |m, near| m.max(f32::from(u8::from(!near))));
        if frame == 299 {
            println!("rig.pose: {:?} a frame", started.elapsed() / 300);
            started = std::time::Instant::now();
        }
    }
    println!("rig.pose at rest: {:?} a frame", started.elapsed() / 300);
    assert_eq!(moved, 1.0, "nothing swung");
    let (settled, model) = (rig.posed(), rig.model());
    let gravity_sag = 0.2;
    for (a, b) in settled.joint_matrices.iter().zip(&rest.joint_matrices) {
        assert!(a.w_axis.truncate().distance(b.w_axis.truncate()) < gravity_sag, "{}", model.meta.name);
    }
}

#[test]
fn while_lip_sync_has_the_mouth_a_smile_stays_in_the_eyes() {
    let weights = |lip_sync: f32, happy: f32, overrides: OverrideKind| {
        let mut pose = AvatarPose::default();
        pose.params.set(Param::LipSync, lip_sync);
        pose.params.set(Param::Happy, happy);
        let mut model = avatar::bundled().unwrap();
        model.expressions.iter_mut().filter(|e| e.name == "happy").for_each(|e| e.mask.mouth = overrides);
        posed(model, &pose, &PLAIN).posed().morph_weights.clone()
    };
    let moved = |a: &[f32], b: &[f32]| a.iter().zip(b).filter(|(a, b)| (*a - *b).abs() > 0.05).count();
    let free = OverrideKind::None;
    let (rest, smiling, speaking) = (weights(0.0, 0.0, free), weights(0.0, 1.0, free), weights(1.0, 1.0, free));
    assert!(moved(&smiling, &speaking) > 0, "the smile leaves the lips");
    assert!(moved(&speaking, &rest) > 0, "the smile stays in the eyes");
    assert!(moved(&smiling, &rest) > moved(&speaking, &rest));
    // Where the artist says that the expression has the mouth, speech does not take it.
    assert_eq!(weights(1.0, 1.0, OverrideKind::Block), smiling);
}
