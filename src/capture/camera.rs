//! The live camera.
//!
//! nokhwa's read call has no time-out: a camera that stalls holds its thread for ever. So a [`Camera`] has an inner
//! thread that opens, reads, decodes and closes the device, and hands the newest frame on. If that thread does not
//! answer when the source is dropped, it is left behind; it closes the device by itself should the call ever return.
//! Panics of driver crates end that thread and become an error here.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crossbeam_channel::{Sender, bounded};
use nokhwa::NokhwaError;
use nokhwa::utils::{ApiBackend, CameraFormat, CameraIndex, FrameFormat, RequestedFormat, RequestedFormatType};

use super::FrameSource;
use super::camera_format::{READABLE, Wanted, ranked};
use super::jpeg::JpegReader;
use super::pixels;
use super::pool::FramePool;
use crate::settings::VideoSettings;
use crate::sync::{Ending, LatestReader, LatestWriter, SessionClock, StopFlag, Worker, latest};
use crate::types::{ErrorKind, SourceError, VideoFrame};

/// How long opening may take; some drivers never come back.
const OPEN_TIMEOUT: Duration = Duration::from_secs(6);
/// How long a closing camera is waited for: a few frames.
const CLOSE_PATIENCE: Duration = Duration::from_millis(400);
/// How long the system's question for permission may stay unanswered (macOS) before it counts as a no.
const PERMISSION_TIMEOUT: Duration = Duration::from_secs(4);
/// How many formats are tried before the camera's own choice is taken.
const FORMAT_TRIES: usize = 4;
/// How often in a row a read may say "not yet" before the camera counts as gone; 5 ms apart.
const NOT_YET_LIMIT: u32 = 200;

/// A camera that is plugged in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameraInfo {
    /// Its name as the pickers show it and `video.camera` holds it; unique in one list.
    pub name: String,
}

/// The cameras the system has now. Takes some ten milliseconds: not for the UI thread.
///
/// # Errors
/// If the system's list cannot be read.
pub fn list_cameras() -> Result<Vec<CameraInfo>, SourceError> {
    Ok(devices()?.into_iter().map(|d| CameraInfo { name: d.name }).collect())
}

/// How an open camera delivers its pictures.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CameraMode {
    /// The camera's name.
    pub name: String,
    /// Pixels in a row, as agreed with the driver; each frame has its own.
    pub width: u32,
    /// Rows, as agreed with the driver.
    pub height: u32,
    /// Frames a second, as agreed with the driver; dark rooms make cameras slower.
    pub fps: u32,
    /// The driver's pixel format, for the status line.
    pub format: String,
}

/// An open camera.
#[derive(Debug)]
pub struct Camera {
    mode: CameraMode,
    frames: LatestReader<Result<VideoFrame, SourceError>>,
    /// What ended the inner thread, once it was read.
    failure: Option<SourceError>,
    skipped: Arc<AtomicU64>,
    /// `None` only inside `drop`.
    worker: Option<Worker>,
}

impl Camera {
    /// Opens the camera that `settings` name, or the first one that works. Blocks for up to six seconds.
    ///
    /// # Errors
    /// `Gone` if it is not there, in use, or does not answer; `Setup` if the system refuses access.
    pub fn open(settings: &VideoSettings, clock: SessionClock) -> Result<Self, SourceError> {
        let wanted_name = settings.camera.trim().to_owned();
        let wanted = Wanted { width: settings.width, height: settings.height, fps: settings.fps };
        let (ready, opened) = bounded(1);
        let (writer, frames) = latest();
        let skipped = Arc::new(AtomicU64::new(0));
        let thread = Inner { wanted, clock, skipped: skipped.clone(), frames: writer };
        let worker = Worker::spawn("camera-driver", move |stop| thread.run(&wanted_name, &ready, &stop))
            .map_err(|e| SourceError::device(ErrorKind::Transient, format!("no thread for the camera ({e})")))?;
        match opened.recv_timeout(OPEN_TIMEOUT) {
            Ok(Ok(mode)) => Ok(Self { mode, frames, failure: None, skipped, worker: Some(worker) }),
            Ok(Err(error)) => Err(error),
            Err(_) if worker.is_finished() => Err(gone("the camera driver failed; plug the camera in anew")),
            Err(_) => {
                worker.detach();
                Err(gone("the camera does not answer; unplug it and plug it in again"))
            }
        }
    }

