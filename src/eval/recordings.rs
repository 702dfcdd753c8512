//! Which recordings a folder holds, and which of them belong together.

use std::path::{Path, PathBuf};

use super::EvalError;
use super::walk::{SubFolder, has_extension, walk};

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
    let fault = |path: &Path, why: &str| EvalError::Folder { path: path.into(), why: why.into() };
    let mut groups = Vec::new();
    for SubFolder { name, files } in walk(folder, "recordings")? {
        let of_kind = |extension: &'static str| files.iter().filter(move |f| has_extension(f, &[extension]));
        let is_beside = |a: &Path, b: &Path| a.with_extension("") == b.with_extension("");
        if let Some(lonely) = of_kind("tsv").find(|table| !of_kind("wav").any(|sound| is_beside(sound, table))) {
            return Err(fault(lonely, "there is no WAV file beside these labels"));
        }
        let recordings: Vec<Recording> = of_kind("wav")
            .map(|sound| Recording {
                sound: sound.clone(),
                labels: of_kind("tsv").find(|table| is_beside(sound, table)).cloned(),
            })
            .collect();
        if !recordings.is_empty() {
            groups.push(Group { name, recordings });
        }
    }
    if groups.is_empty() {
        return Err(fault(folder, "there are no WAV files in this folder or below it"));
    }
    Ok(groups)
}

#[cfg(test)]
mod tests {
    use std::fs;

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
