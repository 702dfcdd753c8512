//! Every other video file, through an ffmpeg child process.
//!
//! ffmpeg writes each frame as a PPM picture into a pipe: that says its own size, so rotation and odd sizes need no
//! second guess. Frame times come from ffprobe's list of packets (variable rates, B-frames and all); where that has
//! none, frames are counted at the nominal rate. Times are from the start of the container, as sound is.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, ErrorKind as IoErrorKind, Read};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::{Receiver, RecvTimeoutError, bounded};

use super::FrameSource;
use super::files::{corrupt, setup};
use super::jpeg::SIDE_LIMIT;
use super::pixels::rgb_len;
use super::pool::FramePool;
use crate::sync::{ChildProcess, Worker, file_url, last_line, run_for_output};
use crate::types::{ErrorKind, SourceError, Timestamp, VideoFrame};

/// How long ffprobe may take; it reads the whole file once.
const PROBE_TIMEOUT: Duration = Duration::from_secs(60);
/// Output of ffprobe that is looked at: about 40 bytes a frame, so some ten hours.
const PROBE_LIMIT: u64 = 64 << 20;
/// Decoded frames that wait at most.
const AHEAD: usize = 2;

struct Picture {
    width: u32,
    height: u32,
    rgb: Arc<[u8]>,
}

/// Frames that ffmpeg decodes. The child is killed when this is dropped.
pub struct FfmpegSource {
    path: PathBuf,
    pictures: Receiver<Result<Picture, String>>,
    times: VecDeque<f64>,
    frame_secs: f64,
    last_secs: f64,
    seq: u64,
    // Dropped in this order: a dead child ends the pipes that the threads read.
    _child: ChildProcess,
    _threads: [Worker; 2],
    errors: Receiver<String>,
}

impl FfmpegSource {
    /// Starts decoding a file.
    ///
    /// # Errors
    /// `Setup` without ffmpeg, `Corrupt` if ffprobe finds no video in it.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let (times, frame_secs) = probe(path)?;
        let mut command = Command::new("ffmpeg");
        command.args(["-nostdin", "-v", "error", "-protocol_whitelist", "file,pipe", "-i"]);
        command.arg(file_url(path)).args(["-map", "0:v:0", "-fps_mode", "passthrough"]);
        command.args(["-f", "image2pipe", "-c:v", "ppm", "-pix_fmt", "rgb24", "pipe:1"]);
        let (child, stdout, stderr) = ChildProcess::spawn(&mut command).map_err(|e| missing(path, &e))?;
        let (sender, pictures) = bounded(AHEAD);
        let no_thread = |e: std::io::Error| corrupt(path, &format!("no thread to read it ({e})"));
        let reader = Worker::spawn("ffmpeg-frames", move |_| {
            let mut reader = BufReader::with_capacity(1 << 20, stdout);
            let mut pool = FramePool::default();
            while let Some(picture) = read_ppm(&mut reader, &mut pool).transpose() {
                let is_end = picture.is_err();
                if sender.send(picture).is_err() || is_end {
                    return;
                }
            }
        })
        .map_err(no_thread)?;
        let (error_sender, errors) = bounded(1);
        let error_reader = Worker::spawn("ffmpeg-errors", move |_| {
            let _ = error_sender.send(last_line(stderr));
        })
        .map_err(no_thread)?;
        Ok(Self {
            path: path.into(),
            pictures,
            times,
            frame_secs,
            last_secs: -frame_secs,
            seq: 0,
            _child: child,
            _threads: [reader, error_reader],
            errors,
        })
    }
}

/// ffmpeg did not start.
fn missing(path: &Path, error: &std::io::Error) -> SourceError {
    match error.kind() {
        IoErrorKind::NotFound => setup(
            path,
            "needs ffmpeg, which is not installed; install ffmpeg, or give a folder of PNG or JPEG pictures, .y4m, \
             .mjpeg, or AVI with Motion JPEG",
        ),
        IoErrorKind::TimedOut => corrupt(path, "ffprobe does not come to an end"),
        _ => SourceError::device(ErrorKind::Setup, format!("ffmpeg cannot be started: {error}")),
    }
}

/// The times of all frames in seconds, in order, and the nominal length of a frame.
fn probe(path: &Path) -> Result<(VecDeque<f64>, f64), SourceError> {
    let mut command = Command::new("ffprobe");
    command.args(["-v", "error", "-protocol_whitelist", "file,pipe", "-select_streams", "v:0"]);
    command.args(["-show_entries", "format=start_time:stream=avg_frame_rate:packet=pts_time,flags", "-of", "json"]);
    command.arg(file_url(path));
    let output = run_for_output(&mut command, PROBE_TIMEOUT, PROBE_LIMIT).map_err(|e| missing(path, &e))?;
    if !output.is_success && output.stdout.len() as u64 != PROBE_LIMIT {
        return Err(corrupt(path, &output.last_error));
    }
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    if json.pointer("/streams/0").is_none() {
        return Err(corrupt(path, "it holds no pictures"));
    }
    Ok(frame_times(&json))
}

