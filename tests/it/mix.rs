//! The mixer at its boundary: reports in, face states out, over scripted speech and scripted losses.

mod align;
mod head;
mod losses;
mod modes;
mod properties;
mod scene;
mod sight;
mod sound;
