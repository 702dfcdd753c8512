//! Avatar files in, models out: what loads, what is refused, and that nothing panics.

use std::path::{Path, PathBuf};

use omote::avatar::{self, AvatarError, AvatarFormat, AvatarModel, Fallback, Preset};
use omote::types::{Bone, ErrorKind};

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
