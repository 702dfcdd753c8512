//! Avatars made by hand: one node, simple meshes, any material.

use glam::{Mat4, Vec2, Vec3, Vec4};
use omote::avatar::{
    AlphaMode, AvatarFormat, AvatarMeta, AvatarModel, Material, MeshInstance, MorphTarget, Node, OutlineMode,
    Primitive, Sampler, Sidecar, Skin, Texture, TextureRef, TextureTransform, Toon, Transform,
};

/// Collects meshes; `morph` and `skinned` act on the last one.
pub struct Builder {
    meshes: Vec<MeshInstance>,
    materials: Vec<Material>,
    joint_counts: Vec<usize>,
}

impl Builder {
    pub fn new() -> Self {
        Self { meshes: Vec::new(), materials: Vec::new(), joint_counts: Vec::new() }
    }

    /// A square that faces +Z, `half` from the middle to its sides.
    pub fn quad(self, half: f32, material: Material) -> Self {
        self.quad_at(half, Vec3::ZERO, material)
    }

    pub fn quad_at(self, half: f32, center: Vec3, material: Material) -> Self {
        let corners = [Vec2::new(-1.0, -1.0), Vec2::new(1.0, -1.0), Vec2::new(1.0, 1.0), Vec2::new(-1.0, 1.0)];
        let primitive = Primitive {
            positions: corners.iter().map(|c| center + c.extend(0.0) * half).collect(),
            normals: vec![Vec3::Z; 4],
            uvs: corners.iter().map(|c| Vec2::new(c.x * 0.5 + 0.5, 0.5 - c.y * 0.5)).collect(),
            indices: vec![0, 1, 2, 0, 2, 3],
            ..Default::default()
        };
        self.push(primitive, material)
    }

    pub fn sphere(self, radius: f32, material: Material) -> Self {
        self.sphere_at(radius, Vec3::ZERO, material)
    }

    pub fn sphere_at(self, radius: f32, center: Vec3, material: Material) -> Self {
        let (rings, segments) = (24u32, 36u32);
        let mut primitive = Primitive::default();
        for ring in 0..=rings {
            for segment in 0..=segments {
                let (v, u) = (ring as f32 / rings as f32, segment as f32 / segments as f32);
                let (polar, around) = (v * std::f32::consts::PI, u * std::f32::consts::TAU);
                let normal = Vec3::new(polar.sin() * around.sin(), polar.cos(), polar.sin() * around.cos());
                primitive.positions.push(center + normal * radius);
                primitive.normals.push(normal);
                primitive.uvs.push(Vec2::new(u, v));
            }
        }
        for ring in 0..rings {
            for segment in 0..segments {
                let a = ring * (segments + 1) + segment;
                let b = a + segments + 1;
                primitive.indices.extend([a, b, a + 1, a + 1, b, b + 1]);
            }
        }
        self.push(primitive, material)
    }

    fn push(mut self, mut primitive: Primitive, material: Material) -> Self {
        let count = primitive.positions.len();
        primitive.joints = vec![[0; 4]; count];
        primitive.weights = vec![[1.0, 0.0, 0.0, 0.0]; count];
        primitive.material = self.materials.len();
        self.materials.push(material);
        self.meshes.push(MeshInstance {
            name: format!("mesh {}", self.meshes.len()),
            node: 0,
            skin: None,
            morph_names: Vec::new(),
            morph_weights: Vec::new(),
            morph_offset: 0,
            joint_offset: 0,
            primitives: vec![primitive],
        });
        self.joint_counts.push(0);
        self
    }

    /// A target that moves each vertex by `offset(position)`.
    pub fn morph(mut self, offset: impl Fn(Vec3) -> Vec3) -> Self {
        let mesh = self.meshes.last_mut().unwrap();
        mesh.morph_names.push(format!("morph {}", mesh.morph_names.len()));
        mesh.morph_weights.push(0.0);
        for primitive in &mut mesh.primitives {
            primitive.morphs.push(MorphTarget {
                vertices: (0..primitive.positions.len() as u32).collect(),
                positions: primitive.positions.iter().map(|p| offset(*p)).collect(),
                normals: Vec::new(),
            });
        }
        self
    }

