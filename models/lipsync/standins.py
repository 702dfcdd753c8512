"""Stand-ins for recordings that one may not have: python standins.py OUT

One folder a row of the table of voices that the network must understand, WAV and TSV as in an evaluation folder, and
`ROW` which says what it stands for. The speakers are festival's Italian, Catalan, Finnish and Czech voices (diphones of
real people; "krb" was a child), never trained on; their phones' times are exact. Singing and whispering are made from
them with WORLD. Noises come from other recipes than the training's. A stand-in shows the trend, not the truth.

Debian packages: festival festvox-italp16k festvox-itapc16k festvox-ca-ona-hts festvox-suopuhe-lj festvox-suopuhe-mv
festival-czech festvox-czech-dita festvox-czech-krb festvox-czech-machac.
"""

import argparse
import pathlib
import random
import tempfile

import numpy as np
import soundfile
from scipy.signal import butter, fftconvolve, resample_poly, sosfilt

import espeak
import phones
import synth
import texts
import world
from features import SAMPLE_RATE

SEED = 4004
AIUEO = {"aa": "A", "ih": "I", "ou": "U", "E": "E", "oh": "O", "sil": "N", "PP": "N"}

ITALIAN = (
    "buongiorno a tutti come state oggi|mi piace molto la musica della mia famiglia|il gatto dorme sopra la tavola bianca|"
    "domani andiamo al mare con la barca|questa sera voglio una pizza e un bicchiere di vino|la luna piena brilla sul lago|"
    "uno due tre quattro cinque sei sette otto nove dieci|abbiamo perso il treno per pochi minuti|"
    "il bambino beve il latte e poi gioca|ho comprato sei uova e un chilo di pomodori"
).split("|")
CATALAN = (
    "bon dia a tothom com esteu avui|la meva mare cuina una sopa molt bona|el gos corre pel parc amb els nens|"
    "dema anirem a la platja amb el cotxe vermell|un dos tres quatre cinc sis set vuit nou deu|"
    "vull comprar pa i formatge per sopar|plou molt i fa vent aquesta nit|la porta de casa es oberta"
).split("|")
FINNISH = (
    "hyvää päivää mitä teille kuuluu tänään|minun äitini keittää hyvää kahvia|pieni koira juoksee pihalla ja haukkuu|"
    "huomenna menemme uimaan jos on lämmin|yksi kaksi kolme neljä viisi kuusi seitsemän|"
    "puhelin soi mutta kukaan ei vastaa|poika osti leipää maitoa ja voita|yöllä sataa lunta ja on hyvin pimeää"
).split("|")
CZECH = (
    "dobre rano jak se mate dnes|moje mama vari dobrou polevku|maly pes bezi po zahrade|zitra pojedeme na vylet k rece|"
    "jedna dva tri ctyri pet sest sedm osm|chlapec koupil chleba a maslo|venku prsi a fouka vitr|ukaz mi prosim ten obraz"
).split("|")

FINNISH_PHONES = {"@": "aa", "@:": "aa", "7": "oh", "7:": "oh", "y": "ou", "y:": "ou", "&": "aa"}
CZECH_PHONES = {"ch": "kk", "c~": "CH", "s~": "CH", "z~": "CH", "d~": "DD", "t~": "DD", "n~": "nn", "c": "SS", "r~": "CH", "r~*": "CH"}
VOICES = {
    "lp": ("voice_lp_diphone", ITALIAN, {}), "pc": ("voice_pc_diphone", ITALIAN, {}),
    "ona": ("voice_upc_ca_ona_hts", CATALAN, {"ax": phones.UNKNOWN}),
    "lj": ("voice_suo_fi_lj_diphone", FINNISH, FINNISH_PHONES), "mv": ("voice_hy_fi_mv_diphone", FINNISH, FINNISH_PHONES),
    "dita": ("voice_czech_dita", CZECH, CZECH_PHONES), "krb": ("voice_czech_krb", CZECH, CZECH_PHONES),
    "machac": ("voice_czech_machac", CZECH, CZECH_PHONES),
}
FESTIVAL_ENCODING = "latin-1"


