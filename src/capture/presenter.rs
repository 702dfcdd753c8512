//! The presenter: a drawn person as a built-in camera.
mod body;
mod mesh;
mod painter;
mod pose;
mod raster;
mod skin;
mod textures;
pub use painter::{Painter, Scene};
pub use pose::PresenterPose;
