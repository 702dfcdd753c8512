//! The streaming network, run by tract: one feature frame in, probabilities out, the state fed back.

use tract_onnx::prelude::*;

use super::{BANDS, VoiceError};
use crate::types::VISEME_COUNT;

/// The trained weights; `models/visemes.toml` says what they are, `models/lipsync` makes them.
const EMBEDDED: &[u8] = include_bytes!("../../models/visemes.onnx");
/// The model has some hundred thousand weights of four bytes; a much larger file is something else.
const LARGEST_BYTES: usize = 8 << 20;
/// A state of this size is far beyond use; keeps a hostile file from asking for memory.
const LARGEST_STATE: usize = 16_384;

/// What the network says after a feature frame: about the sound 30 ms before it, with the future of that sound in
/// mind, and about the newest sound, hastily.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Answer {
    /// Probability of each viseme 30 ms ago, by `Viseme as usize`; finite, 0..1, sums to 1.
    pub visemes: [f32; VISEME_COUNT],
    /// Probability that the user spoke 30 ms ago, 0..1. Closures and gaps under 80 ms inside speech count as speech.
    pub voiced: f32,
    /// Probability of each viseme in the newest frame: sooner and less sure. [`Self::visemes`] where the model has no
    /// such output.
    pub visemes_now: [f32; VISEME_COUNT],
    /// Probability that the user speaks in the newest frame, 0..1. [`Self::voiced`] where the model has no such output.
    pub voiced_now: f32,
    /// Probability that the user laughed 30 ms ago, 0..1. 0 where the model has no such output.
    pub laughter: f32,
}

impl Answer {
    const SILENT: Self = {
        let mut visemes = [0.0; VISEME_COUNT];
        visemes[0] = 1.0;
        Self { visemes, voiced: 0.0, visemes_now: visemes, voiced_now: 0.0, laughter: 0.0 }
    };
}

/// A viseme network and its state in the stream. tract allocates a few small tensors a step; nothing grows.
pub struct Network {
    state: TypedSimpleState,
    ends: Ends,
    hidden: TValue,
}

impl Network {
    /// The network that omote ships.
    ///
    /// # Errors
    /// If tract cannot run it, which only a broken build can cause.
    pub fn embedded() -> Result<Self, VoiceError> {
        Self::from_bytes(EMBEDDED)
    }

    /// A network from an ONNX file's bytes: inputs `logmel [1,1,40]`, `h0 [l,1,n]`; outputs by name `visemes [1,1,15]`,
    /// `voiced [1,1,1]`, `h1 [l,1,n]` and, as it has them, `visemes_now`, `voiced_now`, `laughter`.
    ///
    /// # Errors
    /// If the bytes are no such model.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, VoiceError> {
        if bytes.len() > LARGEST_BYTES {
            return Err(VoiceError::Model(format!("it has {} bytes, far too many", bytes.len())));
        }
        let fault = |error: TractError| VoiceError::Model(format!("{error:#}"));
        let reader = tract_onnx::onnx();
        let proto = reader.proto_model_for_read(&mut std::io::Cursor::new(bytes)).map_err(fault)?;
        // Optimising may rename nodes; the order of the outputs stays.
        let names: Vec<String> =
            proto.graph.iter().flat_map(|graph| &graph.output).map(|output| output.name.clone()).collect();
        let model = reader.model_for_proto_model(&proto).and_then(|model| model.into_optimized()).map_err(fault)?;
        let ends = Ends::of(&model, &names)?;
        let state = model.into_runnable().and_then(|plan| plan.spawn()).map_err(fault)?;
        let hidden = ends.cleared();
        let mut network = Self { state, ends, hidden };
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
        self.hidden = self.ends.cleared();
    }

    fn try_step(&mut self, frame: &[f32; BANDS]) -> TractResult<Answer> {
        // Saturating kernels may turn NaN into ordinary numbers, which would then stay in the state.
        if !frame.iter().all(|band| band.is_finite()) {
            return Err(TractError::msg("the features are no numbers"));
        }
        let input = Tensor::from_shape(&[1, 1, BANDS], frame)?;
        let hidden = std::mem::replace(&mut self.hidden, TValue::from(Tensor::default()));
        let outputs = self.state.run(tvec!(input.into(), hidden))?;
        let output = |at: usize| outputs.get(at).ok_or_else(|| TractError::msg("the model gave too few outputs"));
        let (visemes, voiced) = (distribution(output(self.ends.visemes)?)?, probability(output(self.ends.voiced)?)?);
        let answer = Answer {
            visemes,
            voiced,
            visemes_now: self.ends.visemes_now.map_or(Ok(visemes), |at| distribution(output(at)?))?,
            voiced_now: self.ends.voiced_now.map_or(Ok(voiced), |at| probability(output(at)?))?,
            laughter: self.ends.laughter.map_or(Ok(0.0), |at| probability(output(at)?))?,
        };
        self.hidden = output(self.ends.hidden)?.clone();
        Ok(answer)
    }
}

