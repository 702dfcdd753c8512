//! The output window: constant title, the avatar and nothing else.

use std::sync::Arc;

use winit::dpi::PhysicalSize;
use winit::event_loop::ActiveEventLoop;
use winit::window::{Window, WindowId};

use crate::render::{AdapterReport, Background, Gpu, GpuOptions, OutputSurface, RenderError};

/// The title that OBS remembers; constant.
pub const TITLE: &str = "omote output";

/// Software Vulkan before this version of Mesa shows nothing in windows with an alpha channel.
const FIRST_MESA_WITH_ALPHA: u32 = 25;

/// The window that OBS captures. Lives on `main`.
pub struct OutputWindow {
    window: Arc<Window>,
    display: winit::event_loop::OwnedDisplayHandle,
    is_transparent: bool,
}

impl OutputWindow {
    /// Makes the window; `size` in pixels. `is_transparent` is fixed for its life: see [`can_be_transparent`].
    ///
    /// # Errors
    /// The system's words.
    pub fn open(event_loop: &ActiveEventLoop, size: [u32; 2], is_transparent: bool) -> Result<Self, String> {
        let attributes = Window::default_attributes()
            .with_title(TITLE)
            .with_transparent(is_transparent)
            .with_inner_size(PhysicalSize::new(size[0], size[1]));
        let window = event_loop.create_window(attributes).map_err(|e| e.to_string())?;
        Ok(Self { window: Arc::new(window), display: event_loop.owned_display_handle(), is_transparent })
    }

    /// Which events are this window's.
    pub fn id(&self) -> WindowId {
        self.window.id()
    }

    /// Size of the picture, pixels.
    pub fn size(&self) -> [u32; 2] {
        let size = self.window.inner_size();
        [size.width.max(1), size.height.max(1)]
    }

    /// Shows or hides it.
    pub fn set_visible(&self, is_visible: bool) {
        self.window.set_visible(is_visible);
    }

    /// Makes the opener of the device and surface, to be called on the `stage` thread, also after a device loss.
    pub fn surface_opener(&self) -> impl FnMut() -> Result<(Gpu, OutputSurface), RenderError> + Send + 'static {
        let (window, display, is_transparent) = (self.window.clone(), self.display.clone(), self.is_transparent);
        move || {
            let options = GpuOptions { display: Some(Box::new(display.clone())), ..GpuOptions::default() };
            let (gpu, surface) = Gpu::with_window(options, window.clone())?;
            let size = window.inner_size();
            let background = if is_transparent { Background::Transparent } else { Background::Color([0; 3]) };
            let surface = OutputSurface::new(&gpu, surface, size.width, size.height, background)?;
            Ok((gpu, surface))
        }
    }
}

/// Whether windows with an alpha channel work with the best of these adapters.
///
/// Mesa's software Vulkan before version 25 fails with an X error (BadMatch) in such windows and shows nothing.
pub fn can_be_transparent(adapters: &[AdapterReport]) -> bool {
    let Some(best) = adapters.first() else { return false };
    !best.is_software || mesa_version(&best.driver).is_none_or(|version| version >= FIRST_MESA_WITH_ALPHA)
}

fn mesa_version(driver: &str) -> Option<u32> {
    let rest = driver.split("Mesa ").nth(1)?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn adapter(is_software: bool, driver: &str) -> AdapterReport {
        AdapterReport {
            name: "test".into(),
            backend: "Vulkan".into(),
            driver: driver.into(),
            is_software,
            max_texture_px: 8192,
            has_compute: true,
        }
    }

    #[test]
    fn old_software_vulkan_gets_a_solid_window() {
        assert!(!can_be_transparent(&[adapter(true, "llvmpipe Mesa 22.3.6 (LLVM 15.0.6)")]));
        assert!(can_be_transparent(&[adapter(true, "llvmpipe Mesa 25.0.7-2 (LLVM 15.0.6)")]));
        assert!(can_be_transparent(&[adapter(false, "radv Mesa 22.3.6")]));
        assert!(can_be_transparent(&[adapter(false, "NVIDIA 570.1")]));
        assert!(!can_be_transparent(&[]));
    }
}
