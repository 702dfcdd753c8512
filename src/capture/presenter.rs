//! The presenter: a drawn person as a built-in camera, so that the whole path can be run, shown and judged against
//! known truth without a device and without a real person's picture. The face networks take it for a face.
//!
//! Knows nothing of networks, and the voice belongs to `audio::presenter`. A picture is a pure function of the script
//! and the frame's number. The picture's space: unflipped, so the person's left is on the right.

mod body;
mod mesh;
mod painter;
mod pose;
mod raster;
mod script;
mod skin;
mod speech;
mod textures;

use std::sync::Arc;
use std::time::Duration;

pub use painter::{Painter, Scene};
pub use pose::PresenterPose;
pub use script::{PresenterScript, PresenterTruth, ScriptError};

use super::FrameSource;
use crate::sync::Pace;
use crate::types::{ErrorKind, SourceError, Timestamp, VideoFault, VideoFrame};

/// Share of the light left when it is off (CONTRACT: `dark`).
const DARK: f32 = 0.04;
/// Pictures that may be in use at the same time without a new buffer.
const POOL: usize = 4;
const MAX_FPS: u32 = 240;

/// How the presenter is filmed.
#[derive(Clone, Debug)]
pub struct Filming {
    /// Pixels in a row, 16..4096.
    pub width: u32,
    /// Rows, 16..4096.
    pub height: u32,
    /// Frames a second, 1..240.
    pub fps: u32,
    /// The session time at which the script begins.
    pub starts_at: Timestamp,
    /// When a frame is there.
    pub pace: Pace,
}

impl Default for Filming {
    fn default() -> Self {
        Self { width: 640, height: 480, fps: 30, starts_at: Timestamp::ZERO, pace: Pace::Free }
    }
}

/// A camera that films the presenter.
///
/// By `Pace`: *Free* gives every frame at once, and each frame that a fault swallows as one error. *Stepped* gives the
/// frames up to the clock's time and then `Timeout`. *Live* sleeps until a frame is due and drops frames it is late
/// for, as a camera does.
pub struct PresenterCamera {
    script: Arc<PresenterScript>,
    filming: Filming,
    painter: Painter,
    /// The number of the next frame.
    next: u64,
    pool: Vec<Arc<[u8]>>,
    /// The picture painted last, and for which frame.
    last: Option<(u64, Arc<[u8]>)>,
    /// A frame in a freeze, and the frame whose picture it repeats.
    frozen: Option<(u64, u64)>,
}

impl PresenterCamera {
    /// Starts filming. Takes some 100 ms (textures are painted).
    ///
    /// # Errors
    /// `Setup` if size or frame rate are out of range.
    pub fn open(script: Arc<PresenterScript>, filming: Filming) -> Result<Self, SourceError> {
        let out_of_range = || {
            SourceError::device(
                ErrorKind::Setup,
                "the presenter can be filmed at 16x16 to 4096x4096 and 1 to 240 frames a second",
            )
        };
        if !(1..=MAX_FPS).contains(&filming.fps) {
            return Err(out_of_range());
        }
        let painter = Painter::new(filming.width, filming.height).ok_or_else(out_of_range)?;
        Ok(Self { script, filming, painter, next: 0, pool: Vec::new(), last: None, frozen: None })
    }

    /// The session time of the next frame.
    pub fn next_at(&self) -> Timestamp {
        self.session_time(self.next)
    }

    /// What is true in a frame of this source.
    pub fn truth_of(&self, frame: &VideoFrame) -> PresenterTruth {
        self.script.truth(self.script_secs(frame.seq))
    }

    fn script_secs(&self, frame: u64) -> f64 {
        frame as f64 / f64::from(self.filming.fps)
    }

    fn session_time(&self, frame: u64) -> Timestamp {
        self.filming.starts_at + Duration::from_secs_f64(self.script_secs(frame))
    }

    fn fault_of(&self, frame: u64) -> Option<VideoFault> {
        self.script.faults().video_at(Timestamp::from_secs_f64(self.script_secs(frame)))
    }