/// The weights of an output, made to sum to exactly 1.
fn distribution(output: &TValue) -> TractResult<[f32; VISEME_COUNT]> {
    let mut weights = [0.0; VISEME_COUNT];
    for (weight, value) in weights.iter_mut().zip(output.to_plain_array_view::<f32>()?.iter()) {
        *weight = value.clamp(0.0, 1.0);
    }
    let sum: f32 = weights.iter().sum();
    // NaN passes `clamp`, and no comparison with it holds.
    if !(0.5..2.0).contains(&sum) {
        return Err(TractError::msg("the model gave no probabilities"));
    }
    weights.iter_mut().for_each(|weight| *weight /= sum);
    Ok(weights)
}

fn probability(output: &TValue) -> TractResult<f32> {
    let value = output.to_plain_array_view::<f32>()?.iter().next().copied().unwrap_or(f32::NAN);
    if value.is_finite() { Ok(value.clamp(0.0, 1.0)) } else { Err(TractError::msg("the model gave no probability")) }
}

/// Where a graph gives what, and the shape of its state.
struct Ends {
    visemes: usize,
    voiced: usize,
    visemes_now: Option<usize>,
    voiced_now: Option<usize>,
    laughter: Option<usize>,
    hidden: usize,
    hidden_shape: [usize; 3],
}

impl Ends {
    /// Checks every input and every output that is used.
    fn of(model: &TypedModel, names: &[String]) -> Result<Self, VoiceError> {
        let misfit = || VoiceError::Model("its inputs or outputs are not those of a viseme model".to_owned());
        let shape = |fact: TractResult<&TypedFact>| {
            fact.ok()
                .filter(|fact| fact.datum_type == f32::datum_type())
                .and_then(|fact| fact.shape.as_concrete())
                .and_then(|shape| <[usize; 3]>::try_from(shape).ok())
        };
        let (Some([1, 1, BANDS]), Some(hidden_shape), 2) =
            (shape(model.input_fact(0)), shape(model.input_fact(1)), model.inputs.len())
        else {
            return Err(misfit());
        };
        let state_len = hidden_shape.iter().try_fold(1usize, |len, side| len.checked_mul(*side));
        if model.outputs.len() != names.len() || state_len.is_none_or(|len| !(1..=LARGEST_STATE).contains(&len)) {
            return Err(misfit());
        }
        // Absent is fine for some; present with another shape never is.
        let find = |name: &str, expected: [usize; 3]| match names.iter().position(|n| n == name) {
            Some(at) if shape(model.output_fact(at)) == Some(expected) => Ok(Some(at)),
            Some(_) => Err(misfit()),
            None => Ok(None),
        };
        let (distribution, probability) = ([1, 1, VISEME_COUNT], [1, 1, 1]);
        Ok(Self {
            visemes: find("visemes", distribution)?.ok_or_else(misfit)?,
            voiced: find("voiced", probability)?.ok_or_else(misfit)?,
            visemes_now: find("visemes_now", distribution)?,
            voiced_now: find("voiced_now", probability)?,
            laughter: find("laughter", probability)?,
            hidden: find("h1", hidden_shape)?.ok_or_else(misfit)?,
            hidden_shape,
        })
    }

    /// The state before the first sound.
    fn cleared(&self) -> TValue {
        Tensor::zero::<f32>(&self.hidden_shape).unwrap_or_default().into()
    }
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
