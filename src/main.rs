//! The omote program: see `omote --help`.

use std::process::ExitCode;

use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    // `OMOTE_LOG=debug` tells more. Logs go to stderr; they never hold pictures, sound or landmarks.
    let filter = EnvFilter::try_from_env("OMOTE_LOG")
        .unwrap_or_else(|_| EnvFilter::new("warn,omote=info,wgpu_hal=error,wgpu_core=error,naga=error"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).without_time().init();
    omote::app::run()
}
