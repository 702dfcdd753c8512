"""Held and sung vowels from formant tables: what read-aloud synthesisers never say.

A harmonic series with a glottal tilt (or, whispered, noise) is shaped by formant resonances that glide from vowel to
vowel. Pitch 90 to 650 Hz with vibrato, vocal tracts from man to child. Some vowels begin with m, n or a stop gap.
"""

import numpy as np

SAMPLE_RATE = 16000
STEP = 80  # samples between control points, 5 ms

# First four formants in Hz of a man's vocal tract (means after Peterson & Barney 1952, Hillenbrand et al. 1995, and
# Japanese vowels after Hirahara & Akahane-Yamada 2004), as [variants] of each mouth shape.
FORMANTS = {
    "aa": [(730, 1090, 2440, 3400), (690, 1250, 2500, 3500), (660, 1700, 2410, 3400), (620, 1200, 2500, 3400)],
    "E": [(530, 1840, 2480, 3500), (460, 1950, 2550, 3600), (480, 1720, 2450, 3500)],
    "ih": [(270, 2290, 3010, 3600), (390, 1990, 2550, 3600), (300, 2200, 2900, 3500)],
    "oh": [(570, 840, 2410, 3300), (450, 800, 2450, 3300), (480, 880, 2500, 3350)],
    "ou": [(300, 870, 2240, 3300), (440, 1020, 2240, 3300), (330, 1250, 2300, 3300), (340, 1350, 2250, 3300),
           (380, 1330, 2300, 3300), (400, 1180, 2300, 3300), (350, 1480, 2350, 3300)],
    # Nasal murmurs: a low strong resonance, the rest weak.
    "PP": [(250, 1100, 2200, 3300)],
    "nn": [(270, 1450, 2300, 3300)],
}
VOWELS = ["aa", "E", "ih", "oh", "ou"]
NASAL_GAIN = 0.25


def _response(frequencies, formants, bandwidths):
    """Magnitude of the vocal tract at [..., n] frequencies for [..., 4] formants: a cascade of resonators."""
    gain = np.ones(np.broadcast_shapes(frequencies.shape, formants.shape[:-1] + (1,)))
    for i in range(formants.shape[-1]):
        f, b = formants[..., i : i + 1], bandwidths[i]
        gain = gain * f**2 / np.sqrt((f**2 - frequencies**2) ** 2 + (b * frequencies) ** 2)
    return gain


