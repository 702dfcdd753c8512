//! A calibration from a speaker's own recordings, as if they had been asked to say their vowels.

use std::path::Path;

use super::EvalError;
use super::labels::{Label, Labels};
use crate::audio::{OUTPUT_RATE_HZ, PlainAudio, WavSource};
use crate::types::{Viseme, Vowel};
use crate::voice::{Calibration, Calibrator};

/// Sound of each vowel that is used, at most and at least, seconds.
const MOST_SECS: f64 = 1.0;
const LEAST_SECS: f64 = 0.3;
/// Shorter sounds are all transition, seconds.
const SHORTEST_SECS: f64 = 0.04;
/// The transitions at both ends of a sound are left out: this share of it.
const EDGE_SHARE: f64 = 0.125;
/// Given ahead of each sound and behind it, seconds: the network hears what leads to it, and answers a little later.
const LEAD_SECS: f64 = 1.0;
const TAIL_SECS: f64 = 0.03;

/// One sound to be used: which recording, which label.
#[derive(Clone, Copy)]
struct Pick {
    vowel: Vowel,
    recording: usize,
    label: usize,
    start_secs: f64,
    end_secs: f64,
}

/// Calibrates on the longest sounds of each vowel, 0.3 to 1 s in all, and takes them out of the labels, so that no
/// score counts them. `None` if there are too few of a vowel; the labels are whole then.
///
/// # Errors
/// If a recording cannot be read.
pub(super) fn calibration_of(recordings: &mut [(&Path, Option<Labels>)]) -> Result<Option<Calibration>, EvalError> {
    let mut picks = Vec::new();
    for vowel in Vowel::ALL {
        let chosen = longest(recordings, vowel);
        if chosen.iter().map(|p| p.end_secs - p.start_secs).sum::<f64>() < LEAST_SECS {
            return Ok(None);
        }
        picks.extend(chosen);
    }
    let mut calibrator = Calibrator::new()?;
    for (i, (path, _)) in recordings.iter().enumerate() {
        if !picks.iter().any(|pick| pick.recording == i) {
            continue;
        }
        let samples = PlainAudio::new(WavSource::open(path)?, 0.0)?.read_all()?;
        let index = |secs: f64| (secs.max(0.0) * f64::from(OUTPUT_RATE_HZ)) as usize;
        for pick in picks.iter().filter(|pick| pick.recording == i) {
            let edge = (pick.end_secs - pick.start_secs) * EDGE_SHARE;
            let begin = index(pick.start_secs + edge);
            let (from, until) = (index(pick.start_secs + edge - LEAD_SECS), index(pick.end_secs - edge + TAIL_SECS));
            let sound = samples.get(from..until.min(samples.len())).unwrap_or_default();
            calibrator.add(pick.vowel, sound, begin - from);
        }
    }
    let Ok(calibration) = calibrator.finish() else { return Ok(None) };
    for pick in picks {
        if let Some((_, Some(labels))) = recordings.get_mut(pick.recording) {
            labels.hold_out(pick.label);
        }
    }
    Ok(Some(calibration))
}

fn longest(recordings: &[(&Path, Option<Labels>)], vowel: Vowel) -> Vec<Pick> {
    let viseme = [Viseme::Aa, Viseme::Ih, Viseme::Ou, Viseme::E, Viseme::Oh][vowel as usize];
    let is_fit =
        |label: &Label| label.viseme == Some(viseme) && !label.is_shapeless() && label.len_secs() >= SHORTEST_SECS;
    let mut all: Vec<Pick> = Vec::new();
    for (recording, (_, labels)) in recordings.iter().enumerate() {
        for (label, said) in labels.iter().flat_map(|l| l.iter().enumerate()).filter(|(_, l)| is_fit(l)) {
            let (start_secs, end_secs) = (said.start_secs, said.end_secs);
            all.push(Pick { vowel, recording, label, start_secs, end_secs });
        }
    }
    // A stable order: the same calibration every time.
    all.sort_by(|a, b| (b.end_secs - b.start_secs).total_cmp(&(a.end_secs - a.start_secs)));
    let mut secs = 0.0;
    all.retain_mut(|pick| {
        let is_wanted = secs < MOST_SECS - SHORTEST_SECS;
        let middle = (pick.start_secs + pick.end_secs) / 2.0;
        let len = (pick.end_secs - pick.start_secs).min(MOST_SECS - secs);
        if is_wanted {
            (pick.start_secs, pick.end_secs) = (middle - len / 2.0, middle + len / 2.0);
            secs += len;
        }
        is_wanted
    });
    all
}
