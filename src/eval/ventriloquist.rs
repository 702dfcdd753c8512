//! `omote eval ventriloquist`: does the mouth go on when a source is lost?
//!
//! Over presenter scripts and recordings of people who talk, scripted losses are put into sound and picture. Printed
//! is, for each mode, for how long somebody speaks with a still mouth (*ventriloquism*), for how long a closed mouth
//! flaps, how soon the remaining source has taken over, how hard the change is, and how near the mouth stays to the
//! undisturbed one. The faces are looked at once per clip; the voice is heard anew for each broken sound; the mixer
//! runs over everything.

mod loss;
mod material;
mod measure;
mod table;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use loss::Loss;
pub use material::{BUNDLED, BundledScript, Material};
pub use table::table;

use self::loss::{Left, Window, disturbed};
use self::material::{CAMERA_LATENCY_SECS, Clip};
use self::measure::{Correlation, FPS, Lips, Track, Trial, accuracy, at_rest, changes_per_sec, is_open, onsets};
use crate::replay::{PerformanceEvent, PerformanceReport};
use crate::settings::{LipsyncMode, Settings};
use crate::types::{AudioReport, ErrorKind, Viseme, Vowel};

const VOWEL_VISEMES: [Viseme; 5] = [Viseme::Aa, Viseme::Ih, Viseme::Ou, Viseme::E, Viseme::Oh];

/// In a clip of somebody who talks, the mouths of sound and picture are lively at the same times.
const MIN_TOGETHER: f64 = 0.4;

/// Limits of the mix (BEHAVIOUR §1, known loss).
pub mod gates {
    /// Seconds of speech with a still mouth, per loss.
    pub const VENTRILOQUISM_SECS: f64 = 0.25;
    /// Seconds until the remaining source has the mouth.
    pub const RECOVERY_SECS: f64 = 0.30;
    /// A frozen picture is known as such only after half a second.
    pub const FROZEN_SECS: f64 = 0.50;
    /// Step of the difference to the undisturbed mouth per 1/60 s.
    pub const STEP: f64 = 0.15;
    /// Correlation with the undisturbed mouth inside the loss, on presenter scripts and on recordings.
    pub const CORRELATION: [f64; 2] = [0.85, 0.70];
    /// Seconds until the mouth rests when both are lost.
    pub const REST_SECS: f64 = 0.40;
    /// Seconds of flapping per loss while others speak and the camera has the veto.
    pub const FLAPPING_SECS: f64 = 0.25;
}

/// Why nothing was measured.
#[derive(Debug, thiserror::Error)]
pub enum VentriloquistError {
    /// The folder cannot be read.
    #[error("the folder cannot be read: {reason}: {path}")]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system says.
        reason: std::io::Error,
    },
    /// There is nothing to measure on.
    #[error("no presenter script (.toml) and no movie with sound and at least 2 s lies in {0}")]
    Empty(PathBuf),
    /// A clip cannot be used.
    #[error("{clip}: {why}")]
    Clip {
        /// Which.
        clip: String,
        /// What is wrong.
        why: String,
    },
}

impl VentriloquistError {
    /// What to do about it.
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Folder { .. } | Self::Empty(_) => ErrorKind::Setup,
            Self::Clip { .. } => ErrorKind::Corrupt,
        }
    }
}

/// Figures of one loss on one clip in one mode, over all places where it was tried.
#[derive(Clone, Debug, Serialize)]
pub struct LossFigures {
    /// The clip.
    pub clip: String,
    /// What kind of clip.
    pub material: Material,
    /// What was lost.
    pub loss: Loss,
    /// Who moved the mouth.
    pub mode: &'static str,
    /// How often it was tried.
    pub tries: usize,
    /// Seconds of speech with a still mouth, in the worst try.
    pub ventriloquism_secs: f64,
    /// Seconds of a moving mouth in silence with closed lips, in the worst try.
    pub flapping_secs: f64,
    /// Seconds until the mouth was that of the remaining source, in the worst try.
    pub recovery_secs: f64,
    /// Seconds from the end of the loss until the mouth was the undisturbed one, in the worst try.
    pub return_secs: f64,
    /// Largest step of the difference to the undisturbed mouth per 1/60 s where the loss begins and ends.
    pub largest_step: f64,
    /// The same in between, where two observers of one mouth differ.
    pub step_inside: f64,
    /// Correlation with the undisturbed mouth inside the loss; `None` where one of them stood still.
    pub correlation: Option<f64>,
    /// Seconds until the mouth rested, in the worst try; meant for the loss of both.
    pub rest_secs: f64,
}

