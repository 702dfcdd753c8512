//! Pixel formats become RGB. Pure functions on slices; a buffer of the wrong size is an error, never a panic.
//!
//! YUV is BT.601. Cameras and most files use the limited range (16..235); JPEG-like files say that theirs is full.

/// A buffer does not have the size that its format and picture size ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a {format} picture of {width}×{height} has {got} bytes, {expected} are expected")]
pub struct SizeError {
    /// The pixel format.
    pub format: &'static str,
    /// Pixels in a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Bytes that came.
    pub got: usize,
    /// Bytes that should have come, at least.
    pub expected: usize,
}

/// Value range of YUV samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum YuvRange {
    /// Luma 16..235, chroma 16..240.
    #[default]
    Limited,
    /// All of 0..255.
    Full,
}

/// Fixed-point BT.601 matrix; coefficients are scaled by 2^16, which keeps the error below one step.
#[derive(Clone, Copy)]
struct Matrix {
    luma_offset: i32,
    luma: i32,
    red_v: i32,
    green_u: i32,
    green_v: i32,
    blue_u: i32,
}

impl Matrix {
    const LIMITED: Self =
        Self { luma_offset: 16, luma: 76_309, red_v: 104_597, green_u: -25_675, green_v: -53_279, blue_u: 132_201 };
    const FULL: Self =
        Self { luma_offset: 0, luma: 65_536, red_v: 91_881, green_u: -22_554, green_v: -46_802, blue_u: 116_130 };

    fn of(range: YuvRange) -> Self {
        match range {
            YuvRange::Limited => Self::LIMITED,
            YuvRange::Full => Self::FULL,
        }
    }

    /// What the chroma adds to red, green and blue, rounding included.
    #[inline]
    fn chroma(&self, u: u8, v: u8) -> [i32; 3] {
        let (u, v) = (i32::from(u) - 128, i32::from(v) - 128);
        const HALF: i32 = 1 << 15;
        [self.red_v * v + HALF, self.green_u * u + self.green_v * v + HALF, self.blue_u * u + HALF]
    }

    #[inline]
    fn rgb(&self, y: u8, chroma: [i32; 3]) -> [u8; 3] {
        let luma = (i32::from(y) - self.luma_offset) * self.luma;
        chroma.map(|c| ((luma + c) >> 16).clamp(0, 255) as u8)
    }
}

/// `got` bytes hold `expected` at least, and `rgb` is the right place for the picture.
fn check(
    format: &'static str,
    (width, height): (u32, u32),
    got: usize,
    expected: Option<usize>,
    rgb: &[u8],
) -> Result<(), SizeError> {
    let error = |got, expected| SizeError { format, width, height, got, expected };
    let expected = expected.ok_or(error(got, usize::MAX))?;
    if got < expected {
        return Err(error(got, expected));
    }
    match rgb_len(width, height) {
        Some(len) if len == rgb.len() => Ok(()),
        len => Err(SizeError { format: "RGB", ..error(rgb.len(), len.unwrap_or(usize::MAX)) }),
    }
}

/// Bytes of an RGB picture; `None` if no machine could hold it.
pub fn rgb_len(width: u32, height: u32) -> Option<usize> {
    (width as usize).checked_mul(height as usize)?.checked_mul(3)
}

/// Packed 4:2:2, `Y0 U Y1 V`. Rows of odd width are padded to whole pairs.
///
/// # Errors
/// If a buffer is too small.
pub fn yuyv_to_rgb(yuyv: &[u8], (width, height): (u32, u32), rgb: &mut [u8]) -> Result<(), SizeError> {
    let row_len = (width as usize).div_ceil(2) * 4;
    check("YUYV", (width, height), yuyv.len(), row_len.checked_mul(height as usize), rgb)?;
    let matrix = Matrix::LIMITED;
    for (row, out) in yuyv.chunks_exact(row_len.max(1)).zip(rgb.chunks_exact_mut((width as usize * 3).max(1))) {
        for (pair, out) in row.chunks_exact(4).zip(out.chunks_mut(6)) {
            let &[y0, u, y1, v] = pair else { continue };
            let chroma = matrix.chroma(u, v);
            let (a, b) = (matrix.rgb(y0, chroma), matrix.rgb(y1, chroma));
            match <&mut [u8; 6]>::try_from(&mut *out) {
                Ok(out) => *out = [a[0], a[1], a[2], b[0], b[1], b[2]],
                // The last pixel of an odd row.
                Err(_) => out.iter_mut().zip(a).for_each(|(out, value)| *out = value),
            }
        }
    }
    Ok(())
}

