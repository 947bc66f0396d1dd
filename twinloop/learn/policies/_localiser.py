"""Localiser: poses of the landmarks, from what the cameras see and where the tool is.

Each position is estimated twice: in the frame of the robot's base, and from the tool. A fixed camera is good at the
first. A camera on the wrist is good at the second, without having to learn the kinematics of the arm, and the closer it
is the better. The network also predicts the error of each estimate, and the two are averaged with weights 1 / error².
"""

from collections.abc import Mapping
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn.functional import smooth_l1_loss

from twinloop.learn.free_labels import POSE
from twinloop.learn.policies._forward_kinematics import ForwardKinematics
from twinloop.learn.scales import Scales

TOOL_UNIT_M = 0.1
"""Unit of the network's output for positions from the tool."""
NEAR_M, FAR_SHARE = 0.02, 0.2
"""An error counts in relation to NEAR_M plus this share of the distance from the tool: a grasp needs millimetres."""
FINE_M = 0.02
TYPICAL_LOG_ERROR = -4.0
ERROR_WEIGHT = 0.05

LOCATED = len(POSE) + 1
"""Numbers per landmark of `Located.flat`."""


@dataclass(frozen=True)
class Located:
    """Poses of the landmarks.

    Attributes:
        poses: (n, landmarks, 5) see `POSE`.
        log_error: (n, landmarks) logarithm of the expected error of the position, in metres.
    """

    poses: Tensor
    log_error: Tensor

    def flat(self) -> Tensor:
        return torch.cat([self.poses, self.log_error[..., None]], dim=2).flatten(1)

    @classmethod
    def of(cls, flat: Tensor) -> "Located":
        numbers = flat.unflatten(1, (-1, LOCATED))
        return cls(numbers[..., :-1], numbers[..., -1])


class Localiser(nn.Module):
    """Features of all cameras and vectors of the observation -> Located, and the loss.

    Args:
        seen: width of the features and vectors.
        tool: the arm's kinematics; None if they are unknown.
    """

    def __init__(self, landmarks: int, seen: int, scales: Scales, tool: ForwardKinematics | None, *, hidden: int):
        super().__init__()
        self._landmarks, self.tool = landmarks, tool
        outputs = LOCATED if tool is None else LOCATED + 4
        self.net = nn.Sequential(
            nn.Linear(seen + (0 if tool is None else 9), hidden), nn.GELU(),
            nn.Linear(hidden, hidden), nn.GELU(), nn.Linear(hidden, landmarks * outputs),
        )  # fmt: skip
        mean, std = scales.landmarks
        self.register_buffer("pose_mean", torch.tensor(mean))
        self.register_buffer("pose_std", torch.tensor(std))

    @property
    def width(self) -> int:
        """Size of `describe` for one landmark."""
        return LOCATED if self.tool is None else LOCATED + 8

    def forward(
        self, seen: Tensor, inputs: Mapping[str, Tensor], labels: Tensor | None
    ) -> tuple[Located, Tensor | None]:
        """Args: labels: (n, landmarks, 5) true poses, for the loss; NaN is no label."""
        mean, std = self._scale()
        if self.tool is None:
            output, poses, log_error = self._output(seen)
            loss = None if labels is None else _Loss(labels, mean).of_poses(poses, log_error, std)
            return Located(poses, log_error), loss
        position, rotation = self.tool(inputs)
        output, poses, log_error = self._output(torch.cat([seen, position, rotation[:, :, :2].flatten(1)], dim=1))
        from_tool = position[:, None] + TOOL_UNIT_M * output[..., 6:9] @ rotation.transpose(1, 2)
        log_error_from_tool = output[..., 9] + TYPICAL_LOG_ERROR
        weight = torch.sigmoid(2 * (log_error - log_error_from_tool))[..., None]
        fused = (1 - weight) * poses[..., :3] + weight * from_tool
        located = Located(
            torch.cat([fused, poses[..., 3:]], dim=2), torch.minimum(log_error, log_error_from_tool)
        )  # fmt: skip
        if labels is None:
            return located, None
        truth = _Loss(labels, mean)
        loss = truth.of_poses(poses, log_error, std)
        loss = loss + truth.of_places(from_tool, position) + truth.of_places(fused, position)
        return located, loss + truth.of_errors(from_tool, log_error_from_tool)

    def _output(self, seen: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """All numbers of the network, poses in the frame of the base, and the logarithm of their expected error."""
        mean, std = self._scale()
        output = self.net(seen).unflatten(1, (self._landmarks, -1))
        return output, output[..., :5] * std + mean, output[..., 5] + TYPICAL_LOG_ERROR

    def describe(self, located: Located, inputs: Mapping[str, Tensor]) -> Tensor:
        """(n, landmarks, width) poses as inputs of a network: in the frame of the base, and from the tool."""
        mean, std = self._scale()
        parts = [(located.poses - mean) / std, located.log_error[..., None] - TYPICAL_LOG_ERROR]
        if self.tool is not None:
            position, rotation = self.tool(inputs)
            offsets = (located.poses[..., :3] - position[:, None]) @ rotation
            # The second copy is sensitive to millimetres near the tool.
            parts += [offsets / TOOL_UNIT_M, torch.tanh(offsets / FINE_M)]
            parts.append(located.poses[..., 3:] @ rotation[:, :2, :2])
        return torch.cat(parts, dim=2)

    def _scale(self) -> tuple[Tensor, Tensor]:
        return self.get_buffer("pose_mean").view(-1, len(POSE)), self.get_buffer("pose_std").view(-1, len(POSE))


def with_errors(located: Located, generator: torch.Generator) -> Located:
    """Move every landmark by a random error of the expected size, as the estimates of unseen images have one."""
    noise = torch.randn(located.poses[..., :3].shape, generator=generator).to(located.poses.device)
    # The mean length of a normal vector in space is 1.6.
    moved = located.poses[..., :3] + noise * located.log_error.exp()[..., None] / 1.6
    return Located(torch.cat([moved, located.poses[..., 3:]], dim=2), located.log_error)


class _Loss:
    """Losses against (n, landmarks, 5) true poses, of which NaN ones do not count."""

    def __init__(self, labels: Tensor, mean: Tensor):
        self._known = labels.isfinite().all(dim=2)
        self._truth = torch.where(self._known[..., None], labels, mean)
        self._count = self._known.sum().clamp(min=1)

    def of_poses(self, poses: Tensor, log_error: Tensor, std: Tensor) -> Tensor:
        return self._distance((poses - self._truth) / std) + self.of_errors(poses[..., :3], log_error)

    def of_places(self, places: Tensor, tool_m: Tensor) -> Tensor:
        """Distance of (n, landmarks, 3) places, in relation to their distance from the tool."""
        truth = self._truth[..., :3]
        unit = NEAR_M + FAR_SHARE * (truth - tool_m[:, None]).norm(dim=2, keepdim=True)
        return self._distance((places - truth) / unit)

    def of_errors(self, places: Tensor, log_error: Tensor) -> Tensor:
        """Negative log-likelihood of the distances, for an exponential distribution. It trains `log_error` only."""
        distance = (places - self._truth[..., :3]).detach().norm(dim=2)
        return ERROR_WEIGHT * ((distance * (-log_error).exp() + log_error) * self._known).sum() / self._count

    def _distance(self, away: Tensor) -> Tensor:
        errors = smooth_l1_loss(away, torch.zeros_like(away), beta=0.1, reduction="none")
        return (errors * self._known[..., None]).sum() / (self._count * away.shape[2])
