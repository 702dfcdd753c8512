"""Music without singing: seeded MIDI of chords, tune, bass and drums, played by FluidSynth with real instruments' sounds.

The sound font is Debian's fluid-soundfont-gm (MIT). A steady harmonic tone is what a network takes most easily for a
vowel, so music must be among the sounds that are no voice.
"""

import struct
import subprocess

import soundfile

SOUND_FONT = "/usr/share/sounds/sf2/FluidR3_GM.sf2"
SCALES = [[0, 2, 4, 5, 7, 9, 11], [0, 2, 3, 5, 7, 8, 10], [0, 3, 5, 7, 10], [0, 2, 4, 7, 9]]
TICKS = 96  # a beat
DRUMS, KICK, SNARE, HATS = 9, 36, 38, [42, 46, 51]
# General MIDI programs: everything but the voices (52 to 54, 85, 91) and sound effects.
PROGRAMS = [p for p in range(0, 112) if p not in (52, 53, 54, 85, 91)]


def _length(value):
    out = [value & 0x7F]
    while value := value >> 7:
        out.insert(0, (value & 0x7F) | 0x80)
    return bytes(out)


def midi(rng, seconds):
    tempo = rng.uniform(65, 165)
    beats = int(seconds * tempo / 60)
    key, scale = rng.randint(40, 58), rng.choice(SCALES)
    parts = rng.sample(["chords", "tune", "bass", "drums", "arpeggio"], rng.randint(1, 5))
    events = []  # (tick, bytes)

    def note(channel, pitch, velocity, start, length):
        pitch = max(20, min(108, int(pitch)))
        events.append((int(start * TICKS), bytes([0x90 | channel, pitch, velocity])))
        events.append((int((start + length) * TICKS), bytes([0x80 | channel, pitch, 0])))

    def degree(number):
        return key + scale[number % len(scale)] + 12 * (number // len(scale))

    for channel, part in enumerate(parts):
        program = rng.randint(32, 39) if part == "bass" else rng.choice(PROGRAMS)
        if part != "drums":
            events.append((0, bytes([0xC0 | channel, program])))
        loud = rng.randint(50, 110)
        root, beat, at = 0, 0, rng.randint(3, 8)
        while beat < beats:
            if beat % 4 == 0:
                root = rng.choice([0, 3, 4, 5, 1])
            if part == "chords" and beat % 2 == 0:
                for third in (0, 2, 4):
                    note(channel, degree(root + third) + 12, loud, beat, rng.choice([1.9, 1.0]))
            elif part == "tune":
                at = max(0, min(14, at + rng.randint(-2, 2)))
                note(channel, degree(at) + 12, loud, beat, 0.95)
                if rng.random() < 0.4:
                    note(channel, degree(at + rng.choice([-1, 1])) + 12, loud, beat + 0.5, 0.45)
            elif part == "bass":
                note(channel, degree(root) - 12, loud, beat, 0.9)
            elif part == "arpeggio":
                for i in range(2):
                    note(channel, degree(root + 2 * ((beat * 2 + i) % 4)) + 12, loud, beat + i / 2, 0.5)
            elif part == "drums":
                note(DRUMS, SNARE if beat % 2 else KICK, loud, beat, 0.3)
                note(DRUMS, rng.choice(HATS), loud, beat, 0.3)
                note(DRUMS, HATS[0], loud, beat + 0.5, 0.3)
            beat += 1
    track = b"\x00\xff\x51\x03" + struct.pack(">I", int(60e6 / tempo))[1:]
    before = 0
    for tick, data in sorted(events, key=lambda event: event[0]):
        track += _length(tick - before) + data
        before = tick
    track += b"\x00\xff\x2f\x00"
    return b"MThd" + struct.pack(">IHHH", 6, 0, 1, TICKS) + b"MTrk" + struct.pack(">I", len(track)) + track


def play(rng, folder, seconds=20.0):
    """-> (samples, rate)."""
    score, wav = folder / "music.mid", folder / "music.wav"
    score.write_bytes(midi(rng, seconds))
    command = ["fluidsynth", "-q", "-n", "-i", "-F", wav, "-r", "22050", "-O", "s16", "-T", "wav", SOUND_FONT, score]
    subprocess.run(command, capture_output=True, check=True)
    samples, rate = soundfile.read(wav)
    return samples.mean(1)[: int(seconds * rate)], rate
