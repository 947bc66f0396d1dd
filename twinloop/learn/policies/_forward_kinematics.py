"""ForwardKinematics: forward kinematics of the arm, as a layer."""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn

from twinloop.learn.space import STATE, Space


class ForwardKinematics(nn.Module):
    """Joint positions -> position and rotation of the tool.

    Args:
        joints: names of the arm's joints in `observation.state`, from the base to the tool.
        constants: (joints + 1, 17) numbers of `KinematicChain.constants`.
    """

    def __init__(self, space: Space, joints: Sequence[str], constants: Sequence[Sequence[float]]):
        super().__init__()
        names = next(feature.names for feature in space.vectors if feature.name == STATE)
        self._columns = [names.index(joint) for joint in joints]
        self.register_buffer("constants", torch.tensor(constants, dtype=torch.float32))

    def forward(self, inputs: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Return (n, 3) positions in metres and (n, 3, 3) rotations, tool to world."""
        positions, constants = inputs[STATE][:, self._columns], self.get_buffer("constants")
        before, shifts, axes, references, slides = constants.split([9, 3, 3, 1, 1], dim=1)
        frames = before.reshape(-1, 3, 3)
        moved = positions - references[:-1, 0]
        slid = moved * slides[:-1, 0]
        turned = (moved - slid)[..., None, None]
        skew = _skew(axes[:-1])
        # All joints at once, each in the frame of the previous one: the loop below is short, and so is an ONNX graph.
        # Rotations by Rodrigues' formula.
        turns = torch.eye(3, device=moved.device) + turned.sin() * skew + (1 - turned.cos()) * (skew @ skew)
        turns = frames[:-1] @ turns
        steps = shifts[:-1] + (frames[:-1] @ axes[:-1, :, None]).squeeze(-1) * slid[..., None]
        rotation, point = turns[:, 0], steps[:, 0]
        for number in range(1, len(self._columns)):
            point = point + (rotation @ steps[:, number, :, None]).squeeze(-1)
            rotation = rotation @ turns[:, number]
        return point + rotation @ shifts[-1], rotation @ frames[-1]


def _skew(axes: Tensor) -> Tensor:
    """(n, 3, 3) matrices of the cross product with (n, 3) axes."""
    x, y, z = axes.unbind(-1)
    zero = torch.zeros_like(x)
    return torch.stack([zero, -z, y, z, zero, -x, -y, x, zero], dim=-1).reshape(-1, 3, 3)
