//! Opening recorded pictures, whatever they come in.
//!
//! Without any other program: a folder of PNG or JPEG pictures, `.y4m`, `.mjpeg`, and AVI with Motion JPEG inside.
//! Everything else goes through ffmpeg, if it is installed.

use std::path::Path;

use super::FrameSource;
use super::avi::AviSource;
use super::ffmpeg::FfmpegSource;
use super::folder::FolderSource;
use super::mjpeg::MjpegSource;
use super::resize::Resized;
use super::y4m::Y4mSource;
use crate::types::{ErrorKind, SourceError};

/// How a file is read.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct VideoOptions {
    /// Frames a second of inputs that do not say it themselves (folders, `.mjpeg`); 30 where not given.
    pub fps: Option<f64>,
    /// Scale pictures to this size; as they are where not given.
    pub size: Option<(u32, u32)>,
}

impl VideoOptions {
    /// The rate for inputs without one.
    pub(super) fn fps_or_default(&self) -> f64 {
        self.fps.filter(|fps| fps.is_finite() && (0.1..=1000.0).contains(fps)).unwrap_or(30.0)
    }
}

/// What a video file turns out to be. The content decides, not the name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Folder,
    Y4m,
    Mjpeg,
    Avi,
    Other,
}

/// Opens recorded pictures. Frames come at once, not in real time, and carry the file's own times from 0.
///
/// # Errors
/// `Corrupt` if the file is broken, `Setup` if it is missing or needs ffmpeg and there is none.
pub fn open_video(path: &Path, options: VideoOptions) -> Result<Box<dyn FrameSource>, SourceError> {
    let source: Box<dyn FrameSource> = match kind_of(path)? {
        Kind::Folder => Box::new(FolderSource::open(path, options.fps_or_default())?),
        Kind::Y4m => Box::new(Y4mSource::open(path)?),
        Kind::Mjpeg => Box::new(MjpegSource::open(path, options.fps_or_default())?),
        // An AVI may hold anything; only Motion JPEG is read here.
        Kind::Avi => match AviSource::open(path)? {
            Some(source) => Box::new(source),
            None => Box::new(FfmpegSource::open(path)?),
        },
        Kind::Other => Box::new(FfmpegSource::open(path)?),
    };
    Ok(match options.size {
        Some((width, height)) => Box::new(Resized::new(source, width, height)),
        None => source,
    })
}

fn kind_of(path: &Path) -> Result<Kind, SourceError> {
    let missing = |e: std::io::Error| setup(path, &format!("cannot be opened ({e})"));
    if std::fs::metadata(path).map_err(missing)?.is_dir() {
        return Ok(Kind::Folder);
    }
    let mut head = [0; 16];
    let mut file = std::fs::File::open(path).map_err(missing)?;
    let count = std::io::Read::read(&mut file, &mut head).map_err(missing)?;
    let head = head.get(..count).unwrap_or_default();
    let is_named_picture =
        path.extension().is_some_and(|e| ["jpg", "jpeg", "jpe"].iter().any(|x| e.eq_ignore_ascii_case(x)));
    Ok(match head {
        [b'Y', b'U', b'V', b'4', b'M', b'P', b'E', b'G', b'2', ..] => Kind::Y4m,
        [0xff, 0xd8, 0xff, ..] if !is_named_picture => Kind::Mjpeg,
        [0xff, 0xd8, 0xff, ..] => Kind::Folder,
        [0x89, b'P', b'N', b'G', ..] => Kind::Folder,
        [b'R', b'I', b'F', b'F', _, _, _, _, b'A', b'V', b'I', b' ', ..] => Kind::Avi,
        _ => Kind::Other,
    })
}

/// The file is broken.
pub(super) fn corrupt(path: &Path, why: &str) -> SourceError {
    SourceError::device(ErrorKind::Corrupt, format!("the video cannot be read: {why}: {}", path.display()))
}

/// The user must change something.
pub(super) fn setup(path: &Path, why: &str) -> SourceError {
    SourceError::device(ErrorKind::Setup, format!("the video {why}: {}", path.display()))
}

#[cfg(test)]
pub(super) mod tests {
    use std::time::Duration;

    use super::*;
    use crate::types::VideoFrame;

    /// All frames of a source; panics on anything but frames and the end.
    pub(in crate::capture) fn all_frames(mut source: impl FrameSource) -> Vec<VideoFrame> {
        let mut frames = Vec::new();
        loop {
            match source.next_frame(Duration::from_secs(20)) {
                Ok(frame) => frames.push(frame),
                Err(SourceError::Ended) => return frames,
                Err(error) => panic!("frame {}: {error}", frames.len()),
            }
        }
    }

    #[test]
    fn a_missing_file_says_so() {
        let error = open_video(Path::new("/no/such/file.mp4"), VideoOptions::default()).err().expect("error");
        assert_eq!(error.kind(), ErrorKind::Setup);
        assert!(error.to_string().contains("/no/such/file.mp4"));
    }

    #[test]
    fn pictures_are_scaled_where_asked() {
        let folder = tempfile::tempdir().expect("folder");
        image::RgbImage::from_pixel(40, 20, image::Rgb([9, 8, 7])).save(folder.path().join("a.png")).expect("save");
        let options = VideoOptions { size: Some((10, 12)), ..Default::default() };
        let frames = all_frames(open_video(folder.path(), options).expect("open"));
        assert_eq!((frames.len(), frames[0].width, frames[0].height), (1, 10, 12));
        assert_eq!(frames[0].rgb[..6], [9, 8, 7, 9, 8, 7]);
    }
}
