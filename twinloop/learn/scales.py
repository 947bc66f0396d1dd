"""Scales: means and standard deviations of the inputs and actions of demonstrations, for normalisation."""

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.free_labels import POSE
from twinloop.learn.space import Space

CHAIN_ROW = 17
"""Numbers of one joint, see `KinematicChain.constants`."""

MIN_STD = 1e-3
"""In any unit: a value with a smaller standard deviation is not scaled, because that would amplify noise."""

UNSCALED = 1.0
"""The standard deviation that stands for such a value."""

RELATIVE_BELOW = 0.8
"""An action is learned relative to the joint's position if that varies less than this share of the absolute action."""


@dataclass(frozen=True)
class Scales:
    """Normalisation of inputs and actions.

    Attributes:
        inputs: name -> (mean, std), each (d,).
        relative: (a,) True for actions that are learned relative to the position of the joint of that name.
        action: (mean, std) of the learned actions, each (horizon, a). They depend on the place in the chunk, because
            a step to the next control period is small and one to half a second later is large.
        landmarks: (mean, std) of the poses of the landmarks, each (landmarks * 5,); empty without free labels.
        chain: (joints + 1, 17) kinematic chain of the arm (`tool_chain.py`); empty if it is not used.
    """

    inputs: dict[str, tuple[list, list]]
    relative: list[bool]
    action: tuple[list, list]
    landmarks: tuple[list, list] = ((), ())  # type: ignore[assignment]
    chain: list = field(default_factory=list)


def scales_of(parts: Sequence[Demonstrations], weights: Sequence[float], horizon: int) -> Scales:
    """Return means and standard deviations over the mixture, each dataset with its weight."""
    space = parts[0].space
    inputs = {
        feature.name: _scale(*_moments([part.vectors[feature.name] for part in parts], weights))
        for feature in space.vectors
    }
    chunks, steps = [], []
    for part in parts:
        # A sample suffices for the mean; all chunks of a dataset would need `horizon` times its memory.
        frames = np.linspace(0, part.frames - 1, min(part.frames, 20_000)).astype(int)
        actions = part.chunks(frames, horizon)
        chunks.append(actions)
        steps.append(actions - _origin(part, frames, space)[:, None, :])
    absolute, stepwise = _moments(chunks, weights), _moments(steps, weights)
    paired = np.array([name in space.joints[1] for name in space.action.names])
    # Decided over the whole chunk, so that an element of the action is relative everywhere or nowhere.
    relative = paired & (_overall(stepwise) < RELATIVE_BELOW * _overall(absolute))
    mean, std = (np.where(relative, step, whole) for step, whole in zip(stepwise, absolute, strict=True))
    labelled = [(part.labels.poses, weight) for part, weight in zip(parts, weights, strict=True) if part.labels]
    known = [(poses.reshape(len(poses), -1), weight) for poses, weight in labelled if np.isfinite(poses).all()]
    landmarks = ([], [])
    if known:
        total = sum(weight for _, weight in known) or 1.0
        landmarks = _scale(*_moments([poses for poses, _ in known], [weight / total for _, weight in known]))
    return Scales(inputs, relative.tolist(), _scale(mean, std), landmarks)


def blank_scales(space: Space, horizon: int, landmarks: int = 0, chain: int = 0) -> Scales:
    """Return placeholder scales of the right sizes, for a network whose weights are read from a file."""
    size, poses = space.action.shape[0], landmarks * len(POSE)
    return Scales(
        inputs={feature.name: ([0.0] * feature.shape[0], [1.0] * feature.shape[0]) for feature in space.vectors},
        relative=[False] * size,
        action=([[0.0] * size] * horizon, [[1.0] * size] * horizon),
        landmarks=([0.0] * poses, [1.0] * poses),
        chain=[[0.0] * CHAIN_ROW] * (chain + 1),
    )


def _origin(part: Demonstrations, frames: np.ndarray, space: Space) -> np.ndarray:
    (vector, joints), origin = space.joints, np.zeros((len(frames), space.action.shape[0]), np.float32)
    for column, name in enumerate(space.action.names):
        if name in joints:
            origin[:, column] = part.vectors[vector][frames, joints.index(name)]
    return origin


def _moments(arrays: Sequence[np.ndarray], weights: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Return weighted mean and standard deviation over the first axis."""
    paired = list(zip(weights, (array.astype(np.float64) for array in arrays), strict=True))
    mean = np.asarray(sum(weight * array.mean(axis=0) for weight, array in paired))
    square = np.asarray(sum(weight * np.square(array - mean).mean(axis=0) for weight, array in paired))
    return mean, np.sqrt(square)


def _overall(moments: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    mean, std = moments
    return np.sqrt(np.square(std).mean(axis=0) + mean.var(axis=0))


def _scale(mean: np.ndarray, std: np.ndarray) -> tuple[list, list]:
    std = np.where(std < MIN_STD, UNSCALED, std)
    return mean.astype(np.float32).tolist(), std.astype(np.float32).tolist()
