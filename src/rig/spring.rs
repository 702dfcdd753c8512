//! Spring bones: hair and clothes that swing. Verlet integration with a fixed step, as both VRM versions define it.
//!
//! The drag is per step, so the step is always 1/60 s whatever the frame rate. Steps run at their own moments between
//! two frames (the body's pose is interpolated there); what is shown is interpolated between the last two steps, as
//! rotations relative to the parent, so that hair never lags behind the head it grows on.

use glam::{Mat4, Quat, Vec3};

use super::skeleton::{Skeleton, update_world};
use crate::avatar::{AvatarModel, ColliderShape, Transform};

/// The step that VRM's numbers are made for.
pub(super) const STEP_SECS: f32 = 1.0 / 60.0;
/// A root that moves further within a frame has been put somewhere else, metres.
const TELEPORT_M: f32 = 1.0;

/// All springs of one avatar.
#[derive(Debug)]
pub(super) struct Springs {
    joints: Vec<Joint>,
    /// Joints of each chain, as a range of `joints`.
    chains: Vec<Chain>,
    /// Nodes that lie below a spring joint: their matrices are stale while springs are computed.
    is_swinging: Vec<bool>,
    /// Nodes to refresh before a joint, flat; `Joint::refresh` finds them.
    refresh: Vec<usize>,
    /// Local transforms of the last frame and of the current sub-step.
    last_local: Vec<Transform>,
    step_local: Vec<Transform>,
    step_world: Vec<Mat4>,
    /// Time since the last step.
    accumulated: f32,
    is_started: bool,
}

#[derive(Debug)]
struct Chain {
    first: usize,
    end: usize,
    /// Where the first joint was in the last frame.
    last_head: Option<Vec3>,
}

#[derive(Debug)]
struct Joint {
    node: usize,
    parent: Option<usize>,
    refresh: (usize, usize),
    spring: usize,
    /// Place of the tail at rest, in the joint's own space.
    tail: Vec3,
    /// Unit vector to it.
    axis: Vec3,
    /// Tail now and a step ago: avatar space, or the center's space.
    current: Vec3,
    previous: Vec3,
    /// Local rotation after the last step and the one before.
    rotation: Quat,
    last_rotation: Quat,
}

impl Springs {
    pub(super) fn new(model: &AvatarModel) -> Self {
        let mut is_swinging = vec![false; model.nodes.len()];
        let mut is_joint = vec![false; model.nodes.len()];
        for spring in &model.springs {
            for joint in spring.joints.iter().take(spring.joints.len().saturating_sub(1)) {
                if let Some(slot) = is_joint.get_mut(joint.node) {
                    *slot = true;
                }
            }
        }
        for (index, node) in model.nodes.iter().enumerate() {
            let above = |flags: &[bool]| node.parent.is_some_and(|p| flags.get(p) == Some(&true));
            let swings = above(&is_joint) || above(&is_swinging);
            if let Some(slot) = is_swinging.get_mut(index) {
                *slot = swings;
            }
        }
        let (mut joints, mut chains, mut refresh) = (Vec::new(), Vec::new(), Vec::new());
        for (spring, json) in model.springs.iter().enumerate() {
            let first = joints.len();
            for pair in json.joints.windows(2) {
                let [joint, next] = pair else { continue };
                let (Some(node), Some(end)) = (model.nodes.get(joint.node), model.nodes.get(next.node)) else {
                    continue;
                };
                let tail = node.avatar_from_node.inverse().transform_point3(end.avatar_from_node.w_axis.truncate());
                let Some(axis) = tail.try_normalize() else { continue };
                // From the nearest joint above (or the first node that does not swing) down to the parent.
                let start = refresh.len();
                let mut at = node.parent;
                while let Some(above) =
                    at.filter(|n| is_swinging.get(*n) == Some(&true) && is_joint.get(*n) != Some(&true))
                {
                    refresh.push(above);
                    at = model.nodes.get(above).and_then(|n| n.parent);
                }
                if let Some(path) = refresh.get_mut(start..) {
                    path.reverse();
                }
                joints.push(Joint {
                    node: joint.node,
                    parent: node.parent,
                    refresh: (start, refresh.len()),
                    spring,
                    tail,
                    axis,
                    current: Vec3::ZERO,
                    previous: Vec3::ZERO,
                    rotation: node.rest.rotation,
                    last_rotation: node.rest.rotation,
                });
            }
            chains.push(Chain { first, end: joints.len(), last_head: None });
        }
        let rest: Vec<Transform> = model.nodes.iter().map(|n| n.rest).collect();
        Self {
            joints,
            chains,
            is_swinging,
            refresh,
            step_local: rest.clone(),
            last_local: rest,
            step_world: model.nodes.iter().map(|n| n.avatar_from_node).collect(),
            accumulated: 0.0,
            is_started: false,
        }
    }