def sing(rng):
    """One phrase -> (samples, [(start_s, end_s, phone)] with viseme names as phones)."""
    tract = rng.uniform(0.95, 1.45)
    base_hz = np.exp(rng.uniform(np.log(90), np.log(330))) * (tract - 0.95) * 1.3 + 90 + rng.uniform(0, 60)
    base_hz = min(680.0, base_hz * (rng.uniform(1.4, 2.2) if rng.random() < 0.35 else 1.0))
    whispered = rng.random() < 0.2
    held = rng.random() < 0.7
    notes = []  # (mouth shape, seconds, gain)
    for _ in range(rng.integers(4, 9)):
        notes.append(("sil", rng.uniform(0.05, 0.5), 0.0)) if rng.random() < 0.35 else None
        if rng.random() < 0.25:
            notes.append((rng.choice(["PP", "nn"]), rng.uniform(0.06, 0.14), NASAL_GAIN))
        elif rng.random() < 0.15:
            notes.append(("PP", rng.uniform(0.05, 0.11), 0.0))
        notes.append((rng.choice(VOWELS), rng.uniform(0.25, 1.2) if held else rng.uniform(0.1, 0.3), rng.uniform(0.6, 1.0)))
    notes.append(("sil", rng.uniform(0.1, 0.4), 0.0))

    steps = [max(4, int(seconds * SAMPLE_RATE / STEP)) for _, seconds, _ in notes]
    total = sum(steps)
    formants, gains, pitch = np.zeros((total, 4)), np.zeros(total), np.zeros(total)
    segments, at, shape_before = [], 0, None
    for (shape, _, gain), count in zip(notes, steps):
        variants = FORMANTS.get(shape)
        if variants is not None:
            mixed = np.array(variants[rng.integers(len(variants))]) * tract * rng.uniform(0.95, 1.05, 4)
        else:
            mixed = shape_before if shape_before is not None else np.array([500, 1500, 2500, 3500]) * tract
        formants[at : at + count], gains[at : at + count] = mixed, gain
        pitch[at : at + count] = base_hz * 2 ** (rng.choice([-4, -2, 0, 0, 2, 3, 5, 7]) / 12 if held else rng.uniform(-3, 3) / 12)
        segments.append((at * STEP / SAMPLE_RATE, (at + count) * STEP / SAMPLE_RATE, shape))
        shape_before = mixed
        at += count

    glide = np.hanning(int(rng.uniform(5, 13)) | 1)
    glide /= glide.sum()
    padded = np.pad(np.column_stack([formants, gains, pitch]), ((len(glide) // 2,) * 2, (0, 0)), "edge")
    smooth = np.column_stack([np.convolve(padded[:, i], glide, "valid") for i in range(6)])
    formants, gains, pitch = smooth[:, :4].copy(), smooth[:, 4], smooth[:, 5]
    if rng.random() < 0.5:  # who sings above the first formant opens the jaw until it meets the pitch
        formants[:, 0] = np.maximum(formants[:, 0], pitch * 1.02)
    bandwidths = np.array([60, 90, 140, 220]) * rng.uniform(0.8, 1.6) * (1.6 if whispered else 1.0)

    time = np.arange(total * STEP) / SAMPLE_RATE
    control = (np.arange(total) + 0.5) * STEP / SAMPLE_RATE
    if whispered:
        samples = _filtered_noise(rng, formants, bandwidths, total)
    else:
        samples = _harmonics(rng, pitch, formants, bandwidths, rng.uniform(0.8, 1.6))
        breath = _filtered_noise(rng, formants, bandwidths, total)
        samples = samples / (samples.std() + 1e-9) + breath / (breath.std() + 1e-9) * 10 ** (-rng.uniform(14, 35) / 20)
    samples = samples / (samples.std() + 1e-9) * np.interp(time, control, gains)
    return samples.astype(np.float32), segments


def laugh(rng):
    """One or two laughs -> (samples, rows): bursts of a vowel behind h, 3 to 7 a second, falling in pitch and strength."""
    tract = rng.uniform(0.9, 1.4)
    hz = np.exp(rng.uniform(np.log(130), np.log(520)))
    notes = [("sil", rng.uniform(0.1, 0.5), 0.0, 0.0, hz)]  # shape, seconds, gain, share of breath, pitch
    for _ in range(rng.integers(1, 3)):
        vowel = rng.choice(["aa", "aa", "aa", "E", "ih", "oh"])
        rate, strength = rng.uniform(3.2, 7.0), 1.0
        start_hz = hz * rng.uniform(0.9, 1.5)
        voiceless = rng.random() < 0.15
        for burst in range(rng.integers(3, 10)):
            period = rng.uniform(0.85, 1.2) / rate
            voiced_s = period * rng.uniform(0.35, 0.6)
            pitch = start_hz * rng.uniform(0.93, 1.07) * 0.97**burst
            notes.append((vowel, (period - voiced_s) * 0.5, 0.0, 0.0, pitch))
            notes.append((vowel, (period - voiced_s) * 0.5, 0.25 * strength, 1.0, pitch))
            notes.append((vowel, voiced_s, strength, 1.0 if voiceless else rng.uniform(0.05, 0.5), pitch))
            strength *= rng.uniform(0.85, 1.02)
        if rng.random() < 0.5:  # the gasp for air afterwards
            notes.append(("sil", rng.uniform(0.1, 0.3), 0.0, 0.0, hz))
            notes.append(("oh", rng.uniform(0.2, 0.5), 0.3, 1.0, hz))
        notes.append(("sil", rng.uniform(0.2, 0.7), 0.0, 0.0, hz))
    steps = [max(2, int(seconds * SAMPLE_RATE / STEP)) for _, seconds, *_ in notes]
    total = sum(steps)
    formants, control = np.zeros((total, 4)), np.zeros((total, 3))
    rows, at = [], 0
    colour = {vowel: rng.integers(len(FORMANTS[vowel])) for vowel in VOWELS}
    for (shape, _, gain, breath, pitch), count in zip(notes, steps):
        vowel = shape if shape in FORMANTS else "aa"
        formants[at : at + count] = np.array(FORMANTS[vowel][colour[vowel]]) * tract
        control[at : at + count] = gain, breath, pitch
        rows.append((at * STEP / SAMPLE_RATE, (at + count) * STEP / SAMPLE_RATE, shape))
        at += count
    glide = np.hanning(int(rng.uniform(5, 11)) | 1)
    padded = np.pad(np.column_stack([formants, control]), ((len(glide) // 2,) * 2, (0, 0)), "edge")
    smooth = np.column_stack([np.convolve(padded[:, i], glide / glide.sum(), "valid") for i in range(7)])
    formants, (gains, breath, pitch) = smooth[:, :4], smooth[:, 4:].T
    bandwidths = np.array([90, 120, 180, 260]) * rng.uniform(0.8, 1.5)
    voice = _harmonics(rng, pitch, formants, bandwidths, rng.uniform(0.8, 1.5))
    air = _filtered_noise(rng, formants, bandwidths, total)
    time, centres = np.arange(total * STEP), (np.arange(total) + 0.5) * STEP
    share = np.interp(time, centres, breath)
    samples = voice / (voice.std() + 1e-9) * (1 - share) + air / (air.std() + 1e-9) * share * 0.5
    return (samples * np.interp(time, centres, gains)).astype(np.float32), rows


def _harmonics(rng, pitch, formants, bandwidths, tilt):
    """A voiced sound: harmonics of the pitch (one value a step) with the heights that the tract gives them."""
    time = np.arange(len(pitch) * STEP) / SAMPLE_RATE
    control = (np.arange(len(pitch)) + 0.5) * STEP / SAMPLE_RATE
    pitch_now = np.interp(time, control, pitch)
    pitch_now *= 1 + rng.uniform(0, 0.03) * np.sin(2 * np.pi * rng.uniform(4.5, 7) * time)
    phase = np.cumsum(pitch_now) / SAMPLE_RATE
    samples = np.zeros(len(time))
    for k in range(1, int(7800 / pitch_now.min()) + 1):
        heights = _response((k * pitch)[:, None], formants, bandwidths)[:, 0] * k**-tilt
        heights[k * pitch > 7800] = 0
        samples += np.interp(time, control, heights) * np.sin(2 * np.pi * k * phase)
    return samples


def _filtered_noise(rng, formants, bandwidths, total):
    window = np.hanning(4 * STEP)
    frequencies = np.fft.rfftfreq(4 * STEP, 1 / SAMPLE_RATE)[None]
    gain = _response(frequencies, formants, bandwidths)
    out = np.zeros(total * STEP + 4 * STEP)
    for i in range(total):
        block = np.fft.irfft(np.fft.rfft(rng.standard_normal(4 * STEP)) * gain[i]) * window
        out[i * STEP : i * STEP + 4 * STEP] += block
    return out[: total * STEP]
