//! Both windows in one event loop: eframe's control window, wrapped, and the output window, ours.
//!
//! eframe gets every event that is not ours. The output window's surface is drawn to by the `stage` thread with its
//! own device: nothing that the control window does (resize, minimise, a file dialog) touches the picture for OBS.

use std::sync::{Arc, Mutex, PoisonError};

use eframe::{EframeWinitApplication, UserEvent};
use winit::application::ApplicationHandler;
use winit::event::{DeviceEvent, DeviceId, StartCause, WindowEvent};
use winit::event_loop::ActiveEventLoop;
use winit::window::WindowId;

use super::live;
use crate::engine::{Command, Engine, OpenedPicture, PictureOpener, Sources};
use crate::output::{OutputWindow, can_be_transparent};
use crate::render;
use crate::settings::Settings;

/// What the shell and the control window share; both run on `main`, the lock is never waited for.
#[derive(Default)]
pub(super) struct Session {
    /// Runs once the event loop does.
    pub(super) engine: Option<Engine>,
    /// Whether the user wants to see the output window.
    pub(super) is_output_shown: bool,
    /// Messages for the control window.
    pub(super) notices: Vec<String>,
}

/// Shared by the two sides of the event loop.
#[derive(Clone, Default)]
pub(super) struct SharedSession(Arc<Mutex<Session>>);

impl SharedSession {
    pub(super) fn with<R>(&self, f: impl FnOnce(&mut Session) -> R) -> R {
        f(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// The handler of the event loop.
pub(super) struct Shell<'a> {
    pub(super) eframe: EframeWinitApplication<'a>,
    pub(super) session: SharedSession,
    pub(super) output: Option<OutputWindow>,
    /// Whether the output window is shown now.
    pub(super) is_shown: bool,
    pub(super) start: Option<(Settings, Sources)>,
}

impl Shell<'_> {
    /// Makes the output window and starts the engine, once.
    fn start(&mut self, event_loop: &ActiveEventLoop) {
        let Some((settings, sources)) = self.start.take() else { return };
        let size = [settings.output.width, settings.output.height];
        let is_transparent = can_be_transparent(&render::list_adapters());
        let (opener, size): (PictureOpener, _) = match OutputWindow::open(event_loop, size, is_transparent) {
            Ok(window) => {
                let mut open = window.surface_opener();
                let size = window.size();
                self.output = Some(window);
                let opener = move || open().map(|(gpu, surface)| OpenedPicture { gpu, surface: Some(surface) });
                (Box::new(opener), size)
            }
            Err(error) => {
                self.session.with(|s| s.notices.push(format!("The output window cannot be opened: {error}")));
                let open = || {
                    let gpu = render::Gpu::new(render::GpuOptions::default())?;
                    Ok(OpenedPicture { gpu, surface: None })
                };
                (Box::new(open), size)
            }
        };
        match Engine::start(live::parts(settings, sources, opener, size)) {
            Ok(engine) => self.session.with(|s| {
                s.engine = Some(engine);
                s.is_output_shown = true;
            }),
            Err(error) => self.session.with(|s| s.notices.push(format!("omote cannot start its threads: {error}"))),
        }
    }

    /// Follows what the control window wishes for the output window.
    fn follow(&mut self) {
        let Some(output) = &self.output else { return };
        let is_wanted = self.session.with(|s| s.is_output_shown);
        if is_wanted != self.is_shown {
            self.is_shown = is_wanted;
            output.set_visible(is_wanted);
        }
    }
}

impl ApplicationHandler<UserEvent> for Shell<'_> {
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        self.eframe.resumed(event_loop);
        self.start(event_loop);
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, id: WindowId, event: WindowEvent) {
        if self.output.as_ref().is_none_or(|output| output.id() != id) {
            self.eframe.window_event(event_loop, id, event);
            self.follow();
            return;
        }
        match event {
            WindowEvent::Resized(size) => self.session.with(|s| {
                if let Some(engine) = &s.engine {
                    engine.send(Command::Resize([size.width, size.height]));
                }
            }),
            WindowEvent::CloseRequested => {
                // Closing the output hides it; the control window shows it again.
                self.session.with(|s| s.is_output_shown = false);
                self.follow();
            }
            _ => {}
        }
    }

    fn new_events(&mut self, event_loop: &ActiveEventLoop, cause: StartCause) {
        self.eframe.new_events(event_loop, cause);
    }

    fn user_event(&mut self, event_loop: &ActiveEventLoop, event: UserEvent) {
        self.eframe.user_event(event_loop, event);
    }

    fn device_event(&mut self, event_loop: &ActiveEventLoop, id: DeviceId, event: DeviceEvent) {
        self.eframe.device_event(event_loop, id, event);
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        self.eframe.about_to_wait(event_loop);
    }

    fn suspended(&mut self, event_loop: &ActiveEventLoop) {
        self.eframe.suspended(event_loop);
    }

    fn exiting(&mut self, event_loop: &ActiveEventLoop) {
        // The stage draws to our window: it ends before the window does.
        drop(self.session.with(|s| s.engine.take()));
        self.output = None;
        self.eframe.exiting(event_loop);
    }
}
