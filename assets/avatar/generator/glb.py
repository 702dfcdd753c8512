"""A small GLB writer: accessors, sparse morph deltas, PNG images. Knows nothing of avatars.

The same calls give the same bytes: floats are rounded to a micrometre before they are stored, so the last bit of a
platform's ``sin`` does not matter.
"""

import json
import struct
import zlib

import numpy as np

COMPONENT = {"f4": 5126, "u4": 5125, "u2": 5123, "u1": 5121}
VERTEX, INDEX = 34962, 34963


def png(image):
    """PNG bytes of an 8-bit image (height, width, 1 | 3 | 4)."""
    height, width, channels = image.shape
    # Each row is stored as differences to the row above (filter 2): gradients shrink to almost nothing.
    above = np.concatenate([np.zeros((1, width, channels), np.uint8), image[:-1]])
    rows = (image - above).reshape(height, -1)
    raw = b"".join(b"\2" + row.tobytes() for row in rows)

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, {1: 0, 3: 2, 4: 6}[channels], 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(raw, 9)) + chunk(b"IEND", b"")


class Glb:
    def __init__(self, generator):
        self.json = dict(asset=dict(version="2.0", generator=generator), scene=0, scenes=[dict(nodes=[])],
                         **{key: [] for key in ("nodes", "meshes", "skins", "materials", "textures", "images", "samplers",
                                                "accessors", "bufferViews", "extensionsUsed")}, extensions={})
        self.data = bytearray()

    def _append(self, key, value):
        self.json[key].append(value)
        return len(self.json[key]) - 1

    def add_view(self, data, target=None):
        self.data += b"\0" * (-len(self.data) % 4)
        view = dict(buffer=0, byteOffset=len(self.data), byteLength=len(data))
        if target:
            view["target"] = target
        self.data += data
        return self._append("bufferViews", view)

    def view_bytes(self, index):
        view = self.json["bufferViews"][index]
        return bytes(self.data[view["byteOffset"]:view["byteOffset"] + view["byteLength"]])

    def add_accessor(self, values, kind, dtype, target=None, bounds=False, normalized=False):
        """``kind`` is "SCALAR", "VEC3", …; ``dtype`` one of COMPONENT."""
        values = np.asarray(values)
        values = np.ascontiguousarray(np.round(values, 6) + 0.0 if dtype == "f4" else values, "<" + dtype)
        accessor = dict(bufferView=self.add_view(values.tobytes(), target), componentType=COMPONENT[dtype],
                        count=len(values), type=kind)
        if normalized:
            accessor["normalized"] = True
        if bounds:
            accessor |= dict(min=values.min(0).tolist(), max=values.max(0).tolist())
        return self._append("accessors", accessor)

    def add_deltas(self, deltas, empty_has_view=True):
        """Morph deltas (VEC3), sparse where most vertices keep still.

        All-zero deltas become one explicit zero, or, without ``empty_has_view``, an accessor with neither view nor sparse
        part: legal, and not every reader knows.
        """
        deltas = np.round(np.asarray(deltas, float), 6) + 0.0
        moved = np.nonzero(np.abs(deltas).max(1) > 0)[0]
        if len(moved) > 0.7 * len(deltas):
            return self.add_accessor(deltas, "VEC3", "f4", bounds=True)
        deltas = deltas.astype("<f4")
        accessor = dict(componentType=COMPONENT["f4"], count=len(deltas), type="VEC3",
                        min=deltas.min(0).tolist(), max=deltas.max(0).tolist())
        if len(moved) or empty_has_view:
            moved = moved if len(moved) else np.array([0])
            dtype = "u2" if len(deltas) < 65536 else "u4"
            accessor["sparse"] = dict(
                count=len(moved),
                indices=dict(bufferView=self.add_view(moved.astype("<" + dtype).tobytes()), componentType=COMPONENT[dtype]),
                values=dict(bufferView=self.add_view(deltas[moved].tobytes())))
        return self._append("accessors", accessor)

    def add_texture(self, image, name):
        source = self._append("images", dict(name=name, mimeType="image/png", bufferView=self.add_view(png(image))))
        if not self.json["samplers"]:
            self._append("samplers", dict(magFilter=9729, minFilter=9987, wrapS=33071, wrapT=33071))
        return self._append("textures", dict(source=source, sampler=0))

    def to_bytes(self):
        document = {key: value for key, value in self.json.items() if value not in ([], {})}
        document["buffers"] = [dict(byteLength=len(self.data))]
        text = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
        text += b" " * (-len(text) % 4)
        data = bytes(self.data) + b"\0" * (-len(self.data) % 4)
        return (struct.pack("<III", 0x46546C67, 2, 28 + len(text) + len(data)) + struct.pack("<II", len(text), 0x4E4F534A)
                + text + struct.pack("<II", len(data), 0x004E4942) + data)
