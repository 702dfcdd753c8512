//! The one integration test binary (image tests must flush the GPU before the process ends).

mod avatar;
mod face;
mod layers;
mod mix;
mod motion;
mod presenter;
mod render;
mod shaders;
mod ui;
mod voice;
