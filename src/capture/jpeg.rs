//! JPEG pictures of cameras and Motion-JPEG files: find their ends, decode them, survive broken ones.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::pixels::rgb_len;
use super::pool::FramePool;

/// Largest side of a picture that is taken. A driver or file that claims more is broken.
pub const SIDE_LIMIT: u32 = 8192;

const START: [u8; 2] = [0xff, 0xd8];
const END_OF_IMAGE: u8 = 0xd9;
const START_OF_SCAN: u8 = 0xda;
const HUFFMAN_TABLES: u8 = 0xc4;

/// Where a picture lies in a buffer and how it is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JpegExtent {
    /// Bytes from the start of the buffer up to and including the end marker.
    pub len: usize,
    /// Many Motion-JPEG pictures leave out the standard Huffman tables.
    pub has_huffman_tables: bool,
}

/// Why there is no picture. The stream goes on: the next one may be whole.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JpegError {
    /// No end yet: with more bytes it may become whole.
    #[error("the JPEG picture is cut off")]
    Incomplete,
    /// No start, or a broken marker behind it.
    #[error("the JPEG picture is damaged")]
    Markers,
    /// The decoder refuses it.
    #[error("the JPEG picture is damaged: {0}")]
    Decode(String),
    /// It is larger than any camera's.
    #[error("the JPEG picture is {0}×{1} pixels; at most {SIDE_LIMIT}×{SIDE_LIMIT} are taken")]
    Size(usize, usize),
}

/// Finds the end of the picture at the front of `data` by its markers: what a driver's buffer holds after it is old
/// and must not be looked at. Thumbnails inside segments are stepped over.
///
/// # Errors
/// `Incomplete` if the data ends before the picture, `Markers` if this is none.
pub fn extent(data: &[u8]) -> Result<JpegExtent, JpegError> {
    if data.len() < 2 {
        return Err(JpegError::Incomplete);
    }
    if data.get(..2) != Some(&START) {
        return Err(JpegError::Markers);
    }
    let mut at = 2;
    let mut has_huffman_tables = false;
    let mut in_scan = false;
    loop {
        if in_scan {
            // Inside a scan 0xff is followed by 0 (a data byte), a restart marker, or the next real marker.
            let rest = data.get(at..).ok_or(JpegError::Incomplete)?;
            let skip = rest.iter().position(|b| *b == 0xff).ok_or(JpegError::Incomplete)?;
            at += skip;
        }
        let &[lead, code] = data.get(at..at + 2).ok_or(JpegError::Incomplete)? else { return Err(JpegError::Markers) };
        match (lead, code) {
            (0xff, 0xff) => at += 1,
            (0xff, 0x00 | 0xd0..=0xd7) if in_scan => at += 2,
            (0xff, END_OF_IMAGE) => return Ok(JpegExtent { len: at + 2, has_huffman_tables }),
            (0xff, 0x01 | 0xc0..=0xd7 | 0xda..=0xfe) => {
                in_scan = code == START_OF_SCAN;
                has_huffman_tables |= code == HUFFMAN_TABLES;
                let &[high, low] = data.get(at + 2..at + 4).ok_or(JpegError::Incomplete)? else {
                    return Err(JpegError::Markers);
                };
                let len = usize::from(u16::from_be_bytes([high, low]));
                if len < 2 {
                    return Err(JpegError::Markers);
                }
                at += 2 + len;
            }
            _ => return Err(JpegError::Markers),
        }
    }
}

/// Decodes JPEG pictures, one after another.
#[derive(Debug, Default)]
pub struct JpegReader {
    /// The picture with standard tables asked for, where it has none.
    patched: Vec<u8>,
}

impl JpegReader {
    /// The picture at the front of `data` (more may follow it) as width, height and RGB from `pool`.
    ///
    /// # Errors
    /// If it is broken. A panic inside the decoder counts as broken, too.
    pub fn decode(&mut self, data: &[u8], pool: &mut FramePool) -> Result<(u32, u32, Arc<[u8]>), JpegError> {
        let extent = extent(data)?;
        let picture = data.get(..extent.len).ok_or(JpegError::Markers)?;
        let picture = if extent.has_huffman_tables { picture } else { self.ask_for_standard_tables(picture) };
        catch_unwind(AssertUnwindSafe(|| decode(picture, pool)))
            .unwrap_or_else(|_| Err(JpegError::Decode("the decoder failed".into())))
    }

