//! One fused, in-place PReLU for tract, whose own lowering makes three passes of it (multiply, compare, select).
//! `network` looks for it where it puts a part of the landmark network into rows.

use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::*;

/// Makes an ONNX reader use the fused operator.
pub(super) fn register(onnx: &mut tract_onnx::Onnx) {
    onnx.op_register.insert("PRelu", |_, _| Ok((expand(PreluRules), vec![])));
}

/// `x` or `x · slope` of its channel, whichever its sign says; input `[batch, channels, ...]`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct FusedPrelu {
    /// One slope for each channel, `[channels]`, f32.
    slopes: Arc<Tensor>,
}

impl FusedPrelu {
    /// One for each channel.
    pub fn slopes(&self) -> TractResult<&[f32]> {
        self.slopes.try_as_plain_ram()?.as_slice::<f32>()
    }
}

impl Op for FusedPrelu {
    fn name(&self) -> StaticName {
        "FusedPrelu".into()
    }

    op_as_typed_op!();
}

impl EvalOp for FusedPrelu {
    op_out_of_plan!();

    fn eval(&self, _context: &EvalContext, inputs: TVec<TValue>) -> TractResult<TVec<TValue>> {
        let mut tensor = args_1!(inputs).into_tensor();
        let inner: usize = tensor.shape().iter().skip(2).product();
        if inner > 0 {
            let slopes = self.slopes()?;
            let mut view = tensor.try_as_plain_ram_mut()?;
            let channels = view.as_slice_mut::<f32>()?.chunks_exact_mut(inner);
            for (channel, &slope) in channels.zip(slopes.iter().cycle()) {
                for x in channel {
                    // Two steps that vectorise without a branch.
                    *x = x.max(0.0) + slope * x.min(0.0);
                }
            }
        }
        Ok(tvec!(tensor.into_tvalue()))
    }
}

impl TypedOp for FusedPrelu {
    fn output_facts(&self, inputs: &[&TypedFact]) -> TractResult<TVec<TypedFact>> {
        let [input] = inputs else { bail!("PRelu takes one tensor and its slopes") };
        let channels = input.shape.get(1).cloned().context("PRelu wants channels on axis 1")?;
        ensure!(input.datum_type == f32::datum_type(), "PRelu wants f32");
        ensure!(channels == self.slopes.len().to_dim(), "PRelu wants one slope for each channel");
        Ok(tvec!(input.without_value()))
    }

    as_op!();
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct PreluRules;

impl Expansion for PreluRules {
    fn name(&self) -> StaticName {
        "PreluRules".into()
    }

    fn rules<'r, 'p: 'r, 's: 'r>(
        &'s self,
        solver: &mut Solver<'r>,
        inputs: &'p [TensorProxy],
        outputs: &'p [TensorProxy],
    ) -> InferenceResult {
        check_input_arity(inputs, 2)?;
        check_output_arity(outputs, 1)?;
        solver.equals(&inputs[0].datum_type, &outputs[0].datum_type)?;
        solver.equals(&inputs[0].shape, &outputs[0].shape)?;
        Ok(())
    }

    fn wire(&self, name: &str, model: &mut TypedModel, inputs: &[OutletId]) -> TractResult<TVec<OutletId>> {
        let [input, slopes] = *inputs else { bail!("PRelu takes one tensor and its slopes") };
        let slopes = model.outlet_fact(slopes)?.konst.clone().context("PRelu slopes must be constant")?;
        let slopes = slopes.into_tensor().cast_to::<f32>()?.into_owned();
        let count = slopes.len();
        let slopes = slopes.into_shape(&[count])?;
        model.wire_node(name, FusedPrelu { slopes: slopes.into() }, &[input])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn negative_values_take_the_slope_of_their_channel() {
        let op = FusedPrelu { slopes: tensor1(&[0.5f32, -2.0]).into() };
        let input = tensor3(&[[[1.0f32, -1.0], [-3.0, 4.0]]]);
        let output = op.eval(&EvalContext::out_of_plan(), tvec!(input.into())).unwrap();
        output[0].close_enough(&tensor3(&[[[1.0f32, -0.5], [6.0, 4.0]]]), false).unwrap();
    }
}
