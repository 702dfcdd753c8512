//! Avatar files in, models out: what loads, what is refused, and that nothing panics.

#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::path::{Path, PathBuf};

use omote::avatar::{self, AvatarError, AvatarFormat, AvatarModel, Fallback, Preset};
use omote::types::{Bone, ErrorKind};
use proptest::prelude::*;

/// The promises that `rig` and `render` rely on.
pub fn check_invariants(model: &AvatarModel) {
    let (nodes, materials) = (model.nodes.len(), model.materials.len());
    for (index, node) in model.nodes.iter().enumerate() {
        assert!(node.parent.is_none_or(|p| p < index), "parents stand before their children");
        assert!(node.avatar_from_node.is_finite());
    }
    for skin in &model.skins {
        assert_eq!(skin.joints.len(), skin.joint_from_mesh.len());
        assert!(skin.joints.iter().all(|j| *j < nodes));
    }
    let (mut morphs, mut joints) = (0, 0);
    for mesh in &model.meshes {
        assert!(mesh.node < nodes);
        assert_eq!((mesh.morph_offset, mesh.joint_offset), (morphs, joints));
        assert_eq!(mesh.morph_names.len(), mesh.morph_weights.len());
        let joint_count = mesh.skin.map_or(1, |s| model.skins[s].joints.len());
        morphs += mesh.morph_names.len();
        joints += joint_count;
        for p in &mesh.primitives {
            let count = p.positions.len();
            assert_eq!([p.normals.len(), p.uvs.len(), p.joints.len(), p.weights.len()], [count; 4]);
            assert!(p.colors.is_empty() || p.colors.len() == count);
            assert!(p.uvs1.is_empty() || p.uvs1.len() == count);
            assert!(p.indices.len() % 3 == 0 && p.indices.iter().all(|i| (*i as usize) < count));
            assert!(p.joints.iter().flatten().all(|j| usize::from(*j) < joint_count));
            assert!(p.weights.iter().all(|w| (w.iter().sum::<f32>() - 1.0).abs() < 1e-3));
            assert!(p.positions.iter().chain(&p.normals).all(|v| v.is_finite()));
            assert!(p.normals.iter().all(|n| (n.length() - 1.0).abs() < 1e-3));
            assert!(p.material < materials);
            assert_eq!(p.morphs.len(), mesh.morph_names.len());
            for m in &p.morphs {
                assert_eq!(m.vertices.len(), m.positions.len());
                assert!(m.normals.is_empty() || m.normals.len() == m.vertices.len());
                assert!(m.vertices.windows(2).all(|w| w[0] < w[1]));
                assert!(m.vertices.last().is_none_or(|v| (*v as usize) < count));
            }
        }
    }
    assert_eq!((model.morph_count, model.joint_count), (morphs, joints));
    for t in &model.textures {
        assert_eq!(t.rgba.len(), (t.width * t.height * 4) as usize);
        assert!(t.width <= 4096 && t.height <= 4096);
    }
    for e in &model.expressions {
        assert!(e.binds.morphs.iter().all(|b| b.morph < morphs && b.weight.is_finite()));
        assert!(e.binds.materials.iter().all(|b| b.material < materials && b.target.is_finite()));
        assert!(e.binds.textures.iter().all(|b| b.material < materials));
    }
    assert!(model.bones.iter().flatten().all(|n| *n < nodes));
    for s in &model.springs {
        assert!(s.joints.len() >= 2 && s.joints.iter().all(|j| j.node < nodes));
        assert!(s.colliders.iter().all(|c| *c < model.colliders.len()) && s.center.is_none_or(|c| c < nodes));
    }
    assert!(model.colliders.iter().all(|c| c.node < nodes));
    assert!(model.constraints.iter().all(|c| c.node < nodes && c.source < nodes && c.node != c.source));
    let corrections = model.sidecar.corrections.iter().flat_map(|c| &c.expressions);
    assert!(corrections.map(|(e, _)| *e).chain(model.sidecar.laugh).all(|e| e < model.expressions.len()));
}

