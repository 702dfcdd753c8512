"""Checks of the generated avatar: ``python -m unittest`` in this folder. Needs numpy only."""

import json
import pathlib
import struct
import unittest

import numpy as np

from generator.corrections import CORRECTIONS, morph_name, sidecar
from generator.export import build, generate, morphs
from generator.expressions import ARKIT, EXTRAS, VISEMES
from generator.eyes import lids
from generator.mouth import GAP, Mouth
from generator.model import joined
from generator.options import Options
from generator.params import REST, both

MODEL = build(Options())
DRAWINGS = morphs(Options())


def drawn(material, *names):
    """Points of a face part with the named morphs at full weight, added up as a renderer does."""
    part = joined(MODEL.parts["Face", material])
    points = part.points.copy()
    for name in names:
        before, after = DRAWINGS[name]
        points += part.drawn_with(after) - part.drawn_with(before)
    return points, part.triangles.reshape(-1, 3)


def clearance(points, skin, triangles):
    """How far ``points`` lie in front of the skin (along z), where there is skin behind them."""
    front = skin[triangles]
    front = front[front[:, :, 2].mean(1) > 0.06]
    a, b, c = front[:, 0], front[:, 1], front[:, 2]
    best = np.full(len(points), -np.inf)
    for k, p in enumerate(points):
        near = np.abs(a[:, :2] - p[:2]).max(1) < 0.04
        u, v, w = b[near] - a[near], c[near] - a[near], p[:2] - a[near, :2]
        det = u[:, 0] * v[:, 1] - u[:, 1] * v[:, 0]
        ok = np.abs(det) > 1e-12
        s = np.where(ok, (w[:, 0] * v[:, 1] - w[:, 1] * v[:, 0]) / np.where(ok, det, 1), -1)
        t = np.where(ok, (u[:, 0] * w[:, 1] - u[:, 1] * w[:, 0]) / np.where(ok, det, 1), -1)
        hit = (s >= -1e-6) & (t >= -1e-6) & (s + t <= 1 + 1e-6)
        if hit.any():
            best[k] = (a[near, 2] + s * u[:, 2] + t * v[:, 2])[hit].max()
    return points[:, 2] - best


class Mouths(unittest.TestCase):
    def test_lips_touch_at_rest_and_for_p_b_m(self):
        for recipe in ({}, VISEMES["PP"]):
            _, upper, lower = Mouth(MODEL.count).lips(REST.with_(**recipe))
            self.assertLess(np.abs(upper - lower).max(), 1e-9)

    def test_vowel_openings_are_what_the_program_assumes(self):
        for name, opening in (("aa", 1.0), ("O", 0.75), ("E", 0.55), ("U", 0.40), ("I", 0.35)):
            _, upper, lower = Mouth(MODEL.count).lips(REST.with_(**VISEMES[name]))
            self.assertAlmostEqual((upper - lower).max() / GAP, opening, delta=0.02, msg=name)

    def test_vowel_widths(self):
        width = lambda name: np.ptp(Mouth(MODEL.count).lips(REST.with_(**VISEMES[name]))[0])
        rest = 2 * REST.mouth_width
        self.assertLess(width("U"), 0.6 * rest)
        self.assertLess(width("O"), 0.9 * rest)
        self.assertGreater(width("E"), 1.3 * rest)
        self.assertGreater(width("I"), 1.4 * rest)

    def test_opening_keeps_the_chin_and_jaw_drop_moves_it(self):
        rest, _ = drawn("skin")
        for name in ("viseme_aa", "jawOpen", "viseme_O"):
            self.assertEqual(np.abs(drawn("skin", name)[0] - rest).max(), 0, name)
        self.assertLess((drawn("skin", "jaw_drop")[0] - rest)[:, 1].min(), -0.015)

    def test_mouth_never_sinks_into_the_skin(self):
        mouths = ("viseme_aa", "viseme_E", "viseme_O", "viseme_U", "jawOpen", "happy")
        worst = {}
        for correction in [None, "jaw_drop", *map(morph_name, CORRECTIONS)]:
            for mouth in mouths:
                names = [mouth] + ([correction] if correction else [])
                skin, triangles = drawn("skin", *names)
                points = np.concatenate([drawn(part, *names)[0] for part in ("mouth", "tongue", "teeth")])
                worst[tuple(names)] = clearance(points, skin, triangles).min()
        sunk = {names: round(1000 * gap, 2) for names, gap in worst.items() if gap < 0.0003}
        self.assertEqual(sunk, {}, "millimetres in front of the skin")


