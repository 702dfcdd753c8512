//! Case folders: `case.toml`, inputs, and the trace they shall give. A bug report becomes a test.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use crate::types::ErrorKind;

/// A case file larger than this is none.
const MAX_BYTES: u64 = 1 << 20;

/// What a case folder says.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Case {
    /// Performance file; paths are relative to the folder.
    pub performance: Option<PathBuf>,
    /// Presenter script, or `demo`.
    pub presenter: Option<PathBuf>,
    /// Movie, y4m, MJPEG or folder of pictures.
    pub video: Option<PathBuf>,
    /// WAV file.
    pub audio: Option<PathBuf>,
    /// Avatar file; the bundled one by default.
    pub avatar: Option<PathBuf>,
    /// Output frames a second.
    pub fps: Option<u32>,
    /// Pictures a second of inputs that do not say.
    pub fps_in: Option<f64>,
    /// Seed of everything random.
    pub seed: u64,
    /// Settings, as `--set` takes them.
    pub set: Vec<String>,
    /// Faults, as `--fault` takes them.
    pub fault: Vec<String>,
    /// Expressions, as `--expression` takes them.
    pub expression: Vec<String>,
    /// The trace it shall give; it may leave lines and fields out.
    pub trace: Option<PathBuf>,
    /// How far numbers may be off.
    pub tolerance: Option<f64>,
    /// Why this case fails today; it must.
    pub known_failure: Option<String>,
}

/// Why a case cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CaseError {
    /// The system says no.
    #[error("the case cannot be read ({why}): {}", path.display())]
    Io {
        /// What was read.
        path: PathBuf,
        /// In the system's words.
        why: String,
    },
    /// The file is not what it should be.
    #[error("the case is broken: {0}")]
    Corrupt(String),
}

impl CaseError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Io { .. } => ErrorKind::Setup,
            Self::Corrupt(_) => ErrorKind::Corrupt,
        }
    }
}

impl Case {
    /// Numbers may be off by this much unless the case says otherwise (CONTRACT: 1e-4 for poses).
    pub const TOLERANCE: f64 = 1e-4;

    /// Reads `case.toml` of a folder; its paths become paths below the folder.
    ///
    /// # Errors
    /// If it cannot be read or says something unknown.
    pub fn load(folder: &Path) -> Result<Self, CaseError> {
        let path = folder.join("case.toml");
        let io = |why: String| CaseError::Io { path: path.clone(), why };
        let meta = std::fs::metadata(&path).map_err(|e| io(e.to_string()))?;
        if meta.len() > MAX_BYTES {
            return Err(io("it is far too large".into()));
        }
        let text = std::fs::read_to_string(&path).map_err(|e| io(e.to_string()))?;
        let mut case: Self = toml::from_str(&text).map_err(|e| CaseError::Corrupt(e.message().to_owned()))?;
        let is_bundled = case.presenter.as_deref() == Some(Path::new("demo"));
        let presenter = if is_bundled { None } else { case.presenter.as_mut() };
        for path in [&mut case.performance, &mut case.video, &mut case.audio, &mut case.avatar, &mut case.trace]
            .into_iter()
            .flatten()
            .chain(presenter)
        {
            *path = folder.join(&path);
        }
        Ok(case)
    }
}

/// Compares a trace with the lines that are expected, matched by their time. Fields that are not expected may be
/// anything; numbers may be off by `tolerance`.
///
/// # Errors
/// The first difference, in words.
pub fn compare_traces(expected: &str, actual: &str, tolerance: f64) -> Result<(), String> {
    let parse = |text: &str, what: &str| -> Result<Vec<Value>, String> {
        let lines = text.lines().filter(|l| !l.trim().is_empty());
        lines
            .map(|l| serde_json::from_str(l).map_err(|e| format!("a line of the {what} trace is broken: {e}")))
            .collect()
    };
    let actual = parse(actual, "new")?;
    let time = |value: &Value| value.get("t").and_then(Value::as_f64).unwrap_or(f64::NAN);
    for line in parse(expected, "expected")? {
        let t = time(&line);
        let found = actual.iter().find(|a| (time(a) - t).abs() < 1e-6);
        let found = found.ok_or_else(|| format!("there is no frame at {t}"))?;
        difference("", &line, found, tolerance).map_or(Ok(()), |d| Err(format!("at {t}: {d}")))?;
    }
    Ok(())
}

fn difference(path: &str, expected: &Value, actual: &Value, tolerance: f64) -> Option<String> {
    match (expected, actual) {
        (Value::Object(fields), _) => fields.iter().find_map(|(name, value)| {
            let path = format!("{path}/{name}");
            match actual.get(name) {
                Some(actual) => difference(&path, value, actual, tolerance),
                // Weights that are off are left out of a trace.
                None => value.as_f64().is_none_or(|v| v.abs() > tolerance).then(|| format!("{path} is missing")),
            }
        }),
        (Value::Array(values), Value::Array(others)) if values.len() == others.len() => {
            let pairs = values.iter().zip(others).enumerate();
            pairs.into_iter().find_map(|(i, (a, b))| difference(&format!("{path}/{i}"), a, b, tolerance))
        }
        (Value::Number(a), Value::Number(b)) => {
            let (a, b) = (a.as_f64().unwrap_or(f64::NAN), b.as_f64().unwrap_or(f64::NAN));
            let fits = (a - b).abs() <= tolerance;
            (!fits).then(|| format!("{path} was {a} and is {b}"))
        }
        (a, b) => (a != b).then(|| format!("{path} was {a} and is {b}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_expected_must_be_there_and_fit() {
        let actual = "{\"t\":0.0,\"mouth\":{\"open\":0.5,\"mode\":\"mix\"},\"head\":[1.0,2.0]}\n{\"t\":0.1}\n";
        for fitting in ["{\"t\":0.0,\"mouth\":{\"open\":0.50005}}", "{\"t\":0.1}", "{\"t\":0.0,\"head\":[1.0,2.0]}", ""]
        {
            assert_eq!(compare_traces(fitting, actual, 1e-4), Ok(()), "{fitting}");
        }
        for (wrong, word) in [
            ("{\"t\":0.0,\"mouth\":{\"open\":0.6}}", "/mouth/open"),
            ("{\"t\":0.0,\"mouth\":{\"mode\":\"audio\"}}", "/mouth/mode"),
            ("{\"t\":0.0,\"head\":[1.0]}", "/head"),
            ("{\"t\":0.0,\"pose\":{}}", "/pose is missing"),
            ("{\"t\":0.2}", "no frame at 0.2"),
            ("{", "broken"),
        ] {
            let told = compare_traces(wrong, actual, 1e-4).expect_err(wrong);
            assert!(told.contains(word), "{told}");
        }
    }

    #[test]
    fn unknown_words_in_a_case_are_refused() {
        let folder = tempfile::tempdir().expect("folder");
        std::fs::write(folder.path().join("case.toml"), "presenter = \"demo\"\nvideos = 3\n").expect("file");
        assert!(matches!(Case::load(folder.path()), Err(CaseError::Corrupt(_))));
        std::fs::write(folder.path().join("case.toml"), "performance = \"p.omote\"\nseed = 3\n").expect("file");
        let case = Case::load(folder.path()).expect("case");
        assert_eq!((case.performance, case.seed), (Some(folder.path().join("p.omote")), 3));
        assert!(matches!(Case::load(Path::new("/nowhere")), Err(CaseError::Io { .. })));
    }
}
