//! How far the eyelids are closed, measured against how far this person's eyes open and close.
//!
//! The height of an eye's opening by its width (*aspect*) is the quietest sign there is, but people differ: 0.27–0.38
//! for open eyes, 0.05–0.08 for closed ones, and behind glasses the network sees closed eyes six times as far open. So
//! both levels are learned for each eye: the open one is the usual aspect, the closed one the bottom of *dips*, quick
//! falls that come back. The blink shapes help where the outline fails.

use crate::signal::smoothstep;
use crate::types::Lids;

/// An open eye before anything is learned, and the limits of what may be learned.
const FIRST_OPEN: f32 = 0.30;
const OPEN_RANGE: (f32, f32) = (0.12, 0.6);
const FIRST_CLOSED: f32 = 0.07;
const LEAST_CLOSED: f32 = 0.03;
/// Closed eyes have at most this share of the open aspect; glasses come near it.
const MOST_CLOSED_SHARE: f32 = 0.72;
/// The usual aspect is learned with this time constant; the first second of a new face counts in full.
const OPEN_SECS: f32 = 12.0;
const FIRST_SECS: f32 = 0.15;
/// An aspect under this share of the open one is a lid on its way, or eyes that look down, and no usual one; and one
/// over it by as much is surprise. A new face is learned from wider limits.
const USUAL: (f32, f32) = (0.82, 1.3);
const USUAL_AT_FIRST: (f32, f32) = (0.5, 2.0);
/// So long is a face new.
const NEW_SECS: f32 = 1.5;
/// Lids that only tremble or follow the gaze are open: up to here they have fallen by 0.
const OPEN_MARGIN: f32 = 0.14;
/// And from here on they are closed: at 25 pictures a second hardly one shows a blink's very bottom.
const CLOSED_MARGIN: f32 = 0.16;
/// `eyeBlink` over its usual weight: 0.15 is looking down, 0.45 closed.
const BLINK_RISE: (f32, f32) = (0.12, 0.45);
/// The blink shape's say.
const BLINK_SHARE: f32 = 0.25;
/// Eyes at most so wide in the picture (pixels) tell half-closed lids from lowered eyes badly: people two metres away who
/// look at their hands would blink all the time. From the second width on they are as good as any.
const SMALL_EYE_PX: (f32, f32) = (10.0, 22.0);
/// The power that the least sure closings are raised to, over 1.
const MOST_DOUBT: f32 = 1.5;
/// A dip: the aspect falls by this share of its recent height within [`DIP_FALL_SECS`], and is back within
/// [`DIP_SECS`]. Looking down is slower to come back.
const DIP_SHARE: f32 = 0.22;
const DIP_FALL_SECS: f32 = 0.2;
const DIP_SECS: f32 = 0.6;
/// Back means that this share of the fall is made good.
const DIP_BACK: f32 = 0.7;
/// So many dips must have been seen before they are believed, and so many are remembered.
const DIPS_NEEDED: usize = 3;
const DIPS: usize = 7;

/// What the two eyes' openings look like in one picture: left, right.
#[derive(Clone, Copy, Debug)]
pub(super) struct EyeSight {
    /// Height by width.
    pub aspects: [f32; 2],
    /// The blink shapes' weights.
    pub blinks: [f32; 2],
    /// How wide the eyes are in the picture, pixels.
    pub widths_px: [f32; 2],
}

/// Two aspects, left and right, for eyes held open and closed: what a calibration found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct LidLevels {
    pub open: [f32; 2],
    pub closed: [f32; 2],
}

/// Reads the lids of one person.
#[derive(Clone, Debug, Default)]
pub(super) struct LidReader {
    eyes: [EyeLevels; 2],
}

impl LidReader {
    /// The lids `dt` seconds after the last call. Learns from the picture if it shows the face from the front.
    pub fn read(&mut self, sight: EyeSight, is_frontal: bool, dt: f32) -> Lids {
        let [left, right] = &mut self.eyes;
        let read = |eye: &mut EyeLevels, i: usize| {
            let (aspect, blink) = (sight.aspects[i], sight.blinks[i]);
            if is_frontal && aspect.is_finite() && blink.is_finite() && dt > 0.0 {
                eye.learn(aspect, blink, dt);
            }
            doubtful(eye.closing(aspect, blink), sight.widths_px[i])
        };
        Lids { left: read(left, 0), right: read(right, 1) }
    }

    /// Takes over calibrated levels; what is learned goes on from there. Levels that cannot be are left alone.
    pub fn calibrate(&mut self, levels: LidLevels) {
        for (i, eye) in self.eyes.iter_mut().enumerate() {
            let (open, closed) = (levels.open[i], levels.closed[i]);
            if (OPEN_RANGE.0..=OPEN_RANGE.1).contains(&open) {
                eye.open = open;
                eye.seen_secs = OPEN_SECS;
                if closed > 0.0 && closed <= MOST_CLOSED_SHARE * open {
                    eye.closed = closed.max(LEAST_CLOSED);
                    eye.dips = Dips::calibrated(eye.closed);
                }
            }
        }
    }
}

