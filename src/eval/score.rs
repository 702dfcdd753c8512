//! Counting: what was heard and shown against what was said.

use serde::Serialize;

use super::labels::{Label, Labels};
use super::listen::{Heard, MouthTick};
use super::timing::Timing;
use crate::types::{Viseme, VisemeFrame};

/// The mouth counts as open from here.
pub(super) const OPEN_FROM: f32 = 0.05;
/// Lips pressed together this firmly meet.
const LIPS_MEET_AT: f32 = 0.5;
/// The shown lips may come together this much later than the said ones, seconds: the delay of the whole path.
const LIPS_MEET_WITHIN_SECS: f64 = 0.12;

/// A I U E O and closed.
const SIX_COUNT: usize = 6;
const CLOSED: usize = 5;

/// Right ones among counted ones.
#[derive(Clone, Copy, Debug, Default)]
struct Share {
    right: u64,
    all: u64,
}

impl Share {
    fn count(&mut self, is_right: bool) {
        self.right += u64::from(is_right);
        self.all += 1;
    }

    fn merge(&mut self, other: Self) {
        self.right += other.right;
        self.all += other.all;
    }

    fn value(self) -> Option<f64> {
        (self.all > 0).then(|| round(self.right as f64 / self.all as f64))
    }
}

/// Sums over recordings, from which [`Figures`] follow.
#[derive(Clone, Debug, Default)]
pub struct Score {
    visemes: Share,
    six: Share,
    six_pooled: Share,
    vowel: Share,
    vowel_pooled: Share,
    silence_precision: Share,
    silence_recall: Share,
    closure: Share,
    lips_heard: Share,
    lips_shown: Share,
    speech: Share,
    false_open: Share,
    false_open_raw: Share,
    labelled_secs: f64,
    heard_changes: u64,
    shown_changes: u64,
    timing: Timing,
}

/// The figures of a group. Shares are 0..1, times milliseconds; `None` where the material says nothing about it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// Hops of 10 ms that have a label.
    pub frames: u64,
    /// The likeliest of 15 visemes is the labelled one.
    pub viseme15: Option<f64>,
    /// A I U E O or closed, over vowels, silences and p b m; a consonant as the answer is wrong.
    pub six: Option<f64>,
    /// The same over vowels alone; reduced vowels are left out.
    pub vowel: Option<f64>,
    /// `six`, where only the six classes can be answered.
    pub six_pooled: Option<f64>,
    /// `vowel`, where only the six classes can be answered.
    pub vowel_pooled: Option<f64>,
    /// Of the hops heard as silence, those that are.
    pub silence_precision: Option<f64>,
    /// Of silent hops, those heard as silence.
    pub silence_recall: Option<f64>,
    /// Of the hops of p b m, those heard as such.
    pub pp_recall: Option<f64>,
    /// Of all p b m, those heard in at least one hop.
    pub lips_heard: Option<f64>,
    /// Of all p b m, those at which the shown lips meet.
    pub lips_shown: Option<f64>,
    /// Speech or not, by the probability of speech.
    pub speech_right: Option<f64>,
    /// Of the displayed frames of recordings in which nobody speaks, those with an open mouth.
    pub false_open: Option<f64>,
    /// Of their hops, those heard as an open mouth.
    pub false_open_raw: Option<f64>,
    /// Changes of the likeliest viseme a second, as heard.
    pub changes_heard: Option<f64>,
    /// Changes of the strongest shown viseme a second, after the mixer.
    pub changes_shown: Option<f64>,
    /// Starts of speech after at least 0.3 s of silence.
    pub onsets: u64,
    /// Those that were not heard within 0.5 s.
    pub onsets_missed: u64,
    /// From a start to its being heard: median.
    pub onset_ms: Option<f64>,
    /// From a start to a moving mouth: median.
    pub mouth_onset_ms: Option<f64>,
    /// Ends of speech before at least 0.3 s of silence.
    pub offsets: u64,
    /// Those that were not heard within 0.5 s.
    pub offsets_missed: u64,
    /// From an end to its being heard: median.
    pub offset_ms: Option<f64>,
    /// From an end to a resting mouth: median.
    pub mouth_offset_ms: Option<f64>,
}

