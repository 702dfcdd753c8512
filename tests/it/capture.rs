//! Recorded pictures and sound, made here with ffmpeg and read by every way there is.

#![allow(clippy::expect_used, clippy::panic, clippy::print_stdout, reason = "the helpers of tests, too, may fail")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use omote::audio::{AudioSource, sound_of_video};
use omote::capture::{FrameSource, VideoOptions, open_video};
use omote::types::{ErrorKind, SourceError, VideoFrame};

/// Says that a check cannot run here; fails where it must.
fn has_ffmpeg() -> bool {
    let is_there = ["ffmpeg", "ffprobe"].iter().all(|program| {
        Command::new(program).arg("-version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok()
    });
    assert!(is_there || std::env::var_os("CI").is_none(), "ffmpeg is not installed");
    if !is_there {
        println!("SKIPPED: ffmpeg is not installed");
    }
    is_there
}

/// One second of a moving test picture, 25 frames, with a 440 Hz tone where the format can hold one.
fn make(folder: &Path, name: &str, extra: &[&str]) -> PathBuf {
    let path = folder.join(name);
    let status = Command::new("ffmpeg")
        .args(["-nostdin", "-v", "error", "-y"])
        .args(["-f", "lavfi", "-i", "testsrc2=size=96x64:rate=25:duration=1"])
        .args(["-f", "lavfi", "-i", "sine=frequency=440:sample_rate=44100:duration=1"])
        .args(extra)
        .arg(&path)
        .status()
        .expect("ffmpeg");
    assert!(status.success(), "ffmpeg cannot write {name}");
    path
}

fn all_frames(path: &Path) -> Vec<VideoFrame> {
    let mut source = open_video(path, VideoOptions { fps: Some(25.0), size: None }).expect("open");
    let mut frames = Vec::new();
    loop {
        match source.next_frame(Duration::from_secs(20)) {
            Ok(frame) => frames.push(frame),
            Err(SourceError::Ended) => return frames,
            Err(error) => panic!("{}: {error}", path.display()),
        }
    }
}

fn mean_difference(a: &VideoFrame, b: &VideoFrame) -> f64 {
    assert_eq!((a.width, a.height), (b.width, b.height));
    let sum: u64 = a.rgb.iter().zip(&b.rgb[..]).map(|(a, b)| u64::from(a.abs_diff(*b))).sum();
    sum as f64 / a.rgb.len() as f64
}

#[test]
fn every_way_of_reading_gives_the_same_pictures_at_the_same_times() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let frames_of = |name: &str, extra: &[&str]| all_frames(&make(folder.path(), name, extra));
    let lossless = frames_of("a.mkv", &["-c:v", "ffv1", "-pix_fmt", "yuv420p", "-c:a", "pcm_s16le"]);
    let jpeg = ["-c:v", "mjpeg", "-q:v", "2", "-pix_fmt", "yuvj422p"];
    std::fs::create_dir(folder.path().join("png")).expect("folder");
    make(folder.path(), "png/%d.png", &["-map", "0:v", "-pix_fmt", "rgb24"]);
    let others = [
        ("y4m", frames_of("a.y4m", &["-map", "0:v", "-pix_fmt", "yuv420p"])),
        ("y4m 4:4:4", frames_of("b.y4m", &["-map", "0:v", "-pix_fmt", "yuv444p"])),
        ("avi", frames_of("a.avi", &[&jpeg[..], &["-c:a", "pcm_s16le"]].concat())),
        ("mjpeg", frames_of("a.mjpeg", &[&jpeg[..], &["-map", "0:v"]].concat())),
        ("folder", all_frames(&folder.path().join("png"))),
        ("mpeg with B-frames", frames_of("a.mpg", &["-c:v", "mpeg2video", "-bf", "2", "-q:v", "1", "-c:a", "mp2"])),
    ];
    assert_eq!(lossless.len(), 25);
    for (name, frames) in &others {
        assert_eq!(frames.len(), 25, "{name}");
        for (a, b) in lossless.iter().zip(frames) {
            let late = b.captured_at.secs_after(a.captured_at);
            assert!(late.abs() < 0.002, "{name}: frame {} is {late} s late", a.seq);
        }
        let worst = lossless.iter().zip(frames).map(|(a, b)| mean_difference(a, b)).fold(0.0, f64::max);
        println!("{name}: mean difference of the worst frame {worst:.2}");
        // Chroma is interpolated in different ways; the test picture is all edges.
        assert!(worst < 12.0, "{name}: {worst}");
    }
}