/// Figures of a clip without a loss, in one mode.
#[derive(Clone, Debug, Serialize)]
pub struct ClipFigures {
    /// The clip.
    pub clip: String,
    /// Who moved the mouth.
    pub mode: &'static str,
    /// Share of frames whose lips (five vowels, closed) are those of the sound being spoken; scripts only.
    pub six_class: Option<f64>,
    /// Correlation of the opening with the true one; scripts only.
    pub truth_correlation: Option<f64>,
    /// Seconds from the first sound to an open mouth, median; scripts only.
    pub onset_secs: Option<f64>,
    /// Utterances whose beginning the mouth missed.
    pub missed_onsets: usize,
    /// Changes of the mouth's class per second of speech.
    pub changes_per_sec: f64,
    /// Seconds of a moving mouth in silence with closed lips.
    pub flapping_secs: f64,
}

/// A limit and how near to it the mix came.
#[derive(Clone, Debug, Serialize)]
pub struct Gate {
    /// The clip.
    pub clip: String,
    /// What was lost.
    pub loss: Loss,
    /// What is limited.
    pub what: &'static str,
    /// What was measured.
    pub value: f64,
    /// The limit: an upper one, for correlations a lower one.
    pub limit: f64,
    /// Whether it is kept.
    pub is_kept: bool,
}

/// Everything that was measured.
#[derive(Clone, Debug, Default, Serialize)]
pub struct VentriloquistFigures {
    /// Without losses.
    pub clips: Vec<ClipFigures>,
    /// With losses.
    pub losses: Vec<LossFigures>,
    /// The limits.
    pub gates: Vec<Gate>,
}

impl VentriloquistFigures {
    /// Limits that are broken.
    pub fn broken(&self) -> impl Iterator<Item = &Gate> {
        self.gates.iter().filter(|g| !g.is_kept)
    }
}

/// How it is measured.
#[derive(Clone, Debug)]
pub struct VentriloquistOptions {
    /// In force, but for mode and veto.
    pub settings: Settings,
    /// Each loss is tried at these moments after the places chosen for it, seconds: where in a syllable it strikes
    /// matters.
    pub shifts: Vec<f64>,
}

impl Default for VentriloquistOptions {
    fn default() -> Self {
        let mut settings = Settings::default();
        settings.view.mirror = false;
        Self { settings, shifts: vec![0.0, 0.07, 0.15] }
    }
}

/// Measures over a folder of presenter scripts and movies. `progress` is told the name of each clip.
///
/// # Errors
/// If there is nothing to measure on, or a clip cannot be used.
pub fn ventriloquist(
    folder: &Path,
    options: &VentriloquistOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<VentriloquistFigures, VentriloquistError> {
    let failed = |source| VentriloquistError::Folder { path: folder.into(), reason: source };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder)
        .map_err(failed)?
        .map(|entry| entry.map(|e| e.path()))
        .collect::<Result<_, _>>()
        .map_err(failed)?;
    paths.sort();
    let mut figures = VentriloquistFigures::default();
    for path in paths {
        let extension = path.extension().map_or_else(String::new, |e| e.to_string_lossy().to_lowercase());
        let clip = match extension.as_str() {
            "toml" => Some(Clip::script_file(&path)?),
            "mp4" | "mov" | "mkv" | "mpg" | "mpeg" | "avi" | "webm" | "m4v" => Clip::movie(&path)?,
            _ => None,
        };
        if let Some(clip) = clip.filter(|c| c.secs >= 2.0) {
            progress(&clip.name);
            measure(&clip, options, &mut figures, progress)?;
        }
    }
    if figures.losses.is_empty() { Err(VentriloquistError::Empty(folder.into())) } else { Ok(figures) }
}

/// Measures over presenter scripts that come with the program ([`BUNDLED`]).
///
/// # Errors
/// None that a user could see.
pub fn bundled_ventriloquist(
    scripts: &[BundledScript],
    options: &VentriloquistOptions,
    progress: &mut dyn FnMut(&str),
) -> Result<VentriloquistFigures, VentriloquistError> {
    let mut figures = VentriloquistFigures::default();
    for script in scripts {
        progress(script.name);
        measure(&Clip::bundled(script)?, options, &mut figures, progress)?;
    }
    Ok(figures)
}

