"""Scores a network over folders of labelled sound: python evaluate.py MODEL.onnx FOLDER... [--json OUT] [--noise]

A folder holds pairs NAME.wav (16 kHz mono) and NAME.tsv (start_s end_s phone viseme15). They are never trained on.

six-class: A I U E O or closed (silence, p, b, m), over vowels, silences and closures; a consonant as the answer is wrong.
vowel: which of the five vowels weighs most, over vowels alone. Glides, h and reduced vowels have no agreed shape and are
left out of both; an AH without a stress mark may be a reduced one and is left out as well.
open: share of frames where sil and PP weigh less than a half (for sounds that are no voice: the mouth opens falsely).
"""

import argparse
import json
import pathlib

import numpy as np
import onnxruntime
import soundfile

import phones
from features import SAMPLE_RATE, frame_centres, log_mel
from network import LABEL_DELAY

CLOSED = 5
SIX = {"aa": 0, "ih": 1, "ou": 2, "E": 3, "oh": 4, "sil": CLOSED, "PP": CLOSED}
SIX_OF = np.array([SIX.get(name, -1) for name in phones.VISEMES])
VOWEL_INDEX = np.array([phones.INDEX[name] for name in ("aa", "ih", "ou", "E", "oh")])
CLOSED_INDEX = [phones.INDEX["sil"], phones.INDEX["PP"]]
# Reduced vowels of every alphabet used in label files, and sounds whose viseme is borrowed from a neighbour.
NOT_A_VOWEL = {"w", "y", "hh", "h", "hy", "j", "ax", "q", "cl", "@", "a#"}
# A p, b or m counts as met if the lips meet at least once while it lasts, or within 20 ms of it.
MEETING_MARGIN = 2
# A pause ends when speech begins: how long until the mouth opens, and after speech until it closes.
LONGEST_DELAY = 60
SHORTEST_RUN = 15


def six_of(viseme, phone):
    if phone in NOT_A_VOWEL or phone.lower().rstrip("012") in NOT_A_VOWEL or phone.upper() in ("AH0", "AH"):
        return -1
    return SIX.get(viseme, -1)


class Model:
    """An exported network."""

    def __init__(self, path):
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        self.session = onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])
        self.names = [output.name for output in self.session.get_outputs()]
        self.state_shape = self.session.get_inputs()[1].shape

    def __call__(self, samples):
        """{head: [frames, width]}, as they come."""
        state, steps = np.zeros(self.state_shape, np.float32), []
        for frame in log_mel(samples):
            step = dict(zip(self.names, self.session.run(None, {"logmel": frame[None, None], "h0": state})))
            state = step.pop("h1")
            steps.append({name: value[0, 0] for name, value in step.items()})
        return {name: np.array([step[name] for step in steps]) for name in steps[0]}


def stream(model, samples):
    """Probabilities aligned with the sound: [frames - LABEL_DELAY, 15], [..] speech."""
    answers = model(samples)
    return answers["visemes"][LABEL_DELAY:], answers["voiced"][LABEL_DELAY:, 0]


def truth(rows, count):
    centres = frame_centres(count)
    viseme, six = np.full(count, -1), np.full(count, -1)
    for start, end, phone, name in rows:
        inside = (centres >= start) & (centres < end)
        viseme[inside] = phones.INDEX.get(name, -1)
        six[inside] = six_of(name, phone)
    return viseme, six


def runs(mask):
    """[(first, beyond last)] of the stretches where mask holds."""
    edges = np.flatnonzero(np.diff(np.concatenate([[0], mask.astype(int), [0]])))
    return list(zip(edges[::2], edges[1::2]))


def delays(viseme, is_open):
    """Frames from the labelled beginning (end) of speech to the answer; None where it never came."""
    onsets, offsets = [], []
    for begin, end in runs(viseme == 0):
        if end - begin < SHORTEST_RUN:
            continue
        # Speech that begins with closed lips opens the mouth later.
        if end + SHORTEST_RUN < len(viseme) and (viseme[end : end + SHORTEST_RUN] > 1).all():
            opened = np.flatnonzero(is_open[end - 3 : end + LONGEST_DELAY])
            onsets.append(max(0, int(opened[0]) - 3) if len(opened) else None)
        if begin >= SHORTEST_RUN and (viseme[begin - SHORTEST_RUN : begin] > 0).all():
            closed = np.flatnonzero(~is_open[begin : min(end, begin + LONGEST_DELAY)])
            offsets.append(int(closed[0]) if len(closed) else None)
    return onsets, offsets


