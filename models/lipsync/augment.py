"""Labelled speech -> augmented features: python augment.py SPEECH OUT.npz

Each clip is heard by several microphones, rooms and vocal tracts, and one clip in eight is no voice at all.
Writes X [frames, BANDS] float16, Y viseme class per frame (-1 ignore, 15 soft schwa), V speech 0/1/-1, N frames per clip.
"""

import argparse
import pathlib

import numpy as np
import soundfile
from scipy.signal import butter, fftconvolve, lfilter, resample_poly, sosfilt

import noises
import phones
from features import SAMPLE_RATE, frame_centres, log_mel

SEED = 11
COPIES = 3
SCHWA_CLASS = 15
# Gaps between words that are too short to be a pause do not end speech.
BRIDGED_GAP_FRAMES = 8
NOISE_ONLY_SHARE = 0.14
WHISPER_SHARE = 0.05


def decibels(db):
    return 10 ** (db / 20)


def whispered(rng, samples):
    """Keeps the spectral envelope and replaces the excitation with noise."""
    size, hop, lifter = 512, 128, 34
    padded = np.pad(samples, size)
    count = (len(padded) - size) // hop
    index = np.arange(size)[None] + hop * np.arange(count)[:, None]
    window = np.hanning(size)
    magnitude = np.abs(np.fft.rfft(padded[index] * window)) + 1e-6
    cepstrum = np.fft.irfft(np.log(magnitude))
    cepstrum[:, lifter:-lifter] = 0
    envelope = np.exp(np.fft.rfft(cepstrum).real)
    # A whisper has less low end than a voice.
    envelope *= np.minimum(1, np.arange(size // 2 + 1) / 20.0)
    blocks = np.fft.irfft(np.fft.rfft(rng.standard_normal((count, size)) * window) * envelope) * window
    out = np.zeros(len(padded))
    for i in range(count):
        out[i * hop : i * hop + size] += blocks[i]
    out = out[size : size + len(samples)]
    return out * np.sqrt(np.mean(samples**2) / (np.mean(out**2) + 1e-12))


def degraded(rng, samples):
    """One microphone and one room."""
    if rng.random() < 0.6:
        samples = lfilter([1, rng.uniform(-0.7, 0.5)], [1], samples)
    if rng.random() < 0.25:
        centre = rng.uniform(200, 3500)
        band = butter(1, [centre * 0.7, min(7900, centre * 1.4)], "band", fs=SAMPLE_RATE, output="sos")
        samples = samples + rng.uniform(0.3, 1.5) * sosfilt(band, samples)
    if rng.random() < 0.3:
        length = int(SAMPLE_RATE * rng.uniform(0.05, 0.3))
        room = rng.standard_normal(length) * np.exp(-np.arange(length) / (length / 4))
        room[0] = 0
        samples = samples + fftconvolve(samples, room)[: len(samples)] * rng.uniform(0.02, 0.15)
    if rng.random() < 0.15:
        samples = sosfilt(butter(6, 3400, fs=SAMPLE_RATE, output="sos"), samples)
        if rng.random() < 0.5:
            samples = sosfilt(butter(2, 200, "high", fs=SAMPLE_RATE, output="sos"), samples)
    return samples


def levelled(rng, samples):
    if rng.random() < 0.1:
        limit = np.abs(samples).max() * 0.3
        samples = np.clip(samples, -limit, limit)
    quiet_db = rng.uniform(1, 30) if rng.random() < 0.85 else rng.uniform(30, 50)
    samples = samples / (np.abs(samples).max() + 1e-9) * decibels(-quiet_db)
    if rng.random() < 0.9:
        samples = samples + rng.standard_normal(len(samples)) * decibels(-rng.uniform(65, 100))
    return samples


def speech_clip(rng, samples, rows, pool):
    if rng.random() < WHISPER_SHARE:
        samples = whispered(rng, samples)
    if rng.random() < 0.7:
        # Played faster, a voice gets a shorter vocal tract and a higher pitch: men become women and children.
        ratio = rng.uniform(0.85, 1.4) if rng.random() < 0.8 else rng.uniform(1.2, 1.5)
        down = round(40 * ratio)
        samples = resample_poly(samples, 40, down)
        rows = [(a * 40 / down, b * 40 / down, p, v) for a, b, p, v in rows]
    before, after = rng.uniform(0.1, 0.8), rng.uniform(0.1, 0.7)
    length_s = len(samples) / SAMPLE_RATE
    samples = np.concatenate([np.zeros(int(before * SAMPLE_RATE)), samples, np.zeros(int(after * SAMPLE_RATE))])
    rows = (
        [(0.0, before, "sil", "sil")]
        + [(a + before, b + before, p, v) for a, b, p, v in rows]
        + [(before + length_s, before + length_s + after + 1, "sil", "sil")]
    )
    samples = degraded(rng, samples)
    power = np.sqrt(np.mean(samples**2) + 1e-9)
    snr_db = rng.uniform(3, 20) if rng.random() < 0.5 else rng.uniform(20, 50)
    samples = samples + noises.any_kind(rng, len(samples), pool) * power * decibels(-snr_db)
    if rng.random() < 0.12:
        samples = samples + noises.hum(rng, len(samples), pool) * power * decibels(-rng.uniform(0, 15))
    if rng.random() < 0.1 and before > 0.3:
        inhale = noises.breaths(rng, int(before * SAMPLE_RATE), pool)
        samples[: len(inhale)] += inhale * power * decibels(-rng.uniform(5, 25))
    return levelled(rng, samples), rows


def noise_clip(rng, pool):
    count = int(rng.uniform(3, 6) * SAMPLE_RATE)
    samples = noises.any_kind(rng, count, pool)
    if rng.random() < 0.4:
        samples = samples + noises.any_kind(rng, count, pool) * decibels(-rng.uniform(0, 20))
    samples = levelled(rng, degraded(rng, samples)) * decibels(-rng.uniform(0, 15))
    if rng.random() < 0.15:
        samples[: rng.integers(count)] = 0.0
    return samples, [(0.0, 100.0, "sil", "sil")]


def labels_of(rows, count):
    centres = frame_centres(count)
    classes = np.full(count, -1, np.int8)
    speech = np.full(count, -1, np.int8)
    for start, end, _, viseme in rows:
        inside = (centres >= start) & (centres < end)
        classes[inside] = SCHWA_CLASS if viseme == phones.SCHWA else phones.INDEX.get(viseme, -1)
        speech[inside] = viseme != "sil"
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (speech == 0).astype(int), [0]])))
    for begin, end in zip(edges[::2], edges[1::2]):
        if begin > 0 and end < count and end - begin <= BRIDGED_GAP_FRAMES:
            speech[begin:end] = 1
    return classes, speech


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("speech", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--copies", type=int, default=COPIES)
    arguments = parser.parse_args()
    rng = np.random.default_rng(SEED)
    files = sorted(arguments.speech.glob("*.wav"))
    clips = [(soundfile.read(f, dtype="float32")[0], phones.read_tsv(f.with_suffix(".tsv"))) for f in files]
    clips = [(samples, rows) for samples, rows in clips if len(samples) > SAMPLE_RATE // 4]
    pool = [clips[i][0] for i in rng.integers(0, len(clips), 120) if len(clips[i][0]) > SAMPLE_RATE]
    features, classes, speech, counts = [], [], [], []
    for samples, rows in clips:
        for _ in range(arguments.copies):
            made = [speech_clip(rng, samples, rows, pool)]
            if rng.random() < NOISE_ONLY_SHARE:
                made.append(noise_clip(rng, pool))
            for augmented, its_rows in made:
                frames = log_mel(augmented)
                labels, spoken = labels_of(its_rows, len(frames))
                features.append(frames.astype(np.float16))
                classes.append(labels)
                speech.append(spoken)
                counts.append(len(frames))
    np.savez(
        arguments.out, X=np.concatenate(features), Y=np.concatenate(classes), V=np.concatenate(speech), N=np.array(counts)
    )
    print(f"{len(counts)} clips, {sum(counts)} frames")


if __name__ == "__main__":
    main()
