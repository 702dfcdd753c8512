//! The command line of CONTRACT: what others rely on. Extend it, rename nothing.

mod eval;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use eval::{
    CalibrateArgs, EvalArgs, EvalCommand, EvalFaceArgs, EvalLipsyncArgs, EvalRobustnessArgs, EvalVentriloquistArgs,
};

use crate::settings::{Background, LipsyncMode, Settings};

/// A webcam and a microphone drive a 3D avatar that OBS captures.
#[derive(Debug, Parser)]
#[command(
    name = "omote",
    version,
    args_conflicts_with_subcommands = true,
    after_help = "\
Examples:
  omote                                   start the app with the last settings
  omote --demo                            let the drawn presenter drive the avatar
  omote --demo --headless out             the same without a window: pictures and a trace in out/
  omote --avatar me.vrm --lipsync mix --background '#00FF00'
  omote replay --video talk.mp4 --trace talk.jsonl --frames talk/
  omote doctor                            what works on this machine and what does not"
)]
pub struct Cli {
    /// What to do instead of starting the app.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// How to start the app.
    #[command(flatten)]
    pub app: AppArgs,
}

/// How to start the app.
#[derive(Args, Clone, Debug, Default)]
pub struct AppArgs {
    /// Name of the camera, or a part of it
    #[arg(long, value_name = "NAME")]
    pub camera: Option<String>,
    /// Name of the microphone, or a part of it
    #[arg(long, value_name = "NAME")]
    pub mic: Option<String>,
    /// Avatar file: VRM 1.0, VRM 0.x, glTF
    #[arg(long, value_name = "FILE")]
    pub avatar: Option<PathBuf>,
    /// What drives the mouth: audio, video or mix
    #[arg(long, value_name = "MODE")]
    pub lipsync: Option<LipsyncMode>,
    /// `transparent`, or a colour as #RRGGBB
    #[arg(long, value_name = "BACKGROUND")]
    pub background: Option<Background>,
    /// Frames a second of the output window
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=240))]
    pub fps: Option<u32>,
    /// Settings file to use instead of the one in the configuration folder
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// Start with default settings; the old file is kept as a backup
    #[arg(long)]
    pub reset_settings: bool,
    /// Let the drawn presenter drive the avatar
    #[arg(long)]
    pub demo: bool,
    /// With --demo: no window; pictures and a trace go to this folder
    #[arg(long, value_name = "DIR", requires = "demo")]
    pub headless: Option<PathBuf>,
    /// Set any setting by its path, as in lipsync.smoothing=0.5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Write telemetry to this file once a second, as JSON lines
    #[arg(long, value_name = "FILE")]
    pub telemetry: Option<PathBuf>,
    /// End after this many seconds
    #[arg(long, value_name = "SECONDS")]
    pub exit_after: Option<f64>,
}

/// The commands beside the app.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the whole product over files: same pipeline, no devices, no windows
    Replay(Box<ReplayArgs>),
    /// Take a picture of an avatar
    Snapshot(Box<SnapshotArgs>),
    /// Say what an avatar or performance file holds
    Inspect(InspectArgs),
    /// Write observations only, no avatar
    Analyze(AnalyzeArgs),
    /// Learn what your vowels sound like (optional)
    Calibrate(CalibrateArgs),
    /// Measure accuracy over a folder of labelled files
    Eval(EvalArgs),
    /// Check cameras, microphones, graphics, models and folders
    Doctor(JsonArgs),
}

/// `omote replay`.
#[derive(Args, Clone, Debug, Default)]
#[command(after_help = "\
Examples:
  omote replay --video talk.mp4 --trace talk.jsonl
  omote replay --video frames/ --fps-in 25 --audio talk.wav --lipsync mix --frames out/
  omote replay --video talk.mp4 --drop-audio 1.0..2.5 --movie out.mp4
  omote replay --performance talk.omote --avatar me.vrm --trace out.jsonl")]