def rows_of(segments, special):
    rows = []
    for start, end, phone in segments:
        bare = phone.rstrip("1")
        viseme = special.get(phone) or ("sil" if phone in ("#", "##", "pau", "_") else phones.espeak_viseme(bare))
        if not isinstance(viseme, str) or viseme in (phones.NEXT, phones.SCHWA):
            viseme = phones.UNKNOWN
        rows.append((start, end, phone, viseme))
    return rows


def speak(name, folder):
    """All sentences of a voice -> [(samples at 16 kHz, rows)]."""
    voice, sentences, special = VOICES[name]
    for wave, rate, segments in synth.festival(voice, sentences, folder, FESTIVAL_ENCODING):
        divisor = np.gcd(rate, SAMPLE_RATE)
        yield resample_poly(wave, SAMPLE_RATE // divisor, rate // divisor), rows_of(segments, special)


def room(rng, samples):
    """A microphone in a room: a few early reflections, a short tail, a noise floor at -65 dBFS."""
    tail = rng.standard_normal(2400) * np.exp(-np.arange(2400) / 500) * 0.02
    tail[[0, 90, 210]] += [1.0, 0.12, -0.08]
    samples = fftconvolve(samples, tail)[: len(samples)]
    samples = samples / (np.abs(samples).max() + 1e-9) * 0.35
    return samples + rng.standard_normal(len(samples)) * 10 ** (-65 / 20)


def pink(rng, count):
    spectrum = np.fft.rfft(rng.standard_normal(count))
    out = np.fft.irfft(spectrum / np.sqrt(np.maximum(1, np.arange(len(spectrum)))), count)
    return out / out.std()


def babble(rng, speech, count, voices):
    out = np.zeros(count)
    for _ in range(voices):
        clip = speech[rng.integers(len(speech))][0]
        clip = np.roll(np.tile(clip, count // len(clip) + 2), rng.integers(len(clip)))[:count]
        out += clip / (clip.std() + 1e-9) * rng.uniform(0.3, 1.0)
    return out / out.std()


def pad(samples, rows, seconds=0.4):
    gap = np.zeros(int(seconds * SAMPLE_RATE))
    moved = [(a + seconds, b + seconds, p, v) for a, b, p, v in rows]
    end = seconds + len(samples) / SAMPLE_RATE
    return np.concatenate([gap, samples, gap]), [(0.0, moved[0][0], "", "sil"), *moved, (moved[-1][1], end + seconds, "", "sil")]


def at_level(samples, dbfs):
    return samples / (np.sqrt(np.mean(samples**2)) + 1e-12) * 10 ** (dbfs / 20)


def noises_alone(rng, speech):
    """name -> samples; 20 s each, at the levels of the recordings they stand for."""
    count = 20 * SAMPLE_RATE
    time = np.arange(count) / SAMPLE_RATE

    def low(hz, x):
        return sosfilt(butter(2, hz, fs=SAMPLE_RATE, output="sos"), x)

    far = fftconvolve(babble(rng, speech, count, 14), rng.standard_normal(6400) * np.exp(-np.arange(6400) / 1600))[:count]
    cafe = low(2500, far / far.std()) + 0.3 * low(400, rng.standard_normal(count))
    for at in rng.integers(0, count - 3000, 25):  # cups and spoons
        ring = np.exp(-np.arange(3000) / 300) * sum(np.sin(2 * np.pi * f * np.arange(3000) / SAMPLE_RATE) for f in rng.uniform(2000, 6500, 3))
        cafe[at : at + 3000] += ring * rng.uniform(0.1, 1.0)

    traffic = low(250, rng.standard_normal(count)) * 3
    for centre in rng.uniform(0, 20, 7):  # a car passes
        swell = np.exp(-(((time - centre) / rng.uniform(0.8, 2.0)) ** 2))
        engine = sum(np.sin(2 * np.pi * k * (70 + 8 * (centre - time)) * time) / k for k in range(1, 6))
        traffic += swell * (low(1800, rng.standard_normal(count)) * 2 + 0.15 * engine)

    fridge = sum(a * np.sin(2 * np.pi * 50 * k * time + k) for k, a in ((1, 1.0), (2, 0.8), (4, 0.3), (6, 0.15)))
    fridge = fridge + 0.1 * rng.standard_normal(count)

    breath = 0.002 * rng.standard_normal(count)
    at = 0
    while at < count - 30000:
        for length, centre, gain in ((int(rng.uniform(9000, 18000)), 1800, 0.7), (int(rng.uniform(12000, 24000)), 900, 1.0)):
            length = min(length, count - at)
            puff = sosfilt(butter(1, [centre * 0.4, centre * 2.5], "band", fs=SAMPLE_RATE, output="sos"), rng.standard_normal(length))
            breath[at : at + length] += gain * puff * np.sin(np.pi * np.arange(length) / length) ** 1.5
            at += length + int(rng.uniform(1000, 9000))
            if at >= count:
                break

    hum = sum(np.sin(2 * np.pi * 60 * k * time + rng.uniform(0, 6)) / k**0.7 for k in range(1, 14))
    clicks = 0.003 * rng.standard_normal(count)
    for press in np.cumsum(rng.uniform(0.08, 0.35, 90)):
        for delay, gain in ((0.0, 1.0), (rng.uniform(0.06, 0.1), 0.6)):  # down and up
            at = int((press + delay) * SAMPLE_RATE)
            if at < count - 800:
                knock = rng.standard_normal(800) * np.exp(-np.arange(800) / rng.uniform(20, 90))
                clicks[at : at + 800] += gain * rng.uniform(0.4, 1.0) * sosfilt(butter(1, 900, "high", fs=SAMPLE_RATE, output="sos"), knock)

    music, beat = np.zeros(count + 40000), 0.46
    chords = [(0, 4, 7), (-3, 0, 4), (-7, -3, 0), (-5, -1, 2)]
    for step in range(int(20 / beat)):
        at = int(step * beat * SAMPLE_RATE)
        t = np.arange(16000) / SAMPLE_RATE
        for note in chords[(step // 4) % 4]:
            f = 220 * 2 ** (note / 12)
            saw = sum(np.sin(2 * np.pi * f * k * t) / k for k in range(1, 12))
            music[at : at + 16000] += saw * np.exp(-t * 2.5) * 0.4
        f = 440 * 2 ** (rng.choice([0, 2, 4, 7, 9, 12]) / 12)
        lead = sum(np.sin(2 * np.pi * f * k * t + 2 * np.sin(2 * np.pi * 5.5 * t) * 0.1) / k**1.5 for k in range(1, 8))
        music[at : at + 16000] += lead * np.exp(-t * 3) * 0.8
        drum = rng.standard_normal(4000) * np.exp(-np.arange(4000) / 500) if step % 2 else 3 * np.sin(2 * np.pi * 60 * t[:4000]) * np.exp(-t[:4000] * 15)
        music[at : at + 4000] += drum * 0.5
    return {
        "cafe": at_level(cafe, -30), "traffic": at_level(traffic, -33), "fridge": at_level(fridge, -53),
        "breath": at_level(breath, -38), "hum": at_level(hum, -30), "clicks": at_level(clicks, -29),
        "music": at_level(music[:count], -24),
    }


class Writer:
    def __init__(self, out):
        self.out, self.counts = out, {}

    def row(self, folder, text):
        (self.out / folder).mkdir(parents=True, exist_ok=True)
        (self.out / folder / "ROW").write_text(text + "\n", encoding="utf-8")

    def clip(self, folder, samples, rows, name=None):
        number = self.counts[folder] = self.counts.get(folder, -1) + 1
        path = self.out / folder / (name or f"{folder}_{number:02d}")
        soundfile.write(path.with_suffix(".wav"), np.clip(samples, -1, 1), SAMPLE_RATE, subtype="PCM_16")
        with open(path.with_suffix(".tsv"), "w", encoding="utf-8") as file:
            file.write("start_s\tend_s\tphone\tviseme15\taiueo\n")
            for start, end, phone, viseme in rows:
                viseme = "?" if viseme in (phones.SCHWA, phones.UNKNOWN) else viseme
                file.write(f"{start:.4f}\t{end:.4f}\t{phone}\t{viseme}\t{AIUEO.get(viseme, '-')}\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=pathlib.Path)
    arguments = parser.parse_args()
    rng = np.random.default_rng(SEED)
    words = random.Random(SEED)
    write = Writer(arguments.out)
    with tempfile.TemporaryDirectory() as folder:
        said = {name: list(speak(name, pathlib.Path(folder))) for name in VOICES}
    everything = [clip for clips in said.values() for clip in clips]

    def plain(folder, row, names, count=8, change=None):
        write.row(folder, row)
        for name in names:
            for samples, rows in said[name][:count]:
                if change is not None:
                    samples, rows = change(world.Voice(samples, rows))
                samples, rows = pad(samples, rows)
                write.clip(folder, room(rng, samples), rows)

    plain("italian", "German, Spanish, French, Italian, Portuguese: Italian, a woman and a man", ["lp", "pc"])
    plain("european", "German, Spanish, French, Italian, Portuguese: Catalan, Finnish, Czech", ["ona", "lj", "mv", "dita", "machac"], 5)
    plain("child", "child-like voices: a boy's Czech diphones", ["krb"])

    def small(voice):
        voice.pitch *= 300 / max(1, np.median(voice.pitch[voice.pitch > 0]))
        return voice.warped([0, 8000], [1.25, 1.3]).made()

    plain("child_raised", "child-like voices: women's voices with a shorter tract at 300 Hz", ["lj", "lp"], 5, small)

    def held(hz):
        def change(voice):
            voice = voice.stretched(lambda row: 0.55 / max(0.05, row[1] - row[0]) if row[3] in world.VOWELS else 1.0)
            voice.pitch = np.where(voice.pitch > 0, hz * world.vibrato(rng, len(voice.pitch)), 0)
            return voice.made()
        return change

    plain("sung_male_130", "Japanese sung vowels, male: held vowels at 130 Hz", ["pc", "mv"], 3, held(130))
    plain("sung_female_247", "Japanese sung vowels, female, 247 Hz: held vowels", ["lp", "lj"], 3, held(247))
    plain("sung_220", "English sung at 220 Hz: held vowels", ["ona", "dita"], 3, held(220))
    plain("sung_523", "English sung at 523 Hz: held vowels", ["ona", "lp"], 3, held(523))
    plain("whisper", "whisper", ["lp", "pc", "mv", "dita"], 4, lambda voice: world.whispered(rng, voice, 1.0))

    write.row("asian", "Korean, Chinese: espeak-ng variants that are not trained on")
    for language, text in [("ko", texts.korean), ("cmn-latn-pinyin", texts.mandarin)] * 6:
        variant = words.choice(["+Mario", "+Lee", "+ed", "+Gene2"])
        wave, rate, segments = espeak.synthesise(text(words), language + variant, 165, 50)
        divisor = np.gcd(rate, SAMPLE_RATE)
        wave = resample_poly(wave, SAMPLE_RATE // divisor, rate // divisor) / 32768
        samples, rows = pad(wave, phones.rows_of(segments, "espeak"))
        write.clip("asian", room(rng, samples), rows)

    write.row("telephone", "telephone band, 8 kHz digits")
    for name in ("pc", "ona", "machac", "lp"):
        for samples, rows in said[name][4:7]:
            samples, rows = pad(samples, rows)
            narrow = sosfilt(butter(4, 250, "high", fs=8000, output="sos"), resample_poly(room(rng, samples), 1, 2))
            write.clip("telephone", resample_poly(narrow, 2, 1)[: len(samples)], rows)

    for folder, row, noise in (
        ("pink_10db", "pink noise 10 dB", lambda n: pink(rng, n)),
        ("babble_10db", "babble 10 dB", lambda n: babble(rng, everything, n, 6)),
    ):
        write.row(folder, row)
        for name in ("lp", "pc", "ona", "mv", "dita"):
            for samples, rows in said[name][:3]:
                level = samples.std()
                samples, rows = pad(samples, rows)
                write.clip(folder, 0.4 * (samples + noise(len(samples)) * level * 10 ** (-10 / 20)), rows)

    for name, samples in noises_alone(rng, everything).items():
        write.row(f"noise_{name}", f"false-open share: {name} alone, {20 * np.log10(samples.std()):.0f} dBFS")
        write.clip(f"noise_{name}", samples, [(0.0, len(samples) / SAMPLE_RATE, "", "sil")])
    print({folder: count + 1 for folder, count in write.counts.items()})


if __name__ == "__main__":
    main()
