//! Compares pictures with stored ones. `UPDATE_EXPECT=1` writes them; look at the difference before committing.

use std::path::Path;

use image::RgbaImage;

/// Drivers round differently.
const TOLERANCE: u8 = 4;
/// Share of pixels (edges mostly) that may differ more.
const OUTLIERS: f32 = 0.01;

/// Compares `picture` with `tests/data/pictures/NAME.png`; a failing one is left beside the test binaries.
pub fn check(name: &str, picture: &RgbaImage) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/data/pictures/{name}.png"));
    if std::env::var_os("UPDATE_EXPECT").is_some() {
        picture.save(&path).unwrap();
        return;
    }
    let expected = image::open(&path)
        .unwrap_or_else(|e| panic!("{}: {e}; UPDATE_EXPECT=1 writes it", path.display()))
        .into_rgba8();
    let outliers = if expected.dimensions() == picture.dimensions() {
        super::differing(&expected, picture, TOLERANCE)
    } else {
        usize::MAX
    };
    if outliers as f32 > OUTLIERS * picture.pixels().len() as f32 {
        let actual = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.actual.png"));
        picture.save(&actual).unwrap();
        panic!("{name} looks different ({outliers} pixels): compare {} with {}", actual.display(), path.display());
    }
}
