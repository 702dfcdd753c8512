//! The mouth to show: three modes, one fusion rule, and cross-fades between all of them (BEHAVIOUR §1).
//!
//! Each mode is computed every frame and the three are blended by weights that ease towards the chosen one, so that
//! switching never jumps. Within a mode a source counts by its confidence, so that losing it never jumps either.

use super::fuse::{fuse, fuse_share};
use super::heard::HeardMouth;
use super::seen::{MouthRow, Witness};
use super::sight::{Sight, Sights, rise};
use super::veto::Veto;
use crate::settings::{LipsyncMode, LipsyncSettings, MixStyle};
use crate::signal::{Slew, smoothstep};
use crate::types::{MouthShape, VISEME_COUNT, VOWEL_COUNT, Viseme, Vowel};

/// From one mode to another.
const MODE_FADE_SECS: f32 = 0.12;
/// Lips move at most this much of their range per second (0.15 in 1/60 s; loud speech reaches about that), so that no
/// loss, return or change of mode can make them jump. The snapped look is meant to be faster; closures are.
const LARGEST_SPEED: f32 = 8.8;
const SNAPPED_SPEED: f32 = 40.0;

/// Lips seen apart by this much at least for a while have not met; by that much they surely have not.
const APART_FROM: f32 = 0.22;
const APART_AT: f32 = 0.42;

/// Lips that came nearer than this not long ago have met.
const MET_BELOW: f32 = 0.06;
const MET_UP_TO: f32 = 0.15;

const VOWEL_VISEMES: [Viseme; VOWEL_COUNT] = [Viseme::Aa, Viseme::Ih, Viseme::Ou, Viseme::E, Viseme::Oh];

/// A laughter score (0..1) as the weight of a laughing shape: nothing up to `threshold`, then rising to 1.
pub fn laughter_shape(score: f32, threshold: f32, multiplier: f32) -> f32 {
    let above = (score - threshold) / (1.0 - threshold).max(1e-3) * multiplier;
    if above.is_nan() { 0.0 } else { above.clamp(0.0, 1.0) }
}

/// Belief in the two sources, 0..1 each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Belief {
    pub audio: f32,
    pub video: f32,
}

/// Makes the mouth.
#[derive(Clone, Debug)]
pub(super) struct MouthMixer {
    /// How much of each mode is shown, by `LipsyncMode as usize`; sums to 1.
    modes: Option<[f32; 3]>,
    per_viseme: Slew,
    sights: Sights,
    veto: Veto,
    /// The opening shown, before closures.
    shown_open: Option<f32>,
    /// The vowels it was last made of.
    shown_shares: [f32; VOWEL_COUNT],
}

/// A mouth in the making: everything here is blended linearly.
#[derive(Clone, Copy, Debug, Default)]
struct Draft {
    vowels: [f32; VOWEL_COUNT],
    closed: f32,
    wide: f32,
    narrow: f32,
    visemes: [f32; VISEME_COUNT],
    audio_share: f32,
}

impl MouthMixer {
    pub fn new() -> Self {
        Self {
            modes: None,
            per_viseme: Slew::default(),
            sights: Sights::new(),
            veto: Veto::default(),
            shown_open: None,
            shown_shares: [1.0, 0.0, 0.0, 0.0, 0.0],
        }
    }

    /// The mouth `dt` seconds after the last one.
    pub fn step(
        &mut self,
        heard: &HeardMouth,
        seen: MouthRow,
        witness: Witness,
        belief: Belief,
        lipsync: &LipsyncSettings,
        dt: f32,
    ) -> MouthShape {
        let shown = self.step_modes(lipsync, dt);
        let sight = self.sights.step(seen, lipsync, dt);
        // In video mode there is nothing to veto, in audio mode nobody to ask.
        let heard = heard.vetoed(self.veto.step(seen[0], belief.video, lipsync.camera_veto, dt));

        // Lips that were seen apart all the while have not met: "m" was misheard. But only a camera that does see lips
        // meet can say so.
        let apart = smoothstep(rise(witness.least_open, APART_FROM, APART_AT));
        let sees_closures = 1.0 - smoothstep(rise(witness.lowest_open, MET_BELOW, MET_UP_TO));
        let refuted = belief.video * apart * sees_closures;
        let witnessed = HeardMouth { closed: heard.closed * (1.0 - refuted), ..heard };

        let mut draft = Draft::default();
        draft.add(&audio_draft(&heard, belief.audio), shown[LipsyncMode::Audio as usize]);
        draft.add(&video_draft(&sight, belief.video), shown[LipsyncMode::Video as usize]);
        let mix = shown[LipsyncMode::Mix as usize];
        draft.add(&mix_draft(&witnessed, &sight, belief), mix * (1.0 - self.per_viseme.value));
        draft.add(&per_viseme_draft(&witnessed, &sight, belief), mix * self.per_viseme.value);
        let snapped = self.sights.snap() * shown[LipsyncMode::Video as usize];
        self.limit_speed(draft.finish(), LARGEST_SPEED + (SNAPPED_SPEED - LARGEST_SPEED) * snapped, dt)
    }

