//! An avatar as loaded: values only, every index checked.
//!
//! Invariant after loading: every index stored in this model is in bounds of the `Vec` it points into, node parents
//! stand before their children, and all numbers are finite. `rig` and `render` rely on it.

use glam::{Mat4, Quat, Vec2, Vec3, Vec4};

use crate::types::Bone;

/// Which kind of file the avatar came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AvatarFormat {
    /// VRM 1.0 (`VRMC_vrm`).
    Vrm1,
    /// VRM 0.x (`VRM`).
    Vrm0,
    /// glTF without VRM data.
    Gltf,
}

/// What the file says about itself.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct AvatarMeta {
    pub name: String,
    pub authors: Vec<String>,
    pub version: String,
    pub licence: String,
    /// Address of the licence text.
    pub licence_url: String,
}

/// Translation, rotation and scale of a node relative to its parent.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Transform {
    pub translation: Vec3,
    pub rotation: Quat,
    pub scale: Vec3,
}

impl Transform {
    /// No change.
    pub const IDENTITY: Self = Self { translation: Vec3::ZERO, rotation: Quat::IDENTITY, scale: Vec3::ONE };

    /// As a matrix from the node's space to its parent's.
    pub fn to_mat4(self) -> Mat4 {
        Mat4::from_scale_rotation_translation(self.scale, self.rotation, self.translation)
    }
}

/// A node of the scene. Nodes are sorted: a parent stands before its children.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name in the file.
    pub name: String,
    /// Index of the parent; `None` for a root.
    pub parent: Option<usize>,
    /// Rest transform relative to the parent. A VRM 0.x root carries the half turn to +Z.
    pub rest: Transform,
    /// From the node's space at rest to avatar space.
    pub avatar_from_node: Mat4,
}

/// The joints of a skinned mesh.
#[derive(Clone, Debug, PartialEq)]
pub struct Skin {
    /// Node of each joint.
    pub joints: Vec<usize>,
    /// From mesh space to each joint's space; as long as `joints`.
    pub joint_from_mesh: Vec<Mat4>,
}

/// A mesh placed in the scene. The same mesh used by two nodes is two instances.
#[derive(Clone, Debug, PartialEq)]
pub struct MeshInstance {
    /// Name of the mesh in the file (the node's where it has none).
    pub name: String,
    /// The node that carries it; its transform is ignored when skinned.
    pub node: usize,
    /// The skin; `None` for a rigid mesh.
    pub skin: Option<usize>,
    /// Names of the morph targets; all primitives share them.
    pub morph_names: Vec<String>,
    /// Weights at rest, as authored; as long as `morph_names`.
    pub morph_weights: Vec<f32>,
    /// First weight of this instance in `PosedAvatar::morph_weights`.
    pub morph_offset: usize,
    /// First matrix of this instance in `PosedAvatar::joint_matrices`: one per skin joint, or one for a rigid mesh.
    pub joint_offset: usize,
    /// Geometry.
    pub primitives: Vec<Primitive>,
}

/// Triangles with one material. All vertex lists have the same length.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Primitive {
    /// Mesh space, metres.
    pub positions: Vec<Vec3>,
    /// Unit length; made from the triangles where the file has none.
    pub normals: Vec<Vec3>,
    /// First texture coordinates, V down; zeros where the file has none.
    pub uvs: Vec<Vec2>,
    /// Second texture coordinates; empty where the file has none.
    pub uvs1: Vec<Vec2>,
    /// Linear vertex colours; empty where the file has none.
    pub colors: Vec<Vec4>,
    /// Skin joints (indices into `Skin::joints`); zeros for a rigid mesh.
    pub joints: Vec<[u16; 4]>,
    /// Joint weights, summing to 1; `[1, 0, 0, 0]` for a rigid mesh.
    pub weights: Vec<[f32; 4]>,
    /// Triangle list, counter-clockwise front faces.
    pub indices: Vec<u32>,
    /// By morph target; as long as the instance's `morph_names`.
    pub morphs: Vec<MorphTarget>,
    /// Index into `AvatarModel::materials`.
    pub material: usize,
}

/// The vertices that a morph target moves; all others stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct MorphTarget {
    /// Vertex indices, ascending.
    pub vertices: Vec<u32>,
    /// Movement at weight 1, by entry of `vertices`.
    pub positions: Vec<Vec3>,
    /// Change of the normal at weight 1, by entry of `vertices`; empty where the file has none.
    pub normals: Vec<Vec3>,
}

/// A decoded image.
#[derive(Clone, Debug, PartialEq)]
pub struct Texture {
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// RGBA, 8 bits, straight alpha, `width * height * 4` bytes. Colour space follows from the use.
    pub rgba: Vec<u8>,
    /// How it is sampled.
    pub sampler: Sampler,
}

