"""Bones in the T-pose, spring chains, and skin weights.

Names without an underscore are VRM humanoid bones; names with one are spring bones. Positions in metres, avatar space.
"""

import numpy as np

from .geometry import smoothstep

SIDES = ((1, "left"), (-1, "right"))

# (name, parent, position); a parent always comes before its children.
BONES = [
    ("hips", None, (0, 0.36, 0)),
    ("spine", "hips", (0, 0.43, 0)),
    ("chest", "spine", (0, 0.52, 0)),
    ("neck", "chest", (0, 0.665, 0)),
    ("head", "neck", (0, 0.70, 0)),
]
for _x, _side in SIDES:
    BONES += [
        (f"{_side}Shoulder", "chest", (_x * 0.035, 0.635, 0)),
        (f"{_side}UpperArm", f"{_side}Shoulder", (_x * 0.085, 0.63, 0)),
        (f"{_side}LowerArm", f"{_side}UpperArm", (_x * 0.195, 0.63, 0)),
        (f"{_side}Hand", f"{_side}LowerArm", (_x * 0.305, 0.63, 0)),
        (f"{_side}UpperLeg", "hips", (_x * 0.058, 0.335, 0)),
        (f"{_side}LowerLeg", f"{_side}UpperLeg", (_x * 0.058, 0.19, 0)),
        (f"{_side}Foot", f"{_side}LowerLeg", (_x * 0.058, 0.055, -0.005)),
        (f"{_side}Toes", f"{_side}Foot", (_x * 0.058, 0.02, 0.05)),
    ]

# Centre lines of the hair that sways, from the root outwards (left side; the right one is mirrored).
TAIL_PATH = np.array([[0.168, 0.835, -0.085], [0.228, 0.832, -0.088], [0.284, 0.775, -0.080], [0.306, 0.690, -0.066],
                      [0.290, 0.600, -0.050]])
LOCK_PATH = np.array([[0.198, 0.965, 0.104], [0.206, 0.890, 0.109], [0.211, 0.795, 0.115], [0.192, 0.700, 0.112]])
AHOGE_PATH = np.array([[0.0, 1.125, 0.02], [0.010, 1.172, 0.030], [0.040, 1.200, 0.036], [0.078, 1.192, 0.042]])


def mirrored(path, sign):
    return path * [sign, 1, 1]


def _spring_chains():
    chains = {}
    for sign, letter in ((1, "L"), (-1, "R")):
        chains[f"tail{letter}"] = mirrored(TAIL_PATH, sign)[1:]
        chains[f"lock{letter}"] = mirrored(LOCK_PATH, sign)
    chains["ahoge"] = AHOGE_PATH
    return chains


# Spring chain name -> its bone names, root first.
SPRINGS = {}
for _name, _points in _spring_chains().items():
    _parent, SPRINGS[_name] = "head", []
    for _i, _point in enumerate(_points):
        BONES.append((f"{_name}_{_i}", _parent, tuple(_point)))
        _parent = f"{_name}_{_i}"
        SPRINGS[_name].append(_parent)

INDEX = {name: i for i, (name, _, _) in enumerate(BONES)}
POSITIONS = np.array([position for _, _, position in BONES], float)
HUMANOID = [name for name, _, _ in BONES if "_" not in name]


def rigid(count, bone):
    """Skin of ``count`` vertices that follow one bone."""
    joints, weights = np.zeros((count, 4), int), np.zeros((count, 4))
    joints[:, 0] = INDEX[bone]
    weights[:, 0] = 1
    return joints, weights


def along_chain(points, bones):
    """Skin of swaying hair: each vertex follows the two nearest segments of the chain."""
    ids = np.array([INDEX[name] for name in bones])
    at = POSITIONS[ids]
    middles = (at[:-1] + at[1:]) / 2
    distance = np.linalg.norm(points[:, None] - middles[None], axis=2)
    pull = 1 / (distance + 0.012) ** 4
    nearest = np.argsort(-pull, axis=1, kind="stable")[:, :2]
    joints, weights = np.zeros((len(points), 4), int), np.zeros((len(points), 4))
    joints[:, :2] = ids[nearest]
    weights[:, :2] = np.take_along_axis(pull, nearest, 1)
    return joints, weights / weights.sum(1, keepdims=True)


def along_limb(points, bones, blend):
    """Skin of a limb: one bone per stretch, blended over ``blend`` (share of the limb's length) at each joint."""
    ids = [INDEX[name] for name in bones]
    at = POSITIONS[ids]
    axis = at[-1] - at[0]
    joint_t = (at - at[0]) @ axis / (axis @ axis)
    t = (points - at[0]) @ axis / (axis @ axis)
    joints, weights = np.zeros((len(points), 4), int), np.zeros((len(points), 4))
    stretch = np.clip(np.searchsorted(joint_t, t, side="right") - 1, 0, len(ids) - 1)
    joints[:, 0] = np.array(ids)[stretch]
    weights[:, 0] = 1
    for k in range(1, len(ids)):
        near = np.abs(t - joint_t[k]) < blend
        share = smoothstep(-blend, blend, t[near] - joint_t[k])
        joints[near, :2] = ids[k - 1], ids[k]
        weights[near, 0], weights[near, 1] = 1 - share, share
    return joints, weights
