"""Scores a network over folders of labelled recordings: python evaluate.py MODEL.onnx FOLDER... [--json OUT]

A folder holds pairs NAME.wav (16 kHz mono) and NAME.tsv (start_s end_s phone viseme15). Recordings are never trained on.

six-class: A I U E O or closed (silence, p, b, m), over vowels, silences and closures; vowel: the vowels alone.
Glides, h and reduced vowels have no agreed shape and are left out of both.
"""

import argparse
import json
import pathlib

import numpy as np
import onnxruntime
import soundfile

import phones
from features import SAMPLE_RATE, frame_centres, log_mel
from network import HIDDEN, LABEL_DELAY

CLOSED = 5
SIX = {"aa": 0, "ih": 1, "ou": 2, "E": 3, "oh": 4, "sil": CLOSED, "PP": CLOSED}
# Reduced vowels of every alphabet used in label files, and sounds whose viseme is borrowed from a neighbour.
NOT_A_VOWEL = {"w", "y", "hh", "h", "hy", "j", "ax", "q", "cl", "@", "a#"}


def six_of(viseme, phone):
    if phone in NOT_A_VOWEL or phone.lower().rstrip("012") in NOT_A_VOWEL or phone.upper() == "AH0":
        return -1
    return SIX.get(viseme, -1)


def stream(session, samples):
    """Probabilities aligned with the sound: [frames - LABEL_DELAY, 15], [..] speech."""
    names = {i.name for i in session.get_outputs()}
    visemes, voiced = [], []
    state = np.zeros((1, 1, HIDDEN), np.float32)
    for frame in log_mel(samples):
        out = dict(zip((o.name for o in session.get_outputs()), session.run(None, {"logmel": frame[None, None], "h0": state})))
        state = out["h1"]
        visemes.append(out["visemes"][0, 0])
        voiced.append(out["voiced"][0, 0, 0] if "voiced" in names else 1 - out["visemes"][0, 0, 0])
    return np.array(visemes)[LABEL_DELAY:], np.array(voiced)[LABEL_DELAY:]


def truth(rows, count):
    centres = frame_centres(count)
    viseme, six = np.full(count, -1), np.full(count, -1)
    for start, end, phone, name in rows:
        inside = (centres >= start) & (centres < end)
        viseme[inside] = phones.INDEX.get(name, -1)
        six[inside] = six_of(name, phone)
    return viseme, six


def scores(viseme, six, probabilities, voiced):
    pooled = np.zeros((len(probabilities), 6))
    for name, i in SIX.items():
        pooled[:, i] += probabilities[:, phones.INDEX[name]]
    predicted, predicted_six = probabilities.argmax(1), pooled.argmax(1)

    def share(right, among):
        return round(float(right[among].mean()), 4) if among.any() else None

    known, speech = viseme >= 0, viseme > 0
    silent = known & ~speech
    heard = voiced > 0.5
    hits = (heard & speech).sum()
    return {
        "frames": int(known.sum()),
        "six_class": share(predicted_six == six, six >= 0),
        "vowel": share(predicted_six == six, (six >= 0) & (six < CLOSED)),
        "viseme15": share(predicted == viseme, known),
        "viseme15_speech": share(predicted == viseme, speech),
        "pp_recall": share(predicted == 1, viseme == 1),
        "silence_recall": share(predicted == 0, silent),
        "voiced_f1": round(float(2 * hits / max(1, (heard & known).sum() + speech.sum())), 4),
        "switches_per_s": round(float((np.diff(predicted) != 0).mean() * 100), 1) if len(predicted) > 1 else 0.0,
    }


def evaluate(session, folder, snr_db=None):
    parts = []
    rng = np.random.default_rng(1)
    for wav in sorted(pathlib.Path(folder).glob("*.wav")):
        tsv = wav.with_suffix(".tsv")
        if not tsv.exists():
            continue
        samples, rate = soundfile.read(wav, dtype="float32")
        assert rate == SAMPLE_RATE and samples.ndim == 1, wav
        if snr_db is not None:
            spectrum = np.fft.rfft(rng.standard_normal(len(samples)))
            pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))), len(samples))
            samples = samples + pink / pink.std() * samples.std() * 10 ** (-snr_db / 20)
        probabilities, voiced = stream(session, samples)
        viseme, six = truth(phones.read_tsv(tsv), len(probabilities))
        parts.append((viseme, six, probabilities, voiced))
    return scores(*(np.concatenate(column) for column in zip(*parts))) if parts else None


def open_model(path):
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--noise", action="store_true", help="also with pink noise at 10 dB")
    arguments = parser.parse_args()
    session = open_model(arguments.model)
    report = {}
    for folder in arguments.folders:
        for condition, snr_db in [("clean", None), ("pink 10 dB", 10)][: 2 if arguments.noise else 1]:
            result = evaluate(session, folder, snr_db)
            if result is not None:
                report[f"{folder.name}, {condition}"] = result
                print(f"{folder.name}, {condition}:", " ".join(f"{k}={v}" for k, v in result.items()), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
