//! What becomes of faces in bad pictures: low light, noise, things before the face, odd framing, gaps, other faces.
//!
//! The presenter is filmed, and portraits that the user gives; both are disturbed in known ways. What the face model
//! says is compared with what it says of the undisturbed pictures, or with what was drawn.
//!
//! * `studio` – who is filmed; `filters` – how pictures are spoilt; `cases` – what is asked
//! * `table`, `sheet` – the figures for people, and pictures to look at

mod cases;
mod filters;
mod sheet;
mod studio;
mod table;

use std::path::PathBuf;

use serde::Serialize;

use self::cases::{Case, Limits, Shot};
use self::studio::{Studio, frame};
use super::EvalError;
use crate::face::FaceModel;
use crate::types::{FaceReport, VideoState};

pub use self::sheet::Sheet;
pub use self::table::table;

/// Share of the frames of a stretch of time that must be in the state asked for.
const ENOUGH: f64 = 0.9;
/// A hint must be there in the last frames, this many.
const LAST_FRAMES: usize = 3;

/// What to run.
#[derive(Clone, Debug, Default)]
pub struct RobustnessOptions {
    /// Still pictures of one face each, filmed beside the presenter.
    pub portraits: Vec<PathBuf>,
    /// Only cases with this in their group or name.
    pub only: Option<String>,
}

/// What came of one case.
#[derive(Clone, Debug, Serialize)]
pub struct CaseFigures {
    /// What was disturbed.
    pub group: &'static str,
    /// Who and how.
    pub name: String,
    /// Frames shown.
    pub frames: usize,
    /// Share of them with an observation.
    pub observed: f64,
    /// Seconds until the first observation.
    pub first_secs: Option<f64>,
    /// The state in most of the later half of the frames.
    pub state: &'static str,
    /// Hints of the last frame.
    pub hints: Vec<&'static str>,
    /// Mean error of the head, degrees.
    pub head_deg: Option<f32>,
    /// Mean error of the lids.
    pub lids: Option<f32>,
    /// Mean error of the mouth's opening.
    pub open: Option<f32>,
    /// The furthest that the mouth was open.
    pub most_open: Option<f32>,
    /// What was asked and not given; empty when all is well.
    pub broken: Vec<String>,
}

/// Runs the cases. `watch` is told of each and gets a picture out of its middle, with what was seen in it.
///
/// # Errors
/// If a portrait cannot be read or the face model fails.
pub fn robustness(
    options: &RobustnessOptions,
    watch: &mut dyn FnMut(&CaseFigures, &image::RgbImage, Option<&FaceReport>),
) -> Result<Vec<CaseFigures>, EvalError> {
    let mut studio = Studio::open(&options.portraits)?;
    let names: Vec<String> = studio.subjects.iter().map(|subject| subject.name.clone()).collect();
    let mut figures = Vec::new();
    for case in cases::all(&names) {
        let is_asked = |only: &String| case.group.contains(only.as_str()) || case.name.contains(only.as_str());
        if !options.only.as_ref().is_none_or(is_asked) {
            continue;
        }
        let shots = (case.film)(&mut studio)?;
        studio.tracker.reset();
        let mut reports = Vec::with_capacity(shots.len());
        for (i, shot) in shots.iter().enumerate() {
            reports.push(studio.tracker.observe(&frame(&shot.picture, shot.secs, i as u64))?);
        }
        let of_case = measure(&case, &shots, &reports);
        let middle = shots.len() / 2;
        if let Some(shot) = shots.get(middle) {
            watch(&of_case, &shot.picture, reports.get(middle));
        }
        figures.push(of_case);
    }
    Ok(figures)
}