/// What is known of a clip before anything is lost.
struct Ground<'a> {
    clip: &'a Clip,
    heard: Vec<PerformanceEvent>,
    /// By `LipsyncMode as usize`.
    undisturbed: [Track; 3],
    at_rest: Vec<bool>,
    /// The true mouth, as late as the shown one; scripts only.
    truth: Option<Track>,
}

fn measure(
    clip: &Clip,
    options: &VentriloquistOptions,
    figures: &mut VentriloquistFigures,
    progress: &mut dyn FnMut(&str),
) -> Result<(), VentriloquistError> {
    let heard = clip.hear(Default::default())?;
    let seen = loss::seen_through(&clip.seen, Loss::MicrophoneDead, &[]);
    let all = merged(&heard, &seen);
    let track = |events: &[PerformanceEvent], mode| Track::of(events, clip.secs, &options.settings, mode);
    let undisturbed = LipsyncMode::ALL.map(|mode| track(&all, mode));
    let [_, _, reference] = &undisturbed;
    let frames = reference.shapes.len();
    let voiced = voiced_frames(&heard, frames);
    let lag = CAMERA_LATENCY_SECS + 0.04;
    let is_active = |i: usize| {
        let t = i as f64 / FPS - lag;
        match &clip.script {
            Some(script) => {
                let near = [t - 0.06, t, t + 0.06].map(|t| script.truth(t));
                near.iter().any(|n| n.viseme != Viseme::Sil || is_open(n.open))
            }
            None => voiced.get(i).is_some_and(|v| *v) || is_open(undisturbed[LipsyncMode::Video as usize].open(i)),
        }
    };
    let at_rest = at_rest(is_active, frames);
    let truth = clip
        .script
        .as_ref()
        .map(|script| Track::of_openings((0..frames).map(|i| script.truth(i as f64 / FPS - lag).open)));
    let ground = Ground { clip, heard, undisturbed, at_rest, truth };
    if !is_talking(&ground) {
        progress(&format!("{}: left out, nobody is seen to talk", clip.name));
        return Ok(());
    }
    for mode in LipsyncMode::ALL {
        figures.clips.push(clip_figures(&ground, &voiced, mode));
    }
    let alone =
        [LipsyncMode::ALL.map(|mode| track(&seen, mode)), LipsyncMode::ALL.map(|mode| track(&ground.heard, mode))];
    let windows = windows_of(&ground.heard, clip.secs);
    for loss in Loss::ALL {
        let figures_of_modes = try_loss(&ground, loss, &windows, &alone, options)?;
        for made in &figures_of_modes {
            if made.mode == LipsyncMode::Mix.name() {
                judge(made, &mut figures.gates);
            }
        }
        figures.losses.extend(figures_of_modes);
    }
    Ok(())
}

/// True where the voice belongs to the face: both mouths move, and roughly together.
fn is_talking(ground: &Ground<'_>) -> bool {
    let [heard, seen, _] = &ground.undisturbed;
    let mut together = Correlation::default();
    (0..heard.shapes.len()).for_each(|i| together.add(heard.moved(i), seen.moved(i)));
    together.value().is_some_and(|r| r > MIN_TOGETHER)
}

fn merged(a: &[PerformanceEvent], b: &[PerformanceEvent]) -> Vec<PerformanceEvent> {
    let mut events: Vec<_> = a.iter().chain(b).cloned().collect();
    events.sort_by_key(|e| e.arrived_at);
    events
}

fn voiced_frames(heard: &[PerformanceEvent], frames: usize) -> Vec<bool> {
    let mut voiced = vec![false; frames];
    for event in heard {
        let PerformanceReport::Audio(report) = &event.report else { continue };
        if report.frame.voiced > 0.5
            && let Some(slot) = voiced.get_mut((event.arrived_at.as_secs_f64() * FPS).ceil() as usize)
        {
            *slot = true;
        }
    }
    voiced
}

