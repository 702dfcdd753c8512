//! The files of a folder and its sub-folders, for whoever measures over them.

use std::fs;
use std::path::{Path, PathBuf};

use super::EvalError;

/// Folders below the given one are looked through to this depth.
const MAX_DEPTH: usize = 8;
/// More files than this are a mistake, such as the root of a disk.
const MAX_FILES: usize = 200_000;

/// The files of one sub-folder: one speaker or one condition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SubFolder {
    /// Its path below the given folder; `.` for the folder itself.
    pub name: String,
    /// In order of their names.
    pub files: Vec<PathBuf>,
}

/// All sub-folders in order of their names, empty ones too. Hidden files and links to folders are left out.
///
/// # Errors
/// If the folder is none, cannot be read or holds too much; `what` it should hold is said.
pub(super) fn walk(folder: &Path, what: &str) -> Result<Vec<SubFolder>, EvalError> {
    let fault = |path: &Path, why: String| EvalError::Folder { path: path.into(), why };
    if !folder.is_dir() {
        let why =
            if folder.exists() { format!("a folder of {what} is expected") } else { "there is no such folder".into() };
        return Err(fault(folder, why));
    }
    let mut sub_folders = Vec::new();
    let mut count = 0;
    let mut ahead = vec![(folder.to_path_buf(), 0)];
    while let Some((path, depth)) = ahead.pop() {
        let unreadable = |e: std::io::Error| fault(&path, format!("the folder cannot be read ({e})"));
        let mut files = Vec::new();
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
            count += 1;
            if count > MAX_FILES {
                return Err(fault(folder, format!("it holds over {MAX_FILES} files; name a smaller folder")));
            }
            files.push(inner);
        }
        files.sort();
        let below = path.strip_prefix(folder).unwrap_or(&path);
        let name = if below.as_os_str().is_empty() { ".".to_owned() } else { below.to_string_lossy().into_owned() };
        sub_folders.push(SubFolder { name, files });
    }
    sub_folders.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(sub_folders)
}

/// True for a file whose name ends in one of these extensions.
pub(super) fn has_extension(path: &Path, wanted: &[&str]) -> bool {
    path.extension().is_some_and(|e| wanted.iter().any(|w| e.eq_ignore_ascii_case(w)))
}
