//! Why an avatar could not be loaded, in words that say what to do.

use crate::types::ErrorKind;

/// Why an avatar could not be loaded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AvatarError {
    /// The file could not be read.
    #[error("The avatar file cannot be read ({reason}). Check that it exists and that you may open it: {path}")]
    Read {
        /// What the system said.
        reason: String,
        /// The file.
        path: String,
    },
    /// The file is something else.
    #[error("This is not an avatar: {found}. omote opens .vrm, .glb and .gltf files.")]
    NotAnAvatar {
        /// What it looks like instead.
        found: String,
    },
    /// The file ends too early.
    #[error("The avatar file is cut off: {what}. Download or export it again.")]
    Truncated {
        /// What is missing.
        what: String,
    },
    /// The file needs a feature that omote lacks.
    #[error("The avatar needs the glTF extension {extension}, which omote cannot read. {advice}")]
    Unsupported {
        /// Name of the extension.
        extension: String,
        /// What the user can do.
        advice: &'static str,
    },
    /// The file asks for more memory than an avatar may take.
    #[error("The avatar is too large: {what}. Reduce its textures or meshes and export it again.")]
    TooLarge {
        /// What is too large.
        what: String,
    },
    /// The file contradicts itself or the format.
    #[error("The avatar file is broken: {what}. Export it again, or open it in its editor to repair it.")]
    Broken {
        /// What is wrong.
        what: String,
    },
}

impl AvatarError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Read { .. } | Self::Unsupported { .. } | Self::TooLarge { .. } => ErrorKind::Setup,
            Self::NotAnAvatar { .. } | Self::Truncated { .. } | Self::Broken { .. } => ErrorKind::Corrupt,
        }
    }

    pub(super) fn broken(what: impl Into<String>) -> Self {
        Self::Broken { what: what.into() }
    }
}