#[test]
fn the_bundled_avatar_is_complete() {
    let started = std::time::Instant::now();
    let model = avatar::bundled().unwrap();
    println!("bundled avatar loaded in {:?}", started.elapsed());
    check_invariants(&model);
    assert_eq!(model.format, AvatarFormat::Vrm1);
    for bone in [Bone::Hips, Bone::Head, Bone::Neck, Bone::LeftUpperArm, Bone::RightFoot] {
        assert!(model.bone(bone).is_some(), "{bone:?}");
    }
    for preset in Preset::ALL {
        assert!(model.preset(preset).is_some(), "{preset:?}");
    }
    assert!(!model.springs.is_empty() && !model.meshes.is_empty() && !model.textures.is_empty());
    assert!(!model.meta.name.is_empty());
}

#[test]
#[ignore = "needs OMOTE_TEST_DATA"]
fn all_test_avatars_load_or_say_why_not() {
    for path in test_files(&["vrm/files", "vrm/odd"]) {
        let started = std::time::Instant::now();
        let result = avatar::load(&path);
        let name = path.file_name().unwrap().to_string_lossy();
        match &result {
            Ok(model) => {
                check_invariants(model);
                println!("{name}: {:?} in {:?}, {} warnings", model.format, started.elapsed(), model.warnings.len());
                for w in &model.warnings {
                    println!("    {w}");
                }
                for (preset, fallback) in Preset::ALL.iter().zip(&model.fallbacks().presets) {
                    if !matches!(fallback, Fallback::Own(_) | Fallback::Nothing) {
                        println!("    {} → {fallback:?}", preset.name());
                    }
                }
            }
            Err(e) => println!("{name}: {:?} {e}", e.kind()),
        }
        let refused =
            ["BoxMeshopt", "RecursiveNodes", "bl_broken_draco", "bl_broken_empty", "not_glb", "trunc_", "zero"];
        assert_eq!(result.is_err(), refused.iter().any(|r| name.starts_with(r)), "{name}");
    }
    // Old and new exporters wrote the same emission differently.
    let files = test_files(&["vrm/files"]);
    let emission = |version: &str| -> Vec<glam::Vec3> {
        let path = files.iter().find(|p| p.to_string_lossy().contains(version)).unwrap();
        avatar::load(path).unwrap().materials.iter().map(|m| m.emissive).collect()
    };
    for (old, new) in emission("Migration_v0.106").iter().zip(emission("Migration_v0.107")) {
        assert!(old.abs_diff_eq(new, 1e-3), "{old} {new}");
    }
}

/// The files of some folders of the local test data.
pub fn test_files(folders: &[&str]) -> Vec<PathBuf> {
    let Ok(root) = std::env::var("OMOTE_TEST_DATA") else {
        println!("skipped: OMOTE_TEST_DATA is not set");
        return Vec::new();
    };
    let mut files: Vec<PathBuf> = folders
        .iter()
        .flat_map(|f| std::fs::read_dir(Path::new(&root).join(f)).unwrap())
        .map(|e| e.unwrap().path())
        .filter(|p| p.extension().is_some_and(|e| e == "vrm" || e == "glb" || e == "gltf"))
        .collect();
    files.sort();
    files
}

