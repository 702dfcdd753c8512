//! Counting blinks in a lid signal, and matching them with those that somebody counted.

use serde::Serialize;

/// A lid at least this far down counts as closed.
const CLOSED: f64 = 0.5;
/// It must have come down by so much, and go up again by so much: two blinks with less between them are one.
const CLOSING: f64 = 0.25;
const OPENING: f64 = 0.25;
/// A found blink belongs to a counted one at most this far away, seconds.
const TOLERANCE_SECS: f64 = 0.2;

/// One closing of the lids.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Blink {
    /// The middle of the time in which the lids were furthest down, seconds.
    pub secs: f64,
    /// How far down they came.
    pub depth: f64,
}

/// The blinks in (seconds, how far the lids are down). Eyes that are closed when it begins have not blinked;
/// `None` is a gap, after which it begins anew.
pub(super) fn blinks(signal: impl Iterator<Item = (f64, Option<f64>)>) -> Vec<Blink> {
    enum Lids {
        Unknown,
        /// The furthest up that they have been.
        Up(f64),
        /// The furthest down that they have been, from when to when.
        Down {
            depth: f64,
            from: f64,
            to: f64,
        },
    }
    let mut found = Vec::new();
    let mut lids = Lids::Unknown;
    for (secs, value) in signal {
        let Some(value) = value else {
            if let Lids::Down { depth, from, to } = lids {
                found.push(Blink { secs: f64::midpoint(from, to), depth });
            }
            lids = Lids::Unknown;
            continue;
        };
        lids = match lids {
            Lids::Unknown => Lids::Up(value),
            Lids::Up(least) if value >= CLOSED && value - least >= CLOSING => {
                Lids::Down { depth: value, from: secs, to: secs }
            }
            Lids::Up(least) => Lids::Up(least.min(value)),
            Lids::Down { depth, from, to } if value <= depth - OPENING => {
                found.push(Blink { secs: f64::midpoint(from, to), depth });
                Lids::Up(value)
            }
            Lids::Down { depth, .. } if value > depth + 0.02 => Lids::Down { depth: value, from: secs, to: secs },
            Lids::Down { depth, from, .. } if value >= depth - 0.02 => {
                Lids::Down { depth: depth.max(value), from, to: secs }
            }
            down @ Lids::Down { .. } => down,
        };
    }
    if let Lids::Down { depth, from, to } = lids {
        found.push(Blink { secs: f64::midpoint(from, to), depth });
    }
    found
}

/// How found and counted blinks fit.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct BlinkFigures {
    /// Counted by somebody.
    pub counted: usize,
    /// Of those, found.
    pub found: usize,
    /// Found where nobody counted one.
    pub wrong: usize,
    /// How far down the lids came in those that were found, in the mean.
    pub depth: Option<f64>,
    /// When the missed ones were, seconds; only for single clips.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missed_secs: Vec<f64>,
    /// When the wrong ones were, seconds; only for single clips.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub wrong_secs: Vec<f64>,
}

impl BlinkFigures {
    /// Each counted blink gets the nearest found one that is near enough and not taken yet.
    pub(super) fn of(found: &[Blink], counted_secs: &[f64]) -> Self {
        let mut pairs: Vec<(f64, usize, usize)> = Vec::new();
        for (i, counted) in counted_secs.iter().enumerate() {
            for (j, blink) in found.iter().enumerate() {
                let apart = (blink.secs - counted).abs();
                if apart <= TOLERANCE_SECS {
                    pairs.push((apart, i, j));
                }
            }
        }
        pairs.sort_by(|a, b| a.0.total_cmp(&b.0));
        let (mut counted_taken, mut found_taken) = (vec![false; counted_secs.len()], vec![false; found.len()]);
        for (_, i, j) in pairs {
            if let (Some(counted), Some(taken)) = (counted_taken.get_mut(i), found_taken.get_mut(j))
                && !*counted
                && !*taken
            {
                (*counted, *taken) = (true, true);
            }
        }
        let matched = || found.iter().zip(&found_taken).filter(|(_, taken)| **taken).map(|(blink, _)| blink.depth);
        let left = |secs: f64, taken: &bool| (!taken).then_some((secs * 1e3).round() / 1e3);
        let missed_secs: Vec<f64> = counted_secs.iter().zip(&counted_taken).filter_map(|(s, t)| left(*s, t)).collect();
        let wrong_secs: Vec<f64> = found.iter().zip(&found_taken).filter_map(|(b, t)| left(b.secs, t)).collect();
        Self {
            counted: counted_secs.len(),
            found: matched().count(),
            wrong: wrong_secs.len(),
            depth: super::numbers::mean(matched()),
            missed_secs,
            wrong_secs,
        }
    }

