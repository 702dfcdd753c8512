"""Colours and MToon materials (VRM 1.0 form; `vrm0` translates them)."""

from dataclasses import dataclass
from typing import Optional


@dataclass(frozen=True)
class Look:
    """sRGB colours. ``unlit`` surfaces keep their colour in any light (drawn lines, eyes)."""

    lit: str
    shade: str
    outline: Optional[str] = None
    unlit: bool = False
    texture: Optional[str] = None
    untextured: Optional[str] = None  # colour that stands in where textures are left out
    alpha: Optional[float] = None
    rim: Optional[str] = None


def _drawn(colour, **more):
    return Look(colour, colour, unlit=True, **more)


LOOKS = {
    "skin": Look("#ffe4d5", "#f4bfb0", outline="#b5716b"),
    "lid": Look("#ffe4d5", "#f4bfb0"),
    "eye_white": _drawn("#ffffff", texture="eye_white"),
    "iris": _drawn("#ffffff", texture="iris", untextured="#c98a3c"),
    "highlight": _drawn("#ffffff"),
    "line": _drawn("#57303f"),
    "soft_line": _drawn("#cd958b"),
    "brow": _drawn("#7a64b2"),
    "mouth": _drawn("#8e2f3e"),
    "tongue": _drawn("#f08a92"),
    "teeth": _drawn("#ffffff"),
    "blush": _drawn("#ff8d96", texture="blush", alpha=0.35),
    "hair": Look("#ffffff", "#b9c6ee", outline="#5d4a8f", texture="hair", untextured="#b9a6ea", rim="#6f618f"),
    "strand": Look("#ffffff", "#b9c6ee", outline="#5d4a8f", texture="strand", untextured="#b9a6ea", rim="#6f618f"),
    "hoodie": Look("#fff4e2", "#e4c7b6", outline="#b08a78"),
    "hoodie_shade": Look("#fae6d0", "#dcbcaa", outline="#b08a78"),
    "accent": Look("#6fc7b6", "#3f9a92", outline="#2f7570"),
    "dark": Look("#5f5878", "#443e5a", outline="#2a2840"),
    "pale": Look("#f2f3f9", "#bcc0d6", outline="#7d86a0"),
}
OUTLINE_WIDTH_M = 0.0017


def to_linear(colour):
    """"#rrggbb" -> linear RGB."""
    srgb = [int(colour[i:i + 2], 16) / 255 for i in (1, 3, 5)]
    return [round(c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4, 6) for c in srgb]


def material(name, texture_index):
    """The glTF material; ``texture_index`` is None where textures are left out."""
    look = LOOKS[name]
    textured = look.texture is not None and texture_index is not None
    colour = look.lit if textured or look.untextured is None else look.untextured
    shade = colour if look.unlit else look.shade
    alpha = look.alpha if look.alpha is not None and not textured else 1.0
    pbr = dict(baseColorFactor=to_linear(colour) + [alpha], metallicFactor=0.0, roughnessFactor=0.9)
    mtoon = dict(specVersion="1.0", shadeColorFactor=to_linear(shade), shadingToonyFactor=0.92, shadingShiftFactor=-0.05,
                 giEqualizationFactor=0.9, parametricRimColorFactor=[0, 0, 0])
    if look.outline:
        mtoon |= dict(outlineWidthMode="worldCoordinates", outlineWidthFactor=OUTLINE_WIDTH_M,
                      outlineColorFactor=to_linear(look.outline), outlineLightingMixFactor=0.0)
    if look.rim:
        mtoon |= dict(parametricRimColorFactor=to_linear(look.rim), parametricRimFresnelPowerFactor=4.0,
                      rimLightingMixFactor=1.0)
    if textured:
        pbr["baseColorTexture"] = mtoon["shadeMultiplyTexture"] = dict(index=texture_index)
    result = dict(name=name, pbrMetallicRoughness=pbr)
    if look.alpha is not None:
        result["alphaMode"] = "BLEND"
        mtoon["transparentWithZWrite"] = False
    extensions = dict(VRMC_materials_mtoon=mtoon)
    if look.unlit:
        extensions["KHR_materials_unlit"] = {}
    return result | dict(extensions=extensions)
