//! What was said in a recording: a table of start, end (seconds), phone and viseme, separated by tabs.

use std::path::Path;

use super::EvalError;
use crate::types::Viseme;

/// A longer file is no table of labels.
const MAX_BYTES: u64 = 16 << 20;
/// No recording is longer, seconds.
const MAX_SECS: f64 = 1e6;
/// Labels may overlap by this much: rounding of the labelling program.
const OVERLAP_SECS: f64 = 0.002;

/// Sounds that borrow their viseme from a neighbour, and reduced vowels of every alphabet used in label files. Corpora
/// disagree about their shape: they are left out of the scores of six classes and of vowels.
const WITHOUT_SHAPE: [&str; 11] = ["w", "y", "hh", "h", "hy", "j", "ax", "q", "cl", "@", "a#"];

/// One sound.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// Seconds from the recording's first sample.
    pub start_secs: f64,
    /// Seconds; after the start.
    pub end_secs: f64,
    /// In whatever alphabet the corpus uses.
    pub phone: String,
    /// `None` where the corpus does not say; such a sound is left out of every score.
    pub viseme: Option<Viseme>,
}

impl Label {
    /// True for a sound without a shape that people agree on: glides, h, reduced vowels.
    pub fn is_shapeless(&self) -> bool {
        let phone = self.phone.to_lowercase();
        let bare = phone.trim_end_matches(['0', '1', '2']);
        WITHOUT_SHAPE.contains(&bare) || phone == "ah0"
    }

    /// Length, seconds.
    pub fn len_secs(&self) -> f64 {
        self.end_secs - self.start_secs
    }
}

/// The sounds of one recording, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Labels(Vec<Label>);

impl Labels {
    /// Reads a table. The first line may be a head; columns after the fourth are ignored.
    ///
    /// # Errors
    /// If the file is missing, or a line is no label.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let fault = |line, why: String| EvalError::Labels { path: path.into(), line, why };
        let len = std::fs::metadata(path).map_err(|e| fault(0, e.to_string()))?.len();
        if len > MAX_BYTES {
            return Err(fault(0, "it is far too large".into()));
        }
        let text = std::fs::read_to_string(path).map_err(|e| fault(0, e.to_string()))?;
        Self::parse(&text).map_err(|(line, why)| fault(line, why))
    }

    /// Reads the text of a table.
    ///
    /// # Errors
    /// The number of the line that is wrong, from 1, and why.
    pub fn parse(text: &str) -> Result<Self, (usize, String)> {
        let mut labels: Vec<Label> = Vec::new();
        for (i, line) in text.lines().enumerate() {
            let cells: Vec<&str> = line.split('\t').map(str::trim).collect();
            let is_head = i == 0 && cells.first().is_some_and(|cell| cell.parse::<f64>().is_err());
            if is_head || line.trim().is_empty() {
                continue;
            }
            let wrong = |why: String| Err((i + 1, why));
            let [start, end, phone, viseme, ..] = cells.as_slice() else {
                return wrong("start, end, phone and viseme are expected, separated by tabs".into());
            };
            let secs = |cell: &str| cell.parse::<f64>().ok().filter(|s| (0.0..MAX_SECS).contains(s));
            let (Some(start_secs), Some(end_secs)) = (secs(start), secs(end)) else {
                return wrong(format!("{start:?} or {end:?} is no time in seconds"));
            };
            if end_secs < start_secs {
                return wrong("it ends before it starts".into());
            }
            if labels.last().is_some_and(|last| start_secs < last.end_secs - OVERLAP_SECS) {
                return wrong("it starts before the one above ends".into());
            }
            let viseme = Viseme::ALL.into_iter().find(|v| v.name() == *viseme);
            if end_secs > start_secs {
                labels.push(Label { start_secs, end_secs, phone: (*phone).to_owned(), viseme });
            }
        }
        Ok(Self(labels))
    }

    /// The label at a moment.
    pub fn at(&self, secs: f64) -> Option<&Label> {
        let after = self.0.partition_point(|label| label.start_secs <= secs);
        self.0.get(after.checked_sub(1)?).filter(|label| secs < label.end_secs)
    }

    /// All of them, in order.
    pub fn iter(&self) -> std::slice::Iter<'_, Label> {
        self.0.iter()
    }

    /// Leaves a label out of every score.
    pub(super) fn hold_out(&mut self, index: usize) {
        if let Some(label) = self.0.get_mut(index) {
            label.viseme = None;
        }
    }

    /// True if somebody speaks anywhere.
    pub fn has_speech(&self) -> bool {
        self.0.iter().any(|label| label.viseme != Some(Viseme::Sil))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_table_is_read_with_and_without_head() {
        let rows = "0.0\t0.5\tsil\tsil\tN\n0.5\t0.7\taa1\taa\tA\n0.7\t0.8\t?\t?\t-\n";
        for text in [rows.to_owned(), format!("start_s\tend_s\tphone\tviseme15\n{rows}\n")] {
            let labels = Labels::parse(&text).expect("table");
            let at = |secs| labels.at(secs).map(|l| (l.phone.as_str(), l.viseme));
            assert_eq!(at(0.0), Some(("sil", Some(Viseme::Sil))));
            assert_eq!(at(0.5), Some(("aa1", Some(Viseme::Aa))));
            assert_eq!(at(0.75), Some(("?", None)));
            assert_eq!((at(0.8), at(-1.0)), (None, None));
            assert!(labels.has_speech());
        }
        assert!(!Labels::parse("0\t9\tpau\tsil").expect("table").has_speech());
    }

    #[test]
    fn a_broken_table_says_where() {
        let line = |text: &str| Labels::parse(text).expect_err(text).0;
        assert_eq!(line("0\t1\ta\taa\n1\tx\tb\tPP"), 2);
        assert_eq!(line("start\n0\t1\ta"), 2);
        assert_eq!(line("0\t1\ta\taa\n0.5\t2\ta\taa"), 2);
        assert_eq!(line("2\t1\ta\taa"), 1);
        assert_eq!(line("0\tinf\ta\taa"), 1);
    }

    #[test]
    fn reduced_vowels_and_glides_have_no_shape() {
        let label =
            |phone: &str| Label { start_secs: 0.0, end_secs: 1.0, phone: phone.into(), viseme: Some(Viseme::Aa) };
        assert!(["AH0", "ax", "@", "HH", "w", "y"].iter().all(|phone| label(phone).is_shapeless()));
        assert!(["AH1", "aa", "iy2", "a"].iter().all(|phone| !label(phone).is_shapeless()));
    }

    proptest! {
        #[test]
        fn nothing_panics(text in "[0-9a-z.\t\n-]{0,200}") {
            let _ = Labels::parse(&text).map(|labels| labels.at(0.5).cloned());
        }
    }
}
