"""Headphones and the bands of the twin tails. They follow the head bone and never morph."""

import numpy as np

from .geometry import PI, resample, signed_power, tube
from .head import CENTRE, HEIGHT, POWER, WIDTH
from .skeleton import TAIL_PATH, mirrored, rigid

CUP_Y, CUP_Z = -0.020, -0.014


def _add(model, material, path, radii, segments, **tube_options):
    points, triangles = tube(path, radii, model.count(segments, 6), **tube_options)
    model.add("Body", material, points, triangles, rigid(len(points), "head"))


def add_headset(model):
    count = model.count
    # The band follows the hair's outline and ends inside the cups.
    angle = np.linspace(0.04, PI - 0.04, count(30))
    band = np.stack([(WIDTH + 0.034) * signed_power(np.cos(angle), 2 / POWER), (HEIGHT + 0.042) * np.sin(angle) ** (2 / POWER),
                     np.full(len(angle), CUP_Z)], -1)
    taper = np.full(len(angle), 0.0115)
    _add(model, "dark", band + CENTRE, taper, 10, flatness=1.5)
    for sign in (1, -1):
        # Cushion, shell and a small lit disc; each is a lathe profile along x.
        for start, end, radius, material in ((0.222, 0.258, 0.058, "dark"), (0.252, 0.276, 0.046, "accent"),
                                             (0.272, 0.282, 0.022, "pale")):
            x = np.array([0, 0, 0.06, 0.25, 0.75, 0.94, 1, 1])
            profile = np.array([0.001, 0.90, 0.97, 1, 1, 0.95, 0.86, 0.001]) * radius
            # Rings at the same place would leave the tube's direction undefined: keep them a hair apart.
            x = x + np.arange(len(x)) * 1e-4
            path = np.stack([sign * (start + (end - start) * x), np.full(len(x), CUP_Y), np.full(len(x), CUP_Z)], -1)
            _add(model, material, path + CENTRE, profile, 22)
        root, first = mirrored(TAIL_PATH, sign)[:2]
        middle, along = root * 0.5 + first * 0.5, (first - root) / np.linalg.norm(first - root)
        across = np.cross(along, [0, 0, 1])
        across /= np.linalg.norm(across)
        third = np.cross(along, across)
        turn = np.linspace(0, 2 * PI, count(18) + 1)
        ring = middle + 0.030 * (np.cos(turn)[:, None] * across + np.sin(turn)[:, None] * third)
        _add(model, "accent", ring, resample([0.0135], len(ring)), 8, up=along)
