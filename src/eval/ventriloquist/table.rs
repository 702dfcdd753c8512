//! The figures as text.

use std::fmt::Write;

use super::VentriloquistFigures;

/// A table for people.
pub fn table(figures: &VentriloquistFigures) -> String {
    let mut text = String::new();
    // Writing into a string cannot fail.
    let _ = write(figures, &mut text);
    text
}

fn write(figures: &VentriloquistFigures, out: &mut String) -> std::fmt::Result {
    let width = figures.losses.iter().map(|l| l.clip.chars().count()).max().unwrap_or(4).clamp(4, 32);
    writeln!(out, "Without losses")?;
    writeln!(out, "{:width$}  mode   six classes  opening r  onset ms  missed  changes/s  flapping s", "clip")?;
    for clip in &figures.clips {
        let number = |value: Option<f64>, digits: usize| value.map_or("–".into(), |v| format!("{v:.digits$}"));
        writeln!(
            out,
            "{:width$}  {:5}  {:>11}  {:>9}  {:>8}  {:>6}  {:>9.1}  {:>10.2}",
            clip.clip,
            clip.mode,
            number(clip.six_class, 3),
            number(clip.truth_correlation, 2),
            number(clip.onset_secs.map(|s| s * 1e3), 0),
            clip.missed_onsets,
            clip.changes_per_sec,
            clip.flapping_secs,
        )?;
    }
    writeln!(out, "\nWith losses: the worst try; seconds, steps per 1/60 s, correlation with the undisturbed mouth")?;
    writeln!(
        out,
        "{:width$}  {:20}  mode   still mouth  flapping  recovery  return  step  inside   rest   correlation",
        "clip", "loss"
    )?;
    for loss in &figures.losses {
        writeln!(
            out,
            "{:width$}  {:20}  {:5}  {:>11.2}  {:>8.2}  {:>8.2}  {:>6.2}  {:>4.2}  {:>6.2}  {:>5.2}  {:>11}",
            loss.clip,
            loss.loss.name(),
            loss.mode,
            loss.ventriloquism_secs,
            loss.flapping_secs,
            loss.recovery_secs,
            loss.return_secs,
            loss.largest_step,
            loss.step_inside,
            loss.rest_secs,
            loss.correlation.map_or("–".into(), |c| format!("{c:.2}")),
        )?;
    }
    let broken: Vec<_> = figures.broken().collect();
    writeln!(out, "\n{} of {} limits of the mix are kept", figures.gates.len() - broken.len(), figures.gates.len())?;
    for gate in broken {
        writeln!(
            out,
            "broken: {}, {}: {} {:.3}, limit {:.2}",
            gate.clip,
            gate.loss.name(),
            gate.what,
            gate.value,
            gate.limit
        )?;
    }
    Ok(())
}
