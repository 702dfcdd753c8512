"""The mouth as flat drawings: inside, tongue, teeth and lip line, from ``FaceParams`` to (x, y) in head space.

All four follow the same two lip curves, so they stay inside one another whatever the parameters.
At ``open`` 0 the curves coincide: the lips really touch, and inside, tongue and teeth have no area.
Opening the mouth does not move the chin (that is ``jaw_drop``, its own morph).
"""

import numpy as np

from .geometry import PI, grid_triangles, smoothstep
from .head import MOUTH_Y

GAP = 0.055  # lip distance at `open` 1, metres


class Mouth:
    def __init__(self, count):
        self.count = count
        self.n = count(29)
        self.u = np.sin(np.linspace(-PI / 2, PI / 2, self.n))  # -1 right corner, 1 left corner

    def lips(self, params):
        """x, upper lip y, lower lip y along the mouth."""
        u = self.u
        left = smoothstep(-0.5, 0.5, u)  # lop-sided shapes pass smoothly from one side to the other
        smile = params.smile_r + (params.smile_l - params.smile_r) * left
        middle = MOUTH_Y + params.mouth_y * 0.012 + smile * 0.0145 * (np.abs(u) ** 2.1 - 0.36) + params.mouth_slope * 0.012 * u
        gap = params.open * GAP * np.clip(1 - u * u, 0, 1) ** (0.95 - 0.45 * params.round)
        raised = (params.upper_lip_r + (params.upper_lip_l - params.upper_lip_r) * left) * 0.007 * (1 - u * u)
        lowered = (params.lower_lip_r + (params.lower_lip_l - params.lower_lip_r) * left) * 0.008 * (1 - u * u)
        x = params.mouth_x * 0.012 + u * params.mouth_width * np.where(u > 0, params.reach_l, params.reach_r)
        return x, middle + gap * params.top + raised, middle - gap * (1 - params.top) - lowered

    @staticmethod
    def _band(x, low, high, rows):
        t = np.linspace(0, 1, rows)[:, None]
        y = low + (high - low) * t
        return np.stack([np.broadcast_to(x, y.shape), y], -1).reshape(-1, 2)

    def _within(self, params, share):
        """x, upper and lower lip of the middle ``share`` of the mouth."""
        x, upper, lower = self.lips(params)
        middle = params.mouth_x * 0.012
        inner = middle + (x - middle) * share
        return inner, np.interp(inner, x, upper), np.interp(inner, x, lower)

    def inside(self):
        rows = self.count(6)

        def outline(params):
            x, upper, lower = self.lips(params)
            return self._band(x, lower, upper, rows)

        return outline, grid_triangles(rows, self.n), None

    def tongue(self):
        rows = self.count(4)

        def outline(params):
            x, upper, lower = self._within(params, 0.78)
            height = (0.16 + 0.42 * params.tongue) * np.clip(1 - (self.u * 0.92) ** 2, 0, 1) ** 0.6
            out = params.tongue_out * 0.022 * np.clip(1 - self.u**2, 0, 1) ** 0.4
            return self._band(x, lower - out, lower + (upper - lower) * height, rows)

        return outline, grid_triangles(rows, self.n), None

    def teeth(self):
        def outline(params):
            x, upper, lower = self._within(params, 0.82)
            height = np.minimum(0.0072 * params.teeth, (upper - lower) * 0.5) * np.clip(1 - (self.u * 0.9) ** 6, 0, 1)
            return self._band(x, upper - height, upper, 2)

        return outline, grid_triangles(2, self.n), None

    def line(self):
        """The drawn lip line: one ribbon above and one below; together they are the closed mouth's stroke."""
        u = self.u
        ends = 0.0012 * np.sign(u) * (np.abs(u) > 0.999)

        def outline(params):
            x, upper, lower = self.lips(params)
            thick = 0.00165 * params.line * (0.55 + 0.45 * np.clip(1 - u**4, 0, 1))
            ribbons = ((x + ends, upper - thick * 0.1), (x + ends * 1.5, upper + thick),
                       (x + ends * 1.5, lower - thick), (x + ends, lower + thick * 0.1))
            return np.concatenate([np.stack(r, -1) for r in ribbons])

        one = np.array(grid_triangles(2, self.n))
        return outline, np.concatenate([one, one + 2 * self.n]), None
