//! Finds the landmark network's trunk in a tract model and puts one operator in its place.
//!
//! The match is exact or there is none: another model, or another version of this one, stays as tract made it.

use tract_onnx::prelude::*;
use tract_onnx::tract_core::ops::array::{Pad, PadMode};
use tract_onnx::tract_core::ops::binary::TypedBinOp;
use tract_onnx::tract_core::ops::cnn::{Conv, KernelFormat, MaxPool, PaddingSpec, PoolSpec};
use tract_onnx::tract_core::ops::math::Add;
use tract_onnx::tract_core::ops::nn::DataFormat;
use tract_onnx::tract_hir::internal::*;

use super::kernels::{Depthwise, Pointwise};
use super::trunk::{Block, Halving, Stage, Stem, Tail, Trunk};
use crate::face::prelu::FusedPrelu;

/// Replaces the trunk that starts at the model's input, if there is one. True if there was.
pub(super) fn fuse_trunk(model: &mut TypedModel) -> TractResult<bool> {
    let input = model.input_outlets()?[0];
    let Some(&[batch, channels, height, width]) = model.outlet_fact(input)?.shape.as_concrete() else {
        return Ok(false);
    };
    let Some((trunk, end)) = read_trunk(model, input) else { return Ok(false) };
    if batch != 1 || height != width || channels != trunk.stem.inputs || !trunk.fits(width) {
        return Ok(false);
    }
    let mut patch = TypedModelPatch::new("rows instead of layers");
    let from = patch.tap_model(model, input)?;
    let op = RowTrunk { trunk: Arc::new(trunk), side: width };
    let to = patch.wire_node("trunk", op, &[from])?;
    patch.shunt_outside(model, end, to[0])?;
    patch.apply(model)?;
    Ok(true)
}

/// The trunk and its last outlet.
fn read_trunk(model: &TypedModel, input: OutletId) -> Option<(Trunk, OutletId)> {
    let reader = Reader { model };
    let stem = reader.convolution(input, &[3, 3], 2)?;
    let (slopes, mut at) = reader.prelu(stem.end)?;
    let (first, after) = (stem.pads.first()?, stem.pads.get(1)?);
    let inputs = stem.inputs;
    if first != &[0, 0] || after != &[1, 1] || stem.group != 1 {
        return None;
    }
    let stem = Stem { inputs, convolution: Pointwise::new(&stem.weights, stem.bias, Some(slopes))? };
    let mut trunk = Trunk { stem, blocks: Vec::new(), stages: Vec::new() };
    loop {
        if let Some((block, end)) = reader.block(at) {
            trunk.stages.last_mut().map_or(&mut trunk.blocks, |stage| &mut stage.blocks).push(block);
            at = end;
        } else if let Some((halving, end)) = reader.halving(at) {
            trunk.stages.push(Stage { halving, blocks: Vec::new() });
            at = end;
        } else {
            return (!trunk.stages.is_empty()).then_some((trunk, at));
        }
    }
}

/// A convolution with constant weights.
struct Convolution {
    inputs: usize,
    group: usize,
    /// Output, input, row, column.
    weights: Vec<f32>,
    bias: Vec<f32>,
    /// Before and after, rows and columns.
    pads: [Vec<usize>; 2],
    end: OutletId,
}

struct Reader<'a> {
    model: &'a TypedModel,
}