/// Planar luma, then one plane of `U V` pairs, each for 2×2 pixels.
///
/// # Errors
/// If a buffer is too small.
pub fn nv12_to_rgb(nv12: &[u8], (width, height): (u32, u32), rgb: &mut [u8]) -> Result<(), SizeError> {
    let (w, h) = (width as usize, height as usize);
    let chroma_row = w.div_ceil(2) * 2;
    let expected = w.checked_mul(h).and_then(|luma| luma.checked_add(chroma_row.checked_mul(h.div_ceil(2))?));
    check("NV12", (width, height), nv12.len(), expected, rgb)?;
    let (luma, chroma) = nv12.split_at(w * h);
    let matrix = Matrix::LIMITED;
    let rows = luma.chunks_exact(w.max(1)).zip(rgb.chunks_exact_mut((w * 3).max(1)));
    for (y, (luma_row, out)) in rows.enumerate() {
        let start = y / 2 * chroma_row;
        let Some(chroma_row) = chroma.get(start..start + chroma_row) else { continue };
        for ((lumas, out), uv) in luma_row.chunks(2).zip(out.chunks_mut(6)).zip(chroma_row.chunks_exact(2)) {
            let &[u, v] = uv else { continue };
            let chroma = matrix.chroma(u, v);
            for (y, out) in lumas.iter().zip(out.chunks_exact_mut(3)) {
                out.copy_from_slice(&matrix.rgb(*y, chroma));
            }
        }
    }
    Ok(())
}

/// Three planes, the chroma ones smaller by 2^shift in each direction (4:2:0 is `(1, 1)`, 4:2:2 `(1, 0)`, 4:4:4 `(0, 0)`).
///
/// # Errors
/// If a buffer is too small.
pub fn planar_yuv_to_rgb(
    yuv: &[u8],
    (width, height): (u32, u32),
    (shift_x, shift_y): (u32, u32),
    range: YuvRange,
    rgb: &mut [u8],
) -> Result<(), SizeError> {
    let (w, h) = (width as usize, height as usize);
    let (cw, ch) = (w.div_ceil(1 << shift_x), h.div_ceil(1 << shift_y));
    let expected = w.checked_mul(h).and_then(|luma| luma.checked_add(cw.checked_mul(ch)?.checked_mul(2)?));
    check("YUV", (width, height), yuv.len(), expected, rgb)?;
    let (luma, chroma) = yuv.split_at(w * h);
    let (us, vs) = chroma.split_at(cw * ch);
    let matrix = Matrix::of(range);
    let rows = luma.chunks_exact(w.max(1)).zip(rgb.chunks_exact_mut((w * 3).max(1)));
    for (y, (luma_row, out)) in rows.enumerate() {
        let start = (y >> shift_y) * cw;
        let (Some(us), Some(vs)) = (us.get(start..start + cw), vs.get(start..start + cw)) else { continue };
        let step = 1 << shift_x;
        let blocks = luma_row.chunks(step).zip(out.chunks_mut(step * 3)).zip(us.iter().zip(vs));
        for ((lumas, out), (u, v)) in blocks {
            let chroma = matrix.chroma(*u, *v);
            for (y, out) in lumas.iter().zip(out.chunks_exact_mut(3)) {
                out.copy_from_slice(&matrix.rgb(*y, chroma));
            }
        }
    }
    Ok(())
}

/// Grey, one byte a pixel, full range.
///
/// # Errors
/// If a buffer is too small.
pub fn gray_to_rgb(gray: &[u8], size: (u32, u32), rgb: &mut [u8]) -> Result<(), SizeError> {
    check("GRAY", size, gray.len(), (size.0 as usize).checked_mul(size.1 as usize), rgb)?;
    for (value, out) in gray.iter().zip(rgb.chunks_exact_mut(3)) {
        out.fill(*value);
    }
    Ok(())
}

/// Blue first.
///
/// # Errors
/// If a buffer is too small.
pub fn bgr_to_rgb(bgr: &[u8], size: (u32, u32), rgb: &mut [u8]) -> Result<(), SizeError> {
    check("BGR", size, bgr.len(), rgb_len(size.0, size.1), rgb)?;
    for (value, out) in bgr.chunks_exact(3).zip(rgb.chunks_exact_mut(3)) {
        let &[b, g, r] = value else { continue };
        out.copy_from_slice(&[r, g, b]);
    }
    Ok(())
}

