//! The one integration test binary (image tests must flush the GPU before the process ends).

mod alloc;
mod avatar;
mod capture;
mod devices;
mod face;
mod layers;
mod mix;
mod motion;
mod presenter;
mod render;
mod rig;
mod shaders;
mod ui;
mod voice;
