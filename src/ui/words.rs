//! States and reasons in the streamer's words.

use crate::settings::{Quality, VideoSource};
use crate::types::{AudioHints, AudioState, VideoHints, VideoState};

/// How a state feels: decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Good,
    Degraded,
    Lost,
}

pub(super) fn video_state(state: VideoState, source: VideoSource) -> (Mood, &'static str) {
    match state {
        VideoState::Tracked => (Mood::Good, "tracking your face"),
        VideoState::TurnedAway => (Mood::Degraded, "face turned away"),
        VideoState::MouthCovered => (Mood::Degraded, "mouth covered"),
        VideoState::FaceLost if source.is_remote() => (Mood::Lost, "the sender sees no face"),
        VideoState::FaceLost => (Mood::Lost, "no face in the picture"),
        VideoState::TooDark => (Mood::Lost, "too dark to see a face: turn on a light"),
        VideoState::Black => (Mood::Lost, "black picture: is the lens covered?"),
        VideoState::Frozen if source.is_remote() => (Mood::Lost, "the sender repeats one face"),
        VideoState::Frozen => (Mood::Lost, "frozen picture"),
        VideoState::Stalled if source.is_remote() => (Mood::Lost, "nothing arrives"),
        VideoState::Stalled => (Mood::Lost, "camera gives no pictures"),
        VideoState::Disconnected | VideoState::NoPermission if source.is_remote() => (Mood::Lost, "cannot listen"),
        VideoState::Disconnected => (Mood::Lost, "no camera"),
        VideoState::NoPermission => (Mood::Lost, "the system refuses the camera: allow it in the privacy settings"),
    }
}

pub(super) fn audio_state(state: AudioState) -> (Mood, &'static str) {
    match state {
        AudioState::Live => (Mood::Good, "hearing you"),
        AudioState::Silent => (Mood::Good, "listening"),
        AudioState::Muted => (Mood::Lost, "muted: check the switch on the microphone and in the system"),
        AudioState::Stalled => (Mood::Lost, "microphone gives no sound"),
        AudioState::Disconnected => (Mood::Lost, "no microphone"),
        AudioState::NoPermission => (Mood::Lost, "the system refuses the microphone: allow it in the privacy settings"),
    }
}

pub(super) fn video_hints(hints: VideoHints) -> impl Iterator<Item = &'static str> {
    hints.names().map(|name| match name {
        "eyes_covered" => "eyes covered",
        "at_edge" => "at the edge of the picture",
        "picture" => "this looks like a picture of a face",
        "far" => "far away: come closer",
        "low_fps" => "few pictures a second: more light helps",
        "several_faces" => "several faces",
        other => other,
    })
}

pub(super) fn audio_hints(hints: AudioHints) -> impl Iterator<Item = &'static str> {
    hints.names().map(|name| match name {
        "clipping" => "too loud: lower the gain",
        "wrong_channel" => "the voice is on another channel",
        "too_quiet" => "very quiet: raise the gain",
        "noisy" => "noisy",
        other => other,
    })
}

pub(super) fn quality(quality: Quality) -> &'static str {
    match quality {
        Quality::Auto => "automatic",
        Quality::Full => "full",
        Quality::Light => "light",
        Quality::Eco => "eco",
    }
}

pub(super) fn quality_help(quality: Quality) -> &'static str {
    match quality {
        Quality::Auto => "What this computer can afford; eco while it has too much to do",
        Quality::Full => "Every picture in full",
        Quality::Light => "At most 30 pictures a second, expressions in every second of them",
        Quality::Eco => "At most 15 pictures a second: half the work",
    }
}