    /// How it delivers its pictures.
    pub fn mode(&self) -> &CameraMode {
        &self.mode
    }

    /// Pictures that came damaged and were left out.
    pub fn skipped_count(&self) -> u64 {
        self.skipped.load(Ordering::Relaxed)
    }

    /// Pictures that were replaced by newer ones before anybody took them.
    pub fn replaced_count(&self) -> u64 {
        self.frames.replaced_count()
    }

    /// Closes the camera; says whether its thread has ended or sits in a call that does not return. (`drop` does the
    /// same without saying.)
    pub fn close(mut self) -> Ending {
        self.end()
    }

    fn end(&mut self) -> Ending {
        self.worker.take().map_or(Ending::Joined, |worker| worker.end(CLOSE_PATIENCE))
    }
}

impl Drop for Camera {
    fn drop(&mut self) {
        self.end();
    }
}

impl FrameSource for Camera {
    /// `Timeout` while the camera stalls: it may come back by itself, so keep it open. After a `Device` error every
    /// further call gives the same error; open it anew.
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError> {
        if let Some(failure) = &self.failure {
            return Err(failure.clone());
        }
        let failure = match self.frames.wait(timeout) {
            Ok(Ok(frame)) => return Ok(frame),
            Err(SourceError::Timeout) => return Err(SourceError::Timeout),
            Ok(Err(failure)) => failure,
            Err(_) => gone("the camera driver failed; omote opens it again"),
        };
        self.failure = Some(failure.clone());
        Err(failure)
    }
}

fn gone(message: impl Into<String>) -> SourceError {
    SourceError::device(ErrorKind::Gone, message)
}

/// A device as the driver lists it.
struct Device {
    name: String,
    index: CameraIndex,
}

fn devices() -> Result<Vec<Device>, SourceError> {
    let listed = catch_unwind(|| nokhwa::query(ApiBackend::Auto))
        .map_err(|_| gone("the camera driver failed while listing cameras"))?
        .map_err(|e| gone(format!("the cameras cannot be listed: {e}")))?;
    let mut devices: Vec<Device> = Vec::new();
    let mut nodes: Vec<_> = listed.iter().map(|info| (info.human_name(), info.index().clone())).collect();
    nodes.sort_by_key(|(_, index)| index.as_index().unwrap_or(u32::MAX));
    for (name, index) in nodes {
        let name = name.trim().to_owned();
        let same = devices.iter().filter(|d| d.name == name || d.name.starts_with(&format!("{name} ("))).count();
        if same > 0 && is_side_node(&index) {
            continue;
        }
        let name = if same > 0 { format!("{name} ({})", same + 1) } else { name };
        devices.push(Device { name, index });
    }
    Ok(devices)
}

/// On Linux one camera has several nodes; those after its first carry metadata.
fn is_side_node(index: &CameraIndex) -> bool {
    let Ok(number) = index.as_index() else { return false };
    std::fs::read_to_string(format!("/sys/class/video4linux/video{number}/index")).is_ok_and(|text| text.trim() != "0")
}

/// What lives on the inner thread.
struct Inner {
    wanted: Wanted,
    clock: SessionClock,
    skipped: Arc<AtomicU64>,
    frames: LatestWriter<Result<VideoFrame, SourceError>>,
}

impl Inner {
    fn run(self, name: &str, ready: &Sender<Result<CameraMode, SourceError>>, stop: &StopFlag) {
        let opened = guarded(|| open_by_name(name, self.wanted));
        let mut camera = match opened {
            Ok((camera, mode)) => {
                // Nobody listens any more if opening took too long; then `stop` is set, too.
                let _ = ready.send(Ok(mode));
                camera
            }
            Err(error) => {
                let _ = ready.send(Err(error));
                return;
            }
        };
        let failure = self.deliver(&mut camera, stop);
        // Closing may panic in the driver crate (a failing STREAMOFF); nobody is interested any more.
        let _ = guarded(|| {
            drop(camera);
            Ok(())
        });
        if let Err(failure) = failure {
            self.frames.publish(Err(failure));
        }
    }

