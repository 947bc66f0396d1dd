"""Scales: how large inputs and actions of some demonstrations are, so that networks see numbers of unit size."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.learn.demonstrations import Demonstrations
from twinloop.learn.space import Space

MIN_STD = 1e-3
"""In any unit: what varies less is told as it is, not blown up into noise."""

RELATIVE_BELOW = 0.8
"""An action is learnt as a step from where the joint is if those steps vary less than this share of the action."""


@dataclass(frozen=True)
class Scales:
    """inputs: name -> (mean, std), each (d,). relative: (a,) learnt as a step from where the joint of that name is.
    action: (mean, std) of what is learnt, each (horizon, a): a step to the next control period is small, one to half a
    second on is large, and both are to be learnt as well as they can be."""

    inputs: dict[str, tuple[list, list]]
    relative: list[bool]
    action: tuple[list, list]


def scales_of(parts: Sequence[Demonstrations], weights: Sequence[float], horizon: int) -> Scales:
    """Means and deviations over the mixture, each dataset with its weight."""
    space = parts[0].space
    inputs = {
        feature.name: _scale(*_moments([part.vectors[feature.name] for part in parts], weights))
        for feature in space.vectors
    }
    chunks, steps = [], []
    for part in parts:
        # A sample is enough for a mean, and a whole dataset's chunks would be `horizon` times its size.
        frames = np.linspace(0, part.frames - 1, min(part.frames, 20_000)).astype(int)
        actions = part.chunks(frames, horizon)
        chunks.append(actions)
        steps.append(actions - _origin(part, frames, space)[:, None, :])
    absolute, stepwise = _moments(chunks, weights), _moments(steps, weights)
    paired = np.array([name in space.joints[1] for name in space.action.names])
    # Judged over the chunk as a whole: one rule for an element of the action.
    relative = paired & (_overall(stepwise) < RELATIVE_BELOW * _overall(absolute))
    mean, std = (np.where(relative, step, whole) for step, whole in zip(stepwise, absolute, strict=True))
    return Scales(inputs, relative.tolist(), _scale(mean, std))


def blank_scales(space: Space, horizon: int) -> Scales:
    """Of the right sizes, for a network whose numbers are read from a file."""
    size = space.action.shape[0]
    return Scales(
        inputs={feature.name: ([0.0] * feature.shape[0], [1.0] * feature.shape[0]) for feature in space.vectors},
        relative=[False] * size,
        action=([[0.0] * size] * horizon, [[1.0] * size] * horizon),
    )


def _origin(part: Demonstrations, frames: np.ndarray, space: Space) -> np.ndarray:
    (vector, joints), origin = space.joints, np.zeros((len(frames), space.action.shape[0]), np.float32)
    for column, name in enumerate(space.action.names):
        if name in joints:
            origin[:, column] = part.vectors[vector][frames, joints.index(name)]
    return origin


def _moments(arrays: Sequence[np.ndarray], weights: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation over the first axis."""
    paired = list(zip(weights, (array.astype(np.float64) for array in arrays), strict=True))
    mean = np.asarray(sum(weight * array.mean(axis=0) for weight, array in paired))
    square = np.asarray(sum(weight * np.square(array - mean).mean(axis=0) for weight, array in paired))
    return mean, np.sqrt(square)


def _overall(moments: tuple[np.ndarray, np.ndarray]) -> np.ndarray:
    mean, std = moments
    return np.sqrt(np.square(std).mean(axis=0) + mean.var(axis=0))


def _scale(mean: np.ndarray, std: np.ndarray) -> tuple[list, list]:
    std = np.where(std < MIN_STD, 1.0, std)
    return mean.astype(np.float32).tolist(), std.astype(np.float32).tolist()