fn measure(case: &Case, shots: &[Shot], reports: &[FaceReport]) -> CaseFigures {
    let observed: Vec<_> = shots
        .iter()
        .zip(reports)
        .filter_map(|(shot, report)| report.observation.as_ref().map(|observation| (shot, report, observation)))
        .collect();
    let compared = || observed.iter().filter(|(_, report, _)| report.state == VideoState::Tracked);
    let head = mean(
        observed
            .iter()
            .filter_map(|(shot, _, seen)| Some(shot.truth?.head?.angle_between(seen.head.to_quat()).to_degrees())),
    );
    let lids = mean(compared().filter_map(|(shot, _, seen)| {
        let lids = shot.truth?.lids?;
        Some(((lids.left - seen.lids.left).abs() + (lids.right - seen.lids.right).abs()) / 2.0)
    }));
    let open = mean(compared().filter_map(|(shot, _, seen)| Some((shot.truth?.open? - seen.mouth.open).abs())));
    let mut figures = CaseFigures {
        group: case.group,
        name: case.name.clone(),
        frames: shots.len(),
        observed: observed.len() as f64 / shots.len().max(1) as f64,
        first_secs: observed.first().map(|(shot, _, _)| shot.secs),
        state: most_frequent(reports.get(reports.len() / 2..).unwrap_or_default()),
        hints: reports.last().map(|report| report.hints.names().collect()).unwrap_or_default(),
        head_deg: head,
        lids,
        open,
        most_open: observed.iter().map(|(_, _, seen)| seen.mouth.open).reduce(f32::max),
        broken: Vec::new(),
    };
    figures.broken = broken(&figures, &case.limits, shots, reports);
    figures
}

fn broken(figures: &CaseFigures, limits: &Limits, shots: &[Shot], reports: &[FaceReport]) -> Vec<String> {
    let mut broken = Vec::new();
    for phase in &limits.phases {
        let is_within = |shot: &Shot| shot.secs >= phase.from && shot.secs < phase.to;
        let within: Vec<_> = shots.iter().zip(reports).filter(|(shot, _)| is_within(shot)).collect();
        let good = within.iter().filter(|(_, report)| phase.states.contains(&report.state)).count();
        if (good as f64) < ENOUGH * within.len() as f64 || within.is_empty() {
            let states: Vec<&str> = phase.states.iter().map(|state| state.name()).collect();
            broken.push(format!("{good}/{} {} from {:.2} s", within.len(), states.join("|"), phase.from));
        }
    }
    let has = |hint: &str, report: &FaceReport| report.hints.names().any(|name| name == hint);
    if let Some(hint) = limits.hint
        && !reports.iter().rev().take(LAST_FRAMES).all(|report| has(hint, report))
    {
        broken.push(format!("no hint {hint}"));
    }
    if let Some(hint) = limits.no_hint
        && reports.iter().any(|report| has(hint, report))
    {
        broken.push(format!("hint {hint}"));
    }
    let checks = [
        ("head", figures.head_deg, limits.head_deg),
        ("lids", figures.lids, limits.lids),
        ("open", figures.open, limits.open),
        ("opens to", figures.most_open, limits.most_open),
    ];
    for (what, value, limit) in checks {
        if let (Some(value), Some(limit)) = (value, limit)
            && value > limit
        {
            broken.push(format!("{what} {value:.2} > {limit}"));
        }
    }
    if let Some((from, to)) = limits.ends_within {
        let place = reports.iter().rev().find_map(|report| {
            let landmarks = &report.observation.as_ref()?.landmarks_px;
            Some(landmarks.iter().map(|p| p.x).sum::<f32>() / landmarks.len().max(1) as f32)
        });
        let width = shots.first().map_or(1.0, |shot| shot.picture.width() as f32);
        if !place.is_some_and(|x| (from..to).contains(&(x / width))) {
            broken.push("another face is followed at the end".into());
        }
    }
    broken
}

fn most_frequent(reports: &[FaceReport]) -> &'static str {
    let count = |state: VideoState| reports.iter().filter(|report| report.state == state).count();
    let most = reports.iter().map(|report| report.state).max_by_key(|&state| count(state));
    most.map_or("–", VideoState::name)
}

fn mean(values: impl Iterator<Item = f32>) -> Option<f32> {
    let (sum, count) = values.fold((0.0, 0), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / count as f32)
}