    /// Waits until the next frame is due; for how long is left afterwards. `Timeout` if it is not due in that time.
    fn wait(&mut self, timeout: Duration) -> Result<Duration, SourceError> {
        let Some(now) = self.filming.pace.now() else { return Ok(timeout) };
        let due = self.next_at();
        if due > now {
            let Pace::Live(_) = self.filming.pace else { return Err(SourceError::Timeout) };
            let early = due.saturating_since(now);
            std::thread::sleep(early.min(timeout));
            return timeout.checked_sub(early).ok_or(SourceError::Timeout);
        }
        if let Pace::Live(_) = self.filming.pace {
            // What a camera did not get read is lost.
            let newest = now.saturating_since(self.filming.starts_at).as_secs_f64() * f64::from(self.filming.fps);
            self.next = self.next.max(newest as u64);
        }
        Ok(timeout)
    }

    /// The frame whose picture is shown in this one: itself, or the last one before a freeze.
    fn shown_in(&mut self, frame: u64) -> u64 {
        if self.fault_of(frame) != Some(VideoFault::Frozen) {
            return frame;
        }
        let shown = match self.frozen {
            Some((before, shown)) if before + 1 == frame || before == frame => shown,
            _ => {
                let mut shown = frame;
                while shown > 0 && self.fault_of(shown) == Some(VideoFault::Frozen) {
                    shown -= 1;
                }
                shown
            }
        };
        self.frozen = Some((frame, shown));
        shown
    }

    fn picture_of(&mut self, frame: u64) -> Arc<[u8]> {
        if let Some((last, picture)) = &self.last
            && *last == frame
        {
            return Arc::clone(picture);
        }
        let fault = self.fault_of(frame);
        let mut picture = self.take_buffer();
        if let Some(rgb) = Arc::get_mut(&mut picture) {
            if fault == Some(VideoFault::Black) {
                rgb.fill(0);
            } else {
                let pose = self.script.truth(self.script_secs(frame)).pose;
                let scene = Scene {
                    person: (fault != Some(VideoFault::FaceOut)).then_some(pose),
                    mouth_covered: fault == Some(VideoFault::Covered),
                    light: if fault == Some(VideoFault::Dark) { DARK } else { 1.0 },
                    noise_seed: frame,
                };
                self.painter.paint(&scene, rgb);
            }
        }
        self.last = Some((frame, Arc::clone(&picture)));
        if self.pool.len() < POOL {
            self.pool.push(Arc::clone(&picture));
        }
        picture
    }

    /// A buffer that nobody else holds; a used one if there is one.
    fn take_buffer(&mut self) -> Arc<[u8]> {
        self.last = None;
        match self.pool.iter_mut().position(|b| Arc::get_mut(b).is_some()) {
            Some(i) => self.pool.swap_remove(i),
            None => vec![0; self.painter.picture_len()].into(),
        }
    }
}

impl FrameSource for PresenterCamera {
    /// For the camera thread; sleeps only with `Pace::Live`.
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError> {
        let mut left = timeout;
        loop {
            if self.script_secs(self.next) >= self.script.duration_secs() {
                return Err(SourceError::Ended);
            }
            left = self.wait(left)?;
            let frame = self.next;
            if self.script_secs(frame) >= self.script.duration_secs() {
                return Err(SourceError::Ended);
            }
            self.next += 1;
            match self.fault_of(frame) {
                Some(VideoFault::Disconnected) => {
                    return Err(SourceError::device(
                        ErrorKind::Gone,
                        "the presenter's camera has been unplugged (by its script)",
                    ));
                }
                Some(VideoFault::Stalled) => match self.filming.pace {
                    Pace::Free => return Err(SourceError::Timeout),
                    Pace::Stepped(_) | Pace::Live(_) => continue,
                },
                _ => {}
            }
            let shown = self.shown_in(frame);
            return Ok(VideoFrame {
                captured_at: self.session_time(frame),
                seq: frame,
                width: self.filming.width,
                height: self.filming.height,
                rgb: self.picture_of(shown),
            });
        }
    }
}
