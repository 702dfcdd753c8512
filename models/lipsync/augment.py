"""Labelled speech -> augmented features: python augment.py SPEECH OUT_FOLDER [ENGINE...]

Each clip becomes several speakers (WORLD: pitch, vocal tract, singing, whisper), microphones and rooms. Most noise is
mixed in later, by train.py, afresh each time; for that, clips without a voice are written as well.
Writes an ENGINE.npz for each engine of synth.py: X [frames, BANDS] float16, Y viseme class per frame (-1 ignore, 15 soft schwa), V speech 0/1/-1, L laughter 0/1,
N frames per clip, K kind per clip (0 voice, 1 noise).
"""

import argparse
import pathlib

import numpy as np
import soundfile
from scipy.signal import butter, fftconvolve, lfilter, resample_poly, sosfilt

import noises
import phones
import world
from features import SAMPLE_RATE, frame_centres, log_mel
from synth import ENGINES

SEED = 11
# Speakers made of a clip; the machine-like voices, and the one with its own variants, stay single.
COPIES = {"espeak": 1, "openjtalk": 1}
USUAL_COPIES = 2
SCHWA_CLASS = 15
# Gaps between words that are too short to be a pause do not end speech.
BRIDGED_GAP_FRAMES = 8
NOISE_SHARE = 0.16
# Clips of the sounds that pass for a voice most easily, besides those that come with the voices.
HARD_NOISES = {"hum": 160, "breaths": 260, "clicks": 60, "music": 60}
# What becomes of a clip: itself, another speaker, a singer, a whisperer.
CHANGES = {"itself": 0.30, "spoken": 0.36, "sung": 0.22, "whispered": 0.12}
# These already sing, or laugh, in voices of their own.
UNCHANGED_ENGINES = ("singing", "laughs")
# Whose voices make up the babble.
BABBLE_ENGINES, BABBLE_CLIPS = ("flite", "hibari", "openjtalk"), 150


def decibels(db):
    return 10 ** (db / 20)


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
    if rng.random() < 0.3:
        # A cheap microphone: three broad bumps or dips.
        for _ in range(3):
            centre = np.exp(rng.uniform(np.log(120), np.log(6000)))
            band = butter(1, [centre * 0.6, min(7900, centre * 1.7)], "band", fs=SAMPLE_RATE, output="sos")
            samples = samples + rng.uniform(-0.6, 1.0) * sosfilt(band, samples)
    if rng.random() < 0.12:
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


def voices_of(rng, samples, rows, engine, copies):
    """The clip as several speakers say, sing or whisper it."""
    voice = None
    for _ in range(copies):
        change = rng.choice(list(CHANGES), p=list(CHANGES.values()))
        if engine in UNCHANGED_ENGINES:
            change = "itself"
        if change != "itself":
            voice = voice or world.Voice(samples, rows)
            yield getattr(world, change)(rng, voice.take(slice(None), rows))
            continue
        # Played faster, a voice gets a shorter vocal tract and a higher pitch: men become women and children.
        down = 40 if rng.random() < 0.3 else round(40 * rng.uniform(0.85, 1.4))
        yield resample_poly(samples, 40, down), [(a * 40 / down, b * 40 / down, p, v) for a, b, p, v in rows]


def speech_clip(rng, samples, rows, pool):
    before, after = rng.uniform(0.1, 0.6), rng.uniform(0.1, 0.5)
    length_s = len(samples) / SAMPLE_RATE
    samples = np.concatenate([np.zeros(int(before * SAMPLE_RATE)), samples, np.zeros(int(after * SAMPLE_RATE))])
    rows = (
        [(0.0, before, "sil", "sil")]
        + [(a + before, b + before, p, v) for a, b, p, v in rows]
        + [(before + length_s, before + length_s + after + 1, "sil", "sil")]
    )
    samples = degraded(rng, samples)
    power = np.sqrt(np.mean(samples**2) + 1e-9)
    if rng.random() < 0.25:
        samples = samples + noises.any_kind(rng, len(samples), pool) * power * decibels(-rng.uniform(3, 30))
    if rng.random() < 0.05:
        samples = samples + noises.hum(rng, len(samples), pool) * power * decibels(-rng.uniform(0, 15))
    if rng.random() < 0.1 and before > 0.3:
        inhale = noises.breaths(rng, int(before * SAMPLE_RATE), pool)
        samples[: len(inhale)] += inhale * power * decibels(-rng.uniform(5, 25))
    return levelled(rng, samples), rows


