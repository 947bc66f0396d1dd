"""PostureSupport: how far the arm is from the postures of the training data.

The channel models are linear and were fitted on some postures only. Elsewhere their error grows with the distance, for
example when the arm grips an object of another shape with a turned wrist. The usual size of a residual therefore grows
too. The distance is measured in another feature than the modelled one, so that a fault does not excuse itself.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.channel_inputs import reference_feature
from twinloop.curate.discriminator.trajectories import ACTION, COMMAND, STATE, Trajectories, is_hand

MAX_POINTS = 256
REACH_QUANTILE = 0.99
CHUNK = 512
"""Postures that are compared with all points at a time, so that the table stays in the processor's cache."""
GROWTH = 0.05
"""Distance at which the usual size of a residual doubles, as a share of the spread of the training postures."""


@dataclass(frozen=True)
class PostureSupport:
    """Postures of the training data.

    Attributes:
        points: feature -> (k, joints) postures.
        reach: feature -> (2,) distance to the nearest point that 99 % of the training frames stay below, and the
            distance beyond it at which the usual size of a residual doubles.
    """

    points: Mapping[str, np.ndarray]
    reach: Mapping[str, np.ndarray]

    def growth(self, trajectories: Trajectories) -> dict[str, np.ndarray]:
        """Feature -> (frames, 1) factor on the usual size of its residuals: 1 near postures of the training data."""
        elements = trajectories.schema.elements
        references = {feature: reference_feature(elements, feature) for feature in elements}
        factors = {name: self._growth(trajectories, name) for name in self.points if name in references.values()}
        return {feature: factors[name] for feature, name in references.items() if name and name in factors}

    def _growth(self, trajectories: Trajectories, reference: str) -> np.ndarray:
        near, doubling = self.reach[reference]
        beyond = np.maximum(nearest_distance(arm_of(trajectories, reference), self.points[reference]) - near, 0)
        return 1 + beyond[:, None] / doubling


def fit_posture_support(trajectories: Trajectories) -> PostureSupport:
    points, reach = {}, {}
    for feature in (STATE, COMMAND, ACTION):
        if feature not in trajectories.signals or not (postures := arm_of(trajectories, feature)).shape[1]:
            continue
        every = max(2, -(-len(postures) // MAX_POINTS))
        points[feature] = postures[::every].astype(np.float32)
        # Frames in the middle between two points, which are the farthest from both in time.
        near = np.quantile(nearest_distance(postures[every // 2 :: every], points[feature]), REACH_QUANTILE)
        spread = np.sqrt(postures.var(axis=0).mean())
        reach[feature] = np.array([near, max(GROWTH * spread, 1e-9)])
    return PostureSupport(points, reach)


def arm_of(trajectories: Trajectories, feature: str) -> np.ndarray:
    """(frames, joints) the elements of a feature without those of the hand."""
    names = trajectories.schema.elements[feature]
    return trajectories.signals[feature][:, [index for index, name in enumerate(names) if not is_hand(name)]]


def nearest_distance(postures: np.ndarray, points: np.ndarray) -> np.ndarray:
    """(frames,) distance of each posture to the nearest point."""
    centre = points.mean(axis=0)
    a, b = (postures - centre).astype(np.float32), points - centre
    double, own = -2 * b.T, (b**2).sum(axis=1)
    nearest = [(part @ double + own).min(axis=1) for part in np.split(a, range(CHUNK, len(a), CHUNK))]
    squares = (a**2).sum(axis=1) + np.concatenate(nearest)
    return np.sqrt(np.maximum(squares, 0)).astype(np.float64)
