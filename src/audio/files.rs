//! Opening recorded sound: WAV files, and the sound tracks of videos through ffmpeg.

use std::io::{Cursor, ErrorKind as IoErrorKind, Read};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use super::AudioSource;
use super::wav::WavSource;
use crate::sync::{file_url, run_for_output};
use crate::types::{ErrorKind, SourceError};

const PROBE_TIMEOUT: Duration = Duration::from_secs(30);
const DECODE_TIMEOUT: Duration = Duration::from_secs(300);
/// Decoded sound that is kept: over an hour and a half in stereo.
const DECODE_LIMIT: u64 = 1 << 30;

/// Opens a sound file: WAV by itself, anything else through ffmpeg.
///
/// # Errors
/// `Setup` if it is missing or needs ffmpeg and there is none, `Corrupt` if it is broken or holds no sound.
pub fn open_audio(path: &Path) -> Result<Box<dyn AudioSource>, SourceError> {
    if head(path)?.starts_with(b"RIFF") && head(path)?.get(8..12) == Some(b"WAVE") {
        return Ok(Box::new(WavSource::open(path)?));
    }
    let sound = decode(path, "the sound file", "give a WAV file")?;
    sound.ok_or_else(|| SourceError::device(ErrorKind::Corrupt, format!("the file holds no sound: {}", path.display())))
}

/// The sound track of a video, aligned with its pictures; `None` if it has none, as folders of pictures, `.y4m` and
/// `.mjpeg` never have.
///
/// # Errors
/// `Setup` if it is missing or needs ffmpeg and there is none, `Corrupt` if it is broken.
pub fn sound_of_video(path: &Path) -> Result<Option<Box<dyn AudioSource>>, SourceError> {
    if path.is_dir() {
        return Ok(None);
    }
    let head = head(path)?;
    let has_no_sound = [&b"YUV4MPEG2"[..], b"\xff\xd8\xff", b"\x89PNG"].iter().any(|kind| head.starts_with(kind));
    if has_no_sound {
        return Ok(None);
    }
    decode(path, "the sound of the video", "give the sound as a WAV file of its own")
}

fn head(path: &Path) -> Result<Vec<u8>, SourceError> {
    let mut head = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(16).read_to_end(&mut head))
        .map_err(|e| SourceError::device(ErrorKind::Setup, format!("cannot be opened ({e}): {}", path.display())))?;
    Ok(head)
}

/// All sound of a file's first sound track, or `None` without one.
fn decode(path: &Path, what: &str, instead: &str) -> Result<Option<Box<dyn AudioSource>>, SourceError> {
    let failed = |error: std::io::Error| match error.kind() {
        IoErrorKind::NotFound => SourceError::device(
            ErrorKind::Setup,
            format!("{what} needs ffmpeg, which is not installed; install ffmpeg, or {instead}: {}", path.display()),
        ),
        _ => SourceError::device(ErrorKind::Corrupt, format!("{what} cannot be read ({error}): {}", path.display())),
    };
    let corrupt = |why: &str| {
        SourceError::device(ErrorKind::Corrupt, format!("{what} cannot be read: {why}: {}", path.display()))
    };
    let mut probe = Command::new("ffprobe");
    probe.args(["-v", "error", "-protocol_whitelist", "file,pipe", "-select_streams", "a:0"]);
    probe.args(["-show_entries", "stream=index", "-of", "csv=p=0"]).arg(file_url(path));
    let probed = run_for_output(&mut probe, PROBE_TIMEOUT, 4096).map_err(failed)?;
    if !probed.is_success {
        return Err(corrupt(&probed.last_error));
    }
    if probed.stdout.trim_ascii().is_empty() {
        return Ok(None);
    }
    let mut ffmpeg = Command::new("ffmpeg");
    ffmpeg.args(["-nostdin", "-v", "error", "-protocol_whitelist", "file,pipe", "-i"]).arg(file_url(path));
    // Sound that begins later than the container does is filled up with silence, so that time 0 is the pictures' too.
    ffmpeg.args(["-map", "0:a:0", "-af", "aresample=48000:async=1:first_pts=0"]);
    ffmpeg.args(["-c:a", "pcm_s16le", "-f", "wav", "pipe:1"]);
    let decoded = run_for_output(&mut ffmpeg, DECODE_TIMEOUT, DECODE_LIMIT).map_err(failed)?;
    if decoded.stdout.len() as u64 == DECODE_LIMIT {
        return Err(corrupt("it is too long; cut it"));
    }
    if !decoded.is_success {
        return Err(corrupt(&decoded.last_error));
    }
    Ok(Some(Box::new(WavSource::read_from(path, Cursor::new(decoded.stdout))?)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_says_so() {
        let error = open_audio(Path::new("/no/such/file.wav")).err().expect("error");
        assert_eq!(error.kind(), ErrorKind::Setup);
        assert!(error.to_string().contains("/no/such/file.wav"));
    }

    #[test]
    fn pictures_have_no_sound() {
        let folder = tempfile::tempdir().expect("folder");
        assert!(sound_of_video(folder.path()).expect("folder").is_none());
        let file = folder.path().join("a.y4m");
        std::fs::write(&file, "YUV4MPEG2 W4 H4\n").expect("write");
        assert!(sound_of_video(&file).expect("y4m").is_none());
    }
}