/// What is left of a closing that is seen on an eye so small: all of it when closed, less of it between.
fn doubtful(closing: f32, width_px: f32) -> f32 {
    // `max` turns a width that is no number into no doubt.
    let doubt = (1.0 - smoothstep((width_px - SMALL_EYE_PX.0) / (SMALL_EYE_PX.1 - SMALL_EYE_PX.0))).max(0.0);
    closing.powf(1.0 + MOST_DOUBT * doubt)
}

/// What is known of one eye.
#[derive(Clone, Debug)]
struct EyeLevels {
    open: f32,
    closed: f32,
    /// The blink shape's usual weight.
    blink_rest: f32,
    seen_secs: f32,
    fall: Option<Fall>,
    /// The highest aspect lately, and how long ago.
    height: f32,
    height_age_secs: f32,
    dips: Dips,
}

impl Default for EyeLevels {
    fn default() -> Self {
        Self {
            open: FIRST_OPEN,
            closed: FIRST_CLOSED,
            blink_rest: 0.1,
            seen_secs: 0.0,
            fall: None,
            height: 0.0,
            height_age_secs: 0.0,
            dips: Dips::default(),
        }
    }
}

/// A fall that may become a dip.
#[derive(Clone, Copy, Debug)]
struct Fall {
    from: f32,
    lowest: f32,
    age_secs: f32,
}

impl EyeLevels {
    /// How far this eye is closed, 0..1.
    fn closing(&self, aspect: f32, blink: f32) -> f32 {
        let span = self.open - self.closed;
        let (from, to) = (self.open - OPEN_MARGIN * span, self.closed + CLOSED_MARGIN * span);
        let by_aspect = ((from - aspect) / (from - to)).clamp(0.0, 1.0);
        let by_shape = ((blink - self.blink_rest - BLINK_RISE.0) / (BLINK_RISE.1 - BLINK_RISE.0)).clamp(0.0, 1.0);
        let closing = by_aspect + (by_shape - by_aspect) * BLINK_SHARE;
        if closing.is_finite() { closing } else { 0.0 }
    }

    fn learn(&mut self, aspect: f32, blink: f32, dt: f32) {
        self.learn_closed(aspect, dt);
        let (least, most) = if self.seen_secs < NEW_SECS { USUAL_AT_FIRST } else { USUAL };
        let is_usual = (least * self.open..=most * self.open).contains(&aspect) && self.fall.is_none();
        if !is_usual {
            return;
        }
        self.seen_secs = (self.seen_secs + dt).min(OPEN_SECS);
        let share = (dt / self.seen_secs.max(FIRST_SECS)).min(1.0);
        self.open = (self.open + (aspect - self.open) * share).clamp(OPEN_RANGE.0, OPEN_RANGE.1);
        self.blink_rest = (self.blink_rest + (blink - self.blink_rest) * share).clamp(0.0, 0.4);
        self.closed = self.closed.min(MOST_CLOSED_SHARE * self.open);
    }

    /// Follows dips and learns from their bottoms.
    fn learn_closed(&mut self, aspect: f32, dt: f32) {
        self.height_age_secs += dt;
        if aspect >= self.height || self.height_age_secs > DIP_FALL_SECS {
            (self.height, self.height_age_secs) = (aspect, 0.0);
        }
        if self.fall.is_none() && aspect < (1.0 - DIP_SHARE) * self.height {
            self.fall = Some(Fall { from: self.height, lowest: aspect, age_secs: 0.0 });
        }
        let Some(fall) = &mut self.fall else { return };
        fall.age_secs += dt;
        fall.lowest = fall.lowest.min(aspect);
        if aspect >= fall.from - (1.0 - DIP_BACK) * (fall.from - fall.lowest) {
            self.dips.add(fall.lowest);
            self.fall = None;
            if let Some(closed) = self.dips.closed() {
                self.closed = closed.clamp(LEAST_CLOSED, MOST_CLOSED_SHARE * self.open);
            }
        } else if fall.age_secs > DIP_SECS {
            self.fall = None;
        }
    }
}

/// The bottoms of the last dips.
#[derive(Clone, Copy, Debug, Default)]
struct Dips {
    lowest: [f32; DIPS],
    count: usize,
}

impl Dips {
    fn calibrated(closed: f32) -> Self {
        Self { lowest: [closed; DIPS], count: DIPS }
    }

    fn add(&mut self, lowest: f32) {
        self.lowest.rotate_right(1);
        self.lowest[0] = lowest;
        self.count = (self.count + 1).min(DIPS);
    }

