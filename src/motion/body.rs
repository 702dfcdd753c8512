//! The upper body follows the head, later and less. What the body turns the head need not: the face stays as tracked.

use super::{Layer, LayerInput};
use crate::signal::Spring;
use crate::types::{AvatarPose, Param};

/// How much later the body turns, seconds.
const LAG_SECS: f32 = 0.25;
/// Which part of `body_follow` each axis takes: bodies turn more than they bend.
const AXES: [(Param, Param, f32); 3] = [
    (Param::HeadYaw, Param::BodyYaw, 1.0),
    (Param::HeadPitch, Param::BodyPitch, 0.5),
    (Param::HeadRoll, Param::BodyRoll, 0.7),
];

/// Moves a share of the head group into the body group.
#[derive(Debug, Default)]
pub(super) struct BodyFollow {
    springs: [Spring; 3],
}

impl Layer for BodyFollow {
    fn apply(&mut self, input: &LayerInput, pose: &mut AvatarPose) {
        let follow = input.settings.body_follow.clamp(0.0, 1.0);
        for (spring, (head, body, share)) in self.springs.iter_mut().zip(AXES) {
            let followed = spring.step(pose.params.get(head) * follow * share, LAG_SECS, input.dt);
            pose.params.add(body, followed);
            pose.params.add(head, -followed);
        }
    }
}