impl Score {
    /// Counts one recording. Without labels nobody speaks in it.
    pub fn add(&mut self, heard: &Heard, labels: Option<&Labels>) {
        match labels {
            Some(labels) => {
                self.add_labelled(heard, labels);
                if !labels.has_speech() {
                    self.add_noise(heard);
                }
            }
            None => self.add_noise(heard),
        }
    }

    /// Adds the sums of another group.
    pub fn merge(&mut self, other: &Self) {
        let pairs = [
            (&mut self.visemes, other.visemes),
            (&mut self.six, other.six),
            (&mut self.six_pooled, other.six_pooled),
            (&mut self.vowel, other.vowel),
            (&mut self.vowel_pooled, other.vowel_pooled),
            (&mut self.silence_precision, other.silence_precision),
            (&mut self.silence_recall, other.silence_recall),
            (&mut self.closure, other.closure),
            (&mut self.lips_heard, other.lips_heard),
            (&mut self.lips_shown, other.lips_shown),
            (&mut self.speech, other.speech),
            (&mut self.false_open, other.false_open),
            (&mut self.false_open_raw, other.false_open_raw),
        ];
        for (sum, more) in pairs {
            sum.merge(more);
        }
        self.labelled_secs += other.labelled_secs;
        self.heard_changes += other.heard_changes;
        self.shown_changes += other.shown_changes;
        self.timing.merge(&other.timing);
    }

    /// What follows from the sums.
    pub fn figures(&self) -> Figures {
        let per_sec = |changes: u64| (self.labelled_secs > 0.0).then(|| round(changes as f64 / self.labelled_secs));
        let timing = &self.timing;
        Figures {
            frames: self.visemes.all,
            viseme15: self.visemes.value(),
            six: self.six.value(),
            vowel: self.vowel.value(),
            six_pooled: self.six_pooled.value(),
            vowel_pooled: self.vowel_pooled.value(),
            silence_precision: self.silence_precision.value(),
            silence_recall: self.silence_recall.value(),
            pp_recall: self.closure.value(),
            lips_heard: self.lips_heard.value(),
            lips_shown: self.lips_shown.value(),
            speech_right: self.speech.value(),
            false_open: self.false_open.value(),
            false_open_raw: self.false_open_raw.value(),
            changes_heard: per_sec(self.heard_changes),
            changes_shown: per_sec(self.shown_changes),
            onsets: timing.onsets.count(),
            onsets_missed: timing.onsets.missed,
            onset_ms: timing.onsets.median_ms(),
            mouth_onset_ms: timing.mouth_onsets.median_ms(),
            offsets: timing.offsets.count(),
            offsets_missed: timing.offsets.missed,
            offset_ms: timing.offsets.median_ms(),
            mouth_offset_ms: timing.mouth_offsets.median_ms(),
        }
    }

    fn add_labelled(&mut self, heard: &Heard, labels: &Labels) {
        self.labelled_secs += heard.secs;
        for hop in &heard.hops {
            let Some(label) = labels.at(hop.at_secs) else { continue };
            let Some(truth) = label.viseme else { continue };
            self.add_hop(&hop.frame, label, truth);
        }
        self.heard_changes += changes(heard.hops.iter().map(|hop| loudest(&hop.frame.weights)));
        self.shown_changes += changes(heard.mouths.iter().map(|tick| loudest(&tick.mouth.visemes)));
        for label in labels.iter().filter(|l| l.viseme == Some(Viseme::Pp)) {
            let inside = |secs: f64| label.start_secs <= secs && secs < label.end_secs;
            let mut hops = heard.hops.iter().filter(|hop| inside(hop.at_secs)).peekable();
            if hops.peek().is_none() {
                continue;
            }
            self.lips_heard.count(hops.any(|hop| loudest(&hop.frame.weights) == Viseme::Pp as usize));
            let shown_until = label.end_secs + LIPS_MEET_WITHIN_SECS;
            let mut shown = heard.mouths.iter().filter(|m| label.start_secs <= m.at_secs && m.at_secs < shown_until);
            self.lips_shown.count(shown.any(do_lips_meet));
        }
        self.timing.add(heard, labels);
    }