/// Where losses strike: in the middle of running speech, as many as fit. From what is heard alone, so that the places
/// do not move with the mixer.
fn windows_of(heard: &[PerformanceEvent], secs: f64) -> Vec<Window> {
    let length = if secs >= 6.0 { 1.2 } else { 0.8 };
    let mut moved_by: Vec<(f64, f32)> = Vec::with_capacity(heard.len());
    let mut last = 0.0;
    for event in heard {
        let PerformanceReport::Audio(AudioReport { captured_at, frame, .. }) = &event.report else { continue };
        let open: f32 =
            Vowel::ALL.iter().zip(VOWEL_VISEMES).map(|(v, viseme)| v.opening() * frame.weight(viseme)).sum();
        moved_by.push((captured_at.as_secs_f64(), (open - last).abs()));
        last = open;
    }
    let liveliness =
        |from: f64| moved_by.iter().filter(|(t, _)| (from..from + length).contains(t)).map(|(_, m)| m).sum::<f32>();
    let places = (5..).map(|i| f64::from(i) * 0.1).take_while(|t| t + length + 0.85 < secs);
    let mut places: Vec<(f64, f32)> = places.map(|t| (t, liveliness(t))).collect();
    places.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.total_cmp(&b.0)));
    let best = places.first().map_or(0.0, |p| p.1);
    let mut windows: Vec<Window> = Vec::new();
    for (from, lively) in places {
        let is_free = windows.iter().all(|w| (from - w.from).abs() >= length + 1.2);
        if windows.len() < 3 && is_free && lively > 0.5 * best {
            windows.push(Window { from, to: from + length });
        }
    }
    windows.sort_by(|a, b| a.from.total_cmp(&b.from));
    windows
}

fn try_loss(
    ground: &Ground<'_>,
    loss: Loss,
    windows: &[Window],
    alone: &[[Track; 3]; 2],
    options: &VentriloquistOptions,
) -> Result<Vec<LossFigures>, VentriloquistError> {
    let clip = ground.clip;
    let mut settings = options.settings.clone();
    settings.lipsync.camera_veto |= loss == Loss::OthersSpeak;
    let mut figures = LipsyncMode::ALL.map(|mode| LossFigures {
        clip: clip.name.clone(),
        material: clip.material,
        loss,
        mode: mode.name(),
        tries: 0,
        ventriloquism_secs: 0.0,
        flapping_secs: 0.0,
        recovery_secs: 0.0,
        return_secs: 0.0,
        largest_step: 0.0,
        step_inside: 0.0,
        correlation: None,
        rest_secs: 0.0,
    });
    let mut correlations = [Correlation::default(); 3];
    let [_, seen_reference, mixed] = &ground.undisturbed;
    let reference = ground.truth.as_ref().unwrap_or(mixed);
    let [from_video, from_audio] = alone;
    // Others speak over closed lips all along: any movement is wrong.
    let closed = vec![loss == Loss::OthersSpeak; ground.at_rest.len()];
    for shift in &options.shifts {
        let shifted: Vec<Window> = windows.iter().map(|w| w.shifted(*shift)).collect();
        let events = disturbed(clip, &ground.heard, loss, &shifted)?;
        for (m, mode) in LipsyncMode::ALL.into_iter().enumerate() {
            let shown = Track::of(&events, clip.secs, &settings, mode);
            let (Some(figures), Some(correlation), Some(undisturbed)) =
                (figures.get_mut(m), correlations.get_mut(m), ground.undisturbed.get(m))
            else {
                continue;
            };
            let remaining = match loss.left() {
                Left::Video => from_video.get(m),
                Left::Audio => from_audio.get(m),
                Left::Nothing | Left::All => None,
            };
            let trial = Trial {
                shown: &shown,
                undisturbed: if loss == Loss::SilentMouth { seen_reference } else { undisturbed },
                reference: match loss {
                    Loss::SilentMouth => seen_reference,
                    // Who does not speak is no ventriloquist.
                    Loss::OthersSpeak => &shown,
                    _ => reference,
                },
                remaining: remaining.unwrap_or(&shown),
                at_rest: if loss == Loss::OthersSpeak { &closed } else { &ground.at_rest },
            };
            for window in shifted.iter().filter(|w| clip.is_seen(**w)) {
                let harm = trial.harm(*window);
                figures.tries += 1;
                figures.ventriloquism_secs = figures.ventriloquism_secs.max(harm.ventriloquism_secs);
                figures.flapping_secs = figures.flapping_secs.max(harm.flapping_secs);
                figures.recovery_secs = figures.recovery_secs.max(harm.recovery_secs);
                figures.return_secs = figures.return_secs.max(harm.return_secs);
                figures.largest_step = figures.largest_step.max(f64::from(harm.largest_step));
                figures.step_inside = figures.step_inside.max(f64::from(harm.step_inside));
                figures.rest_secs = figures.rest_secs.max(harm.rest_secs);
                let known_from = window.from + known_after(loss);
                let frames = (known_from * FPS) as usize..(window.to * FPS) as usize;
                frames.for_each(|i| correlation.add(shown.open(i), trial.undisturbed.open(i)));
            }
        }
    }
    for (figures, correlation) in figures.iter_mut().zip(correlations) {
        figures.correlation = correlation.value();
    }
    Ok(figures.into())
}