    /// How far the veto holds the sound's mouth closed, 0..1.
    pub fn veto(&self) -> f32 {
        self.veto.value()
    }

    /// The same shape, but no farther from the last opening than `per_sec · dt`.
    fn limit_speed(&mut self, shape: MouthShape, per_sec: f32, dt: f32) -> MouthShape {
        let wanted = MouthShape::opening_of(&shape.vowels, 0.0);
        let sum: f32 = shape.vowels.iter().sum();
        if sum > 1e-3 {
            self.shown_shares = shape.vowels.map(|w| w / sum);
        }
        let reach = (per_sec * dt).max(0.0);
        let last = *self.shown_open.get_or_insert(wanted);
        let open = last + (wanted - last).clamp(-reach, reach);
        self.shown_open = Some(open);
        if (open - wanted).abs() < 1e-6 {
            return shape;
        }
        let vowels = open_to(&self.shown_shares, open);
        MouthShape { open: MouthShape::opening_of(&vowels, shape.closed), vowels, ..shape }
    }

    fn step_modes(&mut self, lipsync: &LipsyncSettings, dt: f32) -> [f32; 3] {
        let wanted: [f32; 3] = std::array::from_fn(|i| f32::from(u8::from(i == lipsync.mode as usize)));
        let per_viseme = f32::from(u8::from(lipsync.mix_style == MixStyle::PerViseme));
        let Some(modes) = &mut self.modes else {
            self.per_viseme.value = per_viseme;
            return *self.modes.insert(wanted);
        };
        self.per_viseme.step(per_viseme, 1.0 / MODE_FADE_SECS, dt);
        // The chosen mode gains what the others lose, in proportion.
        let chosen = modes[lipsync.mode as usize];
        let gained = (chosen + dt / MODE_FADE_SECS).min(1.0);
        let others = if chosen < 1.0 { (1.0 - gained) / (1.0 - chosen) } else { 0.0 };
        for (i, mode) in modes.iter_mut().enumerate() {
            *mode = if i == lipsync.mode as usize { gained } else { *mode * others };
        }
        *modes
    }
}

impl Draft {
    fn add(&mut self, other: &Self, weight: f32) {
        let add = |mine: &mut [f32], theirs: &[f32]| {
            for (mine, theirs) in mine.iter_mut().zip(theirs) {
                *mine += theirs * weight;
            }
        };
        add(&mut self.vowels, &other.vowels);
        add(&mut self.visemes, &other.visemes);
        self.closed += other.closed * weight;
        self.wide += other.wide * weight;
        self.narrow += other.narrow * weight;
        self.audio_share += other.audio_share * weight;
    }

    fn finish(mut self) -> MouthShape {
        self.vowels = at_most_one(self.vowels.map(|w| w.clamp(0.0, 1.0)));
        // What is not shown otherwise is rest.
        let spoken: f32 = self.visemes.iter().skip(1).sum();
        if spoken > 1.0 {
            self.visemes = self.visemes.map(|w| w / spoken);
        }
        self.visemes[Viseme::Sil as usize] = (1.0 - spoken).max(0.0);
        let closed = self.closed.clamp(0.0, 1.0);
        MouthShape {
            open: MouthShape::opening_of(&self.vowels, closed),
            width: (0.5 + 0.5 * (self.wide - self.narrow)).clamp(0.0, 1.0),
            closed,
            vowels: self.vowels,
            visemes: self.visemes,
            audio_share: self.audio_share.clamp(0.0, 1.0),
        }
    }
}

fn audio_draft(heard: &HeardMouth, audio: f32) -> Draft {
    Draft {
        vowels: open_to(&heard.vowels, heard.open * audio),
        closed: heard.closed * audio,
        wide: heard.wide() * audio,
        narrow: heard.narrow() * audio,
        visemes: heard.visemes.map(|w| w * audio),
        audio_share: audio,
    }
}

fn video_draft(sight: &Sight, video: f32) -> Draft {
    let smooth = open_to(&sight.vowels, sight.open * video);
    let vowels = std::array::from_fn(|i| smooth[i] + (sight.snapped[i] * video - smooth[i]) * sight.snap);
    Draft {
        vowels,
        closed: 0.0,
        wide: sight.wide * video,
        narrow: sight.narrow * video,
        visemes: visemes_of(&vowels),
        audio_share: 0.0,
    }
}

