//! One ONNX network in tract: loaded from the binary, its shapes checked, run on one tensor.
//!
//! tract runs a network layer by layer. For the landmark network, nearly all of a tracked frame's work, that is too
//! slow; `fuse` finds its long middle part and puts one operator in its place, which works row by row (`trunk`) in
//! vector code (`kernels`).
//!
//! The files come with omote, but a build can be wrong: whatever does not fit becomes [`FaceError::Model`].

mod fuse;
mod kernels;
mod trunk;

use tract_onnx::prelude::*;
use tract_onnx::tract_hir::internal::ensure;

use super::FaceError;
use super::prelu;

/// What a model file must be. The `.toml` beside each file says the same; a test compares them.
pub(super) struct ModelSpec {
    /// Its name in messages, and of its files in `models/face`.
    pub name: &'static str,
    /// The ONNX file.
    pub onnx: &'static [u8],
    /// Shape of the one input.
    pub input: &'static [usize],
    /// Names and shapes of the outputs, in order.
    pub outputs: &'static [(&'static str, &'static [usize])],
}

/// A network ready to run. Lives on the thread that runs it.
pub(super) struct Network {
    spec: &'static ModelSpec,
    plan: Arc<TypedRunnableModel>,
}

impl Network {
    /// Reads and optimises the model: 0.1–0.4 s each.
    pub fn load(spec: &'static ModelSpec) -> Result<Self, FaceError> {
        Self::try_load(spec).map_err(|why| spec.error(&why))
    }

    fn try_load(spec: &'static ModelSpec) -> TractResult<Self> {
        let mut model = Self::read(spec)?;
        // Unoptimised, the rows are slower than tract's layers. Both give the same, as a test shows.
        if !cfg!(debug_assertions) {
            fuse::fuse_trunk(&mut model)?;
        }
        Self::prepare(spec, model)
    }

    fn read(spec: &'static ModelSpec) -> TractResult<TypedModel> {
        let mut onnx = tract_onnx::onnx();
        prelu::register(&mut onnx);
        let model = onnx.model_for_read(&mut &*spec.onnx)?;
        let names: Vec<_> = model.output_outlets()?.iter().map(|outlet| model.node(outlet.node).name.clone()).collect();
        ensure!(names.iter().eq(spec.outputs.iter().map(|(name, _)| name)), "its outputs are {names:?}");
        model.into_typed()
    }

    fn prepare(spec: &'static ModelSpec, model: TypedModel) -> TractResult<Self> {
        let model = model.into_optimized()?;
        ensure!(model.input_outlets()?.len() == 1, "it wants {} inputs", model.input_outlets()?.len());
        check_fact("input", model.input_fact(0)?, spec.input)?;
        for (i, (name, shape)) in spec.outputs.iter().enumerate() {
            check_fact(name, model.output_fact(i)?, shape)?;
        }
        Ok(Self { spec, plan: model.into_runnable()? })
    }

    /// A zeroed tensor of the input's shape, filled by `fill`, sent through the network. The outputs' values, flat,
    /// in the order of the spec.
    pub fn run<const N: usize>(&self, fill: impl FnOnce(&mut [f32])) -> Result<[Vec<f32>; N], FaceError> {
        self.try_run(fill).map_err(|why| self.spec.error(&why))
    }

    fn try_run<const N: usize>(&self, fill: impl FnOnce(&mut [f32])) -> TractResult<[Vec<f32>; N]> {
        let mut input = Tensor::zero::<f32>(self.spec.input)?;
        fill(input.try_as_plain_ram_mut()?.as_slice_mut::<f32>()?);
        let outputs = self.plan.run(tvec!(input.into_tvalue()))?;
        let mut values = [const { Vec::new() }; N];
        ensure!(outputs.len() == N, "{} outputs instead of {N}", outputs.len());
        for ((values, output), (name, shape)) in values.iter_mut().zip(&outputs).zip(self.spec.outputs) {
            ensure!(output.shape() == *shape, "{name} has the shape {:?}", output.shape());
            *values = output.to_plain_array_view::<f32>()?.iter().copied().collect();
        }
        Ok(values)
    }
}

impl ModelSpec {
    fn error(&self, why: &TractError) -> FaceError {
        FaceError::Model { name: self.name.to_owned(), why: format!("{why:#}") }
    }
}

