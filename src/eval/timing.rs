//! How late the starts and ends of speech are heard and shown.
//!
//! Delays are causal: from the moment in the recording to the moment at which everything was known that is needed to
//! tell, look-ahead included. Only starts and ends beside a long enough silence count; labels of short pauses differ
//! too much between corpora.

use super::labels::Labels;
use super::listen::Heard;
use super::score::{OPEN_FROM, loudest, round};
use crate::types::Viseme;

/// Silence beside a start or end, at least, seconds.
const SILENCE_SECS: f64 = 0.3;
/// Speech beside it, at least, seconds.
const SPEECH_SECS: f64 = 0.1;
/// Labels are this exact; what is heard up to so much earlier belongs to the start or end, seconds.
const EARLY_SECS: f64 = 0.1;
/// What comes later than this is missed, seconds.
const LATE_SECS: f64 = 0.5;
/// An answer counts once it stands for so many hops: a single one is a stumble.
const STEADY_HOPS: usize = 3;
/// Lips pressed together this firmly move.
const PRESSED_FROM: f32 = 0.3;
/// A mouth that is open no further rests.
const RESTS_BELOW: f32 = 0.1;

/// Delays of one kind.
#[derive(Clone, Debug, Default)]
pub(super) struct Delays {
    secs: Vec<f64>,
    pub(super) missed: u64,
}

impl Delays {
    fn note(&mut self, delay_secs: Option<f64>) {
        match delay_secs {
            Some(delay_secs) => self.secs.push(delay_secs),
            None => self.missed += 1,
        }
    }

    fn merge(&mut self, other: &Self) {
        self.secs.extend_from_slice(&other.secs);
        self.missed += other.missed;
    }

    /// Found and missed ones.
    pub(super) fn count(&self) -> u64 {
        self.secs.len() as u64 + self.missed
    }

    /// The median of those that were found, milliseconds.
    pub(super) fn median_ms(&self) -> Option<f64> {
        let mut sorted = self.secs.clone();
        sorted.sort_by(f64::total_cmp);
        let upper = *sorted.get(sorted.len() / 2)?;
        let lower = if sorted.len().is_multiple_of(2) { *sorted.get(sorted.len() / 2 - 1)? } else { upper };
        Some(round((lower + upper) * 500.0))
    }
}

/// All delays of a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Timing {
    pub(super) onsets: Delays,
    pub(super) mouth_onsets: Delays,
    pub(super) offsets: Delays,
    pub(super) mouth_offsets: Delays,
}

/// A stretch of speech, or of silence, as labelled.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    is_speech: bool,
    start_secs: f64,
    end_secs: f64,
    /// The first and the last sound are known, so the ends are exact.
    is_exact: [bool; 2],
}

impl Stretch {
    fn len_secs(&self) -> f64 {
        self.end_secs - self.start_secs
    }
}

impl Timing {
    pub(super) fn merge(&mut self, other: &Self) {
        self.onsets.merge(&other.onsets);
        self.mouth_onsets.merge(&other.mouth_onsets);
        self.offsets.merge(&other.offsets);
        self.mouth_offsets.merge(&other.mouth_offsets);
    }

    pub(super) fn add(&mut self, heard: &Heard, labels: &Labels) {
        for pair in stretches(labels).windows(2) {
            let [before, after] = pair else { continue };
            let is_joined = (after.start_secs - before.end_secs).abs() < 0.02;
            let is_exact = before.is_exact[1] && after.is_exact[0];
            let (speech, silence) = if after.is_speech { (after, before) } else { (before, after) };
            let is_long = silence.len_secs() >= SILENCE_SECS && speech.len_secs() >= SPEECH_SECS;
            if !(is_joined && is_exact && is_long) {
                continue;
            }
            let at_secs = after.start_secs;
            let until_secs = at_secs + after.len_secs().min(LATE_SECS);
            // What happens is not in the recording if that ends too soon.
            if heard.secs < at_secs + SILENCE_SECS.min(after.len_secs()) {
                continue;
            }
            let first_heard = heard_from(heard, after.is_speech, at_secs, until_secs);
            let first_shown = shown_from(heard, after.is_speech, at_secs, until_secs);
            let (heard, shown) = if after.is_speech {
                (&mut self.onsets, &mut self.mouth_onsets)
            } else {
                (&mut self.offsets, &mut self.mouth_offsets)
            };
            heard.note(first_heard.map(|secs| secs - at_secs));
            shown.note(first_shown.map(|secs| secs - at_secs));
        }
    }
}

