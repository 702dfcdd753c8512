//! The mouth to show: three modes, one fusion rule, and cross-fades between all of them (BEHAVIOUR §1).
//!
//! Each mode is computed every frame and the three are blended by weights that ease towards the chosen one, so that
//! switching never jumps. Within a mode a source counts by its confidence, so that losing it never jumps either.

use super::fuse::{fuse, fuse_share};
use super::heard::{HeardMouth, pace_of};
use super::seen::MouthRow;
use crate::settings::{LipsyncMode, LipsyncSettings, MixStyle, VideoMouthStyle};
use crate::signal::{AttackRelease, Slew, smoothstep};
use crate::types::{MouthShape, VISEME_COUNT, VOWEL_COUNT, Viseme, Vowel};

/// From one mode to another.
const MODE_FADE_SECS: f32 = 0.12;
/// Time constants of the seen mouth at the default smoothing. The glide between camera frames smooths already.
const VIDEO_ATTACK_SECS: f32 = 0.015;
const VIDEO_RELEASE_SECS: f32 = 0.025;
/// Time constant towards a snapped target.
const SNAP_SECS: f32 = 0.045;
/// The model sees resting lips this far apart; below, they are together.
const VIDEO_REST_OPEN: f32 = 0.02;
/// Width says something about the vowel only while the lips are apart (a closed-lip smile is no "ee").
const WIDTH_COUNTS_FROM: f32 = 0.03;
const WIDTH_COUNTS_AT: f32 = 0.07;
/// A mouth seen closed for this long vetoes the sound; an opening one lifts the veto at once.
const VETO_AFTER_SECS: f32 = 0.10;
const VETO_RISE_PER_SEC: f32 = 7.0;
const VETO_FALL_PER_SEC: f32 = 25.0;
const VETO_BELOW_OPEN: f32 = 0.05;

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
    snap: Slew,
    open: AttackRelease,
    width: AttackRelease,
    round: AttackRelease,
    snapped_open: AttackRelease,
    snapped_wide: AttackRelease,
    closed_secs: f32,
    veto: Slew,
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

/// The seen mouth, smoothed and named.
#[derive(Clone, Copy, Debug)]
struct Sight {
    open: f32,
    wide: f32,
    narrow: f32,
    /// Which vowel: shares that sum to 1.
    vowels: [f32; VOWEL_COUNT],
    snapped: [f32; VOWEL_COUNT],
}

impl MouthMixer {
    pub fn new() -> Self {
        Self {
            modes: None,
            per_viseme: Slew::default(),
            snap: Slew::default(),
            open: AttackRelease::default(),
            width: AttackRelease { value: 0.5 },
            round: AttackRelease::default(),
            snapped_open: AttackRelease::default(),
            snapped_wide: AttackRelease::default(),
            closed_secs: 0.0,
            veto: Slew::default(),
        }
    }

    /// The mouth `dt` seconds after the last one.
    pub fn step(
        &mut self,
        heard: &HeardMouth,
        seen: MouthRow,
        belief: Belief,
        lipsync: &LipsyncSettings,
        dt: f32,
    ) -> MouthShape {
        let shown = self.step_modes(lipsync, dt);
        let sight = self.look(seen, lipsync, dt);
        let veto = self.step_veto(seen[0], belief.video, lipsync.camera_veto, dt);
        let heard = HeardMouth { open: heard.open * (1.0 - veto), ..*heard };

        let mut draft = Draft::default();
        draft.add(&audio_draft(&heard, belief.audio), shown[LipsyncMode::Audio as usize]);
        draft.add(&video_draft(&sight, belief.video, self.snap.value), shown[LipsyncMode::Video as usize]);
        let mix = shown[LipsyncMode::Mix as usize];
        draft.add(&mix_draft(&heard, &sight, belief), mix * (1.0 - self.per_viseme.value));
        draft.add(&per_viseme_draft(&heard, &sight, belief), mix * self.per_viseme.value);
        draft.finish()
    }

