//! What the mouth shall do.

use super::{VISEME_COUNT, VisemeFrame};

/// Number of vowels an avatar has by convention.
pub const VOWEL_COUNT: usize = 5;

/// The five vowel shapes of VRM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[expect(missing_docs, reason = "the names are VRM's own")]
pub enum Vowel {
    Aa,
    Ih,
    Ou,
    Ee,
    Oh,
}

impl Vowel {
    /// All vowels in order; `ALL[i] as usize == i`.
    pub const ALL: [Self; VOWEL_COUNT] = [Self::Aa, Self::Ih, Self::Ou, Self::Ee, Self::Oh];

    /// How far this vowel opens the mouth at weight 1 (BEHAVIOUR §1).
    pub fn opening(self) -> f32 {
        [1.0, 0.35, 0.4, 0.55, 0.75][self as usize]
    }

    /// The VRM preset name.
    pub fn name(self) -> &'static str {
        ["aa", "ih", "ou", "ee", "oh"][self as usize]
    }
}

/// The mouth to show; made only by `mix`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MouthShape {
    /// How far the mouth opens: `(1 - closed) · clamp(Σ w·o)`; 0 lips touch, 1 as far as it goes.
    pub open: f32,
    /// 0 full pucker, 0.5 at rest, 1 as wide as it goes.
    pub width: f32,
    /// How firmly the lips are pressed together (p, b, m), 0..1.
    pub closed: f32,
    /// Weight of each vowel, by `Vowel as usize`; sums to at most 1.
    pub vowels: [f32; VOWEL_COUNT],
    /// Visemes for avatars that have them; sums to at most 1 without `sil`.
    pub visemes: [f32; VISEME_COUNT],
    /// Audio's share in the opening, 0..1.
    pub audio_share: f32,
}

impl MouthShape {
    /// Lips together, at rest.
    pub const REST: Self = Self {
        open: 0.0,
        width: 0.5,
        closed: 0.0,
        vowels: [0.0; VOWEL_COUNT],
        visemes: VisemeFrame::SILENT.weights,
        audio_share: 0.0,
    };

    /// The opening that these vowels and this closure show.
    pub fn opening_of(vowels: &[f32; VOWEL_COUNT], closed: f32) -> f32 {
        let sum: f32 = Vowel::ALL.iter().map(|v| vowels[*v as usize] * v.opening()).sum();
        (1.0 - closed.clamp(0.0, 1.0)) * sum.clamp(0.0, 1.0)
    }
}

impl Default for MouthShape {
    fn default() -> Self {
        Self::REST
    }
}