    /// Starts anew from rest at the next update.
    pub(super) fn reset(&mut self) {
        self.is_started = false;
    }

    /// Moves the springs by `dt` and writes their rotations into the skeleton, whose `world` must be current.
    pub(super) fn update(&mut self, model: &AvatarModel, skeleton: &mut Skeleton, dt: f32, is_on: bool) {
        if self.joints.is_empty() {
            return;
        }
        if !is_on {
            self.is_started = false;
            return;
        }
        self.reset_where_teleported(model, skeleton);
        if !self.is_started {
            self.is_started = true;
            self.accumulated = 0.0;
            self.last_local.copy_from_slice(skeleton.local());
            for chain in 0..self.chains.len() {
                self.rest_chain(model, skeleton.world(), chain);
            }
        }
        let before = self.accumulated;
        self.accumulated += dt;
        let mut step = 1.0;
        // A hair of tolerance, so that frames of exactly one step make one step each.
        while self.accumulated >= STEP_SECS * 0.999 {
            let moment = if dt > 0.0 { ((STEP_SECS * step - before) / dt).clamp(0.0, 1.0) } else { 1.0 };
            self.prepare_step(model, skeleton.local(), moment);
            self.step(model);
            self.accumulated -= STEP_SECS;
            step += 1.0;
        }
        self.accumulated = self.accumulated.max(0.0);
        self.last_local.copy_from_slice(skeleton.local());
        let share = (self.accumulated / STEP_SECS).clamp(0.0, 1.0);
        let (local, world) = skeleton.parts_mut();
        for joint in &self.joints {
            if let Some(local) = local.get_mut(joint.node) {
                local.rotation = joint.last_rotation.lerp(joint.rotation, share);
            }
        }
        update_world(model, local, world);
    }

    /// Puts a chain at rest where the body is now.
    fn rest_chain(&mut self, model: &AvatarModel, world: &[Mat4], chain: usize) {
        let Some(chain) = self.chains.get(chain) else { return };
        for joint in self.joints.get_mut(chain.first..chain.end).unwrap_or_default() {
            let Some(spring) = model.springs.get(joint.spring) else { continue };
            let matrix = world.get(joint.node).copied().unwrap_or_default();
            let tail = into_center(spring.center, world).transform_point3(matrix.transform_point3(joint.tail));
            (joint.current, joint.previous) = (tail, tail);
            let rest = model.nodes.get(joint.node).map_or(Quat::IDENTITY, |n| n.rest.rotation);
            (joint.rotation, joint.last_rotation) = (rest, rest);
        }
    }

    fn reset_where_teleported(&mut self, model: &AvatarModel, skeleton: &Skeleton) {
        for index in 0..self.chains.len() {
            let Some(chain) = self.chains.get(index) else { continue };
            let Some(first) = self.joints.get(chain.first) else { continue };
            let head = skeleton.world().get(first.node).map_or(Vec3::ZERO, |m| m.w_axis.truncate());
            let has_jumped = chain.last_head.is_some_and(|last| last.distance(head) > TELEPORT_M);
            if let Some(chain) = self.chains.get_mut(index) {
                chain.last_head = Some(head);
            }
            if has_jumped && self.is_started {
                self.rest_chain(model, skeleton.world(), index);
                self.last_local.copy_from_slice(skeleton.local());
            }
        }
    }

    /// The body's pose at `moment` of the way from the last frame to this one.
    fn prepare_step(&mut self, model: &AvatarModel, now: &[Transform], moment: f32) {
        for ((step, last), now) in self.step_local.iter_mut().zip(&self.last_local).zip(now) {
            *step = if moment >= 0.999 || last == now {
                *now
            } else {
                Transform {
                    translation: last.translation.lerp(now.translation, moment),
                    rotation: last.rotation.lerp(now.rotation, moment),
                    scale: now.scale,
                }
            };
        }
        update_world(model, &self.step_local, &mut self.step_world);
    }

