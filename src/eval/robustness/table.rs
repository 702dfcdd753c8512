//! The figures as text.

use std::fmt::Write;

use super::CaseFigures;

/// A table for people.
pub fn table(figures: &[CaseFigures]) -> String {
    let mut text = String::new();
    let width = figures.iter().map(|case| case.name.chars().count()).max().unwrap_or(4);
    let mut group = "";
    for (i, case) in figures.iter().enumerate() {
        // Writing into a string cannot fail.
        if group != case.group {
            group = case.group;
            let _ = writeln!(
                text,
                "{}{group:width$}       seen  first s  head °   lids   open  widest  state",
                if i == 0 { "" } else { "\n" },
                width = width + 4
            );
        }
        let number = |value: Option<f32>, digits: usize| value.map_or("–".into(), |v| format!("{v:.digits$}"));
        let _ = write!(
            text,
            "{:>3} {:width$} {:>9.0} % {:>7} {:>7} {:>6} {:>6} {:>7}  {}",
            i + 1,
            case.name,
            case.observed * 100.0,
            number(case.first_secs.map(|secs| secs as f32), 2),
            number(case.head_deg, 1),
            number(case.lids, 2),
            number(case.open, 2),
            number(case.most_open, 2),
            case.state,
        );
        if !case.hints.is_empty() {
            let _ = write!(text, " ({})", case.hints.join(", "));
        }
        if !case.broken.is_empty() {
            let _ = write!(text, "  BROKEN: {}", case.broken.join("; "));
        }
        text.push('\n');
    }
    let broken = figures.iter().filter(|case| !case.broken.is_empty()).count();
    let _ = writeln!(text, "\n{} of {} cases are as they should be", figures.len() - broken, figures.len());
    text
}