#[test]
fn other_files_are_refused_with_a_reason() {
    for (bytes, word) in [
        (&b""[..], "empty"),
        (b"PK\x03\x04 a zip", "ZIP"),
        (b"hello", "unknown"),
        (b"glTF\x01\0\0\0", "version 1"),
        (b"glTF\x02\0\0\0\x10\0\0\0", "description"),
        (b"{}", "nodes"),
        (br#"{"asset":{"version":"2.0"},"nodes":[{}],"extensionsRequired":["KHR_draco_mesh_compression"]}"#, "Draco"),
        (br#"{"asset":{"version":"2.0"},"nodes":[{"children":[0]}]}"#, "ancestors"),
    ] {
        let error = avatar::load_bytes(bytes, None).unwrap_err();
        let text = error.to_string().to_lowercase();
        assert!(text.contains(&word.to_lowercase()), "{text:?} should speak of {word}");
        let expected =
            if matches!(error, AvatarError::Unsupported { .. }) { ErrorKind::Setup } else { ErrorKind::Corrupt };
        assert_eq!(error.kind(), expected);
    }
}

/// A quad with everything that is awkward: quantised and strided positions, a sparse target with normalised bytes, a
/// target without data, a spring, a constraint, a texture that is no picture.
fn awkward() -> serde_json::Value {
    // Four positions as normalised i16 with a stride of 8; then sparse index 2 and its i8 delta.
    let corners: [[i16; 4]; 4] = [[0, 0, 0, 0], [32767, 0, 0, 0], [32767, 32767, 0, 0], [0, 32767, 0, 0]];
    let mut bytes: Vec<u8> = corners.iter().flatten().flat_map(|c| c.to_le_bytes()).collect();
    bytes.extend([2, 0, 0, 0, 0, 127, 0, 0]);
    serde_json::json!({
        "asset": {"version": "2.0"},
        "extensionsUsed": ["KHR_mesh_quantization"], "extensionsRequired": ["KHR_mesh_quantization"],
        "buffers": [{"byteLength": bytes.len(), "uri": format!("data:application/octet-stream;base64,{}", base64(&bytes))}],
        "bufferViews": [
            {"buffer": 0, "byteLength": 32, "byteStride": 8},
            {"buffer": 0, "byteOffset": 32, "byteLength": 1},
            {"buffer": 0, "byteOffset": 36, "byteLength": 4}
        ],
        "accessors": [
            {"bufferView": 0, "componentType": 5122, "normalized": true, "count": 4, "type": "VEC3"},
            {"componentType": 5120, "normalized": true, "count": 4, "type": "VEC3", "sparse": {"count": 1,
                "indices": {"bufferView": 1, "componentType": 5121}, "values": {"bufferView": 2}}},
            {"componentType": 5126, "count": 4, "type": "VEC3"}
        ],
        "images": [{"uri": "data:image/png;base64,aGVsbG8="}], "textures": [{"source": 0}],
        "materials": [{"pbrMetallicRoughness": {"baseColorTexture": {"index": 0}}}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}, "mode": 6, "material": 0,
            "targets": [{"POSITION": 1}, {"POSITION": 2}]}], "extras": {"targetNames": ["あ", "empty"]}}],
        "nodes": [
            {"mesh": 0}, {"children": [2]}, {"children": [3], "translation": [0, 1, 0]}, {"translation": [0, -1, 0]},
            {"extensions": {"VRMC_node_constraint": {"constraint": {"rotation": {"source": 1, "weight": 0.5}}}}}
        ],
        "scenes": [{"nodes": [0, 1, 4]}], "scene": 0,
        "extensions": {
            "VRMC_vrm": {"humanoid": {"humanBones": {"hips": {"node": 1}, "head": {"node": 2}}},
                "expressions": {"preset": {"aa": {"morphTargetBinds": [{"node": 0, "index": 0, "weight": 1}]}}}},
            "VRMC_springBone": {"springs": [{"joints": [{"node": 2}, {"node": 3}]}]}
        }
    })
}

fn base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let sextets = |c: &[u8]| {
        let n = c.iter().fold(0_u32, |n, b| (n << 8) | u32::from(*b)) << (8 * (3 - c.len()));
        (0..=c.len()).map(move |i| char::from(DIGITS[(n >> (18 - 6 * i) & 63) as usize]))
    };
    bytes.chunks(3).flat_map(|c| sextets(c).collect::<Vec<_>>()).collect()
}

