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
        identity = torch.eye(3, device=positions.device)
        # Not len(positions), which would fix the batch size of an ONNX export.
        rotation = identity.expand(positions.shape[0], 3, 3)
        point = torch.zeros_like(positions[:, :3])
        for number in range(len(self._columns)):
            before, shift, axis, reference, slides = constants[number].split([9, 3, 3, 1, 1])
            point = point + rotation @ shift
            rotation = rotation @ before.view(3, 3)
            moved = positions[:, number] - reference
            turned = (moved * (1 - slides))[:, None, None]
            point = point + (rotation @ axis) * (moved * slides)[:, None]
            skew = _skew(axis)
            # Rodrigues' formula.
            rotation = rotation @ (identity + turned.sin() * skew + (1 - turned.cos()) * (skew @ skew))
        before, shift, _ = constants[-1].split([9, 3, 5])
        return point + rotation @ shift, rotation @ before.view(3, 3)


def _skew(axis: Tensor) -> Tensor:
    x, y, z = axis.unbind()
    zero = torch.zeros_like(x)
    return torch.stack([zero, -z, y, z, zero, -x, -y, x, zero]).view(3, 3)