/// How a texture is sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are glTF's own")]
pub struct Sampler {
    pub wrap_u: TextureWrap,
    pub wrap_v: TextureWrap,
    /// Nearest instead of linear.
    pub is_nearest: bool,
}

/// What lies outside 0..1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are glTF's own")]
pub enum TextureWrap {
    #[default]
    Repeat,
    MirroredRepeat,
    ClampToEdge,
}

/// A texture used by a material.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TextureRef {
    /// Index into `AvatarModel::textures`.
    pub texture: usize,
    /// Which texture coordinates: 0 or 1.
    pub uv_set: u32,
    /// `KHR_texture_transform` or the file's scale and offset.
    pub transform: TextureTransform,
}

/// Scale, rotation (radians) and offset of texture coordinates, applied in this order.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are glTF's own")]
pub struct TextureTransform {
    pub offset: Vec2,
    pub scale: Vec2,
    pub rotation: f32,
}

impl Default for TextureTransform {
    fn default() -> Self {
        Self { offset: Vec2::ZERO, scale: Vec2::ONE, rotation: 0.0 }
    }
}

/// What alpha means.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum AlphaMode {
    /// Ignored: the surface is solid.
    #[default]
    Opaque,
    /// Below the cut-off there is nothing.
    Mask {
        /// The cut-off.
        cutoff: f32,
    },
    /// Blended with what is behind.
    Blend {
        /// Whether depth is written (MToon `transparentWithZWrite`).
        writes_depth: bool,
    },
}

/// A surface. Colours are linear.
#[derive(Clone, Debug, PartialEq)]
pub struct Material {
    /// Name in the file.
    pub name: String,
    /// Base colour and alpha.
    pub base_color: Vec4,
    /// Base colour texture (sRGB).
    pub base_texture: Option<TextureRef>,
    /// Emitted light.
    pub emissive: Vec3,
    /// Emission texture (sRGB).
    pub emissive_texture: Option<TextureRef>,
    /// Tangent-space normals.
    pub normal_texture: Option<TextureRef>,
    /// Strength of the normal texture.
    pub normal_scale: f32,
    /// What alpha means.
    pub alpha: AlphaMode,
    /// Back faces are drawn.
    pub double_sided: bool,
    /// No lighting (`KHR_materials_unlit`).
    pub unlit: bool,
    /// Toon shading; `None` is drawn with a plain diffuse look.
    pub toon: Option<Toon>,
    /// Order among blended materials; smaller is drawn first.
    pub render_order: i32,
}

/// MToon 1.0 parameters (VRM 0.x ones are converted on load).
#[derive(Clone, Debug, PartialEq)]
pub struct Toon {
    /// Colour in shade.
    pub shade_color: Vec3,
    /// Shade colour texture (sRGB).
    pub shade_texture: Option<TextureRef>,
    /// Moves the border between lit and shade, -1..1.
    pub shading_shift: f32,
    /// Texture added to the shift (red, linear).
    pub shading_shift_texture: Option<TextureRef>,
    /// Scale of that texture.
    pub shading_shift_scale: f32,
    /// Hardness of the border, 0..1.
    pub shading_toony: f32,
    /// Evenness of ambient light, 0..1.
    pub gi_equalization: f32,
    /// Rim light colour.
    pub rim_color: Vec3,
    /// Rim multiply texture (sRGB).
    pub rim_texture: Option<TextureRef>,
    /// How much the light colours the rim, 0..1.
    pub rim_lighting_mix: f32,
    /// Fresnel power.
    pub rim_power: f32,
    /// Fresnel lift.
    pub rim_lift: f32,
    /// Matcap colour factor.
    pub matcap_color: Vec3,
    /// Matcap texture (sRGB).
    pub matcap_texture: Option<TextureRef>,
    /// How outlines are made.
    pub outline: OutlineMode,
    /// Outline width: metres in world mode, a share of the screen's half height in screen mode.
    pub outline_width: f32,
    /// Outline width multiplier (green, linear).
    pub outline_width_texture: Option<TextureRef>,
    /// Outline colour.
    pub outline_color: Vec3,
    /// How much the light colours the outline, 0..1.
    pub outline_lighting_mix: f32,
    /// UV scroll per second and rotation (radians per second), with their mask (blue, linear).
    pub uv_scroll: Vec2,
    /// Radians per second.
    pub uv_rotation: f32,
    /// Mask of the UV animation.
    pub uv_mask_texture: Option<TextureRef>,
}

/// How outlines are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are MToon's own")]
pub enum OutlineMode {
    #[default]
    None,
    WorldCoordinates,
    ScreenCoordinates,
}

