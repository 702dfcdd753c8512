"""Puts a trained network into models/: python publish.py NET.onnx --heldout SPEECH [--recordings FOLDER...]

SPEECH is a second run of synth.py with another seed; it is never trained on. Recordings, where one has labelled ones,
are scored as well. Writes ../visemes.onnx, ../visemes.metrics.json and ../visemes.toml.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import tempfile

import evaluate
from augment import COPIES
from augment import SEED as AUGMENT_SEED
from features import BANDS, HIGH_HZ, HIGH_PASS_HZ, HOP, LOW_HZ, POWER_FLOOR, SAMPLE_RATE, WINDOW
from network import HIDDEN, LABEL_DELAY, OPSET
from phones import VISEMES
from synth import ENGINES, MINUTES
from synth import SEED as SYNTH_SEED
from train import STAGES
from train import SEED as TRAIN_SEED

MODELS = pathlib.Path(__file__).resolve().parents[1]

TOML = """\
# The viseme network; made by models/lipsync, run by src/voice.
file = "visemes.onnx"
bytes = {bytes}
sha256 = "{sha256}"
licence = "MIT OR Apache-2.0"
origin = "trained by models/lipsync on synthesised speech alone; no recording of a person was used"
opset = {opset}
metrics = "visemes.metrics.json"

[input]
sample_rate_hz = {rate}
channels = 1
# One feature frame a step; the state of the step before is fed back, zeros at the start.
logmel = [1, 1, {bands}]
h0 = [1, 1, {hidden}]

[features]
high_pass = "Butterworth, 4th order, {high_pass} Hz"
window_samples = {window}
window_shape = "periodic Hann"
hop_samples = {hop}
fft = 512
bands = {bands}
mel = "2595 log10(1 + f/700), triangles of height 1 from {low} to {high} Hz, of the power spectrum"
value = "natural logarithm of (band power + {floor})"
normalisation = "none outside: mean and deviation of the training set are folded into the first layer"

[output]
visemes = [1, 1, {visemes}]
viseme_names = {names}
# Probability that the user speaks. Closures and gaps under 80 ms inside speech count as speech.
voiced = [1, 1, 1]
h1 = [1, 1, {hidden}]
# Steps from a sound to its label.
label_delay_hops = {delay}

[training]
seeds = {{ synth = {synth}, augment = {augment}, train = {train} }}
minutes = {minutes}
copies = {copies}
steps = {steps}
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network", type=pathlib.Path)
    parser.add_argument("--heldout", type=pathlib.Path, required=True)
    parser.add_argument("--recordings", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    session = evaluate.open_model(arguments.network)
    report = {}

    def score(name, folder):
        for condition, snr_db in [("clean", None), ("pink noise 10 dB", 10)]:
            result = evaluate.evaluate(session, folder, snr_db)
            if result is not None:
                report.setdefault(name, {})[condition] = result
                print(name, condition, result, flush=True)

    for engine in ENGINES:
        with tempfile.TemporaryDirectory() as folder:
            for path in arguments.heldout.glob(f"{engine}_*"):
                (pathlib.Path(folder) / path.name).symlink_to(path.resolve())
            score(f"synthesised: {engine}", folder)
    for folder in arguments.recordings:
        score(f"recorded: {folder.name}", folder)

    shutil.copy(arguments.network, MODELS / "visemes.onnx")
    data = (MODELS / "visemes.onnx").read_bytes()
    (MODELS / "visemes.metrics.json").write_text(json.dumps(report, indent=1) + "\n")
    minutes = "{ " + ", ".join(f"{name} = {value}" for name, value in MINUTES.items()) + " }"
    (MODELS / "visemes.toml").write_text(
        TOML.format(
            bytes=len(data), sha256=hashlib.sha256(data).hexdigest(), opset=OPSET, rate=SAMPLE_RATE, bands=BANDS,
            hidden=HIDDEN, high_pass=f"{HIGH_PASS_HZ:g}", window=WINDOW, hop=HOP, low=f"{LOW_HZ:g}", high=f"{HIGH_HZ:g}",
            floor=POWER_FLOOR, visemes=len(VISEMES), names=json.dumps(VISEMES), delay=LABEL_DELAY, synth=SYNTH_SEED,
            augment=AUGMENT_SEED, train=TRAIN_SEED, minutes=minutes, copies=COPIES, steps=[stage.steps for stage in STAGES],
        )
    )


if __name__ == "__main__":
    main()
