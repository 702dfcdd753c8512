//! What was heard.

use super::Timestamp;

/// Number of visemes in the Oculus order.
pub const VISEME_COUNT: usize = 15;

/// A mouth sound class, in the Oculus order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are the field's own")]
pub enum Viseme {
    Sil,
    Pp,
    Ff,
    Th,
    Dd,
    Kk,
    Ch,
    Ss,
    Nn,
    Rr,
    Aa,
    E,
    Ih,
    Oh,
    Ou,
}

impl Viseme {
    /// All visemes in order; `ALL[i] as usize == i`.
    pub const ALL: [Self; VISEME_COUNT] = [
        Self::Sil,
        Self::Pp,
        Self::Ff,
        Self::Th,
        Self::Dd,
        Self::Kk,
        Self::Ch,
        Self::Ss,
        Self::Nn,
        Self::Rr,
        Self::Aa,
        Self::E,
        Self::Ih,
        Self::Oh,
        Self::Ou,
    ];

    /// The name used in traces and label files.
    pub fn name(self) -> &'static str {
        ["sil", "PP", "FF", "TH", "DD", "kk", "CH", "SS", "nn", "RR", "aa", "E", "ih", "oh", "ou"][self as usize]
    }
}

/// The voice at one moment.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct VisemeFrame {
    /// Probability of each viseme, by `Viseme as usize`; sums to 1.
    pub weights: [f32; VISEME_COUNT],
    /// Loudness of the window, dB of full scale (0 = full-scale square wave); at least -120.
    pub level_db: f32,
    /// Probability that this is somebody's speech, 0..1.
    pub voiced: f32,
    /// Laughter score, 0..1.
    pub laughter: f32,
}

impl VisemeFrame {
    /// Silence: everything on `sil`.
    pub const SILENT: Self = {
        let mut weights = [0.0; VISEME_COUNT];
        weights[0] = 1.0;
        Self { weights, level_db: -120.0, voiced: 0.0, laughter: 0.0 }
    };

    /// Probability of one viseme.
    pub fn weight(&self, viseme: Viseme) -> f32 {
        self.weights[viseme as usize]
    }
}

impl Default for VisemeFrame {
    fn default() -> Self {
        Self::SILENT
    }
}

/// What state the microphone is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AudioState {
    /// Sound comes in.
    Live,
    /// Sound comes in, nobody speaks. No loss.
    Silent,
    /// The device delivers nothing but exact zeros: switched off, muted or forbidden by the system.
    Muted,
    /// The device is open but no samples arrive.
    Stalled,
    /// There is no device.
    #[default]
    Disconnected,
    /// The system refuses access.
    NoPermission,
}

impl AudioState {
    /// The name used in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Silent => "silent",
            Self::Muted => "muted",
            Self::Stalled => "stalled",
            Self::Disconnected => "disconnected",
            Self::NoPermission => "no_permission",
        }
    }

    /// The state with this trace name.
    pub fn from_name(name: &str) -> Option<Self> {
        [Self::Live, Self::Silent, Self::Muted, Self::Stalled, Self::Disconnected, Self::NoPermission]
            .into_iter()
            .find(|s| s.name() == name)
    }

    /// True where the source is known to be lost and has no say.
    pub fn is_lost(self) -> bool {
        !matches!(self, Self::Live | Self::Silent)
    }
}

/// Remarks about the sound that are no loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AudioHints {
    /// Samples hit full scale.
    pub clipping: bool,
    /// The voice is on another channel than the one in use, or was until a moment ago: omote has changed over to it.
    pub wrong_channel: bool,
    /// Speech is far below a usable level.
    pub too_quiet: bool,
    /// The background is loud.
    pub noisy: bool,
}

impl AudioHints {
    /// The hints of both.
    pub fn or(self, other: Self) -> Self {
        Self {
            clipping: self.clipping || other.clipping,
            wrong_channel: self.wrong_channel || other.wrong_channel,
            too_quiet: self.too_quiet || other.too_quiet,
            noisy: self.noisy || other.noisy,
        }
    }

    /// The trace names of the hints that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [
            (self.clipping, "clipping"),
            (self.wrong_channel, "wrong_channel"),
            (self.too_quiet, "too_quiet"),
            (self.noisy, "noisy"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
    }
}

/// One step of the voice stage (every 10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct AudioReport {
    /// When the sound that `frame` describes reached the microphone.
    pub captured_at: Timestamp,
    /// The microphone's state.
    pub state: AudioState,
    /// Remarks that are no loss.
    pub hints: AudioHints,
    /// What was heard.
    pub frame: VisemeFrame,
}
