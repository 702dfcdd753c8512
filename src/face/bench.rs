//! What each stage of a tracked frame costs, and the whole of it beside MediaPipe:
//!
//!     OMOTE_MEDIAPIPE_MS=8.7 cargo test --release --lib face::bench -- --ignored --nocapture
//!
//! The number comes from `models/face/time_mediapipe.py`, run just before or after: only figures of the same hour on
//! the same machine compare. Work is the time the processor gave this thread, so that other programs count little.

use std::sync::Arc;
use std::time::{Duration, Instant};

use super::blendshapes::BlendshapeModel;
use super::crop::{Border, Normalisation, crop};
use super::detector::Detector;
use super::features::{Face, Person};
use super::head::HeadSolver;
use super::mesh::{self, MeshModel};
use super::network::Network;
use super::picture::Picture;
use super::roi::Roi;
use super::tracker::{FaceOptions, FaceTracker};
use super::watch::Watch;
use super::{FaceError, FaceModel, blendshapes};
use crate::types::{Timestamp, VideoFrame};

/// How long each stage is repeated, and in how many turns with the others.
const TURN: Duration = Duration::from_millis(400);
const TURNS: usize = 5;

/// Seconds this thread has worked; on other systems than Linux the time of day, which other programs lengthen.
pub(super) fn worked_secs() -> f64 {
    thread_local!(static START: Instant = Instant::now());
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = scheduled.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| START.with(|start| start.elapsed().as_secs_f64()), |nanos| nanos * 1e-9)
}

/// A stage and the work each of its turns took, milliseconds a run.
struct Stage<'a> {
    name: &'static str,
    run: Box<dyn FnMut(usize) -> Result<(), FaceError> + 'a>,
    rounds: usize,
    turns_ms: Vec<f64>,
}

impl<'a> Stage<'a> {
    fn new<T>(name: &'static str, mut run: impl FnMut(usize) -> Result<T, FaceError> + 'a) -> Self {
        let run = move |round| run(round).map(|value| drop(std::hint::black_box(value)));
        Self { name, run: Box::new(run), rounds: 0, turns_ms: Vec::new() }
    }

    fn turn(&mut self) {
        let (start, worked_before, first) = (Instant::now(), worked_secs(), self.rounds);
        while start.elapsed() < TURN {
            (self.run)(self.rounds).unwrap();
            self.rounds += 1;
        }
        self.turns_ms.push((worked_secs() - worked_before) * 1e3 / (self.rounds - first) as f64);
    }

    /// The least and the median of the turns.
    fn spent_ms(&self) -> (f64, f64) {
        let mut turns = self.turns_ms.clone();
        turns.sort_by(f64::total_cmp);
        (turns[0], turns[turns.len() / 2])
    }
}

/// The portrait in the middle of a camera's usual picture.
fn camera_picture() -> image::RgbImage {
    let portrait = image::open("tests/data/face/astronaut.png").unwrap().to_rgb8();
    let mut picture = image::RgbImage::from_pixel(640, 480, image::Rgb([90, 95, 100]));
    image::imageops::overlay(&mut picture, &portrait, 64, 60);
    picture
}

/// Megabytes of memory this process holds; `None` where the system doesn't say.
fn resident_mb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<f64>().ok()? / 1024.0)
}

#[test]
#[ignore = "measures; says nothing in a debug build"]
fn stages() {
    let picture = camera_picture();
    let view = Picture { width: 640, height: 480, rgb: picture.as_raw() };
    let (start, before_mb) = (Instant::now(), resident_mb());
    let mut tracker = FaceTracker::load(FaceOptions::default()).unwrap();
    println!("loading            {:8.0} ms", start.elapsed().as_secs_f64() * 1e3);
    // Two pictures in turn, so that none is taken for a frozen one.
    let pictures: [Arc<[u8]>; 2] = [0, 1].map(|noise| picture.as_raw().iter().map(|byte| byte ^ noise).collect());
    let mut track = |round: usize| {
        let captured_at = Timestamp::from_secs_f64(round as f64 / 30.0);
        let rgb = pictures[round % 2].clone();
        let report = tracker.observe(&VideoFrame { captured_at, seq: round as u64, width: 640, height: 480, rgb })?;
        assert!(report.observation.is_some(), "the face is lost");
        Ok(report)
    };
    track(0).unwrap();
    if let (Some(before), Some(after)) = (before_mb, resident_mb()) {
        println!("memory of a tracker {:7.1} MB", after - before);
    }

    let (detector, mesh_model) = (Detector::load().unwrap(), MeshModel::load().unwrap());
    let (shapes_model, solver) = (BlendshapeModel::load().unwrap(), HeadSolver::load().unwrap());
    let detection = detector.detect(view).unwrap()[0];
    let mesh = mesh_model.observe(view, detection.roi()).unwrap();
    let roi = Roi::around_landmarks(&mesh.landmarks_px).unwrap();
    let shapes = shapes_model.weigh(&mesh.landmarks_px).unwrap();
    let fov_rad = 63.0f32.to_radians();
    let head = solver.solve(&mesh.landmarks_px, 640, 480, fov_rad).unwrap();
    let face = Face { landmarks_px: &mesh.landmarks_px, head: &head, blendshapes: &shapes };
    let mut input = vec![0.0; 3 * 256 * 256];
    let normalisation = Normalisation { scale: 1.0 / 255.0, offset: 0.0 };
    let mut watch = Watch::default();
    let mut person = Person::default();
    let plain_mesh = Network::load_plain(&mesh::MODEL);

    let mut stages = [
        Stage::new("watch", |round| Ok(watch.look(view, Timestamp::from_secs_f64(round as f64)))),
        Stage::new("detector", |_| detector.detect(view)),
        Stage::new("crop", |_| {
            crop(view, roi, 256, Border::Replicate, normalisation, &mut input);
            Ok(())
        }),
        Stage::new("crop + landmarks", |_| mesh_model.observe(view, roi)),
        Stage::new("landmarks by layers", |_| plain_mesh.run::<3>(|_| ())),
        Stage::new("blendshapes", |_| shapes_model.weigh(&mesh.landmarks_px)),
        Stage::new("head", |_| Ok(solver.solve(&mesh.landmarks_px, 640, 480, fov_rad))),
        Stage::new("features", |_| Ok(person.read(&face, true, 0.03))),
        Stage::new("whole tracked frame", |round| track(round + 1)),
    ];
    for _ in 0..TURNS {
        stages.iter_mut().for_each(Stage::turn);
    }
    let mediapipe_ms = std::env::var("OMOTE_MEDIAPIPE_MS").ok().and_then(|text| text.trim().parse::<f64>().ok());
    println!("work, ms              least  median");
    for stage in &stages {
        let (least, median) = stage.spent_ms();
        let ratio = mediapipe_ms.map(|whole| format!("  {:.2} of MediaPipe's frame", median / whole));
        println!("{:20} {least:7.3} {median:7.3}{}", stage.name, ratio.unwrap_or_default());
    }
}

#[test]
#[ignore = "measures; says nothing in a debug build"]
fn operators() {
    for spec in [&mesh::MODEL, &blendshapes::MODEL, &super::detector::MODEL] {
        for (how, network) in [("", Network::load(spec).unwrap()), (" by layers", Network::load_plain(spec))] {
            println!("{}{how}", spec.name);
            for (name, ms) in network.profile(40).into_iter().take(10) {
                println!("    {name:30} {ms:7.3} ms");
            }
        }
    }
}
