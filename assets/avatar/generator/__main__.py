"""Command line: ``python -m generator OUT.vrm [--vrm0 …]``. The bundled avatar is written with its sidecar."""

import argparse
import hashlib
import pathlib
from dataclasses import fields

from .corrections import sidecar
from .export import generate
from .options import Options


def main():
    parser = argparse.ArgumentParser(prog="python -m generator", description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--sidecar", action="store_true", help="also write OUT with the ending .omote.toml")
    for field in fields(Options):
        parser.add_argument("--" + field.name.replace("_", "-"), action="store_true", help="test variant, see options.py")
    arguments = vars(parser.parse_args())
    out, with_sidecar = arguments.pop("out"), arguments.pop("sidecar")
    data, statistics = generate(Options(**arguments))
    out.write_bytes(data)
    if with_sidecar:
        out.with_suffix(".omote.toml").write_text(sidecar(), encoding="utf-8")
    print(out, " ".join(f"{key}={value}" for key, value in statistics.items()), hashlib.sha256(data).hexdigest())


if __name__ == "__main__":
    main()
