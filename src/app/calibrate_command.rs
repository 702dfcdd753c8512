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
    settings.audio.voice_calibration = match &args.recording {
        None => Vec::new(),
        Some(path) => {
            let samples = PlainAudio::new(open_audio(path)?, 0.0)?.read_all()?;
            let mut calibrator = Calibrator::default();
            let calibration = calibrator.add_in_order(&samples).and_then(|()| calibrator.finish());
            calibration.with_context(|| path.display().to_string())?.to_numbers()
        }
    };
    file.save(&settings)?;
    say(if args.clear { "the calibration is forgotten" } else { "omote knows your vowels now" });
    Ok(())
}
