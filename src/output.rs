//! What leaves the app: the clean output window that OBS captures.
//!
//! The window belongs to the event loop on `main`; its surface is drawn to by the `stage` thread alone.

mod window;

pub use window::{OutputWindow, TITLE, can_be_transparent};
