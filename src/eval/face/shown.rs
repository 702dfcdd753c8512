//! The avatar's lids: reports through the mixer and the acting, as the product shows them.

use crate::mix::Mixer;
use crate::motion::{AvatarTraits, Motion};
use crate::settings::Settings;
use crate::types::{FaceReport, Param, Timestamp};

const FPS: f64 = 60.0;
/// How long the stage goes on after the last picture.
const AFTER_SECS: f64 = 0.3;
/// Below this trust in the face an avatar blinks by itself.
const TRUSTED: f32 = 0.5;

/// The stage of one clip.
pub(super) struct Shown {
    settings: Settings,
    mixer: Mixer,
    motion: Motion,
    tick: u64,
    lids: Vec<(f64, Option<f64>)>,
}

impl Shown {
    pub fn new(settings: &Settings) -> Self {
        Self {
            settings: settings.clone(),
            mixer: Mixer::new(),
            motion: Motion::new(0, AvatarTraits { slot_count: 0, iris_scale: 1.0 }),
            tick: 0,
            lids: Vec::new(),
        }
    }

    /// Shows everything up to this report, then takes it.
    pub fn see(&mut self, report: &FaceReport) {
        self.show_until(report.captured_at.as_secs_f64());
        self.mixer.see(report);
    }

    /// (Seconds, how far the avatar's lids are closed in the mean); `None` where they do not follow the camera.
    pub fn finish(mut self) -> Vec<(f64, Option<f64>)> {
        self.show_until(self.tick as f64 / FPS + AFTER_SECS);
        self.lids
    }

    fn show_until(&mut self, end_secs: f64) {
        /// A gap between pictures longer than this is not played out: the avatar is idle in it.
        const MAX_GAP_SECS: f64 = 10.0;
        let first = ((end_secs - MAX_GAP_SECS) * FPS).max(0.0) as u64;
        self.tick = self.tick.max(first);
        while (self.tick as f64) / FPS < end_secs {
            let now = Timestamp::from_secs_f64(self.tick as f64 / FPS);
            let face = self.mixer.mix(now, &self.settings);
            let pose = self.motion.step(&face, (1.0 / FPS) as f32, &self.settings);
            let closed = f32::midpoint(pose.params.get(Param::BlinkLeft), pose.params.get(Param::BlinkRight));
            self.lids.push((now.as_secs_f64(), (face.trust.face > TRUSTED).then_some(f64::from(closed))));
            self.tick += 1;
        }
    }
}
