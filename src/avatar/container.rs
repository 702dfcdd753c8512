//! From the bytes of a file to its JSON description and its buffers (GLB, glTF with files or data URIs).

use std::borrow::Cow;
use std::path::{Component, Path};

use gltf::json::{self, Root, Value};

use super::AvatarError;
use super::budget::Budget;

/// Files beyond this are no avatars.
pub(super) const MAX_FILE_BYTES: u64 = 1 << 30;
const GLB_MAGIC: &[u8] = b"glTF";
const CHUNK_JSON: u32 = 0x4E4F_534A;
const CHUNK_BIN: u32 = 0x004E_4942;

/// A file taken apart.
pub(super) struct Document<'a> {
    pub root: Root,
    /// By glTF buffer; a buffer that cannot be read is empty, with a warning.
    pub buffers: Vec<Cow<'a, [u8]>>,
    /// Where relative names lead; `None` where the bytes came from no file.
    pub base_dir: Option<&'a Path>,
}

impl<'a> Document<'a> {
    /// Takes a file apart.
    pub(super) fn read(bytes: &'a [u8], base_dir: Option<&'a Path>, budget: &mut Budget) -> Result<Self, AvatarError> {
        let (description, bin) = split(bytes)?;
        let root = parse(description)?;
        refuse_undecodable(&root, budget)?;
        let mut buffers = Vec::with_capacity(root.buffers.len().min(64));
        for (index, buffer) in root.buffers.iter().enumerate() {
            let data: Cow<'a, [u8]> = match &buffer.uri {
                None if index == 0 => Cow::Borrowed(bin.unwrap_or_default()),
                None => Cow::default(),
                Some(uri) => match fetch(uri, base_dir, budget) {
                    Ok(data) => Cow::Owned(data),
                    Err(reason) => {
                        return Err(AvatarError::broken(format!("its data cannot be read ({reason})")));
                    }
                },
            };
            if (data.len() as u64) < buffer.byte_length.0 {
                // A truncated chunk is an error in `split`; here the description asks for more than there is.
                budget.warn(format!("buffer {index} is shorter than the file says"));
            }
            buffers.push(data);
        }
        Ok(Self { root, buffers, base_dir })
    }

    /// The bytes of a buffer view.
    pub(super) fn view(&self, index: usize) -> Option<&[u8]> {
        let view = self.root.buffer_views.get(index)?;
        let buffer = self.buffers.get(view.buffer.value())?;
        let start = usize::try_from(view.byte_offset.unwrap_or_default().0).ok()?;
        let length = usize::try_from(view.byte_length.0).ok()?;
        buffer.get(start..start.checked_add(length)?)
    }

    /// A root extension's JSON.
    pub(super) fn extension(&self, name: &str) -> Option<&Value> {
        self.root.extensions.as_ref()?.others.get(name)
    }
}

/// Splits a GLB into JSON and binary chunk; a bare glTF is all JSON.
fn split(bytes: &[u8]) -> Result<(&[u8], Option<&[u8]>), AvatarError> {
    if bytes.is_empty() {
        return Err(AvatarError::NotAnAvatar { found: "the file is empty".into() });
    }
    if !bytes.starts_with(GLB_MAGIC) {
        return match bytes.iter().find(|b| !b.is_ascii_whitespace() && !matches!(b, 0xEF | 0xBB | 0xBF)) {
            Some(b'{') => Ok((bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(bytes), None)),
            _ => Err(AvatarError::NotAnAvatar { found: what_it_is(bytes).into() }),
        };
    }
    let version = u32_at(bytes, 4).ok_or_else(|| truncated("the header"))?;
    if version != 2 {
        return Err(AvatarError::NotAnAvatar { found: format!("it is a glTF of version {version}, not 2") });
    }
    let mut at = 12;
    let (mut description, mut bin) = (None, None);
    while description.is_none() || bin.is_none() {
        let (Some(length), Some(kind)) = (u32_at(bytes, at), u32_at(bytes, at + 4)) else { break };
        at += 8;
        let end = at.checked_add(length as usize).filter(|end| *end <= bytes.len());
        match (kind, end) {
            (CHUNK_JSON, Some(end)) => description = bytes.get(at..end),
            (CHUNK_BIN, Some(end)) => bin = bytes.get(at..end),
            (_, Some(_)) => {}
            (CHUNK_JSON, None) => return Err(truncated("its description")),
            (_, None) => {
                return Err(truncated(&format!("{} of {length} bytes of its data", bytes.len().saturating_sub(at))));
            }
        }
        let Some(end) = end else { break };
        at = end.next_multiple_of(4);
    }
    description.map(|d| (d, bin)).ok_or_else(|| truncated("its description"))
}

