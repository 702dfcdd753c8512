"""The seven camera-angle corrections: what an illustrator would draw differently from that side.

A face modelled to look right from the front looks wrong from the side: the mouth slides out of sight, the far eye sticks out,
the profile is the far cheek. Each correction redraws the face for one camera direction (α > 0: camera on
the avatar's left, β > 0: camera above); omote blends them by the direction the camera really has.

* **left / right**: the far half of the face steps back so that nose, lips and chin become the profile; the mouth comes
  over to the camera's side with its far corner pulled in; the far eye is flattened and moved behind the bridge of
  the nose; the near cheek turns to the camera and the jaw line rises to the ear.
* **high**: features lower, wider eyes, the mouth small and raised into sight, short pointed chin, fringe lifted out of the eyes.
* **low**: the underside of the head flattens and a jaw line is drawn; mouth corners, which would sink, are raised;
  eyes come down and narrow a little; the nose tip lifts.
* **low_left / low_right**: both, toned down where they would add up to too much.
* **front**: the nose is flattened, cheeks are a little fuller.
* **back** needs no drawing: it is the neutral point.

Morph targets add up, so no correction may open or close the lids or the lips: a blink has to close the eye from every side.
Eyes are moved and stretched sideways only.
"""

from .params import both


def _side(near, far, strength=1.0):
    """Changes for a camera on the ``near`` side, ``"l"`` or ``"r"``."""
    toward = 1 if near == "l" else -1
    view = "view_left" if near == "l" else "view_right"
    s = strength
    return {
        view: s,
        "mouth_x": toward * 1.75 * s,
        f"reach_{near}": 1 + 0.70 * s,
        f"reach_{far}": 1 - 0.45 * s,
        "mouth_slope": toward * 0.10 * s,
        "mouth_lift": 0.0042 * s,
        f"eye_scale_x_{far}": 1 - 0.20 * s,
        f"eye_x_{far}": toward * 0.011 * s,
        f"eye_scale_x_{near}": 1 + 0.10 * s,
        f"eye_x_{near}": -toward * 0.002 * s,
    }


_LOW = dict(view_low=1.0, chin_line=1.0, **both("eye_y", -0.006), **both("eye_scale_x", 0.97), mouth_y=-0.35, mouth_width=0.024,
            **both("smile", 0.62), nose_y=0.35)


def _low_side(near, far):
    return _side(near, far, 0.45) | dict(
        view_low=0.85, chin_line=0.5, **both("eye_y", -0.005), mouth_y=-0.2, **both("smile", 0.60), nose_y=0.3)


# name -> (alpha in degrees, beta in degrees, changed face parameters); the morph is called `correct_<name>`.
CORRECTIONS = {
    "front": (0.0, 0.0, dict(view_front=1.0, nose_y=0.05)),
    "left": (75.0, 0.0, _side("l", "r")),
    "right": (-75.0, 0.0, _side("r", "l")),
    "high": (0.0, 50.0, dict(view_high=1.0, **both("eye_y", -0.008), **both("eye_scale_x", 1.03), **both("brow", -0.45),
                             mouth_y=1.9, mouth_width=0.023, mouth_lift=0.0105, **both("smile", 0.15), nose_y=0.35)),
    "low": (0.0, -50.0, _LOW),
    "low_left": (50.0, -40.0, _low_side("l", "r")),
    "low_right": (-50.0, -40.0, _low_side("r", "l")),
}


def morph_name(name):
    return f"correct_{name}"


def sidecar():
    """The text of ``mochi.omote.toml``, which tells omote what a VRM file cannot."""
    lines = ["# What the VRM file cannot say about this avatar. Written by the generator; see generator/corrections.py.",
             "version = 1", ""]
    for name, (alpha, beta, _) in CORRECTIONS.items():
        lines += ["[[correction]]", f'name = "{name}"', f"alpha_deg = {alpha}", f"beta_deg = {beta}",
                  f"expressions = {{ {morph_name(name)} = 1.0 }}", ""]
    lines += ["[laugh]", 'expression = "laugh"', ""]
    return "\n".join(lines)
