"""The head: one closed-form surface, and the fields that bend it together with everything drawn on it.

Head space throughout (origin ``CENTRE``). The surface is a superellipsoid, narrower at the chin, plus a small relief
(nose, chin). Drawings use ``lay_on``: their (x, y) is projected onto the surface and lifted by a layer height, and then
bent by the same ``bend`` as the skin, so nothing ever sinks in or floats off.

Normals are those of the *smooth* surface, without the relief: a nose that casts no shading edge of its own is what makes a
drawn face look drawn.
"""

import numpy as np

from .geometry import PI, bell, facing_viewer, grid_triangles, signed_power, smooth_normals, smoothstep
from .params import REST
from .skeleton import rigid

CENTRE = np.array([0, 0.905, 0.0])
WIDTH, HEIGHT, DEPTH = 0.222, 0.205, 0.205  # half axes
POWER = 2.35
POWER_BELOW = 3.0  # of y below the centre: a steeper lower face, so the mouth does not look at the floor
MOUTH_Y = -0.112
NOSE_Y = -0.062


def narrowing(y):
    """Share of the full width at height ``y``: the lower face tapers to the chin."""
    return 1 - 0.34 * np.clip(-y / HEIGHT, 0, 1) ** 1.9


def girth(y):
    """Share of the full girth at height ``y``: 1 at the centre, 0 at the poles."""
    return np.clip(1 - np.abs(y / HEIGHT) ** np.where(y < 0, POWER_BELOW, POWER), 0, 1) ** (1 / POWER)


def smooth_depth(x, y):
    """z of the front of the head without relief."""
    narrow = narrowing(y)
    rest = girth(y) ** POWER - np.abs(x / (WIDTH * narrow)) ** POWER
    return DEPTH * (0.85 + 0.15 * narrow) * np.clip(rest, 1e-4, 1) ** (1 / POWER)


def relief(x, y):
    """What the smooth surface lacks: a small nose, and a chin."""
    nose = 0.0075 * bell(x, 0.0105) * bell(y - NOSE_Y, 0.013)
    chin = 0.0080 * bell(x, 0.060) * bell(y + 0.172, 0.022)
    return nose + chin


def depth(x, y):
    return smooth_depth(x, y) + relief(x, y)


def normal(x, y, step=1e-3):
    """Normal of the smooth front surface."""
    dx = (smooth_depth(x + step, y) - smooth_depth(x - step, y)) / (2 * step)
    dy = (smooth_depth(x, y + step) - smooth_depth(x, y - step)) / (2 * step)
    n = np.stack([-dx, -dy, np.ones_like(dx)], -1)
    return n / np.linalg.norm(n, axis=-1, keepdims=True)


def _steady_at_mouth(y):
    """``y``, but hardly changing where an open mouth may be.

    Morph targets add up: an opened mouth gets the displacement of the *closed* lips. Fields that are to be combined with
    speech must therefore be nearly the same all over the mouth, or the skin rises through it. (For blinks the same holds
    of the eye; the fields below keep clear of it, from -0.074 upwards, or depend on x alone there.)
    """
    return np.interp(y, [-0.205, -0.182, -0.158, -0.098, -0.082, 0.0, 0.205], [-0.205, -0.182, -0.118, -0.112, -0.084, 0.0, 0.205])


def far_side_recess(across):
    """How far the half that is turned away steps back for a side view; ``across`` > 0 on the far side.

    Without it the far cheek of a broad, flat face hides nose and mouth from the side. With it the centre line is the profile.
    """
    return 0.034 * smoothstep(0.012, 0.098, across) * smoothstep(0.215, 0.150, across)