    /// The upper median: a half blink or two, and pictures that missed the bottom, change little.
    fn closed(&self) -> Option<f32> {
        if self.count < DIPS_NEEDED {
            return None;
        }
        let mut sorted = self.lowest;
        let sorted = &mut sorted[..self.count];
        sorted.sort_by(f32::total_cmp);
        sorted.get((self.count - 1) / 2).copied()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DT: f32 = 1.0 / 30.0;

    /// Somebody who looks at the camera for `secs` and blinks every 2.5 s; the lids read, and the true ones.
    fn sit(reader: &mut LidReader, open: f32, closed: f32, secs: f32) -> Vec<(f32, f32)> {
        (0..(secs / DT) as usize)
            .map(|i| {
                let t = i as f32 * DT % 2.5;
                let truth = if t < 0.07 { t / 0.07 } else { 1.0 - ((t - 0.12) / 0.15).max(0.0) }.clamp(0.0, 1.0);
                let aspect = open + (closed - open) * truth + 0.004 * (i as f32 * 1.7).sin();
                let sight = EyeSight { aspects: [aspect; 2], blinks: [0.1 + 0.5 * truth; 2], widths_px: [30.0; 2] };
                (reader.read(sight, true, DT).left, truth)
            })
            .collect()
    }

    #[test]
    fn eyes_of_any_size_open_and_close_fully_with_glasses_or_without() {
        // Wide eyes, narrow ones, closed eyes behind glasses.
        for (open, closed) in [(0.38, 0.07), (0.22, 0.05), (0.3, 0.18), (0.33, 0.06)] {
            let mut reader = LidReader::default();
            sit(&mut reader, open, closed, 10.0);
            let seen = sit(&mut reader, open, closed, 10.0);
            let at = |wanted: f32| seen.iter().filter(move |s| s.1 == wanted).map(|s| s.0);
            let (resting, shut) = (at(0.0).fold(0.0, f32::max), at(1.0).fold(1.0, f32::min));
            assert!(resting < 0.05, "{open}/{closed}: rests at {resting}");
            assert!(shut > 0.9, "{open}/{closed}: closes to {shut}");
        }
    }

    #[test]
    fn the_first_blink_counts_already() {
        let mut reader = LidReader::default();
        let seen = sit(&mut reader, 0.36, 0.08, 3.0);
        assert!(seen.iter().filter(|s| s.1 == 1.0).all(|s| s.0 > 0.9));
        assert!(seen.iter().skip(10).filter(|s| s.1 == 0.0).all(|s| s.0 < 0.05));
    }

    #[test]
    fn sleeping_and_looking_down_teach_nothing() {
        let mut reader = LidReader::default();
        sit(&mut reader, 0.33, 0.07, 10.0);
        let before = reader.eyes[0].clone();
        for aspect in [0.07, 0.2] {
            for _ in 0..900 {
                reader.read(EyeSight { aspects: [aspect; 2], blinks: [0.4; 2], widths_px: [30.0; 2] }, true, DT);
            }
        }
        let after = &reader.eyes[0];
        assert!((after.open - before.open).abs() < 0.01 && (after.closed - before.closed).abs() < 0.01, "{after:?}");
    }

    #[test]
    fn a_calibration_holds_at_once_and_a_broken_one_never() {
        let mut reader = LidReader::default();
        reader.calibrate(LidLevels { open: [0.28, 0.24], closed: [0.17, 0.15] });
        let read = |reader: &mut LidReader, aspects| {
            let lids = reader.read(EyeSight { aspects, blinks: [0.1; 2], widths_px: [30.0; 2] }, true, 0.0);
            [lids.left, lids.right]
        };
        assert_eq!(read(&mut reader, [0.28, 0.24]), [0.0, 0.0]);
        assert!(read(&mut reader, [0.17, 0.15]).iter().all(|lid| *lid >= 0.75));
        let before = reader.clone();
        reader.calibrate(LidLevels { open: [f32::NAN, 0.0], closed: [0.1, 9.0] });
        assert_eq!(reader.eyes[0].open, before.eyes[0].open);
        assert_eq!(reader.eyes[1].closed, before.eyes[1].closed);
    }

    #[test]
    fn half_closed_lids_are_doubted_on_small_eyes_and_closed_ones_are_not() {
        assert_eq!(doubtful(0.5, 30.0), 0.5);
        assert!(doubtful(0.5, 12.0) < 0.25 && doubtful(1.0, 12.0) == 1.0);
        assert!((0.0..=0.5).contains(&doubtful(0.5, f32::NAN)));
    }

    proptest! {
        #[test]
        fn whatever_is_seen_gives_lids_in_range(
            seen in prop::collection::vec((-1.0f32..3.0, -0.5f32..1.5, prop::bool::ANY, 0.0f32..0.5), 1..80),
        ) {
            let mut reader = LidReader::default();
            for (aspect, blink, frontal, dt) in seen {
                let broken = if blink < -0.4 { f32::NAN } else { blink };
                let lids = reader.read(EyeSight { aspects: [aspect, broken], blinks: [blink, aspect], widths_px: [blink * 40.0, 30.0] }, frontal, dt);
                prop_assert!((0.0..=1.0).contains(&lids.left) && (0.0..=1.0).contains(&lids.right), "{:?}", lids);
            }
        }
    }
}
