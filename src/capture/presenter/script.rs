//! What the presenter does and when: tracks of keyframes, blinks, speech, faults. Because all of it is written down,
//! the truth is known at any time.
//!
//! The file is TOML, with angles in degrees, lengths in metres, times in seconds:
//!
//! ```toml
//! format = 1
//! duration = 15.0
//! voice = "demo.wav"            # beside the script; optional
//! phones = "demo.phones.tsv"    # beside the script; optional
//! blinks = [0.5, 3.2]
//! faults = ["audio=disconnected@8.5..9.5", "video=face_out@12.0..13.0"]
//!
//! [tracks]
//! "head.yaw" = [[4.5, 0.0], [5.0, 25.0, "smooth"], [6.0, 0.0]]
//! ```
//!
//! A key is `[time, value]` or `[time, value, easing]`; the easing (`step linear smooth in out`) leads to it.
//! Unknown names are warned of and left alone; a wrong value is an error that names its place.

use std::path::{Path, PathBuf};

use glam::Vec3;

use super::pose::PresenterPose;
use super::speech::{MAX_SECS, Speech};
use crate::types::{AudioFault, Brows, ErrorKind, Fault, Faults, Gaze, HeadPose, Lids, Timestamp, VideoFault, Viseme};

const MAX_FILE_BYTES: u64 = 4 << 20;
const MAX_KEYS: usize = 10_000;
const MAX_FAULTS: usize = 1000;
/// Closing, closed and opening again, seconds (BEHAVIOUR §3 has 0.05, 0.08, 0.16; a drawn lid needs a frame more).
const BLINK_SECS: [f64; 3] = [0.07, 0.08, 0.15];

/// Why a script cannot be played.
#[derive(Debug, thiserror::Error)]
pub enum ScriptError {
    /// The file cannot be read.
    #[error("the presenter script cannot be read: {source}: {path}")]
    Read {
        /// Which file.
        path: PathBuf,
        /// What the system says.
        source: std::io::Error,
    },
    /// The file is no TOML.
    #[error("the presenter script is no valid TOML: {0}")]
    Syntax(String),
    /// A value is missing or wrong.
    #[error("presenter script, `{place}`: {what}")]
    Value {
        /// The key in the file.
        place: String,
        /// What is expected.
        what: String,
    },
    /// A line of the phones file is wrong.
    #[error("phones file, line {line}: {what}")]
    Phones {
        /// Counted from 1.
        line: usize,
        /// What is expected.
        what: String,
    },
}

impl ScriptError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { .. } => ErrorKind::Setup,
            Self::Syntax(_) | Self::Value { .. } | Self::Phones { .. } => ErrorKind::Corrupt,
        }
    }
}

fn wrong(place: impl Into<String>, what: impl Into<String>) -> ScriptError {
    ScriptError::Value { place: place.into(), what: what.into() }
}

/// How a value goes to a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Easing {
    Step,
    Linear,
    Smooth,
    In,
    Out,
}