/// Already right; the bytes after the picture are dropped.
///
/// # Errors
/// If a buffer is too small.
pub fn copy_rgb(from: &[u8], size: (u32, u32), rgb: &mut [u8]) -> Result<(), SizeError> {
    check("RGB", size, from.len(), rgb_len(size.0, size.1), rgb)?;
    let len = rgb.len();
    rgb.copy_from_slice(from.get(..len).unwrap_or_default());
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The definition, in floating point.
    fn reference(y: u8, u: u8, v: u8, range: YuvRange) -> [f64; 3] {
        let (y, scale) = match range {
            YuvRange::Limited => ((f64::from(y) - 16.0) * 255.0 / 219.0, 255.0 / 224.0),
            YuvRange::Full => (f64::from(y), 1.0),
        };
        let (u, v) = ((f64::from(u) - 128.0) * scale, (f64::from(v) - 128.0) * scale);
        [y + 1.402 * v, y - 0.344_136 * u - 0.714_136 * v, y + 1.772 * u].map(|c| c.clamp(0.0, 255.0))
    }

    #[test]
    fn every_colour_is_within_one_step_of_the_definition() {
        for range in [YuvRange::Limited, YuvRange::Full] {
            for y in (0..=255).step_by(3) {
                for u in (0..=255).step_by(5) {
                    for v in (0..=255).step_by(5) {
                        let mut rgb = [0; 3];
                        planar_yuv_to_rgb(&[y, u, v], (1, 1), (0, 0), range, &mut rgb).expect("sizes");
                        for (got, want) in rgb.iter().zip(reference(y, u, v, range)) {
                            assert!((f64::from(*got) - want).abs() <= 0.6, "{range:?} {y} {u} {v}: {got} for {want}");
                        }
                    }
                }
            }
        }
    }

    /// The same picture in every layout gives the same RGB, odd sizes included.
    #[test]
    fn all_layouts_agree() {
        for (w, h) in [(4_u32, 4_u32), (5, 3), (1, 1), (2, 5)] {
            let y = |x: u32, row: u32| (16 + x * 20 + row * 9) as u8;
            let u = |block: u32, _row: u32| (100 + block * 10) as u8;
            let v = |block: u32, _row: u32| (160 - block * 7) as u8;
            let (cw, ch) = (w.div_ceil(2), h.div_ceil(2));
            let luma: Vec<u8> = (0..h).flat_map(|r| (0..w).map(move |x| y(x, r))).collect();
            let plane = |f: &dyn Fn(u32, u32) -> u8, rows: u32| -> Vec<u8> {
                (0..rows).flat_map(|r| (0..cw).map(move |c| (c, r))).map(|(c, r)| f(c, r)).collect()
            };
            let mut out = vec![vec![0; rgb_len(w, h).expect("small")]; 4];
            let i420 = [luma.clone(), plane(&u, ch), plane(&v, ch)].concat();
            planar_yuv_to_rgb(&i420, (w, h), (1, 1), YuvRange::Limited, &mut out[0]).expect("sizes");
            let i422 = [luma.clone(), plane(&u, h), plane(&v, h)].concat();
            planar_yuv_to_rgb(&i422, (w, h), (1, 0), YuvRange::Limited, &mut out[1]).expect("sizes");
            let uv: Vec<u8> = (0..ch).flat_map(|r| (0..cw).flat_map(move |c| [u(c, r), v(c, r)])).collect();
            nv12_to_rgb(&[luma, uv].concat(), (w, h), &mut out[2]).expect("sizes");
            let yuyv: Vec<u8> = (0..h)
                .flat_map(|r| (0..cw).flat_map(move |c| [y(c * 2, r), u(c, r), y(c * 2 + 1, r), v(c, r)]))
                .collect();
            yuyv_to_rgb(&yuyv, (w, h), &mut out[3]).expect("sizes");
            for (i, other) in out.iter().enumerate().skip(1) {
                assert_eq!(&out[0], other, "layout {i} at {w}×{h}");
            }
        }
    }

    #[test]
    fn plain_formats_keep_their_values() {
        let mut rgb = [0; 6];
        gray_to_rgb(&[7, 200], (2, 1), &mut rgb).expect("sizes");
        assert_eq!(rgb, [7, 7, 7, 200, 200, 200]);
        bgr_to_rgb(&[1, 2, 3, 4, 5, 6, 99], (2, 1), &mut rgb).expect("sizes");
        assert_eq!(rgb, [3, 2, 1, 6, 5, 4]);
        copy_rgb(&[1, 2, 3, 4, 5, 6, 99], (2, 1), &mut rgb).expect("sizes");
        assert_eq!(rgb, [1, 2, 3, 4, 5, 6]);
    }

    proptest! {
        /// Whatever the camera says its picture size is: an error or a picture, never a panic.
        #[test]
        fn wrong_sizes_are_errors(
            bytes in proptest::collection::vec(any::<u8>(), 0..400), w in 0_u32..40, h in 0_u32..40, out in 0_usize..300,
        ) {
            let mut rgb = vec![0; out];
            let size = (w, h);
            let results = [
                yuyv_to_rgb(&bytes, size, &mut rgb),
                nv12_to_rgb(&bytes, size, &mut rgb),
                planar_yuv_to_rgb(&bytes, size, (1, 1), YuvRange::Full, &mut rgb),
                gray_to_rgb(&bytes, size, &mut rgb),
                bgr_to_rgb(&bytes, size, &mut rgb),
                copy_rgb(&bytes, size, &mut rgb),
            ];
            if rgb_len(w, h) != Some(out) {
                prop_assert!(results.iter().all(Result::is_err));
            }
        }

        #[test]
        fn impossible_sizes_are_errors(w in any::<u32>(), h in 1_000_000..u32::MAX) {
            let mut rgb = [0; 12];
            prop_assume!(w > 0);
            prop_assert!(yuyv_to_rgb(&[0; 16], (w, h), &mut rgb).is_err());
            prop_assert!(nv12_to_rgb(&[0; 16], (w, h), &mut rgb).is_err());
        }
    }
}