def noise_clip(rng, pool, songs):
    count = int(rng.uniform(3, 7) * SAMPLE_RATE)

    def one():
        if rng.random() < 0.3 and songs:
            song = songs[rng.integers(len(songs))]
            start = rng.integers(max(1, len(song) - count))
            part = np.resize(song[start : start + count], count)
            return part / (part.std() + 1e-9)
        return noises.any_kind(rng, count, pool)

    samples = one()
    if rng.random() < 0.4:
        samples = samples + one() * decibels(-rng.uniform(0, 20))
    samples = levelled(rng, degraded(rng, samples)) * decibels(-rng.uniform(0, 15))
    if rng.random() < 0.1:
        samples[: rng.integers(count)] = 0.0
    return samples, [(0.0, 100.0, "sil", "sil")]


def labels_of(rows, count):
    centres = frame_centres(count)
    classes = np.full(count, -1, np.int8)
    speech = np.full(count, -1, np.int8)
    laughter = np.zeros(count, np.int8)
    laughs = [row for row in rows if row[2] == "laugh" and row[3] != "sil"]
    if laughs:
        laughter[(centres >= laughs[0][0]) & (centres < laughs[-1][1])] = 1
    for start, end, phone, viseme in rows:
        inside = (centres >= start) & (centres < end)
        classes[inside] = SCHWA_CLASS if viseme == phones.SCHWA else phones.INDEX.get(viseme, -1)
        speech[inside] = viseme != "sil"
    edges = np.flatnonzero(np.diff(np.concatenate([[0], (speech == 0).astype(int), [0]])))
    for begin, end in zip(edges[::2], edges[1::2]):
        if begin > 0 and end < count and end - begin <= BRIDGED_GAP_FRAMES:
            speech[begin:end] = 1
    # Whether laughing is speaking is nobody's business.
    speech[laughter == 1] = -1
    return classes, speech, laughter


def augment(engine, speech, out, pool, songs):
    rng = np.random.default_rng([SEED, *engine.encode()])
    columns = {name: [] for name in "XYVLNK"}

    def add(samples, rows, kind):
        frames = log_mel(samples)
        labels, spoken, laughter = labels_of(rows, len(frames))
        for name, value in zip("XYVLNK", (frames.astype(np.float16), labels, spoken, laughter, [len(frames)], [kind])):
            columns[name].append(value)

    for file in sorted(speech.glob(f"{engine}_*.wav")):
        samples, rows = soundfile.read(file, dtype="float32")[0], phones.read_tsv(file.with_suffix(".tsv"))
        if len(samples) <= SAMPLE_RATE // 4:
            continue
        for changed, its_rows in voices_of(rng, samples, rows, engine, COPIES.get(engine, USUAL_COPIES)):
            add(*speech_clip(rng, changed, its_rows, pool), 0)
            if rng.random() < NOISE_SHARE:
                add(*noise_clip(rng, pool, songs), 1)
    np.savez(out / f"{engine}.npz", **{name: np.concatenate(values) for name, values in columns.items()})
    print(f"{engine}: {len(columns['N'])} clips, {sum(int(n[0]) for n in columns['N'])} frames", flush=True)


def hard_noises(out, pool):
    rng = np.random.default_rng([SEED, *b"noises"])
    columns = {name: [] for name in "XYVLNK"}
    for kind, count in HARD_NOISES.items():
        for _ in range(count):
            samples = getattr(noises, kind)(rng, int(rng.uniform(3, 6) * SAMPLE_RATE), pool)
            if rng.random() < 0.5:
                samples = degraded(rng, samples)
            frames = log_mel(levelled(rng, samples) * decibels(-rng.uniform(0, 15)))
            silent = np.zeros(len(frames), np.int8)
            for name, value in zip("XYVLNK", (frames.astype(np.float16), silent, silent, silent, [len(frames)], [1])):
                columns[name].append(value)
    np.savez(out / "noises.npz", **{name: np.concatenate(values) for name, values in columns.items()})


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("speech", type=pathlib.Path)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("engines", nargs="*", default=[engine for engine in ENGINES if engine != "music"])
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    songs = [soundfile.read(f, dtype="float32")[0] for f in sorted(arguments.speech.glob("music_*.wav"))]
    files = sorted(f for engine in BABBLE_ENGINES for f in arguments.speech.glob(f"{engine}_*.wav"))
    chosen = np.random.default_rng(SEED).choice(files, min(len(files), BABBLE_CLIPS), replace=False)
    pool = [clip for clip in (soundfile.read(f, dtype="float32")[0] for f in chosen) if len(clip) > SAMPLE_RATE]
    hard_noises(arguments.out, pool)
    for engine in arguments.engines:
        augment(engine, arguments.speech, arguments.out, pool, songs)


if __name__ == "__main__":
    main()