def _side_view(p, toward):
    """Camera far to one side (``toward`` = +1: the avatar's left)."""
    near = toward * p[:, 0]
    y = _steady_at_mouth(p[:, 1])
    d = np.zeros_like(p)
    # The far half steps back, most at eye level, least at the cheek: the contour gets its dip and its cheek.
    d[:, 2] -= far_side_recess(-near) * (0.72 + 0.28 * smoothstep(-0.118, -0.082, y))
    # Profile along the centre line: nose out and up, a dent between nose and lip, lips, chin.
    d[:, 2] += bell(p[:, 0], 0.016) * (0.0085 * bell(y - NOSE_Y - 0.004, 0.013) - 0.0030 * bell(y + 0.088, 0.009))
    d[:, 2] += 0.0035 * bell(p[:, 0], 0.030) * bell(y - MOUTH_Y, 0.011)
    d[:, 2] += 0.0070 * bell(p[:, 0], 0.055) * bell(y + 0.174, 0.018)
    d[:, 1] += 0.0040 * bell(p[:, 0], 0.012) * bell(y - NOSE_Y, 0.010)
    # The near cheek turns towards the camera around the mouth, and the jaw rises to the ear.
    d[:, 2] -= 0.011 * smoothstep(0.040, 0.095, near) * smoothstep(0.20, 0.13, near) * (
        bell(y + 0.115, 0.050) * smoothstep(-0.086, -0.110, y))
    d[:, 1] += 0.012 * smoothstep(0.06, 0.17, near) * smoothstep(-0.08, -0.16, y)
    return d


def _high_view(p):
    """Camera above: a shorter, more pointed lower face."""
    y = _steady_at_mouth(p[:, 1])
    d = np.zeros_like(p)
    d[:, 1] += 0.006 * smoothstep(-0.074, -0.112, y) + 0.016 * smoothstep(-0.112, -0.195, y)
    d[:, 2] += (0.016 * smoothstep(-0.074, -0.112, y) + 0.004 * smoothstep(-0.09, -0.16, p[:, 1])) * bell(p[:, 0], 0.085)
    d[:, 0] -= p[:, 0] * 0.15 * smoothstep(-0.074, -0.17, y)
    return d


def _low_view(p):
    """Camera below: the underside flattens and draws back, so that a jaw line remains and not a ball."""
    y = _steady_at_mouth(p[:, 1])
    # The neck grows out of the underside: there it keeps still.
    under = smoothstep(-0.130, -0.200, y) * smoothstep(0.045, 0.090, p[:, 2])
    d = np.zeros_like(p)
    d[:, 1] += 0.022 * under
    d[:, 2] += 0.010 * bell(p[:, 0], 0.070) * bell(y + 0.172, 0.020)
    d[:, 2] -= 0.020 * under * bell(p[:, 0], 0.12)
    d[:, 1] += 0.0050 * bell(p[:, 0], 0.012) * bell(p[:, 1] - NOSE_Y, 0.010)
    d[:, 0] -= p[:, 0] * 0.07 * smoothstep(-0.08, -0.17, y)
    return d


def _front_view(p):
    """Camera in front: no nose to catch an outline, slightly fuller cheeks, a softer chin."""
    d = np.zeros_like(p)
    d[:, 2] -= 0.0055 * bell(p[:, 0], 0.0105) * bell(p[:, 1] - NOSE_Y, 0.013)
    cheek = bell(p[:, 1] + 0.085, 0.045) * smoothstep(0.09, 0.19, np.abs(p[:, 0]))
    d[:, 0] += np.sign(p[:, 0]) * 0.0035 * cheek
    d[:, 1] += 0.0030 * smoothstep(-0.13, -0.20, p[:, 1]) * bell(p[:, 0], 0.09)
    return d