def scores(parts):
    """parts: [(viseme, six, probabilities, voiced)] of the files."""
    onsets, offsets, met = [], [], []
    for viseme, _, probabilities, voiced in parts:
        best = probabilities.argmax(1)
        got = delays(viseme, voiced > 0.5)
        onsets += got[0]
        offsets += got[1]
        for begin, end in runs(viseme == phones.INDEX["PP"]):
            met.append(np.isin(best[max(0, begin - MEETING_MARGIN) : end + MEETING_MARGIN], CLOSED_INDEX).any())
    viseme, six, probabilities, voiced = (np.concatenate(column) for column in zip(*parts))
    best = probabilities.argmax(1)
    among_vowels = probabilities[:, VOWEL_INDEX].argmax(1)

    def share(right, among):
        return round(float(right[among].mean()), 3) if among.any() else None

    def middle(values):
        known = [value for value in values if value is not None]
        return round(10.0 * float(np.median(known))) if known else None

    known, speech = viseme >= 0, viseme > 0
    silent = known & ~speech
    is_vowel = (six >= 0) & (six < CLOSED)
    return {
        "frames": int(known.sum()),
        "six_class": share(SIX_OF[best] == six, six >= 0),
        "vowel": share(among_vowels == six, is_vowel),
        "viseme15": share(best == viseme, known),
        "viseme15_speech": share(best == viseme, speech),
        "pp_met": round(float(np.mean(met)), 3) if met else None,
        "pp_recall": share(best == phones.INDEX["PP"], viseme == phones.INDEX["PP"]),
        "silence_recall": share(best == 0, silent),
        "silence_precision": share(viseme == 0, known & (best == 0)),
        "open": share(probabilities[:, CLOSED_INDEX].sum(1) < 0.5, np.ones(len(best), bool)),
        "onset_ms": middle(onsets),
        "offset_ms": middle(offsets),
        "missed": [sum(v is None for v in onsets), sum(v is None for v in offsets)],
        "switches_per_s": round(float((np.diff(best) != 0).mean() * 100), 1) if len(best) > 1 else 0.0,
    }


def pink(rng, count):
    spectrum = np.fft.rfft(rng.standard_normal(count))
    noise = np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))), count)
    return noise / noise.std()


def evaluate(model, folder, snr_db=None, head="visemes", delay=LABEL_DELAY):
    """Scores over a folder; a file without labels counts as silence for `open` alone."""
    parts = []
    rng = np.random.default_rng(1)
    for wav in sorted(pathlib.Path(folder).glob("*.wav")):
        tsv = wav.with_suffix(".tsv")
        samples, rate = soundfile.read(wav, dtype="float32")
        assert rate == SAMPLE_RATE and samples.ndim == 1, wav
        if snr_db is not None:
            samples = samples + pink(rng, len(samples)) * samples.std() * 10 ** (-snr_db / 20)
        answers = model(samples)
        probabilities = answers[head][delay:]
        voiced = answers[head.replace("visemes", "voiced")][delay:, 0]
        viseme, six = truth(phones.read_tsv(tsv) if tsv.exists() else [], len(probabilities))
        parts.append((viseme, six, probabilities, voiced))
    return scores(parts) if parts else None


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model")
    parser.add_argument("folders", nargs="+", type=pathlib.Path)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--noise", action="store_true", help="also with pink noise at 10 dB")
    parser.add_argument("--now", action="store_true", help="the hasty head")
    arguments = parser.parse_args()
    model = Model(arguments.model)
    head = {"head": "visemes_now", "delay": 0} if arguments.now else {}
    report = {}
    for folder in arguments.folders:
        for condition, snr_db in [("clean", None), ("pink 10 dB", 10)][: 2 if arguments.noise else 1]:
            result = evaluate(model, folder, snr_db, **head)
            if result is not None:
                report[f"{folder.name}, {condition}"] = result
                print(f"{folder.name}, {condition}:", " ".join(f"{k}={v}" for k, v in result.items()), flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