    /// Hands frames on until `stop` or the first failure.
    fn deliver(&self, camera: &mut nokhwa::Camera, stop: &StopFlag) -> Result<(), SourceError> {
        let mut pool = FramePool::default();
        let mut jpeg = JpegReader::default();
        let mut seq = 0;
        let mut not_yet = 0;
        while !stop.is_set() {
            let format = camera.camera_format();
            // The panic is caught here and not further out, so that no drop that panics, too, runs while unwinding.
            let read = guarded(|| match camera.frame_raw() {
                Ok(data) => {
                    let captured_at = self.clock.now();
                    Ok(Some((captured_at, decode(&data, format, &mut jpeg, &mut pool))))
                }
                Err(error) if is_not_yet(&error) => Ok(None),
                Err(error) => Err(explain(&error)),
            })?;
            match read {
                None => {
                    not_yet += 1;
                    if not_yet > NOT_YET_LIMIT {
                        return Err(gone("the camera delivers no pictures; unplug it and plug it in again"));
                    }
                    stop.sleep(Duration::from_millis(5));
                }
                Some((captured_at, Some((width, height, rgb)))) => {
                    not_yet = 0;
                    self.frames.publish(Ok(VideoFrame { captured_at, seq, width, height, rgb }));
                    seq += 1;
                }
                Some((_, None)) => {
                    not_yet = 0;
                    let count = self.skipped.fetch_add(1, Ordering::Relaxed) + 1;
                    if count == 1 {
                        tracing::warn!("the camera sends damaged pictures; they are left out");
                    }
                }
            }
        }
        Ok(())
    }
}

/// Runs a driver call; a panic in it becomes an error.
fn guarded<T>(call: impl FnOnce() -> Result<T, SourceError>) -> Result<T, SourceError> {
    catch_unwind(AssertUnwindSafe(call))
        .unwrap_or_else(|_| Err(gone("the camera driver failed; unplug the camera and plug it in again")))
}

fn is_not_yet(error: &NokhwaError) -> bool {
    // EAGAIN and EINTR: nokhwa keeps the system's text only.
    matches!(error, NokhwaError::ReadFrameError(why) if why.contains("os error 11)") || why.contains("os error 4)"))
}

/// One picture as width, height and RGB; `None` if it is damaged.
fn decode(
    data: &[u8],
    format: CameraFormat,
    jpeg: &mut JpegReader,
    pool: &mut FramePool,
) -> Option<(u32, u32, Arc<[u8]>)> {
    let size = (format.width(), format.height());
    let len = pixels::rgb_len(size.0, size.1)?;
    let convert = match format.format() {
        FrameFormat::MJPEG => return jpeg.decode(data, pool).ok(),
        FrameFormat::YUYV => pixels::yuyv_to_rgb,
        FrameFormat::NV12 => pixels::nv12_to_rgb,
        FrameFormat::GRAY => pixels::gray_to_rgb,
        FrameFormat::RAWRGB => pixels::copy_rgb,
        FrameFormat::RAWBGR => pixels::bgr_to_rgb,
    };
    let rgb = pool.frame(len, |rgb| convert(data, size, rgb)).ok()?;
    Some((size.0, size.1, rgb))
}

fn open_by_name(name: &str, wanted: Wanted) -> Result<(nokhwa::Camera, CameraMode), SourceError> {
    ask_for_permission()?;
    let devices = devices()?;
    if devices.is_empty() {
        return Err(gone("there is no camera; plug one in"));
    }
    let lower = name.to_lowercase();
    let exact: Vec<&Device> = devices.iter().filter(|d| d.name == name).collect();
    let candidates: Vec<&Device> = match exact.is_empty() {
        false => exact,
        true => devices.iter().filter(|d| d.name.to_lowercase().contains(&lower)).collect(),
    };
    let mut worst: Option<SourceError> = None;
    for device in &candidates {
        match open_device(device, wanted) {
            Ok(opened) => return Ok(opened),
            // What the user must change is worth more than that one node of several does not work.
            Err(error) => {
                if worst.as_ref().is_none_or(|w| w.kind() != ErrorKind::Setup) {
                    worst = Some(error);
                }
            }
        }
    }
    Err(worst
        .unwrap_or_else(|| gone(format!("the camera {name:?} is not connected; plug it in or choose another one"))))
}