/// The standard expressions of VRM 1.0 (0.x names are mapped).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub enum Preset {
    Happy,
    Angry,
    Sad,
    Relaxed,
    Surprised,
    Neutral,
    Aa,
    Ih,
    Ou,
    Ee,
    Oh,
    Blink,
    BlinkLeft,
    BlinkRight,
    LookUp,
    LookDown,
    LookLeft,
    LookRight,
}

impl Preset {
    /// All presets; `ALL[i] as usize == i`.
    pub const ALL: [Self; 18] = [
        Self::Happy,
        Self::Angry,
        Self::Sad,
        Self::Relaxed,
        Self::Surprised,
        Self::Neutral,
        Self::Aa,
        Self::Ih,
        Self::Ou,
        Self::Ee,
        Self::Oh,
        Self::Blink,
        Self::BlinkLeft,
        Self::BlinkRight,
        Self::LookUp,
        Self::LookDown,
        Self::LookLeft,
        Self::LookRight,
    ];

    /// The VRM 1.0 name.
    pub fn name(self) -> &'static str {
        [
            "happy",
            "angry",
            "sad",
            "relaxed",
            "surprised",
            "neutral",
            "aa",
            "ih",
            "ou",
            "ee",
            "oh",
            "blink",
            "blinkLeft",
            "blinkRight",
            "lookUp",
            "lookDown",
            "lookLeft",
            "lookRight",
        ][self as usize]
    }
}

/// Which overrides an expression is subject to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ExpressionGroup {
    #[default]
    None,
    Blink,
    LookAt,
    Mouth,
}

/// What an expression does to another group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum OverrideKind {
    /// Nothing.
    #[default]
    None,
    /// Off while this expression is on.
    Block,
    /// Scaled by one minus this expression's weight.
    Blend,
}

/// What an expression does to the other groups.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub struct ExpressionMask {
    pub blink: OverrideKind,
    pub look_at: OverrideKind,
    pub mouth: OverrideKind,
}

/// A named face shape of the avatar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Expression {
    /// Name in the file; presets have their VRM 1.0 name.
    pub name: String,
    /// The standard expression it is.
    pub preset: Option<Preset>,
    /// On above one half, off below.
    pub is_binary: bool,
    /// What it does to other groups.
    pub mask: ExpressionMask,
    /// Whose overrides hold for it.
    pub group: ExpressionGroup,
    /// What it changes.
    pub binds: ExpressionBinds,
}

/// What an expression changes.
#[derive(Clone, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct ExpressionBinds {
    pub morphs: Vec<MorphBind>,
    pub materials: Vec<MaterialBind>,
    pub textures: Vec<TextureBind>,
}

/// Adds to a morph weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MorphBind {
    /// Index into `PosedAvatar::morph_weights`.
    pub morph: usize,
    /// Added at expression weight 1.
    pub weight: f32,
}

/// Which colour of a material.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub enum MaterialColor {
    Base,
    Emission,
    Shade,
    Matcap,
    Rim,
    Outline,
}

/// Moves a material colour towards a target.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct MaterialBind {
    pub material: usize,
    pub color: MaterialColor,
    /// Linear.
    pub target: Vec4,
}

/// Moves the texture coordinates of a material.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct TextureBind {
    pub material: usize,
    pub scale: Vec2,
    pub offset: Vec2,
}

/// How eyes follow the gaze.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum LookAtKind {
    /// Eye bones turn.
    #[default]
    Bone,
    /// The look expressions play.
    Expression,
}

/// Maps a gaze angle to an eye rotation (radians) or an expression weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LookAtRange {
    /// Largest gaze angle, radians.
    pub input_max: f32,
    /// Output at that angle: radians for bones, weight for expressions.
    pub output_scale: f32,
}

/// How the eyes follow the gaze.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub struct LookAt {
    pub kind: LookAtKind,
    /// Eye centre relative to the head bone, metres.
    pub offset_from_head: Vec3,
    pub horizontal_inner: LookAtRange,
    pub horizontal_outer: LookAtRange,
    pub vertical_down: LookAtRange,
    pub vertical_up: LookAtRange,
}

/// A shape hair collides with, in its node's space.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub enum ColliderShape {
    Sphere {
        offset: Vec3,
        radius: f32,
    },
    Capsule {
        offset: Vec3,
        tail: Vec3,
        radius: f32,
    },
    /// Keeps things inside.
    InsideSphere {
        offset: Vec3,
        radius: f32,
    },
    /// Keeps things inside.
    InsideCapsule {
        offset: Vec3,
        tail: Vec3,
        radius: f32,
    },
    /// Keeps things on the side that `normal` (unit length) points to.
    Plane {
        offset: Vec3,
        normal: Vec3,
    },
}

