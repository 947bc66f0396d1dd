"""PolicyRuntime: a loaded policy that maps observations to action chunks, computed by torch or ONNX Runtime."""

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from twinloop.learn.space import Space


class PolicyRuntime(Protocol):
    @property
    def space(self) -> Space: ...

    @property
    def horizon(self) -> int:
        """Actions in a chunk."""
        ...

    @property
    def executed(self) -> int:
        """Actions of a chunk that are executed before the next inference."""
        ...

    def chunks(
        self, observation: Mapping[str, np.ndarray], *, instructions: Sequence[str], real: bool, noise: np.ndarray
    ) -> np.ndarray:
        """Return (n, horizon, actions) action chunks for n observations, in the units of `space.action`.

        Args:
            observation: input name -> (n, elements), or (n, height, width, 3) uint8 for an image.
            instructions: the task of each observation, in words.
            real: on a robot, not in a twin.
            noise: (n, horizon, actions) standard normal numbers, for policies that sample. They come from each
                episode's own generator, so that an episode does not depend on others in the batch.
        """
        ...
