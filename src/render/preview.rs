//! A small copy of the picture for the control window, read back without ever waiting for the GPU.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use super::blit::{Blitter, OutputAlpha};
use super::gpu::{Gpu, RenderError, wgpu};
use super::target::{FORMAT, Target, USAGES, copy_to_buffer, read_rows, staging_buffer};

/// Copies under way at most: one being drawn, one being mapped, one being read.
const SLOTS: usize = 3;

const FREE: u8 = 0;
const PENDING: u8 = 1;
const READY: u8 = 2;
const FAILED: u8 = 3;

/// Reads small pictures back, a frame or two late. Lives on the thread that draws.
#[derive(Debug)]
pub struct Preview {
    width: u32,
    height: u32,
    texture: wgpu::Texture,
    view: wgpu::TextureView,
    blitter: Blitter,
    slots: [Slot; SLOTS],
    next_number: u64,
}

#[derive(Debug)]
struct Slot {
    buffer: wgpu::Buffer,
    state: Arc<AtomicU8>,
    /// Grows with every picture.
    number: u64,
}

impl Preview {
    /// Previews of this size in pixels.
    pub fn new(gpu: &Gpu, width: u32, height: u32) -> Result<Self, RenderError> {
        let (width, height) = (width.max(1), height.max(1));
        gpu.checked(|| {
            let texture = gpu.device.create_texture(&wgpu::TextureDescriptor {
                label: Some("preview"),
                size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
                mip_level_count: 1,
                sample_count: 1,
                dimension: wgpu::TextureDimension::D2,
                format: FORMAT,
                usage: USAGES,
                view_formats: &[],
            });
            let view = texture.create_view(&wgpu::TextureViewDescriptor::default());
            let slots = std::array::from_fn(|_| Slot {
                buffer: staging_buffer(gpu, width, height),
                state: Arc::new(AtomicU8::new(FREE)),
                number: 0,
            });
            let blitter = Blitter::new(gpu, FORMAT, OutputAlpha::Premultiplied);
            Ok(Self { width, height, texture, view, blitter, slots, next_number: 1 })
        })
    }

    /// Width and height of the previews, pixels.
    pub fn size(&self) -> (u32, u32) {
        (self.width, self.height)
    }

    /// Starts copying the picture. If all slots are busy (the GPU is behind) this one is left out.
    pub fn request(&mut self, gpu: &Gpu, picture: &Target) {
        let Some(slot) = self.slots.iter_mut().find(|s| s.state.load(Ordering::Acquire) == FREE) else { return };
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        self.blitter.record(gpu, &mut encoder, picture, &self.view, self.width);
        copy_to_buffer(&mut encoder, &self.texture, &slot.buffer);
        gpu.queue.submit([encoder.finish()]);
        slot.number = self.next_number;
        self.next_number += 1;
        slot.state.store(PENDING, Ordering::Release);
        let state = Arc::clone(&slot.state);
        slot.buffer.slice(..).map_async(wgpu::MapMode::Read, move |result| {
            state.store(if result.is_ok() { READY } else { FAILED }, Ordering::Release);
        });
    }

    /// Takes the newest finished preview, premultiplied RGBA rows, into `pixels`; false if there is none yet.
    /// Older finished ones are dropped.
    pub fn take(&mut self, gpu: &Gpu, pixels: &mut Vec<u8>) -> bool {
        // Runs the callbacks of whatever is done; does not wait. What it could not do, the next frame does.
        let _ = gpu.device.poll(wgpu::PollType::Poll);
        let newest = self.slots.iter().filter(|s| s.state.load(Ordering::Acquire) == READY).map(|s| s.number).max();
        let mut taken = false;
        for slot in &self.slots {
            match slot.state.load(Ordering::Acquire) {
                READY => {
                    if Some(slot.number) == newest {
                        taken = read_rows(&slot.buffer, self.width, self.height, pixels).is_ok();
                    }
                    slot.buffer.unmap();
                    slot.state.store(FREE, Ordering::Release);
                }
                FAILED => slot.state.store(FREE, Ordering::Release),
                _ => {}
            }
        }
        taken
    }
}
