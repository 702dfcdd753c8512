//! Which clips and stills a folder holds, and what is known about each.

use std::io::Read;
use std::path::{Path, PathBuf};

use crate::eval::EvalError;
use crate::eval::walk::{SubFolder, has_extension, walk};

/// Stills.
const STILLS: &[&str] = &["png", "jpg", "jpeg"];
/// Moving pictures.
const CLIPS: &[&str] =
    &["mp4", "m4v", "mov", "mkv", "webm", "avi", "mpg", "mpeg", "ts", "gif", "y4m", "mjpeg", "ogv", "wmv"];

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ClipKind {
    /// One picture, which says nothing about time.
    Still,
    /// Moving pictures.
    Clip,
    /// A script of the drawn presenter, whose truth is known.
    Presenter,
}

/// A clip, a still or a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FaceClip {
    /// The file.
    pub path: PathBuf,
    /// Its name.
    pub name: String,
    /// What it holds.
    pub kind: ClipKind,
    /// What MediaPipe saw in it: NAME.face.jsonl.
    pub reference: Option<PathBuf>,
    /// What people counted in it: NAME.truth.toml.
    pub truth: Option<PathBuf>,
}

/// The clips of one sub-folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClipGroup {
    /// The sub-folder's path below the given folder; `.` for the folder itself.
    pub name: String,
    /// In order of their names; never empty.
    pub clips: Vec<FaceClip>,
}

/// Looks through a folder. What is known about a clip lies beside it, or at the same place below `references`.
///
/// # Errors
/// If the folder cannot be read or holds no clips and no stills.
pub(super) fn find_clips(folder: &Path, references: Option<&Path>) -> Result<Vec<ClipGroup>, EvalError> {
    let mut groups = Vec::new();
    for SubFolder { name, files } in walk(folder, "clips")? {
        let beside = |clip: &Path, ending: &str| {
            let sibling = clip.with_extension(ending);
            let elsewhere = references.and_then(|root| Some(root.join(sibling.strip_prefix(folder).ok()?)));
            elsewhere.into_iter().chain([sibling]).find(|path| path.is_file())
        };
        let clips: Vec<FaceClip> = files
            .iter()
            .filter_map(|path| {
                Some(FaceClip {
                    path: path.clone(),
                    name: path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default(),
                    kind: kind_of(path)?,
                    reference: beside(path, "face.jsonl"),
                    truth: beside(path, "truth.toml"),
                })
            })
            .collect();
        if !clips.is_empty() {
            groups.push(ClipGroup { name, clips });
        }
    }
    if groups.is_empty() {
        let why = "there are no clips and no stills in this folder or below it".into();
        return Err(EvalError::Folder { path: folder.into(), why });
    }
    Ok(groups)
}

/// `None` for a file that is nothing to look at.
fn kind_of(path: &Path) -> Option<ClipKind> {
    if has_extension(path, STILLS) {
        return Some(ClipKind::Still);
    }
    if has_extension(path, CLIPS) {
        return Some(ClipKind::Clip);
    }
    (has_extension(path, &["toml"]) && is_script(path)).then_some(ClipKind::Presenter)
}

/// True for a TOML file with a length, which settings and truths have not. Whether it is right shows when it is played.
fn is_script(path: &Path) -> bool {
    /// More of a script need not be read to know it.
    const HEAD_BYTES: u64 = 64 << 10;
    let mut head = Vec::new();
    let read = std::fs::File::open(path).and_then(|file| file.take(HEAD_BYTES).read_to_end(&mut head));
    read.is_ok() && String::from_utf8_lossy(&head).lines().any(|line| line.trim_start().starts_with("duration"))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn clips_find_what_is_known_about_them() {
        let (folder, references) = (tempfile::tempdir().expect("folder"), tempfile::tempdir().expect("folder"));
        let at = |name: &str| folder.path().join(name);
        fs::create_dir_all(at("a")).expect("folder");
        fs::create_dir_all(references.path().join("a")).expect("folder");
        for name in ["a/2.PNG", "a/1.mp4", "a/1.truth.toml", "a/1.wav", "x.y.mkv", "x.y.face.jsonl"] {
            fs::write(at(name), "").expect("file");
        }
        let elsewhere = references.path().join("a/1.face.jsonl");
        fs::write(&elsewhere, "").expect("file");
        let groups = find_clips(folder.path(), Some(references.path())).expect("groups");
        let names: Vec<_> = groups.iter().map(|g| (g.name.as_str(), g.clips.len())).collect();
        assert_eq!(names, [(".", 1), ("a", 2)]);
        assert_eq!(groups[0].clips[0].reference, Some(at("x.y.face.jsonl")));
        let [clip, still] = groups[1].clips.as_slice() else { panic!("two clips") };
        assert_eq!((clip.kind, clip.name.as_str()), (ClipKind::Clip, "1.mp4"));
        assert_eq!((clip.reference.as_ref(), clip.truth.as_ref()), (Some(&elsewhere), Some(&at("a/1.truth.toml"))));
        assert_eq!((still.kind, &still.reference), (ClipKind::Still, &None));
        fs::write(at("play.toml"), "format = 1\nduration = 2.0\n").expect("file");
        let groups = find_clips(folder.path(), None).expect("groups");
        assert_eq!(groups[0].clips[0].kind, ClipKind::Presenter);
    }

    #[test]
    fn a_folder_without_clips_says_so() {
        let folder = tempfile::tempdir().expect("folder");
        assert!(find_clips(folder.path(), None).expect_err("nothing").to_string().contains("no clips and no stills"));
        let gone = find_clips(&folder.path().join("gone"), None).expect_err("nothing");
        assert!(gone.to_string().contains("no such folder"));
    }
}
