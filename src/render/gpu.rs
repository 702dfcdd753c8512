//! The renderer's own graphics device. All wgpu types come from here, so that a new wgpu version touches one place.
//!
//! Two rules: nothing a driver does may panic (uncaptured errors and device loss become a [`GpuState`] that `engine`
//! looks at), and the device is never shared with the control window (a surface of one would stall the other).

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use wgpu;

use crate::types::ErrorKind;

/// A frame takes milliseconds; after this long the device hangs.
const WAIT_LIMIT: Duration = Duration::from_secs(10);

/// Why there is no picture.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// No usable graphics adapter.
    #[error(
        "no graphics adapter can be used ({seen}): install the graphics driver, or a software one (Mesa lavapipe on Linux)"
    )]
    NoAdapter {
        /// What was seen, and why not.
        seen: String,
    },
    /// The adapter asked for by name is not there.
    #[error("no graphics adapter is named like {wanted:?} (there are: {seen}): choose another one in the settings")]
    UnknownAdapter {
        /// The name asked for.
        wanted: String,
        /// Names of those that are there.
        seen: String,
    },
    /// The adapter gave no device.
    #[error("the graphics adapter {adapter} gave no device: {reason}; update its driver or choose another adapter")]
    NoDevice {
        /// Name of the adapter.
        adapter: String,
        /// In the driver's words.
        reason: String,
    },
    /// Something does not fit.
    #[error("{what} is too large for this graphics adapter ({size}, the limit is {limit}): use a smaller one")]
    TooLarge {
        /// What does not fit.
        what: &'static str,
        /// Its size.
        size: u64,
        /// What the adapter takes.
        limit: u64,
    },
    /// The device went away: driver reset, adapter unplugged.
    #[error("the graphics device is lost ({0}): it has to be opened anew")]
    Lost(String),
    /// The device refused an operation, e.g. for want of memory.
    #[error("the graphics device refused an operation: {0}")]
    Refused(String),
    /// The device did not answer.
    #[error("the graphics device did not answer within {} s", WAIT_LIMIT.as_secs())]
    Timeout,
    /// The window cannot be drawn to.
    #[error("this window cannot be drawn to: {0}")]
    Surface(String),
}

impl RenderError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::NoAdapter { .. } | Self::UnknownAdapter { .. } | Self::NoDevice { .. } | Self::TooLarge { .. } => {
                ErrorKind::Setup
            }
            Self::Lost(_) | Self::Surface(_) => ErrorKind::Gone,
            Self::Refused(_) | Self::Timeout => ErrorKind::Transient,
        }
    }
}

/// Which adapter to take.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum AdapterChoice {
    /// The most capable one, a software one if there is nothing else.
    #[default]
    Auto,
    /// An integrated one before a discrete one.
    LowPower,
    /// A software one: slow, the same everywhere. For tests.
    Software,
    /// The first one whose name contains this, upper and lower case alike.
    Named(String),
}

/// How to open the device.
#[derive(Debug, Default)]
pub struct GpuOptions {
    /// Which adapter to take.
    pub adapter: AdapterChoice,
    /// Connection to the display server (winit's `OwnedDisplayHandle`); some backends need it to draw to windows.
    pub display: Option<Box<dyn wgpu::wgt::WgpuHasDisplayHandle>>,
}

/// An adapter, for lists and `omote doctor`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdapterReport {
    /// The driver's name of it.
    pub name: String,
    /// `Vulkan`, `Metal`, `Dx12` or `Gl`.
    pub backend: String,
    /// Driver and version, as far as known.
    pub driver: String,
    /// Runs on the CPU.
    pub is_software: bool,
    /// Largest texture side, pixels.
    pub max_texture_px: u32,
    /// Morphs and skins on the adapter; otherwise that is done on the CPU.
    pub has_compute: bool,
}

/// How the device is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GpuState {
    /// All is well.
    Working,
    /// It refused operations; the first one's message says which.
    Faulty {
        /// How many.
        count: u64,
        /// The first one's message.
        first: String,
    },
    /// Everything on it is gone; open a new [`Gpu`].
    Lost(String),
}

