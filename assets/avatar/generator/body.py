"""The body: hoodie, arms, hands with fingers, shorts, legs and shoes. T-pose, avatar space."""

import numpy as np

from .geometry import PI, grid_triangles, flipped, resample, smoothstep, spline, tube
from .skeleton import INDEX, POSITIONS, SIDES, along_limb, rigid

# Torso profile: height, half width, half depth.
TORSO = np.array([(0.285, 0.096, 0.083), (0.296, 0.120, 0.101), (0.330, 0.127, 0.106), (0.400, 0.120, 0.100),
                  (0.480, 0.109, 0.091), (0.560, 0.103, 0.083), (0.610, 0.097, 0.076), (0.645, 0.080, 0.064),
                  (0.668, 0.058, 0.052), (0.680, 0.046, 0.044)])


def _torso_skin(points):
    """Blends hips, spine, chest and neck by height."""
    ids = np.array([INDEX[name] for name in ("hips", "spine", "chest", "neck")])
    heights = POSITIONS[ids][:, 1]
    below = np.clip(np.searchsorted(heights, points[:, 1]) - 1, 0, len(ids) - 2)
    share = smoothstep(0.3, 1.0, np.clip((points[:, 1] - heights[below]) / (heights[below + 1] - heights[below]), 0, 1))
    joints, weights = np.zeros((len(points), 4), int), np.zeros((len(points), 4))
    joints[:, 0], joints[:, 1] = ids[below], np.where(share > 0, ids[below + 1], 0)
    weights[:, 0], weights[:, 1] = 1 - share, share
    return joints, weights


def _torso_front(x, y):
    """z of the torso's front, for things sewn onto it."""
    width, deep = np.interp(y, TORSO[:, 0], TORSO[:, 1]), np.interp(y, TORSO[:, 0], TORSO[:, 2])
    return deep * np.sqrt(np.clip(1 - (x / width) ** 2, 0.05, 1))


class _Tailor:
    """Adds tubes to the "Body" mesh at the model's level of detail."""

    def __init__(self, model):
        self.model, self.count = model, model.count

    def tube(self, material, path, radii, segments, skin, **options):
        points, triangles = tube(path, radii, self.count(segments, 5), **options)
        self.model.add("Body", material, points, triangles, skin(points))

    def limb(self, material, path, radii, bones, segments=16, rings=16, **options):
        rings = self.count(rings, 5)
        self.tube(material, spline(path, rings), resample(radii, rings), segments,
                  lambda p: along_limb(p, bones, 0.10), **options)

    def ring(self, material, y, width, deep, thickness, bone, tilt=0.0, arc=(0, 2 * PI), segments=9):
        angle = np.linspace(*arc, self.count(24) + 1)
        path = np.stack([width * np.cos(angle), y + tilt * np.sin(angle), deep * np.sin(angle)], -1)
        closed = arc[1] - arc[0] > 6
        ends = 1 if closed else np.sin(np.linspace(0, PI, len(angle))) ** 0.4 + 0.01
        self.tube(material, path, thickness * np.ones(len(angle)) * ends, segments, lambda p: rigid(len(p), bone), up=(0, 1, 0))


def _add_torso(model, tailor):
    y = np.interp(np.linspace(0, 1, model.count(22)), np.linspace(0, 1, len(TORSO)), TORSO[:, 0])
    angle = np.linspace(0, 2 * PI, model.count(26), endpoint=False)
    width, deep = (np.interp(y, TORSO[:, 0], TORSO[:, k])[:, None] for k in (1, 2))
    points = np.stack([width * np.cos(angle), np.broadcast_to(y[:, None], (len(y), len(angle))), deep * np.sin(angle)], -1)
    points = points.reshape(-1, 3)
    model.add("Body", "hoodie", points, flipped(grid_triangles(len(y), len(angle), wrap=True)), _torso_skin(points))
    tailor.ring("accent", 0.302, 0.114, 0.097, 0.015, "hips")
    tailor.ring("hoodie", 0.668, 0.068, 0.062, 0.024, "chest", tilt=-0.014)
    # The hood, lying on the back: two rolls, open to the front.
    tailor.ring("hoodie", 0.640, 0.098, 0.088, 0.034, "chest", tilt=-0.004, arc=(PI * 0.98, PI * 2.02))
    tailor.ring("hoodie", 0.596, 0.070, 0.096, 0.030, "chest", tilt=0.004, arc=(PI * 1.05, PI * 1.95))


