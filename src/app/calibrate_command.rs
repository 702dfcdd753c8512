//! `omote calibrate`: the user's five vowels from a recording into the settings.

use anyhow::{Context, anyhow};

use super::cli::CalibrateArgs;
use super::say::say;
use crate::audio::{PlainAudio, open_audio};
use crate::settings::SettingsFile;
use crate::voice::Calibrator;

/// Calibrates, or forgets the calibration.
pub(super) fn calibrate(args: &CalibrateArgs) -> anyhow::Result<()> {
    let file = args.settings.as_ref().map(SettingsFile::at).or_else(SettingsFile::in_config_folder);
    let mut file =
        file.ok_or_else(|| anyhow!("this system names no folder for settings; give a file with --settings"))?;
    let (mut settings, warnings) = file.load();
    warnings.iter().for_each(|warning| say(warning));
    let mut is_useful = true;
    settings.audio.voice_calibration = match &args.recording {
        None => Vec::new(),
        Some(path) => {
            let samples = PlainAudio::new(open_audio(path)?, 0.0)?.read_all()?;
            let mut calibrator = Calibrator::new()?;
            let calibration = calibrator.add_in_order(&samples).and_then(|()| calibrator.finish());
            let calibration = calibration.with_context(|| path.display().to_string())?;
            is_useful = calibration.is_useful();
            if is_useful { calibration.to_numbers() } else { Vec::new() }
        }
    };
    file.save(&settings)?;
    say(match (args.clear, is_useful) {
        (true, _) => "the calibration is forgotten",
        (false, true) => "omote knows your vowels now",
        (false, false) => "your vowels are heard well without a calibration; none is kept",
    });
    Ok(())
}
