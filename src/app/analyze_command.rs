//! `omote analyze`: what is seen and heard, without an avatar.

use std::io::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, bail};

use super::cli::{AnalyzeArgs, apply_sets};
use super::replay_command::create;
use super::say::say;
use crate::audio::{AudioSource, FaultyAudio, open_audio, sound_of_video};
use crate::capture::{FaultyFrames, FrameSource, VideoOptions, open_video};
use crate::engine::{SoundPath, lost_sound_state, lost_state};
use crate::face::{FaceModel, FaceOptions, FaceTracker};
use crate::replay::PerformanceWriter;
use crate::settings::{AudioSettings, Settings};
use crate::types::{AudioReport, ErrorKind, FaceReport, Faults, SourceError, Timestamp, VideoFrame};
use crate::voice::{self, VisemeModel};

/// A file that gives nothing for this long is broken.
const PATIENCE: Duration = Duration::from_secs(30);

/// Writes the records.
pub(super) fn analyze(args: &AnalyzeArgs) -> anyhow::Result<()> {
    let mut settings = Settings::default();
    apply_sets(&mut settings, &args.set).map_err(anyhow::Error::msg)?;
    let faults: Faults = args.fault.iter().map(|f| f.parse()).collect::<Result<_, _>>().context("--fault")?;
    let out: Box<dyn Write> =
        if args.out == Path::new("-") { Box::new(std::io::stdout().lock()) } else { Box::new(create(&args.out)?) };
    let mut writer = PerformanceWriter::records(out);
    let mut counts = [0_u64; 3];
    if let Some(path) = &args.image {
        let frame = picture(path)?;
        // A still is its own neutral: nothing to smooth.
        let options = FaceOptions { smoothing: false, fov_deg: settings.video.fov_deg };
        let report = FaceTracker::load(options)?.observe(&frame)?;
        note(&report, &mut counts);
        writer.video(&report, None)?;
    }
    if let Some(path) = &args.video {
        let options = VideoOptions { fps: Some(args.fps_in), size: None };
        let source = FaultyFrames::new(open_video(path, options)?, faults.clone());
        let options = FaceOptions { fov_deg: settings.video.fov_deg, ..FaceOptions::default() };
        watch(FaceTracker::load(options)?, source, &mut writer, &mut counts)?;
    }
    let sound = match (&args.audio, &args.video) {
        (Some(path), _) => Some(open_audio(path)?),
        (None, Some(video)) => sound_of_video(video)?,
        (None, None) => None,
    };
    if let Some(sound) = sound {
        counts[2] = listen(FaultyAudio::new(sound, faults), &settings.audio, &mut writer)?;
    }
    writer.finish()?;
    say(&format!("a face in {} of {} pictures, {:.1} s of sound", counts[1], counts[0], counts[2] as f64 / 100.0));
    Ok(())
}

fn note(report: &FaceReport, counts: &mut [u64; 3]) {
    counts[0] += 1;
    counts[1] += u64::from(report.observation.is_some());
}

fn picture(path: &Path) -> anyhow::Result<VideoFrame> {
    let mut reader = image::ImageReader::open(path)
        .and_then(image::ImageReader::with_guessed_format)
        .with_context(|| format!("the picture cannot be read: {}", path.display()))?;
    let mut limits = image::Limits::default();
    limits.max_image_width = Some(16_384);
    limits.max_image_height = Some(16_384);
    reader.limits(limits);
    let picture = reader.decode().with_context(|| format!("the picture cannot be read: {}", path.display()))?.to_rgb8();
    let (width, height) = picture.dimensions();
    Ok(VideoFrame { captured_at: Timestamp::ZERO, seq: 0, width, height, rgb: picture.into_raw().into() })
}

fn watch(
    mut tracker: FaceTracker,
    mut source: FaultyFrames<Box<dyn FrameSource>>,
    writer: &mut PerformanceWriter<Box<dyn Write>>,
    counts: &mut [u64; 3],
) -> anyhow::Result<()> {
    loop {
        let report = match source.next_frame(PATIENCE) {
            Ok(frame) => tracker.observe(&frame)?,
            Err(SourceError::Ended) => return Ok(()),
            Err(error) if matches!(error.kind(), ErrorKind::Gone | ErrorKind::Transient) => {
                FaceReport { captured_at: source.position(), state: lost_state(&error), ..FaceReport::default() }
            }
            Err(error) => bail!(error),
        };
        note(&report, counts);
        writer.video(&report, None)?;
    }
}

fn listen(
    mut source: FaultyAudio<Box<dyn AudioSource>>,
    settings: &AudioSettings,
    writer: &mut PerformanceWriter<Box<dyn Write>>,
) -> anyhow::Result<u64> {
    let mut model = voice::Hearing::new()?;
    model.configure(settings);
    let mut path = SoundPath::new(source.sample_rate_hz(), settings.gain_db)?;
    let mut samples = vec![0.0; (source.sample_rate_hz() as usize / 100).max(1)];
    let mut count = 0;
    let mut idle = 0;
    loop {
        match source.read(&mut samples) {
            Ok((0, _)) | Err(SourceError::Timeout) => {
                idle += 1;
                if idle > 1_000_000 {
                    bail!("the sound file gives nothing");
                }
            }
            Ok((read, at)) => {
                idle = 0;
                path.set_source_hints(source.hints());
                for report in path.hear(&mut model, samples.get_mut(..read).unwrap_or_default(), at) {
                    count += 1;
                    writer.audio(report, None)?;
                }
            }
            Err(SourceError::Ended) => return Ok(count),
            Err(error) if error.kind() == ErrorKind::Gone => {
                let state = lost_sound_state(&error);
                count += 1;
                writer.audio(&AudioReport { captured_at: source.position(), state, ..AudioReport::default() }, None)?;
            }
            Err(error) => bail!(error),
        }
    }
}
