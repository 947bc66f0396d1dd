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
        """How many of them are meant to be carried out before the next chunk is asked for."""
        ...

    def chunks(
        self, observation: Mapping[str, np.ndarray], *, instructions: Sequence[str], real: bool, noise: np.ndarray
    ) -> np.ndarray:
        """(n, horizon, actions) what to do next in n situations, in the units of `space.action`.

        observation: input name -> (n, elements), or (n, height, width, 3) uint8 of a picture.
        instructions: the task of each, in words. real: on a robot, not in a twin.
        noise: (n, horizon, actions) standard normals, for policies that draw: from each episode's own generator, so
        that what one does depends on no neighbour.
        """
        ...