impl Reader<'_> {
    /// The nodes that read an outlet.
    fn readers(&self, outlet: OutletId) -> impl Iterator<Item = &TypedNode> {
        let successors = self.model.node(outlet.node).outputs.get(outlet.slot).map(|output| &output.successors);
        successors.into_iter().flatten().map(|inlet| self.model.node(inlet.node))
    }

    /// The only reader, if it is such an operator.
    fn only<T: Op>(&self, outlet: OutletId) -> Option<(&T, &TypedNode)> {
        let mut readers = self.readers(outlet);
        let node = readers.next().filter(|_| readers.next().is_none())?;
        Some((node.op_as::<T>()?, node))
    }

    /// A constant's values; those of constants that are only cast count too.
    fn constant(&self, outlet: OutletId) -> Option<Vec<f32>> {
        let fact = self.model.outlet_fact(outlet).ok()?;
        let tensor = match &fact.konst {
            Some(tensor) => tensor.clone(),
            None => {
                let node = self.model.node(outlet.node);
                let [input] = *node.inputs else { return None };
                let input = self.model.outlet_fact(input).ok()?.konst.clone()?;
                let outputs = node.op.eval(&EvalContext::out_of_plan(), tvec!(input.into_tvalue())).ok()?;
                outputs.first()?.clone().into_arc_tensor()
            }
        };
        let tensor = tensor.cast_to::<f32>().ok()?;
        Some(tensor.try_as_plain_ram().ok()?.as_slice::<f32>().ok()?.to_vec())
    }

    /// A convolution of this kernel and step that reads the outlet.
    fn convolution(&self, outlet: OutletId, kernel: &[usize], step: usize) -> Option<Convolution> {
        self.readers(outlet).find_map(|node| self.as_convolution(node, outlet, kernel, step))
    }

    fn as_convolution(&self, node: &TypedNode, outlet: OutletId, kernel: &[usize], step: usize) -> Option<Convolution> {
        let conv = node.op_as::<Conv>()?;
        let [input, weights, bias] = *node.inputs else { return None };
        let is_plain = input == outlet && conv.kernel_fmt == KernelFormat::OIHW && conv.q_params.is_none();
        if !is_plain || !fits(&conv.pool_spec, kernel, step) {
            return None;
        }
        let (weights, mut bias) = (self.constant(weights)?, self.constant(bias)?);
        let (inputs, outputs) = (conv.input_channels(), conv.output_channels());
        if bias.len() == 1 {
            bias = vec![bias[0]; outputs];
        }
        let is_whole = bias.len() == outputs
            && conv.group > 0
            && weights.len() * conv.group == inputs * outputs * kernel.iter().product::<usize>();
        let pads = pads(&conv.pool_spec.padding)?;
        is_whole.then(|| Convolution { inputs, group: conv.group, weights, bias, pads, end: node.id.into() })
    }

    /// A convolution without borders that mixes all channels.
    fn pointwise(&self, outlet: OutletId, kernel: &[usize], step: usize) -> Option<Convolution> {
        let convolution = self.convolution(outlet, kernel, step)?;
        let is_bare = convolution.group == 1 && convolution.pads.iter().flatten().all(|&pad| pad == 0);
        is_bare.then_some(convolution)
    }

    fn prelu(&self, outlet: OutletId) -> Option<(Vec<f32>, OutletId)> {
        let (prelu, node) = self.only::<FusedPrelu>(outlet)?;
        Some((prelu.slopes().ok()?.to_vec(), node.id.into()))
    }

    /// What follows on a block's first convolution, up to the last slopes, where `beside` is what is added.
    fn tail(&self, outlet: OutletId, beside: OutletId) -> Option<(Tail, OutletId)> {
        let depthwise = self.convolution(outlet, &[3, 3], 1)?;
        let is_separate = depthwise.group == depthwise.inputs && depthwise.bias.len() == depthwise.inputs;
        if !is_separate || depthwise.pads.iter().flatten().any(|&pad| pad != 1) {
            return None;
        }
        self.only::<Conv>(outlet)?;
        let project = self.pointwise(depthwise.end, &[1, 1], 1)?;
        self.only::<Conv>(depthwise.end)?;
        let (sum, node) = self.only::<TypedBinOp>(project.end)?;
        let addends = [project.end, beside];
        let adds = sum.0.is::<Add>() && node.inputs.len() == 2 && addends.iter().all(|a| node.inputs.contains(a));
        let (slopes, end) = self.prelu(node.id.into()).filter(|_| adds)?;
        let depthwise = Depthwise::new(&depthwise.weights, depthwise.bias)?;
        Some((Tail { depthwise, project: Pointwise::new(&project.weights, project.bias, Some(slopes))? }, end))
    }

    fn block(&self, outlet: OutletId) -> Option<(Block, OutletId)> {
        let expand = self.pointwise(outlet, &[1, 1], 1)?;
        let (slopes, at) = self.prelu(expand.end)?;
        let (tail, end) = self.tail(at, outlet)?;
        (self.readers(outlet).count() == 2).then_some(())?;
        Some((Block { expand: Pointwise::new(&expand.weights, expand.bias, Some(slopes))?, tail }, end))
    }

    fn halving(&self, outlet: OutletId) -> Option<(Halving, OutletId)> {
        let convolution = self.pointwise(outlet, &[2, 2], 2)?;
        let pool = self.readers(outlet).find(|node| node.op_is::<MaxPool>())?;
        let spec = &pool.op_as::<MaxPool>()?.pool_spec;
        let is_bare = fits(spec, &[2, 2], 2) && pads(&spec.padding)?.iter().flatten().all(|&pad| pad == 0);
        if !is_bare || self.readers(outlet).count() != 2 {
            return None;
        }
        let mut beside: OutletId = pool.id.into();
        if let Some((pad, node)) = self.only::<Pad>(beside) {
            let is_zero =
                matches!(&pad.mode, PadMode::Constant(value) if value.cast_to_scalar::<f32>().ok() == Some(0.0));
            let is_behind = matches!(*pad.pads, [(0, 0), (0, _), (0, 0), (0, 0)]);
            if !is_zero || !is_behind {
                return None;
            }
            beside = node.id.into();
        }
        let (slopes, at) = self.prelu(convolution.end)?;
        let (tail, end) = self.tail(at, beside)?;
        let inputs = convolution.inputs;
        let convolution = Pointwise::new(&convolution.weights, convolution.bias, Some(slopes))?;
        Some((Halving { inputs, convolution, tail }, end))
    }
}

