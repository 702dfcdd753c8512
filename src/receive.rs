//! Faces that arrive over UDP in place of a camera's pictures: phones and other trackers become [`FaceReport`]s.
//!
//! * `ifacialmocap`, `vts_phone`, `openseeface`, `vmc` – one protocol each: bytes → what was seen. Pure.
//! * `osc` – the part of OSC that VMC needs, safe against hostile packets.
//! * `shapes` – blendshape weights → mouth, lids, brows, gaze.
//! * `watch` – when a source counts as lost: silence, repeated packets, the protocol's own word. Pure.
//! * `admission` – who is listened to. Pure.
//! * `receiver` – the socket; asks phones for data, takes the newest packet, stamps it with its arrival.
//!
//! Everything that comes in is hostile until checked: sizes, counts, nesting, numbers. Nothing of it is logged.
//! Spaces are those of `types`: sides are the person's, angles as in `HeadPose`, positions in the camera's space. Knows
//! nothing of cameras, networks (the trained ones) or windows.

mod admission;
mod ifacialmocap;
mod openseeface;
mod osc;
mod receiver;
mod shapes;
mod vmc;
mod vts_phone;
mod watch;

use std::time::Duration;

pub use receiver::{Receiver, open, this_computer};

use crate::types::{FaceObservation, FaceReport, SourceError, VideoHints};

/// Gives reports about a face, one after another, without pictures.
pub trait ObservationSource: Send {
    /// The next report; waits for it up to `timeout`. It also reports that the face is lost or that nothing comes.
    ///
    /// # Errors
    /// `Timeout` if there is nothing to say, `Ended` after the last one of a file, `Device` if the source failed.
    fn next_report(&mut self, timeout: Duration) -> Result<FaceReport, SourceError>;

    /// What is wrong and what the user can do; `None` while all is well.
    fn advice(&self) -> Option<String>;

    /// Packets thrown away so far: broken, from others, or overtaken by newer ones.
    fn dropped_count(&self) -> u64;
}

/// Why a packet was thrown away. Corrupt in any case: it is rejected and counted.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no {protocol} packet ({why})")]
struct PacketError {
    protocol: &'static str,
    why: &'static str,
}

/// What a packet says.
#[derive(Clone, Debug, PartialEq)]
enum Seen {
    /// A face.
    Face(Box<FaceObservation>, VideoHints),
    /// The sender is alive and sees no face.
    NoFace,
    /// Part of something that is not whole yet, or nothing that matters here.
    Nothing,
}