    /// One step of all joints, roots first.
    fn step(&mut self, model: &AvatarModel) {
        let Self { joints, refresh, step_local, step_world, is_swinging, .. } = self;
        for joint in joints {
            for node in refresh.get(joint.refresh.0..joint.refresh.1).unwrap_or_default() {
                let parent = model.nodes.get(*node).and_then(|n| n.parent);
                let above = parent.and_then(|p| step_world.get(p)).copied().unwrap_or_default();
                if let (Some(local), Some(world)) = (step_local.get(*node), step_world.get_mut(*node)) {
                    *world = above * local.to_mat4();
                }
            }
            let (Some(spring), Some(node)) = (model.springs.get(joint.spring), model.nodes.get(joint.node)) else {
                continue;
            };
            let Some(settings) = spring.joints.iter().find(|j| j.node == joint.node) else { continue };
            let parent = joint.parent.and_then(|p| step_world.get(p)).copied().unwrap_or_default();
            let rest = parent * node.rest.to_mat4();
            let head = rest.w_axis.truncate();
            let to_tail = rest.transform_vector3(joint.tail);
            let length = to_tail.length();
            let Some(direction) = to_tail.try_normalize() else { continue };

            let to_center = into_center(spring.center, step_world);
            let from_center = spring.center.and_then(|c| step_world.get(c)).copied().unwrap_or_default();
            let current = from_center.transform_point3(joint.current);
            let previous = from_center.transform_point3(joint.previous);
            let inertia = (current - previous) * (1.0 - settings.drag_force);
            let stiffness = direction * (settings.stiffness * STEP_SECS);
            let gravity = settings.gravity_dir * (settings.gravity_power * STEP_SECS);
            let constrain = |tail: Vec3| head + (tail - head).normalize_or(direction) * length;
            let mut next = constrain(current + inertia + stiffness + gravity);
            for collider in spring.colliders.iter().filter_map(|c| model.colliders.get(*c)) {
                let matrix = collider_matrix(model, step_local, step_world, is_swinging, collider.node);
                if let Some(push) = collide(&collider.shape, &matrix, next, settings.hit_radius) {
                    next = constrain(next + push);
                }
            }
            if !next.is_finite() {
                next = head + to_tail;
            }
            joint.previous = joint.current;
            joint.current = to_center.transform_point3(next);
            let wanted = rest.inverse().transform_point3(next).try_normalize().unwrap_or(joint.axis);
            joint.last_rotation = joint.rotation;
            joint.rotation = (node.rest.rotation * Quat::from_rotation_arc(joint.axis, wanted)).normalize();
            if let (Some(local), Some(world)) = (step_local.get_mut(joint.node), step_world.get_mut(joint.node)) {
                local.rotation = joint.rotation;
                *world = parent * local.to_mat4();
            }
        }
    }
}

fn into_center(center: Option<usize>, world: &[Mat4]) -> Mat4 {
    let inverse = center.and_then(|c| world.get(c)).map_or(Mat4::IDENTITY, Mat4::inverse);
    if inverse.is_finite() { inverse } else { Mat4::IDENTITY }
}

/// Where a collider's node is; one that swings itself is looked up along its parents.
fn collider_matrix(
    model: &AvatarModel,
    local: &[Transform],
    world: &[Mat4],
    is_swinging: &[bool],
    node: usize,
) -> Mat4 {
    let (mut matrix, mut at) = (Mat4::IDENTITY, Some(node));
    while let Some(node) = at {
        if is_swinging.get(node) != Some(&true) {
            return world.get(node).copied().unwrap_or_default() * matrix;
        }
        matrix = local.get(node).map_or(Mat4::IDENTITY, |t| t.to_mat4()) * matrix;
        at = model.nodes.get(node).and_then(|n| n.parent);
    }
    matrix
}