fn check_fact(name: &str, fact: &TypedFact, shape: &[usize]) -> TractResult<()> {
    let is_same = fact.datum_type == f32::datum_type() && fact.shape.as_concrete() == Some(shape);
    ensure!(is_same, "{name} is {fact:?} instead of {shape:?} of f32");
    Ok(())
}

#[cfg(test)]
impl Network {
    /// As tract makes it, without our operators: what they are compared with.
    pub fn load_plain(spec: &'static ModelSpec) -> Self {
        Self::prepare(spec, Self::read(spec).unwrap()).unwrap()
    }

    /// Milliseconds of each kind of operator in one run, the dearest first.
    pub fn profile(&self, runs: usize) -> Vec<(String, f64)> {
        let mut spent = std::collections::BTreeMap::<String, f64>::new();
        let mut state = self.plan.spawn().unwrap();
        for _ in 0..runs {
            let input = Tensor::zero::<f32>(self.spec.input).unwrap();
            let outputs = state.run_plan_with_eval(tvec!(input.into_tvalue()), |context, state, node, inputs| {
                let start = super::bench::worked_secs();
                let outputs = tract_onnx::tract_core::plan::eval(context, state, node, inputs);
                *spent.entry(node.op.name().to_string()).or_default() += super::bench::worked_secs() - start;
                outputs
            });
            outputs.unwrap();
        }
        let mut spent: Vec<_> = spent.into_iter().map(|(name, secs)| (name, secs * 1e3 / runs as f64)).collect();
        spent.sort_by(|a, b| b.1.total_cmp(&a.1));
        spent
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::face::{blendshapes, detector, far_detector, mesh};
    use crate::types::ErrorKind;

    #[test]
    fn what_does_not_fit_is_a_model_error() {
        let good = &blendshapes::MODEL;
        static TRUNCATED: ModelSpec =
            ModelSpec { name: "truncated", onnx: &[8, 8, 18, 4], input: &[1], outputs: &[("x", &[1])] };
        static WRONG_INPUT: ModelSpec = ModelSpec { input: &[1, 145, 2], ..spec_of(&blendshapes::MODEL) };
        static WRONG_OUTPUT: ModelSpec =
            ModelSpec { outputs: &[("StatefulPartitionedCall_0", &[51])], ..spec_of(&blendshapes::MODEL) };
        static WRONG_NAME: ModelSpec = ModelSpec { outputs: &[("other", &[52])], ..spec_of(&blendshapes::MODEL) };
        assert!(Network::load(good).is_ok());
        for spec in [&TRUNCATED, &WRONG_INPUT, &WRONG_OUTPUT, &WRONG_NAME] {
            let Err(error) = Network::load(spec) else { panic!("a wrong model was taken") };
            assert_eq!(error.kind(), ErrorKind::Setup);
        }
    }

    #[test]
    fn the_trunk_run_by_rows_gives_what_the_layers_give() {
        let mut model = Network::read(&mesh::MODEL).unwrap();
        assert!(fuse::fuse_trunk(&mut model).unwrap(), "the trunk was not found");
        let by_rows = Network::prepare(&mesh::MODEL, model).unwrap();
        let by_layers = Network::load_plain(&mesh::MODEL);
        for seed in 0..3 {
            let mut rng = crate::signal::Rng::new(seed);
            let picture: Vec<f32> =
                (0..3 * 256 * 256).map(|i| rng.range(0.0, 1.0) * ((i % 256) as f32 / 255.0)).collect();
            let [points, presence, third] = by_rows.run(|input| input.copy_from_slice(&picture)).unwrap();
            let expected: [Vec<f32>; 3] = by_layers.run(|input| input.copy_from_slice(&picture)).unwrap();
            let worst = |a: &[f32], b: &[f32]| a.iter().zip(b).map(|(a, b)| (a - b).abs()).fold(0.0, f32::max);
            let errors = [(&points, 0), (&presence, 1), (&third, 2)].map(|(got, i)| worst(got, &expected[i]));
            assert!(errors[0] < 2e-3 && errors[1] < 1e-4 && errors[2] < 1e-4, "off by {errors:?}");
        }
    }

    #[test]
    fn networks_without_a_trunk_stay_as_they_are() {
        for spec in [&blendshapes::MODEL, &detector::MODEL] {
            assert!(!fuse::fuse_trunk(&mut Network::read(spec).unwrap()).unwrap(), "{}", spec.name);
        }
    }

    const fn spec_of(spec: &ModelSpec) -> ModelSpec {
        ModelSpec { name: spec.name, onnx: spec.onnx, input: spec.input, outputs: spec.outputs }
    }

    #[test]
    fn the_descriptions_beside_the_models_are_true() {
        let specs = [
            (&detector::MODEL, include_str!("../../models/face/face_detector.toml")),
            (&far_detector::MODEL, include_str!("../../models/face/face_detector_far.toml")),
            (&mesh::MODEL, include_str!("../../models/face/face_landmarks_detector.toml")),
            (&blendshapes::MODEL, include_str!("../../models/face/face_blendshapes.toml")),
        ];
        for (spec, description) in specs {
            let description: toml::Table = description.parse().unwrap();
            let model = description["model"].as_table().unwrap();
            assert_eq!(model["file"].as_str().unwrap(), format!("{}.onnx", spec.name));
            assert_eq!(model["sha256"].as_str().unwrap(), sha256_hex(spec.onnx), "{}", spec.name);
            let shape = |value: &toml::Value| -> Vec<usize> {
                value.as_array().unwrap().iter().map(|v| v.as_integer().unwrap() as usize).collect()
            };
            assert_eq!(shape(&description["input"]["shape"]), spec.input);
            let outputs = description["outputs"].as_array().unwrap();
            assert_eq!(outputs.len(), spec.outputs.len());
            for (output, (name, expected)) in outputs.iter().zip(spec.outputs) {
                assert_eq!(output["name"].as_str().unwrap(), *name);
                assert_eq!(shape(&output["shape"]), *expected);
            }
        }
        let canonical: toml::Table = include_str!("../../models/face/canonical_face.toml").parse().unwrap();
        let json = include_bytes!("../../models/face/canonical_face.json");
        assert_eq!(canonical["model"]["sha256"].as_str().unwrap(), sha256_hex(json));
    }

    /// SHA-256 (FIPS 180-4), here so that no dependency is needed for one test.
    fn sha256_hex(bytes: &[u8]) -> String {
        let primes: Vec<u32> =
            (2u32..).filter(|&n| (2..n).take_while(|d| d * d <= n).all(|d| n % d != 0)).take(64).collect();
        let fraction = |root: f64| ((root - root.floor()) * 4_294_967_296.0) as u32;
        let k: Vec<u32> = primes.iter().map(|&p| fraction(f64::from(p).cbrt())).collect();
        let mut hash: Vec<u32> = primes[..8].iter().map(|&p| fraction(f64::from(p).sqrt())).collect();
        let mut message = bytes.to_vec();
        message.push(0x80);
        message.resize(message.len().next_multiple_of(64), 0);
        if message.len() - bytes.len() < 9 {
            message.resize(message.len() + 64, 0);
        }
        let end = message.len() - 8;
        message[end..].copy_from_slice(&(bytes.len() as u64 * 8).to_be_bytes());
        for block in message.chunks_exact(64) {
            let mut w: Vec<u32> = block.chunks_exact(4).map(|b| u32::from_be_bytes(b.try_into().unwrap())).collect();
            for i in 16..64 {
                let s0 = w[i - 15].rotate_right(7) ^ w[i - 15].rotate_right(18) ^ (w[i - 15] >> 3);
                let s1 = w[i - 2].rotate_right(17) ^ w[i - 2].rotate_right(19) ^ (w[i - 2] >> 10);
                w.push(w[i - 16].wrapping_add(s0).wrapping_add(w[i - 7]).wrapping_add(s1));
            }
            let mut v = hash.clone();
            for i in 0..64 {
                let s1 = v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25);
                let choice = (v[4] & v[5]) ^ (!v[4] & v[6]);
                let t1 = v[7].wrapping_add(s1).wrapping_add(choice).wrapping_add(k[i]).wrapping_add(w[i]);
                let s0 = v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22);
                let majority = (v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]);
                v.rotate_right(1);
                v[4] = v[4].wrapping_add(t1);
                v[0] = t1.wrapping_add(s0).wrapping_add(majority);
            }
            for (hash, v) in hash.iter_mut().zip(v) {
                *hash = hash.wrapping_add(v);
            }
        }
        hash.iter().map(|word| format!("{word:08x}")).collect()
    }
}
