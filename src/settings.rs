//! Every user setting: default, range, unit, and the file they live in.
//!
//! Reading is lenient: a wrong value becomes its default plus a warning, an unknown key survives the next save.
//! [`Settings::set`] reaches every setting by its path (`lipsync.mode`), as `--set` does.

mod background;
mod file;
mod path;

use serde::{Deserialize, Serialize};

pub use background::{Background, ParseBackgroundError};
pub use file::{SettingsError, SettingsFile};
pub use path::{SetError, setting_range};

/// All settings. Cheap enough to clone as a snapshot for the engine.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(missing_docs, reason = "each section has its own doc")]
pub struct Settings {
    pub video: VideoSettings,
    pub audio: AudioSettings,
    pub lipsync: LipsyncSettings,
    pub motion: MotionSettings,
    pub calibration: CalibrationSettings,
    pub avatar: AvatarSettings,
    pub view: ViewSettings,
    pub output: OutputSettings,
}

/// Where the face comes from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum VideoSource {
    /// A camera of this computer, looked at by omote's own tracker.
    #[default]
    Camera,
    /// The phone app iFacialMocap, or another one that speaks its protocol.
    #[serde(rename = "ifacialmocap")]
    IFacialMocap,
    /// VTube Studio on a phone, or another app that speaks its phone protocol (MeowFace).
    VtsPhone,
    /// The OpenSeeFace tracker.
    #[serde(rename = "openseeface")]
    OpenSeeFace,
    /// Any program that sends the VMC protocol (OSC).
    Vmc,
}

impl VideoSource {
    /// All sources in the order the window shows them.
    pub const ALL: [Self; 5] = [Self::Camera, Self::IFacialMocap, Self::VtsPhone, Self::OpenSeeFace, Self::Vmc];

    /// The name used on the command line and in files.
    pub fn name(self) -> &'static str {
        ["camera", "ifacialmocap", "vts_phone", "openseeface", "vmc"][self as usize]
    }

    /// The name people know it by.
    pub fn title(self) -> &'static str {
        ["Camera", "iFacialMocap", "VTube Studio phone", "OpenSeeFace", "VMC"][self as usize]
    }

    /// True where faces come over the network instead of pictures from a camera.
    pub fn is_remote(self) -> bool {
        self != Self::Camera
    }

    /// The UDP port its protocol uses by custom; 0 for the camera.
    pub fn usual_port(self) -> u16 {
        [0, 49_983, 21_412, 11_573, 39_539][self as usize]
    }
}

/// The camera, or what takes its place.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct VideoSettings {
    /// Whether a video source is used at all.
    pub enabled: bool,
    /// Where the face comes from.
    pub source: VideoSource,
    /// The port omote listens on for a remote source; 0 takes its usual one.
    pub port: u16,
    /// Address of the phone or computer that sends, as `192.168.1.20` or `192.168.1.20:21412`; empty takes whoever
    /// sends first.
    pub sender: String,
    /// Whether a remote source may be on another device. Off, only programs on this computer are heard.
    pub network: bool,
    /// The sender mirrors: its left is the person's right.
    pub sender_mirrors: bool,
    /// Name of the camera; empty takes the first one.
    pub camera: String,
    /// Wanted picture size and rate; the nearest the camera has is taken.
    pub width: u32,
    /// Wanted rows.
    pub height: u32,
    /// Wanted frames a second.
    pub fps: u32,
    /// Vertical field of view of the camera, degrees.
    pub fov_deg: f32,
    /// How much of the machine face tracking may take.
    pub quality: Quality,
    /// What `quality = "auto"` found this machine can afford; `auto` before it was measured.
    pub quality_found: Quality,
}

impl Default for VideoSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            source: VideoSource::Camera,
            port: 0,
            sender: String::new(),
            network: false,
            sender_mirrors: false,
            camera: String::new(),
            width: 640,
            height: 480,
            fps: 30,
            fov_deg: 63.0,
            quality: Quality::Auto,
            quality_found: Quality::Auto,
        }
    }
}

