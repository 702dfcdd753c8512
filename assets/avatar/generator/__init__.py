"""Generator of omote's bundled avatar, "Mochi", and of the test files derived from it.

Everything is computed: no picture, mesh or texture comes from elsewhere, and the only dependency is numpy.
The output is released under CC0 (see ../LICENSE).

How the pieces fit, lowest first:

``geometry``     curves, tubes, grids, normals; knows nothing of avatars
``params``       ``FaceParams``: every number the face can be drawn with
``skeleton``     bones, spring chains, skin weights
``model``        chunks of mesh with an optional "draw me with these parameters" function
``head``         the closed-form head surface and the fields that bend it
``eyes, mouth``  flat curves; ``face`` lays them onto the head surface as layers
``hair, body, headset``  the rest
``expressions``  recipes: morph name -> changed face parameters
``corrections``  the same for the seven camera-angle corrections, and the sidecar
``textures, materials, glb, vrm1, vrm0, export``  the file

The idea: a morph target is *the same drawing with other numbers, minus the drawing at rest*.
A new expression is therefore one line in a table, and no vertex is ever moved by hand.

Space: metres, +Y up, the avatar faces +Z, +X is its left. "Head space" is the same with ``head.CENTRE`` as origin.
"""