/// A collider of spring bones.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names say it")]
pub struct Collider {
    pub node: usize,
    pub shape: ColliderShape,
}

/// One joint of a spring chain. The last joint of a chain is only an end point.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub struct SpringJoint {
    pub node: usize,
    pub hit_radius: f32,
    pub stiffness: f32,
    pub gravity_power: f32,
    pub gravity_dir: Vec3,
    pub drag_force: f32,
}

/// A swinging chain.
#[derive(Clone, Debug, PartialEq)]
pub struct Spring {
    /// Name in the file.
    pub name: String,
    /// From root to tip; each joint's node lies below the one before.
    pub joints: Vec<SpringJoint>,
    /// Indices into `AvatarModel::colliders`.
    pub colliders: Vec<usize>,
    /// Inertia is taken relative to this node.
    pub center: Option<usize>,
}

/// What a node constraint does.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub enum ConstraintKind {
    /// Turns about one own axis as much as the source does.
    Roll { axis: Vec3 },
    /// Points one own axis at the source.
    Aim { axis: Vec3 },
    /// Takes the source's rotation.
    Rotation,
}

/// A node constraint (`VRMC_node_constraint`); sorted so that sources come first.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub struct Constraint {
    pub node: usize,
    pub source: usize,
    pub kind: ConstraintKind,
    pub weight: f32,
}

/// A camera-angle correction of the sidecar (BEHAVIOUR §5).
#[derive(Clone, Debug, PartialEq)]
pub struct CorrectionPoint {
    /// Name in traces.
    pub name: String,
    /// View direction, radians: `alpha` > 0 camera on the avatar's left, `beta` > 0 from above.
    pub alpha: f32,
    /// See `alpha`.
    pub beta: f32,
    /// Expressions of the avatar (index into `AvatarModel::expressions`) and their weights at full correction.
    pub expressions: Vec<(usize, f32)>,
}

/// What the sidecar file `NAME.omote.toml` adds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sidecar {
    /// Camera-angle corrections, without the neutral `back`.
    pub corrections: Vec<CorrectionPoint>,
    /// Expression that laughter drives.
    pub laugh: Option<usize>,
}

/// An avatar, ready for `rig` and `render`.
#[derive(Clone, Debug, PartialEq)]
pub struct AvatarModel {
    /// Which kind of file it came from.
    pub format: AvatarFormat,
    /// What the file says about itself.
    pub meta: AvatarMeta,
    /// All nodes, parents first.
    pub nodes: Vec<Node>,
    /// Skins.
    pub skins: Vec<Skin>,
    /// Meshes as placed in the scene.
    pub meshes: Vec<MeshInstance>,
    /// Materials; at least one.
    pub materials: Vec<Material>,
    /// Decoded images.
    pub textures: Vec<Texture>,
    /// Node of each humanoid bone, by `Bone as usize`.
    pub bones: [Option<usize>; crate::types::BONE_COUNT],
    /// Presets and custom expressions.
    pub expressions: Vec<Expression>,
    /// How the eyes follow the gaze; `None` without VRM data.
    pub look_at: Option<LookAt>,
    /// Colliders of the springs.
    pub colliders: Vec<Collider>,
    /// Swinging chains, in an order that updates parents first.
    pub springs: Vec<Spring>,
    /// Node constraints, sources first.
    pub constraints: Vec<Constraint>,
    /// What the sidecar adds.
    pub sidecar: Sidecar,
    /// Number of morph weights of all meshes together.
    pub morph_count: usize,
    /// Number of joint matrices of all meshes together.
    pub joint_count: usize,
    /// What was wrong with the file, in words for the user.
    pub warnings: Vec<String>,
}

impl AvatarModel {
    /// The node of a humanoid bone.
    pub fn bone(&self, bone: Bone) -> Option<usize> {
        self.bones[bone as usize]
    }

    /// The expression of a preset.
    pub fn preset(&self, preset: Preset) -> Option<usize> {
        self.expressions.iter().position(|e| e.preset == Some(preset))
    }
}

impl AvatarModel {
    /// Morph weights before any expression: 0 where an expression plays the morph, else as authored.
    pub fn base_morph_weights(&self) -> Vec<f32> {
        let mut weights = vec![0.0; self.morph_count];
        for mesh in &self.meshes {
            let slots = weights.iter_mut().skip(mesh.morph_offset);
            slots.zip(&mesh.morph_weights).for_each(|(slot, authored)| *slot = *authored);
        }
        if self.format != AvatarFormat::Gltf {
            for bind in self.expressions.iter().flat_map(|e| &e.binds.morphs) {
                if let Some(weight) = weights.get_mut(bind.morph) {
                    *weight = 0.0;
                }
            }
        }
        weights
    }
}
