//! Faults that replay and tests put into a source: `SOURCE=KIND@A..B`.

use std::str::FromStr;

use super::Timestamp;

/// What can go wrong with a picture source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum VideoFault {
    /// The person has left: only the background is there.
    FaceOut,
    /// Something is before the lower middle of the picture, where the mouth is.
    Covered,
    /// The light is off: 4 % of it is left.
    Dark,
    /// The same picture comes again and again.
    Frozen,
    /// The device is open but no pictures arrive.
    Stalled,
    /// The picture is black.
    Black,
    /// The device is gone.
    Disconnected,
}

/// What can go wrong with a sound source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AudioFault {
    /// Nothing but exact zeros arrives.
    Muted,
    /// The device is open but no samples arrive.
    Stalled,
    /// The device is gone.
    Disconnected,
    /// Short pieces are missing, as on an overloaded machine.
    Holes,
}

/// A fault of either source.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FaultKind {
    /// Of the pictures.
    Video(VideoFault),
    /// Of the sound.
    Audio(AudioFault),
}

impl VideoFault {
    const ALL: [Self; 7] =
        [Self::FaceOut, Self::Covered, Self::Dark, Self::Frozen, Self::Stalled, Self::Black, Self::Disconnected];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        ["face_out", "covered", "dark", "frozen", "stalled", "black", "disconnected"][self as usize]
    }
}

impl AudioFault {
    const ALL: [Self; 4] = [Self::Muted, Self::Stalled, Self::Disconnected, Self::Holes];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        ["muted", "stalled", "disconnected", "holes"][self as usize]
    }
}

/// One fault over a stretch of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What goes wrong.
    pub kind: FaultKind,
    /// The first moment of it.
    pub from: Timestamp,
    /// The first moment after it.
    pub to: Timestamp,
}

impl Fault {
    /// A fault of `kind` over the time range `A..B` in seconds, as `--drop-audio` and `--drop-video` give it.
    ///
    /// # Errors
    /// If the text is no range, or an empty one.
    pub fn over(kind: FaultKind, range: &str) -> Result<Self, ParseFaultError> {
        let bad = || ParseFaultError::Range(range.into());
        let (from, to) = range.split_once("..").ok_or_else(bad)?;
        let secs = |text: &str| {
            let value: f64 = text.trim().parse().map_err(|_| bad())?;
            if value.is_finite() && (0.0..1e9).contains(&value) {
                Ok(Timestamp::from_secs_f64(value))
            } else {
                Err(bad())
            }
        };
        let (from, to) = (secs(from)?, secs(to)?);
        if to <= from { Err(bad()) } else { Ok(Self { kind, from, to }) }
    }

    fn holds_at(&self, at: Timestamp) -> bool {
        self.from <= at && at < self.to
    }
}

/// Why a text is no fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ParseFaultError {
    /// The shape is wrong.
    #[error("{0:?} is no fault; SOURCE=KIND@A..B is expected, as in audio=muted@1.0..2.5")]
    Shape(String),
    /// The source is wrong.
    #[error("{0:?} is no source of faults; it is audio or video")]
    Source(String),
    /// The kind is wrong.
    #[error("{source_name} has no fault {kind:?}; it has {known}")]
    Kind {
        /// `audio` or `video`.
        source_name: &'static str,
        /// What was given.
        kind: String,
        /// What there is.
        known: String,
    },
    /// The range is wrong.
    #[error("{0:?} is no time range; A..B in seconds with A < B is expected, as in 1.0..2.5")]
    Range(String),
}

impl FromStr for Fault {
    type Err = ParseFaultError;

    fn from_str(text: &str) -> Result<Self, ParseFaultError> {
        let shape = || ParseFaultError::Shape(text.into());
        let (source, rest) = text.split_once('=').ok_or_else(shape)?;
        let (kind, range) = rest.split_once('@').ok_or_else(shape)?;
        let unknown = |source_name, names: &[&str]| ParseFaultError::Kind {
            source_name,
            kind: kind.into(),
            known: names.join(", "),
        };
        let kind = match source {
            "video" => VideoFault::ALL
                .into_iter()
                .find(|k| k.name() == kind)
                .map(FaultKind::Video)
                .ok_or_else(|| unknown("video", &VideoFault::ALL.map(VideoFault::name)))?,
            "audio" => AudioFault::ALL
                .into_iter()
                .find(|k| k.name() == kind)
                .map(FaultKind::Audio)
                .ok_or_else(|| unknown("audio", &AudioFault::ALL.map(AudioFault::name)))?,
            _ => return Err(ParseFaultError::Source(source.into())),
        };
        Self::over(kind, range)
    }
}

/// All faults of a run. Where several of one source overlap, the one that was added last holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

impl Faults {
    /// Adds a fault.
    pub fn add(&mut self, fault: Fault) {
        self.0.push(fault);
    }

    /// What is wrong with the pictures at this moment.
    pub fn video_at(&self, at: Timestamp) -> Option<VideoFault> {
        self.0.iter().rev().filter(|f| f.holds_at(at)).find_map(|f| match f.kind {
            FaultKind::Video(kind) => Some(kind),
            FaultKind::Audio(_) => None,
        })
    }

    /// What is wrong with the sound at this moment.
    pub fn audio_at(&self, at: Timestamp) -> Option<AudioFault> {
        self.0.iter().rev().filter(|f| f.holds_at(at)).find_map(|f| match f.kind {
            FaultKind::Audio(kind) => Some(kind),
            FaultKind::Video(_) => None,
        })
    }

    /// All faults, in the order they were added.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }

    /// True if there is no fault at all.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<Fault> for Faults {
    fn from_iter<I: IntoIterator<Item = Fault>>(faults: I) -> Self {
        Self(faults.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_is_read_by_its_name() {
        for kind in VideoFault::ALL {
            let fault: Fault = format!("video={}@1.0..2.5", kind.name()).parse().expect("fault");
            assert_eq!(fault.kind, FaultKind::Video(kind));
        }
        for kind in AudioFault::ALL {
            let fault: Fault = format!("audio={}@0..0.5", kind.name()).parse().expect("fault");
            assert_eq!(fault.kind, FaultKind::Audio(kind));
        }
    }

    #[test]
    fn errors_say_what_is_expected() {
        let error = |text: &str| text.parse::<Fault>().expect_err(text).to_string();
        assert!(error("audio=muted").contains("SOURCE=KIND@A..B"));
        assert!(error("mouth=muted@1..2").contains("audio or video"));
        assert!(error("audio=frozen@1..2").contains("muted, stalled, disconnected, holes"));
        assert!(error("video=frozen@2..1").contains("A < B"));
        for range in ["", "1", "1..", "..2", "a..b", "NaN..2", "1..inf", "-1..2", "1...2..3", "2..2"] {
            assert!(error(&format!("video=dark@{range}")).contains("time range"), "{range}");
        }
    }

    #[test]
    fn a_fault_holds_from_its_start_up_to_its_end() {
        let faults: Faults = ["audio=muted@1..2", "video=dark@1..3", "video=black@2..3"]
            .map(|t| t.parse().expect("fault"))
            .into_iter()
            .collect();
        let at = Timestamp::from_secs_f64;
        assert_eq!(faults.audio_at(at(0.999)), None);
        assert_eq!(faults.audio_at(at(1.0)), Some(AudioFault::Muted));
        assert_eq!(faults.audio_at(at(2.0)), None);
        assert_eq!(faults.video_at(at(1.5)), Some(VideoFault::Dark));
        assert_eq!(faults.video_at(at(2.5)), Some(VideoFault::Black), "the last one added holds");
    }
}
