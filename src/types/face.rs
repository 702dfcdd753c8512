//! What was seen, and what the mixer makes of it.

use glam::{EulerRot, Quat, Vec3};

use super::{ARKIT_COUNT, AudioState, MouthShape, Timestamp};

/// Rotation of the head relative to looking straight into the camera, radians.
/// `R = Ry(yaw) · Rx(pitch) · Rz(-roll)`; +yaw own left, +pitch down, +roll towards the own left shoulder.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the type's doc says what they are")]
pub struct HeadPose {
    pub yaw: f32,
    pub pitch: f32,
    pub roll: f32,
}

impl HeadPose {
    /// The rotation in avatar space (+Y up, facing +Z, +X own left).
    pub fn to_quat(self) -> Quat {
        Quat::from_euler(EulerRot::YXZ, self.yaw, self.pitch, -self.roll)
    }

    /// The angles of a rotation in avatar space.
    pub fn from_quat(q: Quat) -> Self {
        let (yaw, pitch, neg_roll) = q.to_euler(EulerRot::YXZ);
        Self { yaw, pitch, roll: -neg_roll }
    }

    /// Componentwise `self + (other - self) · t`.
    pub fn lerp(self, other: Self, t: f32) -> Self {
        Self {
            yaw: self.yaw + (other.yaw - self.yaw) * t,
            pitch: self.pitch + (other.pitch - self.pitch) * t,
            roll: self.roll + (other.roll - self.roll) * t,
        }
    }
}

/// Mouth seen by the camera, scale-free, after calibration.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MouthRatios {
    /// 0 lips touch, 1 as far as this person opens.
    pub open: f32,
    /// 0 full pucker, 0.5 at rest, 1 as wide as this person goes.
    pub width: f32,
    /// Lip rounding, 0..1.
    pub round: f32,
    /// Smile, 0..1.
    pub smile: f32,
}

impl Default for MouthRatios {
    fn default() -> Self {
        Self { open: 0.0, width: 0.5, round: 0.0, smile: 0.0 }
    }
}

/// Eyelids: 0 open, 1 closed.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the type's doc says what they are")]
pub struct Lids {
    pub left: f32,
    pub right: f32,
}

/// Eyebrows: -1 lowered, 0 at rest, 1 raised.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the type's doc says what they are")]
pub struct Brows {
    pub left: f32,
    pub right: f32,
}

/// Where the eyes look, relative to the head, radians: +yaw own left, +pitch down.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
#[expect(missing_docs, reason = "the type's doc says what they are")]
pub struct Gaze {
    pub yaw: f32,
    pub pitch: f32,
}

/// What the face model saw in one frame. Sides are the person's.
#[derive(Clone, Debug, PartialEq)]
pub struct FaceObservation {
    /// How sure the model is that this is a face, 0..1.
    pub confidence: f32,
    /// 478 landmarks in frame pixels (x right, y down, z towards the back, same scale); empty where the source has none.
    pub landmarks_px: Vec<Vec3>,
    /// Head rotation.
    pub head: HeadPose,
    /// Head position in metres from the camera: x to the person's left, y up, z away from the camera.
    pub position: Vec3,
    /// The mouth.
    pub mouth: MouthRatios,
    /// The eyelids.
    pub lids: Lids,
    /// The eyebrows.
    pub brows: Brows,
    /// Where the eyes look.
    pub gaze: Gaze,
    /// The 52 ARKit weights by `Arkit as usize`, 0..1, as the model gives them.
    pub blendshapes: [f32; ARKIT_COUNT],
}

/// What state the video source is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum VideoState {
    /// A face is followed.
    Tracked,
    /// The face points away from the camera.
    TurnedAway,
    /// Something is before the mouth; its shape is unknown.
    MouthCovered,
    /// Pictures come, without a face.
    FaceLost,
    /// The picture is too dark to see a face.
    TooDark,
    /// The picture is black.
    Black,
    /// The same picture comes again and again.
    Frozen,
    /// The device is open but no pictures arrive.
    Stalled,
    /// There is no device.
    #[default]
    Disconnected,
    /// The system refuses access.
    NoPermission,
}

