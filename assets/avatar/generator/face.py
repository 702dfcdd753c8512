"""Puts the face together: the skin, and the drawings on it, in layers a millimetre apart.

The heights below decide what covers what. They are as small as a 24-bit depth buffer likes and as large as the coarsest
skin triangle (0.3 mm off the true surface) demands; `test_generator.py` checks that no drawing sinks below the skin.
"""

import numpy as np

from .expressions import VISEMES
from .eyes import CENTRE_Y, Eye
from .geometry import disc, grid_triangles
from .head import NOSE_Y, add_drawing, add_skin
from .mouth import Mouth
from .params import REST

WHITE, IRIS, HIGHLIGHT, LASH, LOWER_LASH, CREASE, BROW = 0.0010, 0.0017, 0.0023, 0.0044, 0.0042, 0.0042, 0.0046
INSIDE, TONGUE, TEETH, LIP_LINE = 0.0016, 0.0021, 0.0023, 0.0030
NOSE, BLUSH, CHIN = 0.0014, 0.0036, 0.0016
OPEN_MOUTH = REST.with_(**VISEMES["aa"])


def _spot(x, y, half_width, half_height, count):
    """A soft disc that stays where it is (nose mark, blush)."""
    points, triangles = disc(2, count(20, 8))

    def outline(params):
        lifted = params.nose_y * 0.012 if x == 0 else 0.0
        return points * [half_width, half_height] + [x, y + lifted]

    return outline, triangles, points * 0.5 + 0.5


def _chin_line(count):
    """A jaw line that has no width until a camera from below asks for it."""
    n = count(25)
    u = np.linspace(-1, 1, n)
    thick = 0.0016 * np.sqrt(np.clip(1 - u**2, 0, 1))

    def outline(params):
        x, y = u * 0.096, -0.180 + 0.042 * u**2
        half = thick * params.chin_line
        return np.concatenate([np.stack([x, y - half], -1), np.stack([x, y + half], -1)])

    return outline, grid_triangles(2, n), None


def add_face(model):
    count = model.count
    add_skin(model)
    for side, sign in (("l", 1), ("r", -1)):
        eye = Eye(side, count)
        add_drawing(model, "eye_white", eye.white(), WHITE, shift=eye.shift)
        add_drawing(model, "iris", eye.iris(), IRIS, shift=eye.shift)
        for highlight in eye.highlights():
            add_drawing(model, "highlight", highlight, HIGHLIGHT, shift=eye.shift)
        frame, lifts = eye.frame()
        add_drawing(model, "lid", frame, lifts, shift=eye.shift)
        add_drawing(model, "line", eye.lash(), LASH, shift=eye.shift)
        add_drawing(model, "line", eye.lower_lash(), LOWER_LASH, shift=eye.shift)
        add_drawing(model, "soft_line", eye.crease(), CREASE, shift=eye.shift)
        add_drawing(model, "brow", eye.brow(), BROW, shift=eye.shift)
        add_drawing(model, "blush", _spot(sign * 0.124, CENTRE_Y - 0.064, 0.034, 0.020, count), BLUSH)
    mouth = Mouth(count)
    add_drawing(model, "mouth", mouth.inside(), INSIDE, OPEN_MOUTH, "mouth_lift")
    add_drawing(model, "tongue", mouth.tongue(), TONGUE, OPEN_MOUTH, "mouth_lift")
    add_drawing(model, "teeth", mouth.teeth(), TEETH, OPEN_MOUTH, "mouth_lift")
    add_drawing(model, "line", mouth.line(), LIP_LINE, extra_lift="mouth_lift")
    add_drawing(model, "soft_line", _chin_line(count), CHIN, REST.with_(chin_line=1.0))
    add_drawing(model, "soft_line", _spot(0, NOSE_Y - 0.003, 0.0040, 0.0024, count), NOSE)