    /// Spreads the vertices over so many joints, from bottom to top, each weighted by its neighbours.
    pub fn skinned(mut self, joints: usize) -> Self {
        let mesh = self.meshes.last_mut().unwrap();
        for primitive in &mut mesh.primitives {
            let bottom = primitive.positions.iter().map(|p| p.y).fold(f32::MAX, f32::min);
            let top = primitive.positions.iter().map(|p| p.y).fold(f32::MIN, f32::max);
            for (i, position) in primitive.positions.iter().enumerate() {
                let at = (position.y - bottom) / (top - bottom) * (joints - 1) as f32;
                let low = (at as usize).min(joints - 1);
                let high = (low + 1).min(joints - 1);
                primitive.joints[i] = [low as u16, high as u16, 0, 0];
                primitive.weights[i] = [1.0 - at.fract(), at.fract(), 0.0, 0.0];
            }
        }
        *self.joint_counts.last_mut().unwrap() = joints;
        self
    }

    pub fn build(mut self) -> AvatarModel {
        if self.materials.is_empty() {
            self.materials.push(toon(Vec3::ONE));
        }
        let mut skins = Vec::new();
        let (mut morph_count, mut joint_count) = (0, 0);
        for (mesh, joints) in self.meshes.iter_mut().zip(self.joint_counts) {
            mesh.morph_offset = morph_count;
            mesh.joint_offset = joint_count;
            morph_count += mesh.morph_names.len();
            joint_count += joints.max(1);
            if joints > 0 {
                mesh.skin = Some(skins.len());
                skins.push(Skin { joints: vec![0; joints], joint_from_mesh: vec![Mat4::IDENTITY; joints] });
            }
        }
        AvatarModel {
            format: AvatarFormat::Gltf,
            meta: AvatarMeta::default(),
            nodes: vec![Node {
                name: "root".to_owned(),
                parent: None,
                rest: Transform::IDENTITY,
                avatar_from_node: Mat4::IDENTITY,
            }],
            skins,
            meshes: self.meshes,
            materials: self.materials,
            textures: Vec::new(),
            bones: [None; omote::types::BONE_COUNT],
            expressions: Vec::new(),
            look_at: None,
            colliders: Vec::new(),
            springs: Vec::new(),
            constraints: Vec::new(),
            sidecar: Sidecar::default(),
            morph_count,
            joint_count,
            warnings: Vec::new(),
        }
    }
}

/// A material without toon shading.
pub fn plain(color: Vec3) -> Material {
    Material {
        name: "material".to_owned(),
        base_color: color.extend(1.0),
        base_texture: None,
        emissive: Vec3::ZERO,
        emissive_texture: None,
        normal_texture: None,
        normal_scale: 1.0,
        alpha: AlphaMode::Opaque,
        double_sided: false,
        unlit: false,
        toon: None,
        render_order: 0,
    }
}

/// A toon material with the specification's defaults and a shade of half the colour.
pub fn toon(color: Vec3) -> Material {
    Material {
        toon: Some(Toon {
            shade_color: color * 0.5,
            shade_texture: None,
            shading_shift: 0.0,
            shading_shift_texture: None,
            shading_shift_scale: 1.0,
            shading_toony: 0.9,
            gi_equalization: 0.9,
            rim_color: Vec3::ZERO,
            rim_texture: None,
            rim_lighting_mix: 1.0,
            rim_power: 5.0,
            rim_lift: 0.0,
            matcap_color: Vec3::ONE,
            matcap_texture: None,
            outline: OutlineMode::None,
            outline_width: 0.0,
            outline_width_texture: None,
            outline_color: Vec3::ZERO,
            outline_lighting_mix: 1.0,
            uv_scroll: Vec2::ZERO,
            uv_rotation: 0.0,
            uv_mask_texture: None,
        }),
        ..plain(color)
    }
}