/// How much of the machine face tracking may take.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Quality {
    /// What the machine can afford: measured at the first start, and eco for as long as it is overloaded.
    #[default]
    Auto,
    /// Every picture in full.
    Full,
    /// At most some 30 pictures a second, expressions in every second of them.
    Light,
    /// At most some 15 pictures a second.
    Eco,
}

impl Quality {
    /// All steps in the order the window shows them.
    pub const ALL: [Self; 4] = [Self::Auto, Self::Full, Self::Light, Self::Eco];

    /// The name used on the command line, in files and in telemetry.
    pub fn name(self) -> &'static str {
        ["auto", "full", "light", "eco"][self as usize]
    }
}

/// How long the classifier may wait before it names a sound.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum HearingLatency {
    /// It hears 30 ms of what follows: fewer mistakes.
    #[default]
    Accurate,
    /// It answers at once.
    Low,
}

impl std::str::FromStr for HearingLatency {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        match name {
            "accurate" => Ok(Self::Accurate),
            "low" => Ok(Self::Low),
            _ => Err(format!("{name:?} is not accurate or low")),
        }
    }
}

/// The microphone.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AudioSettings {
    /// Whether a microphone is used at all.
    pub enabled: bool,
    /// Name of the microphone; empty takes the system's default.
    pub microphone: String,
    /// Gain before the classifier, dB.
    pub gain_db: f32,
    /// Sound below this level counts as silence, dB of full scale.
    pub gate_db: f32,
    /// The classifier hears quiet and loud voices at about the same level; beside `gain_db`.
    pub auto_gain: bool,
    /// How long the classifier may wait.
    pub latency: HearingLatency,
    /// What the user's vowels sound like (`voice::Calibration`); empty without a calibration.
    pub voice_calibration: Vec<f32>,
}

impl Default for AudioSettings {
    fn default() -> Self {
        Self {
            enabled: true,
            microphone: String::new(),
            gain_db: 0.0,
            gate_db: -60.0,
            auto_gain: true,
            latency: HearingLatency::Accurate,
            voice_calibration: Vec::new(),
        }
    }
}

/// What drives the mouth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum LipsyncMode {
    /// The microphone alone.
    Audio,
    /// The camera alone.
    Video,
    /// Both; the larger is believed where they disagree strongly.
    #[default]
    Mix,
}

impl LipsyncMode {
    /// All modes in the order the window shows them.
    pub const ALL: [Self; 3] = [Self::Audio, Self::Video, Self::Mix];

    /// The name used on the command line, in files and in traces.
    pub fn name(self) -> &'static str {
        ["audio", "video", "mix"][self as usize]
    }
}

impl std::str::FromStr for LipsyncMode {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|m| m.name() == name).ok_or_else(|| format!("{name:?} is not audio, video or mix"))
    }
}

/// How the camera's mouth is shown in video mode.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum VideoMouthStyle {
    /// Continuous.
    #[default]
    Smooth,
    /// Three steps, the anime look.
    Snap,
}

/// What mix mode fuses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MixStyle {
    /// How far and how wide the mouth opens; sound picks the vowel.
    #[default]
    Opening,
    /// Each viseme with the opening or the width.
    PerViseme,
}

/// Mouth from sound and picture (BEHAVIOUR §1–2).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct LipsyncSettings {
    /// What drives the mouth.
    pub mode: LipsyncMode,
    /// How video mode looks.
    pub video_style: VideoMouthStyle,
    /// What mix mode fuses.
    pub mix_style: MixStyle,
    /// Factor on the opening heard and seen.
    pub sensitivity: f32,
    /// 0 quick and lively, 1 slow and calm.
    pub smoothing: f32,
    /// A mouth seen closed by a confident camera stays closed, whatever is heard.
    pub camera_veto: bool,
    /// In mix mode, sound and picture are aligned as measured while `offset_secs` is 0.
    pub auto_offset: bool,
    /// Sound is shown this much later than the picture, seconds (negative: earlier); anything but 0 overrides what is
    /// measured. The earlier stream waits, by at most 0.06 s.
    pub offset_secs: f32,
}