def _add_trim(model, tailor):
    """Drawstrings with beads, and the front pocket."""
    for sign, _ in SIDES:
        cord = spline([[sign * 0.028, 0.655, 0.082], [sign * 0.032, 0.615, 0.088], [sign * 0.034, 0.565, 0.091]], model.count(7))
        tailor.tube("accent", cord, np.full(len(cord), 0.0042), 7, lambda p: rigid(len(p), "chest"))
        bead = np.array([[sign * 0.034, 0.568 - 0.024 * t, 0.091] for t in (0, 0.1, 0.5, 0.9, 1)])
        tailor.tube("pale", bead, [0.001, 0.006, 0.0075, 0.006, 0.001], 8, lambda p: rigid(len(p), "chest"))
    # The pocket is a patch a few millimetres in front of the torso, its upper corners cut.
    rows, columns = model.count(5), model.count(11)
    v, u = np.linspace(0, 1, rows)[:, None], np.linspace(-1, 1, columns)
    y = np.broadcast_to(0.335 + 0.085 * v, (rows, columns))
    x = u * (0.074 - 0.026 * smoothstep(0.35, 1.0, v))
    edge = np.maximum(np.abs(u) ** 6, np.abs(2 * v - 1) ** 8)
    points = np.stack([x, y, _torso_front(x, y) + 0.005 - 0.007 * edge], -1).reshape(-1, 3)
    model.add("Body", "hoodie_shade", points, grid_triangles(rows, columns), _torso_skin(points))


def _add_arm(tailor, sign, side):
    arm = [f"{side}{bone}" for bone in ("Shoulder", "UpperArm", "LowerArm", "Hand")]
    up = (0, 1, 0)
    tailor.limb("hoodie", [[sign * x, y, 0] for x, y in ((0.055, 0.615), (0.10, 0.628), (0.20, 0.63), (0.290, 0.63), (0.300, 0.63))],
                [0.046, 0.050, 0.045, 0.043, 0.044, 0.050, 0.050, 0.012], arm, up=up)
    tailor.limb("accent", [[sign * x, 0.63, 0] for x in (0.288, 0.296, 0.305)], [0.030, 0.050, 0.047, 0.026], arm[2:], rings=8, up=up)
    hand = f"{side}Hand"

    def finger(path, radius, rings=7):
        rings = tailor.count(rings, 4)
        radii = radius * np.append(np.sqrt(np.clip(1 - np.linspace(0, 1, rings)[:-1] ** 5, 0, 1)), 0.05)
        tailor.tube("skin", spline(path, rings), radii, 8, lambda p: rigid(len(p), hand), up=up)

    # Palm (flat), four fingers side by side along z, and the thumb to the front.
    tailor.limb("skin", [[sign * x, y, 0.001] for x, y in ((0.295, 0.63), (0.318, 0.630), (0.340, 0.628), (0.352, 0.627))],
                [0.020, 0.027, 0.031, 0.029, 0.006], [f"{side}LowerArm", hand], segments=12, rings=9, up=up, flatness=0.55)
    for k, length in enumerate((0.046, 0.052, 0.048, 0.038)):
        z = 0.0215 - 0.0138 * k
        spread = (z - 0.001) * 0.25
        finger([[sign * 0.336, 0.628, z], [sign * (0.336 + length * 0.55), 0.627, z + spread * 0.5],
                [sign * (0.336 + length), 0.6225, z + spread]], 0.0084 - 0.0006 * (k == 3))
    finger([[sign * 0.314, 0.627, 0.018], [sign * 0.332, 0.624, 0.034], [sign * 0.347, 0.621, 0.041]], 0.0092)


def _add_leg(tailor, sign, side):
    leg = [f"{side}{bone}" for bone in ("UpperLeg", "LowerLeg", "Foot")]
    tailor.limb("dark", [[sign * x, y, 0] for x, y in ((0.055, 0.315), (0.058, 0.27), (0.060, 0.215), (0.060, 0.205))],
                [0.062, 0.064, 0.066, 0.058], leg, rings=9)
    tailor.limb("skin", [[sign * 0.058, y, 0] for y in (0.24, 0.16, 0.075)], [0.040, 0.040, 0.036, 0.034], leg, segments=14, rings=12)
    tailor.limb("pale", [[sign * 0.058, y, z] for y, z in ((0.125, 0), (0.09, 0), (0.055, 0.002))], [0.030, 0.041, 0.040, 0.042], leg,
                segments=14, rings=9)
    tailor.limb("accent", [[sign * x, y, z] for x, y, z in ((0.058, 0.036, -0.062), (0.058, 0.040, -0.045), (0.058, 0.042, 0.0),
                                                            (0.059, 0.036, 0.060), (0.060, 0.030, 0.098), (0.060, 0.028, 0.106))],
                [0.0005, 0.036, 0.043, 0.046, 0.034, 0.0005], [f"{side}Foot", f"{side}Toes"], segments=12, rings=12, up=(0, 1, 0))


def add_body(model):
    tailor = _Tailor(model)
    _add_torso(model, tailor)
    _add_trim(model, tailor)
    tailor.tube("skin", np.array([[0, 0.64, 0], [0, 0.68, 0], [0, 0.74, 0.005]]), [0.042, 0.040, 0.040], 18,
                lambda p: rigid(len(p), "neck"))
    for sign, side in SIDES:
        _add_arm(tailor, sign, side)
        _add_leg(tailor, sign, side)
