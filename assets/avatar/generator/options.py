"""What to generate. The bundled avatar is ``Options()``; every other setting makes a file for testing avatar loaders.

Each of these must look like the bundled avatar (that is the test), unless said otherwise.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    vrm0: bool = False          # VRM 0.x: faces -Z, other expression names, materialProperties
    gltf: bool = False          # plain glTF 2.0: bones and morph targets, no VRM extension at all
    small: bool = False         # few vertices, no textures, only the VRM preset morphs (looks coarser)
    rotbones: bool = False      # VRM 1.0 allows any rest rotation: every bone gets a random one
    minbones: bool = False      # only the required humanoid bones are declared
    japanese: bool = False      # Japanese bone, morph and image names
    noview: bool = False        # all-zero morph targets as accessors without buffer view
    multiskin: bool = False     # one skin per mesh, each with its joints in another order
    vcolor: bool = False        # vertex colours, which MToon must ignore
    u8joints: bool = False      # joint indices and weights as bytes
    hugetex: bool = False       # 8192 x 8192 iris texture
    no_textures: bool = False   # plain colours only (looks plainer)

    @property
    def detail(self):
        return 0.35 if self.small else 1.0

    @property
    def textured(self):
        return not (self.no_textures or self.small)
