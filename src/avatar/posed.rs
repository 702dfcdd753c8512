//! One model in one pose: the only input of `render`.

use glam::{Mat4, Vec2, Vec3, Vec4};

use super::AvatarModel;

/// Colours and texture coordinates of a material after expressions.
#[derive(Clone, Copy, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names are VRM's own; colours are linear")]
pub struct MaterialState {
    pub base_color: Vec4,
    pub emissive: Vec3,
    pub shade_color: Vec3,
    pub matcap_color: Vec3,
    pub rim_color: Vec3,
    pub outline_color: Vec3,
    /// Multiplies the texture coordinates of all textures but the matcap.
    pub uv_scale: Vec2,
    /// Added to them.
    pub uv_offset: Vec2,
}

/// Morph weights, matrices and material state of one model. Buffers are reused from frame to frame.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PosedAvatar {
    /// All meshes' morph weights; `MeshInstance::morph_offset` finds a mesh's.
    pub morph_weights: Vec<f32>,
    /// From mesh space to avatar space: per skin joint (inverse bind included), or one for a rigid mesh.
    pub joint_matrices: Vec<Mat4>,
    /// By material index.
    pub materials: Vec<MaterialState>,
    /// Seconds for UV animation.
    pub time_secs: f32,
}

impl PosedAvatar {
    /// The rest pose as authored: no expression, bones at rest, no time passed.
    pub fn rest(model: &AvatarModel) -> Self {
        let mut posed = Self {
            morph_weights: model.base_morph_weights(),
            joint_matrices: vec![Mat4::IDENTITY; model.joint_count],
            materials: model.materials.iter().map(MaterialState::authored).collect(),
            time_secs: 0.0,
        };
        for mesh in &model.meshes {
            posed
                .set_matrices(model, mesh, |node| model.nodes.get(node).map_or(Mat4::IDENTITY, |n| n.avatar_from_node));
        }
        posed
    }

    /// Fills in the matrices of one mesh from `avatar_from_node`.
    pub fn set_matrices(
        &mut self,
        model: &AvatarModel,
        mesh: &super::MeshInstance,
        avatar_from_node: impl Fn(usize) -> Mat4,
    ) {
        let Some(matrices) = self.joint_matrices.get_mut(mesh.joint_offset..) else { return };
        match mesh.skin.and_then(|s| model.skins.get(s)) {
            None => {
                if let Some(matrix) = matrices.first_mut() {
                    *matrix = avatar_from_node(mesh.node);
                }
            }
            Some(skin) => {
                for ((matrix, joint), inverse) in matrices.iter_mut().zip(&skin.joints).zip(&skin.joint_from_mesh) {
                    *matrix = avatar_from_node(*joint) * *inverse;
                }
            }
        }
    }
}

impl MaterialState {
    /// As the file has it.
    pub fn authored(material: &super::Material) -> Self {
        let toon = material.toon.as_ref();
        Self {
            base_color: material.base_color,
            emissive: material.emissive,
            shade_color: toon.map_or(Vec3::ZERO, |t| t.shade_color),
            matcap_color: toon.map_or(Vec3::ZERO, |t| t.matcap_color),
            rim_color: toon.map_or(Vec3::ZERO, |t| t.rim_color),
            outline_color: toon.map_or(Vec3::ZERO, |t| t.outline_color),
            uv_scale: Vec2::ONE,
            uv_offset: Vec2::ZERO,
        }
    }
}