/// Four flat colours: red, green over blue, white.
pub fn checker() -> Texture {
    texture([[255, 0, 0, 255], [0, 255, 0, 255], [0, 0, 255, 255], [255, 255, 255, 255]])
}

fn texture(quarters: [[u8; 4]; 4]) -> Texture {
    let side = 16;
    let rgba = (0..side * side).flat_map(|i| quarters[(i / side) / (side / 2) * 2 + (i % side) / (side / 2)]).collect();
    Texture {
        width: side as u32,
        height: side as u32,
        rgba,
        sampler: Sampler { is_nearest: true, ..Default::default() },
    }
}

/// A normal texture that leans the same way everywhere.
pub fn leaning(normal: Vec3) -> Texture {
    let texel = [normal.x, normal.y, normal.z].map(|c| (c * 127.5 + 127.5).round() as u8);
    texture([[texel[0], texel[1], texel[2], 255]; 4])
}

/// A bump: normals lean outwards from the middle of the texture.
fn bump() -> Texture {
    let side = 32i32;
    let rgba = (0..side * side)
        .flat_map(|i| {
            let p = Vec2::new((i % side) as f32 + 0.5, (i / side) as f32 + 0.5) / side as f32 * 2.0 - 1.0;
            // Green points up, V down.
            let n = Vec3::new(p.x, -p.y, 1.0).normalize_or_zero();
            [n.x, n.y, n.z].map(|c| (c * 127.5 + 127.5) as u8).into_iter().chain([255])
        })
        .collect();
    Texture { width: side as u32, height: side as u32, rgba, sampler: Sampler::default() }
}

/// Nine spheres, each with something else.
pub fn material_board() -> AvatarModel {
    let skin = Vec3::new(0.9, 0.62, 0.5);
    let reference = |texture| Some(TextureRef { texture, uv_set: 0, transform: TextureTransform::default() });
    let with = |change: &dyn Fn(&mut Material)| {
        let mut material = toon(skin);
        change(&mut material);
        material
    };
    let with_toon = |change: &dyn Fn(&mut Toon)| with(&|m| m.toon.iter_mut().for_each(change));
    let nine = [
        with(&|_| {}),
        with_toon(&|t| (t.rim_color, t.rim_lift) = (Vec3::new(0.2, 0.6, 1.0), 0.1)),
        with_toon(&|t| t.matcap_texture = reference(0)),
        with(&|m| m.normal_texture = reference(1)),
        with(&|m| {
            m.base_texture = reference(0);
            if let Some(t) = &mut m.toon {
                (t.uv_scroll, t.uv_rotation) = (Vec2::new(0.5, 0.0), 1.0);
            }
        }),
        with_toon(&|t| {
            t.outline = OutlineMode::WorldCoordinates;
            (t.outline_width, t.outline_color) = (0.02, Vec3::new(0.3, 0.1, 0.1));
        }),
        with(&|m| {
            m.base_color = Vec4::new(0.2, 0.5, 0.9, 0.4);
            m.alpha = AlphaMode::Blend { writes_depth: false };
        }),
        Material { emissive: Vec3::new(0.0, 0.2, 0.0), ..plain(skin) },
        Material { unlit: true, base_texture: reference(0), ..plain(Vec3::ONE) },
    ];
    let mut builder = Builder::new();
    for (i, material) in nine.into_iter().enumerate() {
        let at = Vec3::new((i % 3) as f32 - 1.0, 1.0 - (i / 3) as f32, 0.0) * 0.75;
        builder = builder.sphere_at(0.32, at, material);
    }
    let mut model = builder.build();
    model.textures = vec![checker(), bump()];
    model
}
