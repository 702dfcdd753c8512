"""espeak-ng through its library, with the sample position of every phone.

`espeak-ng --pho` writes phone times for MBROLA voices only; the library's phoneme events exist for all voices.
An event marks where a phone begins. A stop's event marks its burst: the closure before it is booked on the
phone before, and `with_closures` gives it back, because a closed mouth is what a viseme is about.
"""

import ctypes as c

import numpy as np

from phones import espeak_viseme

EVENT_LIST_END, EVENT_PHONEME = 0, 7
OUTPUT_SYNCHRONOUS, INITIALISE_PHONEME_EVENTS = 2, 1
RATE, VOLUME, PITCH, RANGE = 1, 2, 3, 4
CHARS_UTF8 = 1

# A closure is a run of near-silence this quiet (16-bit) and this long.
CLOSURE_PEAK, CLOSURE_STEP_S = 40, 0.004


class _EventId(c.Union):
    _fields_ = [("number", c.c_int), ("name", c.c_char_p), ("string", c.c_char * 8)]


class _Event(c.Structure):
    _fields_ = [
        ("type", c.c_int), ("unique_identifier", c.c_uint), ("text_position", c.c_int), ("length", c.c_int),
        ("audio_position", c.c_int), ("sample", c.c_int), ("user_data", c.c_void_p), ("id", _EventId),
    ]


_Callback = c.CFUNCTYPE(c.c_int, c.POINTER(c.c_short), c.c_int, c.POINTER(_Event))
_samples, _events = [], []


def _collect(wave, count, events):
    if wave and count > 0:
        _samples.append(np.ctypeslib.as_array(wave, (count,)).copy())
    i = 0
    while events[i].type != EVENT_LIST_END:
        if events[i].type == EVENT_PHONEME:
            name = bytes(events[i].id.string).split(b"\0")[0].decode("utf8", "replace")
            _events.append((events[i].sample, name))
        i += 1
    return 0


_callback = _Callback(_collect)  # must outlive the library's use of it
_library = None


def _load():
    global _library
    if _library is None:
        library = c.CDLL("libespeak-ng.so.1")
        library.espeak_Synth.argtypes = [
            c.c_char_p, c.c_size_t, c.c_uint, c.c_int, c.c_uint, c.c_uint, c.c_void_p, c.c_void_p,
        ]
        rate = library.espeak_Initialize(OUTPUT_SYNCHRONOUS, 200, None, INITIALISE_PHONEME_EVENTS)
        if rate <= 0:
            raise RuntimeError("espeak-ng cannot start: is the package espeak-ng-data installed?")
        library.espeak_SetSynthCallback(_callback)
        _library = (library, rate)
    return _library


def synthesise(text, voice, rate=175, pitch=50, pitch_range=50):
    """-> (float32 samples in 16-bit scale, sample rate, [(start_s, end_s, phone)])."""
    library, sample_rate = _load()
    _samples.clear()
    _events.clear()
    if library.espeak_SetVoiceByName(voice.encode()) != 0:
        raise ValueError(f"espeak-ng has no voice {voice}")
    for parameter, value in ((RATE, rate), (VOLUME, 100), (PITCH, pitch), (RANGE, pitch_range)):
        library.espeak_SetParameter(parameter, value, 0)
    data = text.encode("utf8")
    library.espeak_Synth(data, len(data) + 1, 0, 1, 0, CHARS_UTF8, None, None)
    library.espeak_Synchronize()
    wave = np.concatenate(_samples).astype(np.float32) if _samples else np.zeros(0, np.float32)
    segments = []
    if _events and _events[0][0] > 0:
        segments.append((0.0, _events[0][0] / sample_rate, "_"))
    following = _events[1:] + [(len(wave), "")]
    for (start, phone), (end, _) in zip(_events, following):
        if end > start:
            segments.append((start / sample_rate, end / sample_rate, phone))
    return wave, sample_rate, with_closures(wave, sample_rate, segments)


def with_closures(wave, sample_rate, segments):
    """Moves the silent closure before a stop from the phone before to the stop."""
    step = int(CLOSURE_STEP_S * sample_rate)
    out = [list(segment) for segment in segments]
    for i in range(1, len(out)):
        phone = out[i][2]
        is_stop = phone[:1] and phone[:1] in "pbtdkgcqT" and espeak_viseme(phone) in ("PP", "DD", "kk", "CH", "SS")
        if not is_stop or out[i - 1][2][:1] == "_":
            continue
        begin, end = int(out[i - 1][0] * sample_rate), int(out[i][0] * sample_rate)
        at = end
        while at - step > begin and np.abs(wave[at - step : at]).max() < CLOSURE_PEAK:
            at -= step
        if end - at > step:
            out[i - 1][1] = out[i][0] = at / sample_rate
    return [tuple(segment) for segment in out]
