//! One recording through the product: sound path, classifier, mixer. Times are causal: what is known when.

use crate::audio::AudioSource;
use crate::engine::SoundPath;
use crate::mix::Mixer;
use crate::settings::{LipsyncMode, Settings};
use crate::types::{MouthShape, SourceError, Timestamp, VisemeFrame};
use crate::voice::{Hearing, VisemeModel};

use super::EvalError;

/// The recording is handed over in pieces of this length, so that delays are measured as finely.
const PIECES_PER_SEC: u32 = 1_000;
/// Displayed frames a second.
const FRAMES_PER_SEC: f64 = 60.0;
/// A file that gives nothing this often in a row is broken.
const PATIENCE: u32 = 1_000_000;

/// A report and when it was there.
#[derive(Clone, Copy, Debug)]
pub struct Hop {
    /// The sound that it describes, seconds from the first sample.
    pub at_secs: f64,
    /// When the newest sample had been captured that it needs, seconds.
    pub available_secs: f64,
    /// What was heard.
    pub frame: VisemeFrame,
}

/// The mouth of one displayed frame.
#[derive(Clone, Copy, Debug)]
pub struct MouthTick {
    /// When it was shown, seconds from the first sample.
    pub at_secs: f64,
    /// The mouth.
    pub mouth: MouthShape,
}

/// All that came out of a recording.
#[derive(Clone, Debug, Default)]
pub struct Heard {
    /// One each 10 ms.
    pub hops: Vec<Hop>,
    /// One each 1/60 s.
    pub mouths: Vec<MouthTick>,
    /// Length of the recording, seconds.
    pub secs: f64,
}

/// Plays a recording to `hearing` as a microphone would, and its reports to a mixer in audio mode.
///
/// # Errors
/// If the recording cannot be read.
pub fn listen(mut source: impl AudioSource, hearing: &mut Hearing, settings: &Settings) -> Result<Heard, EvalError> {
    let mut settings = settings.clone();
    settings.lipsync.mode = LipsyncMode::Audio;
    hearing.reset();
    hearing.configure(&settings.audio);
    let rate_hz = source.sample_rate_hz();
    let mut path = SoundPath::new(rate_hz, settings.audio.gain_db)?;
    let mut mixer = Mixer::new();
    let mut piece = vec![0.0; (rate_hz.div_ceil(PIECES_PER_SEC) as usize).max(1)];
    let mut heard = Heard::default();
    let mut idle = 0;
    loop {
        let (count, at) = match source.read(&mut piece) {
            Ok((0, _)) | Err(SourceError::Timeout) if idle < PATIENCE => {
                idle += 1;
                continue;
            }
            Ok(read) => read,
            Err(SourceError::Ended) => break,
            Err(error) => return Err(error.into()),
        };
        idle = 0;
        heard.secs = at.as_secs_f64() + count as f64 / f64::from(rate_hz);
        path.set_source_hints(source.hints());
        for report in path.hear(hearing, piece.get_mut(..count).unwrap_or_default(), at) {
            let at_secs = report.captured_at.as_secs_f64();
            heard.hops.push(Hop { at_secs, available_secs: heard.secs, frame: report.frame });
            mixer.hear(*report);
        }
        while heard.mouths.len() as f64 <= heard.secs * FRAMES_PER_SEC {
            let at_secs = heard.mouths.len() as f64 / FRAMES_PER_SEC;
            let mouth = mixer.mix(Timestamp::from_secs_f64(at_secs), &settings).mouth;
            heard.mouths.push(MouthTick { at_secs, mouth });
        }
    }
    Ok(heard)
}
