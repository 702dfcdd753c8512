//! The landmark network up to its heads, run row by row.
//!
//! A stem halves the picture; then stages of residual blocks follow, each of which begins by halving it again. tract
//! runs such a network layer by layer, and each layer writes a megabyte that the next one reads. Here the blocks of a
//! stage follow one another as closely as their 3×3 kernels let them: when the first has done row `y`, the next does
//! row `y − 1`. So a row is still in the nearest cache when it is needed again, and nothing is copied or packed.
//!
//! Rows are banks (see `kernels`), one after another: `[height][channels][width]`.

use fearless_simd::{Level, Simd, dispatch};

use super::kernels::{Depthwise, LANES, MARGIN, Pointwise, Residual, Target, largest_of_four, split_pairs};

/// Rows that a 3×3 kernel sees, and one of zeros for above the first and below the last.
const RING_ROWS: usize = 3;

/// The whole of it. Immutable: what a run needs it makes anew, a megabyte and a half.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Trunk {
    pub stem: Stem,
    /// The blocks that work at the size the stem gives.
    pub blocks: Vec<Block>,
    /// What follows, each at half the size of the one before.
    pub stages: Vec<Stage>,
}

/// 3×3, two steps at a time, no border above and left, one of zeros below and right.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stem {
    /// Channels of the picture.
    pub inputs: usize,
    /// Its inputs are the kernel's places: channel, row, column.
    pub convolution: Pointwise,
}

/// `x + project(depthwise(expand(x)))`.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Block {
    pub expand: Pointwise,
    pub tail: Tail,
}

/// A block that halves: 2×2 takes the place of the 1×1, and the largest of 2×2 the place of `x`; channels that `x`
/// lacks are zero.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Halving {
    /// Channels before it.
    pub inputs: usize,
    /// Its inputs are the kernel's places: channel, row, column.
    pub convolution: Pointwise,
    pub tail: Tail,
}

/// What follows on a block's first convolution.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tail {
    pub depthwise: Depthwise,
    pub project: Pointwise,
}

/// A halving and the blocks after it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Stage {
    pub halving: Halving,
    pub blocks: Vec<Block>,
}

/// Sizes of a stack of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Shape {
    channels: usize,
    width: usize,
    height: usize,
}

impl Shape {
    /// The width with padding.
    fn lanes(self) -> usize {
        self.width.next_multiple_of(LANES)
    }

    /// Values in a row.
    fn bank(self) -> usize {
        self.channels * self.lanes()
    }

    fn halved(self, channels: usize) -> Self {
        Self { channels, width: self.width / 2, height: self.height / 2 }
    }
}

impl Trunk {
    /// Whether each part fits the next for a picture of `side`², and all sizes are ones the kernels can do.
    pub fn fits(&self, side: usize) -> bool {
        let halvings = self.stages.len() + 1;
        let is_even = halvings < 16 && side > 0 && side.is_multiple_of(1 << halvings);
        let mut channels = self.stem.convolution.outputs();
        let is_block = |block: &Block, channels| {
            block.expand.inputs() == channels && { block.tail.fits(block.expand.outputs(), channels) }
        };
        let mut is_sound = is_even
            && self.stem.convolution.inputs() == self.stem.inputs * 9
            && self.blocks.iter().all(|block| is_block(block, channels));
        for Stage { halving, blocks } in &self.stages {
            let outputs = halving.tail.project.outputs();
            is_sound &= halving.inputs == channels
                && halving.convolution.inputs() == channels * 4
                && outputs >= channels
                && halving.tail.fits(halving.convolution.outputs(), outputs)
                && blocks.iter().all(|block| is_block(block, outputs));
            channels = outputs;
        }
        is_sound
    }

    /// Channels and side of the result for a picture of `side`².
    pub fn output(&self, side: usize) -> (usize, usize) {
        let channels = self.stages.last().map_or(&self.stem.convolution, |stage| &stage.halving.tail.project).outputs();
        (channels, side >> (self.stages.len() + 1))
    }

