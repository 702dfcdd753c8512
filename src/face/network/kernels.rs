//! The inner loops of the landmark network's trunk, written once and compiled for each instruction set.
//!
//! Rows are *banks*: for each channel one *lane row* of `width` values, one after another (`[channels][width]`).
//! Widths are multiples of [`LANES`]; a narrower picture is padded, and what lies in the padding is noise that no
//! kernel mixes into the picture. Nothing here knows of networks or tract.
//!
//! Every function is `#[inline(always)]` so that it takes over the instruction set of `dispatch!`'s caller.

use fearless_simd::{Simd, SimdBase, SimdFloat, f32x8};

/// Values in a vector.
pub(super) const LANES: usize = 8;
/// Outputs in a block of pointwise weights.
const BLOCK: usize = 8;
/// Room left and right of each lane row that a depthwise kernel reads: its neighbours, kept aligned.
pub(super) const MARGIN: usize = LANES;

/// What follows a convolution: `x` or `x · slope` of its channel, whichever its sign says.
pub(super) type Slopes = Vec<f32>;

/// A 1×1 convolution: for each output a weighted sum of all inputs at the same place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pointwise {
    inputs: usize,
    outputs: usize,
    /// `[outputs / BLOCK][inputs][BLOCK]`: the order in which the kernel reads them.
    weights: Vec<[f32; BLOCK]>,
    bias: Vec<f32>,
    slopes: Option<Slopes>,
}

impl Pointwise {
    /// From weights `[outputs][inputs]`. `None` if the sizes don't fit or the kernel can't do them.
    pub fn new(weights: &[f32], bias: Vec<f32>, slopes: Option<Slopes>) -> Option<Self> {
        let outputs = bias.len();
        let fits = outputs > 0 && outputs.is_multiple_of(BLOCK) && weights.len().is_multiple_of(outputs);
        if !fits || weights.is_empty() || slopes.as_ref().is_some_and(|slopes| slopes.len() != outputs) {
            return None;
        }
        let inputs = weights.len() / outputs;
        let mut packed = Vec::with_capacity(weights.len() / BLOCK);
        for block in weights.chunks_exact(inputs * BLOCK) {
            packed.extend((0..inputs).map(|input| std::array::from_fn(|output| block[output * inputs + input])));
        }
        Some(Self { inputs, outputs, weights: packed, bias, slopes })
    }

    pub fn inputs(&self) -> usize {
        self.inputs
    }

    pub fn outputs(&self) -> usize {
        self.outputs
    }

    /// One row: from the bank `source` into `target`, whose lane rows are `target_stride` apart. With `Residual::Add`
    /// what is there is added before the slopes are applied.
    #[inline(always)]
    pub fn row<S: Simd>(&self, simd: S, source: &[f32], width: usize, target: &mut Target<'_>, residual: Residual) {
        let blocks = self.weights.chunks_exact(self.inputs).zip(self.bias.chunks_exact(BLOCK));
        for (index, (weights, bias)) in blocks.enumerate() {
            let first = index * BLOCK;
            let slopes = self.slopes.as_ref().and_then(|slopes| slopes.get(first..first + BLOCK));
            let mut at = 0;
            while at + 2 * LANES <= width {
                // Four outputs by two vectors: eight sums hide the latency of the multipliers and fit the registers.
                for half in [0, BLOCK / 2] {
                    let mut sums = [[f32x8::splat(simd, 0.0); 2]; 4];
                    for (sums, &bias) in sums.iter_mut().zip(&bias[half..half + 4]) {
                        *sums = [f32x8::splat(simd, bias); 2];
                    }
                    let sums = tile(simd, weights, half, source, width, at, sums);
                    for (o, sums) in sums.into_iter().enumerate() {
                        let slope = slopes.map(|slopes| slopes[half + o]);
                        finish(simd, sums, slope, target, first + half + o, at, residual);
                    }
                }
                at += 2 * LANES;
            }
            if at + LANES <= width {
                let mut sums = [[f32x8::splat(simd, 0.0); 1]; BLOCK];
                for (sums, &bias) in sums.iter_mut().zip(bias) {
                    *sums = [f32x8::splat(simd, bias)];
                }
                let sums = tile(simd, weights, 0, source, width, at, sums);
                for (o, sums) in sums.into_iter().enumerate() {
                    finish(simd, sums, slopes.map(|slopes| slopes[o]), target, first + o, at, residual);
                }
            }
        }
    }
}

/// Lane rows to write to.
pub(super) struct Target<'a> {
    /// Holds all of them.
    pub values: &'a mut [f32],
    /// From the start of one channel's lane row to that of the next.
    pub stride: usize,
    /// Where the first one starts.
    pub start: usize,
}

/// Whether a result is added to what is already there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Residual {
    None,
    Add,
}

