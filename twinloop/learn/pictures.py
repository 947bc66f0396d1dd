"""PictureStore: the camera frames of demonstrations, decoded once, small, and at random access on disk."""

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from twinloop.learn.demonstrations import Demonstrations


class PictureStore(Protocol):
    def gather(self, frames: Sequence[tuple[Demonstrations, np.ndarray]]) -> dict[str, np.ndarray]:
        """Input name -> (n, height, width, 3) uint8 of these frames of these demonstrations, back to back."""
        ...
