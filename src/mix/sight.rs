//! The seen mouth, smoothed and named: how far, how wide, which vowel; continuous or snapped (BEHAVIOUR §1, video mode).

use super::mouth::at_most_one;
use super::seen::MouthRow;
use super::speaker::{pace_of, sensitivity_of};
use crate::settings::{LipsyncSettings, VideoMouthStyle};
use crate::signal::{AttackRelease, Slew, smoothstep};
use crate::types::{VOWEL_COUNT, Vowel};

/// From one style to the other.
const STYLE_FADE_SECS: f32 = 0.12;
/// Time constants of the seen mouth at the default smoothing. The glide between camera frames smooths already.
const ATTACK_SECS: f32 = 0.008;
const RELEASE_SECS: f32 = 0.012;
/// Time constant towards a snapped target.
const SNAP_SECS: f32 = 0.045;
/// Width says something about the vowel only while the lips are apart (a closed-lip smile is no "ee").
const WIDTH_COUNTS_FROM: f32 = 0.03;
const WIDTH_COUNTS_AT: f32 = 0.07;
/// The anime look: from so far open (wide) on half, from so far on whole.
const SNAP_OPEN: [f32; 2] = [0.25, 0.7];
const SNAP_WIDE: [f32; 2] = [0.6, 0.8];
const SNAP_WIDTH_COUNTS: f32 = 0.05;
/// How much of the snapped width becomes "i".
const SNAP_IH: f32 = 0.7;

/// The seen mouth at one moment.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sight {
    /// How far it is open, 0..1.
    pub open: f32,
    /// How much wider than at rest, 0..1.
    pub wide: f32,
    /// How much narrower than at rest, 0..1.
    pub narrow: f32,
    /// Which vowel: shares that sum to 1.
    pub vowels: [f32; VOWEL_COUNT],
    /// The weights of the snapped look; they sum to at most 1.
    pub snapped: [f32; VOWEL_COUNT],
    /// How much of the snapped look is shown in video mode, 0..1.
    pub snap: f32,
}

/// Follows the seen mouth.
#[derive(Clone, Debug)]
pub(super) struct Sights {
    snap: Option<Slew>,
    open: AttackRelease,
    width: AttackRelease,
    round: AttackRelease,
    snapped_open: AttackRelease,
    snapped_wide: AttackRelease,
}

impl Sights {
    pub fn new() -> Self {
        Self {
            snap: None,
            open: AttackRelease::default(),
            width: AttackRelease { value: 0.5 },
            round: AttackRelease::default(),
            snapped_open: AttackRelease::default(),
            snapped_wide: AttackRelease::default(),
        }
    }

    /// How much of the snapped look is shown, 0..1.
    pub fn snap(&self) -> f32 {
        self.snap.map_or(0.0, |s| s.value)
    }

    /// The mouth `dt` seconds after the last one.
    pub fn step(&mut self, [open, width, round]: MouthRow, lipsync: &LipsyncSettings, dt: f32) -> Sight {
        let wanted = f32::from(u8::from(lipsync.video_style == VideoMouthStyle::Snap));
        let snap = self.snap.get_or_insert(Slew { value: wanted }).step(wanted, 1.0 / STYLE_FADE_SECS, dt);

        let pace = pace_of(lipsync.smoothing);
        let (attack, release) = (ATTACK_SECS * pace, RELEASE_SECS * pace);
        let apart = (open * sensitivity_of(lipsync)).clamp(0.0, 1.0);
        let open = self.open.step(apart, attack, release, dt);
        let seen_width = width;
        let width = self.width.step(width, attack, release, dt);
        let round = self.round.step(round, attack, release, dt);

        let wide = ((width - 0.5) * 2.0).max(0.0) * smoothstep(rise(open, WIDTH_COUNTS_FROM, WIDTH_COUNTS_AT));
        let narrow = ((0.5 - width) * 2.0).max(0.0);
        let rounding = (0.6 * round + 0.6 * narrow).clamp(0.0, 1.0);
        // Snapped is what is seen now: it eases by itself.
        let snapped = self.step_snapped(apart, seen_width, rounding, pace, dt);
        Sight { open, wide, narrow, vowels: vowel_of_sight(open, wide, rounding), snapped, snap }
    }

    fn step_snapped(&mut self, apart: f32, width: f32, rounding: f32, pace: f32, dt: f32) -> [f32; VOWEL_COUNT] {
        let time = SNAP_SECS * pace;
        let open = self.snapped_open.step(steps(apart, SNAP_OPEN), time, time, dt);
        let wide = if apart > SNAP_WIDTH_COUNTS { steps(width, SNAP_WIDE) } else { 0.0 };
        let wide = self.snapped_wide.step(wide, time, time, dt);
        let mut snapped = [0.0; VOWEL_COUNT];
        snapped[Vowel::Aa as usize] = open * (1.0 - rounding);
        snapped[Vowel::Oh as usize] = open * rounding;
        // How far the mouth opens comes first; the width gets what the sum of 1 leaves.
        snapped[Vowel::Ih as usize] = (SNAP_IH * wide).min(1.0 - open).max(0.0);
        at_most_one(snapped)
    }
}

/// 0, 0.5 or 1.
fn steps(x: f32, [half, full]: [f32; 2]) -> f32 {
    if x >= full {
        1.0
    } else if x >= half {
        0.5
    } else {
        0.0
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

/// 0 at `from`, 1 at `until`, straight on beyond both.
pub(super) fn rise(x: f32, from: f32, until: f32) -> f32 {
    (x - from) / (until - from)
}
