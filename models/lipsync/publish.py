"""Puts a trained network into models/: python publish.py NET.onnx [--heldout SPEECH] [--standins FOLDER] [--recordings FOLDER...]

SPEECH is a second run of synth.py with another seed, FOLDER of stand-ins what standins.py made; recordings, where one has
labelled ones, are scored as well. None is ever trained on. Writes ../visemes.onnx, ../visemes.metrics.json (by row of the
table of what the network must reach, with gate and goal) and ../visemes.toml, and mends ../SHA256SUMS.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import tempfile

import evaluate
from augment import COPIES, USUAL_COPIES
from augment import SEED as AUGMENT_SEED
from features import BANDS, HIGH_HZ, HIGH_PASS_HZ, HOP, LOW_HZ, POWER_FLOOR, SAMPLE_RATE, WINDOW
from network import LABEL_DELAY, OPSET, STATE
from phones import VISEMES
from synth import ENGINES, MINUTES
from synth import SEED as SYNTH_SEED
from train import SEED as TRAIN_SEED
from train import STAGES

MODELS = pathlib.Path(__file__).resolve().parents[1]

# row: (what decides, gate, goal, [(folder of recordings or stand-ins, noise)])
ROWS = {
    "English, connected, several speakers": (("six_class", "vowel"), (0.72, 0.62), (0.75, 0.66), [
        ("grid", None), ("praatio", None), ("librivox_ps", None), ("ljspeech", None), ("arctic_slt", None)]),
    "Japanese sung vowels, male": (("six_class", "vowel"), (0.78, 0.80), (0.84, 0.86), [
        ("dorodoro", None), ("sung_male_130", None)]),
    "Japanese sung vowels, female, 247 Hz": (("six_class", "vowel"), (0.66, 0.64), (0.80, 0.84), [("sung_female_247", None)]),
    "sung at 220 Hz": (("six_class", "vowel"), (0.67, 0.68), (0.72, 0.74), [("sung_220", None)]),
    "sung at 523 Hz": (("six_class", "vowel"), (0.52, 0.53), (0.62, 0.64), [("sung_523", None)]),
    "whisper": (("six_class", "vowel"), (0.68, 0.68), (0.76, 0.76), [("whisper", None)]),
    "child-like voices": (("six_class", "vowel"), (0.62, 0.58), (0.66, 0.62), [("child", None), ("child_raised", None)]),
    "Korean, Chinese": (("six_class", "vowel"), (0.53, 0.48), (0.58, 0.52), [("asian", None)]),
    "German, Spanish, French, Italian, Portuguese": (("six_class", "vowel"), (0.56, 0.50), (0.60, 0.54), [
        ("italian", None), ("european", None)]),
    "telephone band": (("six_class", "vowel"), (0.56, 0.72), (0.62, 0.75), [("telephone", None)]),
    "pink noise 10 dB": (("six_class",), (0.75,), (0.77,), [
        ("pink_10db", None), ("grid", 10), ("praatio", 10), ("librivox_ps", 10), ("ljspeech", 10)]),
    "babble 10 dB": (("six_class",), (0.47,), (0.55,), [("babble_10db", None)]),
    "p, b, m: lips meet; frame recall": (("pp_met", "pp_recall"), (0.90, 0.50), (0.95, 0.65), [
        ("grid", None), ("praatio", None), ("librivox_ps", None), ("ljspeech", None), ("italian", None), ("european", None)]),
    "silence: recall; precision": (("silence_recall", "silence_precision"), (0.92, 0.92), (0.92, 0.92), [
        ("grid", None), ("praatio", None), ("librivox_ps", None), ("italian", None), ("european", None)]),
    "opened falsely: cafe": (("open",), (0.05,), (0.03,), [("noise_cafe", None)]),
    "opened falsely: traffic": (("open",), (0.15,), (0.10,), [("noise_traffic", None)]),
    "opened falsely: fridge": (("open",), (0.02,), (0.01,), [("noise_fridge", None)]),
    "opened falsely: breath": (("open",), (0.05,), (0.03,), [("noise_breath", None)]),
    "opened falsely: hum": (("open",), (0.02,), (0.01,), [("noise_hum", None)]),
    "opened falsely: clicks": (("open",), (0.05,), (0.03,), [("noise_clicks", None)]),
    "opened falsely: music": (("open",), (0.50,), (0.30,), [("noise_music", None)]),
    "onset, offset in ms before smoothing, look-ahead not counted": (("onset_ms", "offset_ms", "missed"), (40, 70, 0), (40, 70, 0), [
        ("grid", None), ("italian", None), ("european", None)]),
}

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
h0 = [1, 1, {state}]

[features]
high_pass = "Butterworth, 4th order, {high_pass} Hz"
window_samples = {window}
window_shape = "periodic Hann"
hop_samples = {hop}
fft = 512
bands = {bands}
mel = "2595 log10(1 + f/700), triangles of height 1 from {low} to {high} Hz, of the power spectrum"
value = "natural logarithm of (band power + {floor})"
normalisation = "none outside: mean and deviation of the training set are the graph's first nodes"

[output]
# Of the sound label_delay_hops before the newest frame.
visemes = [1, 1, {visemes}]
viseme_names = {names}
# Probability that the user speaks. Closures and gaps under 80 ms inside speech count as speech.
voiced = [1, 1, 1]
laughter = [1, 1, 1]
# Of the newest frame itself: sooner, less sure.
visemes_now = [1, 1, {visemes}]
voiced_now = [1, 1, 1]
h1 = [1, 1, {state}]
label_delay_hops = {delay}

[training]
seeds = {{ synth = {synth}, augment = {augment}, train = {train} }}
minutes = {minutes}
copies = {copies}
steps = {steps}
"""


