//! Reads glTF accessors: any component type, normalised or not, strided, sparse, or without data (zeros).
//!
//! The `gltf` crate's own readers assume valid files and float attributes, so they are not used.

use gltf::json::accessor::{Accessor, ComponentType, sparse::Sparse};
use gltf::json::validation::Checked;

use super::AvatarError;
use super::budget::Budget;
use super::container::Document;

/// No mesh of an avatar has more indices than this.
const MAX_ELEMENTS: u64 = 1 << 24;

/// A raw component.
trait Component: Copy + Default {
    fn read(bytes: &[u8], kind: ComponentType, normalised: bool) -> Self;
}

impl Component for f32 {
    fn read(bytes: &[u8], kind: ComponentType, normalised: bool) -> Self {
        let (value, scale) = match (kind, bytes) {
            (ComponentType::F32, &[a, b, c, d, ..]) => {
                let value = f32::from_le_bytes([a, b, c, d]);
                return if value.is_finite() { value } else { 0.0 };
            }
            (ComponentType::I8, &[a, ..]) => (f32::from(a as i8), 127.0),
            (ComponentType::U8, &[a, ..]) => (f32::from(a), 255.0),
            (ComponentType::I16, &[a, b, ..]) => (f32::from(i16::from_le_bytes([a, b])), 32_767.0),
            (ComponentType::U16, &[a, b, ..]) => (f32::from(u16::from_le_bytes([a, b])), 65_535.0),
            (ComponentType::U32, &[a, b, c, d, ..]) => (u32::from_le_bytes([a, b, c, d]) as f32, u32::MAX as f32),
            _ => (0.0, 1.0),
        };
        if normalised { (value / scale).max(-1.0) } else { value }
    }
}

impl Component for u32 {
    fn read(bytes: &[u8], kind: ComponentType, _: bool) -> Self {
        match (kind, bytes) {
            (ComponentType::U8, &[a, ..]) => u32::from(a),
            (ComponentType::U16, &[a, b, ..]) => u32::from(u16::from_le_bytes([a, b])),
            (ComponentType::U32, &[a, b, c, d, ..]) => u32::from_le_bytes([a, b, c, d]),
            // Signed and float indices are against the format; some exporters write them.
            (ComponentType::I8 | ComponentType::I16 | ComponentType::F32, _) => {
                f32::read(bytes, kind, false).max(0.0) as u32
            }
            _ => 0,
        }
    }
}

/// Where the elements of an accessor lie.
struct Layout<'a> {
    count: usize,
    kind: ComponentType,
    /// Components of an element in the file.
    width: usize,
    /// The base data with its stride; `None` means zeros.
    base: Option<(&'a [u8], usize)>,
}

fn layout<'a>(
    document: &'a Document<'_>,
    index: usize,
    budget: &mut Budget,
) -> Result<(&'a Accessor, Layout<'a>), AvatarError> {
    let bad = |what: &str| AvatarError::broken(format!("accessor {index} {what}"));
    let accessor = document.root.accessors.get(index).ok_or_else(|| bad("does not exist"))?;
    let (Checked::Valid(kind), Checked::Valid(shape)) = (&accessor.component_type, &accessor.type_) else {
        return Err(bad("has an unknown type"));
    };
    let (kind, width) = (kind.0, shape.multiplicity());
    if accessor.count.0 > MAX_ELEMENTS {
        return Err(AvatarError::TooLarge { what: format!("accessor {index} has {} elements", accessor.count.0) });
    }
    let count = accessor.count.0 as usize;
    budget.take(accessor.count.0, 4 * width as u64, "its geometry")?;
    let base = match accessor.buffer_view {
        None => None,
        Some(view) => {
            let bytes = document.view(view.value()).ok_or_else(|| bad("lies outside the file's data"))?;
            let offset = usize::try_from(accessor.byte_offset.unwrap_or_default().0).unwrap_or(usize::MAX);
            let bytes = bytes.get(offset..).ok_or_else(|| bad("lies outside the file's data"))?;
            let size = width * kind.size();
            let stride = document.root.buffer_views.get(view.value()).and_then(|v| v.byte_stride).map_or(0, |s| s.0);
            let stride = if stride == 0 { size } else { stride };
            let needed = count.checked_sub(1).map_or(Some(0), |n| n.checked_mul(stride)?.checked_add(size));
            if stride < size || needed.is_none_or(|n| n > bytes.len()) {
                return Err(bad("lies outside the file's data"));
            }
            Some((bytes, stride))
        }
    };
    Ok((accessor, Layout { count, kind, width, base }))
}

