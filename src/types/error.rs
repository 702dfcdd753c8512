//! What a failure means for whoever has to go on.

/// What to do about an error; `engine` alone maps it to an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// Try the same thing again.
    Transient,
    /// Wait, then open it anew.
    Gone,
    /// The user must change something; the message says what.
    Setup,
    /// The file or packet is broken or hostile: reject it.
    Corrupt,
}

/// Why a source of frames, samples or reports gave nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The file or script is over.
    #[error("the source has ended")]
    Ended,
    /// Nothing came in the given time; the source may still be alive.
    #[error("the source gave nothing in time")]
    Timeout,
    /// The device or file failed.
    #[error("{message}")]
    Device {
        /// What this means for whoever opened it.
        kind: ErrorKind,
        /// What failed and what the user can do.
        message: String,
    },
}

impl SourceError {
    /// A device failure with its message.
    pub fn device(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self::Device { kind, message: message.into() }
    }

    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Ended => ErrorKind::Gone,
            Self::Timeout => ErrorKind::Transient,
            Self::Device { kind, .. } => *kind,
        }
    }
}
