"""The avatar as chunks of mesh, before it becomes a file.

A chunk may carry ``drawn_with``, a function from ``FaceParams`` to its points: that is all a morph target needs.
Chunks with the same mesh and material end up in one glTF primitive.
"""

from dataclasses import dataclass
from typing import Callable, Optional

import numpy as np

from .geometry import smooth_normals
from .params import FaceParams


@dataclass
class Chunk:
    points: np.ndarray
    normals: np.ndarray
    uvs: np.ndarray
    triangles: np.ndarray
    joints: np.ndarray
    weights: np.ndarray
    drawn_with: Optional[Callable[[FaceParams], np.ndarray]] = None


class Model:
    """Chunks by (mesh name, material name), in the order they were first added."""

    def __init__(self, detail=1.0):
        self.detail = detail
        self.parts: dict[tuple[str, str], list[Chunk]] = {}

    def count(self, full, least=3):
        """A vertex count scaled by the level of detail (1 = the bundled avatar)."""
        return max(least, round(full * self.detail))

    def add(self, mesh, material, points, triangles, skin, normals=None, uvs=None, drawn_with=None):
        """``skin`` is (joints, weights). Normals default to smooth ones, texture coordinates to 0."""
        triangles = np.asarray(triangles)
        if normals is None:
            normals = smooth_normals(points, triangles)
        if uvs is None:
            uvs = np.zeros((len(points), 2))
        chunk = Chunk(points, normals, uvs, triangles, *skin, drawn_with)
        self.parts.setdefault((mesh, material), []).append(chunk)

    def meshes(self):
        """Mesh names in order."""
        return list(dict.fromkeys(mesh for mesh, _ in self.parts))


def joined(chunks):
    """One chunk made of many; ``drawn_with`` draws them all (parts without one keep still)."""
    starts = np.cumsum([0] + [len(c.points) for c in chunks[:-1]])

    def draw(params):
        return np.concatenate([c.drawn_with(params) if c.drawn_with else c.points for c in chunks])

    return Chunk(
        *(np.concatenate([getattr(c, name) for c in chunks]) for name in ("points", "normals", "uvs")),
        np.concatenate([c.triangles + start for c, start in zip(chunks, starts)]),
        *(np.concatenate([getattr(c, name) for c in chunks]) for name in ("joints", "weights")),
        draw if any(c.drawn_with for c in chunks) else None,
    )