/// Neighbouring sounds of one kind as one stretch.
fn stretches(labels: &Labels) -> Vec<Stretch> {
    let mut found: Vec<Stretch> = Vec::new();
    for label in labels.iter() {
        let is_speech = label.viseme != Some(Viseme::Sil);
        let is_known = label.viseme.is_some();
        match found.last_mut() {
            Some(last) if last.is_speech == is_speech && (label.start_secs - last.end_secs).abs() < 0.02 => {
                last.end_secs = label.end_secs;
                last.is_exact[1] = is_known;
            }
            _ => found.push(Stretch {
                is_speech,
                start_secs: label.start_secs,
                end_secs: label.end_secs,
                is_exact: [is_known; 2],
            }),
        }
    }
    found
}

/// When it was known that somebody speaks (or does not), seconds.
fn heard_from(heard: &Heard, is_speech: bool, at_secs: f64, until_secs: f64) -> Option<f64> {
    let begin = heard.hops.partition_point(|hop| hop.at_secs < at_secs - EARLY_SECS);
    let hops = heard.hops.get(begin..)?;
    let is_right =
        |i: usize| hops.get(i).is_some_and(|hop| (loudest(&hop.frame.weights) != Viseme::Sil as usize) == is_speech);
    let first = (0..hops.len()).find(|i| (*i..*i + STEADY_HOPS).all(is_right))?;
    hops.get(first).filter(|hop| hop.at_secs < until_secs).map(|hop| hop.available_secs)
}

/// When the shown mouth began to move (or came to rest), seconds.
fn shown_from(heard: &Heard, is_speech: bool, at_secs: f64, until_secs: f64) -> Option<f64> {
    heard
        .mouths
        .iter()
        .skip_while(|tick| tick.at_secs < at_secs - EARLY_SECS)
        .take_while(|tick| tick.at_secs < until_secs)
        .find(|tick| {
            let mouth = &tick.mouth;
            if is_speech { mouth.open > OPEN_FROM || mouth.closed > PRESSED_FROM } else { mouth.open < RESTS_BELOW }
        })
        .map(|tick| tick.at_secs)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        let delays = |secs: &[f64]| Delays { secs: secs.to_vec(), missed: 0 }.median_ms();
        assert_eq!(delays(&[]), None);
        assert_eq!(delays(&[0.09, 0.01, 0.02]), Some(20.0));
        assert_eq!(delays(&[0.04, 0.01, 0.02, 0.09]), Some(30.0));
    }

    #[test]
    fn only_exact_edges_beside_long_silence_count() {
        let heard = Heard { secs: 10.0, ..Heard::default() };
        let edges = |table: &str| {
            let mut timing = Timing::default();
            timing.add(&heard, &Labels::parse(table).expect("labels"));
            (timing.onsets.count(), timing.offsets.count())
        };
        assert_eq!(edges("0\t1\tpau\tsil\n1\t2\ta\taa\n2\t3\tpau\tsil"), (1, 1));
        assert_eq!(edges("0\t0.2\tpau\tsil\n0.2\t2\ta\taa\n2\t3\tpau\tsil"), (0, 1));
        assert_eq!(edges("0\t1\tpau\tsil\n1\t1.2\t?\t?\n1.2\t2\ta\taa\n2\t3\tpau\tsil"), (0, 1));
        assert_eq!(edges("0\t0.2\tpau\tsil\n0.2\t0.5\tsp\tsil\n0.5\t2\ta\taa"), (1, 0));
        assert_eq!(edges("0\t1\tpau\tsil\n1.5\t2\ta\taa\n2\t3\tpau\tsil"), (0, 1));
    }
}
