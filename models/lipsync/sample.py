"""Makes the small test material of tests/it/voice: python sample.py [MODEL.onnx]

vowels.wav and vowels.tsv: a Japanese voice says a i u e o twice, 16 kHz. vectors.json: for some of its frames the
log-mel features as features.py has them and, with a model, the probabilities as onnxruntime has them, so that the
Rust side can be compared number by number.
"""

import json
import pathlib
import sys

import numpy as np
import soundfile
from scipy.signal import resample_poly

import espeak
import evaluate
import phones
from features import SAMPLE_RATE, log_mel

OUT = pathlib.Path(__file__).resolve().parents[2] / "tests" / "it" / "voice"
TEXT, VOICE, RATE, PITCH = "あー、いー、うー、えー、おー。", "ja+f1", 120, 45
LEVEL_DBFS, FLOOR_DBFS, SEED = -20.0, -70.0, 5
PAUSE_S = 0.25
FRAMES = list(range(0, 4)) + list(range(40, 240, 8))


def vowels():
    wave, rate, segments = espeak.synthesise(TEXT, VOICE, RATE, PITCH)
    divisor = np.gcd(rate, SAMPLE_RATE)
    wave = resample_poly(wave, SAMPLE_RATE // divisor, rate // divisor)
    rows = [(a + PAUSE_S, b + PAUSE_S, p, v) for a, b, p, v in phones.rows_of(segments, "espeak")]
    pause = np.zeros(int(PAUSE_S * SAMPLE_RATE))
    wave = np.concatenate([pause, wave, pause])
    loud = np.abs(wave) > 0.05 * np.abs(wave).max()
    wave = wave / np.sqrt(np.mean(wave[loud] ** 2)) * 10 ** (LEVEL_DBFS / 20)
    wave += np.random.default_rng(SEED).standard_normal(len(wave)) * 10 ** (FLOOR_DBFS / 20)
    rows = [(0.0, rows[0][0], "_", "sil")] + rows + [(rows[-1][1], len(wave) / SAMPLE_RATE, "_", "sil")]
    return wave, rows


def main():
    OUT.mkdir(parents=True, exist_ok=True)
    wave, rows = vowels()
    soundfile.write(OUT / "vowels.wav", wave, SAMPLE_RATE, subtype="PCM_16")
    phones.write_tsv(OUT / "vowels.tsv", rows)
    samples, _ = soundfile.read(OUT / "vowels.wav", dtype="float32")
    features = log_mel(samples)
    frames = [i for i in FRAMES if i < len(features)]
    vectors = {"frames": frames, "log_mel": [[round(float(x), 4) for x in features[i]] for i in frames]}
    if len(sys.argv) > 1:
        # Each head as it comes with frame i: `visemes` then speaks of the sound three hops before it.
        for head, values in evaluate.Model(sys.argv[1])(samples).items():
            picked = [[round(float(x), 5) for x in values[i]] for i in frames]
            vectors[head] = picked if values.shape[1] > 1 else [value for value, in picked]
    lines = [f"{json.dumps(key)}: [\n" + ",\n".join(json.dumps(v) for v in values) + "\n]" for key, values in vectors.items()]
    (OUT / "vectors.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(wave) / SAMPLE_RATE:.2f} s, {len(frames)} frames")


if __name__ == "__main__":
    main()