/// A frozen picture looks like a still face at first.
fn known_after(loss: Loss) -> f64 {
    if loss == Loss::CameraFrozen { gates::FROZEN_SECS } else { 0.0 }
}

fn judge(figures: &LossFigures, gates: &mut Vec<Gate>) {
    let mut gate = |what: &'static str, value: f64, limit: f64, is_kept: bool| {
        gates.push(Gate { clip: figures.clip.clone(), loss: figures.loss, what, value, limit, is_kept });
    };
    let mut at_most = |what, value: f64, limit: f64| gate(what, value, limit, value <= limit + 1e-9);
    match figures.loss.left() {
        Left::Audio | Left::Video => {
            at_most("ventriloquism", figures.ventriloquism_secs, gates::VENTRILOQUISM_SECS);
            // What is mistaken for a mouth, and a microphone that comes back all the time, are never known to be lost.
            if !matches!(figures.loss, Loss::MouthMistaken | Loss::MicrophoneStutters) {
                at_most("recovery", figures.recovery_secs, gates::RECOVERY_SECS + known_after(figures.loss));
            }
            if figures.loss != Loss::MouthMistaken {
                at_most("step", figures.largest_step, gates::STEP);
            }
        }
        Left::Nothing => at_most("rest", figures.rest_secs, gates::REST_SECS),
        Left::All if figures.loss == Loss::OthersSpeak => {
            at_most("flapping", figures.flapping_secs, gates::FLAPPING_SECS);
        }
        Left::All => at_most("ventriloquism", figures.ventriloquism_secs, gates::VENTRILOQUISM_SECS),
    }
    // A fifth of what is shown comes from whatever is mistaken for a mouth: that is the rule, not a fault.
    if !matches!(figures.loss, Loss::Both | Loss::OthersSpeak | Loss::MouthMistaken) {
        let limit = gates::CORRELATION[usize::from(figures.material == Material::Recording)];
        let value = figures.correlation.unwrap_or(0.0);
        gate("correlation", value, limit, value >= limit);
    }
}

fn clip_figures(ground: &Ground<'_>, voiced: &[bool], mode: LipsyncMode) -> ClipFigures {
    let clip = ground.clip;
    let track = &ground.undisturbed[mode as usize];
    let frames = track.shapes.len();
    let is_speech = |i: usize| (i.saturating_sub(6)..=(i + 6)).any(|k| voiced.get(k).is_some_and(|v| *v));
    let flapping =
        (0..frames).filter(|i| ground.at_rest.get(*i).is_some_and(|r| *r) && is_open(track.open(*i))).count();
    let mut figures = ClipFigures {
        clip: clip.name.clone(),
        mode: mode.name(),
        six_class: None,
        truth_correlation: None,
        onset_secs: None,
        missed_onsets: 0,
        changes_per_sec: changes_per_sec(track, is_speech),
        flapping_secs: flapping as f64 / FPS,
    };
    if let Some(script) = &clip.script {
        let spoken = |t: f64| script.truth(t).viseme;
        // A mouth that opens in silence is no closed one: the sound says nothing about it.
        let lips_at = |t: f64| {
            let truth = script.truth(t);
            Lips::spoken(truth.viseme).filter(|lips| *lips != Lips::Closed || !is_open(truth.open))
        };
        let (share, delay_secs) = accuracy(track, lips_at);
        let mut correlation = Correlation::default();
        for i in 0..frames {
            correlation.add(track.open(i), script.truth(i as f64 / FPS - delay_secs).open);
        }
        let delays = onsets(track, clip.secs, spoken);
        let mut found: Vec<f64> = delays.iter().copied().flatten().collect();
        found.sort_by(f64::total_cmp);
        figures.six_class = Some(share);
        figures.truth_correlation = correlation.value();
        figures.onset_secs = found.get(found.len() / 2).copied();
        figures.missed_onsets = delays.len() - found.len();
    }
    figures
}
