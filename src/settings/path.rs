//! Settings by path: one place knows every range.

use toml::Value;

use super::Settings;

/// Why a setting could not be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SetError {
    /// There is no setting of that name.
    #[error("there is no setting {0:?}; `section.name` is expected, as in `lipsync.mode`")]
    Unknown(String),
    /// The value does not fit the setting.
    #[error("{value:?} does not fit {path}: {why}")]
    Unfit {
        /// The setting.
        path: String,
        /// What was given.
        value: String,
        /// What was expected.
        why: String,
    },
}

/// Smallest and largest value of every numeric setting, by path. Arrays hold for each element.
const RANGES: &[(&str, f64, f64)] = &[
    ("video.port", 0.0, 65535.0),
    ("video.width", 64.0, 4096.0),
    ("video.height", 64.0, 4096.0),
    ("video.fps", 1.0, 240.0),
    ("video.fov_deg", 20.0, 120.0),
    ("audio.gain_db", -30.0, 30.0),
    ("audio.gate_db", -90.0, -10.0),
    ("lipsync.sensitivity", 0.2, 3.0),
    ("lipsync.smoothing", 0.0, 1.0),
    ("lipsync.offset_secs", -0.25, 0.25),
    ("motion.head_strength", 0.0, 2.0),
    ("motion.position_strength", 0.0, 2.0),
    ("motion.body_follow", 0.0, 1.0),
    ("motion.gaze_strength", 0.0, 2.0),
    ("motion.idle_strength", 0.0, 2.0),
    ("motion.smile_strength", 0.0, 1.0),
    ("calibration.neutral_head_deg", -60.0, 60.0),
    ("calibration.neutral_position_m", -5.0, 5.0),
    ("calibration.lids_open", 0.0, 1.0),
    ("calibration.lids_closed", 0.0, 1.0),
    ("calibration.gaze_rest", -1.0, 1.0),
    ("calibration.shapes_rest", 0.0, 1.0),
    ("avatar.correction_strength", 0.0, 1.5),
    ("view.fov_deg", 5.0, 90.0),
    ("output.fps", 1.0, 240.0),
    ("output.width", 64.0, 7680.0),
    ("output.height", 64.0, 4320.0),
    ("output.msaa", 1.0, 4.0),
];

/// Smallest and largest value of a numeric setting.
pub fn setting_range(path: &str) -> Option<(f64, f64)> {
    RANGES.iter().find(|(p, ..)| *p == path).map(|(_, min, max)| (*min, *max))
}

impl Settings {
    /// Sets one setting by its path from text, as `--set lipsync.mode=mix` does.
    ///
    /// # Errors
    /// If there is no such setting or the value does not fit; nothing is changed then.
    pub fn set(&mut self, path: &str, text: &str) -> Result<(), SetError> {
        let value = parse_value(text);
        self.set_value(path, &value).or_else(|error| match (&error, &value) {
            // `audio.microphone=2` names a microphone, not a number.
            (SetError::Unfit { .. }, Value::Integer(_) | Value::Float(_) | Value::Boolean(_)) => {
                self.set_value(path, &Value::String(text.into())).map_err(|_| error)
            }
            _ => Err(error),
        })
    }

    /// Sets one setting by its path.
    pub(super) fn set_value(&mut self, path: &str, value: &Value) -> Result<(), SetError> {
        let unfit = |why: String| SetError::Unfit { path: path.into(), value: value.to_string(), why };
        let mut tree = Value::try_from(&*self).map_err(|e| unfit(e.to_string()))?;
        let Some((section, name)) = path.split_once('.') else { return Err(SetError::Unknown(path.into())) };
        let slot = tree.get_mut(section).and_then(|s| s.get_mut(name)).ok_or_else(|| SetError::Unknown(path.into()))?;
        check_range(path, value).map_err(unfit)?;
        *slot = match (&*slot, value) {
            (Value::Float(_), Value::Integer(i)) => Value::Float(*i as f64),
            _ => value.clone(),
        };
        *self = tree.try_into().map_err(|e: toml::de::Error| unfit(e.message().trim().to_owned()))?;
        Ok(())
    }
}

fn parse_value(text: &str) -> Value {
    toml::from_str::<toml::Table>(&format!("v = {text}"))
        .ok()
        .and_then(|mut table| table.remove("v"))
        .unwrap_or_else(|| Value::String(text.into()))
}

fn check_range(path: &str, value: &Value) -> Result<(), String> {
    let Some((min, max)) = setting_range(path) else { return Ok(()) };
    let check = |value: &Value| {
        let number = match value {
            Value::Integer(i) => *i as f64,
            Value::Float(f) => *f,
            _ => return Err(format!("a number from {min} to {max} is expected")),
        };
        let fits = number >= min && number <= max;
        if fits { Ok(()) } else { Err(format!("it must be from {min} to {max}")) }
    };
    match value {
        Value::Array(values) => values.iter().try_for_each(check),
        value => check(value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{Background, LipsyncMode, VideoSource};

    #[test]
    fn every_setting_is_reached_by_its_path() {
        let mut settings = Settings::default();
        settings.set("lipsync.mode", "audio").expect("mode");
        settings.set("lipsync.smoothing", "1").expect("whole numbers fit fractions");
        settings.set("output.background", "#00FF00").expect("colour");
        settings.set("audio.microphone", "2").expect("a name that looks like a number");
        settings.set("view.mirror", "false").expect("bool");
        settings.set("video.port", "39540").expect("port");
        settings.set("video.sender", "192.168.1.20").expect("address");
        for source in VideoSource::ALL {
            settings.set("video.source", source.name()).expect("source");
            assert_eq!(settings.video.source, source);
        }
        settings.set("calibration.neutral_head_deg", "[1.0, -2.5, 0.0]").expect("array");
        assert_eq!(settings.lipsync.mode, LipsyncMode::Audio);
        assert_eq!(settings.output.background, Background::CHROMA_GREEN);
        assert_eq!(settings.audio.microphone, "2");
        assert!(!settings.view.mirror);
    }

    #[test]
    fn wrong_paths_and_values_change_nothing() {
        let mut settings = Settings::default();
        for (path, value) in [
            ("lipsync", "mix"),
            ("lipsync.mode", "loud"),
            ("lipsync.nothing", "1"),
            ("output.fps", "0"),
            ("output.fps", "nan"),
            ("output.background", "green"),
            ("video.fov_deg", "1e9"),
            ("view.mirror", "3"),
            ("video.source", "telepathy"),
            ("video.port", "65536"),
        ] {
            let error = settings.set(path, value).expect_err(path);
            assert!(error.to_string().contains(path.split('.').next().unwrap_or("")), "{error}");
        }
        assert_eq!(settings, Settings::default());
    }

    #[test]
    fn defaults_are_in_range_and_every_range_has_a_setting() {
        let tree = Value::try_from(Settings::default()).expect("serialises");
        for (path, ..) in RANGES {
            let (section, name) = path.split_once('.').expect("path");
            let value = tree.get(section).and_then(|s| s.get(name)).unwrap_or_else(|| panic!("{path}"));
            check_range(path, value).unwrap_or_else(|why| panic!("{path}: {why}"));
        }
    }
}
