//! What was seen and what was heard become one [`FaceState`](crate::types::FaceState): [`Mixer`] is the only maker of `MouthShape`.
//!
//! Pure: no threads, clocks, files or logs. Time comes in with `now`; the same calls give the same result.
//!
//! Inside, everything is in the *person's* space (their left and right). The last step, and no other, removes the
//! neutral pose and mirrors (BEHAVIOUR §10); what comes out is in avatar space (+Y up, facing +Z, +X its left).
//!
//! * `align` – how much later a movement is seen than heard.
//! * `health` – is a source believed? State and age become a confidence that fades instead of switching.
//! * `seen` – camera reports, glided so that any display rate moves smoothly; `baseline` – what this person's mouth does.
//! * `heard` – the voice, played out evenly; `speaker` – shaped into an opening, a vowel and a closure.
//! * `mouth` – the three modes (`sight`: the seen one), the camera's `veto` and the fusion rule (BEHAVIOUR §1).

mod align;
mod baseline;
mod fuse;
mod health;
mod heard;
mod mixer;
mod mouth;
mod seen;
mod sight;
mod speaker;
mod track;
mod veto;

pub use fuse::fuse;
pub use mixer::{Mixer, neutral_of};
pub use mouth::laughter_shape;