/// Reads all elements; components that the file lacks are `fill`, extra ones are dropped.
fn read<T: Component, const N: usize>(
    document: &Document<'_>,
    index: usize,
    fill: [T; N],
    budget: &mut Budget,
) -> Result<Vec<[T; N]>, AvatarError> {
    let (accessor, layout) = layout(document, index, budget)?;
    let mut out = match layout.base {
        None => {
            let mut zero = fill;
            zero.iter_mut().take(layout.width).for_each(|c| *c = T::default());
            vec![zero; layout.count]
        }
        Some((bytes, stride)) => bytes
            .chunks(stride.max(1))
            .take(layout.count)
            .map(|element| read_element(element, &layout, accessor.normalized, fill))
            .collect(),
    };
    out.resize(layout.count, fill);
    if let Some(sparse) = &accessor.sparse {
        for (at, value) in sparse_elements(document, sparse, &layout, index, accessor.normalized, fill, budget)? {
            let slot = out.get_mut(at as usize);
            *slot.ok_or_else(|| AvatarError::broken(format!("accessor {index} changes an element it lacks")))? = value;
        }
    }
    Ok(out)
}

fn read_element<T: Component, const N: usize>(
    element: &[u8],
    layout: &Layout<'_>,
    normalised: bool,
    fill: [T; N],
) -> [T; N] {
    let mut value = fill;
    for (component, bytes) in value.iter_mut().zip(element.chunks_exact(layout.kind.size())).take(layout.width) {
        *component = T::read(bytes, layout.kind, normalised);
    }
    value
}

fn sparse_elements<T: Component, const N: usize>(
    document: &Document<'_>,
    sparse: &Sparse,
    layout: &Layout<'_>,
    accessor: usize,
    normalised: bool,
    fill: [T; N],
    budget: &mut Budget,
) -> Result<Vec<(u32, [T; N])>, AvatarError> {
    let outside =
        || AvatarError::broken(format!("the sparse part of accessor {accessor} lies outside the file's data"));
    let slice = |view: usize, offset: u64, size: usize| {
        let bytes = document.view(view)?.get(usize::try_from(offset).ok()?..)?;
        let needed = usize::try_from(sparse.count.0).ok()?.checked_mul(size)?;
        bytes.get(..needed)
    };
    let Checked::Valid(index_kind) = sparse.indices.component_type else { return Err(outside()) };
    let index_kind = index_kind.0;
    let size = layout.width * layout.kind.size();
    let indices = slice(sparse.indices.buffer_view.value(), sparse.indices.byte_offset.0, index_kind.size())
        .ok_or_else(outside)?;
    let values = slice(sparse.values.buffer_view.value(), sparse.values.byte_offset.0, size).ok_or_else(outside)?;
    budget.take(sparse.count.0, (4 + 4 * N) as u64, "its geometry")?;
    Ok(indices
        .chunks_exact(index_kind.size())
        .zip(values.chunks_exact(size.max(1)))
        .map(|(i, v)| (u32::read(i, index_kind, false), read_element(v, layout, normalised, fill)))
        .collect())
}

/// Reads float vectors.
pub(super) fn floats<const N: usize>(
    document: &Document<'_>,
    index: usize,
    fill: [f32; N],
    budget: &mut Budget,
) -> Result<Vec<[f32; N]>, AvatarError> {
    read(document, index, fill, budget)
}

/// Reads integer vectors (joint indices).
pub(super) fn integers<const N: usize>(
    document: &Document<'_>,
    index: usize,
    budget: &mut Budget,
) -> Result<Vec<[u32; N]>, AvatarError> {
    read(document, index, [0; N], budget)
}

/// Elements by index.
pub(super) type Sparse3 = Vec<(u32, [f32; 3])>;

/// Reads the elements of a morph target that are not zero, with ascending indices, and the accessor's length.
pub(super) fn non_zero(
    document: &Document<'_>,
    index: usize,
    budget: &mut Budget,
) -> Result<(usize, Sparse3), AvatarError> {
    const ZERO: [f32; 3] = [0.0; 3];
    let accessor = document.root.accessors.get(index);
    if accessor.is_some_and(|a| a.buffer_view.is_none()) {
        // Nothing but a sparse part: no need to write out the zeros.
        let (accessor, layout) = layout(document, index, &mut Budget::default())?;
        let mut out = match &accessor.sparse {
            None => Vec::new(),
            Some(sparse) => sparse_elements(document, sparse, &layout, index, accessor.normalized, ZERO, budget)?,
        };
        out.sort_by_key(|(at, _)| *at);
        out.dedup_by_key(|(at, _)| *at);
        out.retain(|(at, value)| *value != ZERO && (*at as usize) < layout.count);
        return Ok((layout.count, out));
    }
    let all = floats(document, index, ZERO, budget)?;
    let moved = all.iter().zip(0_u32..).filter(|(value, _)| **value != ZERO).map(|(value, at)| (at, *value)).collect();
    Ok((all.len(), moved))
}
