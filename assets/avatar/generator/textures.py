"""Textures, computed pixel by pixel. sRGB, 8 bit; arrays of shape (height, width, 3 or 4)."""

import numpy as np

from .geometry import PI, bell, smoothstep
from .hair import clumps


def _mix(a, b, share):
    share = np.asarray(share)[..., None]
    return a * (1 - share) + np.asarray(b, float) * share


def _bytes(image):
    return np.clip(np.round(image), 0, 255).astype(np.uint8)


def iris(n=256):
    """Amber: dark above, glowing below, a dark rim and an upright pupil."""
    y, x = np.mgrid[0:n, 0:n] / (n - 1) * 2 - 1
    radius = np.hypot(x, y)
    image = _mix(np.full((n, n, 3), [128.0, 66, 34]), [255, 200, 92], smoothstep(0.15, 0.95, (y + 1) / 2))
    image = _mix(image, [255, 244, 196], 0.62 * np.exp(-((x / 0.55) ** 2 + ((y - 0.60) / 0.28) ** 2)))
    rays = 0.5 + 0.5 * np.cos(np.arctan2(y, x) * 26)
    image = _mix(image, [150, 84, 40], 0.16 * rays * smoothstep(0.38, 0.55, radius) * smoothstep(0.85, 0.70, radius))
    image = _mix(image, [74, 34, 30], smoothstep(0.80, 0.93, radius))
    image = _mix(image, [46, 20, 24], 0.94 * smoothstep(0.42, 0.36, np.hypot(x / 0.95, (y + 0.05) / 1.12)))
    return _bytes(_mix(image, [58, 26, 30], 0.62 * smoothstep(-0.15, -0.80, y)))


def eye_white(h=64, w=8):
    """White with the soft shadow the upper lid throws."""
    y = np.linspace(0, 1, h)[:, None] * np.ones(w)
    return _bytes(_mix(np.full((h, w, 3), 255.0), [196, 190, 222], 0.85 * smoothstep(0.34, 0.10, y)))


def hair(h=256, w=1024):
    """The shell: lavender, darker to the tips, strand lines along the clumps, and a jagged ring of light."""
    v = np.linspace(0, 1, h)[:, None] * np.ones(w)
    azimuth = np.linspace(-78, 282, w)[None] * np.ones((h, 1))
    image = _mix(np.full((h, w, 3), [200.0, 183, 240]), [168, 148, 224], smoothstep(0.10, 0.75, v))
    ring = np.zeros((h, w))
    for k, clump in enumerate(clumps()):
        middle, half = (clump.start_deg + clump.end_deg) / 2, (clump.end_deg - clump.start_deg) / 2
        s = (azimuth - middle) / half
        inside = np.abs(s) < 1
        # The ring of light: soft above, ending below in three uneven spikes a clump.
        uneven = 0.7 + 0.6 * (k * 0.618 % 1)
        spikes = uneven * sum(size * np.clip(1 - np.abs(s - at) / 0.30, 0, 1)
                              for at, size in ((-0.55, 0.035), (0.05, 0.060), (0.60, 0.042)))
        top = 0.272 + 0.010 * s**2
        light = smoothstep(top - 0.012, top + 0.014, v) * smoothstep(0.006, 0.0, v - (0.296 + spikes))
        ring = np.where(inside, np.maximum(ring, light * smoothstep(1.0, 0.88, np.abs(s))), ring)
        # Strand lines: at the notch and two fine ones within.
        for position, width, strength in ((-1.0, 1.3, 0.50), (-0.30, 0.55, 0.22), (0.40, 0.55, 0.22)):
            distance = np.abs(azimuth - (middle + position * half))
            line = bell(distance, width * (0.25 + 0.75 * smoothstep(0.15, 0.80, v))) * smoothstep(0.015, 0.45, v)
            image = _mix(image, [128, 106, 192], strength * line)
    return _bytes(_mix(image, [243, 236, 255], 0.80 * ring))


def strand(h=256, w=32):
    """Swaying hair, root to tip: lavender to a peach tip, one highlight, fine lines."""
    v = np.linspace(0, 1, h)[:, None] * np.ones(w)
    u = np.linspace(0, 1, w)[None] * np.ones((h, 1))
    image = _mix(np.full((h, w, 3), [198.0, 180, 239]), [168, 148, 224], smoothstep(0.0, 0.6, v))
    image = _mix(image, [255, 198, 164], smoothstep(0.62, 1.0, v))
    line = bell(u - 0.45 - 0.1 * np.sin(v * PI), 0.05) * smoothstep(0.1, 0.4, v) * smoothstep(1.0, 0.8, v)
    image = _mix(image, [132, 110, 196], 0.25 * line)
    return _bytes(_mix(image, [240, 232, 255], 0.65 * bell(v - 0.24 - 0.02 * np.cos(u * 6 * PI), 0.028)))


def blush(n=64):
    y, x = np.mgrid[0:n, 0:n] / (n - 1) * 2 - 1
    alpha = np.clip(1 - np.hypot(x, y), 0, 1) ** 1.2 * 140
    return _bytes(np.concatenate([np.full((n, n, 3), 255.0), alpha[..., None]], -1))