    /// From planes `[channels][side][side]` to planes. It must fit.
    pub fn run(&self, picture: &[f32], side: usize) -> Vec<f32> {
        let level = Level::new();
        let mut shape = Shape { channels: self.stem.inputs, width: side, height: side };
        let mut rows = Vec::new();
        let mut next = Vec::new();
        let below = shape.halved(self.stem.convolution.outputs());
        next.resize(below.bank() * below.height, 0.0);
        dispatch!(level, simd => run_stage(simd, First::Stem(&self.stem), &self.blocks, picture, shape, &mut next));
        shape = below;
        for Stage { halving, blocks } in &self.stages {
            std::mem::swap(&mut rows, &mut next);
            let below = shape.halved(halving.tail.project.outputs());
            next.clear();
            next.resize(below.bank() * below.height, 0.0);
            dispatch!(level, simd => run_stage(simd, First::Halving(halving), blocks, &rows, shape, &mut next));
            shape = below;
        }
        planes(&next, shape)
    }
}

impl Tail {
    fn fits(&self, inputs: usize, outputs: usize) -> bool {
        self.depthwise.channels() == inputs && self.project.inputs() == inputs && self.project.outputs() == outputs
    }
}

fn planes(rows: &[f32], shape: Shape) -> Vec<f32> {
    let lanes = shape.lanes();
    let mut planes = Vec::with_capacity(shape.channels * shape.width * shape.height);
    for channel in 0..shape.channels {
        for row in rows.chunks_exact(shape.bank()) {
            planes.extend_from_slice(&row[channel * lanes..channel * lanes + shape.width]);
        }
    }
    planes
}