fn truncated(what: &str) -> AvatarError {
    AvatarError::Truncated { what: format!("there is only a part of {what}").replace("only a part of 0", "none of 0") }
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    bytes.get(at..at.checked_add(4)?)?.try_into().ok().map(u32::from_le_bytes)
}

fn what_it_is(bytes: &[u8]) -> &'static str {
    match bytes {
        [b'P', b'K', 3 | 5, ..] => "it is a ZIP archive. Unpack it and open the .vrm inside",
        [0x89, b'P', b'N', b'G', ..] | [0xFF, 0xD8, ..] => "it is a picture",
        [b'7', b'z', ..] | [b'R', b'a', b'r', ..] => "it is an archive. Unpack it and open the .vrm inside",
        _ if bytes.starts_with(b"Kaydara FBX") => "it is an FBX model. Convert it to VRM first",
        _ if bytes.starts_with(b"UnityFS") => "it is a Unity asset bundle. Convert it to VRM first",
        _ if bytes.starts_with(b"BLENDER") => "it is a Blender file. Export it as VRM or glTF",
        _ if bytes.starts_with(b"version https://git-lfs") => "it is a Git LFS pointer, not the file itself",
        _ => "its first bytes are unknown",
    }
}

fn parse(description: &[u8]) -> Result<Root, AvatarError> {
    let broken = |e: json::Error| AvatarError::broken(format!("its description cannot be understood ({e})"));
    // NUL padding instead of spaces is common.
    let end = description.iter().rposition(|b| *b != 0 && !b.is_ascii_whitespace()).map_or(0, |i| i + 1);
    let description = description.get(..end).unwrap_or_default();
    match json::deserialize::from_slice::<Root>(description) {
        Ok(root) => Ok(root),
        Err(first) => {
            // Fields that exporters leave out although the `gltf` crate wants them.
            let Ok(mut value) = json::deserialize::from_slice::<Value>(description) else { return Err(broken(first)) };
            repair(&mut value);
            json::deserialize::from_value(value).map_err(|_| broken(first))
        }
    }
}