/// Adds all inputs, `width` apart in `source`, times the weights of `OUTPUTS` outputs to the sums.
#[inline(always)]
fn tile<S: Simd, const OUTPUTS: usize, const VECTORS: usize>(
    simd: S,
    weights: &[[f32; BLOCK]],
    first: usize,
    source: &[f32],
    width: usize,
    at: usize,
    mut sums: [[f32x8<S>; VECTORS]; OUTPUTS],
) -> [[f32x8<S>; VECTORS]; OUTPUTS] {
    for (lane_row, weights) in source.chunks_exact(width).zip(weights) {
        let Some(values) = lane_row.get(at..at + VECTORS * LANES) else { break };
        let mut inputs = [f32x8::splat(simd, 0.0); VECTORS];
        for (v, input) in inputs.iter_mut().enumerate() {
            *input = f32x8::from_slice(simd, &values[v * LANES..(v + 1) * LANES]);
        }
        for (o, sums) in sums.iter_mut().enumerate() {
            let weight = f32x8::splat(simd, weights[first + o]);
            for (sum, &input) in sums.iter_mut().zip(&inputs) {
                *sum = input.mul_add(weight, *sum);
            }
        }
    }
    sums
}

#[inline(always)]
fn finish<S: Simd, const VECTORS: usize>(
    simd: S,
    sums: [f32x8<S>; VECTORS],
    slope: Option<f32>,
    target: &mut Target<'_>,
    channel: usize,
    at: usize,
    residual: Residual,
) {
    let start = target.start + channel * target.stride + at;
    let Some(values) = target.values.get_mut(start..start + VECTORS * LANES) else { return };
    for (v, mut sum) in sums.into_iter().enumerate() {
        let place = &mut values[v * LANES..(v + 1) * LANES];
        if residual == Residual::Add {
            sum += f32x8::from_slice(simd, place);
        }
        if let Some(slope) = slope {
            let zero = f32x8::splat(simd, 0.0);
            sum = sum.min(zero).mul_add(f32x8::splat(simd, slope), sum.max(zero));
        }
        sum.store_slice(place);
    }
}

/// A 3×3 convolution of each channel by itself.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Depthwise {
    weights: Vec<[f32; 9]>,
    bias: Vec<f32>,
}

impl Depthwise {
    /// From weights `[channels][3][3]`.
    pub fn new(weights: &[f32], bias: Vec<f32>) -> Option<Self> {
        let (weights, rest) = weights.as_chunks();
        (rest.is_empty() && !weights.is_empty() && weights.len() == bias.len())
            .then(|| Self { weights: weights.to_vec(), bias })
    }

    pub fn channels(&self) -> usize {
        self.bias.len()
    }

    /// One row into the bank `target`, from the row above, the row itself and the row below. Their lane rows are
    /// `width + 2 · MARGIN` long, the margins included.
    #[inline(always)]
    pub fn row<S: Simd>(&self, simd: S, rows: [&[f32]; 3], width: usize, target: &mut [f32]) {
        let stride = width + 2 * MARGIN;
        let [above, here, below] = rows.map(|row| row.chunks_exact(stride));
        let sources = above.zip(here).zip(below);
        let channels = self.weights.iter().zip(&self.bias).zip(target.chunks_exact_mut(width));
        for (((above, here), below), ((weights, &bias), target)) in sources.zip(channels) {
            let bias = f32x8::splat(simd, bias);
            let mut factors = [bias; 9];
            for (factor, &weight) in factors.iter_mut().zip(weights) {
                *factor = f32x8::splat(simd, weight);
            }
            for (i, target) in target.chunks_exact_mut(LANES).enumerate() {
                let start = MARGIN - 1 + i * LANES;
                // One sum for each row of the kernel: shorter chains.
                let mut sums = [bias; 3];
                for (r, row) in [above, here, below].into_iter().enumerate() {
                    let Some(values) = row.get(start..start + LANES + 2) else { return };
                    let mut sum = f32x8::from_slice(simd, &values[..LANES]) * factors[3 * r];
                    sum = f32x8::from_slice(simd, &values[1..=LANES]).mul_add(factors[3 * r + 1], sum);
                    sums[r] = f32x8::from_slice(simd, &values[2..]).mul_add(factors[3 * r + 2], sum);
                }
                (sums[0] + sums[1] + sums[2] + bias).store_slice(target);
            }
        }
    }
}

/// Splits a row into its values at even and at odd places.
#[inline(always)]
pub(super) fn split_pairs(row: &[f32], even: &mut [f32], odd: &mut [f32]) {
    let (pairs, _) = row.as_chunks::<2>();
    for ((&[a, b], even), odd) in pairs.iter().zip(even).zip(odd) {
        (*even, *odd) = (a, b);
    }
}

/// The largest of four lane rows at each place.
#[inline(always)]
pub(super) fn largest_of_four<S: Simd>(simd: S, phases: &[f32], width: usize, target: &mut [f32]) {
    let (first, rest) = phases.split_at(width.min(phases.len()));
    target[..width].copy_from_slice(first);
    for phase in rest.chunks_exact(width) {
        for (place, values) in target.chunks_exact_mut(LANES).zip(phase.chunks_exact(LANES)) {
            f32x8::from_slice(simd, place).max(f32x8::from_slice(simd, values)).store_slice(place);
        }
    }
}
