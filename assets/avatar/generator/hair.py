"""The hair: one shell of clumps around the head, and the strands that sway (twin tails, side locks, ahoge).

The shell is a single surface with a jagged lower edge. Separate leaf-shaped clumps would each draw an outline where they
dive into one another; a single surface has outlines at its edge and its silhouette only, from every side.

Shell coordinates: azimuth (degrees from the front, positive to the avatar's left) and t from 0 (crown) to 1 (edge).
"""

from dataclasses import dataclass

import numpy as np

from .geometry import PI, flipped, grid_triangles, signed_power, smoothstep, spline, tube
from .head import CENTRE, DEPTH, HEIGHT, POWER, WIDTH, far_side_recess, narrowing
from .skeleton import AHOGE_PATH, LOCK_PATH, SPRINGS, TAIL_PATH, along_chain, mirrored, rigid

TOP = HEIGHT + 0.030
SIDE = WIDTH + 0.020
FRONT = DEPTH + 0.022
TEXTURE_SPAN = 0.45  # the shell's texture covers this height, from TOP downwards


@dataclass(frozen=True)
class Clump:
    """Between two notches. Heights in head space; ``lean`` puts the tip left or right of the middle, -1..1."""

    start_deg: float
    end_deg: float
    start_notch: float
    end_notch: float
    tip: float
    lean: float = 0.0


# The fringe, from the avatar's right to its left. Notches over the eyes leave the brows free.
FRINGE = [
    Clump(-78, -47, 0.020, 0.066, -0.060, -0.35),
    Clump(-47, -24, 0.066, 0.122, 0.012, -0.45),
    Clump(-24, -3, 0.122, 0.082, 0.038, 0.45),
    Clump(-3, 23, 0.082, 0.124, 0.016, -0.35),
    Clump(23, 49, 0.124, 0.064, 0.020, 0.40),
    Clump(49, 78, 0.064, 0.020, -0.055, 0.40),
]
# The left half of the rest, mirrored for the right: temple, behind the ear, nape.
BACK = [
    Clump(78, 104, 0.020, -0.080, -0.115, 0.2),
    Clump(104, 128, -0.080, -0.120, -0.160, 0.1),
    Clump(128, 150, -0.120, -0.140, -0.186, 0.0),
    Clump(150, 167, -0.140, -0.150, -0.196, -0.1),
    Clump(167, 180, -0.150, -0.178, -0.190, 0.5),
]


def clumps():
    left = BACK
    right = [Clump(360 - c.end_deg, 360 - c.start_deg, c.end_notch, c.start_notch, c.tip, -c.lean) for c in reversed(BACK)]
    return FRINGE + left + right


def _edge(clump, s):
    """Height of the lower edge at ``s`` (-1 start .. 1 end of the clump): two arcs meeting in a tip."""
    before = s < clump.lean
    notch = np.where(before, clump.start_notch, clump.end_notch)
    reach = np.where(before, (s + 1) / (clump.lean + 1), (1 - s) / (1 - clump.lean))
    return notch + (clump.tip - notch) * np.clip(reach, 0, 1) ** 1.35


def _columns(model):
    """Azimuth, edge height and bulge (0 at notches, 1 mid-clump) of the shell's columns; tips and notches get one each."""
    azimuth, edge, bulge = [], [], []
    for clump in clumps():
        half = model.count(4, 2)
        s = np.concatenate([np.linspace(-1, clump.lean, half + 1), np.linspace(clump.lean, 1, half + 1)[1:-1]])
        azimuth.append(clump.start_deg + (s + 1) / 2 * (clump.end_deg - clump.start_deg))
        edge.append(_edge(clump, s))
        bulge.append(np.sqrt(np.clip(1 - s * s, 0, 1)))
    azimuth, edge, bulge = (np.concatenate(a) for a in (azimuth, edge, bulge))
    # The seam gets a second column, so that the texture can wrap.
    return np.append(azimuth, azimuth[0] + 360), np.append(edge, edge[0]), np.append(bulge, bulge[0])


def _shell_point(azimuth_deg, y, outwards):
    """A point of the hair's superellipsoid, moved outwards (m) in the horizontal plane."""
    a = np.radians(90 - azimuth_deg)
    girth = np.clip(1 - np.abs(y / TOP) ** POWER, 0, 1) ** (1 / POWER) * (0.55 * narrowing(y) + 0.45)
    x, z = signed_power(np.cos(a), 2 / POWER), signed_power(np.sin(a), 2 / POWER)
    length = np.hypot(SIDE * x, FRONT * z) * girth
    grown = 1 + outwards / np.maximum(length, 0.05)
    return np.stack(np.broadcast_arrays(SIDE * girth * x * grown, y, FRONT * girth * z * grown - 0.003), -1)


def _bend_shell(points, t, params):
    """Camera-angle corrections of the shell: fringe lifted for a camera above, far half follows the face for one aside."""
    front = smoothstep(0.05, 0.16, points[:, 2])
    d = np.zeros_like(points)
    hem = smoothstep(0.45, 1.0, t) * front
    d[:, 1] += params.view_high * 0.022 * hem
    d[:, 2] -= params.view_high * 0.006 * hem
    for weight, toward in ((params.view_left, 1), (params.view_right, -1)):
        recess = far_side_recess(-toward * points[:, 0]) * smoothstep(0.15, 0.75, t) * front
        d[:, 2] -= weight * 0.85 * recess
    return d


