//! The settings file: read leniently, written atomically, with one backup.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use toml::{Table, Value};

use super::Settings;
use crate::types::ErrorKind;

/// Version written into the file.
const VERSION: i64 = 1;

/// A file larger than this is no settings file.
const MAX_BYTES: u64 = 1 << 20;

/// Why the settings could not be written.
#[derive(Debug, thiserror::Error)]
#[error("the settings cannot be saved ({why}); they hold until omote ends. Make the folder writable, or give another file with --settings: {}", path.display())]
pub struct SettingsError {
    path: PathBuf,
    why: String,
}

impl SettingsError {
    /// What to do about it: the user must change something.
    pub fn kind(&self) -> ErrorKind {
        ErrorKind::Setup
    }
}

/// Where settings are kept.
#[derive(Clone, Debug)]
pub struct SettingsFile {
    path: PathBuf,
    /// What the file held when it was read: keys this version does not know survive a save.
    unknown: Table,
}

impl SettingsFile {
    /// The file at `path`; it need not exist.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into(), unknown: Table::new() }
    }

    /// The file in the platform's configuration folder; `None` where the system names no such folder.
    pub fn in_config_folder() -> Option<Self> {
        let folders = directories::ProjectDirs::from("", "", "omote")?;
        Some(Self::at(folders.config_dir().join("settings.toml")))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file. Never fails: what cannot be read becomes its default, and a warning says so.
    pub fn load(&mut self) -> (Settings, Vec<String>) {
        let mut warnings = Vec::new();
        let text = match fs::metadata(&self.path) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return (Settings::default(), warnings),
            Ok(meta) if meta.len() > MAX_BYTES => Err("it is far too large".to_owned()),
            _ => fs::read_to_string(&self.path).map_err(|e| e.to_string()),
        };
        let table = text.and_then(|t| t.parse::<Table>().map_err(|e| e.message().to_owned()));
        match table {
            Ok(table) => {
                let settings = read_table(&table, &mut warnings);
                self.unknown = table;
                (settings, warnings)
            }
            Err(why) => {
                warnings.push(format!(
                    "the settings file cannot be read ({why}); defaults are used, and the next save keeps it as a \
                     backup: {}",
                    self.path.display()
                ));
                (Settings::default(), warnings)
            }
        }
    }

    /// Writes the settings: first beside the file, then in its place; what stood there becomes `….bak`.
    ///
    /// # Errors
    /// If the folder or file cannot be written; the old file is whole then.
    pub fn save(&self, settings: &Settings) -> Result<(), SettingsError> {
        self.write(settings).map_err(|why| SettingsError { path: self.path.clone(), why })
    }

    fn write(&self, settings: &Settings) -> Result<(), String> {
        let known = Table::try_from(settings).map_err(|e| e.to_string())?;
        let mut table = self.unknown.clone();
        table.insert("version".into(), Value::Integer(VERSION));
        for (section, values) in known {
            match (table.get_mut(&section), values) {
                (Some(Value::Table(old)), Value::Table(new)) => old.extend(new),
                (_, values) => {
                    table.insert(section, values);
                }
            }
        }
        let text = toml::to_string_pretty(&table).map_err(|e| e.to_string())?;
        let say = |e: std::io::Error| e.to_string();
        if let Some(folder) = self.path.parent().filter(|f| !f.as_os_str().is_empty()) {
            fs::create_dir_all(folder).map_err(say)?;
        }
        let beside = self.with_suffix("new");
        let mut file = fs::File::create(&beside).map_err(say)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(say)?;
        if self.path.exists() {
            // A copy, not a move: the settings file is there at every moment.
            fs::copy(&self.path, self.with_suffix("bak")).map_err(say)?;
        }
        fs::rename(&beside, &self.path).map_err(say)
    }

    fn with_suffix(&self, suffix: &str) -> PathBuf {
        let mut name = self.path.clone().into_os_string();
        name.push(".");
        name.push(suffix);
        name.into()
    }
}

fn read_table(table: &Table, warnings: &mut Vec<String>) -> Settings {
    let mut settings = Settings::default();
    let known = Value::try_from(&settings).unwrap_or(Value::Boolean(false));
    for (section, values) in table {
        let Some(known) = known.get(section) else { continue };
        let Value::Table(values) = values else {
            warnings.push(format!("settings: [{section}] is not a section; its defaults are used"));
            continue;
        };
        for (name, value) in values {
            if known.get(name).is_none() {
                continue;
            }
            if let Err(error) = settings.set_value(&format!("{section}.{name}"), value) {
                warnings.push(format!("settings: {error}; its default is used"));
            }
        }
    }
    settings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::LipsyncMode;

    fn file_with(text: &str) -> (tempfile::TempDir, SettingsFile) {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("settings.toml");
        fs::write(&path, text).expect("file");
        (folder, SettingsFile::at(path))
    }

    #[test]
    fn a_wrong_value_costs_only_itself() {
        let (_folder, mut file) = file_with(
            "[lipsync]\nmode = \"audio\"\nsmoothing = \"much\"\n[output]\nfps = 100000\n[view]\nmirror = false\n",
        );
        let (settings, warnings) = file.load();
        assert_eq!(settings.lipsync.mode, LipsyncMode::Audio);
        assert_eq!(settings.lipsync.smoothing, Settings::default().lipsync.smoothing);
        assert_eq!(settings.output.fps, 60);
        assert!(!settings.view.mirror);
        assert_eq!(warnings.len(), 2, "{warnings:?}");
    }

    #[test]
    fn unknown_keys_survive_a_save_and_the_old_file_is_kept() {
        let (folder, mut file) = file_with("[future]\nthing = 3\n[view]\nzoom = 2\nmirror = false\n");
        let (mut settings, warnings) = file.load();
        assert!(warnings.is_empty(), "{warnings:?}");
        settings.view.mirror = true;
        file.save(&settings).expect("saved");
        let text = fs::read_to_string(file.path()).expect("file");
        assert!(text.contains("thing = 3") && text.contains("zoom = 2") && text.contains("mirror = true"), "{text}");
        assert!(text.contains("version = 1"));
        let backup = fs::read_to_string(folder.path().join("settings.toml.bak")).expect("backup");
        assert!(backup.contains("mirror = false"));
        assert_eq!(file.load().0, settings);
    }

    #[test]
    fn broken_and_unwritable_files_are_said() {
        let (_folder, mut file) = file_with("[[[");
        let (settings, warnings) = file.load();
        assert_eq!(settings, Settings::default());
        assert_eq!(warnings.len(), 1);
        let folder = tempfile::tempdir().expect("folder");
        fs::write(folder.path().join("plain"), "").expect("file");
        let error =
            SettingsFile::at(folder.path().join("plain/settings.toml")).save(&settings).expect_err("unwritable");
        assert!(error.to_string().contains("--settings"));
    }

    proptest::proptest! {
        #[test]
        fn mangled_files_never_panic(text in "[\\x20-\\x7e\n]{0,200}") {
            let (_folder, mut file) = file_with(&text);
            file.load();
        }
    }
}