#[derive(Debug, Default)]
struct Health {
    lost: OnceLock<String>,
    first_fault: OnceLock<String>,
    faults: AtomicU64,
}

/// A graphics device. Clones share it.
#[derive(Clone, Debug)]
pub struct Gpu {
    /// Makes surfaces.
    pub instance: wgpu::Instance,
    /// What the device runs on.
    pub adapter: wgpu::Adapter,
    /// Makes buffers, textures and pipelines.
    pub device: wgpu::Device,
    /// Takes work.
    pub queue: wgpu::Queue,
    report: AdapterReport,
    health: Arc<Health>,
}

impl Gpu {
    /// Opens a device for offscreen pictures.
    pub fn new(options: GpuOptions) -> Result<Self, RenderError> {
        let instance = make_instance(options.display);
        Self::open(instance, &options.adapter, None)
    }

    /// Opens a device that can draw to `window` (an `Arc` of a winit window), and the window's surface.
    /// Call it on the thread that owns the window's event loop; the results may move to another one.
    pub fn with_window(
        options: GpuOptions,
        window: impl Into<wgpu::SurfaceTarget<'static>>,
    ) -> Result<(Self, wgpu::Surface<'static>), RenderError> {
        let instance = make_instance(options.display);
        let surface = instance.create_surface(window).map_err(|e| RenderError::Surface(e.to_string()))?;
        let gpu = Self::open(instance, &options.adapter, Some(&surface))?;
        Ok((gpu, surface))
    }

    fn open(
        instance: wgpu::Instance,
        choice: &AdapterChoice,
        surface: Option<&wgpu::Surface<'_>>,
    ) -> Result<Self, RenderError> {
        let adapter = choose(pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all())), choice, surface)?;
        let report = report(&adapter);
        // The adapter's own limits: large avatars and textures need more than the portable minimum.
        let descriptor = wgpu::DeviceDescriptor {
            label: Some("omote render"),
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let (device, queue) = pollster::block_on(adapter.request_device(&descriptor))
            .map_err(|e| RenderError::NoDevice { adapter: report.name.clone(), reason: e.to_string() })?;

        let health = Arc::new(Health::default());
        let on_error = Arc::clone(&health);
        device.on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            on_error.faults.fetch_add(1, Ordering::Relaxed);
            // Only the first message is kept: it names the cause, the rest are its consequences.
            let _ = on_error.first_fault.set(error.to_string());
        }));
        let on_lost = Arc::clone(&health);
        device.set_device_lost_callback(move |reason, message| {
            let _ = on_lost.lost.set(if message.is_empty() { format!("{reason:?}") } else { message });
        });
        Ok(Self { instance, adapter, device, queue, report, health })
    }

    /// How the device is. Cheap; look once a frame.
    pub fn state(&self) -> GpuState {
        if let Some(reason) = self.health.lost.get() {
            return GpuState::Lost(reason.clone());
        }
        match self.health.faults.load(Ordering::Relaxed) {
            0 => GpuState::Working,
            count => GpuState::Faulty { count, first: self.health.first_fault.get().cloned().unwrap_or_default() },
        }
    }

    /// The adapter in words.
    pub fn report(&self) -> &AdapterReport {
        &self.report
    }

    /// The device's limits.
    pub fn limits(&self) -> wgpu::Limits {
        self.device.limits()
    }

    /// Waits until all submitted work is done. Call it before the process ends: some software drivers crash otherwise.
    pub fn flush(&self) -> Result<(), RenderError> {
        self.wait(None)
    }

    /// Waits until one submission (`None`: all) is done and its callbacks have run.
    pub(super) fn wait(&self, submission: Option<wgpu::SubmissionIndex>) -> Result<(), RenderError> {
        let poll = wgpu::PollType::Wait { submission_index: submission, timeout: Some(WAIT_LIMIT) };
        match self.device.poll(poll) {
            Ok(_) => Ok(()),
            Err(wgpu::PollError::Timeout) => Err(RenderError::Timeout),
            Err(other) => Err(RenderError::Refused(other.to_string())),
        }
    }

    /// Runs `make` and turns what the device refuses meanwhile into an error.
    pub(super) fn checked<T>(&self, make: impl FnOnce() -> Result<T, RenderError>) -> Result<T, RenderError> {
        let validation = self.device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = self.device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        let internal = self.device.push_error_scope(wgpu::ErrorFilter::Internal);
        let made = make();
        let errors = [internal.pop(), memory.pop(), validation.pop()].map(pollster::block_on);
        if let Some(reason) = self.health.lost.get() {
            return Err(RenderError::Lost(reason.clone()));
        }
        match errors.into_iter().flatten().next() {
            Some(error) => Err(RenderError::Refused(error.to_string())),
            None => made,
        }
    }
}