    fn step_modes(&mut self, lipsync: &LipsyncSettings, dt: f32) -> [f32; 3] {
        let wanted: [f32; 3] = std::array::from_fn(|i| f32::from(u8::from(i == lipsync.mode as usize)));
        let snap = f32::from(u8::from(lipsync.video_style == VideoMouthStyle::Snap));
        let per_viseme = f32::from(u8::from(lipsync.mix_style == MixStyle::PerViseme));
        let Some(modes) = &mut self.modes else {
            self.snap.value = snap;
            self.per_viseme.value = per_viseme;
            return *self.modes.insert(wanted);
        };
        self.snap.step(snap, 1.0 / MODE_FADE_SECS, dt);
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

    fn look(&mut self, [open, width, round]: MouthRow, lipsync: &LipsyncSettings, dt: f32) -> Sight {
        let pace = pace_of(lipsync.smoothing);
        let (attack, release) = (VIDEO_ATTACK_SECS * pace, VIDEO_RELEASE_SECS * pace);
        let apart = ((open - VIDEO_REST_OPEN) / (1.0 - VIDEO_REST_OPEN)).max(0.0);
        let apart = (apart * lipsync.sensitivity.clamp(0.0, 4.0)).clamp(0.0, 1.0);
        let open = self.open.step(apart, attack, release, dt);
        let width = self.width.step(width, attack, release, dt);
        let round = self.round.step(round, attack, release, dt);

        let wide = ((width - 0.5) * 2.0).max(0.0) * smoothstep(rise(open, WIDTH_COUNTS_FROM, WIDTH_COUNTS_AT));
        let narrow = ((0.5 - width) * 2.0).max(0.0);
        let rounding = (0.6 * round + 0.6 * narrow).clamp(0.0, 1.0);

        // The snapped look, from what is seen now: it eases by itself.
        let steps = |x: f32, half: f32, full: f32| {
            if x >= full {
                1.0
            } else if x >= half {
                0.5
            } else {
                0.0
            }
        };
        let snapped_open = self.snapped_open.step(steps(apart, 0.25, 0.7), SNAP_SECS * pace, SNAP_SECS * pace, dt);
        let snapped_wide = if apart > 0.05 { steps(width, 0.6, 0.8) } else { 0.0 };
        let snapped_wide = self.snapped_wide.step(snapped_wide, SNAP_SECS * pace, SNAP_SECS * pace, dt);
        let mut snapped = [0.0; VOWEL_COUNT];
        snapped[Vowel::Aa as usize] = snapped_open * (1.0 - rounding);
        snapped[Vowel::Oh as usize] = snapped_open * rounding;
        snapped[Vowel::Ih as usize] = 0.7 * snapped_wide;

        Sight { open, wide, narrow, vowels: vowel_of_sight(open, wide, rounding), snapped: at_most_one(snapped) }
    }

    fn step_veto(&mut self, open: f32, confidence: f32, is_on: bool, dt: f32) -> f32 {
        if open < VETO_BELOW_OPEN && confidence > 0.5 {
            self.closed_secs += dt;
        } else {
            self.closed_secs = 0.0;
        }
        let wanted = is_on && self.closed_secs > VETO_AFTER_SECS;
        let per_sec = if wanted { VETO_RISE_PER_SEC } else { VETO_FALL_PER_SEC };
        self.veto.step(f32::from(u8::from(wanted)), per_sec, dt) * confidence
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

fn video_draft(sight: &Sight, video: f32, snap: f32) -> Draft {
    let smooth = open_to(&sight.vowels, sight.open * video);
    let vowels = std::array::from_fn(|i| smooth[i] + (sight.snapped[i] * video - smooth[i]) * snap);
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
        closed: heard.closed * belief.audio * (1.0 - belief.video * smoothstep(rise(sight.open, 0.5, 0.9))),
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
}

/// Which vowel a seen mouth looks like: wide and open is "a", wide and nearly closed "i" or "e", round "u" or "o".
fn vowel_of_sight(open: f32, wide: f32, rounding: f32) -> [f32; VOWEL_COUNT] {
    let round = smoothstep(rise(rounding, 0.1, 0.6));
    let spread = (1.0 - round) * smoothstep(rise(wide, 0.1, 0.5)) * (1.0 - smoothstep(rise(open, 0.4, 0.75)));
    let plain = 1.0 - round - spread;
    let as_o = smoothstep(rise(open, 0.25, 0.55));
    let as_e = smoothstep(rise(open, 0.15, 0.4));
    let mut vowels = [0.0; VOWEL_COUNT];
    vowels[Vowel::Aa as usize] = plain;
    vowels[Vowel::Ih as usize] = spread * (1.0 - as_e);
    vowels[Vowel::Ee as usize] = spread * as_e;
    vowels[Vowel::Ou as usize] = round * (1.0 - as_o);
    vowels[Vowel::Oh as usize] = round * as_o;
    vowels
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

fn at_most_one(vowels: [f32; VOWEL_COUNT]) -> [f32; VOWEL_COUNT] {
    let sum: f32 = vowels.iter().sum();
    if sum > 1.0 { vowels.map(|w| w / sum) } else { vowels }
}

/// 0 at `from`, 1 at `until`, straight on beyond both.
fn rise(x: f32, from: f32, until: f32) -> f32 {
    (x - from) / (until - from)
}
