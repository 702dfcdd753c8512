"""Sound -> log-mel features. `src/voice/features.rs` is the same computation; a committed vector file ties the two.

16 kHz mono in, -1..1. An 80 Hz high-pass (two biquads: mains hum goes, voices stay) runs over the whole stream.
Frame t covers the samples [160 t - 240, 160 t + 160): it needs nothing after (t + 1) * 10 ms, and its centre lies at
(t + 1) * 10 ms - 12.5 ms.
"""

import numpy as np
from scipy.signal import butter, sosfilt

SAMPLE_RATE = 16000
WINDOW, HOP, FFT = 400, 160, 512
BANDS, LOW_HZ, HIGH_HZ = 40, 80.0, 7600.0
HIGH_PASS_HZ = 80.0
# Keeps the logarithm finite; about -90 dBFS of white noise.
POWER_FLOOR = 1e-7
CENTRE_S = WINDOW / 2 / SAMPLE_RATE

HIGH_PASS = butter(4, HIGH_PASS_HZ, "highpass", fs=SAMPLE_RATE, output="sos")


def _mel(hz):
    return 2595.0 * np.log10(1.0 + hz / 700.0)


def _hz(mel):
    return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)


def mel_bank():
    """[BANDS, FFT/2 + 1] triangles of height 1."""
    edges = _hz(np.linspace(_mel(LOW_HZ), _mel(HIGH_HZ), BANDS + 2))
    bins = np.arange(FFT // 2 + 1) * SAMPLE_RATE / FFT
    bank = np.zeros((BANDS, len(bins)))
    for i in range(BANDS):
        rise = (bins - edges[i]) / (edges[i + 1] - edges[i])
        fall = (edges[i + 2] - bins) / (edges[i + 2] - edges[i + 1])
        bank[i] = np.maximum(0.0, np.minimum(rise, fall))
    return bank


_BANK = mel_bank().T.astype(np.float32)
_HANN = (0.5 - 0.5 * np.cos(2 * np.pi * np.arange(WINDOW) / WINDOW)).astype(np.float32)


def log_mel(samples):
    """[frames, BANDS] float32 of a whole clip, as the stream gives it."""
    samples = sosfilt(HIGH_PASS, np.asarray(samples, np.float64)).astype(np.float32)
    samples = np.concatenate([np.zeros(WINDOW - HOP, np.float32), samples])
    count = (len(samples) - WINDOW) // HOP + 1
    index = np.arange(WINDOW)[None] + HOP * np.arange(count)[:, None]
    power = np.abs(np.fft.rfft(samples[index] * _HANN, FFT)).astype(np.float32) ** 2
    return np.log(power @ _BANK + POWER_FLOOR).astype(np.float32)


def frame_centres(count):
    """Time of the middle of each frame's window, in seconds from the start of the clip."""
    return (np.arange(count) + 1) * HOP / SAMPLE_RATE - CENTRE_S
