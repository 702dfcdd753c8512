//! `--telemetry FILE`: numbers once a second as JSON lines, for measuring and for bug reports.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::json;

use crate::engine::Telemetry;

/// Time between two lines.
const EVERY: Duration = Duration::from_secs(1);

/// Writes telemetry. No pictures, no sound, no landmarks.
#[derive(Debug)]
pub(super) struct TelemetryFile {
    out: BufWriter<File>,
    began: Instant,
    written_at: Option<Instant>,
    first_tracked_secs: Option<f64>,
}

impl TelemetryFile {
    pub(super) fn create(path: &Path, began: Instant) -> std::io::Result<Self> {
        let out = BufWriter::new(File::create(path)?);
        Ok(Self { out, began, written_at: None, first_tracked_secs: None })
    }

    /// Writes a line if it is time.
    pub(super) fn write(&mut self, telemetry: &Telemetry) {
        let is_tracked = telemetry.video.state == crate::types::VideoState::Tracked;
        if is_tracked && self.first_tracked_secs.is_none() {
            self.first_tracked_secs = Some(self.began.elapsed().as_secs_f64());
        }
        if self.written_at.is_some_and(|at| at.elapsed() < EVERY) {
            return;
        }
        self.written_at = Some(Instant::now());
        let (video, audio, stage, picture) = (&telemetry.video, &telemetry.audio, &telemetry.stage, &telemetry.picture);
        let line = json!({
            "t": self.began.elapsed().as_secs_f64(),
            "first_tracked": self.first_tracked_secs,
            "video": {
                "source": video.source, "state": video.state.name(), "message": video.message,
                "camera_fps": video.camera_fps, "tracker_fps": video.tracker_fps, "tracker_ms": video.tracker_ms,
                "confidence": video.confidence, "dropped": video.dropped_count,
                "quality": video.quality.name(), "overloaded": video.is_overloaded,
            },
            "audio": {
                "source": audio.source, "state": audio.state.name(), "message": audio.message,
                "level_db": audio.level_db, "voiced": audio.voiced, "sample_rate_hz": audio.sample_rate_hz,
            },
            "stage": {
                "fps": stage.fps, "act_ms": stage.act_ms, "draw_ms": stage.draw_ms, "latency_ms": stage.latency_ms,
                "frames": stage.frame_count, "skipped": stage.skipped_count, "mode": stage.mode.name(),
                "mouth_open": stage.mouth.open, "audio_share": stage.mouth.audio_share,
                "trust": [stage.trust.face, stage.trust.voice],
            },
            "picture": {
                "adapter": picture.adapter, "message": picture.message, "size": picture.size,
                "transparency": format!("{:?}", picture.transparency).to_lowercase(),
            },
            "avatar": { "name": telemetry.avatar.name, "message": telemetry.avatar.message },
        });
        // A full disk must not end the stream; the file is then shorter.
        let _ = writeln!(self.out, "{line}").and_then(|()| self.out.flush());
    }
}
