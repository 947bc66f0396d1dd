"""Resampling of demonstrations to another rate, for data of robots with different control rates.

Values between two frames are interpolated linearly. Quaternions are interpolated linearly and normalised; at these step
sizes, the result differs from the arc by less than about a thousandth of a degree.
"""

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from twinloop.errors import DatasetError
from twinloop.observe.recording import Feature

if TYPE_CHECKING:
    from twinloop.learn.demonstrations import Demonstrations


def resampled(demonstrations: "Demonstrations", rate_hz: float) -> "Demonstrations":
    space = demonstrations.space
    if space.pictures:
        names = ", ".join(feature.name for feature in space.pictures)
        raise DatasetError(
            f"{demonstrations.source.name}: cannot be resampled to {rate_hz:g} Hz, because it has images ({names})"
        )
    lengths = np.maximum(1, np.floor((demonstrations.lengths - 1) * rate_hz / space.rate_hz + 1e-9).astype(int) + 1)
    starts = np.cumsum(lengths) - lengths
    since_start = np.arange(lengths.sum()) - np.repeat(starts, lengths)
    when = since_start * space.rate_hz / rate_hz
    before = np.floor(when + 1e-9).astype(int)
    share = np.maximum(when - before, 0).astype(np.float32)[:, None]
    first = np.repeat(demonstrations.starts, lengths) + before
    last = np.minimum(first + 1, np.repeat(demonstrations.starts + demonstrations.lengths - 1, lengths))

    def between(values: np.ndarray, feature: Feature) -> np.ndarray:
        near, far = values[first], values[last].copy()
        for start in quaternion_starts(feature):
            quad = slice(start, start + 4)
            # q and -q are the same orientation; the nearer one is used.
            far[:, quad] *= np.where((near[:, quad] * far[:, quad]).sum(axis=1, keepdims=True) < 0, -1, 1)
        out = near + share * (far - near)
        for start in quaternion_starts(feature):
            quad = slice(start, start + 4)
            out[:, quad] /= np.linalg.norm(out[:, quad], axis=1, keepdims=True)
        return out

    return replace(
        demonstrations,
        space=replace(space, rate_hz=rate_hz),
        vectors={feature.name: between(demonstrations.vectors[feature.name], feature) for feature in space.vectors},
        action=between(demonstrations.action, space.action),
        lengths=lengths,
        frame_weights=None if demonstrations.frame_weights is None else demonstrations.frame_weights[first],
    )


def quaternion_starts(feature: Feature) -> list[int]:
    """Return the indices at which quaternions (w, x, y, z) begin, by the names of the vector's elements."""
    tails = [name.rpartition(".")[2] for name in feature.names]
    wanted = ["qw", "qx", "qy", "qz"]
    return [start for start in range(len(tails) - 3) if tails[start : start + 4] == wanted]
