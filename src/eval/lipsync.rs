//! `omote eval lipsync`: how well a folder of recordings is heard.

use std::path::Path;

use serde::Serialize;

use super::EvalError;
use super::calibrate::calibration_of;
use super::labels::Labels;
use super::listen::listen;
use super::recordings::{Group, find_recordings};
use super::score::{Figures, Score};
use crate::audio::WavSource;
use crate::settings::Settings;
use crate::voice::Hearing;

/// How to measure.
#[derive(Clone, Debug, Default)]
pub struct LipsyncOptions {
    /// Everything that the product would be set to.
    pub settings: Settings,
    /// Also measure with a calibration per sub-folder, made from a second or less of each of its vowels.
    pub calibrate: bool,
}

/// The figures of one sub-folder, or of all.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct GroupFigures {
    /// The sub-folder; `total` for all of them.
    pub name: String,
    /// Recordings.
    pub files: usize,
    /// Their length, seconds.
    pub secs: f64,
    /// What was measured.
    pub figures: Figures,
    /// The same after a calibration; the sounds it was made from count in neither. `None` without one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub calibrated: Option<Figures>,
}

/// All figures of a folder.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct LipsyncEval {
    /// In order of their names.
    pub groups: Vec<GroupFigures>,
    /// All hops of all groups together.
    pub total: GroupFigures,
}

#[derive(Default)]
struct Sums {
    files: usize,
    secs: f64,
    plain: Score,
    calibrated: Option<Score>,
}

impl Sums {
    fn figures(&self, name: &str) -> GroupFigures {
        GroupFigures {
            name: name.into(),
            files: self.files,
            secs: (self.secs * 10.0).round() / 10.0,
            figures: self.plain.figures(),
            calibrated: self.calibrated.as_ref().map(Score::figures),
        }
    }
}

/// Measures a folder; `progress` gets the name of each sub-folder before its turn.
///
/// # Errors
/// If the folder holds nothing, or one of its files cannot be read: a figure over fewer files would mislead.
pub fn eval_lipsync(
    folder: &Path,
    options: &LipsyncOptions,
    progress: &mut dyn FnMut(&Group),
) -> Result<LipsyncEval, EvalError> {
    let groups = find_recordings(folder)?;
    let mut hearing = Hearing::new()?;
    let mut total = Sums::default();
    let mut eval = LipsyncEval::default();
    for group in &groups {
        progress(group);
        let sums = eval_group(group, options, &mut hearing)?;
        total.files += sums.files;
        total.secs += sums.secs;
        total.plain.merge(&sums.plain);
        if options.calibrate {
            // A group that could not be calibrated counts as it is.
            let calibrated = sums.calibrated.as_ref().unwrap_or(&sums.plain);
            total.calibrated.get_or_insert_default().merge(calibrated);
        }
        eval.groups.push(sums.figures(&group.name));
    }
    eval.total = total.figures("total");
    Ok(eval)
}

fn eval_group(group: &Group, options: &LipsyncOptions, hearing: &mut Hearing) -> Result<Sums, EvalError> {
    let mut recordings = Vec::with_capacity(group.recordings.len());
    for recording in &group.recordings {
        recordings.push((recording.sound.as_path(), recording.labels.as_deref().map(Labels::read).transpose()?));
    }
    // The sounds it is made from are taken out of the labels.
    let calibration = if options.calibrate { calibration_of(&mut recordings)? } else { None };
    let mut sums = Sums { files: recordings.len(), ..Sums::default() };
    for (sound, labels) in &recordings {
        let heard = listen(WavSource::open(sound)?, hearing, &options.settings)?;
        sums.secs += heard.secs;
        sums.plain.add(&heard, labels.as_ref());
    }
    if let Some(calibration) = calibration {
        let mut settings = options.settings.clone();
        settings.audio.voice_calibration = calibration.to_numbers();
        let mut score = Score::default();
        for (sound, labels) in &recordings {
            score.add(&listen(WavSource::open(sound)?, hearing, &settings)?, labels.as_ref());
        }
        sums.calibrated = Some(score);
    }
    Ok(sums)
}
