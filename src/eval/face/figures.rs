//! What is measured of faces, in numbers: per clip, and added up.

use std::collections::BTreeMap;

use serde::Serialize;

use super::blinks::BlinkFigures;

/// Limits of parity, each in the mean over a clip.
pub mod limits {
    /// Landmarks: so many pixels, or that share of the eye distance.
    pub const LANDMARKS_PX: f64 = 0.3;
    /// See [`LANDMARKS_PX`].
    pub const LANDMARKS_SHARE: f64 = 0.003;
    /// Error of the 15 most used blendshapes.
    pub const BLENDSHAPES: f64 = 0.02;
    /// Head rotation without its constant offset, degrees.
    pub const HEAD_DEG: f64 = 0.7;
    /// Correlation of the lips' gap.
    pub const MOUTH: f64 = 0.98;
}

/// How equal image mode is to MediaPipe's: every frame through the detector, no filter, heads along the camera's axis.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ParityFigures {
    /// Frames with a reference.
    pub frames: usize,
    /// Frames in which both found a face; the errors are over these.
    pub common: usize,
    /// Frames in which only omote found one.
    pub ours_only: usize,
    /// Frames in which only MediaPipe found one.
    pub theirs_only: usize,
    /// Frames of which omote decoded other bytes than MediaPipe saw.
    pub other_pixels: usize,
    /// Mean distance of the 478 landmarks, pixels.
    pub landmarks_px: Option<f64>,
    /// The same in the worst frame.
    pub landmarks_worst_px: Option<f64>,
    /// The same as a share of the eye distance.
    pub landmarks_share: Option<f64>,
    /// Mean absolute error of the 15 most used blendshapes.
    pub blendshapes: Option<f64>,
    /// Mean of their correlations, of those that move.
    pub blendshapes_r: Option<f64>,
    /// Mean angle between the heads, constant offset taken out, degrees.
    pub head_deg: Option<f64>,
    /// The same in the worst frame.
    pub head_worst_deg: Option<f64>,
    /// The constant offset, degrees.
    pub head_offset_deg: Option<f64>,
    /// Correlation of the gap between the lips.
    pub mouth_r: Option<f64>,
    /// Clips with common frames, and how many of them keep all limits.
    pub clips: usize,
    /// See `clips`.
    pub clips_within_limits: usize,
    /// Each blendshape, the most used first.
    pub shapes: Vec<ShapeFigures>,
}

/// One blendshape against MediaPipe's.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ShapeFigures {
    /// Its ARKit name.
    pub name: &'static str,
    /// MediaPipe's mean weight.
    pub mean: f64,
    /// Mean absolute error.
    pub error: f64,
    /// Correlation; `None` where it hardly moves.
    pub r: Option<f64>,
}

/// Ours beside MediaPipe's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Versus {
    /// The product.
    pub ours: Option<f64>,
    /// MediaPipe's video mode.
    pub theirs: Option<f64>,
    /// Ours by theirs; over several clips the geometric mean of their ratios, so that a restless clip does not outweigh the
    /// others. `None` where it says nothing.
    pub ratio: Option<f64>,
}

/// The product's path: a face followed from frame to frame, filtered.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct ProductFigures {
    /// Share of all frames in which a face was seen.
    pub seen: f64,
    /// Frames by the state of the picture source.
    pub states: BTreeMap<&'static str, usize>,
    /// Share seen of the frames in which a face is there.
    pub seen_where_there: Option<f64>,
    /// Share seen of the frames in which none is there.
    pub seen_where_none: Option<f64>,
    /// Against MediaPipe's image mode: landmarks, pixels.
    pub landmarks_px: Option<f64>,
    /// Landmarks, share of the eye distance.
    pub landmarks_share: Option<f64>,
    /// Head, degrees, constant offset taken out. MediaPipe's turns with where it is in the picture; ours does not.
    pub head_deg: Option<f64>,
    /// Correlation of the mouth's opening.
    pub mouth_r: Option<f64>,
    /// Correlation of the lids.
    pub lids_r: Option<f64>,
    /// Root mean square of second differences on the stillest second: head, degrees.
    pub jitter_head_deg: Versus,
    /// Opening of the mouth, 0..1.
    pub jitter_mouth: Versus,
    /// Lids, 0..1.
    pub jitter_lids: Versus,
    /// Landmarks, pixels.
    pub jitter_landmarks_px: Versus,
    /// Delay against unfiltered single frames, milliseconds: yaw of the head.
    pub lag_head_ms: Versus,
    /// Opening of the mouth.
    pub lag_mouth_ms: Versus,
    /// Lids.
    pub lag_lids_ms: Versus,
    /// Work of one frame in which a face is followed, milliseconds of a thread.
    pub cost_ms: Versus,
    /// The avatar's blinks against counted ones.
    pub blinks: Option<BlinkFigures>,
    /// Blinks by MediaPipe's `eyeBlink` shapes over the same limit.
    pub their_blinks: Option<BlinkFigures>,
}

/// The product's path against what is true of the drawn presenter, in frames in which both show a face.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct TruthFigures {
    /// Frames.
    pub frames: usize,
    /// Mean absolute errors of yaw, pitch and roll, degrees.
    pub head_deg: [Option<f64>; 3],
    /// Mean absolute error of the mouth's opening, 0..1.
    pub mouth: Option<f64>,
    /// Its correlation.
    pub mouth_r: Option<f64>,
    /// Mean absolute error of the lids in the mean, 0..1.
    pub lids: Option<f64>,
    /// Its correlation.
    pub lids_r: Option<f64>,
    /// Mean absolute errors of the gaze's yaw and pitch while the eyes are open, degrees.
    pub gaze_deg: [Option<f64>; 2],
    /// Their correlations.
    pub gaze_r: [Option<f64>; 2],
    /// How late it is: yaw of the head, opening of the mouth, lids; milliseconds.
    pub lag_ms: [Option<f64>; 3],
}

/// The figures of one clip, one sub-folder, or all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FaceFigures {
    /// The clip or sub-folder; `total` for all.
    pub name: String,
    /// Clips and stills.
    pub files: usize,
    /// Frames in them.
    pub frames: usize,
    /// `None` without a reference.
    pub parity: Option<ParityFigures>,
    /// The product.
    pub product: ProductFigures,
    /// The product against the truth; `None` where that is not known.
    pub truth: Option<TruthFigures>,
}
