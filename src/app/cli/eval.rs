//! Arguments of `omote eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand};

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
    /// How well speech is heard: visemes, timing, false opening
    Lipsync(EvalLipsyncArgs),
    /// Whether the mouth keeps moving when a source is lost
    Ventriloquist(EvalVentriloquistArgs),
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
    /// Set any setting by its path, as in audio.gain_db=6
    #[arg(long = "set", value_name = "KEY=VALUE")]
    pub set: Vec<String>,
}

/// `omote eval ventriloquist`.
#[derive(Args, Clone, Debug)]
pub struct EvalVentriloquistArgs {
    /// Folder of talking clips and presenter scripts
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// Also write the figures as JSON; `-` for standard output instead of the table
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}