impl Easing {
    const NAMED: [(&'static str, Self); 5] = [
        ("step", Self::Step),
        ("linear", Self::Linear),
        ("smooth", Self::Smooth),
        ("in", Self::In),
        ("out", Self::Out),
    ];

    fn apply(self, t: f32) -> f32 {
        match self {
            Self::Step => 0.0,
            Self::Linear => t,
            Self::Smooth => t * t * (3.0 - 2.0 * t),
            Self::In => t * t,
            Self::Out => t * (2.0 - t),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Key {
    at: f64,
    value: f32,
    easing: Easing,
}

/// What a track moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Track {
    Jaw,
    Pucker,
    Spread,
    Smile,
    Lids,
    LidsLeft,
    LidsRight,
    Brows,
    BrowsLeft,
    BrowsRight,
    HeadYaw,
    HeadPitch,
    HeadRoll,
    GazeYaw,
    GazePitch,
    PositionX,
    PositionY,
    PositionZ,
    /// Share of the small movements of somebody who sits and talks.
    Sway,
    /// Share of the phones' movement that the mouth makes.
    Speech,
}

const TRACKS: usize = 20;

impl Track {
    /// Name, the value without keys, lowest and highest value in the file.
    const ALL: [(Self, &'static str, f32, f32, f32); TRACKS] = [
        (Self::Jaw, "jaw", 0.0, 0.0, 1.0),
        (Self::Pucker, "pucker", 0.0, 0.0, 1.0),
        (Self::Spread, "spread", 0.0, 0.0, 1.0),
        (Self::Smile, "smile", 0.0, 0.0, 1.0),
        (Self::Lids, "lids", 0.0, 0.0, 1.0),
        (Self::LidsLeft, "lids.left", 0.0, 0.0, 1.0),
        (Self::LidsRight, "lids.right", 0.0, 0.0, 1.0),
        (Self::Brows, "brows", 0.0, -1.0, 1.0),
        (Self::BrowsLeft, "brows.left", 0.0, -1.0, 1.0),
        (Self::BrowsRight, "brows.right", 0.0, -1.0, 1.0),
        (Self::HeadYaw, "head.yaw", 0.0, -90.0, 90.0),
        (Self::HeadPitch, "head.pitch", 0.0, -60.0, 60.0),
        (Self::HeadRoll, "head.roll", 0.0, -60.0, 60.0),
        (Self::GazeYaw, "gaze.yaw", 0.0, -40.0, 40.0),
        (Self::GazePitch, "gaze.pitch", 0.0, -30.0, 30.0),
        (Self::PositionX, "position.x", 0.0, -5.0, 5.0),
        (Self::PositionY, "position.y", 0.0, -5.0, 5.0),
        (Self::PositionZ, "position.z", 0.42, 0.25, 10.0),
        (Self::Sway, "sway", 0.0, 0.0, 1.0),
        (Self::Speech, "speech", 1.0, 0.0, 1.0),
    ];
}

/// What is true at one moment of a script.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PresenterTruth {
    /// What the person does, whether or not the picture shows it.
    pub pose: PresenterPose,
    /// 0 lips touch, 1 as far as the mouth opens.
    pub open: f32,
    /// 0 full pucker, 0.5 at rest, 1 as wide as it goes.
    pub width: f32,
    /// The sound being spoken, whether or not the microphone takes it up.
    pub viseme: Viseme,
    /// What is wrong with the picture.
    pub video: Option<VideoFault>,
    /// What is wrong with the sound.
    pub audio: Option<AudioFault>,
}

/// A performance of the drawn presenter.
#[derive(Clone, Debug)]
pub struct PresenterScript {
    duration_secs: f64,
    tracks: [Vec<Key>; TRACKS],
    blinks: Vec<f64>,
    speech: Speech,
    voice: Option<String>,
    phones: Option<String>,
    faults: Faults,
    warnings: Vec<String>,
}

impl PresenterScript {
    /// The bundled demo of 15 seconds; its voice is `audio::presenter::Voice::demo`.
    ///
    /// # Errors
    /// None that a user could see: the tests read the same bundled files.
    pub fn demo() -> Result<Self, ScriptError> {
        Self::from_toml(
            include_str!("../../../assets/presenter/demo.toml"),
            Some(include_str!("../../../assets/presenter/demo.phones.tsv")),
        )
    }

    /// Reads a script file and the phones file it names, which must lie beside it.
    ///
    /// # Errors
    /// If a file cannot be read, is too large, or is wrong; the message says where.
    pub fn load(path: &Path) -> Result<Self, ScriptError> {
        let text = read_text(path)?;
        let script = Self::from_toml(&text, None)?;
        let Some(phones) = script.phones.as_ref() else { return Ok(script) };
        let phones = read_text(&path.with_file_name(phones))?;
        Self::from_toml(&text, Some(&phones))
    }

    /// Reads a script; `phones` is the text of its phones file.
    ///
    /// # Errors
    /// If the text is no script; the message names the place.
    pub fn from_toml(text: &str, phones: Option<&str>) -> Result<Self, ScriptError> {
        if text.len() as u64 > MAX_FILE_BYTES {
            return Err(ScriptError::Syntax("more than 4 MB".into()));
        }
        let file: toml::Table = text.parse().map_err(|e: toml::de::Error| ScriptError::Syntax(e.message().into()))?;
        let mut script = Self {
            duration_secs: 0.0,
            tracks: Default::default(),
            blinks: Vec::new(),
            speech: phones.map_or_else(|| Ok(Speech::default()), Speech::from_tsv)?,
            voice: None,
            phones: None,
            faults: Faults::default(),
            warnings: Vec::new(),
        };
        if file.get("format").and_then(toml::Value::as_integer) != Some(1) {
            return Err(wrong("format", "must be 1"));
        }
        script.duration_secs = number(file.get("duration"))
            .filter(|secs| *secs > 0.0 && *secs <= MAX_SECS)
            .ok_or_else(|| wrong("duration", "must be seconds, more than 0 and at most 3600"))?;
        for (key, value) in &file {
            match key.as_str() {
                "format" | "duration" => {}
                "voice" => script.voice = Some(plain_file_name(key, value)?),
                "phones" => script.phones = Some(plain_file_name(key, value)?),
                "blinks" => script.blinks = script.read_blinks(value)?,
                "faults" => script.faults = read_faults(value)?,
                "tracks" => script.read_tracks(value)?,
                other => script.warnings.push(format!("`{}` is unknown", shortened(other))),
            }
        }
        Ok(script)
    }

    fn read_blinks(&self, value: &toml::Value) -> Result<Vec<f64>, ScriptError> {
        let expected = || wrong("blinks", "must be a list of times within the duration");
        let list = value.as_array().filter(|l| l.len() <= MAX_KEYS).ok_or_else(expected)?;
        list.iter()
            .map(|v| number(Some(v)).filter(|t| (0.0..=self.duration_secs).contains(t)).ok_or_else(expected))
            .collect()
    }

    fn read_tracks(&mut self, value: &toml::Value) -> Result<(), ScriptError> {
        let table = value.as_table().ok_or_else(|| wrong("tracks", "must be a table"))?;
        for (name, keys) in table {
            let Some((track, _, _, min, max)) = Track::ALL.into_iter().find(|t| t.1 == name) else {
                self.warnings.push(format!("track `{}` is unknown", shortened(name)));
                continue;
            };
            let keys = read_keys(name, keys, self.duration_secs, (min, max))?;
            if let Some(slot) = self.tracks.get_mut(track as usize) {
                *slot = keys;
            }
        }
        Ok(())
    }

    /// How long it is, seconds.
    pub fn duration_secs(&self) -> f64 {
        self.duration_secs
    }

    /// The file name of the voice, which lies beside the script.
    pub fn voice_file(&self) -> Option<&str> {
        self.voice.as_deref()
    }

    /// What goes wrong during it, in the script's time.
    pub fn faults(&self) -> &Faults {
        &self.faults
    }

    /// Adds a fault, in the script's time.
    pub fn add_fault(&mut self, fault: Fault) {
        self.faults.add(fault);
    }

    /// The same without faults.
    #[must_use]
    pub fn without_faults(mut self) -> Self {
        self.faults = Faults::default();
        self
    }

    /// What was left alone while reading, for the user.
    pub fn warnings(&self) -> &[String] {
        &self.warnings
    }

    /// What is true at `secs` from the script's beginning; before it and after its end what the first and last keys
    /// say.
    pub fn truth(&self, secs: f64) -> PresenterTruth {
        let secs = if secs.is_nan() { 0.0 } else { secs.clamp(0.0, 2.0 * MAX_SECS) };
        let pose = self.pose_at(secs);
        let at = Timestamp::from_secs_f64(secs);
        PresenterTruth {
            pose,
            open: pose.jaw,
            width: pose.mouth_width(),
            viseme: self.speech.viseme_at(secs),
            video: self.faults.video_at(at),
            audio: self.faults.audio_at(at),
        }
    }

    fn value(&self, track: Track, secs: f64) -> f32 {
        let keys = self.tracks.get(track as usize).map_or(&[][..], Vec::as_slice);
        let default = Track::ALL.get(track as usize).map_or(0.0, |t| t.2);
        value_at(keys, default, secs)
    }

    fn pose_at(&self, secs: f64) -> PresenterPose {
        let value = |track| self.value(track, secs);
        let degrees = |track| value(track).to_radians();
        let spoken = self.speech.lips_at(secs);
        let share = value(Track::Speech);
        let lids = value(Track::Lids).max(self.blink_at(secs));
        let brows = value(Track::Brows);
        let (sway, moved) = sway(secs);
        let lively = value(Track::Sway);
        PresenterPose {
            jaw: value(Track::Jaw).max(spoken.jaw * share),
            pucker: value(Track::Pucker).max(spoken.pucker * share),
            spread: value(Track::Spread).max(spoken.spread * share),
            smile: value(Track::Smile),
            lids: Lids { left: lids.max(value(Track::LidsLeft)), right: lids.max(value(Track::LidsRight)) },
            brows: Brows { left: brows + value(Track::BrowsLeft), right: brows + value(Track::BrowsRight) },
            gaze: Gaze { yaw: degrees(Track::GazeYaw), pitch: degrees(Track::GazePitch) },
            head: HeadPose {
                yaw: degrees(Track::HeadYaw) + lively * sway.yaw,
                pitch: degrees(Track::HeadPitch) + lively * sway.pitch,
                roll: degrees(Track::HeadRoll) + lively * sway.roll,
            },
            position: Vec3::new(value(Track::PositionX), value(Track::PositionY), value(Track::PositionZ))
                + moved * lively,
        }
        .clamped()
    }

    fn blink_at(&self, secs: f64) -> f32 {
        let [close, hold, open] = BLINK_SECS;
        let closed = |start: &f64| {
            let t = secs - start;
            let share = if t < close { t / close } else { 1.0 - (t - close - hold).max(0.0) / open };
            share.clamp(0.0, 1.0) as f32
        };
        self.blinks.iter().map(closed).fold(0.0, f32::max)
    }
}

/// The small movements of a head that talks, and of the body that breathes: slow waves whose periods do not meet.
fn sway(secs: f64) -> (HeadPose, Vec3) {
    let wave = |hz: f64, phase: f64| (std::f64::consts::TAU * hz * secs + phase).sin() as f32;
    let head = HeadPose {
        yaw: (3.6 * wave(0.29, 0.4) + 1.6 * wave(0.71, 1.1)).to_radians(),
        pitch: (2.0 * wave(0.41, 2.3) + 1.2 * wave(1.13, 0.2)).to_radians(),
        roll: (2.2 * wave(0.23, 1.7) + 0.7 * wave(0.83, 2.9)).to_radians(),
    };
    let body = Vec3::new(0.006 * wave(0.19, 0.9), 0.0022 * wave(0.27, 0.0), 0.006 * wave(0.13, 2.0));
    (head, body)
}

fn value_at(keys: &[Key], default: f32, secs: f64) -> f32 {
    let after = keys.partition_point(|k| k.at <= secs);
    let before = after.checked_sub(1).and_then(|i| keys.get(i));
    match (before, keys.get(after)) {
        (None, None) => default,
        (None, Some(first)) => first.value,
        (Some(last), None) => last.value,
        (Some(a), Some(b)) => {
            let t = ((secs - a.at) / (b.at - a.at).max(1e-9)).clamp(0.0, 1.0) as f32;
            a.value + (b.value - a.value) * b.easing.apply(t)
        }
    }
}

fn number(value: Option<&toml::Value>) -> Option<f64> {
    match value? {
        toml::Value::Float(x) => Some(*x).filter(|x| x.is_finite()),
        toml::Value::Integer(x) => Some(*x as f64),
        _ => None,
    }
}

fn read_keys(name: &str, value: &toml::Value, duration: f64, (min, max): (f32, f32)) -> Result<Vec<Key>, ScriptError> {
    let place = |i: usize| format!("tracks.{name}[{i}]");
    let list = value
        .as_array()
        .filter(|l| l.len() <= MAX_KEYS)
        .ok_or_else(|| wrong(format!("tracks.{name}"), "must be a list of [time, value] or [time, value, easing]"))?;
    let mut keys: Vec<Key> = Vec::with_capacity(list.len());
    for (i, entry) in list.iter().enumerate() {
        let parts = entry
            .as_array()
            .filter(|p| p.len() == 2 || p.len() == 3)
            .ok_or_else(|| wrong(place(i), "must be [time, value] or [time, value, easing]"))?;
        let at = number(parts.first())
            .filter(|t| (0.0..=duration).contains(t))
            .ok_or_else(|| wrong(place(i), "the time must lie within the duration"))?;
        let value = number(parts.get(1))
            .filter(|v| (f64::from(min)..=f64::from(max)).contains(v))
            .ok_or_else(|| wrong(place(i), format!("the value must be a number from {min} to {max}")))?;
        let easing = match parts.get(2) {
            None => Easing::Smooth,
            Some(named) => Easing::NAMED
                .into_iter()
                .find(|(name, _)| named.as_str() == Some(name))
                .map(|(_, easing)| easing)
                .ok_or_else(|| wrong(place(i), "the easing must be step, linear, smooth, in or out"))?,
        };
        if keys.last().is_some_and(|last| at < last.at) {
            return Err(wrong(place(i), "the times must not run backwards"));
        }
        keys.push(Key { at, value: value as f32, easing });
    }
    Ok(keys)
}

fn read_faults(value: &toml::Value) -> Result<Faults, ScriptError> {
    let list = value
        .as_array()
        .filter(|l| l.len() <= MAX_FAULTS)
        .ok_or_else(|| wrong("faults", "must be a list of texts such as \"audio=muted@1.0..2.5\""))?;
    list.iter()
        .enumerate()
        .map(|(i, entry)| {
            let place = format!("faults[{i}]");
            let text =
                entry.as_str().ok_or_else(|| wrong(&place, "must be a text such as \"audio=muted@1.0..2.5\""))?;
            text.parse::<Fault>().map_err(|e| wrong(&place, shortened(&e.to_string())))
        })
        .collect()
}

/// A name of a file beside the script: no folders, no way out.
fn plain_file_name(key: &str, value: &toml::Value) -> Result<String, ScriptError> {
    let is_plain = |name: &&str| {
        !name.is_empty() && name.len() <= 255 && *name != "." && *name != ".." && !name.contains(['/', '\\', ':', '\0'])
    };
    let name = value.as_str().filter(is_plain);
    name.map(String::from).ok_or_else(|| wrong(key, "must be the name of a file beside the script, without folders"))
}

fn shortened(text: &str) -> String {
    if text.chars().count() <= 200 { text.into() } else { text.chars().take(200).chain("…".chars()).collect() }
}

fn read_text(path: &Path) -> Result<String, ScriptError> {
    use std::io::Read as _;
    let failed = |source| ScriptError::Read { path: path.into(), source };
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(failed)?;
    file.take(MAX_FILE_BYTES + 1).read_to_string(&mut text).map_err(failed)?;
    if text.len() as u64 > MAX_FILE_BYTES {
        return Err(failed(std::io::Error::other("more than 4 MB")));
    }
    Ok(text)
}
