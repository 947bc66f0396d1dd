"""ChannelInputs: what the channel models read, as columns that several models share.

An input is one element of a feature some frames earlier or later, or a sine, cosine or saturated force of it. Most
models read the same inputs, so the table of all of them is filled once and multiplied with the weights of all models.
"""

from collections.abc import Container, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.trajectories import (
    ACTION,
    COMMAND,
    CONTACT,
    ENVIRONMENT,
    STATE,
    Trajectories,
    TrajectorySchema,
    is_hand,
)  # fmt: skip

LAGS = (-6, -3, -2, -1, 0, 1, 2)
SHORT_LAGS = (-1, 0, 1)
OWN_LAGS = (-1, -2)
CONTACT_N = 1.0
CHUNK = 1024
"""Rows of the table that are filled at a time, so that they stay in the processor's cache."""
TRANSFORMS = {
    "sin 1": np.sin,
    "cos 1": np.cos,
    "sin 2": lambda values: np.sin(2 * values),
    "cos 2": lambda values: np.cos(2 * values),
    "pressed": lambda force: np.tanh(force / CONTACT_N),
}


@dataclass(frozen=True)
class ChannelInput:
    """A feature `lag` frames later, or one of `TRANSFORMS` of it; `columns` are its elements that are read."""

    feature: str
    lag: int
    columns: tuple[int, ...]
    transform: str = ""


def modelled_features(schema: TrajectorySchema) -> tuple[str, ...]:
    """The features with a model: those of the robot. Objects have physics of their own (`object_motion.py`)."""
    return tuple(
        name for name in schema.elements if name not in (ENVIRONMENT, CONTACT) and not name.startswith("object_")
    )


def parts_of(schema: TrajectorySchema, feature: str) -> tuple[tuple[int, ...], ...]:
    """The elements of the arm and those of the hand, each if there are any."""
    parts = (_same_part(schema, feature, hand=False), _same_part(schema, feature, hand=True))
    return tuple(part for part in parts if part)


def reference_feature(features: Container[str], feature: str) -> str | None:
    """The feature with the position of the arm, other than `feature` itself."""
    return next((name for name in (STATE, COMMAND, ACTION) if name != feature and name in features), None)


def own_past(feature: str, columns: tuple[int, ...]) -> list[ChannelInput]:
    return [ChannelInput(feature, lag, columns) for lag in OWN_LAGS]


def inputs_of(schema: TrajectorySchema, feature: str, columns: tuple[int, ...]) -> list[ChannelInput]:
    """The same part, arm or hand, of the other features around each frame, and the contact forces."""
    hand = is_hand(schema.elements[feature][columns[0]])
    turning = reference_feature(schema.elements, feature)
    inputs: list[ChannelInput] = []
    for name in modelled_features(schema):
        same = _same_part(schema, name, hand=hand)
        if name == feature or not same:
            continue
        lags = LAGS if name in (ACTION, COMMAND, STATE) else SHORT_LAGS
        inputs += [ChannelInput(name, lag, same) for lag in lags]
        if name == turning and not hand:
            inputs += [ChannelInput(name, 0, same, wave) for wave in ("sin 1", "cos 1", "sin 2", "cos 2")]
    if CONTACT in schema.elements:
        forces = tuple(range(len(schema.elements[CONTACT])))
        inputs += [ChannelInput(CONTACT, lag, forces, "pressed") for lag in SHORT_LAGS]
    return inputs


def _same_part(schema: TrajectorySchema, feature: str, *, hand: bool) -> tuple[int, ...]:
    return tuple(index for index, element in enumerate(schema.elements[feature]) if is_hand(element) == hand)


def width_of(inputs: Sequence[ChannelInput]) -> int:
    return sum(len(part.columns) for part in inputs)


def input_table(trajectories: Trajectories, inputs: Sequence[ChannelInput]) -> np.ndarray:
    """(frames, inputs)."""
    table = np.empty((trajectories.frames, width_of(inputs)))
    _fill(table, trajectories, inputs, _sources(trajectories, inputs), slice(None))
    return table


def input_products(trajectories: Trajectories, inputs: Sequence[ChannelInput], weights: np.ndarray) -> np.ndarray:
    """(frames, outputs) `input_table @ weights`, without keeping the table."""
    products = np.empty((trajectories.frames, weights.shape[1]))
    table = np.empty((CHUNK, len(weights)))
    sources = _sources(trajectories, inputs)
    for at in range(0, trajectories.frames, CHUNK):
        rows = slice(at, min(at + CHUNK, trajectories.frames))
        part = table[: rows.stop - at]
        _fill(part, trajectories, inputs, sources, rows)
        np.matmul(part, weights, out=products[rows])
    return products


def _sources(trajectories: Trajectories, inputs: Sequence[ChannelInput]) -> dict[tuple[str, str], np.ndarray]:
    """(feature, transform) -> values, computed once for all lags."""
    signals = trajectories.signals
    return {
        (feature, transform): TRANSFORMS[transform](signals[feature]) if transform else signals[feature]
        for feature, transform in {(part.feature, part.transform) for part in inputs}
    }


def _fill(
    table: np.ndarray,
    trajectories: Trajectories,
    inputs: Sequence[ChannelInput],
    sources: dict[tuple[str, str], np.ndarray],
    rows: slice,
) -> None:
    at = 0
    begin, stop, frames = rows.start or 0, rows.stop or len(table), trajectories.frames
    stop = min(stop, frames)
    for part in inputs:
        values = sources[part.feature, part.transform]
        columns = slice(at, at + len(part.columns))
        if len(part.columns) < values.shape[1]:
            values = values[:, part.columns]
        low, high = max(begin + part.lag, 0), min(stop + part.lag, frames)
        if low < high:
            table[low - part.lag - begin : high - part.lag - begin, columns] = values[low:high]
        if part.lag:
            outside, ends = trajectories.ends_at(part.lag)
            here = slice(*np.searchsorted(outside, (begin, stop)))
            table[outside[here] - begin, columns] = values[ends[here]]
        at = columns.stop
