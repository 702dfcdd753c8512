"""From the model to the bytes of a file: nodes, skins, textures, meshes with morph targets, and the chosen VRM flavour."""

import numpy as np

from . import textures, vrm0, vrm1
from .body import add_body
from .corrections import CORRECTIONS, morph_name
from .expressions import (ARKIT, EMOTIONS, EXTRAS, LIDS_AND_GAZE, MOUTH_CLOSE_FROM, MOUTH_CLOSE_TO, VISEMES, VOWEL_PRESETS)
from .face import add_face
from .glb import INDEX as INDEX_BUFFER, VERTEX, Glb
from .hair import add_hair
from .headset import add_headset
from .materials import LOOKS, material
from .model import Model, joined
from .params import REST
from .skeleton import BONES, INDEX, POSITIONS

GENERATOR = "omote mochi generator"
JAPANESE_BONES = dict(hips="腰", spine="背骨", chest="胸", neck="首", head="頭")


def build(options):
    model = Model(options.detail)
    add_face(model)
    add_hair(model)
    add_headset(model)
    add_body(model)
    return model


def morphs(options):
    """Morph name -> (drawing at weight 0, drawing at weight 1)."""
    recipes = EMOTIONS | LIDS_AND_GAZE | {f"viseme_{name}": recipe for name, recipe in VISEMES.items()} | ARKIT | EXTRAS
    if options.small:
        kept = {*EMOTIONS, *LIDS_AND_GAZE, *VOWEL_PRESETS.values()}
        recipes = {name: recipe for name, recipe in recipes.items() if name in kept}
    drawings = {name: (REST, REST.with_(**recipe)) for name, recipe in recipes.items()}
    if not options.small:
        drawings["mouthClose"] = (MOUTH_CLOSE_FROM, MOUTH_CLOSE_TO)
        drawings |= {morph_name(name): (REST, REST.with_(**recipe)) for name, (_, _, recipe) in CORRECTIONS.items()}
    return drawings