impl Default for LipsyncSettings {
    fn default() -> Self {
        Self {
            mode: LipsyncMode::Mix,
            video_style: VideoMouthStyle::Smooth,
            mix_style: MixStyle::Opening,
            sensitivity: 1.0,
            smoothing: 0.3,
            camera_veto: false,
            auto_offset: true,
            offset_secs: 0.0,
        }
    }
}

/// Acting.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct MotionSettings {
    /// Factor on the tracked head rotation.
    pub head_strength: f32,
    /// Factor on the head's movement in space.
    pub position_strength: f32,
    /// How much the upper body follows the head.
    pub body_follow: f32,
    /// Factor on the tracked gaze.
    pub gaze_strength: f32,
    /// Both eyes blink together.
    pub link_eyes: bool,
    /// Small eye movements.
    pub saccades: bool,
    /// Blinks at turns of the head, large looks and ends of sentences.
    pub behaviour_blinks: bool,
    /// Size of the idle movement and breath.
    pub idle_strength: f32,
    /// How much of the camera's smile reaches the mouth.
    pub smile_strength: f32,
}

impl Default for MotionSettings {
    fn default() -> Self {
        Self {
            head_strength: 1.0,
            position_strength: 1.0,
            body_follow: 0.35,
            gaze_strength: 1.0,
            link_eyes: false,
            saccades: true,
            behaviour_blinks: true,
            idle_strength: 1.0,
            smile_strength: 0.6,
        }
    }
}

/// What the person looks like at rest; set by the neutral-pose button.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CalibrationSettings {
    /// Head yaw, pitch and roll at rest, degrees.
    pub neutral_head_deg: [f32; 3],
    /// Head position at rest, metres in the camera's space; all zeros where never set.
    pub neutral_position_m: [f32; 3],
    /// Height by width of the open eyes, left and right; zeros where never measured, and then learned while running.
    pub lids_open: [f32; 2],
    /// The same of closed eyes.
    pub lids_closed: [f32; 2],
    /// The irises' shift and the look shapes' difference when looking straight ahead; counts where `lids_open` is set.
    pub gaze_rest: [f32; 2],
    /// The 52 blendshapes of the face at rest; empty where never measured, and then learned while running.
    pub shapes_rest: Vec<f32>,
}

/// The avatar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct AvatarSettings {
    /// Path of the avatar file; empty takes the bundled one.
    pub file: String,
    /// Strength of the camera-angle face correction; 0 is exactly off.
    pub correction_strength: f32,
    /// Outlines of toon materials.
    pub outline: bool,
}

impl Default for AvatarSettings {
    fn default() -> Self {
        Self { file: String::new(), correction_strength: 1.0, outline: true }
    }
}

/// How much of the avatar the picture shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[expect(missing_docs, reason = "the names say it")]
pub enum Framing {
    Head,
    #[default]
    Bust,
    Full,
}

/// The look at the avatar.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewSettings {
    /// The avatar moves like a mirror image.
    pub mirror: bool,
    /// How much of the avatar is shown.
    pub framing: Framing,
    /// Vertical field of view, degrees.
    pub fov_deg: f32,
}

impl Default for ViewSettings {
    fn default() -> Self {
        Self { mirror: true, framing: Framing::Bust, fov_deg: 30.0 }
    }
}

/// The output window.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct OutputSettings {
    /// Transparent, or a chroma colour.
    pub background: Background,
    /// Frames a second.
    pub fps: u32,
    /// Width of the window at first, pixels.
    pub width: u32,
    /// Height of the window at first, pixels.
    pub height: u32,
    /// Multisampling: 1 or 4.
    pub msaa: u32,
}

impl Default for OutputSettings {
    fn default() -> Self {
        Self { background: Background::Transparent, fps: 60, width: 960, height: 720, msaa: 4 }
    }
}
