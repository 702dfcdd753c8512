//! The background of the output: nothing, or a colour for chroma keying.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// What stands behind the avatar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Background {
    /// Nothing: the alpha channel is kept.
    #[default]
    Transparent,
    /// An sRGB colour.
    Color([u8; 3]),
}

impl Background {
    /// The colour OBS filters out by default.
    pub const CHROMA_GREEN: Self = Self::Color([0, 255, 0]);
}

/// The text is neither `transparent` nor `#RRGGBB`.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no background: write `transparent` or a colour as `#RRGGBB`")]
pub struct ParseBackgroundError(String);

impl FromStr for Background {
    type Err = ParseBackgroundError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if text.eq_ignore_ascii_case("transparent") {
            return Ok(Self::Transparent);
        }
        let wrong = || ParseBackgroundError(text.into());
        let hex = text.strip_prefix('#').filter(|h| h.len() == 6).ok_or_else(wrong)?;
        if !hex.bytes().all(|b| b.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let value = u32::from_str_radix(hex, 16).map_err(|_| wrong())?;
        let [_, r, g, b] = value.to_be_bytes();
        Ok(Self::Color([r, g, b]))
    }
}

impl fmt::Display for Background {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Transparent => f.write_str("transparent"),
            Self::Color([r, g, b]) => write!(f, "#{r:02X}{g:02X}{b:02X}"),
        }
    }
}

impl Serialize for Background {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Background {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_round_trips_and_nonsense_is_refused() {
        for text in ["transparent", "#00FF00", "#12ABEF"] {
            assert_eq!(text.parse::<Background>().map(|b| b.to_string()), Ok(text.into()));
        }
        for text in ["", "green", "#12", "#GGGGGG", "#+12345", "00FF00", "#äöü"] {
            assert!(text.parse::<Background>().is_err(), "{text}");
        }
    }
}