impl VideoState {
    const ALL: [Self; 10] = [
        Self::Tracked,
        Self::TurnedAway,
        Self::MouthCovered,
        Self::FaceLost,
        Self::TooDark,
        Self::Black,
        Self::Frozen,
        Self::Stalled,
        Self::Disconnected,
        Self::NoPermission,
    ];

    /// The name used in traces.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tracked => "tracked",
            Self::TurnedAway => "turned_away",
            Self::MouthCovered => "mouth_covered",
            Self::FaceLost => "face_lost",
            Self::TooDark => "too_dark",
            Self::Black => "black",
            Self::Frozen => "frozen",
            Self::Stalled => "stalled",
            Self::Disconnected => "disconnected",
            Self::NoPermission => "no_permission",
        }
    }

    /// The state with this trace name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.name() == name)
    }

    /// True where the mouth seen by the camera is known to be lost and has no say.
    pub fn is_mouth_lost(self) -> bool {
        self != Self::Tracked
    }

    /// True where nothing of the face is known.
    pub fn is_face_lost(self) -> bool {
        !matches!(self, Self::Tracked | Self::TurnedAway | Self::MouthCovered)
    }
}

/// Remarks about the picture that are no loss.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are CONTRACT's own")]
pub struct VideoHints {
    pub eyes_covered: bool,
    pub at_edge: bool,
    pub picture: bool,
    pub far: bool,
    pub low_fps: bool,
    pub several_faces: bool,
}

impl VideoHints {
    /// The trace names of the hints that are set.
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        [
            (self.eyes_covered, "eyes_covered"),
            (self.at_edge, "at_edge"),
            (self.picture, "picture"),
            (self.far, "far"),
            (self.low_fps, "low_fps"),
            (self.several_faces, "several_faces"),
        ]
        .into_iter()
        .filter_map(|(set, name)| set.then_some(name))
    }
}

/// One inference of a video source.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaceReport {
    /// When the picture was taken.
    pub captured_at: Timestamp,
    /// The frame's number.
    pub seq: u64,
    /// The source's state; says why `observation` is missing.
    pub state: VideoState,
    /// Remarks that are no loss.
    pub hints: VideoHints,
    /// What was seen; `None` without a face, never zeros.
    pub observation: Option<FaceObservation>,
}

/// How much each source is believed, 0..1. At 0 the idle layers take over.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Trust {
    /// Belief in head, eyes and brows.
    pub face: f32,
    /// Belief in the voice.
    pub voice: f32,
}

/// How sound and picture lie in time. Positive: the picture is later, so the sound waits for it.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Alignment {
    /// How much later than the sound the picture would be shown, seconds; `None` while that is not known.
    pub measured_secs: Option<f32>,
    /// How long the sound (negative: the picture) is held back, seconds, within ±0.06.
    pub applied_secs: f32,
}

/// What the person does now, as the mixer believes it. Sides are the avatar's: the mirror has been applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct FaceState {
    /// The moment described.
    pub at: Timestamp,
    /// The mouth to show.
    pub mouth: MouthShape,
    /// Eyelids as tracked; believe by `trust.face`.
    pub lids: Lids,
    /// Brows as tracked; believe by `trust.face`.
    pub brows: Brows,
    /// Gaze as tracked; believe by `trust.face`.
    pub gaze: Gaze,
    /// Head rotation as tracked, neutral removed; believe by `trust.face`.
    pub head: HeadPose,
    /// Head position relative to the neutral one, metres (x avatar's left, y up, z towards the viewer).
    pub position: Vec3,
    /// Smile seen by the camera, 0..1; believe by `trust.face`.
    pub smile: f32,
    /// True while somebody speaks (gate with hysteresis).
    pub is_speaking: bool,
    /// How sound and picture lie in time.
    pub alignment: Alignment,
    /// How much each source is believed.
    pub trust: Trust,
    /// The video source's state.
    pub video: VideoState,
    /// The microphone's state.
    pub audio: AudioState,
}