def table(values):
    return "{ " + ", ".join(f"{name} = {value}" for name, value in values.items()) + " }"


def publish(network):
    shutil.copy(network, MODELS / "visemes.onnx")
    data = (MODELS / "visemes.onnx").read_bytes()
    digest = hashlib.sha256(data).hexdigest()
    (MODELS / "visemes.toml").write_text(
        TOML.format(
            bytes=len(data), sha256=digest, opset=OPSET, rate=SAMPLE_RATE, bands=BANDS, state=STATE,
            high_pass=f"{HIGH_PASS_HZ:g}", window=WINDOW, hop=HOP, low=f"{LOW_HZ:g}", high=f"{HIGH_HZ:g}", floor=POWER_FLOOR,
            visemes=len(VISEMES), names=json.dumps(VISEMES), delay=LABEL_DELAY, synth=SYNTH_SEED, augment=AUGMENT_SEED,
            train=TRAIN_SEED, minutes=table(MINUTES), copies=table({"usual": USUAL_COPIES, **COPIES}),
            steps=[stage.steps for stage in STAGES],
        )
    )
    sums = MODELS / "SHA256SUMS"
    lines = [line for line in sums.read_text().splitlines() if not line.endswith("./visemes.onnx")]
    sums.write_text("\n".join(sorted([*lines, f"{digest}  ./visemes.onnx"], key=lambda line: line.split()[1])) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("network", type=pathlib.Path)
    parser.add_argument("--heldout", type=pathlib.Path)
    parser.add_argument("--standins", type=pathlib.Path)
    parser.add_argument("--recordings", type=pathlib.Path, nargs="*", default=[])
    arguments = parser.parse_args()
    model = evaluate.Model(arguments.network)
    folders = {path.name: ("recorded", path) for path in arguments.recordings}
    if arguments.standins:
        folders |= {path.name: ("stand-in", path) for path in sorted(arguments.standins.iterdir()) if path.is_dir()}

    known = {}

    def score(name, noise):
        if (name, noise) not in known:
            known[name, noise] = evaluate.evaluate(model, folders[name][1], noise)
        return known[name, noise]

    report = {"rows": {}, "hasty head": {}, "synthesised": {}, "unlabelled": {}}
    for row, (columns, gate, goal, sources) in ROWS.items():
        measured = {}
        for name, noise in sources:
            if name in folders and (result := score(name, noise)) is not None:
                label = f"{folders[name][0]}: {name}" + (f", pink noise {noise} dB" if noise else "")
                measured[label] = [result[column] for column in columns]
        report["rows"][row] = {"measures": columns, "gate": gate, "goal": goal, "measured": measured}
        print(row, measured, flush=True)
    for name, (kind, path) in folders.items():
        has_labels = any(path.glob("*.tsv"))
        if kind == "recorded" and has_labels and (result := evaluate.evaluate(model, path, None, "visemes_now", 0)):
            kept = ("six_class", "vowel", "viseme15", "onset_ms", "offset_ms", "missed")
            report["hasty head"][name] = {column: result[column] for column in kept}
        for wav in sorted(path.glob("*.wav")) if kind == "recorded" else []:
            if not wav.with_suffix(".tsv").exists():
                answers = model(evaluate.soundfile.read(wav, dtype="float32")[0])
                is_open = answers["visemes"][:, evaluate.CLOSED_INDEX].sum(1) < 0.5
                report["unlabelled"][wav.name] = {
                    "open": round(float(is_open.mean()), 3), "largest laughter": round(float(answers["laughter"].max()), 3)
                }
    for engine in ENGINES if arguments.heldout else []:
        with tempfile.TemporaryDirectory() as folder:
            for path in arguments.heldout.glob(f"{engine}_*"):
                (pathlib.Path(folder) / path.name).symlink_to(path.resolve())
            if (result := evaluate.evaluate(model, folder)) is not None:
                report["synthesised"][engine] = result
    report = {name: part for name, part in report.items() if part}
    (MODELS / "visemes.metrics.json").write_text(json.dumps(report, indent=1) + "\n")
    publish(arguments.network)


if __name__ == "__main__":
    main()
