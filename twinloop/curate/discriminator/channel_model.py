"""ChannelModel: what the other channels say about one feature, by ridge regression.

There are two models of each feature. The *step* model also reads the feature's own past and is the one-step dynamics
model: it notices jumps, frozen values and noise. The *static* model reads the other features only: it notices bias,
wrong signs, swapped joints and shifted clocks, which the feature's own past would explain away.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.trajectories import (
    ACTION, COMMAND, CONTACT, ENVIRONMENT, STATE, Trajectories, is_hand,
)  # fmt: skip

LAGS = (-6, -3, -2, -1, 0, 1, 2)
OWN_LAGS = (-1, -2)
RIDGE = 1e-6
CONTACT_N = 1.0


@dataclass(frozen=True)
class ChannelModel:
    """A linear model of the (frames, d) values of one feature.

    Attributes:
        feature: name of the feature.
        columns: its elements that the model describes: the arm or the hand. Objects of other sizes stop the fingers
            elsewhere, so the arm's model does not read the hand.
        step: reads the feature's own past too.
        centre, scale: of the inputs.
        weights: (inputs + 1, d); the last row is the constant.
    """

    feature: str
    columns: tuple[int, ...]
    step: bool
    centre: np.ndarray
    scale: np.ndarray
    weights: np.ndarray

    def residual(self, trajectories: Trajectories) -> np.ndarray:
        """(frames, columns) measured minus predicted."""
        inputs = inputs_of(trajectories, self.feature, self.columns, step=self.step)
        predicted = ((inputs - self.centre) / self.scale) @ self.weights[:-1] + self.weights[-1]
        return trajectories.signals[self.feature][:, self.columns] - predicted


def fit_channel(trajectories: Trajectories, feature: str, columns: tuple[int, ...], *, step: bool) -> ChannelModel:
    inputs = inputs_of(trajectories, feature, columns, step=step)
    target = trajectories.signals[feature][:, columns]
    centre, scale = inputs.mean(axis=0), inputs.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    table = (inputs - centre) / scale
    mean = target.mean(axis=0)
    gram = table.T @ table
    gram[np.diag_indices_from(gram)] += RIDGE * len(table)
    weights = np.linalg.solve(gram, table.T @ (target - mean))
    return ChannelModel(feature, columns, step, centre, scale, np.vstack([weights, mean]))


def modelled_features(trajectories: Trajectories) -> tuple[str, ...]:
    """The features with a model: those of the robot. Objects have physics of their own (`object_motion.py`)."""
    return tuple(
        name for name in trajectories.signals if name not in (ENVIRONMENT, CONTACT) and not name.startswith("object_")
    )


def parts_of(trajectories: Trajectories, feature: str) -> tuple[tuple[int, ...], ...]:
    """The elements of the arm and those of the hand, each if there are any."""
    names = trajectories.schema.elements[feature]
    arm = tuple(index for index, name in enumerate(names) if not is_hand(name))
    hand = tuple(index for index, name in enumerate(names) if is_hand(name))
    return tuple(part for part in (arm, hand) if part)


def inputs_of(trajectories: Trajectories, feature: str, columns: tuple[int, ...], *, step: bool) -> np.ndarray:
    """(frames, inputs): the same part of the other features around each frame, and with `step` the own past."""
    elements = trajectories.schema.elements
    hand = is_hand(elements[feature][columns[0]])
    parts = [np.zeros((trajectories.frames, 1))]
    turning = next((name for name in (STATE, COMMAND, ACTION) if name != feature and name in elements), None)
    for name in modelled_features(trajectories):
        same = [index for index, element in enumerate(elements[name]) if is_hand(element) == hand]
        if name == feature or not same:
            continue
        lags = LAGS if name in (ACTION, COMMAND, STATE) else (-1, 0, 1)
        parts += [trajectories.signal_at(name, lag)[:, same] for lag in lags]
        if name == turning and not hand:
            values = trajectories.signals[name][:, same]
            parts += [wave(times * values) for times in (1, 2) for wave in (np.sin, np.cos)]
    if CONTACT in trajectories.signals:
        parts += [np.tanh(trajectories.signal_at(CONTACT, lag) / CONTACT_N) for lag in (-1, 0, 1)]
    if step:
        parts += [trajectories.signal_at(feature, lag)[:, columns] for lag in OWN_LAGS]
    return np.concatenate(parts, axis=1)
