"""Makes the voices of the drawn presenter: demo, and two talks in other voices for `omote eval ventriloquist`.

Synthesised with espeak-ng, so every phone time is known exactly; the presenter's mouth is drawn from the same
times. Needs what models/lipsync/README.md lists. Run from anywhere:

    python3 assets/presenter/make_voice.py [NAME...]

The demo script cuts the microphone from 8.5 s to 9.5 s and hides the face from 12.0 s to 13.0 s. Both cuts must
fall into running speech, so parts B and C are one breath group each.
"""

import pathlib
import sys

import numpy as np
import soundfile
from scipy.signal import resample_poly

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent.parent / "models" / "lipsync"))

import espeak
import phones

SAMPLE_RATE = 16000


class Talk:
    """What is said: (begin_s, end_s, sentence), in one voice."""

    def __init__(self, length_s, voice, pitch, pitch_range, parts):
        self.length_s = length_s
        self.voice, self.pitch, self.pitch_range = voice, pitch, pitch_range
        self.parts = parts


TALKS = {
    # A before the head turn and the silent gasp, B and C after them.
    "demo": Talk(
        15.0,
        "en-us+f2",
        52,
        62,
        [
            (1.0, 4.5, "Hello, I am your presenter. My mouth moves with each word."),
            (7.5, 10.5, "Even while the microphone has failed you can see me talking."),
            (11.0, 14.0, "And when the camera has lost me my voice keeps my mouth moving."),
        ],
    ),
    "talk_en": Talk(
        9.0,
        "en-us+m3",
        38,
        55,
        [
            (0.8, 4.4, "Good evening, and a warm welcome to everybody who is watching from far away."),
            (5.0, 8.2, "Maybe the other people above me will be quiet by and by."),
        ],
    ),
    "talk_de": Talk(
        9.0,
        "de+f4",
        60,
        60,
        [
            (0.8, 4.2, "Guten Abend zusammen, heute malen wir eine blaue Blume am Ufer."),
            (4.9, 8.2, "Meine Oma wohnt oben, und mein Opa baut ein Boot am Meer."),
        ],
    ),
}

SPEECH_RMS_DBFS = -20.0
# A real room is never bit-exact silence; without this floor a microphone would be reported as muted.
FLOOR_DBFS = -70.0
SEED = 20


def spoken(talk, text, rate):
    """One part at a speaking rate, cut to its first and last phone."""
    wave, sample_rate, segments = espeak.synthesise(text, talk.voice, rate, talk.pitch, talk.pitch_range)
    voiced = [i for i, (_, _, phone) in enumerate(segments) if phones.espeak_viseme(phone) != "sil"]
    segments = segments[voiced[0] : voiced[-1] + 1]
    start, end = segments[0][0], segments[-1][1]
    wave = wave[int(start * sample_rate) : int(end * sample_rate)]
    return wave, sample_rate, [(a - start, b - start, phone) for a, b, phone in segments]


def fitted(talk, text, length_s):
    """The slowest rate whose speech fits into the slot."""
    for rate in range(110, 260):
        wave, sample_rate, segments = spoken(talk, text, rate)
        if segments[-1][1] <= length_s:
            return wave, sample_rate, segments, rate
    raise ValueError(f"too long for {length_s} s: {text}")


def make(name, talk):
    samples = np.zeros(int(talk.length_s * SAMPLE_RATE))
    segments, at = [], 0.0
    for begin, end, text in talk.parts:
        wave, sample_rate, part, rate = fitted(talk, text, end - begin)
        print(f"{begin:.1f}..{begin + part[-1][1]:.2f} s at rate {rate}: {text}")
        wave = resample_poly(wave, SAMPLE_RATE, sample_rate)
        first = int(begin * SAMPLE_RATE)
        samples[first : first + len(wave)] = wave[: len(samples) - first]
        segments.append((at, begin, "_"))
        segments += [(begin + a, begin + b, phone) for a, b, phone in part]
        at = segments[-1][1]
    segments.append((at, talk.length_s, "_"))
    rows = phones.rows_of(segments, "espeak")
    unknown = sorted({phone for _, _, phone, viseme in rows if viseme == phones.UNKNOWN})
    if unknown:
        raise ValueError(f"phones without a viseme: {unknown}")

    speech = np.zeros(len(samples), bool)
    for start, end, _, viseme in rows:
        if viseme != "sil":
            speech[int(start * SAMPLE_RATE) : int(end * SAMPLE_RATE)] = True
    samples *= 10 ** (SPEECH_RMS_DBFS / 20) / np.sqrt(np.mean(samples[speech] ** 2))
    samples += np.random.default_rng(SEED).standard_normal(len(samples)) * 10 ** (FLOOR_DBFS / 20)
    print(f"peak {20 * np.log10(np.abs(samples).max()):.1f} dBFS")
    soundfile.write(HERE / f"{name}.wav", np.clip(samples, -1, 1), SAMPLE_RATE, subtype="PCM_16")
    phones.write_tsv(HERE / f"{name}.phones.tsv", rows)


def main():
    for name in sys.argv[1:] or TALKS:
        make(name, TALKS[name])


if __name__ == "__main__":
    main()
