//! The one integration test binary (image tests must flush the GPU before the process ends).

mod avatar;
mod render;
mod shaders;
