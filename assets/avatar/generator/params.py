"""``FaceParams``: the numbers the face is drawn with. One instance is one drawing of the face.

Sides are the avatar's own: ``_l`` is +X. Lengths in metres, weights mostly 0..1 (recipes may exceed 1).
"""

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class FaceParams:
    # Eyes. `blink` closes downwards, `happy` closes to an upward arc; both fully close at 1.
    blink_l: float = 0.0
    blink_r: float = 0.0
    happy_l: float = 0.0
    happy_r: float = 0.0
    wide_l: float = 0.0
    wide_r: float = 0.0
    squint_l: float = 0.0
    squint_r: float = 0.0
    # Upper lid lowered on one side: > 0 at the outer corner (sad), < 0 at the inner one (angry).
    lid_tilt_l: float = 0.0
    lid_tilt_r: float = 0.0
    # Gaze: x > 0 to the avatar's left, y > 0 up.
    look_x_l: float = 0.0
    look_x_r: float = 0.0
    look_y_l: float = 0.0
    look_y_r: float = 0.0
    pupil: float = 1.0
    # Where the whole eye sits and how it is stretched (camera-angle corrections).
    eye_scale_x_l: float = 1.0
    eye_scale_x_r: float = 1.0
    eye_x_l: float = 0.0
    eye_x_r: float = 0.0
    eye_y_l: float = 0.0
    eye_y_r: float = 0.0
    # Brows: height, tilt (> 0 outer end down), inner ends up.
    brow_l: float = 0.0
    brow_r: float = 0.0
    brow_tilt_l: float = 0.0
    brow_tilt_r: float = 0.0
    brow_inner: float = 0.0
    # Mouth. `open` 0 lips touch, 1 wide; `round` 0 lens-shaped, 1 an ellipse; `top` share of the opening above the line.
    open: float = 0.0
    mouth_width: float = 0.026
    round: float = 0.75
    top: float = 0.30
    mouth_x: float = 0.0
    mouth_y: float = 0.0
    mouth_slope: float = 0.0
    smile_l: float = 0.38
    smile_r: float = 0.38
    reach_l: float = 1.0
    reach_r: float = 1.0
    upper_lip_l: float = 0.0
    upper_lip_r: float = 0.0
    lower_lip_l: float = 0.0
    lower_lip_r: float = 0.0
    mouth_lift: float = 0.0  # metres above its usual layer
    tongue: float = 0.0
    tongue_out: float = 0.0
    teeth: float = 0.0
    line: float = 1.0
    # Fields that bend the head and everything drawn on it.
    jaw_drop: float = 0.0
    jaw_x: float = 0.0
    jaw_z: float = 0.0
    cheek_l: float = 0.0
    cheek_r: float = 0.0
    nose_y: float = 0.0
    chin_line: float = 0.0  # thickness of a drawn jaw line, 0 at rest
    # How far the face is redrawn for a camera in front, on the left, ... (see `corrections`).
    view_front: float = 0.0
    view_left: float = 0.0
    view_right: float = 0.0
    view_high: float = 0.0
    view_low: float = 0.0

    def of(self, name, side):
        """The value of a per-side parameter; ``side`` is ``"l"`` or ``"r"``."""
        return getattr(self, f"{name}_{side}")

    def with_(self, **changes):
        return replace(self, **changes)


REST = FaceParams()


def both(name, value):
    """The same value for the left and the right side."""
    return {f"{name}_l": value, f"{name}_r": value}
