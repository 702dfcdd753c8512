//! `omote eval`: accuracy over folders of labelled files.

use std::fmt::Write as _;
use std::io::Write;
use std::path::Path;

use anyhow::{Context, anyhow, bail};

use super::cli::{
    EvalArgs, EvalCommand, EvalFaceArgs, EvalLipsyncArgs, EvalRobustnessArgs, EvalVentriloquistArgs, apply_sets,
};
use super::replay_command::create;
use super::say::say;
use crate::eval::face::{FaceEvalOptions, eval_face, read_truths};
use crate::eval::{Figures, LipsyncEval, LipsyncOptions, eval_lipsync, face as face_eval, robustness, ventriloquist};

/// Measures and prints.
pub(super) fn eval(args: &EvalArgs) -> anyhow::Result<()> {
    match &args.what {
        EvalCommand::Face(args) => face(args),
        EvalCommand::Lipsync(args) => lipsync(args),
        EvalCommand::Robustness(args) => robustness(args),
        EvalCommand::Ventriloquist(args) => ventriloquist(args),
    }
}

fn face(args: &EvalFaceArgs) -> anyhow::Result<()> {
    let mut options = FaceEvalOptions {
        references: args.references.clone(),
        overlays: args.overlays.clone(),
        truths: args.truth.as_deref().map(read_truths).transpose()?.unwrap_or_default(),
        ..FaceEvalOptions::default()
    };
    apply_sets(&mut options.settings, &args.set).map_err(|error| anyhow!(error))?;
    let eval = eval_face(&args.dir, &options, &mut |clip| say(&clip.name))?;
    print_figures(args.json.as_deref(), &eval, || face_eval::table(&eval))?;
    match eval.unmeasured.len() {
        0 => Ok(()),
        count => bail!("{count} clips could not be measured"),
    }
}

/// The figures as JSON where wanted, and as a table unless the JSON goes to standard output.
fn print_figures(
    json: Option<&Path>,
    figures: &impl serde::Serialize,
    table: impl FnOnce() -> String,
) -> anyhow::Result<()> {
    let is_json_only = json == Some(Path::new("-"));
    if let Some(path) = json {
        let out: Box<dyn Write> =
            if is_json_only { Box::new(std::io::stdout().lock()) } else { Box::new(create(path)?) };
        write_json(out, figures).with_context(|| format!("the figures cannot be written: {}", path.display()))?;
    }
    if !is_json_only {
        std::io::stdout().lock().write_all(table().as_bytes()).context("standard output cannot be written")?;
    }
    Ok(())
}

fn lipsync(args: &EvalLipsyncArgs) -> anyhow::Result<()> {
    let mut options = LipsyncOptions { calibrate: args.calibrate, ..LipsyncOptions::default() };
    if let Some(latency) = args.latency {
        options.settings.audio.latency = latency;
    }
    apply_sets(&mut options.settings, &args.set).map_err(|error| anyhow!(error))?;
    let eval = eval_lipsync(&args.dir, &options, &mut |group| {
        say(&format!("{}: {} recordings", group.name, group.recordings.len()));
    })?;
    print_figures(args.json.as_deref(), &eval, || table(&eval))
}

fn write_json(mut out: impl Write, eval: &impl serde::Serialize) -> std::io::Result<()> {
    serde_json::to_writer_pretty(&mut out, eval)?;
    writeln!(out)?;
    out.flush()
}