/// How far and how wide by the rule, which vowel by the sound.
fn mix_draft(heard: &HeardMouth, sight: &Sight, belief: Belief) -> Draft {
    let open = Fused::of(heard.open, sight.open, belief);
    // Sound knows vowels better – while it is there and somebody speaks.
    let by_sound = belief.audio * (heard.speech + (1.0 - heard.speech) * (1.0 - belief.video));
    let vowels = std::array::from_fn(|i| sight.vowels[i] + (heard.vowels[i] - sight.vowels[i]) * by_sound);
    let vowels = open_to(&vowels, open.value);
    let seen_visemes = visemes_of(&vowels);
    Draft {
        vowels,
        closed: heard.closed * belief.audio,
        wide: Fused::of(heard.wide(), sight.wide, belief).value,
        narrow: Fused::of(heard.narrow(), sight.narrow, belief).value,
        visemes: std::array::from_fn(|i| seen_visemes[i] + (heard.visemes[i] - seen_visemes[i]) * by_sound),
        audio_share: open.audio_share,
    }
}

/// The other form of the rule: `aa` and `oh` fused with how far, `ih` with how wide, the rest from sound alone.
fn per_viseme_draft(heard: &HeardMouth, sight: &Sight, belief: Belief) -> Draft {
    let spoken = open_to(&heard.vowels, heard.open);
    let mut vowels = spoken.map(|w| w * belief.audio);
    for (vowel, seen) in [(Vowel::Aa, sight.open), (Vowel::Oh, sight.open), (Vowel::Ih, sight.wide)] {
        vowels[vowel as usize] = Fused::of(spoken[vowel as usize], seen, belief).value;
    }
    // Alone, the camera names its vowel itself.
    let alone = belief.video * (1.0 - belief.audio);
    let seen = open_to(&sight.vowels, sight.open * belief.video);
    let vowels = at_most_one(vowels);
    let vowels = std::array::from_fn(|i| vowels[i] + (seen[i] - vowels[i]) * alone);
    Draft { vowels, visemes: visemes_of(&vowels), ..mix_draft(heard, sight, belief) }
}

/// The same quantity from both sources, each as far as it is believed.
struct Fused {
    value: f32,
    audio_share: f32,
}

impl Fused {
    fn of(heard: f32, seen: f32, belief: Belief) -> Self {
        let (audio, video) = (belief.audio, belief.video);
        let (both, only_audio, only_video) = (audio * video, audio * (1.0 - video), video * (1.0 - audio));
        Self {
            value: both * fuse(heard, seen) + only_audio * heard + only_video * seen,
            audio_share: both * fuse_share(heard, seen) + only_audio,
        }
    }
}

impl HeardMouth {
    fn wide(&self) -> f32 {
        self.visemes[Viseme::Ih as usize] + self.visemes[Viseme::E as usize]
    }

    fn narrow(&self) -> f32 {
        self.visemes[Viseme::Ou as usize] + 0.5 * self.visemes[Viseme::Oh as usize]
    }

    /// The same mouth, held closed as far as the camera says that this is not who speaks.
    fn vetoed(&self, veto: f32) -> Self {
        let left = 1.0 - veto;
        let mut visemes = self.visemes.map(|w| w * left);
        visemes[Viseme::Sil as usize] += veto;
        Self { open: self.open * left, closed: self.closed * left, speech: self.speech * left, visemes, ..*self }
    }
}

/// Vowel weights with these shares that open the mouth exactly this far; what the vowel cannot give, "a" adds.
fn open_to(shares: &[f32; VOWEL_COUNT], open: f32) -> [f32; VOWEL_COUNT] {
    let full: f32 = Vowel::ALL.iter().map(|v| shares[*v as usize] * v.opening()).sum();
    let open = open.clamp(0.0, 1.0);
    if full <= 1e-3 {
        return [open, 0.0, 0.0, 0.0, 0.0];
    }
    if open <= full {
        return shares.map(|s| s * open / full);
    }
    let extra = (open - full) / (1.0 - full).max(1e-3);
    let mut vowels = shares.map(|s| s * (1.0 - extra));
    vowels[Vowel::Aa as usize] += extra;
    vowels
}

fn visemes_of(vowels: &[f32; VOWEL_COUNT]) -> [f32; VISEME_COUNT] {
    let mut visemes = [0.0; VISEME_COUNT];
    for (viseme, weight) in VOWEL_VISEMES.into_iter().zip(vowels) {
        visemes[viseme as usize] = *weight;
    }
    visemes
}

pub(super) fn at_most_one(vowels: [f32; VOWEL_COUNT]) -> [f32; VOWEL_COUNT] {
    let sum: f32 = vowels.iter().sum();
    if sum > 1.0 { vowels.map(|w| w / sum) } else { vowels }
}
