//! `omote eval`: accuracy over folders of labelled files.

use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};

use super::cli::{EvalArgs, EvalCommand, EvalLipsyncArgs, EvalVentriloquistArgs, apply_sets};
use super::say::say;
use crate::eval::ventriloquist;

/// Measures and prints.
pub(super) fn eval(args: &EvalArgs) -> anyhow::Result<()> {
    match &args.what {
        EvalCommand::Lipsync(args) => lipsync(args),
        EvalCommand::Ventriloquist(args) => ventriloquist(args),
    }
}

fn lipsync(args: &EvalLipsyncArgs) -> anyhow::Result<()> {
    bail!("not here yet: {}", args.dir.display())
}

fn ventriloquist(args: &EvalVentriloquistArgs) -> anyhow::Result<()> {
    let mut options = ventriloquist::VentriloquistOptions::default();
    apply_sets(&mut options.settings, &args.set).map_err(|error| anyhow::anyhow!(error))?;
    let progress = &mut |clip: &str| say(clip);
    let figures = match &args.dir {
        Some(dir) => ventriloquist::ventriloquist(dir, &options, progress)?,
        None => ventriloquist::bundled_ventriloquist(ventriloquist::BUNDLED, &options, progress)?,
    };
    let is_on_stdout = args.json.as_deref() == Some(Path::new("-"));
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&figures)?;
        if is_on_stdout {
            std::io::stdout().lock().write_all(json.as_bytes())?;
        } else {
            std::fs::write(path, json).with_context(|| format!("the file cannot be written: {}", path.display()))?;
        }
    }
    if !is_on_stdout {
        std::io::stdout().lock().write_all(ventriloquist::table(&figures).as_bytes())?;
    }
    let broken = figures.broken().count();
    if broken > 0 {
        bail!("{broken} of {} limits of the mix are broken", figures.gates.len());
    }
    Ok(())
}
