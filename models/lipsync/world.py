"""Other voices out of one: pitch, vocal tract, breath and tempo of a clip changed apart from one another (WORLD vocoder).

A clip is 16 kHz mono with label rows; what comes back is a clip with rows again. WORLD (pyworld, MIT) takes a voice apart
into pitch, spectral envelope and aperiodicity every 5 ms.
"""

import numpy as np
import pyworld

from features import SAMPLE_RATE

STEP_MS = 5.0
STEP_S = STEP_MS / 1000
NYQUIST = SAMPLE_RATE / 2
VOWELS = {"aa", "E", "ih", "oh", "ou"}


class Voice:
    """A clip taken apart."""

    def __init__(self, samples, rows):
        samples = np.ascontiguousarray(samples, np.float64)
        raw, times = pyworld.dio(samples, SAMPLE_RATE, frame_period=STEP_MS)
        self.pitch = pyworld.stonemask(samples, raw, times, SAMPLE_RATE)
        self.envelope = pyworld.cheaptrick(samples, self.pitch, times, SAMPLE_RATE)
        self.aperiodicity = pyworld.d4c(samples, self.pitch, times, SAMPLE_RATE)
        self.rows = rows

    def take(self, index, rows):
        """A copy with these of its steps in this order: another tempo."""
        other = object.__new__(Voice)
        other.pitch, other.envelope, other.aperiodicity = self.pitch[index], self.envelope[index], self.aperiodicity[index]
        other.rows = rows
        return other

    def stretched(self, factor_of):
        """Each row lasts factor_of(row) times as long."""
        index, rows, at = [], [], 0.0
        for row in self.rows:
            start, end = row[0], row[1]
            count = max(1, round((end - start) * factor_of(row) / STEP_S))
            index.append(np.clip(np.round(np.linspace(start, end, count, endpoint=False) / STEP_S), 0, len(self.pitch) - 1))
            rows.append((at, at + count * STEP_S, row[2], row[3]))
            at += count * STEP_S
        return self.take(np.concatenate(index).astype(int), rows)

    def warped(self, knots_hz, factors):
        """The envelope's frequencies times a factor that runs through (knot, factor): vocal tract and formants."""
        bins = np.linspace(0, NYQUIST, self.envelope.shape[1])
        source = np.maximum.accumulate(bins / np.interp(bins, knots_hz, factors))
        at = np.clip(source / NYQUIST * (len(bins) - 1), 0, len(bins) - 1.001)
        low, share = at.astype(int), at - at.astype(int)
        logs = np.log(self.envelope + 1e-16)
        self.envelope = np.exp(logs[:, low] * (1 - share) + logs[:, low + 1] * share)
        # What lies beyond the recorded band is weak, not a copy of the last bin.
        self.envelope[:, source > NYQUIST] *= 0.05
        return self

    def tilted(self, db_per_octave):
        octaves = np.log2(np.maximum(np.linspace(0, NYQUIST, self.envelope.shape[1]), 100) / 500)
        self.envelope = self.envelope * 10 ** (db_per_octave * octaves / 10)
        return self

    def made(self):
        """-> (samples, rows), as loud as speech is."""
        arrays = (np.ascontiguousarray(a, np.float64) for a in (self.pitch, self.envelope, self.aperiodicity))
        samples = pyworld.synthesize(*arrays, SAMPLE_RATE, STEP_MS)
        return (samples / (np.abs(samples).max() + 1e-9) * 0.7).astype(np.float32), self.rows


def vibrato(rng, count):
    """Factors of the pitch over so many steps."""
    time = np.arange(count) * STEP_S
    depth, rate = rng.uniform(0.0, 0.03), rng.uniform(4.5, 7.0)
    drift = np.interp(time, np.arange(0, time[-1] + 2, 0.5), 1 + 0.012 * rng.standard_normal(len(np.arange(0, time[-1] + 2, 0.5))))
    return drift * (1 + depth * np.sin(2 * np.pi * rate * time + rng.uniform(0, 6.3)))


def spoken(rng, voice):
    """Another speaker: own pitch, tract, single formants, tilt, breathiness."""
    tract = rng.uniform(0.82, 1.35)
    base = np.median(voice.pitch[voice.pitch > 0]) if (voice.pitch > 0).any() else 120.0
    wanted = np.exp(rng.uniform(np.log(80), np.log(420))) * tract ** 0.5
    spread = rng.uniform(0.5, 1.5)
    is_voiced = voice.pitch > 0
    voice.pitch[is_voiced] = np.clip(wanted * (voice.pitch[is_voiced] / base) ** spread, 60, 750)
    voice.warped([0, 500, 1400, 2600, 8000], tract * (1 + rng.normal(0, 0.05, 5))).tilted(rng.normal(0, 1.5))
    voice.aperiodicity = np.clip(voice.aperiodicity ** rng.uniform(0.5, 1.2), 1e-6, 1.0)
    return voice.made()


def sung(rng, voice, base_hz=None):
    """Vowels held on notes of a scale."""
    base_hz = base_hz or np.exp(rng.uniform(np.log(95), np.log(560)))
    tract = np.clip(rng.uniform(0.85, 1.3), 0.8, 1.4)
    hold_s, shortest = rng.uniform(0.15, 0.9), rng.uniform(0.7, 1.2)
    notes = [hold_s * rng.uniform(0.5, 1.5) for _ in voice.rows]
    lengths = {id(row): max(1.0, note / max(row[1] - row[0], 0.02)) for row, note in zip(voice.rows, notes)}
    voice = voice.stretched(lambda row: lengths[id(row)] if row[3] in VOWELS else shortest)
    melody = np.full(len(voice.pitch), base_hz)
    for start, end, _, viseme in voice.rows:
        if viseme in VOWELS:
            melody[int(start / STEP_S) :] = base_hz * 2 ** (rng.choice([-5, -3, -2, 0, 0, 0, 2, 4, 5]) / 12)
    glide = np.hanning(13) / np.hanning(13).sum()
    melody = np.convolve(np.pad(melody, 6, "edge"), glide, "valid") * vibrato(rng, len(melody))
    voice.pitch = np.where(voice.pitch > 0, np.minimum(melody, 780), 0)
    voice.warped([0, 500, 1400, 2600, 8000], tract * (1 + rng.normal(0, 0.04, 5))).tilted(rng.normal(0.5, 1.5))
    return voice.made()


def whispered(rng, voice, tract=None):
    """No pitch; the voiced sounds lose their low end and some strength against the voiceless ones."""
    voice.warped([0, 500, 1400, 2600, 8000], (tract or rng.uniform(0.85, 1.25)) * (1 + rng.normal(0, 0.04, 5)))
    # Whispered formants lie higher, the first most of all.
    voice.warped([0, 400, 900, 2500, 8000], [rng.uniform(1.05, 1.3), rng.uniform(1.05, 1.25), 1.05, 1.0, 1.0])
    was_voiced = voice.pitch > 0
    hz = np.linspace(0, NYQUIST, voice.envelope.shape[1])
    slope = 10 ** (rng.uniform(2, 6) * np.log2(np.maximum(hz, 60) / 1000) / 10)
    voice.envelope[was_voiced] *= np.minimum(slope, 4) * 10 ** (-rng.uniform(4, 14) / 10)
    voice.pitch = np.zeros_like(voice.pitch)
    voice.aperiodicity = np.ones_like(voice.aperiodicity)
    return voice.made()
