"""ToolResidual: a small network that shifts action chunks along a few directions of the tool."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from twinloop.learn.resample import quaternion_starts
from twinloop.learn.space import Space

SCALES_M = (0.01, 0.1)
"""Distances between things are seen at these scales. Normalised positions hardly show a millimetre."""
HIDDEN = 64
MOST_DEVIATIONS = 5.0
FIRST_OUTPUT = 0.01
"""The last layer begins with weights smaller by this factor, so that a new residual is near 0."""


class ToolResidual(nn.Module):
    """Observations -> (n, directions) shifts of the tool, and their offsets to the actions.

    The joints' offsets are a fixed linear function of the shifts, so that exploration moves the tool by millimetres
    without tilting it. Reinforcement learning sets `basis` (`learn/reinforce/tool_residual.py`).

    Args:
        width: elements of the normalised inputs.
        directions: number of shifts.
    """

    def __init__(self, space: Space, width: int, directions: int):
        super().__init__()
        self._places = [
            (feature.name, start - 3)
            for feature in space.vectors
            for start in quaternion_starts(feature)
            if [name.rpartition(".")[2] for name in feature.names[max(start - 3, 0) : start]] == ["x", "y", "z"]
        ]
        count = len(self._places)
        inputs = width + 3 * len(SCALES_M) * count * (count - 1) // 2
        self.layers = nn.Sequential(
            nn.Linear(inputs, HIDDEN), nn.ELU(), nn.Linear(HIDDEN, HIDDEN), nn.ELU(), nn.Linear(HIDDEN, directions)
        )
        self.register_buffer("basis", torch.zeros(space.action.shape[0], directions))

    def begin(self) -> None:
        """Make the shifts of a new residual small."""
        last = self.layers[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.mul_(FIRST_OUTPUT)
            last.bias.zero_()

    def forward(self, inputs: Mapping[str, Tensor], normalised: Tensor) -> Tensor:
        points = [inputs[name][:, start : start + 3] for name, start in self._places]
        apart = [second - first for place, first in enumerate(points) for second in points[place + 1 :]]
        seen = [torch.tanh(distance / scale) for distance in apart for scale in SCALES_M]
        return self.layers(torch.cat([normalised.clamp(-MOST_DEVIATIONS, MOST_DEVIATIONS), *seen], dim=1))

    def offsets(self, shifts: Tensor) -> Tensor:
        """(n, a) offsets in the units of the action."""
        return shifts @ self.get_buffer("basis").T