    /// Found ones among all that were shown.
    pub fn precision(&self) -> Option<f64> {
        let shown = self.found + self.wrong;
        (shown > 0).then(|| self.found as f64 / shown as f64)
    }

    /// Found ones among those that were counted.
    pub fn recall(&self) -> Option<f64> {
        (self.counted > 0).then(|| self.found as f64 / self.counted as f64)
    }

    /// Takes in another clip's; the times are left behind.
    pub(super) fn merge(&mut self, other: &Self) {
        let weighted = |figures: &Self| figures.depth.map(|depth| depth * figures.found as f64).unwrap_or_default();
        let sum = weighted(self) + weighted(other);
        self.counted += other.counted;
        self.found += other.found;
        self.wrong += other.wrong;
        self.depth = (self.found > 0).then(|| sum / self.found as f64);
        self.missed_secs.clear();
        self.wrong_secs.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A triangle of this height and half its width before and after each time.
    fn lids(peaks: &[(f64, f64)], half: f64) -> impl Iterator<Item = (f64, Option<f64>)> {
        (0..180).map(move |i| {
            let secs = f64::from(i) / 60.0;
            let value = peaks.iter().map(|(at, height)| (1.0 - (secs - at).abs() / half) * height).fold(0.1, f64::max);
            (secs, Some(value))
        })
    }

    #[test]
    fn single_and_double_blinks_are_counted_and_half_ones_are_not() {
        let found = blinks(lids(&[(0.5, 1.0), (1.0, 0.4), (2.0, 0.9), (2.2, 0.9)], 0.1));
        let times: Vec<f64> = found.iter().map(|b| (b.secs * 10.0).round() / 10.0).collect();
        assert_eq!(times, [0.5, 2.0, 2.2]);
        assert!((found[1].depth - 0.9).abs() < 0.05);
    }

    #[test]
    fn eyes_closed_from_the_start_and_trembling_lids_are_no_blinks() {
        let closed = (0..60).map(|i| (f64::from(i) / 60.0, Some(if i < 30 { 0.9 } else { 0.1 })));
        assert!(blinks(closed).is_empty());
        let trembling = (0..60).map(|i| (f64::from(i) / 60.0, Some(if i % 2 == 0 { 0.45 } else { 0.55 })));
        assert!(blinks(trembling).is_empty());
        // One that is cut off by the end or by a gap has been one.
        let shut = (0..60).map(|i| (f64::from(i) / 60.0, (i != 40).then_some(if i < 20 { 0.0 } else { 1.0 })));
        assert_eq!(blinks(shut).len(), 1);
    }

    #[test]
    fn each_counted_blink_is_found_once() {
        let blink = |secs: f64| Blink { secs, depth: 0.8 };
        let figures = BlinkFigures::of(&[blink(1.0), blink(1.1), blink(2.5)], &[1.08, 2.0, 2.45]);
        assert_eq!((figures.counted, figures.found, figures.wrong), (3, 2, 1));
        assert_eq!((figures.missed_secs.as_slice(), figures.wrong_secs.as_slice()), (&[2.0][..], &[1.0][..]));
        assert_eq!(figures.precision(), Some(2.0 / 3.0));
        let mut sum = figures.clone();
        sum.merge(&BlinkFigures::of(&[], &[1.0]));
        assert_eq!((sum.counted, sum.found, sum.recall()), (4, 2, Some(0.5)));
        assert!((sum.depth.unwrap() - 0.8).abs() < 1e-9 && sum.missed_secs.is_empty());
    }
}