/// macOS asks the user once; elsewhere this is always granted.
fn ask_for_permission() -> Result<(), SourceError> {
    if nokhwa::nokhwa_check() {
        return Ok(());
    }
    let (answer, answered) = bounded(1);
    nokhwa::nokhwa_initialize(move |is_granted| {
        let _ = answer.try_send(is_granted);
    });
    match answered.recv_timeout(PERMISSION_TIMEOUT) {
        Ok(true) => Ok(()),
        _ => Err(no_permission("the camera")),
    }
}

fn open_device(device: &Device, wanted: Wanted) -> Result<(nokhwa::Camera, CameraMode), SourceError> {
    // Any format will do to begin with: the list of formats needs an open camera.
    let any = RequestedFormat::with_formats(RequestedFormatType::None, &READABLE);
    let mut camera = nokhwa::Camera::new(device.index.clone(), any).map_err(|e| explain(&e))?;
    let offered = camera.compatible_camera_formats().unwrap_or_default();
    for format in ranked(&offered, wanted).into_iter().take(FORMAT_TRIES) {
        let exact = RequestedFormat::with_formats(RequestedFormatType::Exact(format), &READABLE);
        if camera.camera_format() == format || camera.set_camera_requset(exact).is_ok() {
            break;
        }
    }
    // A device may be opened while another program streams from it; only this tells.
    camera.open_stream().map_err(|e| explain(&e))?;
    let format = camera.camera_format();
    let mode = CameraMode {
        name: device.name.clone(),
        width: format.width(),
        height: format.height(),
        fps: format.frame_rate(),
        format: format.format().to_string(),
    };
    Ok((camera, mode))
}

fn no_permission(what: &str) -> SourceError {
    let hint = if cfg!(target_os = "macos") {
        "allow it in System Settings, Privacy & Security, Camera"
    } else if cfg!(windows) {
        "allow it in Settings, Privacy, Camera"
    } else {
        "add your user to the group \"video\" and log in again"
    };
    SourceError::device(ErrorKind::Setup, format!("the system refuses access to {what}; {hint}"))
}

/// Turns what nokhwa says into what the user can do. It keeps the system's error as text only.
fn explain(error: &NokhwaError) -> SourceError {
    let text = error.to_string();
    let has = |needles: &[&str]| needles.iter().any(|n| text.contains(n));
    if has(&["os error 13)", "os error 1)", "Permission denied", "not authorized"]) {
        no_permission("the camera")
    } else if has(&["os error 16)", "busy", "0xC00D3704", "0x80070020"]) {
        gone("another program uses the camera; close it there, or choose another camera")
    } else if has(&["os error 19)", "os error 2)", "os error 6)", "No such device"]) {
        gone("the camera has been unplugged; plug it in again")
    } else if has(&["Fufill", "not whole number", "unsupported"]) {
        gone("the camera offers no picture format that omote can read")
    } else {
        gone(format!("the camera failed: {text}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_of_the_driver_say_what_to_do() {
        let opening = |why: &str| explain(&NokhwaError::OpenDeviceError("0".into(), format!("V4L2 Error: {why}")));
        let denied = opening("Permission denied (os error 13)");
        assert_eq!(denied.kind(), ErrorKind::Setup);
        assert!(denied.to_string().contains("refuses access"));
        let busy = opening("Device or resource busy (os error 16)");
        assert_eq!(busy.kind(), ErrorKind::Gone);
        assert!(busy.to_string().contains("another program"));
        let unplugged = explain(&NokhwaError::ReadFrameError("No such device (os error 19)".into()));
        assert!(unplugged.to_string().contains("unplugged"));
        assert!(is_not_yet(&NokhwaError::ReadFrameError("Resource temporarily unavailable (os error 11)".into())));
        assert!(!is_not_yet(&NokhwaError::ReadFrameError("No such device (os error 19)".into())));
    }

    #[test]
    fn a_panic_in_a_driver_is_an_error() {
        let result: Result<(), SourceError> = guarded(|| panic!("driver"));
        assert_eq!(result.expect_err("error").kind(), ErrorKind::Gone);
    }
}