#[test]
fn awkward_data_is_decoded() {
    let model = avatar::load_bytes(awkward().to_string().as_bytes(), None).unwrap();
    check_invariants(&model);
    let primitive = &model.meshes[0].primitives[0];
    assert_eq!(primitive.positions[2], glam::Vec3::new(1.0, 1.0, 0.0));
    assert_eq!(primitive.indices, [0, 1, 2, 0, 2, 3]);
    assert!(primitive.normals.iter().all(|n| n.abs_diff_eq(glam::Vec3::Z, 1e-6)));
    assert_eq!(primitive.morphs[0].vertices, [2]);
    assert_eq!(primitive.morphs[0].positions, [glam::Vec3::Y]);
    assert!(primitive.morphs[1].vertices.is_empty());
    assert_eq!((model.springs.len(), model.constraints.len()), (1, 1));
    assert_eq!(model.textures[0].rgba, [255; 4]);
    assert!(model.warnings.iter().any(|w| w.contains("white")), "{:?}", model.warnings);
}

#[test]
fn giant_counts_are_refused() {
    for count in [1_u64 << 23, 1 << 40, u64::MAX] {
        for accessor in [0, 1, 2] {
            let mut file = awkward();
            file["accessors"][accessor]["count"] = count.into();
            file["meshes"][0]["primitives"][0]["attributes"]["POSITION"] = accessor.into();
            let error = avatar::load_bytes(file.to_string().as_bytes(), None).unwrap_err();
            assert!(matches!(error, AvatarError::TooLarge { .. }), "{error}");
        }
    }
}

#[test]
fn indices_out_of_range_are_errors_or_warnings() {
    let check = |pointer: &str, value: serde_json::Value| {
        let mut file = awkward();
        *file.pointer_mut(pointer).unwrap() = value;
        match avatar::load_bytes(file.to_string().as_bytes(), None) {
            Ok(model) => {
                check_invariants(&model);
                assert!(!model.warnings.is_empty(), "{pointer}");
            }
            Err(e) => assert_eq!(e.kind(), ErrorKind::Corrupt, "{pointer}: {e}"),
        }
    };
    for pointer in [
        "/bufferViews/0/buffer",
        "/bufferViews/0/byteLength",
        "/accessors/0/bufferView",
        "/accessors/1/sparse/indices/bufferView",
        "/accessors/1/sparse/count",
        "/textures/0/source",
        "/materials/0/pbrMetallicRoughness/baseColorTexture/index",
        "/meshes/0/primitives/0/attributes/POSITION",
        "/nodes/0/mesh",
        "/extensions/VRMC_vrm/humanoid/humanBones/head/node",
        "/extensions/VRMC_vrm/expressions/preset/aa/morphTargetBinds/0/index",
        "/extensions/VRMC_springBone/springs/0/joints/0/node",
        "/nodes/4/extensions/VRMC_node_constraint/constraint/rotation/source",
    ] {
        check(pointer, 77.into());
    }
}

#[test]
fn a_sidecar_is_read_leniently() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("me.gltf");
    std::fs::write(&path, awkward().to_string()).unwrap();
    let sidecar = r#"
        version = 1
        future = true
        [[correction]]
        name = "left"
        alpha_deg = 75
        beta_deg = 0.0
        expressions = { empty = 0.5, nothing = 1.0 }
        [[correction]]
        name = "broken"
        [laugh]
        expression = "aa"
    "#;
    std::fs::write(folder.path().join("me.omote.toml"), sidecar).unwrap();
    let model = avatar::load(&path).unwrap();
    check_invariants(&model);
    assert_eq!(model.sidecar.corrections.len(), 1);
    let (expression, weight) = model.sidecar.corrections[0].expressions[0];
    // A morph target without an expression of its own became one.
    assert_eq!((model.expressions[expression].name.as_str(), weight), ("empty", 0.5));
    assert_eq!(model.sidecar.laugh, model.preset(Preset::Aa));
    for word in ["future", "nothing", "broken"] {
        assert!(model.warnings.iter().any(|w| w.contains(word)), "{word}: {:?}", model.warnings);
    }
}