#[test]
fn the_sound_of_a_video_is_found_or_known_to_be_missing() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let with = make(folder.path(), "a.mkv", &["-c:v", "ffv1", "-c:a", "pcm_s16le"]);
    let mut sound = sound_of_video(&with).expect("open").expect("sound");
    assert_eq!(sound.sample_rate_hz(), 48_000);
    let mut samples = vec![0.0; 100_000];
    let (count, at) = sound.read(&mut samples).expect("read");
    assert_eq!(at.as_secs_f64(), 0.0);
    assert!(count.abs_diff(48_000) < 100, "{count} samples");
    let crossings = samples[..count].windows(2).filter(|w| w[0] < 0.0 && w[1] >= 0.0).count();
    assert!(crossings.abs_diff(440) <= 2, "{crossings} Hz");
    let without = make(folder.path(), "b.mkv", &["-map", "0:v", "-c:v", "ffv1"]);
    assert!(sound_of_video(&without).expect("open").is_none());
}

#[test]
fn broken_videos_say_so_and_dropped_ones_are_let_go() {
    if !has_ffmpeg() {
        return;
    }
    let folder = tempfile::tempdir().expect("folder");
    let broken = folder.path().join("broken.mp4");
    std::fs::write(&broken, vec![7; 5000]).expect("write");
    let error = open_video(&broken, VideoOptions::default()).err().expect("error");
    assert_eq!(error.kind(), ErrorKind::Corrupt);
    assert!(error.to_string().contains("broken.mp4"), "{error}");
    assert_eq!(sound_of_video(&broken).err().expect("error").kind(), ErrorKind::Corrupt);
    let whole = make(folder.path(), "a.mkv", &["-map", "0:v", "-c:v", "ffv1"]);
    let mut source = open_video(&whole, VideoOptions::default()).expect("open");
    source.next_frame(Duration::from_secs(20)).expect("frame");
    let began = Instant::now();
    drop(source);
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
}

/// Clips of other people's encoders; see CONTRACT, test data.
#[test]
#[ignore = "needs the folder of local test media in OMOTE_TEST_DATA"]
fn local_clips_are_read_with_their_times() {
    let Some(folder) = std::env::var_os("OMOTE_TEST_DATA") else {
        println!("SKIPPED: OMOTE_TEST_DATA is not set");
        return;
    };
    let mut count = 0;
    for entry in std::fs::read_dir(PathBuf::from(folder).join("media/clips")).expect("clips").flatten() {
        let path = entry.path();
        if !path.extension().is_some_and(|e| ["mpg", "mp4", "mov", "mkv"].iter().any(|x| e == *x)) {
            continue;
        }
        let began = Instant::now();
        let frames = all_frames(&path);
        let last = frames.last().expect("frames");
        let steps: Vec<f64> = frames.windows(2).map(|w| w[1].captured_at.secs_after(w[0].captured_at)).collect();
        let longest = steps.iter().copied().fold(0.0, f64::max);
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let has_sound = sound_of_video(&path).expect("sound").is_some();
        println!(
            "{name}: {} frames of {}×{} up to {:.2} s, longest step {longest:.3} s, sound: {has_sound}, read in {:?}",
            frames.len(),
            last.width,
            last.height,
            last.captured_at.as_secs_f64(),
            began.elapsed()
        );
        assert!(steps.iter().all(|s| *s > 0.0), "{name}: times run forward");
        count += 1;
    }
    assert!(count > 0);
}

/// How long one camera picture takes; for `omote bench` and the notes.
#[test]
#[ignore = "a measurement"]
fn motion_jpeg_decode_time() {
    let folder = tempfile::tempdir().expect("folder");
    for (width, height) in [(640, 480), (1280, 720)] {
        let picture = image::RgbImage::from_fn(width, height, |x, y| {
            let wave = ((x as f32 * 0.05).sin() * (y as f32 * 0.07).cos() * 60.0) as i32;
            image::Rgb([(128 + wave) as u8, (100 + wave / 2) as u8, ((x ^ y) % 97 + 60) as u8])
        });
        let mut jpeg = Vec::new();
        image::codecs::jpeg::JpegEncoder::new_with_quality(&mut jpeg, 85).encode_image(&picture).expect("encode");
        let path = folder.path().join("clip.mjpeg");
        std::fs::write(&path, jpeg.repeat(100)).expect("write");
        let began = Instant::now();
        let frames = all_frames(&path).len();
        let each = began.elapsed() / frames as u32;
        println!("MJPEG {width}×{height}, {} kB: {each:?} a picture", jpeg.len() / 1024);
    }
}