pub struct ReplayArgs {
    /// Movie file, y4m, MJPEG, or a folder of pictures
    #[arg(long, value_name = "FILE|DIR")]
    pub video: Option<PathBuf>,
    /// WAV file; by default the sound of the video
    #[arg(long, value_name = "FILE")]
    pub audio: Option<PathBuf>,
    /// Recorded performance instead of video and audio
    #[arg(long, value_name = "FILE", conflicts_with_all = ["video", "audio"])]
    pub performance: Option<PathBuf>,
    /// Case folder with case.toml: run it and compare with what it expects
    #[arg(long, value_name = "DIR", conflicts_with_all = ["video", "audio", "performance"])]
    pub case: Option<PathBuf>,
    /// The bundled presenter's demo, or a presenter script
    #[arg(long, value_name = "SCRIPT", num_args = 0..=1, default_missing_value = "demo",
          conflicts_with_all = ["video", "audio", "performance", "case"])]
    pub presenter: Option<PathBuf>,
    /// What drives the mouth: audio, video or mix
    #[arg(long, value_name = "MODE")]
    pub lipsync: Option<LipsyncMode>,
    /// Avatar file; by default the bundled one
    #[arg(long, value_name = "FILE")]
    pub avatar: Option<PathBuf>,
    /// Write one JSON object per output frame
    #[arg(long, value_name = "OUT.jsonl")]
    pub trace: Option<PathBuf>,
    /// Write pictures into this folder
    #[arg(long, value_name = "DIR")]
    pub frames: Option<PathBuf>,
    /// Write a movie (needs ffmpeg)
    #[arg(long, value_name = "OUT.mp4", conflicts_with = "frames")]
    pub movie: Option<PathBuf>,
    /// Write what was seen and heard as a performance
    #[arg(long, value_name = "OUT.omote")]
    pub record: Option<PathBuf>,
    /// Output frames a second
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u32).range(1..=240))]
    pub fps: u32,
    /// Pictures a second of a folder of pictures
    #[arg(long, value_name = "N", default_value_t = 30.0, value_parser = parse_rate)]
    pub fps_in: f64,
    /// Size of pictures and movie
    #[arg(long, value_name = "WxH", default_value = "640x480", value_parser = parse_size)]
    pub size: Option<Size>,
    /// Seed of everything random
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub seed: u64,
    /// Set any setting by its path, as in lipsync.mode=mix
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
    /// Settings file; by default the default settings, unmirrored
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
    /// The microphone is gone from A to B seconds
    #[arg(long, value_name = "A..B")]
    pub drop_audio: Vec<String>,
    /// The camera is gone from A to B seconds
    #[arg(long, value_name = "A..B")]
    pub drop_video: Vec<String>,
    /// Something is wrong from A to B seconds: audio muted|stalled|disconnected|holes, video
    /// face_out|covered|dark|frozen|stalled|black|disconnected
    #[arg(long, value_name = "SOURCE=KIND@A..B")]
    pub fault: Vec<String>,
    /// Show an expression of the avatar from A to B seconds
    #[arg(long, value_name = "NAME@A..B")]
    pub expression: Vec<String>,
    /// Take as long as the recording did
    #[arg(long)]
    pub realtime: bool,
}

/// `omote snapshot`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  omote snapshot --avatar me.vrm --out me.png
  omote snapshot --avatar me.vrm --out side.png --view 75,0 --expression happy=1 --head 20,0,0")]