/// All adapters, best first as [`AdapterChoice::Auto`] sees it.
pub fn list_adapters() -> Vec<AdapterReport> {
    let instance = make_instance(None);
    let mut adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    adapters.sort_by_key(|a| rank(&a.get_info(), &AdapterChoice::Auto));
    adapters.iter().map(report).collect()
}

fn make_instance(display: Option<Box<dyn wgpu::wgt::WgpuHasDisplayHandle>>) -> wgpu::Instance {
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    descriptor.display = display;
    wgpu::Instance::new(descriptor)
}

fn report(adapter: &wgpu::Adapter) -> AdapterReport {
    let info = adapter.get_info();
    AdapterReport {
        is_software: info.device_type == wgpu::DeviceType::Cpu,
        backend: format!("{:?}", info.backend),
        driver: format!("{} {}", info.driver, info.driver_info).trim().to_owned(),
        max_texture_px: adapter.limits().max_texture_dimension_2d,
        has_compute: super::deform::has_compute(adapter),
        name: info.name,
    }
}

/// Smaller is better.
fn rank(info: &wgpu::AdapterInfo, choice: &AdapterChoice) -> (u32, u32) {
    use wgpu::DeviceType as Type;
    let order = match choice {
        AdapterChoice::LowPower => [Type::IntegratedGpu, Type::DiscreteGpu, Type::VirtualGpu, Type::Other, Type::Cpu],
        AdapterChoice::Software => [Type::Cpu, Type::Other, Type::VirtualGpu, Type::IntegratedGpu, Type::DiscreteGpu],
        _ => [Type::DiscreteGpu, Type::IntegratedGpu, Type::VirtualGpu, Type::Other, Type::Cpu],
    };
    let kind = order.iter().position(|t| *t == info.device_type).unwrap_or(order.len());
    // OpenGL only where nothing newer is there.
    (kind as u32, u32::from(info.backend == wgpu::Backend::Gl))
}

fn choose(
    mut adapters: Vec<wgpu::Adapter>,
    choice: &AdapterChoice,
    surface: Option<&wgpu::Surface<'_>>,
) -> Result<wgpu::Adapter, RenderError> {
    let seen = |adapters: &[wgpu::Adapter]| {
        if adapters.is_empty() {
            return "none was found".to_owned();
        }
        adapters.iter().map(|a| a.get_info().name).collect::<Vec<_>>().join(", ")
    };
    let all = seen(&adapters);
    adapters.retain(|adapter| {
        adapter.get_texture_format_features(super::target::FORMAT).allowed_usages.contains(super::target::USAGES)
            && surface.is_none_or(|s| adapter.is_surface_supported(s))
    });
    adapters.sort_by_key(|a| rank(&a.get_info(), choice));
    match choice {
        AdapterChoice::Named(name) => {
            let wanted = name.to_lowercase();
            let found = adapters.into_iter().find(|a| a.get_info().name.to_lowercase().contains(&wanted));
            found.ok_or(RenderError::UnknownAdapter { wanted: name.clone(), seen: all })
        }
        AdapterChoice::Software => {
            let found = adapters.into_iter().find(|a| a.get_info().device_type == wgpu::DeviceType::Cpu);
            found.ok_or(RenderError::NoAdapter { seen: format!("no software adapter among: {all}") })
        }
        _ => adapters.into_iter().next().ok_or(RenderError::NoAdapter { seen: all }),
    }
}
