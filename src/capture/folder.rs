//! A folder of pictures, or a single picture, as a video.

use std::path::{Path, PathBuf};
use std::time::Duration;

use image::{ImageReader, Limits};

use super::FrameSource;
use super::files::{corrupt, setup};
use super::jpeg::SIDE_LIMIT;
use crate::types::{SourceError, Timestamp, VideoFrame};

/// Pictures in one folder; nine hours at 30 a second.
const PICTURE_LIMIT: usize = 1_000_000;
/// Memory one picture may take while it is decoded.
const DECODE_LIMIT: u64 = 512 << 20;

/// Pictures in the order of their names.
pub struct FolderSource {
    pictures: std::vec::IntoIter<PathBuf>,
    fps: f64,
    seq: u64,
}

impl FolderSource {
    /// All PNG and JPEG pictures of a folder, or one picture.
    ///
    /// # Errors
    /// If the folder cannot be read or holds no picture.
    pub fn open(path: &Path, fps: f64) -> Result<Self, SourceError> {
        let mut pictures: Vec<PathBuf> = Vec::new();
        if path.is_file() {
            pictures.push(path.into());
        } else {
            let entries = std::fs::read_dir(path).map_err(|e| setup(path, &format!("folder cannot be read ({e})")))?;
            for entry in entries.flatten().take(PICTURE_LIMIT) {
                let name = entry.path();
                let is_picture =
                    name.extension().is_some_and(|e| ["png", "jpg", "jpeg"].iter().any(|x| e.eq_ignore_ascii_case(x)));
                if is_picture {
                    pictures.push(name);
                }
            }
        }
        if pictures.is_empty() {
            return Err(setup(path, "folder holds no PNG or JPEG pictures"));
        }
        pictures.sort_by_cached_key(|path| natural_key(path));
        Ok(Self { pictures: pictures.into_iter(), fps, seq: 0 })
    }
}

/// Sorts `frame_2` before `frame_10`: runs of digits count as numbers.
fn natural_key(path: &Path) -> Vec<(u128, String)> {
    let name = path.file_name().map(|n| n.to_string_lossy().into_owned()).unwrap_or_default();
    let mut key = Vec::new();
    let mut rest = name.as_str();
    while !rest.is_empty() {
        let text_len = rest.find(|c: char| c.is_ascii_digit()).unwrap_or(rest.len());
        let (text, after) = rest.split_at(text_len);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let (number, after) = after.split_at(digits);
        key.push((0, text.to_owned()));
        key.push((number.parse().unwrap_or(u128::MAX), number.to_owned()));
        rest = after;
    }
    key
}

impl FrameSource for FolderSource {
    fn next_frame(&mut self, _timeout: Duration) -> Result<VideoFrame, SourceError> {
        let path = self.pictures.next().ok_or(SourceError::Ended)?;
        let broken = |why: String| corrupt(&path, &why);
        let mut reader = ImageReader::open(&path)
            .and_then(ImageReader::with_guessed_format)
            .map_err(|e| broken(format!("the picture cannot be opened ({e})")))?;
        let mut limits = Limits::default();
        limits.max_image_width = Some(SIDE_LIMIT);
        limits.max_image_height = Some(SIDE_LIMIT);
        limits.max_alloc = Some(DECODE_LIMIT);
        reader.limits(limits);
        let picture = reader.decode().map_err(|e| broken(format!("the picture is broken ({e})")))?.into_rgb8();
        let seq = self.seq;
        self.seq += 1;
        Ok(VideoFrame {
            captured_at: Timestamp::from_secs_f64(seq as f64 / self.fps),
            seq,
            width: picture.width(),
            height: picture.height(),
            rgb: picture.into_raw().into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::files::tests::all_frames;
    use super::*;

    #[test]
    fn pictures_come_in_the_order_of_their_numbers() {
        let folder = tempfile::tempdir().expect("folder");
        for (name, shade) in [("f10.png", 10), ("f2.png", 2), ("f1.png", 1)] {
            image::RgbImage::from_pixel(4, 2, image::Rgb([shade; 3])).save(folder.path().join(name)).expect("save");
        }
        std::fs::write(folder.path().join("notes.txt"), "no picture").expect("write");
        let frames = all_frames(FolderSource::open(folder.path(), 25.0).expect("open"));
        assert_eq!(frames.iter().map(|f| f.rgb[0]).collect::<Vec<_>>(), [1, 2, 10]);
        assert_eq!(frames[2].captured_at, Timestamp::from_secs_f64(0.08));
        assert_eq!(frames[2].seq, 2);
    }

    #[test]
    fn an_empty_folder_and_a_broken_picture_say_so() {
        let folder = tempfile::tempdir().expect("folder");
        let error = FolderSource::open(folder.path(), 30.0).err().expect("error");
        assert!(error.to_string().contains("no PNG or JPEG"));
        std::fs::write(folder.path().join("a.png"), b"\x89PNG\r\n\x1a\nbroken").expect("write");
        let mut source = FolderSource::open(folder.path(), 30.0).expect("open");
        let error = source.next_frame(Duration::ZERO).expect_err("broken");
        assert!(error.to_string().contains("a.png"), "{error}");
    }
}