fn fits(spec: &PoolSpec, kernel: &[usize], step: usize) -> bool {
    let all = |values: &Option<TVec<usize>>, wanted| values.as_ref().is_none_or(|v| v.iter().all(|&v| v == wanted));
    let has_step = match &spec.strides {
        Some(strides) => strides.iter().all(|&s| s == step),
        None => step == 1,
    };
    spec.data_format == DataFormat::NCHW && *spec.kernel_shape == *kernel && has_step && all(&spec.dilations, 1)
}

fn pads(padding: &PaddingSpec) -> Option<[Vec<usize>; 2]> {
    match padding {
        PaddingSpec::Explicit(before, after) | PaddingSpec::ExplicitOnnxPool(before, after, _) => {
            Some([before.to_vec(), after.to_vec()])
        }
        PaddingSpec::Valid => Some([vec![0, 0], vec![0, 0]]),
        PaddingSpec::SameUpper | PaddingSpec::SameLower => None,
    }
}

/// The trunk as one operator: `[1, channels, side, side]` to `[1, channels, side, side]`, f32.
#[derive(Clone, Debug)]
struct RowTrunk {
    trunk: Arc<Trunk>,
    side: usize,
}

impl PartialEq for RowTrunk {
    fn eq(&self, other: &Self) -> bool {
        self.side == other.side && Arc::ptr_eq(&self.trunk, &other.trunk)
    }
}

impl Eq for RowTrunk {}

impl Op for RowTrunk {
    fn name(&self) -> StaticName {
        "RowTrunk".into()
    }

    op_as_typed_op!();
}

impl EvalOp for RowTrunk {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let picture = args_1!(inputs);
        let values = self.trunk.run(picture.try_as_plain_ram()?.as_slice::<f32>()?, self.side);
        let (channels, side) = self.trunk.output(self.side);
        Ok(tvec!(Tensor::from_shape(&[1, channels, side, side], &values)?.into_tvalue()))
    }
}

impl TypedOp for RowTrunk {
    fn output_facts(&self, _inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let (channels, side) = self.trunk.output(self.side);
        Ok(tvec!(f32::fact([1, channels, side, side])))
    }

    as_op!();
}
