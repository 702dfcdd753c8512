//! The streaming network, run by tract: one feature frame in, probabilities out, the state fed back.

use tract_onnx::prelude::*;

use super::{BANDS, VoiceError};
use crate::types::VISEME_COUNT;

/// The trained weights; `models/visemes.toml` says what they are, `models/lipsync` makes them.
const EMBEDDED: &[u8] = include_bytes!("../../models/visemes.onnx");
/// The model has 50 thousand weights of four bytes; a much larger file is something else.
const LARGEST_BYTES: usize = 4 << 20;
/// A state of this size is far beyond use; keeps a hostile file from asking for memory.
const LARGEST_STATE: usize = 4096;

/// What the network says about the sound 30 ms before its newest frame.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Probability of each viseme, by `Viseme as usize`; finite, 0..1, sums to 1.
    pub visemes: [f32; VISEME_COUNT],
    /// Probability that the user speaks, 0..1. Closures and gaps under 80 ms inside speech count as speech.
    pub voiced: f32,
}

impl Answer {
    const SILENT: Self = {
        let mut visemes = [0.0; VISEME_COUNT];
        visemes[0] = 1.0;
        Self { visemes, voiced: 0.0 }
    };
}

/// A viseme network and its state in the stream. tract allocates a few small tensors a step; nothing grows.
pub struct Network {
    state: TypedSimpleState,
    hidden: TValue,
    hidden_len: usize,
}

impl Network {
    /// The network that omote ships.
    ///
    /// # Errors
    /// If tract cannot run it, which only a broken build can cause.
    pub fn embedded() -> Result<Self, VoiceError> {
        Self::from_bytes(EMBEDDED)
    }

    /// A network from an ONNX file's bytes: inputs `logmel [1,1,40]`, `h0 [1,1,n]`; outputs `visemes [1,1,15]`,
    /// `voiced [1,1,1]`, `h1 [1,1,n]`.
    ///
    /// # Errors
    /// If the bytes are no such model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VoiceError> {
        if bytes.len() > LARGEST_BYTES {
            return Err(VoiceError::Model(format!("it has {} bytes, far too many", bytes.len())));
        }
        let fault = |error: TractError| VoiceError::Model(format!("{error:#}"));
        let model = tract_onnx::onnx()
            .model_for_read(&mut std::io::Cursor::new(bytes))
            .and_then(|model| model.into_optimized())
            .map_err(fault)?;
        let hidden_len = checked_hidden_len(&model)?;
        let state = model.into_runnable().and_then(|plan| plan.spawn()).map_err(fault)?;
        let mut network = Self { state, hidden: zeros(hidden_len), hidden_len };
        // A graph with fitting ends may still fail inside: find out now, not on stream.
        network.try_step(&[0.0; BANDS]).map_err(fault)?;
        network.reset();
        Ok(network)
    }

    /// Takes the next feature frame. A step that fails or gives no numbers counts as silence and clears the state.
    pub fn step(&mut self, frame: &[f32; BANDS]) -> Answer {
        match self.try_step(frame) {
            Ok(answer) => answer,
            Err(error) => {
                tracing::trace!("viseme network: {error:#}");
                self.reset();
                Answer::SILENT
            }
        }
    }

    /// Forgets the stream.
    pub fn reset(&mut self) {
        self.hidden = zeros(self.hidden_len);
    }

    fn try_step(&mut self, frame: &[f32; BANDS]) -> TractResult<Answer> {
        // Saturating kernels may turn NaN into ordinary numbers, which would then stay in the state.
        if !frame.iter().all(|band| band.is_finite()) {
            return Err(TractError::msg("the features are no numbers"));
        }
        let input = Tensor::from_shape(&[1, 1, BANDS], frame)?;
        let hidden = std::mem::replace(&mut self.hidden, TValue::from(Tensor::default()));
        let mut outputs = self.state.run(tvec!(input.into(), hidden))?;
        let (Some(hidden), Some(voiced), Some(visemes)) = (outputs.pop(), outputs.pop(), outputs.pop()) else {
            return Err(TractError::msg("the model gave too few outputs"));
        };
        self.hidden = hidden;
        let mut answer = Answer { visemes: [0.0; VISEME_COUNT], voiced: 0.0 };
        let visemes = visemes.to_plain_array_view::<f32>()?;
        for (weight, value) in answer.visemes.iter_mut().zip(visemes.iter()) {
            *weight = value.clamp(0.0, 1.0);
        }
        let sum: f32 = answer.visemes.iter().sum();
        answer.voiced = voiced.to_plain_array_view::<f32>()?.iter().next().copied().unwrap_or(0.0).clamp(0.0, 1.0);
        // NaN passes `clamp`, and no comparison with it holds.
        if !((0.5..2.0).contains(&sum) && answer.voiced.is_finite()) {
            return Err(TractError::msg("the model gave no probabilities"));
        }
        answer.visemes.iter_mut().for_each(|weight| *weight /= sum);
        Ok(answer)
    }
}

fn zeros(len: usize) -> TValue {
    Tensor::zero::<f32>(&[1, 1, len]).unwrap_or_default().into()
}

/// Checks every input and output of the graph; returns the size of the state.
fn checked_hidden_len(model: &TypedModel) -> Result<usize, VoiceError> {
    let shape = |fact: TractResult<&TypedFact>| {
        fact.ok()
            .filter(|fact| fact.datum_type == f32::datum_type())
            .and_then(|fact| fact.shape.as_concrete())
            .and_then(|shape| <[usize; 3]>::try_from(shape).ok())
    };
    let misfit = || VoiceError::Model("its inputs or outputs are not those of a viseme model".to_owned());
    let (inputs, outputs) = (model.inputs.len(), model.outputs.len());
    let (Some([1, 1, BANDS]), Some([1, 1, hidden]), 2) =
        (shape(model.input_fact(0)), shape(model.input_fact(1)), inputs)
    else {
        return Err(misfit());
    };
    let expected = [[1, 1, VISEME_COUNT], [1, 1, 1], [1, 1, hidden]];
    let fits = (0..expected.len()).all(|i| shape(model.output_fact(i)) == Some(expected[i]));
    if outputs != expected.len() || !fits || hidden > LARGEST_STATE {
        return Err(misfit());
    }
    Ok(hidden)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_viseme_model_is_refused() {
        for bytes in [&b""[..], b"not a model", &EMBEDDED[..EMBEDDED.len() / 2]] {
            assert!(matches!(Network::from_bytes(bytes), Err(VoiceError::Model(_))));
        }
        assert!(Network::from_bytes(&vec![0; LARGEST_BYTES + 1]).is_err());
    }

    #[test]
    fn broken_features_give_silence_and_do_no_lasting_harm() {
        let mut network = Network::embedded().unwrap();
        let mut fresh = Network::embedded().unwrap();
        let answer = network.step(&[f32::NAN; BANDS]);
        assert!(answer.visemes.iter().all(|w| w.is_finite()) && answer.voiced.is_finite());
        assert_eq!(network.step(&[-9.0; BANDS]), fresh.step(&[-9.0; BANDS]));
    }
}