    /// The decoder fills in the standard tables when the `AVI1` segment says that this is Motion JPEG.
    fn ask_for_standard_tables(&mut self, picture: &[u8]) -> &[u8] {
        const AVI1: [u8; 18] = [0xff, 0xe0, 0, 16, b'A', b'V', b'I', b'1', 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
        self.patched.clear();
        self.patched.extend_from_slice(&START);
        self.patched.extend_from_slice(&AVI1);
        self.patched.extend_from_slice(picture.get(2..).unwrap_or_default());
        &self.patched
    }
}

fn decode(picture: &[u8], pool: &mut FramePool) -> Result<(u32, u32, Arc<[u8]>), JpegError> {
    // Strict, because a half-grey picture is worse than none: a face would move to where it isn't.
    let options = DecoderOptions::default()
        .set_strict_mode(true)
        .set_max_width(SIDE_LIMIT as usize)
        .set_max_height(SIDE_LIMIT as usize)
        .jpeg_set_out_colorspace(ColorSpace::RGB);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(picture), options);
    let broken =
        |error: zune_jpeg::errors::DecodeErrors| JpegError::Decode(format!("{error:?}").chars().take(120).collect());
    decoder.decode_headers().map_err(broken)?;
    let info = decoder.info().ok_or(JpegError::Markers)?;
    let (width, height) = (u32::from(info.width), u32::from(info.height));
    let len = rgb_len(width, height).filter(|len| decoder.output_buffer_size() == Some(*len));
    let len = len.ok_or(JpegError::Size(width as usize, height as usize))?;
    let rgb = pool.frame(len, |rgb| decoder.decode_into(rgb)).map_err(broken)?;
    Ok((width, height, rgb))
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A picture with a known colour in each corner.
    pub(crate) fn sample_jpeg(width: u32, height: u32, shade: u8) -> Vec<u8> {
        let picture = image::RgbImage::from_fn(width, height, |x, y| {
            image::Rgb([if x < width / 2 { 220 } else { 30 }, if y < height / 2 { 200 } else { 40 }, shade])
        });
        let mut bytes = Vec::new();
        let mut encoder = image::codecs::jpeg::JpegEncoder::new_with_quality(&mut bytes, 92);
        encoder.encode_image(&picture).expect("encode");
        bytes
    }

    fn without_huffman_tables(jpeg: &[u8]) -> Vec<u8> {
        let mut out = jpeg[..2].to_vec();
        let mut at = 2;
        loop {
            let code = jpeg[at + 1];
            let len = usize::from(u16::from_be_bytes([jpeg[at + 2], jpeg[at + 3]])) + 2;
            if code == START_OF_SCAN {
                out.extend_from_slice(&jpeg[at..]);
                return out;
            }
            if code != HUFFMAN_TABLES {
                out.extend_from_slice(&jpeg[at..at + len]);
            }
            at += len;
        }
    }

    #[test]
    fn a_picture_comes_out_of_a_driver_buffer() {
        let mut buffer = sample_jpeg(64, 48, 90);
        let len = buffer.len();
        // What a driver leaves behind: the rest of an older, larger picture.
        buffer.extend_from_slice(&[0xff, 0xd9, 1, 2, 3, 0xff, 0xd8]);
        buffer.resize(64 * 48 * 2, 0x55);
        assert_eq!(extent(&buffer), Ok(JpegExtent { len, has_huffman_tables: true }));
        let (w, h, rgb) = JpegReader::default().decode(&buffer, &mut FramePool::default()).expect("decode");
        assert_eq!((w, h, rgb.len()), (64, 48, 64 * 48 * 3));
        let pixel = |x: usize, y: usize| &rgb[(y * 64 + x) * 3..][..3];
        for (x, y, want) in [(4, 4, [220, 200, 90]), (60, 4, [30, 200, 90]), (4, 44, [220, 40, 90])] {
            assert!(pixel(x, y).iter().zip(want).all(|(a, b)| a.abs_diff(b) < 12), "{x},{y}: {:?}", pixel(x, y));
        }
    }

    #[test]
    fn standard_huffman_tables_are_filled_in() {
        let jpeg = sample_jpeg(64, 48, 90);
        let bare = without_huffman_tables(&jpeg);
        assert!(!extent(&bare).expect("extent").has_huffman_tables);
        let mut reader = JpegReader::default();
        let mut pool = FramePool::default();
        let whole = reader.decode(&jpeg, &mut pool).expect("decode");
        assert_eq!(reader.decode(&bare, &mut pool).expect("decode without tables"), whole);
    }

    #[test]
    fn damage_is_an_error() {
        let jpeg = sample_jpeg(64, 48, 90);
        let mut reader = JpegReader::default();
        let mut pool = FramePool::default();
        assert_eq!(reader.decode(&jpeg[..jpeg.len() / 2], &mut pool), Err(JpegError::Incomplete));
        assert_eq!(reader.decode(&[], &mut pool), Err(JpegError::Incomplete));
        let noise: Vec<u8> = jpeg.iter().enumerate().map(|(i, b)| b ^ (i * 31 + 1) as u8).collect();
        assert!(reader.decode(&noise, &mut pool).is_err());
        assert!(reader.decode(&jpeg, &mut pool).is_ok(), "the next whole picture is fine");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]
        /// Flipped bytes give a picture or an error, never a panic.
        #[test]
        fn mangled_pictures_never_panic(hits in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..20)) {
            let mut jpeg = sample_jpeg(32, 24, 10);
            for (at, value) in hits {
                let at = at.index(jpeg.len());
                jpeg[at] = value;
            }
            if let Ok((w, h, rgb)) = JpegReader::default().decode(&jpeg, &mut FramePool::default()) {
                prop_assert_eq!(Some(rgb.len()), rgb_len(w, h));
            }
        }
    }
}