def _rotation_matrix(q):
    x, y, z, w = q
    return np.array([[1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
                     [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
                     [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)]])


def _inverse_times(a, b):
    """conjugate(a) * b, quaternions as x, y, z, w."""
    ax, ay, az, aw = -a[0], -a[1], -a[2], a[3]
    bx, by, bz, bw = b
    return np.array([aw * bx + ax * bw + ay * bz - az * by, aw * by - ax * bz + ay * bw + az * bx,
                     aw * bz + ax * by - ay * bx + az * bw, aw * bw - ax * bx - ay * by - az * bz])


class _Exporter:
    def __init__(self, options):
        self.options = options
        self.glb = Glb(GENERATOR)
        # Turning by 180 degrees about Y, not mirroring: left stays left.
        self.turn = np.array([-1.0, 1, -1]) if options.vrm0 else np.ones(3)
        self.mesh_nodes = {}  # mesh name -> node
        self.binds = {}       # morph name -> [(node, mesh, index)]

    def add_skeleton(self):
        nodes = self.glb.json["nodes"]
        rng = np.random.default_rng(7)
        rests = [np.array([0, 0, 0, 1.0])] * len(BONES)
        if self.options.rotbones:
            rests = [q / np.linalg.norm(q) for q in rng.normal(size=(len(BONES), 4))]
        self.inverse_bind = np.zeros((len(BONES), 4, 4))
        self.rests = [_rotation_matrix(rest) for rest in rests]
        for i, (name, parent, position) in enumerate(BONES):
            world = self.rests[i]
            parent_rest = rests[INDEX[parent]] if parent else np.array([0, 0, 0, 1.0])
            origin = POSITIONS[INDEX[parent]] if parent else np.zeros(3)
            offset = _rotation_matrix(parent_rest).T @ ((np.array(position) - origin) * self.turn)
            shown = JAPANESE_BONES.get(name, "ボーン_" + name) if self.options.japanese else name
            node = dict(name=shown, translation=(np.round(offset, 6) + 0.0).tolist())
            if self.options.rotbones:
                node["rotation"] = np.round(_inverse_times(parent_rest, rests[i]), 7).tolist()
            nodes.append(node)
            if parent:
                nodes[INDEX[parent]].setdefault("children", []).append(i)
            self.inverse_bind[i, :3, :3] = world.T
            self.inverse_bind[i, :3, 3] = -world.T @ (POSITIONS[i] * self.turn)
            self.inverse_bind[i, 3, 3] = 1
        root = len(nodes)
        nodes.append(dict(name="Root", children=[0]))
        self.glb.json["scenes"][0]["nodes"].append(root)
        if not self.options.multiskin:
            self._add_skin(np.arange(len(BONES)), skeleton=root)

    def _add_skin(self, order, **more):
        matrices = self.inverse_bind[order].transpose(0, 2, 1).reshape(-1, 16)  # glTF stores columns
        skins = self.glb.json["skins"]
        skins.append(dict(joints=order.tolist(), inverseBindMatrices=self.glb.add_accessor(matrices, "MAT4", "f4"), **more))
        return len(skins) - 1

    def add_materials(self):
        indices = {}
        if self.options.textured:
            for look in LOOKS.values():
                if look.texture and look.texture not in indices:
                    image = getattr(textures, look.texture)()
                    if look.texture == "iris" and self.options.hugetex:
                        image = np.kron(image, np.ones((32, 32, 1), np.uint8))
                    japanese = self.options.japanese and look.texture == "iris"
                    indices[look.texture] = self.glb.add_texture(image, "虹彩.png" if japanese else look.texture)
        self.materials = {}
        for name, look in LOOKS.items():
            self.materials[name] = len(self.glb.json["materials"])
            self.glb.json["materials"].append(material(name, indices.get(look.texture)))

    def add_meshes(self, model):
        document, drawings = self.glb.json, morphs(self.options)
        rng = np.random.default_rng(3)
        for mesh_name in model.meshes():
            mesh, node = len(document["meshes"]), len(document["nodes"])
            skin, order = 0, np.arange(len(BONES))
            if self.options.multiskin:
                order = rng.permutation(len(BONES))
                skin = self._add_skin(order)
            document["meshes"].append(dict(name=mesh_name, primitives=[]))
            document["nodes"].append(dict(name=mesh_name, mesh=mesh, skin=skin))
            document["scenes"][0]["nodes"].append(node)
            self.mesh_nodes[mesh_name] = node
            parts = {name: joined(chunks) for (owner, name), chunks in model.parts.items() if owner == mesh_name}
            deltas = {name: [self._delta(part, *pair) for part in parts.values()] for name, pair in drawings.items()}
            # The face has every target; other meshes have those that move them.
            deltas = {name: d for name, d in deltas.items() if mesh_name == "Face" or any(np.abs(x).max() > 1e-6 for x in d)}
            for k, (material_name, part) in enumerate(parts.items()):
                primitive = self._primitive(part, self.materials[material_name], np.argsort(order))
                if deltas:
                    primitive["targets"] = self._targets([d[k] for d in deltas.values()])
                document["meshes"][mesh]["primitives"].append(primitive)
            if deltas:
                shown = [f"目_{name}" if self.options.japanese else name for name in deltas]
                document["meshes"][mesh] |= dict(weights=[0.0] * len(deltas), extras=dict(targetNames=shown))
                for index, name in enumerate(deltas):
                    self.binds.setdefault(name, []).append((node, mesh, index))

    def _delta(self, part, before, after):
        if part.drawn_with is None:
            return np.zeros((len(part.points), 3))
        return (part.drawn_with(after) - part.drawn_with(before)) * self.turn

    def _targets(self, deltas):
        empty, targets = None, []
        for delta in deltas:
            if np.abs(np.round(delta, 6)).max() > 0:
                accessor = self.glb.add_deltas(delta)
            else:  # one accessor serves all the targets that leave this primitive alone
                if empty is None:
                    empty = self.glb.add_deltas(delta, empty_has_view=not self.options.noview)
                accessor = empty
            targets.append(dict(POSITION=accessor))
        return targets

    def _primitive(self, part, material_index, joint_order):
        add, narrow = self.glb.add_accessor, self.options.u8joints or self.options.small
        attributes = dict(
            POSITION=add(part.points * self.turn, "VEC3", "f4", VERTEX, bounds=True),
            NORMAL=add(part.normals * self.turn, "VEC3", "f4", VERTEX),
            TEXCOORD_0=add(part.uvs, "VEC2", "f4", VERTEX))
        # Only joints with a weight may name a bone, whatever the order.
        joints = np.where(part.weights > 0, joint_order[part.joints], 0)
        attributes["JOINTS_0"] = add(joints, "VEC4", "u1" if narrow else "u2", VERTEX)
        if narrow:
            weights = np.round(part.weights * 255).astype(int)
            weights[:, 0] += 255 - weights.sum(1)
            attributes["WEIGHTS_0"] = add(weights, "VEC4", "u1", VERTEX, normalized=True)
        else:
            attributes["WEIGHTS_0"] = add(part.weights, "VEC4", "f4", VERTEX)
        if self.options.vcolor:
            colour = np.clip(128 + 127 * np.sin(part.points * self.turn * 20), 0, 255)
            attributes["COLOR_0"] = add(np.pad(colour, ((0, 0), (0, 1)), constant_values=255), "VEC4", "u1", VERTEX, normalized=True)
        indices = add(part.triangles, "SCALAR", "u2" if len(part.points) < 65536 else "u4", INDEX_BUFFER)
        return dict(attributes=attributes, indices=indices, material=material_index)

    def add_flavour(self):
        document = self.glb.json
        if self.options.gltf:
            for entry in document["materials"]:
                entry["extensions"].pop("VRMC_materials_mtoon")
                if not entry["extensions"]:
                    entry.pop("extensions")
            document["extensionsUsed"] = ["KHR_materials_unlit"]
        elif self.options.vrm0:
            vrm0.add_extension(document, self.binds, self.options)
        else:
            def in_bone(bone, vector):
                """A model-space direction in the space of a bone at rest."""
                return (np.round(self.rests[INDEX[bone]].T @ vector, 6) + 0.0).tolist()

            vrm1.add_extensions(document, self.binds, self.mesh_nodes, in_bone, self.options)


def generate(options):
    """-> (bytes of the file, statistics)."""
    exporter = _Exporter(options)
    exporter.add_skeleton()
    exporter.add_materials()
    exporter.add_meshes(build(options))
    exporter.add_flavour()
    data = exporter.glb.to_bytes()
    document = exporter.glb.json
    primitives = [p for mesh in document["meshes"] for p in mesh["primitives"]]
    count = lambda accessor: document["accessors"][accessor]["count"]
    return data, dict(
        bytes=len(data), vertices=sum(count(p["attributes"]["POSITION"]) for p in primitives),
        triangles=sum(count(p["indices"]) // 3 for p in primitives), primitives=len(primitives),
        morphs=len(exporter.binds), bones=len(BONES))
