//! What each stage of a tracked frame costs: `cargo test --release --lib face::bench -- --ignored --nocapture`.

use std::time::{Duration, Instant};

use super::blendshapes::BlendshapeModel;
use super::crop::{Border, Normalisation, crop};
use super::detector::Detector;
use super::features::{Face, Person};
use super::head::HeadSolver;
use super::mesh::MeshModel;
use super::picture::Picture;
use super::roi::Roi;
use super::tracker::{FaceOptions, FaceTracker};
use super::watch::Watch;
use super::{FaceError, FaceModel};
use crate::types::{Timestamp, VideoFrame};

/// How long each stage is repeated: the system counts a thread's work in steps of 4 ms.
const REPEAT_FOR: Duration = Duration::from_millis(1500);

/// Seconds this thread has worked; on other systems than Linux the time of day, which other programs lengthen.
fn worked_secs(start: Instant) -> f64 {
    let scheduled = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanos = scheduled.and_then(|text| text.split(' ').next()?.parse::<f64>().ok());
    nanos.map_or_else(|| start.elapsed().as_secs_f64(), |nanos| nanos * 1e-9)
}

fn measure<T>(name: &str, mut stage: impl FnMut(usize) -> Result<T, FaceError>) {
    let start = Instant::now();
    let worked_before = worked_secs(start);
    let (mut rounds, mut least) = (0, f64::INFINITY);
    while start.elapsed() < REPEAT_FOR {
        let before = Instant::now();
        std::hint::black_box(stage(rounds).unwrap());
        least = least.min(before.elapsed().as_secs_f64());
        rounds += 1;
    }
    let mean = (worked_secs(start) - worked_before) / rounds as f64;
    println!("{name:22} {:7.3} ms of work in the mean, least {:7.3} ms", mean * 1e3, least * 1e3);
}

/// The portrait in the middle of a camera's usual picture.
fn camera_picture() -> image::RgbImage {
    let portrait = image::open("tests/data/face/astronaut.png").unwrap().to_rgb8();
    let mut picture = image::RgbImage::from_pixel(640, 480, image::Rgb([90, 95, 100]));
    image::imageops::overlay(&mut picture, &portrait, 64, 60);
    picture
}

#[test]
#[ignore = "measures; says nothing in a debug build"]
fn stages() {
    let picture = camera_picture();
    let view = Picture { width: 640, height: 480, rgb: picture.as_raw() };
    let start = Instant::now();
    let (detector, mesh_model) = (Detector::load().unwrap(), MeshModel::load().unwrap());
    let (shapes_model, solver) = (BlendshapeModel::load().unwrap(), HeadSolver::load().unwrap());
    println!("loading                {:.0} ms", start.elapsed().as_secs_f64() * 1e3);

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

    measure("watch", |round| Ok(watch.look(view, Timestamp::from_secs_f64(round as f64))));
    measure("detector", |_| detector.detect(view));
    measure("crop", |_| {
        crop(view, roi, 256, Border::Replicate, normalisation, &mut input);
        Ok(())
    });
    measure("crop + landmarks", |_| mesh_model.observe(view, roi));
    measure("blendshapes", |_| shapes_model.weigh(&mesh.landmarks_px));
    measure("head", |_| Ok(solver.solve(&mesh.landmarks_px, 640, 480, fov_rad)));
    measure("features", |_| Ok(person.read(&face, true, 0.03)));
    let mut tracker = FaceTracker::load(FaceOptions::default()).unwrap();
    measure("whole tracked frame", |round| {
        let mut rgb = picture.as_raw().clone();
        let len = rgb.len();
        rgb[round % len] ^= 1;
        let captured_at = Timestamp::from_secs_f64(round as f64 / 30.0);
        tracker.observe(&VideoFrame { captured_at, seq: round as u64, width: 640, height: 480, rgb: rgb.into() })
    });
}