#[test]
fn inspect_says_what_is_missing_and_what_stands_in() {
    let model = avatar::load_bytes(awkward().to_string().as_bytes(), None).unwrap();
    let report = serde_json::to_value(avatar::inspect(&model)).unwrap();
    assert_eq!(report["format"], "VRM 1.0");
    assert_eq!(report["expressions"][0]["name"], "aa");
    let of = |preset: &str| {
        let list = report["missing_presets"].as_array().unwrap();
        list.iter().find(|f| f["preset"] == preset).unwrap()["played_by"].clone()
    };
    assert_eq!(of("oh"), "aa × 0.75");
    assert_eq!(of("blink"), "nothing");
    assert!(report["missing_required_bones"].as_array().unwrap().iter().any(|b| b == "spine"));
}

#[test]
fn vrm0_becomes_vrm1() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/mochi_small_vrm0.vrm");
    let model = avatar::load(&path).unwrap();
    check_invariants(&model);
    assert_eq!(model.format, AvatarFormat::Vrm0);
    for preset in Preset::ALL {
        assert!(model.preset(preset).is_some(), "{preset:?}");
    }
    assert!(!model.springs.is_empty() && !model.colliders.is_empty());
    let place = |bone| model.nodes[model.bone(bone).unwrap()].avatar_from_node.w_axis;
    assert!(place(Bone::LeftHand).x > 0.0, "the left hand is on +X");
    assert!(place(Bone::LeftToes).z > place(Bone::LeftFoot).z, "the toes point to +Z");
    assert!(model.materials.iter().all(|m| m.toon.is_some() || m.unlit));
}

/// Loading and posing must survive whatever a file says.
fn survives(bytes: &[u8]) {
    if let Ok(model) = avatar::load_bytes(bytes, None) {
        check_invariants(&model);
        let _ = avatar::inspect(&model);
        let mut rig = omote::rig::Rig::new(std::sync::Arc::new(model));
        let mut pose = omote::types::AvatarPose::default();
        omote::types::Param::ALL.into_iter().for_each(|p| pose.params.set(p, 0.7));
        for _ in 0..3 {
            rig.pose(&pose, &omote::rig::ViewCamera::default(), 0.02, &omote::rig::RigOptions::default());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn mangled_bytes_never_panic(cuts in prop::collection::vec((0.0_f64..1.0, any::<u8>()), 1..24), end in 0.2_f64..2.0) {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/avatars/mochi_small.vrm");
        let mut bytes = std::fs::read(path).unwrap();
        let count = bytes.len();
        for (place, value) in cuts {
            bytes[(place * count as f64) as usize] = value;
        }
        bytes.truncate((end * count as f64) as usize);
        survives(&bytes);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn mangled_descriptions_never_panic(edits in prop::collection::vec((0.0_f64..1.0, 0_usize..12), 1..6)) {
        // Numbers are what hurts: every edit replaces one number of the description.
        const HOSTILE: [&str; 12] =
            ["0", "1", "3", "-1", "255", "65536", "4294967295", "18446744073709551615", "1e38", "-1e38", "0.5", "null"];
        let text = awkward().to_string();
        let mut parts: Vec<String> = Vec::new();
        let (mut numbers, mut in_text) = (Vec::new(), false);
        for c in text.chars() {
            in_text ^= c == '"';
            let continues = !in_text && c.is_ascii_digit() && numbers.last() == Some(&(parts.len().wrapping_sub(1)));
            if continues {
                parts.last_mut().unwrap().push(c);
            } else {
                if !in_text && c.is_ascii_digit() {
                    numbers.push(parts.len());
                }
                parts.push(c.to_string());
            }
        }
        for (place, value) in edits {
            parts[numbers[(place * numbers.len() as f64) as usize]] = HOSTILE[value].to_owned();
        }
        survives(parts.concat().as_bytes());
    }
}