    fn add_hop(&mut self, frame: &VisemeFrame, label: &Label, truth: Viseme) {
        let answer = loudest(&frame.weights);
        let is_right = answer == truth as usize;
        self.visemes.count(is_right);
        self.speech.count((frame.voiced > 0.5) == (truth != Viseme::Sil));
        if answer == Viseme::Sil as usize {
            self.silence_precision.count(is_right);
        }
        match truth {
            Viseme::Sil => self.silence_recall.count(is_right),
            Viseme::Pp => self.closure.count(is_right),
            _ => {}
        }
        let Some(six) = six_of(truth).filter(|_| !label.is_shapeless()) else { return };
        let strict = Viseme::ALL.get(answer).copied().and_then(six_of) == Some(six);
        let pooled = pooled_answer(frame) == six;
        self.six.count(strict);
        self.six_pooled.count(pooled);
        if six != CLOSED {
            self.vowel.count(strict);
            self.vowel_pooled.count(pooled);
        }
    }

    fn add_noise(&mut self, heard: &Heard) {
        for hop in &heard.hops {
            let answer = loudest(&hop.frame.weights);
            self.false_open_raw.count(answer != Viseme::Sil as usize && answer != Viseme::Pp as usize);
        }
        for tick in &heard.mouths {
            self.false_open.count(tick.mouth.open > OPEN_FROM);
        }
    }
}

/// Six classes: what an avatar with five vowels shows.
fn six_of(viseme: Viseme) -> Option<usize> {
    match viseme {
        Viseme::Aa => Some(0),
        Viseme::Ih => Some(1),
        Viseme::Ou => Some(2),
        Viseme::E => Some(3),
        Viseme::Oh => Some(4),
        Viseme::Sil | Viseme::Pp => Some(CLOSED),
        _ => None,
    }
}

fn pooled_answer(frame: &VisemeFrame) -> usize {
    let mut pooled = [0.0; SIX_COUNT];
    for (viseme, weight) in Viseme::ALL.into_iter().zip(frame.weights) {
        if let Some(sum) = six_of(viseme).and_then(|six| pooled.get_mut(six)) {
            *sum += weight;
        }
    }
    loudest(&pooled)
}

/// The first of the largest.
pub(super) fn loudest(weights: &[f32]) -> usize {
    let mut best = (0, f32::NEG_INFINITY);
    for (i, weight) in weights.iter().enumerate() {
        if *weight > best.1 {
            best = (i, *weight);
        }
    }
    best.0
}

fn do_lips_meet(tick: &MouthTick) -> bool {
    tick.mouth.closed >= LIPS_MEET_AT || tick.mouth.open <= OPEN_FROM
}

fn changes(values: impl Iterator<Item = usize>) -> u64 {
    let mut last = None;
    values.filter(|value| last.replace(*value).is_some_and(|before| before != *value)).count() as u64
}