/// Puts in what exporters leave out.
fn repair(value: &mut Value) {
    let Some(root) = value.as_object_mut() else { return };
    if root.get("asset").is_none_or(|a| a.get("version").is_none()) {
        root.insert("asset".into(), json::deserialize::from_str(r#"{"version":"2.0"}"#).unwrap_or_default());
    }
    for (list, field) in [("scenes", "nodes"), ("skins", "joints"), ("meshes", "primitives")] {
        for item in root.get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(item) = item.as_object_mut() {
                item.entry(field).or_insert_with(|| Value::Array(Vec::new()));
            }
        }
    }
}

/// Refuses files whose geometry or textures we cannot decode.
fn refuse_undecodable(root: &Root, budget: &mut Budget) -> Result<(), AvatarError> {
    const KNOWN: [&str; 12] = [
        "VRM",
        "VRMC_vrm",
        "VRMC_springBone",
        "VRMC_springBone_extended_collider",
        "VRMC_node_constraint",
        "VRMC_materials_mtoon",
        "VRMC_materials_hdr_emissiveMultiplier",
        "KHR_texture_transform",
        "KHR_materials_unlit",
        "KHR_materials_emissive_strength",
        "KHR_mesh_quantization",
        "KHR_xmp_json_ld",
    ];
    const MESH_ADVICE: &str = "Export the avatar without mesh compression.";
    for name in &root.extensions_required {
        let advice = match name.as_str() {
            "KHR_draco_mesh_compression" | "EXT_meshopt_compression" | "KHR_meshopt_compression" => MESH_ADVICE,
            "KHR_texture_basisu" => "Export the avatar with PNG or JPEG textures.",
            name if KNOWN.contains(&name) => continue,
            name => {
                budget.warn(format!("the file requires {name}, which omote does not know; it may look wrong"));
                continue;
            }
        };
        return Err(AvatarError::Unsupported { extension: name.clone(), advice });
    }
    let uses_draco = |p: &json::mesh::Primitive| {
        p.extensions.as_ref().is_some_and(|e| e.others.contains_key("KHR_draco_mesh_compression"))
    };
    if root.meshes.iter().flat_map(|m| &m.primitives).any(uses_draco) {
        return Err(AvatarError::Unsupported { extension: "KHR_draco_mesh_compression".into(), advice: MESH_ADVICE });
    }
    Ok(())
}

/// Reads a data URI or a file beside the avatar.
pub(super) fn fetch(uri: &str, base_dir: Option<&Path>, budget: &mut Budget) -> Result<Vec<u8>, String> {
    if let Some(rest) = uri.strip_prefix("data:") {
        let (head, data) = rest.split_once(',').ok_or("a data URI without data")?;
        budget.take(data.len() as u64, 1, "the data inside the file").map_err(|e| e.to_string())?;
        return if head.ends_with(";base64") {
            base64(data.as_bytes()).ok_or_else(|| "bad base64".into())
        } else {
            Ok(percent_decode(data))
        };
    }
    if uri.contains("://") {
        return Err("it lies on the internet; omote loads local files only".into());
    }
    let name = String::from_utf8(percent_decode(uri)).map_err(|_| "a file name that is no text")?;
    let relative = Path::new(&name);
    // The avatar must not make us read files outside its own folder.
    if !relative.components().all(|c| matches!(c, Component::Normal(_) | Component::CurDir)) {
        return Err(format!("{name:?} lies outside the avatar's folder"));
    }
    let base = base_dir.ok_or_else(|| format!("{name:?} is a file of its own"))?;
    read_file(&base.join(relative), budget).map_err(|e| format!("{name:?}: {e}"))
}

/// Reads a file of acceptable size.
pub(super) fn read_file(path: &Path, budget: &mut Budget) -> Result<Vec<u8>, String> {
    let length = std::fs::metadata(path).map_err(|e| e.to_string())?.len();
    if length > MAX_FILE_BYTES {
        return Err(format!("it has more than {} MiB", MAX_FILE_BYTES >> 20));
    }
    budget.take(length, 1, "the file").map_err(|e| e.to_string())?;
    std::fs::read(path).map_err(|e| e.to_string())
}

fn percent_decode(text: &str) -> Vec<u8> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let hex = (byte == b'%').then(|| text.get(at + 1..at + 3)).flatten();
        if let Some(code) = hex.and_then(|h| u8::from_str_radix(h, 16).ok()) {
            out.push(code);
            at += 3;
        } else {
            out.push(byte);
            at += 1;
        }
    }
    out
}

fn base64(text: &[u8]) -> Option<Vec<u8>> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0_u32);
    for &c in text {
        let six = match c {
            b'A'..=b'Z' => c - b'A',
            b'a'..=b'z' => c - b'a' + 26,
            b'0'..=b'9' => c - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => break,
            _ if c.is_ascii_whitespace() => continue,
            _ => return None,
        };
        bits = (bits << 6) | u32::from(six);
        count += 6;
        if count >= 8 {
            count -= 8;
            out.push((bits >> count) as u8);
        }
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_and_percent_codes_are_decoded() {
        assert_eq!(base64(b"aGVsbG8=").unwrap(), b"hello");
        assert_eq!(base64(b"aGVs\nbG8").unwrap(), b"hello");
        assert_eq!(base64(b"a*b"), None);
        assert_eq!(percent_decode("a%20b%"), b"a b%");
    }

    #[test]
    fn files_outside_the_folder_are_refused() {
        let mut budget = Budget::default();
        for uri in ["../secret.bin", "/etc/hostname", "a/../../b", "https://example.org/a.bin"] {
            assert!(fetch(uri, Some(Path::new(".")), &mut budget).is_err(), "{uri}");
        }
    }

    #[test]
    fn other_files_are_named() {
        let zip = split(b"PK\x03\x04....").unwrap_err();
        assert!(zip.to_string().contains("ZIP"), "{zip}");
        let empty = split(b"").unwrap_err();
        assert!(empty.to_string().contains("empty"), "{empty}");
        let cut = split(b"glTF\x02\0\0\0\xff\0\0\0\xff\0\0\0JSON{}").unwrap_err();
        assert!(matches!(cut, AvatarError::Truncated { .. }), "{cut}");
    }
}