pub struct SnapshotArgs {
    /// Avatar file; by default the bundled one
    #[arg(long, value_name = "FILE")]
    pub avatar: Option<PathBuf>,
    /// The picture
    #[arg(long, value_name = "PNG")]
    pub out: PathBuf,
    /// Weight of an expression, 0..1
    #[arg(long, value_name = "NAME=W")]
    pub expression: Vec<String>,
    /// Head yaw (own left +), pitch (down +), roll (own left shoulder +), degrees
    #[arg(long, value_name = "YAW,PITCH,ROLL", allow_hyphen_values = true, value_parser = parse_numbers::<3>)]
    pub head: Option<Numbers<3>>,
    /// Gaze yaw and pitch relative to the head, degrees
    #[arg(long, value_name = "YAW,PITCH", allow_hyphen_values = true, value_parser = parse_numbers::<2>)]
    pub gaze: Option<Numbers<2>>,
    /// Camera on this side of the face, degrees: alpha > 0 the avatar's left, beta > 0 above; with angle correction
    #[arg(long, value_name = "ALPHA,BETA", allow_hyphen_values = true, value_parser = parse_numbers::<2>)]
    pub view: Option<Numbers<2>>,
    /// Camera position and target in avatar space, metres
    #[arg(long, value_name = "PX,PY,PZ,TX,TY,TZ", allow_hyphen_values = true, value_parser = parse_numbers::<6>)]
    pub camera: Option<Numbers<6>>,
    /// Vertical field of view, degrees
    #[arg(long, value_name = "DEG", default_value_t = 30.0)]
    pub fov: f32,
    /// Size of the picture
    #[arg(long, value_name = "WxH", default_value = "512x512", value_parser = parse_size)]
    pub size: Size,
    /// `transparent`, or a colour as #RRGGBB
    #[arg(long, value_name = "BACKGROUND", default_value = "transparent")]
    pub background: Background,
    /// Direction towards the light
    #[arg(long, value_name = "X,Y,Z", allow_hyphen_values = true, value_parser = parse_numbers::<3>)]
    pub light: Option<Numbers<3>>,
    /// Outlines of toon materials
    #[arg(long, value_enum, default_value_t = OnOff::On)]
    pub outline: OnOff,
    /// Let this many seconds pass at 60 Hz for springs and constraints
    #[arg(long, value_name = "SECONDS", default_value_t = 0.0)]
    pub time: f32,
    /// Multisampling
    #[arg(long, value_name = "1|4", default_value_t = 4, value_parser = parse_msaa)]
    pub msaa: u32,
}

/// `omote inspect`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "Example:\n  omote inspect me.vrm --json")]
pub struct InspectArgs {
    /// Avatar (VRM, glTF) or performance (.omote)
    pub file: PathBuf,
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// `omote analyze`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Examples:
  omote analyze --video talk.mp4 --out seen.jsonl
  omote analyze --image portrait.png --out seen.jsonl
  omote analyze --audio talk.wav --out heard.jsonl")]
pub struct AnalyzeArgs {
    /// Movie file, y4m, MJPEG, or a folder of pictures
    #[arg(long, value_name = "FILE|DIR", required_unless_present_any = ["image", "audio"])]
    pub video: Option<PathBuf>,
    /// One picture
    #[arg(long, value_name = "FILE", conflicts_with = "video")]
    pub image: Option<PathBuf>,
    /// WAV file; by default the sound of the video
    #[arg(long, value_name = "FILE")]
    pub audio: Option<PathBuf>,
    /// One JSON object per picture and per 10 ms of sound; `-` for standard output
    #[arg(long, value_name = "OUT.jsonl")]
    pub out: PathBuf,
    /// Pictures a second of a folder of pictures
    #[arg(long, value_name = "N", default_value_t = 30.0, value_parser = parse_rate)]
    pub fps_in: f64,
    /// Something is wrong from A to B seconds, as in replay
    #[arg(long, value_name = "SOURCE=KIND@A..B")]
    pub fault: Vec<String>,
    /// Set any setting by its path, as in video.fov_deg=50
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `omote doctor`.
#[derive(Args, Clone, Copy, Debug)]
#[command(after_help = "Example:\n  omote doctor --json > doctor.json")]
pub struct JsonArgs {
    /// As JSON
    #[arg(long)]
    pub json: bool,
}

/// A switch on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum OnOff {
    /// Shown.
    On,
    /// Hidden.
    Off,
}

/// Width and height, pixels.
pub type Size = [u32; 2];

/// Numbers separated by commas.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers<const N: usize>(pub [f32; N]);

/// Pictures a second.
fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| (0.1..=1000.0).contains(rate));
    rate.ok_or_else(|| "0.1 to 1000 pictures a second are expected".to_owned())
}

fn parse_size(text: &str) -> Result<Size, String> {
    let wrong = || format!("{text:?} is no size from 16x16 to 8192x8192, as in 640x480");
    let (width, height) = text.split_once(['x', 'X']).ok_or_else(wrong)?;
    let side = |s: &str| s.parse::<u32>().ok().filter(|n| (16..=8192).contains(n)).ok_or_else(wrong);
    Ok([side(width)?, side(height)?])
}

