//! Which recordings a folder holds, and which of them belong together.

use std::fs;
use std::path::{Path, PathBuf};

use super::EvalError;

/// Folders below the given one are looked through to this depth.
const MAX_DEPTH: usize = 8;
/// More files than this are a mistake, such as the root of a disk.
const MAX_FILES: usize = 200_000;

/// One recording.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recording {
    /// The WAV file.
    pub sound: PathBuf,
    /// The table of labels beside it; without one nobody speaks in the recording.
    pub labels: Option<PathBuf>,
}

/// The recordings of one sub-folder: one speaker or one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The sub-folder's path below the given folder; `.` for the folder itself.
    pub name: String,
    /// In order of their names; never empty.
    pub recordings: Vec<Recording>,
}

/// Looks through a folder and its sub-folders; groups come in order of their names. Links to folders are not followed.
///
/// # Errors
/// If the folder cannot be read, holds no recordings, or holds labels without a recording.
pub fn find_recordings(folder: &Path) -> Result<Vec<Group>, EvalError> {
    let fault = |path: &Path, why: String| EvalError::Folder { path: path.into(), why };
    if !folder.is_dir() {
        let why = if folder.exists() { "a folder of recordings is expected" } else { "there is no such folder" };
        return Err(fault(folder, why.into()));
    }
    let mut groups = Vec::new();
    let mut files = 0;
    let mut ahead = vec![(folder.to_path_buf(), 0)];
    while let Some((path, depth)) = ahead.pop() {
        let unreadable = |e: std::io::Error| fault(&path, format!("the folder cannot be read ({e})"));
        let (mut sounds, mut tables) = (Vec::new(), Vec::new());
        for entry in fs::read_dir(&path).map_err(unreadable)? {
            let entry = entry.map_err(unreadable)?;
            let (inner, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            if kind.is_dir() {
                if depth < MAX_DEPTH {
                    ahead.push((inner, depth + 1));
                }
                continue;
            }
            files += 1;
            if files > MAX_FILES {
                return Err(fault(folder, format!("it holds over {MAX_FILES} files; name a smaller folder")));
            }
            let has_extension = |wanted: &str| inner.extension().is_some_and(|e| e.eq_ignore_ascii_case(wanted));
            if has_extension("wav") {
                sounds.push(inner);
            } else if has_extension("tsv") {
                tables.push(inner);
            }
        }
        sounds.sort();
        if let Some(lonely) =
            tables.iter().find(|t| !sounds.iter().any(|s| s.with_extension("") == t.with_extension("")))
        {
            return Err(fault(lonely, "there is no WAV file beside these labels".into()));
        }
        if sounds.is_empty() {
            continue;
        }
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let name = if below.as_os_str().is_empty() { ".".to_owned() } else { below.to_string_lossy().into_owned() };
        let recordings = sounds
            .into_iter()
            .map(|sound| {
                let labels = tables.iter().find(|t| t.with_extension("") == sound.with_extension("")).cloned();
                Recording { sound, labels }
            })
            .collect();
        groups.push(Group { name, recordings });
    }
    if groups.is_empty() {
        return Err(fault(folder, "there are no WAV files in this folder or below it".into()));
    }
    groups.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_folders_are_groups_and_labels_find_their_sound() {
        let folder = tempfile::tempdir().expect("folder");
        let at = |name: &str| folder.path().join(name);
        for name in ["b/deep", "a", ".hidden"] {
            fs::create_dir_all(at(name)).expect("folder");
        }
        for name in ["a/2.wav", "a/1.WAV", "a/1.tsv", "b/deep/x.wav", "b/notes.txt", ".hidden/h.wav"] {
            fs::write(at(name), "").expect("file");
        }
        let groups = find_recordings(folder.path()).expect("groups");
        let names: Vec<_> = groups.iter().map(|g| (g.name.as_str(), g.recordings.len())).collect();
        assert_eq!(names, [("a", 2), ("b/deep", 1)]);
        assert_eq!(groups[0].recordings[0], Recording { sound: at("a/1.WAV"), labels: Some(at("a/1.tsv")) });
        assert_eq!(groups[0].recordings[1].labels, None);
        fs::write(at("a/lost.tsv"), "").expect("file");
        assert!(find_recordings(folder.path()).expect_err("lonely").to_string().contains("lost.tsv"));
    }

    #[test]
    fn a_folder_without_recordings_says_so() {
        let folder = tempfile::tempdir().expect("folder");
        let message = |path: &Path| find_recordings(path).expect_err("nothing").to_string();
        assert!(message(folder.path()).contains("no WAV files"));
        assert!(message(&folder.path().join("gone")).contains("no such folder"));
        let file = folder.path().join("file");
        fs::write(&file, "").expect("file");
        assert!(message(&file).contains("folder of recordings"));
    }
}
