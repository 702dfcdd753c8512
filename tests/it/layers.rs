//! The architecture as a test: which top-level module may use which.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Each module and what it may use beside itself; the table of ARCHITECTURE in README.md.
const ALLOWED: &[(&str, &[&str])] = &[
    ("types", &[]),
    ("sync", &["types"]),
    ("signal", &["types"]),
    ("settings", &["types"]),
    ("capture", &["types", "sync", "settings"]),
    ("audio", &["types", "sync", "signal", "settings"]),
    ("receive", &["types", "sync", "settings"]),
    ("face", &["types", "signal", "settings"]),
    ("voice", &["types", "signal", "settings"]),
    ("avatar", &["types"]),
    ("mix", &["types", "signal", "settings"]),
    ("motion", &["types", "signal", "settings"]),
    ("rig", &["types", "signal", "avatar"]),
    ("render", &["types", "settings", "avatar"]),
    (
        "engine",
        &[
            "types", "sync", "signal", "settings", "capture", "audio", "receive", "face", "voice", "avatar", "mix",
            "motion", "rig", "render",
        ],
    ),
    (
        "replay",
        &[
            "types", "sync", "signal", "settings", "capture", "audio", "receive", "face", "voice", "avatar", "mix",
            "motion", "rig", "render", "engine",
        ],
    ),
    (
        "eval",
        &[
            "types", "sync", "signal", "settings", "capture", "audio", "receive", "face", "voice", "avatar", "mix",
            "motion", "rig", "render", "engine", "replay",
        ],
    ),
    ("ui", &["types", "settings", "voice", "engine"]),
    ("output", &["types", "settings", "avatar", "render", "engine"]),
    (
        "app",
        &[
            "types", "sync", "signal", "settings", "capture", "audio", "receive", "face", "voice", "avatar", "mix",
            "motion", "rig", "render", "engine", "replay", "eval", "ui", "output",
        ],
    ),
];

/// Words that may not stand in modules that must not know them.
const FORBIDDEN_WORDS: &[(&str, &[&str])] = &[
    ("types", &["std::thread", "Instant::now", "SystemTime", "std::fs", "wgpu", "egui", "tracing"]),
    ("signal", &["std::thread", "Instant::now", "SystemTime", "std::fs", "wgpu", "egui", "tracing"]),
    ("mix", &["std::thread", "Instant::now", "SystemTime", "std::fs", "wgpu", "egui", "tracing"]),
    ("motion", &["std::thread", "Instant::now", "SystemTime", "std::fs", "wgpu", "egui", "tracing"]),
    ("rig", &["std::thread", "Instant::now", "SystemTime", "std::fs", "wgpu", "egui", "tracing"]),
    ("avatar", &["wgpu", "egui", "Instant::now"]),
    ("face", &["nokhwa", "cpal", "egui", "wgpu"]),
    ("voice", &["nokhwa", "cpal", "egui", "wgpu"]),
    ("receive", &["nokhwa", "cpal", "egui", "wgpu", "std::fs", "std::thread", "Instant::now", "SystemTime"]),
    ("ui", &["nokhwa", "cpal", "wgpu::", "std::fs", "std::thread"]),
];

#[test]
fn modules_use_only_what_lies_below_them() {
    let allowed: BTreeMap<_, _> = ALLOWED.iter().copied().collect();
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        let Some(may_use) = allowed.get(module.as_str()) else {
            wrong.push(format!("{}: module `{module}` is not in the table", path.display()));
            continue;
        };
        for used in used_modules(&text) {
            if used != module && !may_use.contains(&used.as_str()) {
                wrong.push(format!("{}: `{module}` must not use `{used}`", path.display()));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn modules_stay_ignorant_of_what_they_must_not_know() {
    let mut wrong = Vec::new();
    for (module, path, text) in sources() {
        for (_, words) in FORBIDDEN_WORDS.iter().filter(|(m, _)| *m == module) {
            for word in *words {
                let hit = code_lines(&text).any(|line| line.contains(word));
                if hit {
                    wrong.push(format!("{}: `{module}` must not know `{word}`", path.display()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_planted_violation_is_found() {
    assert_eq!(used_modules("use crate::engine::Stage;\n"), ["engine"]);
    assert_eq!(used_modules("use crate::{audio::X, types};\n"), ["audio", "types"]);
    assert_eq!(used_modules("let x = crate::ui::apply();\n"), ["ui"]);
    assert_eq!(used_modules("// crate::ui is not meant\n"), [""; 0]);
}

/// Top-level module, path and text of every source file but `lib.rs` and `main.rs`.
fn sources() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = Vec::new();
    let mut folders = vec![root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).expect("src is readable") {
            let path = entry.expect("entry").path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let inner = path.strip_prefix(&root).expect("below src");
                let first = inner.iter().next().and_then(|c| c.to_str()).expect("name");
                let module = first.trim_end_matches(".rs").to_owned();
                if module != "lib" && module != "main" {
                    let text = fs::read_to_string(&path).expect("text");
                    found.push((module, path, text));
                }
            }
        }
    }
    assert!(found.len() > 40, "the sources are found");
    found
}

/// Lines of code: no comments, nothing after `#[cfg(test)]`.
fn code_lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines()
        .take_while(|line| !line.trim_start().starts_with("#[cfg(test)]"))
        .filter(|line| !line.trim_start().starts_with("//"))
}

fn used_modules(text: &str) -> Vec<String> {
    let code: String =
        text.lines().filter(|line| !line.trim_start().starts_with("//")).flat_map(|line| [line, "\n"]).collect();
    let mut used = Vec::new();
    for (_, rest) in code.match_indices("crate::").map(|(i, m)| (i, &code[i + m.len()..])) {
        if let Some(group) = rest.strip_prefix('{') {
            // `use crate::{a::X, b::{C, D}, e};`: the names at depth zero.
            let mut depth = 0;
            let mut name = String::new();
            let mut takes = true;
            for c in group.chars() {
                match c {
                    '{' => depth += 1,
                    '}' if depth == 0 => break,
                    '}' => depth -= 1,
                    ',' if depth == 0 => takes = true,
                    c if depth == 0 && takes && (c.is_alphanumeric() || c == '_') => {
                        name.push(c);
                        continue;
                    }
                    c if c.is_whitespace() => continue,
                    _ => takes = false,
                }
                if !name.is_empty() {
                    used.push(std::mem::take(&mut name));
                    takes = c == ',' && depth == 0;
                }
            }
            if !name.is_empty() {
                used.push(name);
            }
        } else {
            let name: String = rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
            // Items at the crate root do not exist; a lower-case name is a module.
            if name.chars().next().is_some_and(char::is_lowercase) {
                used.push(name);
            }
        }
    }
    used
}
