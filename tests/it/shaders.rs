//! Every shader is parsed and validated without a GPU.

use std::path::Path;

use naga::valid::{Capabilities, ValidationFlags, Validator};

/// The surface shaders are used with this put in front.
const COMMON: &str = "common.wgsl";
const NEEDS_COMMON: [&str; 3] = ["toon.wgsl", "unlit.wgsl", "diffuse.wgsl"];

fn check(name: &str, source: &str) -> Result<(), String> {
    let module = naga::front::wgsl::parse_str(source).map_err(|e| e.emit_to_string_with_path(source, name))?;
    Validator::new(ValidationFlags::all(), Capabilities::empty())
        .validate(&module)
        .map(|_| ())
        .map_err(|e| e.emit_to_string_with_path(source, name))
}

#[test]
fn all_shaders_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("shaders");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    let mut count = 0;
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        assert!(name.ends_with(".wgsl"), "{name} is no shader: shaders/ holds nothing else");
        let mut source = read(&name);
        if NEEDS_COMMON.contains(&name.as_str()) {
            source = read(COMMON) + &source;
        }
        if let Err(message) = check(&name, &source) {
            panic!("{message}");
        }
        count += 1;
    }
    assert!(count >= 6, "only {count} shaders were found");
}

#[test]
fn the_check_finds_mistakes() {
    assert!(check("syntax", "fn f( {").is_err());
    assert!(check("types", "fn f() -> f32 { return vec2<f32>(0.0); }").is_err());
}
