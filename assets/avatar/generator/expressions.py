"""Recipes: morph target name -> the face parameters that change. This is where expressions are added.

Three families, one morph target each: emotions, lids and gaze (VRM presets), 14 visemes (Oculus names; ``sil`` is the
face at rest), 52 ARKit blend shapes ("perfect sync"). ``EXTRAS`` are omote's own.

Vowel openings follow the weights omote computes a mouth's opening with (aa 1, oh .75, ee .55, ou .4, ih .35), so the
drawn lip gap is what the program thinks it is.
"""

from .params import REST, both

_WIDTH = REST.mouth_width

VISEMES = {
    "PP": dict(open=0.0, mouth_width=0.021, line=1.3, round=0.6),
    "FF": dict(open=0.16, mouth_width=0.026, teeth=1.0, top=0.6),
    "TH": dict(open=0.28, mouth_width=0.026, tongue=0.9, teeth=0.7),
    "DD": dict(open=0.28, mouth_width=0.027, tongue=0.7, teeth=0.8),
    "kk": dict(open=0.36, mouth_width=0.028, teeth=0.5),
    "CH": dict(open=0.34, mouth_width=0.021, round=0.8, teeth=0.9),
    "SS": dict(open=0.22, mouth_width=0.029, teeth=1.1),
    "nn": dict(open=0.22, mouth_width=0.026, tongue=0.9),
    "RR": dict(open=0.30, mouth_width=0.021, round=0.9, tongue=0.6),
    "aa": dict(open=1.0, mouth_width=0.031, tongue=0.35, teeth=0.7),
    "E": dict(open=0.55, mouth_width=0.036, tongue=0.4, teeth=0.9),
    "I": dict(open=0.35, mouth_width=0.039, teeth=1.0),
    "O": dict(open=0.75, mouth_width=0.021, round=1.0, top=0.42, **both("smile", 0.05)),
    "U": dict(open=0.40, mouth_width=0.0125, round=1.0, top=0.5, line=1.15, **both("smile", 0.0)),
}

EMOTIONS = {
    "happy": dict(**both("happy", 1), **both("brow", 0.45), **both("smile", 1.3), open=0.55, mouth_width=0.037, teeth=0.6,
                  tongue=0.35, round=0.48, top=0.12, **both("cheek", 0.25)),
    "angry": dict(**both("brow", -0.70), **both("brow_tilt", -1.35), **both("lid_tilt", -0.70), **both("squint", 0.30),
                  **both("smile", -0.85), mouth_width=0.024),
    "sad": dict(brow_inner=1.2, **both("brow", -0.65), **both("lid_tilt", 0.75), **both("blink", 0.10), **both("look_y", -0.2),
                **both("smile", -0.75), mouth_width=0.021),
    "relaxed": dict(**both("happy", 0.42), **both("brow", 0.30), **both("smile", 0.95), mouth_width=0.030),
    "surprised": dict(**both("wide", 1.5), **both("brow", 1.0), pupil=0.80, open=0.6, mouth_width=0.016, round=1.0, top=0.5,
                      **both("smile", 0.0)),
}

LIDS_AND_GAZE = {
    "blink": both("blink", 1),
    "blinkLeft": dict(blink_l=1),
    "blinkRight": dict(blink_r=1),
    "lookUp": both("look_y", 1),
    "lookDown": both("look_y", -1),
    "lookLeft": both("look_x", 1),
    "lookRight": both("look_x", -1),
}

EXTRAS = {
    "jaw_drop": dict(jaw_drop=1.0, lower_lip_l=0.0, lower_lip_r=0.0),
    # Laughing eyes and cheeks; the mouth keeps to the lip-sync, only its corners rise.
    "laugh": dict(**both("happy", 1), **both("brow", 0.6), **both("cheek", 0.5), **both("smile", 0.95)),
}


def _arkit():
    shapes = {}
    for side, name, outwards in (("l", "Left", 1), ("r", "Right", -1)):
        def one(prefix, value, side=side):
            return {f"{prefix}_{side}": value}
        shapes |= {
            f"eyeBlink{name}": one("blink", 1),
            f"eyeWide{name}": one("wide", 1.2),
            f"eyeSquint{name}": one("squint", 1),
            f"eyeLookUp{name}": one("look_y", 1),
            f"eyeLookDown{name}": one("look_y", -1),
            f"eyeLookOut{name}": one("look_x", outwards),
            f"eyeLookIn{name}": one("look_x", -outwards),
            f"browDown{name}": one("brow", -0.8) | one("brow_tilt", -0.7),
            f"browOuterUp{name}": one("brow", 0.8) | one("brow_tilt", -0.55),
            f"mouthSmile{name}": one("smile", 1.2) | dict(mouth_width=_WIDTH + 0.004),
            f"mouthFrown{name}": one("smile", -1.0),
            f"mouthDimple{name}": one("smile", 0.7) | dict(mouth_width=_WIDTH + 0.002),
            f"mouthStretch{name}": one("smile", 0.1) | dict(mouth_width=_WIDTH + 0.005),
            f"mouthPress{name}": one("smile", 0.55) | dict(line=1.2),
            f"mouthUpperUp{name}": one("upper_lip", 1) | dict(teeth=0.5),
            f"mouthLowerDown{name}": one("lower_lip", 1),
            f"cheekSquint{name}": one("squint", 0.8) | one("cheek", 0.3),
            f"noseSneer{name}": one("upper_lip", 0.5) | one("brow_tilt", -0.3),
        }
    shapes |= {
        "jawOpen": dict(open=0.95, tongue=0.3, teeth=0.6),
        "jawForward": dict(jaw_z=1),
        "jawLeft": dict(jaw_x=1, mouth_x=0.6),
        "jawRight": dict(jaw_x=-1, mouth_x=-0.6),
        "mouthFunnel": dict(open=0.55, mouth_width=0.019, round=1.0, top=0.5),
        "mouthPucker": dict(mouth_width=0.012, line=1.5, **both("smile", 0.0)),
        "mouthLeft": dict(mouth_x=1.2),
        "mouthRight": dict(mouth_x=-1.2),
        "mouthRollLower": dict(line=0.6),
        "mouthRollUpper": dict(line=0.6),
        "mouthShrugLower": dict(mouth_y=0.4, **both("smile", -0.2)),
        "mouthShrugUpper": dict(mouth_y=0.35),
        "browInnerUp": dict(brow_inner=1),
        "cheekPuff": both("cheek", 1.0),
        "tongueOut": dict(open=0.55, tongue_out=1, tongue=0.5),
    }
    return shapes


ARKIT = _arkit()

# `mouthClose` is the one shape that is not a change of the face at rest: it closes the lips of an opened jaw.
MOUTH_CLOSE_FROM = REST.with_(**ARKIT["jawOpen"])
MOUTH_CLOSE_TO = REST

# VRM preset -> the morph it plays; presets not listed have a morph of their own name.
VOWEL_PRESETS = {"aa": "viseme_aa", "ih": "viseme_I", "ou": "viseme_U", "ee": "viseme_E", "oh": "viseme_O"}
