//! When a source counts as lost: the protocol's own word, silence, the same packet again and again. Pure.

use std::time::Duration;

use super::Seen;
use crate::types::{FaceObservation, FaceReport, Timestamp, VideoHints, VideoState};

/// Without a packet for this long nothing comes.
const SILENT_AFTER: Duration = Duration::from_millis(300);
/// Silence that means "no face" for this long means that the sender has ended.
const ENDED_AFTER: Duration = Duration::from_secs(5);

/// What a protocol means by silence and by repeating itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Rules {
    /// The state after [`SILENT_AFTER`] without a packet.
    pub silent: VideoState,
    /// The state while the same face is repeated, and since when it must have been.
    pub repeating: (VideoState, Duration),
}

/// Watches one source.
#[derive(Debug)]
pub(super) struct Watch {
    rules: Rules,
    opened_at: Timestamp,
    heard_at: Option<Timestamp>,
    last: Option<FaceObservation>,
    /// Since when `last` has come unchanged.
    same_since: Timestamp,
}

impl Watch {
    pub fn new(rules: Rules, now: Timestamp) -> Self {
        Self { rules, opened_at: now, heard_at: None, last: None, same_since: now }
    }

    /// When anything valid last came.
    pub fn heard_at(&self) -> Option<Timestamp> {
        self.heard_at
    }

    /// Takes what a packet said that arrived at `at`; a report without its number, or `None` for parts of a frame.
    pub fn hear(&mut self, seen: Seen, at: Timestamp) -> Option<FaceReport> {
        // After a silence the same face is a new one.
        if self.heard_at.replace(at).is_none_or(|last| at.saturating_since(last) >= SILENT_AFTER) {
            self.last = None;
        }
        let report = |state, hints, observation| FaceReport { captured_at: at, seq: 0, state, hints, observation };
        match seen {
            Seen::Nothing => None,
            Seen::NoFace => {
                self.last = None;
                Some(report(VideoState::FaceLost, VideoHints::default(), None))
            }
            Seen::Face(face, hints) => {
                let face = *face;
                if self.last.as_ref() != Some(&face) {
                    self.same_since = at;
                    self.last = Some(face.clone());
                }
                let (state, after) = self.rules.repeating;
                if at.saturating_since(self.same_since) >= after {
                    return Some(report(state, hints, None));
                }
                Some(report(VideoState::Tracked, hints, Some(face)))
            }
        }
    }

    /// What silence means at `now`; `None` while it is short.
    pub fn silence(&mut self, now: Timestamp) -> Option<FaceReport> {
        let silent_for = now.saturating_since(self.heard_at.unwrap_or(self.opened_at));
        if silent_for < SILENT_AFTER {
            return None;
        }
        let is_there = self.heard_at.is_some() && silent_for < ENDED_AFTER;
        let state = if is_there { self.rules.silent } else { VideoState::Stalled };
        Some(FaceReport { captured_at: now, state, ..FaceReport::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{ARKIT_COUNT, Lids};

    fn at(secs: f64) -> Timestamp {
        Timestamp::from_secs_f64(secs)
    }

    fn face(lid: f32) -> Seen {
        let face = FaceObservation {
            confidence: 1.0,
            landmarks_px: Vec::new(),
            head: Default::default(),
            position: Default::default(),
            mouth: Default::default(),
            lids: Lids { left: lid, right: lid },
            brows: Default::default(),
            gaze: Default::default(),
            blendshapes: [0.0; ARKIT_COUNT],
        };
        Seen::Face(Box::new(face), VideoHints::default())
    }

    fn watch(silent: VideoState) -> Watch {
        Watch::new(Rules { silent, repeating: (VideoState::Frozen, Duration::from_millis(500)) }, at(1.0))
    }

    fn state(report: Option<FaceReport>) -> Option<VideoState> {
        report.map(|r| r.state)
    }

    #[test]
    fn silence_is_told_after_a_third_of_a_second() {
        let mut watch = watch(VideoState::Stalled);
        assert_eq!(state(watch.silence(at(1.29))), None);
        assert_eq!(state(watch.silence(at(1.31))), Some(VideoState::Stalled), "nothing came at all");
        assert_eq!(state(watch.hear(face(0.0), at(2.0))), Some(VideoState::Tracked));
        assert_eq!(state(watch.silence(at(2.29))), None);
        let report = watch.silence(at(2.31)).unwrap();
        assert_eq!((report.state, report.observation), (VideoState::Stalled, None));
        assert_eq!(state(watch.hear(face(0.1), at(2.4))), Some(VideoState::Tracked), "back at once");
        assert_eq!(state(watch.silence(at(2.6))), None);
    }

    #[test]
    fn where_silence_means_no_face_it_does_so_for_a_while() {
        let mut watch = watch(VideoState::FaceLost);
        assert_eq!(state(watch.silence(at(2.0))), Some(VideoState::Stalled), "not before there was any");
        watch.hear(face(0.0), at(2.0));
        assert_eq!(state(watch.silence(at(2.5))), Some(VideoState::FaceLost));
        assert_eq!(state(watch.silence(at(7.1))), Some(VideoState::Stalled));
    }

    #[test]
    fn a_face_that_is_repeated_is_lost() {
        let mut watch = watch(VideoState::Stalled);
        for i in 0..30 {
            let now = 1.0 + f64::from(i) / 60.0;
            assert_eq!(state(watch.hear(face(0.3), at(now))), Some(VideoState::Tracked), "at {now}");
        }
        let report = watch.hear(face(0.3), at(1.51)).unwrap();
        assert_eq!((report.state, report.observation), (VideoState::Frozen, None));
        assert_eq!(state(watch.hear(face(0.31), at(1.6))), Some(VideoState::Tracked), "it moves again");
        watch.hear(face(0.31), at(1.6));
        assert_eq!(state(watch.hear(face(0.31), at(1.62))), Some(VideoState::Tracked), "twice is no repetition");
        assert_eq!(state(watch.hear(face(0.31), at(2.7))), Some(VideoState::Tracked), "nor is once after a silence");
    }

    #[test]
    fn the_senders_own_word_counts() {
        let mut watch = watch(VideoState::Stalled);
        watch.hear(face(0.3), at(1.0));
        assert_eq!(state(watch.hear(Seen::NoFace, at(1.1))), Some(VideoState::FaceLost));
        assert_eq!(state(watch.hear(Seen::Nothing, at(1.2))), None);
        assert_eq!(
            state(watch.hear(face(0.3), at(9.0))),
            Some(VideoState::Tracked),
            "the same face after a loss is new"
        );
    }
}
