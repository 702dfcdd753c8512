"""Sounds that are not the user's voice. They lie under speech, and alone they are labelled silence.

Every function returns `count` samples of unit RMS.
"""

import numpy as np
from scipy.signal import butter, sosfilt

from features import SAMPLE_RATE


def _unit(samples):
    return (samples / np.sqrt(np.mean(samples**2) + 1e-12)).astype(np.float32)


def coloured(rng, count, _pool):
    spectrum = np.fft.rfft(rng.standard_normal(count))
    slope = rng.choice([0.0, rng.uniform(0.3, 1.0)])
    return _unit(np.fft.irfft(spectrum / np.maximum(1, np.arange(len(spectrum))) ** slope, count))


def babble(rng, count, pool):
    """Five to nine far voices: a room full of people is not the user."""
    mixed = np.zeros(count)
    for _ in range(rng.integers(5, 10)):
        voice = pool[rng.integers(len(pool))]
        voice = np.tile(voice, count // len(voice) + 2)
        start = rng.integers(len(voice) - count)
        mixed += voice[start : start + count] * rng.uniform(0.3, 1)
    return _unit(sosfilt(butter(1, rng.uniform(1500, 6000), fs=SAMPLE_RATE, output="sos"), mixed))


def hum(rng, count, _pool):
    """Mains hum with harmonics, and some hiss."""
    time = np.arange(count) / SAMPLE_RATE
    base = rng.choice([50.0, 60.0]) * rng.uniform(0.998, 1.002)
    mixed = 0.05 * rng.random() * rng.standard_normal(count)
    for k in range(1, rng.integers(3, 16)):
        mixed += np.sin(2 * np.pi * base * k * time + rng.uniform(0, 6.3)) * rng.random() / k ** rng.uniform(0.3, 1.2)
    return _unit(mixed)


def clicks(rng, count, _pool):
    """Keyboard and mouse."""
    mixed = 0.02 * rng.standard_normal(count)
    for _ in range(max(1, int(count / SAMPLE_RATE * rng.uniform(2, 10)))):
        length = min(rng.integers(100, 900), count)
        at = rng.integers(count - length + 1)
        decay = np.exp(-np.arange(length) / rng.uniform(15, 180))
        mixed[at : at + length] += rng.standard_normal(length) * decay * rng.uniform(0.3, 2)
    return _unit(mixed)


def breaths(rng, count, _pool):
    """Breathing in and out near the microphone, and pops of wind."""
    mixed = np.zeros(count)
    at = int(rng.uniform(0, 0.5) * SAMPLE_RATE)
    while at < count:
        length = min(int(rng.uniform(0.2, 0.9) * SAMPLE_RATE), count - at)
        if length > 64:
            low = rng.uniform(150, 900)
            band = butter(1, [low, min(7500, low * rng.uniform(2, 8))], "band", fs=SAMPLE_RATE, output="sos")
            puff = sosfilt(band, rng.standard_normal(length)) * np.hanning(length) ** rng.uniform(0.5, 2)
            if rng.random() < 0.5:  # through an open mouth: resonances, which stay where they are
                for _ in range(rng.integers(1, 4)):
                    centre = rng.uniform(400, 4000)
                    peak = butter(1, [centre * 0.9, centre * 1.1], "band", fs=SAMPLE_RATE, output="sos")
                    puff += rng.uniform(0.3, 1.5) * sosfilt(peak, puff)
            mixed[at : at + length] += puff * rng.uniform(0.4, 1)
            if rng.random() < 0.2:
                mixed[at : at + length] += np.sin(2 * np.pi * rng.uniform(15, 60) * np.arange(length) / SAMPLE_RATE) * np.hanning(length)
        at += length + int(rng.uniform(0.1, 1.2) * SAMPLE_RATE)
    return _unit(mixed + 0.01 * rng.standard_normal(count))


def music(rng, count, _pool):
    """Chords, a tune, bass and drums out of harmonic tones."""
    beat = 60 / rng.uniform(70, 160)
    time = np.arange(int(2.5 * beat * SAMPLE_RATE) + 1) / SAMPLE_RATE
    mixed = np.zeros(count + len(time))
    key = rng.uniform(110, 220)
    scale = np.array([0, 2, 4, 5, 7, 9, 11]) if rng.random() < 0.6 else np.array([0, 2, 3, 5, 7, 8, 10])
    decay, bright = rng.uniform(0.1, 2.5), rng.uniform(0.6, 2.0)
    attack = np.minimum(1, time / rng.uniform(0.003, 0.15))
    drums, tune, pad = rng.random() < 0.6, rng.random() < 0.7, rng.random() < 0.8

    def tone(hz):
        out = np.zeros(len(time))
        for k in range(1, max(2, min(14, int(7000 / hz)))):
            out += np.sin(2 * np.pi * hz * k * time + rng.uniform(0, 6.3)) * k**-bright
        return out * attack * np.exp(-time / decay) * np.clip((time[-1] - time) / 0.05, 0, 1)

    for step in range(int(count / SAMPLE_RATE / beat) + 1):
        at = int(step * beat * SAMPLE_RATE)
        if pad and step % 2 == 0:
            root = rng.integers(7)
            for third in (0, 2, 4):
                degree = root + third
                mixed[at : at + len(time)] += tone(key * 2 ** ((scale[degree % 7] + 12 * (degree // 7)) / 12)) * 0.5
        if tune:
            mixed[at : at + len(time)] += tone(key * 2 ** (rng.integers(1, 3) + scale[rng.integers(7)] / 12))
        if drums:
            hit = rng.standard_normal(len(time)) * np.exp(-time / 0.04) if step % 2 else np.sin(2 * np.pi * 55 * time) * np.exp(-time / 0.1) * 3
            mixed[at : at + len(time)] += hit * rng.uniform(0.5, 1.5)
    return _unit(mixed[:count] + 1e-4 * rng.standard_normal(count))


KINDS = [coloured, coloured, babble, hum, clicks, breaths, music]


def any_kind(rng, count, pool):
    return KINDS[rng.integers(len(KINDS))](rng, count, pool)