def _add_shell(model):
    azimuth, edge, bulge = _columns(model)
    rows = model.count(14, 6)
    columns = len(azimuth)
    # Even steps of polar angle from the crown to each column's edge.
    share = np.linspace(0.02, 1, rows)[:, None]
    cos_end = signed_power(edge / TOP, POWER / 2)
    y = TOP * signed_power(np.cos(share * np.arccos(cos_end)), 2 / POWER)
    clump_depth = 0.0120 * smoothstep(0.18, 0.80, share) * (bulge - 0.55)
    tucked = -0.0085 * smoothstep(0.70, 1.0, share)
    outer = _shell_point(azimuth, y, clump_depth + tucked)
    # The inside: from the edge back up under the hair until it is hidden in the head.
    inner_share = np.array([0.93, 0.80, 0.60])[:, None]
    inset = np.array([-0.0075, -0.0135, -0.0360])[:, None]
    inner_y = TOP * signed_power(np.cos(inner_share * np.arccos(cos_end)), 2 / POWER)
    inner = _shell_point(azimuth, inner_y, 0.0120 * smoothstep(0.18, 0.80, inner_share) * (bulge - 0.55)
                         - 0.0085 * smoothstep(0.70, 1.0, inner_share) + inset)
    points = np.concatenate([outer, inner]).reshape(-1, 3)
    t = np.concatenate([np.broadcast_to(share, y.shape), np.broadcast_to(inner_share, inner_y.shape)]).ravel()
    triangles = flipped(grid_triangles(rows + 3, columns))
    u = np.broadcast_to((azimuth + 78) / 360, (rows + 3, columns)).ravel()
    v = np.clip((TOP - points[:, 1]) / TEXTURE_SPAN, 0, 1)
    model.add("Hair", "hair", points + CENTRE, triangles, rigid(len(points), "head"), uvs=np.stack([u, v], -1),
              drawn_with=lambda params: points + _bend_shell(points, t, params) + CENTRE)


def _add_clip(model):
    """A hair clip on the left fringe: two bars that lie on the shell and bend with it."""
    for low, high, material in (((31.5, 0.122), (44.5, 0.100), "accent"), ((32.0, 0.104), (43.5, 0.086), "pale")):
        azimuth, y = (np.linspace(low[k], high[k], model.count(8)) for k in range(2))
        # Out of the bulge of this clump (0.0054 at most) by more than a bar is thick.
        path = _shell_point(azimuth, y, 0.0090)
        outwards = path[len(path) // 2] * [1, 0, 1]
        radii = 0.0062 * np.clip(1 - np.linspace(-1, 1, len(path)) ** 6, 0.05, 1) ** 0.5
        points, triangles = tube(path, radii, model.count(8), up=outwards / np.linalg.norm(outwards), flatness=0.55)
        t = np.full(len(points), 0.72)
        model.add("Hair", material, points + CENTRE, triangles, rigid(len(points), "head"),
                  drawn_with=lambda params, points=points, t=t: points + _bend_shell(points, t, params) + CENTRE)


def _add_strand(model, path, radii, segments, flatness, chain, v_range, up=(0, 0, 1)):
    """One swaying strand, flattened along ``up``.

    ``radii`` is a function of t (0 root .. 1 tip). The texture's v runs along it.
    """
    rings = len(path)
    t = np.linspace(0, 1, rings)
    points, triangles = tube(path, radii(t), segments, up=up, flatness=flatness)
    v = np.repeat(v_range[0] + (v_range[1] - v_range[0]) * t, segments)
    around = np.tile(np.abs(np.linspace(-1, 1, segments, endpoint=False)), rings)
    model.add("Strands", "strand", points, triangles, along_chain(points, SPRINGS[chain]), uvs=np.stack([around, v], -1))


def add_hair(model):
    count = model.count
    _add_shell(model)
    _add_clip(model)
    for sign, letter in ((1, "L"), (-1, "R")):
        _add_strand(model, spline(mirrored(TAIL_PATH, sign), count(20)),
                    lambda t: (0.018 + 0.054 * np.sin(PI * np.clip(t * 0.93 + 0.05, 0, 1)) ** 0.85) * (1 - t**5 * 0.97),
                    count(18), 0.80, f"tail{letter}", (0.08, 1.0))
        _add_strand(model, spline(mirrored(LOCK_PATH, sign), count(16)),
                    lambda t: 0.030 * (1 - t**2.4) ** 0.75 * (0.45 + 0.55 * smoothstep(0.1, 0.6, t)) + 0.0006,
                    count(12), 0.50, f"lock{letter}", (0.32, 0.98), up=(sign * 0.89, 0, 0.45))
    _add_strand(model, spline(AHOGE_PATH, count(14)), lambda t: 0.014 * (1 - t**2) ** 0.7 + 0.0005,
                count(8), 0.6, "ahoge", (0.0, 0.4))
