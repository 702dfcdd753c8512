//! glTF and VRM files become an [`AvatarModel`]: meshes, skeleton, expressions, springs. No GPU, no time.
//!
//! Only this module knows file-format names ("aa", "A", "mouth_open"); inside, names are enum values and indices.
//! Space: metres, +Y up, the avatar faces +Z, +X is its left. VRM 0.x files are turned to face +Z on load;
//! plain glTF keeps the coordinates of its file.

mod model;
mod posed;
mod profile;

pub use model::{
    AlphaMode, AvatarFormat, AvatarMeta, AvatarModel, Collider, ColliderShape, Constraint, ConstraintKind,
    CorrectionPoint, Expression, ExpressionBinds, ExpressionGroup, ExpressionMask, LookAt, LookAtKind, LookAtRange,
    Material, MaterialBind, MaterialColor, MeshInstance, MorphBind, MorphTarget, Node, OutlineMode, OverrideKind,
    Preset, Primitive, Sampler, Sidecar, Skin, Spring, SpringJoint, Texture, TextureBind, TextureRef, TextureTransform,
    TextureWrap, Toon, Transform,
};
pub use posed::{MaterialState, PosedAvatar};
pub use profile::AvatarProfile;
