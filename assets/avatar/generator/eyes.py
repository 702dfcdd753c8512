"""The eyes and brows as flat drawings: outline functions from ``FaceParams`` to (x, y) in head space.

An eye is: white, iris with highlights, and over them a skin-coloured *frame* with an eye-shaped hole. The frame hides what
of the iris lies outside the eye, so a blink only has to close the hole; at full weight upper and lower edge of
the hole overlap by ``OVERLAP`` and nothing can show through.

Eye coordinates: u from -1 (inner corner) to 1 (outer corner).
"""

import numpy as np

from .geometry import PI, disc, grid_triangles, smoothstep
from .head import depth

CENTRE_X, CENTRE_Y = 0.084, -0.022
HALF_WIDTH, UPPER, LOWER = 0.043, 0.0485, 0.045
GAZE_X, GAZE_Y = 0.016, 0.014  # how far the iris goes, full gaze
OVERLAP = 0.0014


def lids(u, params, side):
    """Heights of upper and lower lid at ``u``, relative to the eye's centre."""
    blink, happy, wide, squint = (params.of(name, side) for name in ("blink", "happy", "wide", "squint"))
    round_ = np.clip(1 - np.abs(u) ** 2.4, 0, 1) ** 0.5
    upper = UPPER * (1 + 0.13 * wide) * round_ - 0.10 * UPPER * (u < 0) * u**2
    tilt = params.of("lid_tilt", side)
    upper = upper - 0.024 * abs(tilt) * smoothstep(-1.0, 1.0, np.sign(tilt) * u) * round_
    lower = -LOWER * (1 + 0.05 * wide) * round_ + 0.015 * squint * round_
    arch = np.clip(1 - u**2, 0, 1)
    closed = -0.62 * LOWER * arch**0.8 - 0.004 + 0.006 * u
    smiling = -0.014 + 0.027 * arch**0.75
    upper, lower = upper * (1 - blink) + closed * blink, lower * (1 - blink) + (closed - OVERLAP) * blink
    return upper * (1 - happy) + smiling * happy, lower * (1 - happy) + (smiling - OVERLAP) * happy


