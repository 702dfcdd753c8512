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
    let mut decoded = run_for_output(&mut ffmpeg, DECODE_TIMEOUT, DECODE_LIMIT).map_err(failed)?;
    if decoded.stdout.len() as u64 == DECODE_LIMIT {
        return Err(corrupt("it is too long; cut it"));
    }
    if !decoded.is_success {
        return Err(corrupt(&decoded.last_error));
    }
    set_data_length(&mut decoded.stdout);
    Ok(Some(Box::new(WavSource::read_from(path, Cursor::new(decoded.stdout))?)))
}

/// A WAV file that was written into a pipe does not know its own length; sets it to what is there.
fn set_data_length(wav: &mut [u8]) {
    let mut at = 12;
    while let Some(&[a, b, c, d, l0, l1, l2, l3]) = wav.get(at..at + 8) {
        if [a, b, c, d] == *b"data" {
            // In whole frames of 16-bit samples; the channel count stands in the first chunk.
            let channels = wav.get(22..24).map_or(1, |n| usize::from(u16::from_le_bytes([n[0], n[1]])).max(1));
            let len = (wav.len() - at - 8) / (channels * 2) * (channels * 2);
            if let (Some(slot), Ok(len)) = (wav.get_mut(at + 4..at + 8), u32::try_from(len)) {
                slot.copy_from_slice(&len.to_le_bytes());
            }
            return;
        }
        let len = u32::from_le_bytes([l0, l1, l2, l3]) as usize;
        at = at.saturating_add(8).saturating_add(len).saturating_add(len % 2);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piped_file_gets_its_length() {
        let mut wav = b"RIFF....WAVEfmt ".to_vec();
        wav.extend_from_slice(&[16, 0, 0, 0, 1, 0, 2, 0]);
        wav.extend_from_slice(&[0; 12]);
        wav.extend_from_slice(b"LIST\x02\0\0\0..data\xff\xff\xff\xff0123456789");
        let len_at = wav.len() - 14;
        set_data_length(&mut wav);
        assert_eq!(wav[len_at..len_at + 4], [8, 0, 0, 0], "whole stereo frames only");
        for cut in 0..wav.len() {
            set_data_length(&mut wav[..cut].to_vec());
        }
    }

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
