"""ChannelModel: prediction of one feature from the other channels, by ridge regression.

There are two models of each feature. The *step* model also reads the feature's own past and is the one-step dynamics
model: it notices jumps, frozen values and noise. The *static* model reads the other features only: it notices bias,
wrong signs, swapped joints and shifted clocks, which the feature's own past would explain away.
"""

from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from twinloop.curate.discriminator.trajectories import (
    ACTION,
    COMMAND,
    CONTACT,
    ENVIRONMENT,
    STATE,
    Trajectories,
    is_hand,
)  # fmt: skip

LAGS = (-6, -3, -2, -1, 0, 1, 2)
OWN_LAGS = (-1, -2)
RIDGE = 1e-5
CONTACT_N = 1.0


@dataclass(frozen=True)
class ChannelModel:
    """A linear model of the (frames, d) values of one feature.

    Attributes:
        feature: name of the feature.
        columns: its elements that the model describes: the arm or the hand. Objects of other sizes stop the fingers
            elsewhere, so the arm's model does not read the hand.
        step: reads the feature's own past too.
        weights: (inputs + 1, columns); the last row is the constant.
    """

    feature: str
    columns: tuple[int, ...]
    step: bool
    weights: np.ndarray


def channel_residuals(
    trajectories: Trajectories, models: Sequence[ChannelModel]
) -> Iterator[tuple[ChannelModel, np.ndarray]]:
    """Each model with its (frames, columns) residuals: measured minus predicted."""
    for (feature, columns), group in groupby(models, key=lambda model: (model.feature, model.columns)):
        others, past = inputs_of(trajectories, feature, columns), own_past(trajectories, feature, columns)
        target = trajectories.signals[feature][:, columns]
        both, width, wide = list(group), others.shape[1], len(columns)
        by_others = others @ np.concatenate([model.weights[:width] for model in both], axis=1)
        for number, model in enumerate(both):
            predicted = by_others[:, number * wide : (number + 1) * wide] + model.weights[-1]
            if model.step:
                predicted += past @ model.weights[width:-1]
            yield model, target - predicted


def fit_channel(trajectories: Trajectories, feature: str, columns: tuple[int, ...]) -> tuple[ChannelModel, ...]:
    """The step model and the static model of one part of a feature."""
    target = trajectories.signals[feature][:, columns]
    others, past = inputs_of(trajectories, feature, columns), own_past(trajectories, feature, columns)
    whole = np.concatenate([others, past], axis=1)
    centre, scale = whole.mean(axis=0), whole.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    table, mean = (whole - centre) / scale, target.mean(axis=0)
    gram, moment = table.T @ table, table.T @ (target - mean)
    gram[np.diag_indices_from(gram)] += RIDGE * len(table)
    models = []
    for width, step in ((whole.shape[1], True), (others.shape[1], False)):
        weights = np.linalg.solve(gram[:width, :width], moment[:width]) / scale[:width, None]
        models.append(ChannelModel(feature, columns, step, np.vstack([weights, mean - centre[:width] @ weights])))
    return tuple(models)


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


def own_past(trajectories: Trajectories, feature: str, columns: tuple[int, ...]) -> np.ndarray:
    return np.concatenate([trajectories.signal_at(feature, lag)[:, columns] for lag in OWN_LAGS], axis=1)


def reference_feature(features: Container[str], feature: str) -> str | None:
    """The feature with the position of the arm, other than `feature` itself."""
    return next((name for name in (STATE, COMMAND, ACTION) if name != feature and name in features), None)


def inputs_of(trajectories: Trajectories, feature: str, columns: tuple[int, ...]) -> np.ndarray:
    """(frames, inputs): the same part of the other features around each frame."""
    elements = trajectories.schema.elements
    hand = is_hand(elements[feature][columns[0]])
    parts: list[tuple[np.ndarray, list[int] | slice]] = []
    turning = reference_feature(elements, feature)
    for name in modelled_features(trajectories):
        same = [index for index, element in enumerate(elements[name]) if is_hand(element) == hand]
        if name == feature or not same:
            continue
        lags = LAGS if name in (ACTION, COMMAND, STATE) else (-1, 0, 1)
        some = slice(same[0], same[-1] + 1) if same == list(range(same[0], same[-1] + 1)) else same
        parts += [(trajectories.signal_at(name, lag), some) for lag in lags]
        if name == turning and not hand:
            parts += [(trajectories.derived(f"{wave.__name__} {times}", name, _wave(wave, times)), some)
                      for times in (1, 2) for wave in (np.sin, np.cos)]  # fmt: skip
    if CONTACT in trajectories.signals:
        pressed = trajectories.derived("pressed", CONTACT, lambda force: np.tanh(force / CONTACT_N))
        parts += [(trajectories.shifted(pressed, lag), slice(None)) for lag in (-1, 0, 1)]
    return _side_by_side(parts, trajectories.frames)


def _wave(wave: Callable[[np.ndarray], np.ndarray], times: int) -> Callable[[np.ndarray], np.ndarray]:
    return lambda values: wave(times * values)


def _side_by_side(parts: Sequence[tuple[np.ndarray, list[int] | slice]], frames: int) -> np.ndarray:
    """Columns of several arrays in one, copied once. The first column is 0, so that there is one without parts."""
    widths = [len(values[0, some]) for values, some in parts]
    table = np.zeros((frames, 1 + sum(widths)))
    at = 1
    for (values, some), width in zip(parts, widths, strict=True):
        table[:, at : at + width] = values[:, some]
        at += width
    return table