fn frame_times(json: &serde_json::Value) -> (VecDeque<f64>, f64) {
    let number = |value: Option<&serde_json::Value>| {
        value?.as_str()?.parse::<f64>().ok().filter(|n| n.is_finite() && n.abs() < 1e9)
    };
    let rate = json.pointer("/streams/0/avg_frame_rate").and_then(|v| v.as_str()).and_then(|text| {
        let (num, den) = text.split_once('/')?;
        Some(num.parse::<f64>().ok()? / den.parse::<f64>().ok()?)
    });
    let fps = rate.filter(|fps| fps.is_finite() && (0.1..=1000.0).contains(fps)).unwrap_or(30.0);
    let start = number(json.pointer("/format/start_time")).unwrap_or(0.0);
    let packets = json.get("packets").and_then(|p| p.as_array()).map(Vec::as_slice).unwrap_or_default();
    // Packets marked D are decoded but not shown.
    let shown = packets.iter().filter(|p| !p.get("flags").and_then(|f| f.as_str()).is_some_and(|f| f.contains('D')));
    let times: Option<Vec<f64>> = shown.map(|p| number(p.get("pts_time"))).collect();
    // One packet without a time would shift all that follow: then none is believed.
    let mut times = times.unwrap_or_default();
    times.sort_by(f64::total_cmp);
    (times.into_iter().map(|t| (t - start).max(0.0)).collect(), 1.0 / fps)
}

/// The next picture of a stream of binary PPM pictures; `None` at its end.
fn read_ppm(reader: &mut impl BufRead, pool: &mut FramePool) -> Result<Option<Picture>, String> {
    if reader.fill_buf().map_err(|e| e.to_string())?.is_empty() {
        return Ok(None);
    }
    let mut words = Vec::new();
    while words.len() < 4 {
        let mut line = Vec::new();
        reader.take(128).read_until(b'\n', &mut line).map_err(|e| e.to_string())?;
        if line.pop() != Some(b'\n') {
            return Err("a picture is cut off".into());
        }
        words.extend(String::from_utf8_lossy(&line).split_whitespace().map(str::to_owned));
    }
    let side = |i: usize| words.get(i).and_then(|w| w.parse::<u32>().ok()).filter(|s| (1..=SIDE_LIMIT).contains(s));
    let (Some("P6"), Some("255"), Some(width), Some(height)) =
        (words.first().map(String::as_str), words.get(3).map(String::as_str), side(1), side(2))
    else {
        return Err("ffmpeg sends something unexpected".into());
    };
    let len = rgb_len(width, height).ok_or("the pictures are too large")?;
    let rgb = pool.frame(len, |rgb| reader.read_exact(rgb)).map_err(|_| "a picture is cut off")?;
    Ok(Some(Picture { width, height, rgb }))
}

impl FrameSource for FfmpegSource {
    fn next_frame(&mut self, timeout: Duration) -> Result<VideoFrame, SourceError> {
        let picture = match self.pictures.recv_timeout(timeout) {
            Ok(Ok(picture)) => picture,
            Ok(Err(why)) => return Err(corrupt(&self.path, &why)),
            Err(RecvTimeoutError::Timeout) => return Err(SourceError::Timeout),
            Err(RecvTimeoutError::Disconnected) => {
                // The end, unless not a single frame came.
                let why = self.errors.recv_timeout(Duration::from_secs(1)).unwrap_or_default();
                let is_empty = self.seq == 0 && !why.is_empty();
                return Err(if is_empty { corrupt(&self.path, &why) } else { SourceError::Ended });
            }
        };
        let counted = self.last_secs + self.frame_secs;
        let secs = self.times.pop_front().unwrap_or(counted).max(self.last_secs.max(0.0));
        self.last_secs = secs;
        let seq = self.seq;
        self.seq += 1;
        let captured_at = Timestamp::from_secs_f64(secs);
        Ok(VideoFrame { captured_at, seq, width: picture.width, height: picture.height, rgb: picture.rgb })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_sorted_from_the_start_and_hidden_frames_left_out() {
        let json = serde_json::json!({
            "format": {"start_time": "0.5"},
            "streams": [{"avg_frame_rate": "25/1"}],
            "packets": [
                {"pts_time": "0.300000", "flags": "KD_"}, {"pts_time": "0.500000", "flags": "K__"},
                {"pts_time": "0.620000", "flags": "___"}, {"pts_time": "0.540000", "flags": "___"},
            ],
        });
        let (times, frame) = frame_times(&json);
        let want = [0.0, 0.04, 0.12];
        assert!(times.iter().zip(want).all(|(a, b)| (a - b).abs() < 1e-9) && times.len() == 3, "{times:?}");
        assert!((frame - 0.04).abs() < 1e-9);
    }

    #[test]
    fn one_missing_time_makes_all_times_counted() {
        let json = serde_json::json!({"streams": [{}], "packets": [{"pts_time": "0.0"}, {"flags": "K"}]});
        assert_eq!(frame_times(&json), (VecDeque::new(), 1.0 / 30.0));
    }

    #[test]
    fn pictures_are_read_from_the_pipe_and_nonsense_is_refused() {
        let mut pool = FramePool::default();
        let mut pipe = &b"P6\n2 1\n255\nabcdefP6\n1 1\n255\nxyz"[..];
        let mut next = || read_ppm(&mut pipe, &mut pool).expect("ppm").map(|p| (p.width, p.height, p.rgb.to_vec()));
        assert_eq!(next(), Some((2, 1, b"abcdef".to_vec())));
        assert_eq!(next(), Some((1, 1, b"xyz".to_vec())));
        assert_eq!(next(), None);
        for bad in [&b"P6\n2 1\n255\nab"[..], b"P5\n2 1\n255\nab", b"P6\n99999 1\n255\n", b"P6 2", b"\n\n\n"] {
            assert!(read_ppm(&mut &bad[..], &mut pool).is_err());
        }
    }
}