/// What a stage begins with.
#[derive(Clone, Copy)]
enum First<'a> {
    Stem(&'a Stem),
    Halving(&'a Halving),
}

/// Runs a stage from `source` (the picture's planes for a stem, else rows) into `rows`, which are zero.
#[inline(always)]
fn run_stage<S: Simd>(simd: S, first: First<'_>, blocks: &[Block], source: &[f32], from: Shape, rows: &mut [f32]) {
    let mut places = Vec::new();
    let mut bank = Vec::new();
    let (shape, mut halving) = match first {
        First::Stem(stem) => (from.halved(stem.convolution.outputs()), None),
        First::Halving(halving) => {
            let shape = from.halved(halving.tail.project.outputs());
            (shape, Some((halving, Ring::new(halving.convolution.outputs(), shape))))
        }
    };
    let mut rings: Vec<Ring> = blocks.iter().map(|block| Ring::new(block.expand.outputs(), shape)).collect();
    // In step `t` the first part makes row `t`; each block after it expands the row that the one before has just
    // finished, and finishes the row above that.
    for t in 0..=shape.height + blocks.len() {
        let mut finished = match (first, &mut halving) {
            (First::Stem(stem), _) => (t < shape.height).then(|| {
                gather_stem(source, from, t, stem.inputs, &mut places);
                let (values, stride) = (&mut rows[t * shape.bank()..][..shape.bank()], shape.lanes());
                let mut target = Target { values, stride, start: 0 };
                stem.convolution.row(simd, &places, shape.lanes(), &mut target, Residual::None);
                t
            }),
            (_, Some((halving, ring))) => {
                if t < shape.height {
                    gather_halving(source, from, shape, t, &mut places);
                    ring.put(simd, t, &halving.convolution, &places);
                    keep_largest(simd, &places, &mut rows[t * shape.bank()..][..shape.bank()], halving.inputs, shape);
                }
                ring.finish(simd, t, &halving.tail, &mut bank, rows)
            }
            _ => None,
        };
        for (i, (block, ring)) in blocks.iter().zip(&mut rings).enumerate() {
            // The step as this block counts; a halving finishes one row later than a stem.
            let lag = i + usize::from(halving.is_some());
            let Some(t) = t.checked_sub(lag) else { break };
            if let Some(row) = finished {
                debug_assert_eq!(row, t);
                ring.put(simd, row, &block.expand, &rows[row * shape.bank()..][..shape.bank()]);
            }
            finished = ring.finish(simd, t, &block.tail, &mut bank, rows);
        }
    }
}

/// The last rows of a block between its first convolution and its depthwise one.
struct Ring {
    channels: usize,
    shape: Shape,
    /// `RING_ROWS` rows and one of zeros, each `[channels][MARGIN + lanes + MARGIN]`.
    values: Vec<f32>,
}

impl Ring {
    fn new(channels: usize, shape: Shape) -> Self {
        let bank = channels * (shape.lanes() + 2 * MARGIN);
        Self { channels, shape, values: vec![0.0; bank * (RING_ROWS + 1)] }
    }

    fn stride(&self) -> usize {
        self.shape.lanes() + 2 * MARGIN
    }

    fn bank(&self) -> usize {
        self.channels * self.stride()
    }

    /// Row `y`, or zeros beyond the picture.
    fn row(&self, y: Option<usize>) -> &[f32] {
        let slot = y.filter(|&y| y < self.shape.height).map_or(RING_ROWS, |y| y % RING_ROWS);
        &self.values[slot * self.bank()..][..self.bank()]
    }

    /// Makes row `y` out of a bank.
    #[inline(always)]
    fn put<S: Simd>(&mut self, simd: S, y: usize, convolution: &Pointwise, source: &[f32]) {
        let (bank, stride, shape) = (self.bank(), self.stride(), self.shape);
        let values = &mut self.values[y % RING_ROWS * bank..][..bank];
        let mut target = Target { values, stride, start: MARGIN };
        convolution.row(simd, source, shape.lanes(), &mut target, Residual::None);
        if shape.width < shape.lanes() {
            // Beyond the right edge there must be zeros.
            for lane_row in values.chunks_exact_mut(stride) {
                lane_row[MARGIN + shape.width..].fill(0.0);
            }
        }
    }

    /// Once row `t` is put (or `t` is below the last row), row `t − 1` of the block can be finished. Returns it.
    #[inline(always)]
    fn finish<S: Simd>(&self, simd: S, t: usize, tail: &Tail, bank: &mut Vec<f32>, rows: &mut [f32]) -> Option<usize> {
        let y = t.checked_sub(1).filter(|&y| y < self.shape.height)?;
        let lanes = self.shape.lanes();
        bank.resize(self.channels * lanes, 0.0);
        let neighbours = [self.row(y.checked_sub(1)), self.row(Some(y)), self.row(Some(y + 1))];
        tail.depthwise.row(simd, neighbours, lanes, bank);
        let values = &mut rows[y * self.shape.bank()..][..self.shape.bank()];
        let mut target = Target { values, stride: lanes, start: 0 };
        tail.project.row(simd, bank, lanes, &mut target, Residual::Add);
        Some(y)
    }
}

/// What the stem's kernel sees in row `y` of its result: a lane row for each channel and place of the kernel.
#[inline(always)]
fn gather_stem(planes: &[f32], from: Shape, y: usize, inputs: usize, places: &mut Vec<f32>) {
    let width = from.width / 2;
    let lanes = width.next_multiple_of(LANES);
    places.resize(inputs * 9 * lanes, 0.0);
    for (channel, places) in places.chunks_exact_mut(9 * lanes).enumerate() {
        for (j, places) in places.chunks_exact_mut(3 * lanes).enumerate() {
            let row = 2 * y + j;
            if row >= from.height {
                places.fill(0.0);
                continue;
            }
            let (even, rest) = places.split_at_mut(lanes);
            let (odd, next) = rest.split_at_mut(lanes);
            split_pairs(&planes[(channel * from.height + row) * from.width..][..from.width], even, odd);
            next[..width - 1].copy_from_slice(&even[1..width]);
            next[width - 1..].fill(0.0);
        }
    }
}

/// What a 2×2 kernel sees in row `y` of its result.
#[inline(always)]
fn gather_halving(rows: &[f32], from: Shape, to: Shape, y: usize, places: &mut Vec<f32>) {
    let lanes = to.lanes();
    places.resize(from.channels * 4 * lanes, 0.0);
    for (channel, places) in places.chunks_exact_mut(4 * lanes).enumerate() {
        for (j, places) in places.chunks_exact_mut(2 * lanes).enumerate() {
            let (even, odd) = places.split_at_mut(lanes);
            let start = (2 * y + j) * from.bank() + channel * from.lanes();
            split_pairs(&rows[start..][..from.width], even, odd);
        }
    }
}

/// Puts the largest of each 2×2 into the channels there were before.
#[inline(always)]
fn keep_largest<S: Simd>(simd: S, places: &[f32], row: &mut [f32], channels: usize, shape: Shape) {
    let lanes = shape.lanes();
    let targets = row.chunks_exact_mut(lanes).take(channels);
    for (phases, target) in places.chunks_exact(4 * lanes).zip(targets) {
        largest_of_four(simd, phases, lanes, target);
    }
}
