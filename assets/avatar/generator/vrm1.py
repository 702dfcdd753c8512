"""The VRM 1.0 part of the file: VRMC_vrm and VRMC_springBone."""

from .expressions import ARKIT, EMOTIONS, EXTRAS, LIDS_AND_GAZE, VISEMES, VOWEL_PRESETS
from .corrections import CORRECTIONS, morph_name
from .skeleton import HUMANOID, INDEX, SPRINGS

VERSION = "1.0"
EYE_HEIGHT = 0.185  # above the head bone
REQUIRED_EXTENSIONS = ["VRMC_vrm", "VRMC_materials_mtoon", "VRMC_springBone", "KHR_materials_unlit"]
# None overrides the mouth: she can speak with every face.
OVERRIDES = {
    "happy": dict(overrideBlink="block"),
    "relaxed": dict(overrideBlink="blend"),
    "surprised": dict(overrideBlink="blend"),
    "laugh": dict(overrideBlink="block"),
}
# Spring chain prefix -> stiffness, drag, gravity.
SWAY = {"tail": (1.2, 0.35, 0.12), "lock": (1.0, 0.45, 0.20), "ahoge": (2.0, 0.40, 0.0)}
HEAD_COLLIDER = dict(offset=[0, 0.205, 0], radius=0.20)
CHEST_COLLIDER = dict(offset=[0, -0.08, 0], radius=0.10, tail=[0, 0.08, 0])


def sway(chain):
    return next(values for prefix, values in SWAY.items() if chain.startswith(prefix))


def humanoid_bones(minimal):
    optional = ("chest", "neck", "Shoulder", "Toes")
    return [bone for bone in HUMANOID if not (minimal and any(word in bone for word in optional))]


def expressions(available):
    """{"preset": {name: morph name}, "custom": {…}}; only morphs in ``available``. None means "plays nothing"."""
    preset = {name: name for name in [*EMOTIONS, *LIDS_AND_GAZE]} | dict(VOWEL_PRESETS) | {"neutral": None}
    custom = {f"viseme_{name}": f"viseme_{name}" for name in VISEMES} | {"viseme_sil": None}
    custom |= {name: name for name in [*ARKIT, "mouthClose", *EXTRAS, *map(morph_name, CORRECTIONS)]}
    keep = lambda table: {name: morph for name, morph in table.items() if morph is None or morph in available}
    return dict(preset=keep(preset), custom=keep(custom))


def _expression(name, morph, binds):
    expression = {} if morph is None else dict(
        morphTargetBinds=[dict(node=node, index=index, weight=1.0) for node, _, index in binds[morph]])
    return expression | OVERRIDES.get(name, {})


def _collider(bone, kind, shape, in_bone):
    """Offsets are written in the space of the bone they hang on, whatever its rest rotation."""
    turned = {key: in_bone(bone, value) if isinstance(value, list) else value for key, value in shape.items()}
    return dict(node=INDEX[bone], shape={kind: turned})


def add_extensions(document, binds, mesh_nodes, in_bone, options):
    """``binds``: morph name -> [(node, mesh, index)]; ``mesh_nodes``: mesh name -> node; ``in_bone``: bone, vector -> vector."""
    linear = lambda degrees: dict(inputMaxValue=degrees, outputScale=1.0)
    document["extensions"]["VRMC_vrm"] = dict(
        specVersion=VERSION,
        meta=dict(name="Mochi", version="1.0", authors=["omote contributors"], licenseUrl="https://vrm.dev/licenses/1.0/",
                  avatarPermission="everyone", commercialUsage="corporation", allowRedistribution=True,
                  modification="allowModificationRedistribution", creditNotation="unnecessary",
                  otherLicenseUrl="https://creativecommons.org/publicdomain/zero/1.0/"),
        humanoid=dict(humanBones={bone: dict(node=INDEX[bone]) for bone in humanoid_bones(options.minbones)}),
        expressions={kind: {name: _expression(name, morph, binds) for name, morph in table.items()}
                     for kind, table in expressions(binds).items()},
        lookAt=dict(offsetFromHeadBone=in_bone("head", [0, EYE_HEIGHT, 0]), type="expression", rangeMapHorizontalInner=linear(45),
                    rangeMapHorizontalOuter=linear(45), rangeMapVerticalDown=linear(30), rangeMapVerticalUp=linear(30)),
        firstPerson=dict(meshAnnotations=[dict(node=node, type="auto" if mesh == "Body" else "thirdPersonOnly")
                                          for mesh, node in mesh_nodes.items()]))
    springs = []
    for chain, bones in SPRINGS.items():
        stiffness, drag, gravity = sway(chain)
        springs.append(dict(name=chain, colliderGroups=[0], joints=[
            dict(node=INDEX[bone], hitRadius=0.02, stiffness=stiffness, gravityPower=gravity, gravityDir=[0, -1, 0],
                 dragForce=drag) for bone in bones]))
    document["extensions"]["VRMC_springBone"] = dict(
        specVersion=VERSION,
        colliders=[_collider("head", "sphere", HEAD_COLLIDER, in_bone), _collider("chest", "capsule", CHEST_COLLIDER, in_bone)],
        colliderGroups=[dict(name="body", colliders=[0, 1])], springs=springs)
    document["extensionsUsed"] = list(REQUIRED_EXTENSIONS)
