//! `omote eval face`: how well faces are seen in a folder of clips and stills.
//!
//! Two ways of measuring. *Parity*: every frame by itself through detector and landmarks, nothing filtered, heads along
//! the camera's axis, compared with what MediaPipe's image mode saw (`models/face/reference.py` writes that down).
//! *Product*: the tracker as the app runs it, and the avatar's lids after mixer and acting; compared with MediaPipe's
//! video mode for jitter, lag and cost, and with counted blinks. What needs no reference is measured without one.
//! Scripts of the drawn presenter count as clips whose truth is known.
//!
//! * `clips`, `truth`, `reference` – what a folder holds and what is known about it
//! * `look`, `shown` – a clip through both ways, reduced to samples
//! * `blinks`, `numbers`, `score`, `figures`, `table` – from samples to figures to text
//! * `overlay` – pictures with the landmarks drawn in, for eyes

mod blinks;
mod clips;
mod figures;
mod look;
mod numbers;
mod overlay;
mod reference;
mod score;
mod shown;
mod table;
mod truth;

use std::path::{Path, PathBuf};

use serde::Serialize;

pub use self::blinks::BlinkFigures;
pub use self::clips::{ClipGroup, ClipKind, FaceClip};
pub use self::figures::{FaceFigures, ParityFigures, ProductFigures, ShapeFigures, TruthFigures, Versus, limits};
pub use self::table::table;
pub use self::truth::{ClipTruth, FaceTimes, Truths, read_truths};

use self::clips::find_clips;
use self::look::Looker;
use self::score::Sums;
use self::truth::read_truth;
use super::EvalError;
use crate::settings::Settings;

/// How to measure.
#[derive(Clone, Debug, Default)]
pub struct FaceEvalOptions {
    /// Everything that the product would be set to.
    pub settings: Settings,
    /// Where references and truths lie if not beside the clips: the same sub-folders below this one.
    pub references: Option<PathBuf>,
    /// What is known about clips, by the names of their files; a truth file of its own goes before.
    pub truths: Truths,
    /// Where to put pictures with landmarks drawn in.
    pub overlays: Option<PathBuf>,
}

/// The figures of one sub-folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupFaceFigures {
    /// Each clip.
    pub clips: Vec<FaceFigures>,
    /// All of them together.
    pub all: FaceFigures,
}

/// A clip that could not be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unmeasured {
    /// The file.
    pub clip: PathBuf,
    /// What is wrong with it.
    pub why: String,
}

/// All figures of a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct FaceEval {
    /// In order of their names.
    pub groups: Vec<GroupFaceFigures>,
    /// All clips of all groups together.
    pub total: FaceFigures,
    /// Clips that are in no figure.
    pub unmeasured: Vec<Unmeasured>,
}

/// Measures a folder; `progress` gets each clip before its turn. A clip that cannot be read is put down in
/// `unmeasured`, and the others are still measured.
///
/// # Errors
/// If the folder holds nothing, there is no place for pictures, or the face model cannot be loaded.
pub fn eval_face(
    folder: &Path,
    options: &FaceEvalOptions,
    progress: &mut dyn FnMut(&FaceClip),
) -> Result<FaceEval, EvalError> {
    if let Some(references) = options.references.as_deref().filter(|folder| !folder.is_dir()) {
        return Err(EvalError::Folder { path: references.to_owned(), why: "there is no such folder".into() });
    }
    let groups = find_clips(folder, options.references.as_deref())?;
    if let Some(folder) = &options.overlays {
        std::fs::create_dir_all(folder).map_err(|e| EvalError::Folder {
            path: folder.clone(),
            why: format!("the folder for pictures cannot be made ({e})"),
        })?;
    }
    let mut looker = Looker::load(&options.settings)?;
    let mut eval = FaceEval::default();
    let mut total = Sums::default();
    for group in &groups {
        let mut all = Sums::default();
        let mut figures = GroupFaceFigures::default();
        for clip in &group.clips {
            progress(clip);
            match eval_clip(clip, &group.name, options, &mut looker) {
                Ok(sums) => {
                    all.merge(&sums);
                    figures.clips.push(sums.figures(&clip.name));
                }
                Err(error) => {
                    eval.unmeasured.push(Unmeasured { clip: clip.path.clone(), why: error.to_string() });
                }
            }
        }
        total.merge(&all);
        figures.all = all.figures(&group.name);
        eval.groups.push(figures);
    }
    eval.total = total.figures("total");
    Ok(eval)
}

fn eval_clip(clip: &FaceClip, group: &str, options: &FaceEvalOptions, looker: &mut Looker) -> Result<Sums, EvalError> {
    let own_truth = clip.truth.as_deref().map(read_truth).transpose()?;
    let truth = own_truth.as_ref().or_else(|| options.truths.get(&clip.name));
    let looked = looker.look(clip, &options.settings)?;
    if let Some(folder) = &options.overlays {
        let folder = if group == "." { folder.clone() } else { folder.join(group) };
        overlay::write(&folder, clip, &looked, looker)?;
    }
    Ok(Sums::of(&looked, clip.kind == ClipKind::Still, truth))
}