class Eye:
    """The drawings of one eye. ``side`` is ``"l"`` or ``"r"``; ``count`` scales vertex counts."""

    def __init__(self, side, count):
        self.side, self.sign, self.count = side, (1 if side == "l" else -1), count

    def _place(self, points, params):
        """Moves and stretches a drawing sideways, about the eye's centre (camera-angle corrections)."""
        centre = np.array([self.sign * CENTRE_X, CENTRE_Y])
        return (points - centre) * [params.of("eye_scale_x", self.side), 1.0] + centre + [params.of("eye_x", self.side), 0.0]

    def shift(self, params):
        """How the whole eye goes up or down, in 3D: one vector for all its parts, so that lids still meet when they close."""
        y = params.of("eye_y", self.side)
        # Along the skin, and a little off it, for the skin is rounder than a straight move.
        z = depth(CENTRE_X, CENTRE_Y + y) - depth(CENTRE_X, CENTRE_Y) + 0.28 * abs(y)
        return np.array([0.0, y, z])

    def _x(self, u):
        return self.sign * (CENTRE_X + u * HALF_WIDTH)

    def _ribbon(self, lower, upper, params):
        return self._place(np.concatenate([np.stack(lower, -1), np.stack(upper, -1)]), params)

    def white(self):
        n, rows = self.count(21), self.count(5)
        u = -np.cos(np.linspace(0, PI, n))
        t = np.linspace(0, 1, rows)[:, None]

        def outline(params):
            upper, lower = lids(u, params, self.side)
            y = CENTRE_Y + lower + (upper - lower) * t
            return self._place(np.stack([np.broadcast_to(self._x(u), y.shape), y], -1).reshape(-1, 2), params)

        uvs = np.stack(np.broadcast_arrays(0.5 + 0.5 * u, 1 - t), -1).reshape(-1, 2)
        return outline, grid_triangles(rows, n), uvs

    def _gazing_disc(self, size, offset, rings, segments, follow, shrinks=False):
        points, triangles = disc(rings, self.count(segments, 8))

        def outline(params):
            gaze = np.array([params.of("look_x", self.side) * GAZE_X, params.of("look_y", self.side) * GAZE_Y])
            scale = params.pupil if shrinks else 1.0
            centre = np.array([self.sign * (CENTRE_X - 0.004), CENTRE_Y + 0.003])
            return self._place(points * size * scale + centre + offset + gaze * follow, params)

        return outline, triangles, points * [0.5, -0.5] + 0.5

    def iris(self):
        return self._gazing_disc(np.array([0.0340, 0.0425]), np.zeros(2), 3, 36, 1.0, shrinks=True)

    def highlights(self):
        """Both highlights lie on the same side of both eyes: there is one light."""
        return [self._gazing_disc(np.array(size), np.array(at), 1, 18, 0.85)
                for size, at in (((0.0105, 0.0125), (0.0115, 0.0165)), ((0.0055, 0.0062), (-0.0130, -0.0165)),
                                 ((0.0030, 0.0034), (-0.0060, -0.0250)))]

    def frame(self):
        """The skin with the eye-shaped hole, and how high each of its rings lies above the skin."""
        m = self.count(24)
        u = np.cos(np.linspace(0, PI, m))
        angle = np.concatenate([np.linspace(0, PI, m), np.linspace(PI, 2 * PI, m)[1:-1]])
        outer = np.stack([self.sign * (CENTRE_X + np.cos(angle) * HALF_WIDTH * 1.42),
                          CENTRE_Y + 0.003 + np.sin(angle) * np.where(np.sin(angle) > 0, UPPER * 1.50, LOWER * 1.50)], -1)
        rings, lifts = (0, 0.2, 0.45, 0.7, 0.88, 1), (0.0035, 0.0035, 0.0034, 0.0032, 0.0024, 0.0003)

        def outline(params):
            upper, lower = lids(u, params, self.side)
            inner = np.concatenate([np.stack([self._x(u), CENTRE_Y + upper], -1),
                                    np.stack([self._x(u[::-1]), CENTRE_Y + lower[::-1]], -1)[1:-1]])
            return self._place(np.concatenate([inner * (1 - t) + outer * t for t in rings]), params)

        return (outline, grid_triangles(len(rings), len(outer), wrap=True), None), np.repeat(lifts, len(outer))

    def lash(self):
        """Upper lash line: thin at the inner corner, thick above the iris, running out into one wing."""
        n = self.count(27)
        u = np.linspace(-1, 1, n)
        # Thickness is laid off along the curve's normal, so the line stays even where the lid is steep.
        thick = 0.0003 + 0.0080 * smoothstep(-1.0, 0.15, u) * (1 - 0.35 * smoothstep(0.5, 1.0, u))

        def outline(params):
            upper, _ = lids(u, params, self.side)
            closed = min(1.0, params.of("blink", self.side) + params.of("happy", self.side))
            curve = np.stack([u * HALF_WIDTH, upper], -1)
            tangent = np.gradient(curve, axis=0)
            across = np.stack([-tangent[:, 1], tangent[:, 0]], -1)
            across /= np.linalg.norm(across, axis=1, keepdims=True) + 1e-9
            width = thick[:, None] * (1 - 0.30 * closed)
            tip = np.array([HALF_WIDTH * 1.17, upper[-1] + 0.007 - 0.006 * closed])
            over = curve + across * width * 0.85
            under = curve - across * width * 0.25
            to_tip_over, to_tip_under = smoothstep(0.62, 1.0, u)[:, None], smoothstep(0.93, 1.0, u)[:, None]
            over = over * (1 - to_tip_over) + tip * to_tip_over
            under = under * (1 - to_tip_under) + tip * to_tip_under
            at = np.array([self.sign, 1])
            return self._place(np.concatenate([under, over]) * at + [self.sign * CENTRE_X, CENTRE_Y], params)

        return outline, grid_triangles(2, n), None

    def lower_lash(self):
        n = self.count(11)
        u = np.linspace(0.10, 0.95, n)
        thick = 0.0016 * np.sin(np.linspace(0, PI, n))

        def outline(params):
            _, lower = lids(u, params, self.side)
            x, y = self._x(u), CENTRE_Y + lower
            return self._ribbon((x, y - thick * 1.3), (x, y + thick * 0.3), params)

        return outline, grid_triangles(2, n), None

    def crease(self):
        n = self.count(13)
        u = np.linspace(-0.50, 0.70, n)
        thick = 0.0010 * np.sin(np.linspace(0, PI, n))

        def outline(params):
            upper, _ = lids(u, params, self.side)
            closed = max(params.of("blink", self.side), params.of("happy", self.side))
            x, y = self._x(u), CENTRE_Y + upper + 0.0140 - 0.0035 * closed
            return self._ribbon((x, y - thick), (x, y + thick), params)

        return outline, grid_triangles(2, n), None

    def brow(self):
        """A soft arch whose inner end is a little higher than the outer one: friendly at rest."""
        n = self.count(17)
        v = np.linspace(-1, 1, n)
        thick = 0.0040 * (1 - 0.70 * smoothstep(-0.1, 1, v)) * np.sqrt(np.clip(1 - np.abs(v) ** 8, 0, 1))

        def outline(params):
            x = self.sign * (CENTRE_X + v * 0.031 + 0.001)
            y = (CENTRE_Y + 0.0775 - 0.0085 * v**2 - 0.0035 * v + params.of("brow", self.side) * 0.013
                 - params.of("brow_tilt", self.side) * 0.012 * v + params.brow_inner * 0.013 * smoothstep(0.6, -1, v))
            return self._ribbon((x, y - thick), (x, y + thick), params)

        return outline, grid_triangles(2, n), None