fn parse_msaa(text: &str) -> Result<u32, String> {
    text.parse().ok().filter(|n| matches!(n, 1 | 4)).ok_or_else(|| "it is 1 or 4".to_owned())
}

fn parse_numbers<const N: usize>(text: &str) -> Result<Numbers<N>, String> {
    let wrong = || format!("{N} numbers separated by commas are expected");
    let values: Vec<f32> = text
        .split(',')
        .map(|n| n.trim().parse::<f32>().ok().filter(|n| n.is_finite()))
        .collect::<Option<_>>()
        .ok_or_else(wrong)?;
    values.try_into().map(Numbers).map_err(|_| wrong())
}

impl AppArgs {
    /// Puts the arguments over the settings of the file.
    ///
    /// # Errors
    /// What is wrong with a `--set`.
    pub fn apply(&self, settings: &mut Settings) -> Result<(), String> {
        if let Some(camera) = &self.camera {
            (settings.video.camera, settings.video.enabled) = (camera.clone(), true);
        }
        if let Some(mic) = &self.mic {
            (settings.audio.microphone, settings.audio.enabled) = (mic.clone(), true);
        }
        if let Some(avatar) = &self.avatar {
            settings.avatar.file = avatar.to_string_lossy().into_owned();
        }
        if let Some(mode) = self.lipsync {
            settings.lipsync.mode = mode;
        }
        if let Some(background) = self.background {
            settings.output.background = background;
        }
        if let Some(fps) = self.fps {
            settings.output.fps = fps;
        }
        apply_sets(settings, &self.set)
    }
}

/// Applies `--set KEY=VALUE` arguments.
///
/// # Errors
/// What is wrong with one.
pub fn apply_sets(settings: &mut Settings, sets: &[String]) -> Result<(), String> {
    for text in sets {
        let (path, value) = text.split_once('=').ok_or_else(|| format!("--set {text:?}: KEY=VALUE is expected"))?;
        settings.set(path.trim(), value.trim()).map_err(|e| e.to_string())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn the_contract_is_understood() {
        for line in [
            "omote --camera Cam --mic Mic --avatar a.vrm --lipsync mix --background #00FF00 --fps 30 --reset-settings",
            "omote --demo --headless out",
            "omote replay --video a.mp4 --audio a.wav --lipsync audio --trace t.jsonl --frames f --record r.omote \
             --fps 30 --fps-in 25 --size 320x240 --seed 7 --set lipsync.mode=mix --drop-audio 1.0..2.5 \
             --drop-video 1..2 --fault video=dark@0..1 --expression happy@1..2 --realtime",
            "omote snapshot --avatar a.vrm --out a.png --expression aa=0.5 --head -20,10,5 --gaze 5,-5 --view 75,0 \
             --fov 30 --size 512x512 --background transparent --light 1,1,1 --outline off --time 1 --msaa 1",
            "omote inspect a.vrm --json",
            "omote analyze --image a.png --out o.jsonl",
            "omote eval lipsync recordings --json out.json --latency low --calibrate --set audio.gain_db=6",
            "omote eval ventriloquist clips --json -",
            "omote calibrate vowels.wav --settings s.toml",
            "omote calibrate --clear",
            "omote doctor --json",
        ] {
            Cli::try_parse_from(line.split_whitespace()).unwrap_or_else(|e| panic!("{line}: {e}"));
        }
        for line in [
            "omote --lipsync loud",
            "omote --background green",
            "omote --headless out",
            "omote replay --size 0x0",
            "omote snapshot --out a.png --head 1,2",
            "omote snapshot --out a.png --msaa 3",
            "omote analyze --out o.jsonl",
            "omote replay --fps 0",
            "omote replay --video a.mp4 --fps-in nan",
            "omote analyze --video a.mp4 --out o.jsonl --fps-in 0",
            "omote eval",
            "omote calibrate",
            "omote calibrate a.wav --clear",
            "omote eval lipsync",
        ] {
            assert!(Cli::try_parse_from(line.split_whitespace()).is_err(), "{line}");
        }
    }
}
