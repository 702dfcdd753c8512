//! Arguments of `omote eval` and `omote calibrate`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

use crate::settings::HearingLatency;

/// `omote eval`.
#[derive(Args, Clone, Debug)]
pub struct EvalArgs {
    /// What is measured.
    #[command(subcommand)]
    pub what: EvalCommand,
}

/// What `omote eval` measures.
#[derive(Clone, Debug, Subcommand)]
pub enum EvalCommand {
    /// How well faces are seen: landmarks, blinks, jitter, lag, cost, beside MediaPipe
    Face(EvalFaceArgs),
    /// How well speech is heard: visemes, timing, false opening
    Lipsync(EvalLipsyncArgs),
    /// What becomes of faces in bad pictures: darkness, masks, hands, odd framing, gaps, other faces
    Robustness(EvalRobustnessArgs),
    /// Whether the mouth keeps moving when a source is lost
    Ventriloquist(EvalVentriloquistArgs),
}

/// `omote eval face`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
A folder holds clips, stills and presenter scripts (.toml), with or without sub-folders. What is known about NAME.EXT
lies beside it: NAME.face.jsonl, what MediaPipe saw (models/face/reference.py writes it), and NAME.truth.toml, what people counted:
  blinks = [0.48, 1.92]   seconds at which the lids are furthest down
  face = [[0.0, 2.4]]     when a face is to be seen; true or false for the whole clip
Without them, what needs none is measured.

Examples:
  omote eval face clips/
  omote eval face clips/ --references numbers/ --truth blinks.toml --json figures.json
  omote eval face clips/ --overlays pictures/ --set video.fov_deg=55")]
pub struct EvalFaceArgs {
    /// Folder of clips, stills and presenter scripts
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Where references and truths lie if not beside the clips: the same sub-folders below this one
    #[arg(long, value_name = "DIR")]
    pub references: Option<PathBuf>,
    /// One truth file for many clips: a table ['NAME.EXT'] for each
    #[arg(long, value_name = "FILE")]
    pub truth: Option<PathBuf>,
    /// Write a picture for each clip with landmarks drawn in: the product's left, the reference's right
    #[arg(long, value_name = "DIR")]
    pub overlays: Option<PathBuf>,
    /// Also write the figures as JSON; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Set any setting by its path, as in video.fov_deg=55
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `omote eval lipsync`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
A folder holds recordings NAME.wav (any rate, format and channel count) and beside each its labels NAME.tsv:
lines of start, end (seconds), phone and viseme (sil PP FF TH DD kk CH SS nn RR aa E ih oh ou; anything else is left
out), separated by tabs. Sub-folders are scored one by one and together. A WAV without labels counts as noise in
which nobody speaks: only the false-open share is taken from it.

Examples:
  omote eval lipsync recordings/
  omote eval lipsync recordings/ --latency low --json scores.json
  omote eval lipsync recordings/ --calibrate")]
pub struct EvalLipsyncArgs {
    /// Folder of recordings, with or without sub-folders
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Also write the figures as JSON; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// How long the classifier may wait: accurate (30 ms) or low (not at all)
    #[arg(long, value_name = "LATENCY")]
    pub latency: Option<HearingLatency>,
    /// Also calibrate on up to a second of each vowel of each sub-folder, and print both
    #[arg(long)]
    pub calibrate: bool,
    /// Set any setting by its path, as in audio.gain_db=6
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `omote eval ventriloquist`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
Presenter scripts (.toml, with their voice and phones beside them) and movies with sound are taken from the folder;
without one, the scripts that come with omote. Each loses its microphone and its picture in many ways. The figures
are, for each mode: seconds of speech with a still mouth, of flapping in silence, until the other source has taken
over; the largest step of the difference to the undisturbed mouth; the correlation with it inside the loss.
Exits with 1 when the mix breaks one of its limits.

Examples:
  omote eval ventriloquist
  omote eval ventriloquist clips/ --json figures.json
  omote eval ventriloquist clips/ --set lipsync.smoothing=0.5")]
pub struct EvalVentriloquistArgs {
    /// Folder of talking clips and presenter scripts; without it, the bundled scripts
    #[arg(value_name = "DIR")]
    pub dir: Option<PathBuf>,
    /// Also write the figures as JSON; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Set any setting by its path, as in lipsync.smoothing=0.5
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `omote eval robustness`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
The built-in presenter is filmed in poses, in bad light, with things worn and held before the face, badly framed, with
gaps, and beside other faces; so are the portraits given. The figures are, for each case: how often a face was seen and
how soon, the mean errors of head (degrees), lids and mouth against the undisturbed picture (for poses: against what
was drawn), how far the mouth opened at most, and the state. Exits with 1 when a case is not as it should be.

Examples:
  omote eval robustness
  omote eval robustness --portrait me.png --pictures sheet.png --json figures.json
  omote eval robustness --only mask")]
pub struct EvalRobustnessArgs {
    /// Picture of one face, filmed beside the presenter; may be given several times
    #[arg(long = "portrait", value_name = "FILE")]
    pub portraits: Vec<PathBuf>,
    /// Only cases with this in their group (light, worn, framing, time, pose, scene) or name
    #[arg(long, value_name = "TEXT")]
    pub only: Option<String>,
    /// Also write a sheet with a picture of each case and the landmarks seen in it
    #[arg(long, value_name = "PNG")]
    pub pictures: Option<PathBuf>,
    /// Also write the figures as JSON; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// `omote calibrate`.
#[derive(Args, Clone, Debug)]
#[command(after_help = "\
omote needs no calibration. It helps where your voice is unusual: high, sung, whispered, a child's.
Record a, i, u, e, o (as in father, see, two, bed, go), a second each, with a short pause between them.

Examples:
  omote calibrate vowels.wav
  omote calibrate --clear")]
pub struct CalibrateArgs {
    /// Recording of the five vowels
    #[arg(value_name = "FILE", required_unless_present = "clear")]
    pub recording: Option<PathBuf>,
    /// Forget the calibration
    #[arg(long, conflicts_with = "recording")]
    pub clear: bool,
    /// Settings file to use instead of the one in the configuration folder
    #[arg(long, value_name = "FILE")]
    pub settings: Option<PathBuf>,
}
