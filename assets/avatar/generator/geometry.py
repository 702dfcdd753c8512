"""Curves, tubes, grids and normals. Plain numpy; knows nothing of faces, files or avatars.

Index arrays are flat lists of triangles, counter-clockwise seen from outside.
"""

import numpy as np

PI = np.pi


def smoothstep(start, end, x):
    """0 at ``start``, 1 at ``end``, eased between; ``start`` may be the larger one."""
    t = np.clip((x - start) / (end - start), 0, 1)
    return t * t * (3 - 2 * t)


def bell(distance, width):
    """1 at distance 0, falling off as a Gaussian of standard deviation ``width``."""
    return np.exp(-0.5 * (distance / width) ** 2)


def signed_power(value, exponent):
    """``|value| ** exponent`` with the sign kept: the building block of superellipses."""
    return np.sign(value) * np.abs(value) ** exponent


def grid_triangles(rows, columns, wrap=False):
    """Triangles of a ``rows`` x ``columns`` vertex grid; ``wrap`` joins the last column to the first."""
    triangles = []
    for i in range(rows - 1):
        for j in range(columns if wrap else columns - 1):
            a, b = i * columns + j, i * columns + (j + 1) % columns
            c, d = b + columns, a + columns
            triangles += [a, b, c, a, c, d]
    return triangles


def flipped(triangles):
    """The same triangles seen from the other side."""
    return np.asarray(triangles).reshape(-1, 3)[:, [0, 2, 1]].ravel()


def facing_viewer(triangles, points_2d):
    """Triangles turned so that the drawing ``points_2d`` faces +Z (judged by its total signed area)."""
    a, b, c = (points_2d[np.asarray(triangles).reshape(-1, 3)[:, k]] for k in range(3))
    u, v = b - a, c - a
    area = np.sum(u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0])
    return np.asarray(triangles) if area >= 0 else flipped(triangles)


def disc(rings, segments):
    """Unit disc: points (centre first) and triangles."""
    angle = np.linspace(0, 2 * PI, segments, endpoint=False)
    circle = np.stack([np.cos(angle), np.sin(angle)], -1)
    points = np.concatenate([np.zeros((1, 2))] + [circle * (r / rings) for r in range(1, rings + 1)])
    triangles = []
    for k in range(segments):
        triangles += [0, 1 + k, 1 + (k + 1) % segments]
    for r in range(rings - 1):
        for k in range(segments):
            a, b = 1 + r * segments + k, 1 + r * segments + (k + 1) % segments
            triangles += [a, a + segments, b + segments, a, b + segments, b]
    return points, triangles


def spline(points, count):
    """``count`` points on the Catmull-Rom curve through ``points``."""
    points = np.asarray(points, float)
    last = len(points) - 1
    at = np.linspace(0, last, count)
    i = np.minimum(at.astype(int), last - 1)
    f = (at - i)[:, None]
    p0, p1 = points[np.maximum(i - 1, 0)], points[i]
    p2, p3 = points[i + 1], points[np.minimum(i + 2, last)]
    return 0.5 * (2 * p1 + (p2 - p0) * f + (2 * p0 - 5 * p1 + 4 * p2 - p3) * f**2
                  + (3 * p1 - p0 - 3 * p2 + p3) * f**3)


def resample(values, count):
    """A profile given by a few equally spaced values, interpolated to ``count``."""
    return np.interp(np.linspace(0, 1, count), np.linspace(0, 1, len(values)), values)


def tube(path, radii, segments, up=(0, 0, 1), flatness=1.0):
    """Skin around ``path``. ``flatness`` scales the thickness along the second cross axis. -> points, triangles"""
    path = np.asarray(path, float)
    along = np.gradient(path, axis=0)
    along /= np.linalg.norm(along, axis=1, keepdims=True) + 1e-12
    across = np.cross(np.broadcast_to(up, along.shape), along)
    across[np.linalg.norm(across, axis=1) < 1e-6] = [1, 0, 0]
    across /= np.linalg.norm(across, axis=1, keepdims=True)
    third = np.cross(along, across)
    angle = np.linspace(0, 2 * PI, segments, endpoint=False)
    radius = np.broadcast_to(np.asarray(radii, float), len(path))[:, None, None]
    ring = across[:, None] * np.cos(angle)[None, :, None] + flatness * third[:, None] * np.sin(angle)[None, :, None]
    points = path[:, None] + radius * ring
    return points.reshape(-1, 3), grid_triangles(len(path), segments, wrap=True)


def smooth_normals(points, triangles):
    """Area-weighted vertex normals; vertices at the same place share one (no seams)."""
    tri = np.asarray(triangles).reshape(-1, 3)
    face = np.cross(points[tri[:, 1]] - points[tri[:, 0]], points[tri[:, 2]] - points[tri[:, 0]])
    shared = np.unique(np.round(points / 1e-5).astype(np.int64), axis=0, return_inverse=True)[1].ravel()
    total = np.zeros((shared.max() + 1, 3))
    for k in range(3):
        np.add.at(total, shared[tri[:, k]], face)
    normal = total[shared]
    length = np.linalg.norm(normal, axis=1, keepdims=True)
    return np.where(length > 1e-12, normal / np.maximum(length, 1e-12), [0, 1, 0])