/// How far a tail must move to leave a collider; `None` where it does not touch.
fn collide(shape: &ColliderShape, matrix: &Mat4, tail: Vec3, hit_radius: f32) -> Option<Vec3> {
    let columns = [matrix.x_axis, matrix.y_axis, matrix.z_axis];
    let scale = columns.map(|c| c.truncate().length()).into_iter().fold(0.0, f32::max);
    // Distance of the tail's surface to the shape along `delta`, from the nearest point on the shape's core.
    let outside = |delta: Vec3, radius: f32| {
        let distance = delta.length() - radius * scale - hit_radius;
        (distance < 0.0).then(|| delta.normalize_or(Vec3::Y) * -distance)
    };
    let inside = |delta: Vec3, radius: f32| {
        let distance = radius * scale - hit_radius - delta.length();
        (distance < 0.0).then(|| delta.normalize_or_zero() * distance)
    };
    let from_segment = |offset: Vec3, end: Vec3| {
        let (a, b) = (matrix.transform_point3(offset), matrix.transform_point3(end));
        let (along, delta) = (b - a, tail - a);
        let share = along.dot(delta) / along.length_squared().max(1e-12);
        delta - along * share.clamp(0.0, 1.0)
    };
    match *shape {
        ColliderShape::Sphere { offset, radius } => outside(tail - matrix.transform_point3(offset), radius),
        ColliderShape::Capsule { offset, tail: end, radius } => outside(from_segment(offset, end), radius),
        ColliderShape::InsideSphere { offset, radius } => inside(tail - matrix.transform_point3(offset), radius),
        ColliderShape::InsideCapsule { offset, tail: end, radius } => inside(from_segment(offset, end), radius),
        ColliderShape::Plane { offset, normal } => {
            let normal = matrix.transform_vector3(normal).normalize_or(Vec3::Y);
            let distance = (tail - matrix.transform_point3(offset)).dot(normal) - hit_radius;
            (distance < 0.0).then(|| normal * -distance)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::avatar::load_bytes;
    use crate::types::BONE_COUNT;

    const VECTORS: &str = include_str!("../../tests/data/vrm_vectors.json");

    /// A chain a → b → c under a root that is the hips, as the vectors' note says.
    struct Setup {
        stiffness: f32,
        drag: f32,
        gravity: f32,
        hit_radius: f32,
        collider: Option<([f32; 3], f32)>,
        is_centered: bool,
        scale: f32,
    }

    const PLAIN: Setup = Setup {
        stiffness: 1.0,
        drag: 0.4,
        gravity: 0.0,
        hit_radius: 0.0,
        collider: None,
        is_centered: false,
        scale: 1.0,
    };

    fn model(setup: &Setup) -> AvatarModel {
        let joint = |node: usize| {
            json!({"node": node, "stiffness": setup.stiffness, "dragForce": setup.drag,
                "gravityPower": setup.gravity, "hitRadius": setup.hit_radius})
        };
        let mut spring = json!({"joints": [joint(1), joint(2), joint(3)], "colliderGroups": [0]});
        if setup.is_centered {
            spring["center"] = json!(0);
        }
        let (place, radius) = setup.collider.unwrap_or(([0.0, 100.0, 0.0], 0.01));
        let file = json!({
            "asset": {"version": "2.0"},
            "nodes": [
                {"children": [1, 4], "scale": [setup.scale, setup.scale, setup.scale]},
                {"children": [2], "translation": [0, 1, 0]},
                {"children": [3], "translation": [0, -0.1, 0]},
                {"translation": [0, -0.1, 0]},
                {"translation": place}
            ],
            "extensions": {
                "VRMC_vrm": {"humanoid": {"humanBones": {"hips": {"node": 0}}}},
                "VRMC_springBone": {
                    "colliders": [{"node": 4, "shape": {"sphere": {"radius": radius}}}],
                    "colliderGroups": [{"colliders": [0]}],
                    "springs": [spring]
                }
            }
        });
        load_bytes(file.to_string().as_bytes(), None).unwrap()
    }

    /// Place of the tail c relative to the root, after each frame.
    fn run(setup: &Setup, dt: f32, frames: usize, speed: f32, moving_secs: f32) -> Vec<[f32; 2]> {
        let model = model(setup);
        let (mut skeleton, mut springs) = (Skeleton::new(&model), Springs::new(&model));
        let mut frame = |x: f32, dt: f32| {
            skeleton.apply(&model, &[Quat::IDENTITY; BONE_COUNT], Vec3::X * x);
            skeleton.update_world(&model);
            springs.update(&model, &mut skeleton, dt, true);
            let tail = springs.joints[1].current;
            if setup.is_centered { [tail.x, tail.y] } else { [tail.x - x, tail.y] }
        };
        frame(0.0, 0.0);
        let place = |n: usize| (n as f32 * dt).min(moving_secs) * speed;
        (1..=frames).map(|n| frame(place(n), dt)).collect()
    }

    fn check(name: &str, frames: &[usize], trace: &[[f32; 2]], tolerance: f32) {
        let vectors: Value = serde_json::from_str(VECTORS).unwrap();
        for (frame, expected) in frames.iter().zip(vectors["spring"][name].as_array().unwrap()) {
            for axis in 0..2 {
                let (found, wanted) = (trace[*frame][axis], expected[axis].as_f64().unwrap() as f32);
                assert!((found - wanted).abs() < tolerance, "{name}, frame {frame}: {found} instead of {wanted}");
            }
        }
    }

    /// The reference measures the length of a bone to where its tail was before the parent turned in this step, so its
    /// lengths waver by up to 1 % while the chain moves; ours are constant.
    const STALE_LENGTH: f32 = 4e-4;
    const FRAMES: [usize; 7] = [0, 1, 4, 9, 29, 59, 119];

    #[test]
    fn a_moved_chain_swings_like_the_reference() {
        let trace = run(&PLAIN, STEP_SECS, 120, 1.0, 0.5);
        check("A_move_1mps_30frames_dt60", &FRAMES, &trace, STALE_LENGTH);
        let gravity = Setup { stiffness: 0.0, gravity: 1.0, ..PLAIN };
        check("B_gravity1_stiff0", &FRAMES, &run(&gravity, STEP_SECS, 120, 1.0, 0.5), STALE_LENGTH);
        // The same chain with constant lengths, from a separate two-dimensional calculation.
        for (frame, expected) in FRAMES.iter().zip([-0.018293, -0.037647, -0.086357, -0.106356, -0.101056]) {
            assert!((trace[*frame][0] - expected).abs() < 2e-5, "frame {frame}: {:?}", trace[*frame]);
        }
    }

    #[test]
    fn colliders_push_like_the_reference() {
        let collider = Setup { gravity: 0.5, hit_radius: 0.02, collider: Some(([0.01, 0.83, 0.0], 0.05)), ..PLAIN };
        check("C_collider_r005_at_0_085_0", &FRAMES, &run(&collider, STEP_SECS, 120, 0.0, 0.5), 2e-5);
    }

    #[test]
    fn a_centred_chain_ignores_the_movement_of_its_centre() {
        let centered = Setup { is_centered: true, ..PLAIN };
        check("D_center_root_moves", &FRAMES, &run(&centered, STEP_SECS, 60, 1.0, 0.5), 2e-5);
    }

    #[test]
    fn a_scaled_avatar_swings_like_the_reference() {
        let scaled = Setup { scale: 8.0, ..PLAIN };
        let trace = run(&scaled, STEP_SECS, 60, 8.0, 0.5);
        check("scale8", &[0, 1, 4, 9, 29, 59], &trace, 40.0 * STALE_LENGTH);
        for (frame, expected) in FRAMES.iter().zip([-0.135787, -0.274410, -0.692934, -1.247559, -1.560908]) {
            assert!((trace[*frame][0] - expected).abs() < 2e-4, "frame {frame}: {:?}", trace[*frame]);
        }
    }

    #[test]
    fn the_frame_rate_does_not_matter() {
        let peak = |hz: f32| {
            let trace = run(&PLAIN, 1.0 / hz, hz as usize, 1.0, 0.5);
            trace.iter().map(|p| p[0]).fold(0.0, f32::min)
        };
        let expected = peak(60.0);
        for hz in [30.0, 75.0, 120.0, 144.0, 240.0] {
            // The tail is compared with the root of the shown frame, up to a step later.
            assert!((peak(hz) - expected).abs() < 0.018, "{hz} Hz: {} instead of {expected}", peak(hz));
        }
    }

    #[test]
    fn a_jump_starts_from_rest() {
        let model = model(&PLAIN);
        let (mut skeleton, mut springs) = (Skeleton::new(&model), Springs::new(&model));
        for x in [0.0, 0.0, 5.0, 5.0] {
            skeleton.apply(&model, &[Quat::IDENTITY; BONE_COUNT], Vec3::X * x);
            skeleton.update_world(&model);
            springs.update(&model, &mut skeleton, STEP_SECS, true);
            let tail = springs.joints[1].current;
            assert!((tail - Vec3::new(x, 0.8, 0.0)).length() < 1e-4, "{tail}");
        }
    }
}