class Eyes(unittest.TestCase):
    def test_blink_and_smile_close_fully(self):
        u = np.linspace(-1, 1, 201)
        for recipe in (both("blink", 1), both("happy", 1), both("blink", 1) | both("wide", 1) | both("squint", 1)):
            upper, lower = lids(u, REST.with_(**recipe), "l")
            self.assertGreater((upper - lower).min(), 0)  # the lower edge lies below: white and lids cross nowhere
            self.assertLess((upper - lower).max(), 0.002)

    def test_closed_eye_hides_the_iris(self):
        """With the eye closed every iris point is behind the frame: inside its outline and in front of nothing."""
        gazes = ["lookUp", "lookDown", "lookLeft", "lookRight"]
        for name in ("blink", "happy", "laugh"):
            for other in [None, *gazes, *map(morph_name, CORRECTIONS)]:
                names = [name] + ([other] if other else [])
                frame, triangles = drawn("lid", *names)
                for part in ("eye_white", "iris", "highlight"):
                    points, _ = drawn(part, *names)
                    gap = clearance(points, frame, triangles)
                    seen = (gap > -0.0002) & np.isfinite(gap)
                    self.assertEqual(seen.sum(), 0, (names, part))

    def test_eyes_stay_on_the_skin(self):
        for correction in map(morph_name, CORRECTIONS):
            skin, triangles = drawn("skin", correction)
            for part in ("eye_white", "iris", "brow", "line"):
                gap = clearance(drawn(part, correction)[0], skin, triangles)
                self.assertGreater(gap[np.isfinite(gap)].min(), 0, (correction, part))


class File(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data, cls.statistics = generate(Options())
        length = struct.unpack_from("<I", cls.data, 12)[0]
        cls.document = json.loads(cls.data[20:20 + length])

    def test_same_bytes_every_run(self):
        self.assertEqual(generate(Options())[0], self.data)

    def test_committed_files_are_what_the_generator_makes(self):
        here = pathlib.Path(__file__).parent
        self.assertEqual((here / "mochi.vrm").read_bytes() == self.data, True, "run: python -m generator mochi.vrm --sidecar")
        self.assertEqual((here / "mochi.omote.toml").read_text(encoding="utf-8"), sidecar())

    def test_budget(self):
        self.assertLess(self.statistics["triangles"], 25_000)
        self.assertLess(self.statistics["bytes"], 3_000_000)

    def test_expressions(self):
        vrm = self.document["extensions"]["VRMC_vrm"]["expressions"]
        self.assertEqual(len(vrm["preset"]), 18)
        self.assertEqual(len(ARKIT) + 1, 52)
        for name in [*ARKIT, "mouthClose", *EXTRAS, *map(morph_name, CORRECTIONS), *(f"viseme_{v}" for v in VISEMES)]:
            self.assertIn(name, vrm["custom"])

    def test_surfaces_face_outwards(self):
        for key, chunks in MODEL.parts.items():
            for chunk in chunks:
                corner = chunk.points[chunk.triangles.reshape(-1, 3)]
                face = np.cross(corner[:, 1] - corner[:, 0], corner[:, 2] - corner[:, 0])
                agree = (face * chunk.normals[chunk.triangles.reshape(-1, 3)].mean(1)).sum()
                self.assertGreaterEqual(agree, 0, key)

    def test_sidecar_names_expressions_that_exist(self):
        import tomllib
        table = tomllib.loads(sidecar())
        custom = self.document["extensions"]["VRMC_vrm"]["expressions"]["custom"]
        self.assertEqual(len(table["correction"]), 7)
        for point in table["correction"]:
            self.assertTrue(set(point["expressions"]) <= set(custom))
        self.assertIn(table["laugh"]["expression"], custom)


if __name__ == "__main__":
    unittest.main()