def bend(p, params):
    """Displacement of head-space points (rest position ``p``) for a drawing of the face."""
    in_front = smoothstep(0.0, 0.12, p[:, 2])
    d = np.zeros_like(p)
    lower = smoothstep(-0.146, -0.198, p[:, 1]) * in_front * bell(p[:, 0], 0.11)  # below the widest opening: see `_steady_at_mouth`
    sideways = smoothstep(-0.070, MOUTH_Y, p[:, 1]) * in_front
    d[:, 1] -= params.jaw_drop * 0.024 * lower
    d[:, 2] -= params.jaw_drop * 0.003 * lower
    d[:, 0] += params.jaw_x * 0.010 * sideways
    d[:, 2] += params.jaw_z * 0.010 * sideways
    for sign, side in ((1, "l"), (-1, "r")):
        puff = params.of("cheek", side)
        if puff:
            cheek = bell(p[:, 0] - sign * 0.105, 0.035) * bell(p[:, 1] + 0.100, 0.030) * in_front
            cheek *= smoothstep(-0.066, -0.092, p[:, 1])  # stops short of the eye
            d += (0.014 * puff * cheek)[:, None] * np.array([sign * 0.6, -0.1, 0.8])
    for weight, field in ((params.view_front, _front_view), (params.view_high, _high_view), (params.view_low, _low_view),
                          (params.view_left, lambda q: _side_view(q, 1)), (params.view_right, lambda q: _side_view(q, -1))):
        if weight:
            # The jaw fields reach round to the side of the jaw, where z is small; the back of the head stays.
            d += weight * field(p) * smoothstep(-0.02, 0.07, p[:, 2])[:, None]
    return d


def lay_on(points_2d, lift, params):
    """Points drawn at (x, y), put onto the head ``lift`` above the skin and bent with it. -> points, normals"""
    x, y = points_2d[:, 0], points_2d[:, 1]
    n = normal(x, y)
    on_skin = np.stack([x, y, depth(x, y)], -1)
    return on_skin + n * np.reshape(lift, (-1, 1)) + bend(on_skin, params), n


def _skin_grid(model):
    """Rows and columns of the skin mesh: dense around nose and mouth, coarse under the hair."""
    rows = np.concatenate([
        -HEIGHT * np.cos(np.linspace(0, 0.62, model.count(8))),
        np.linspace(-0.160, -0.030, model.count(26)),
        HEIGHT * np.sin(np.linspace(-0.08, PI / 2, model.count(12))),
    ])
    half = np.linspace(0, 1, model.count(19))
    quarter = PI / 2 * (0.28 * half + 0.72 * half**2.2)  # angle from the front, dense near 0
    back = np.linspace(PI / 2, PI, model.count(6))[1:]
    right = np.concatenate([quarter, back])
    return np.unique(np.round(rows, 6)), np.concatenate([PI / 2 - right, (PI / 2 + right[1:-1])[::-1]])


def add_skin(model):
    y, angle = _skin_grid(model)
    narrow = narrowing(y)
    x = (WIDTH * narrow * girth(y))[:, None] * signed_power(np.cos(angle), 2 / POWER)
    z = (DEPTH * (0.85 + 0.15 * narrow) * girth(y))[:, None] * signed_power(np.sin(angle), 2 / POWER)
    smooth = np.stack([x, np.broadcast_to(y[:, None], x.shape), z], -1).reshape(-1, 3)
    triangles = grid_triangles(len(y), len(angle), wrap=True)
    normals = smooth_normals(smooth, triangles)
    points = smooth.copy()
    points[:, 2] += relief(points[:, 0], points[:, 1]) * smoothstep(0.0, 0.05, points[:, 2])
    model.add("Face", "skin", points + CENTRE, triangles, rigid(len(points), "head"), normals=normals,
              drawn_with=lambda params: points + bend(points, params) + CENTRE)


def add_drawing(model, material, shape, lift, orient_with=REST, extra_lift=None, shift=None):
    """A flat drawing on the face. ``shape`` is (outline function, triangles, uvs or None).

    ``extra_lift`` names the parameter that lifts it further; ``shift`` gives a displacement common to all its points.
    """
    outline, triangles, uvs = shape

    def draw(params):
        height = lift + (getattr(params, extra_lift) if extra_lift else 0.0)
        moved = shift(params) if shift else 0.0
        return lay_on(outline(params), height, params)[0] + moved + CENTRE

    points, normals = lay_on(outline(REST), lift, REST)
    model.add("Face", material, points + CENTRE, facing_viewer(triangles, outline(orient_with)),
              rigid(len(points), "head"), normals=normals, uvs=uvs,
              drawn_with=draw)
