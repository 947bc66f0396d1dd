"""Procedural materials: a pattern and a palette from an index, the same on every machine.

Material 0 is plain, in the colours of the cell. Every other index determines, for each surface, one of six families of
patterns and its colours, scale and angle.
"""

from collections.abc import Callable
from zlib import crc32

import numpy as np

Pattern = Callable[[np.ndarray, np.ndarray, np.random.Generator], np.ndarray]
"""((1, size) x and (size, 1) y in 0..1, rng) -> share of the second colour, 0..1, at each pixel.

The result is (size, size), or an array that broadcasts to it."""


def material(index: int, surface: str, size: int, plain_rgb: tuple[float, float, float]) -> np.ndarray:
    """(size, size, 3) uint8: texture of `surface` with material `index`."""
    if index == 0:
        return np.broadcast_to(_bytes(np.array(plain_rgb)), (size, size, 3)).copy()
    rng = np.random.Generator(np.random.Philox(np.random.SeedSequence([index, crc32(surface.encode())])))
    x = np.arange(size)[None] / size
    # The index determines the family, so that consecutive indices cover all families; surfaces of one index differ.
    family = FAMILIES[(index + crc32(surface.encode())) % len(FAMILIES)]
    share = np.broadcast_to(family(x, x.T, rng), (size, size))
    first, second = _palette(rng)
    out = np.empty((size, size, 3), np.uint8)
    # One channel after the other: NumPy is slow over a short last axis.
    for channel in range(3):
        out[..., channel] = _bytes(first[channel] * (1 - share) + second[channel] * share)
    return out


def _palette(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two colours that differ mostly in lightness, as those of real materials do."""
    hue, saturation, light = rng.random(), 0.75 * rng.random(), 0.36 + 0.56 * rng.random()
    other = np.clip(light + rng.choice([-1, 1]) * (0.15 + 0.35 * rng.random()), 0.06, 0.97)
    return _rgb(hue, saturation, light), _rgb(hue + 0.12 * rng.standard_normal(), saturation, other)


def _rgb(hue: float, saturation: float, light: float) -> np.ndarray:
    wheel = 0.5 + 0.5 * np.cos(2 * np.pi * (hue - np.array([0, 1, 2]) / 3))
    return light * (1 - saturation + saturation * wheel)


def _bytes(colour: np.ndarray) -> np.ndarray:
    return np.round(np.clip(colour, 0, 1) * 255).astype(np.uint8)


def _turned(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    angle = rng.uniform(0, np.pi)
    return np.cos(angle) * x + np.sin(angle) * y


def _plain(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    return 0.12 * _noise(x, y, rng)


def _checker(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    # A whole number of cells, so that the pattern continues where the texture repeats.
    count = 2 * rng.integers(1, 5)
    return (np.floor(x * count) + np.floor(y * count)) % 2


def _stripes(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    wave = np.sin(2 * np.pi * rng.integers(2, 12) * (x if rng.random() < 0.5 else y))
    return np.clip(0.5 + rng.uniform(0.6, 4) * wave, 0, 1)


def _noise(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Octaves of cosines in random directions: cloudy and periodic."""
    total = np.zeros((len(y), x.shape[1]))
    for octave in (1, 2, 4, 8):
        for _ in range(3):
            a, b = rng.integers(-2, 3, size=2) * octave
            along, down = 2 * np.pi * (a * x + rng.random()), 2 * np.pi * b * y
            # cos(p + q) from cosines of the axes: far fewer of them than pixels.
            total += np.cos(along) / octave * np.cos(down)
            total -= np.sin(along) / octave * np.sin(down)
    return np.clip(0.5 + total / 6, 0, 1)


def _wood(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Wavy rings about a distant axis that is almost in the plane."""
    across = _turned(x, y, rng)
    rings = across * rng.uniform(5, 14) + 0.7 * _noise(x, y, rng) + 0.5 * np.sin(2 * np.pi * (x - y))
    grain = (rings % 1.0) ** 2
    return np.clip(0.75 * grain + 0.25 * rng.random(rings.shape), 0, 1)


def _speckle(x: np.ndarray, y: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Terrazzo: dots of several pixels."""
    size = len(y)
    dots = rng.random((size // 2, size // 2)) > rng.uniform(0.7, 0.95)
    return np.kron(dots, np.ones((2, 2)))[:size, :size] * 0.8 + 0.2 * _noise(x, y, rng)


FAMILIES: tuple[Pattern, ...] = (_plain, _checker, _stripes, _noise, _wood, _speckle)