/// Four digits are more than the figures hold.
pub(super) fn round(value: f64) -> f64 {
    (value * 1e4).round() / 1e4
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::listen::Hop;
    use crate::types::MouthShape;

    fn frame(viseme: Viseme) -> VisemeFrame {
        let mut frame = VisemeFrame {
            weights: [0.01; 15],
            voiced: f32::from(u8::from(viseme != Viseme::Sil)),
            ..VisemeFrame::SILENT
        };
        frame.weights[viseme as usize] = 0.86;
        frame
    }

    /// A recording in which every hop is heard as `answer(time)`, 45 ms late.
    fn heard(secs: f64, answer: impl Fn(f64) -> Viseme) -> Heard {
        let hops = (0..(secs * 100.0) as usize)
            .map(|i| {
                let at_secs = i as f64 / 100.0 + 0.005;
                Hop { at_secs, available_secs: at_secs + 0.045, frame: frame(answer(at_secs)) }
            })
            .collect();
        let mouths = (0..(secs * 60.0) as usize)
            .map(|i| {
                let at_secs = i as f64 / 60.0;
                let viseme = answer(at_secs - 0.06);
                let is_open = !matches!(viseme, Viseme::Sil | Viseme::Pp);
                let mouth = MouthShape {
                    open: f32::from(u8::from(is_open)),
                    closed: f32::from(u8::from(viseme == Viseme::Pp)),
                    visemes: frame(viseme).weights,
                    ..MouthShape::REST
                };
                MouthTick { at_secs, mouth }
            })
            .collect();
        Heard { hops, mouths, secs }
    }

    fn said(secs: f64) -> Viseme {
        match secs {
            s if !(1.0..2.0).contains(&s) => Viseme::Sil,
            s if s < 1.1 => Viseme::Pp,
            s if s < 1.6 => Viseme::Aa,
            _ => Viseme::Ou,
        }
    }

    fn labels() -> Labels {
        Labels::parse("0\t1\tpau\tsil\n1\t1.1\tp\tPP\n1.1\t1.6\taa\taa\n1.6\t2\tuw\tou\n2\t3\tpau\tsil")
            .expect("labels")
    }

    #[test]
    fn a_perfect_listener_has_perfect_figures() {
        let mut score = Score::default();
        score.add(&heard(3.0, said), Some(&labels()));
        let figures = score.figures();
        for share in [
            figures.viseme15,
            figures.six,
            figures.vowel,
            figures.six_pooled,
            figures.silence_precision,
            figures.silence_recall,
            figures.pp_recall,
            figures.lips_heard,
            figures.lips_shown,
            figures.speech_right,
        ] {
            assert_eq!(share, Some(1.0), "{figures:?}");
        }
        assert_eq!((figures.frames, figures.false_open), (300, None));
        assert_eq!((figures.onsets, figures.onsets_missed, figures.offsets, figures.offsets_missed), (1, 0, 1, 0));
        assert_eq!((figures.onset_ms, figures.offset_ms), (Some(50.0), Some(50.0)));
        assert!((figures.changes_heard.expect("changes") - 4.0 / 3.0).abs() < 0.01);
    }

    #[test]
    fn a_consonant_is_a_wrong_answer_unless_only_six_are_asked_for() {
        let mut score = Score::default();
        score.add(&heard(3.0, |s| if said(s) == Viseme::Aa { Viseme::Kk } else { said(s) }), Some(&labels()));
        let figures = score.figures();
        assert_eq!(figures.vowel, Some(0.4444));
        // The rest is spread evenly: the closed mouth is two of fifteen.
        assert_eq!(figures.vowel_pooled, Some(0.4444));
        assert_eq!(figures.six, Some(0.8333));
    }

    #[test]
    fn noise_counts_open_mouths_alone() {
        let mut score = Score::default();
        score.add(&heard(3.0, |s| if s < 0.75 { Viseme::Aa } else { Viseme::Sil }), None);
        let figures = score.figures();
        assert_eq!((figures.frames, figures.six, figures.onsets), (0, None, 0));
        assert_eq!(figures.false_open_raw, Some(0.25));
        assert!((figures.false_open.expect("share") - 0.27).abs() < 0.01);
    }

    #[test]
    fn groups_add_up() {
        let (mut one, mut both) = (Score::default(), Score::default());
        one.add(&heard(3.0, said), Some(&labels()));
        both.merge(&one);
        both.merge(&one);
        assert_eq!(both.figures().frames, 600);
        assert_eq!(both.figures().onsets, 2);
        assert_eq!(both.figures().changes_heard, one.figures().changes_heard);
    }
}
