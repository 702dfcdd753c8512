//! What an avatar can show: all that `motion` needs to know of it.

use super::AvatarModel;

/// What an avatar can show.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct AvatarProfile {
    /// Names of the avatar's expressions, by slot index (the index into `AvatarModel::expressions`).
    pub expressions: Vec<String>,
    /// Size of the iris relative to a human one (1); big anime irises need smaller saccades.
    pub iris_scale: f32,
}

impl AvatarProfile {
    /// The profile of a loaded avatar.
    pub fn of(model: &AvatarModel) -> Self {
        Self { expressions: model.expressions.iter().map(|e| e.name.clone()).collect(), iris_scale: 2.0 }
    }
}
