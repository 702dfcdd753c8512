//! `omote eval`: accuracy over folders of labelled files.

use super::cli::{EvalArgs, EvalCommand, EvalLipsyncArgs, EvalVentriloquistArgs};

/// Measures and prints.
pub(super) fn eval(args: &EvalArgs) -> anyhow::Result<()> {
    match &args.what {
        EvalCommand::Lipsync(args) => lipsync(args),
        EvalCommand::Ventriloquist(args) => ventriloquist(args),
    }
}

fn lipsync(args: &EvalLipsyncArgs) -> anyhow::Result<()> {
    anyhow::bail!("not here yet: {}", args.dir.display())
}

fn ventriloquist(args: &EvalVentriloquistArgs) -> anyhow::Result<()> {
    anyhow::bail!("not here yet: {}", args.dir.display())
}
