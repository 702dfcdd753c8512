"""The VRM 0.x part of the file: one VRM extension instead of three, and materialProperties.

The avatar faces -Z in a 0.x file; `export` turns the geometry, this module only writes names and numbers.
"""

from . import vrm1
from .skeleton import INDEX, SPRINGS

PRESET_NAMES = dict(aa="a", ih="i", ou="u", ee="e", oh="o", blink="blink", blinkLeft="blink_l", blinkRight="blink_r",
                    happy="joy", angry="angry", sad="sorrow", relaxed="fun", lookUp="lookup", lookDown="lookdown",
                    lookLeft="lookleft", lookRight="lookright", neutral="neutral")


def _vector(values):
    return dict(x=values[0], y=values[1], z=values[2])


def _srgb(colour):
    """Linear RGB -> sRGB: 0.x stores colours as they are picked."""
    return [round(12.92 * c if c <= 0.0031308 else 1.055 * c ** (1 / 2.4) - 0.055, 5) for c in colour[:3]]


def _material_properties(material):
    """Takes the MToon extension off a glTF material and returns its 0.x form."""
    mtoon = material["extensions"].pop("VRMC_materials_mtoon")
    material["extensions"] = {"KHR_materials_unlit": {}}
    pbr = material["pbrMetallicRoughness"]
    texture = pbr.get("baseColorTexture", {}).get("index")
    blend = material.get("alphaMode") == "BLEND"
    return dict(
        name=material["name"], shader="VRM/MToon", renderQueue=3000 if blend else 2000,
        floatProperties=dict(
            _Cutoff=0.5, _BumpScale=1, _ReceiveShadowRate=1, _ShadeShift=0.0, _ShadeToony=0.9, _LightColorAttenuation=0,
            _IndirectLightIntensity=0.1, _RimLightingMix=1, _RimFresnelPower=4, _RimLift=0,
            _OutlineWidth=round(mtoon.get("outlineWidthFactor", 0) * 100, 4), _OutlineScaledMaxDistance=1,
            _OutlineLightingMix=0, _UvAnimScrollX=0, _UvAnimScrollY=0, _UvAnimRotation=0, _BlendMode=2 if blend else 0,
            _CullMode=2, _OutlineWidthMode=1 if mtoon.get("outlineWidthMode") else 0, _OutlineColorMode=0,
            _SrcBlend=5 if blend else 1, _DstBlend=10 if blend else 0, _ZWrite=0 if blend else 1),
        vectorProperties=dict(
            _Color=_srgb(pbr["baseColorFactor"]) + [pbr["baseColorFactor"][3]], _ShadeColor=_srgb(mtoon["shadeColorFactor"]) + [1],
            _MainTex=[0, 0, 1, 1], _RimColor=_srgb(mtoon["parametricRimColorFactor"]) + [1], _EmissionColor=[0, 0, 0, 1],
            _OutlineColor=_srgb(mtoon.get("outlineColorFactor", [0, 0, 0])) + [1]),
        textureProperties={} if texture is None else dict(_MainTex=texture, _ShadeTexture=texture),
        keywordMap=dict(_ALPHABLEND_ON=True) if blend else {},
        tagMap=dict(RenderType="Transparent" if blend else "Opaque"))


def _blend_shape_groups(binds):
    groups = []
    for kind, table in vrm1.expressions(binds).items():
        for name, morph in table.items():
            preset = PRESET_NAMES[name] if kind == "preset" and name in PRESET_NAMES else None
            groups.append(dict(
                name=preset.capitalize() if preset else name, presetName=preset or "unknown", isBinary=False,
                binds=[] if morph is None else [dict(mesh=mesh, index=index, weight=100.0) for _, mesh, index in binds[morph]],
                materialValues=[]))
    return groups


def add_extension(document, binds, options):
    linear = lambda degrees: dict(curve=[0, 0, 0, 1, 1, 1, 1, 0], xRange=degrees, yRange=1)
    springs = []
    for chain, bones in SPRINGS.items():
        stiffness, drag, gravity = vrm1.sway(chain)
        springs.append(dict(comment=chain, stiffiness=stiffness, gravityPower=gravity, gravityDir=_vector([0, -1, 0]),
                            dragForce=drag, center=-1, hitRadius=0.02, bones=[INDEX[bones[0]]], colliderGroups=[0]))
    head = vrm1.HEAD_COLLIDER
    document["extensions"]["VRM"] = dict(
        exporterVersion="mochi-generator", specVersion="0.0",
        meta=dict(title="Mochi", version="1.0", author="omote contributors", contactInformation="", reference="",
                  allowedUserName="Everyone", violentUssageName="Allow", sexualUssageName="Disallow",
                  commercialUssageName="Allow", licenseName="CC0", texture=-1),
        humanoid=dict(humanBones=[dict(bone=bone, node=INDEX[bone], useDefaultValues=True)
                                  for bone in vrm1.humanoid_bones(options.minbones)],
                      armStretch=0.05, legStretch=0.05, upperArmTwist=0.5, lowerArmTwist=0.5, upperLegTwist=0.5,
                      lowerLegTwist=0.5, feetSpacing=0, hasTranslationDoF=False),
        firstPerson=dict(firstPersonBone=INDEX["head"], firstPersonBoneOffset=_vector([0, vrm1.EYE_HEIGHT, 0]),
                         meshAnnotations=[dict(mesh=i, firstPersonFlag="Auto") for i in range(len(document["meshes"]))],
                         lookAtTypeName="BlendShape", lookAtHorizontalInner=linear(45), lookAtHorizontalOuter=linear(45),
                         lookAtVerticalDown=linear(30), lookAtVerticalUp=linear(30)),
        blendShapeMaster=dict(blendShapeGroups=_blend_shape_groups(binds)),
        secondaryAnimation=dict(boneGroups=springs, colliderGroups=[
            dict(node=INDEX["head"], colliders=[dict(offset=_vector(head["offset"]), radius=head["radius"])])]),
        materialProperties=[_material_properties(material) for material in document["materials"]])
    document["extensionsUsed"] = ["VRM", "KHR_materials_unlit"]
