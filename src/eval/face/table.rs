//! The figures as text.

use std::fmt::Write;

use super::blinks::BlinkFigures;
use super::figures::{FaceFigures, ParityFigures, ProductFigures, TruthFigures, Versus, limits};
use super::{FaceEval, GroupFaceFigures};

/// A column: its head and its value.
type Column<T> = (&'static str, fn(&T) -> String);

const PARITY: &[Column<ParityFigures>] = &[
    ("frames", |f| f.frames.to_string()),
    ("both", |f| f.common.to_string()),
    ("ours", |f| f.ours_only.to_string()),
    ("theirs", |f| f.theirs_only.to_string()),
    ("pixels", |f| if f.other_pixels == 0 { "same".into() } else { format!("{} differ", f.other_pixels) }),
    ("lm px", |f| number(f.landmarks_px, 3)),
    ("worst", |f| number(f.landmarks_worst_px, 2)),
    ("lm %eye", |f| number(f.landmarks_share.map(|s| s * 100.0), 2)),
    ("shapes", |f| number(f.blendshapes, 4)),
    ("shapes r", |f| number(f.blendshapes_r, 3)),
    ("head deg", |f| number(f.head_deg, 2)),
    ("worst", |f| number(f.head_worst_deg, 2)),
    ("offset", |f| number(f.head_offset_deg, 2)),
    ("mouth r", |f| number(f.mouth_r, 4)),
    ("kept", |f| format!("{}/{}", f.clips_within_limits, f.clips)),
];

const PRODUCT: &[Column<FaceFigures>] = &[
    ("frames", |f| f.frames.to_string()),
    ("seen", |f| share(Some(f.product.seen))),
    ("of there", |f| share(f.product.seen_where_there)),
    ("of none", |f| share(f.product.seen_where_none)),
    ("lm px", |f| number(f.product.landmarks_px, 2)),
    ("lm %eye", |f| number(f.product.landmarks_share.map(|s| s * 100.0), 2)),
    ("head deg", |f| number(f.product.head_deg, 2)),
    ("mouth r", |f| number(f.product.mouth_r, 3)),
    ("lids r", |f| number(f.product.lids_r, 3)),
    ("work ms", |f| number(f.product.cost_ms.ours, 1)),
    ("theirs", |f| number(f.product.cost_ms.theirs, 1)),
    ("ratio", |f| number(f.product.cost_ms.ratio, 2)),
];

const STABILITY: &[Column<ProductFigures>] = &[
    ("head deg", |f| number(f.jitter_head_deg.ours, 3)),
    ("theirs", |f| number(f.jitter_head_deg.theirs, 3)),
    ("ratio", |f| number(f.jitter_head_deg.ratio, 2)),
    ("mouth", |f| number(f.jitter_mouth.ours, 4)),
    ("ratio", |f| number(f.jitter_mouth.ratio, 2)),
    ("lids", |f| number(f.jitter_lids.ours, 4)),
    ("ratio", |f| number(f.jitter_lids.ratio, 2)),
    ("lm px", |f| number(f.jitter_landmarks_px.ours, 3)),
    ("ratio", |f| number(f.jitter_landmarks_px.ratio, 2)),
    ("lag head", |f| lag(f.lag_head_ms)),
    ("lag mouth", |f| lag(f.lag_mouth_ms)),
    ("lag lids", |f| lag(f.lag_lids_ms)),
];

const TRUTH: &[Column<TruthFigures>] = &[
    ("frames", |f| f.frames.to_string()),
    ("yaw", |f| number(f.head_deg[0], 2)),
    ("pitch", |f| number(f.head_deg[1], 2)),
    ("roll", |f| number(f.head_deg[2], 2)),
    ("mouth", |f| number(f.mouth, 3)),
    ("r", |f| number(f.mouth_r, 3)),
    ("lids", |f| number(f.lids, 3)),
    ("r", |f| number(f.lids_r, 3)),
    ("gaze yaw", |f| number(f.gaze_deg[0], 2)),
    ("r", |f| number(f.gaze_r[0], 3)),
    ("pitch", |f| number(f.gaze_deg[1], 2)),
    ("r", |f| number(f.gaze_r[1], 3)),
    ("lag head", |f| number(f.lag_ms[0], 0)),
    ("mouth", |f| number(f.lag_ms[1], 0)),
    ("lids", |f| number(f.lag_ms[2], 0)),
];

const BLINKS: &[Column<BlinkFigures>] = &[
    ("counted", |f| f.counted.to_string()),
    ("found", |f| f.found.to_string()),
    ("wrong", |f| f.wrong.to_string()),
    ("precision", |f| number(f.precision(), 3)),
    ("recall", |f| number(f.recall(), 3)),
    ("depth", |f| number(f.depth, 2)),
    ("missed at", |f| times(&f.missed_secs)),
    ("wrong at", |f| times(&f.wrong_secs)),
];

/// A table for people.
pub fn table(eval: &FaceEval) -> String {
    let rows = rows(eval);
    let width = rows.iter().map(|(name, _)| name.chars().count()).max().unwrap_or_default().clamp(12, 44) + 2;
    let mut text = String::new();
    let parity = |f: &FaceFigures| f.parity.clone();
    if rows.iter().any(|(_, f)| f.parity.is_some()) {
        let title = "PARITY: every frame by itself, nothing filtered, against MediaPipe's image mode";
        part(&mut text, title, width, PARITY, &rows, parity);
    }
    let title =
        "PRODUCT: a face followed and filtered; errors against MediaPipe's image mode, work against its video mode";
    part(&mut text, title, width, PRODUCT, &rows, |f| Some(f.clone()));
    let title = "STABILITY: jitter on the stillest second (RMS second difference) and lag in ms, ours and MediaPipe's video mode";
    let moving = |f: &FaceFigures| {
        let product = &f.product;
        (product.jitter_head_deg.ours.is_some() || product.lag_lids_ms.ours.is_some()).then(|| product.clone())
    };
    part(&mut text, title, width, STABILITY, &rows, moving);
    if rows.iter().any(|(_, f)| f.truth.is_some()) {
        let title = "TRUTH of the drawn presenter: mean errors (degrees, 0..1), correlations, lag in ms";
        part(&mut text, title, width, TRUTH, &rows, |f| f.truth.clone());
    }
    if rows.iter().any(|(_, f)| f.product.blinks.is_some()) {
        part(&mut text, "BLINKS of the avatar against counted ones", width, BLINKS, &rows, |f| {
            f.product.blinks.clone()
        });
        if rows.iter().any(|(_, f)| f.product.their_blinks.is_some()) {
            let title = "BLINKS by MediaPipe's eyeBlink over 0.5";
            part(&mut text, title, width, BLINKS, &rows, |f| f.product.their_blinks.clone());
        }
    }
    shapes(&mut text, eval);
    states(&mut text, eval);
    notes(&mut text, eval);
    text
}

/// Each clip, each sub-folder where there are several, and all.
fn rows(eval: &FaceEval) -> Vec<(String, &FaceFigures)> {
    let mut rows = Vec::new();
    for GroupFaceFigures { clips, all } in &eval.groups {
        let below = |name: &str| if all.name == "." { name.to_owned() } else { format!("{}/{name}", all.name) };
        rows.extend(clips.iter().map(|clip| (below(&clip.name), clip)));
        if eval.groups.len() > 1 {
            rows.push((format!("= {}", all.name), all));
        }
    }
    rows.push(("= total".to_owned(), &eval.total));
    rows
}

fn part<T>(
    text: &mut String,
    title: &str,
    name_width: usize,
    columns: &[Column<T>],
    rows: &[(String, &FaceFigures)],
    of: impl Fn(&FaceFigures) -> Option<T>,
) {
    // Writing into a string cannot fail.
    let _ = write!(text, "{title}\n{:name_width$}", "");
    let lines: Vec<(String, Vec<String>)> = rows
        .iter()
        .filter_map(|(name, figures)| {
            let figures = of(figures)?;
            Some((name.clone(), columns.iter().map(|(_, value)| value(&figures)).collect()))
        })
        .collect();
    let width = |i: usize, head: &str| {
        let widest = lines.iter().filter_map(|(_, cells)| cells.get(i)).map(|cell| cell.chars().count()).max();
        widest.unwrap_or_default().max(head.chars().count()) + 2
    };
    let widths: Vec<usize> = columns.iter().enumerate().map(|(i, (head, _))| width(i, head)).collect();
    for ((head, _), width) in columns.iter().zip(&widths) {
        let _ = write!(text, "{head:>width$}");
    }
    for (name, cells) in &lines {
        let _ = write!(text, "\n{name:name_width$}");
        for (cell, width) in cells.iter().zip(&widths) {
            let _ = write!(text, "{cell:>width$}");
        }
    }
    text.push_str("\n\n");
}

fn shapes(text: &mut String, eval: &FaceEval) {
    let Some(parity) = &eval.total.parity else { return };
    if parity.common == 0 {
        return;
    }
    let _ = writeln!(text, "BLENDSHAPES, the 15 most used of all frames: MediaPipe's mean, mean error, correlation");
    for line in parity.shapes.get(..15).unwrap_or(&parity.shapes).chunks(3) {
        for shape in line {
            let r = number(shape.r, 3);
            let _ = write!(text, "  {:20}{:>6.3}{:>8.4}{r:>7}", shape.name, shape.mean, shape.error);
        }
        text.push('\n');
    }
    text.push('\n');
}

fn states(text: &mut String, eval: &FaceEval) {
    let _ = write!(text, "States:");
    for (state, count) in &eval.total.product.states {
        let _ = write!(text, " {state} {count}");
    }
    text.push('\n');
}

fn notes(text: &mut String, eval: &FaceEval) {
    let _ = writeln!(
        text,
        "\nboth, ours, theirs: frames in which both, only omote, only MediaPipe found a face; errors are over both
lm: mean distance of the 478 landmarks; %eye: of the distance of the irises; shapes: mean error of the 15 most used
head: mean angle without its constant offset, along the camera's axis; the product takes the line of sight instead
kept: clips within landmarks {} px or {} %, shapes {}, head {} deg, mouth r {}
of there, of none: share seen of frames that hold a face, and of frames that hold none, by the truth file
work: processor time of frames with a followed face; MediaPipe's is from when its reference was made",
        limits::LANDMARKS_PX,
        limits::LANDMARKS_SHARE * 100.0,
        limits::BLENDSHAPES,
        limits::HEAD_DEG,
        limits::MOUTH,
    );
    if cfg!(debug_assertions) {
        let _ = writeln!(text, "this is a debug build: its work says nothing about the product's");
    }
    for unmeasured in &eval.unmeasured {
        let _ = writeln!(text, "NOT MEASURED: {}", unmeasured.why);
    }
}

fn number(value: Option<f64>, digits: usize) -> String {
    value.map_or("–".into(), |v| format!("{v:.digits$}"))
}

fn share(value: Option<f64>) -> String {
    value.map_or("–".into(), |v| format!("{:.1} %", v * 100.0))
}

fn lag(lag: Versus) -> String {
    format!("{} / {}", number(lag.ours, 0), number(lag.theirs, 0))
}

fn times(secs: &[f64]) -> String {
    let times: Vec<String> = secs.iter().map(|s| format!("{s:.2}")).collect();
    times.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eval::face::Unmeasured;

    #[test]
    fn the_table_shows_what_was_measured_and_what_was_not() {
        let mut eval = FaceEval::default();
        let plain = FaceFigures { name: "a.mp4".into(), files: 1, frames: 7, ..FaceFigures::default() };
        let mut full = FaceFigures { name: "b.mp4".into(), ..plain.clone() };
        full.parity =
            Some(ParityFigures { frames: 7, common: 6, landmarks_px: Some(0.125), ..ParityFigures::default() });
        full.product.blinks =
            Some(BlinkFigures { counted: 2, found: 1, missed_secs: vec![1.5], ..BlinkFigures::default() });
        for (name, clip) in [(".", plain), ("deep", full)] {
            let all = FaceFigures { name: name.into(), ..clip.clone() };
            eval.groups.push(GroupFaceFigures { clips: vec![clip], all });
        }
        eval.unmeasured.push(Unmeasured { clip: "c.mp4".into(), why: "broken".into() });
        let text = table(&eval);
        let line = |start: &str| text.lines().filter(|l| l.starts_with(start)).collect::<Vec<_>>();
        assert_eq!(line("a.mp4").len(), 1, "only in the product's part\n{text}");
        assert_eq!(line("deep/b.mp4").len(), 3, "{text}");
        assert!(line("deep/b.mp4")[0].contains("0.125") && line("deep/b.mp4")[2].contains("1.50"));
        assert!(text.contains("NOT MEASURED: broken"));
    }
}