/// A column: its head and its value.
type Column = (&'static str, fn(&Figures) -> String);

const ACCURACY: &[Column] = &[
    ("frames", |f| f.frames.to_string()),
    ("15", |f| share(f.viseme15)),
    ("six", |f| share(f.six)),
    ("vowel", |f| share(f.vowel)),
    ("six*", |f| share(f.six_pooled)),
    ("vowel*", |f| share(f.vowel_pooled)),
    ("sil prec", |f| share(f.silence_precision)),
    ("sil rec", |f| share(f.silence_recall)),
    ("pbm", |f| share(f.pp_recall)),
    ("lips heard", |f| share(f.lips_heard)),
    ("lips shown", |f| share(f.lips_shown)),
];

const TIMING: &[Column] = &[
    ("onset", |f| millis(f.onset_ms)),
    ("mouth", |f| millis(f.mouth_onset_ms)),
    ("missed", |f| format!("{}/{}", f.onsets_missed, f.onsets)),
    ("offset", |f| millis(f.offset_ms)),
    ("mouth", |f| millis(f.mouth_offset_ms)),
    ("missed", |f| format!("{}/{}", f.offsets_missed, f.offsets)),
    ("chg/s", |f| rate(f.changes_heard)),
    ("shown", |f| rate(f.changes_shown)),
    ("false open", |f| share(f.false_open)),
    ("heard", |f| share(f.false_open_raw)),
];

const NOTES: &str = "
shares 0..1, delays in ms
six: A I U E O closed, a consonant is a wrong answer; vowel: the likeliest of A I U E O, over vowels
*: A I U E O closed are the only answers
onset, offset: from the sound to its being heard, look-ahead included; mouth: to the moving or resting mouth
false open: displayed frames with an open mouth where nobody speaks, and hops so heard
";

/// What people read.
fn table(eval: &LipsyncEval) -> String {
    let rows: Vec<_> = eval.groups.iter().chain((eval.groups.len() > 1).then_some(&eval.total)).collect();
    let name_len = rows.iter().map(|r| r.name.chars().count()).max().unwrap_or_default().max(8) + 13;
    let mut text = String::new();
    for columns in [ACCURACY, TIMING] {
        let _ = write!(text, "{:name_len$}", "");
        let width = |head: &str| head.len().max(6) + 2;
        for (head, _) in columns {
            let _ = write!(text, "{head:>width$}", width = width(head));
        }
        text.push('\n');
        for row in &rows {
            let figures = [(row.name.clone(), Some(&row.figures))];
            let calibrated = (format!("{} calibrated", row.name), row.calibrated.as_ref());
            for (name, figures) in figures.into_iter().chain([calibrated]) {
                let Some(figures) = figures else { continue };
                let _ = write!(text, "{name:name_len$}");
                for (head, value) in columns {
                    let _ = write!(text, "{:>width$}", value(figures), width = width(head));
                }
                text.push('\n');
            }
        }
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text.push_str(NOTES);
    text
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{v:.3}"))
}

fn millis(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{v:.0}"))
}

fn rate(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{v:.1}"))
}

fn ventriloquist(args: &EvalVentriloquistArgs) -> anyhow::Result<()> {
    let mut options = ventriloquist::VentriloquistOptions::default();
    apply_sets(&mut options.settings, &args.set).map_err(|error| anyhow!(error))?;
    let progress = &mut |clip: &str| say(clip);
    let figures = match &args.dir {
        Some(dir) => ventriloquist::ventriloquist(dir, &options, progress)?,
        None => ventriloquist::bundled_ventriloquist(ventriloquist::BUNDLED, &options, progress)?,
    };
    print_figures(args.json.as_deref(), &figures, || ventriloquist::table(&figures))?;
    let broken = figures.broken().count();
    if broken > 0 {
        bail!("{broken} of {} limits of the mix are broken", figures.gates.len());
    }
    Ok(())
}

fn robustness(args: &EvalRobustnessArgs) -> anyhow::Result<()> {
    let options = robustness::RobustnessOptions { portraits: args.portraits.clone(), only: args.only.clone() };
    let mut sheet = robustness::Sheet::default();
    let figures = robustness::robustness(&options, &mut |case, picture, report| {
        say(&case.name);
        sheet.add(case, picture, report);
    })?;
    if figures.is_empty() {
        bail!("no case has {} in its group or name", args.only.as_deref().unwrap_or_default());
    }
    if let Some(path) = &args.pictures {
        let sheet = sheet.compose();
        sheet.save(path).with_context(|| format!("the picture sheet cannot be written: {}", path.display()))?;
    }
    print_figures(args.json.as_deref(), &figures, || robustness::table(&figures))?;
    let broken = figures.iter().filter(|case| !case.broken.is_empty()).count();
    if broken > 0 {
        bail!("{broken} of {} cases are not as they should be", figures.len());
    }
    Ok(())
}
