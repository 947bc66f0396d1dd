"""ChannelModel: prediction of one feature from the other channels, by ridge regression.

There are two models of each feature. The *step* model also reads the feature's own past and is the one-step dynamics
model: it notices jumps, frozen values and noise. The *static* model reads the other features only: it notices bias,
wrong signs, swapped joints and shifted clocks, which the feature's own past would explain away.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

import numpy as np

from twinloop.curate.discriminator.channel_inputs import (
    ChannelInput,
    input_products,
    input_table,
    inputs_of,
    modelled_features,
    own_past,
    parts_of,
    width_of,
)  # fmt: skip
from twinloop.curate.discriminator.hand_contact import HandModel, blocked
from twinloop.curate.discriminator.scene_motion import FAINT_N, finger_columns, touching
from twinloop.curate.discriminator.trajectories import EFFORT, Trajectories, TrajectorySchema, is_hand

RIDGE = 1e-5
FREE_FRAMES = 3
MIN_FREE_FRAMES = 500


@dataclass(frozen=True)
class ChannelModel:
    """A linear model of the (frames, d) values of one feature.

    Attributes:
        feature: name of the feature.
        columns: its elements that the model describes: the arm or the hand. Objects of other sizes stop the fingers
            elsewhere, so the arm's model does not read the hand.
        step: reads the feature's own past too.
        free: was fitted on frames without contact, and describes only those. Objects stop a hand in many ways; a hand
            that touches nothing follows its command.
        weights: (inputs + 1, columns); the last row is the constant.
    """

    feature: str
    columns: tuple[int, ...]
    step: bool
    free: bool
    weights: np.ndarray

    @property
    def aspect(self) -> str:
        return f"{'free_' if self.free else ''}{'step' if self.step else 'static'}:{self.feature}"


def channel_residuals(
    trajectories: Trajectories, models: Sequence[ChannelModel], hand: HandModel | None = None
) -> Iterator[tuple[str, np.ndarray, tuple[str, ...]]]:
    """(aspect, (frames, columns) measured minus predicted, channel of each column); arm and hand are one aspect.

    hand: for models of the free hand.
    """
    if not models:
        return
    schema = trajectories.schema
    models = sorted(models, key=lambda model: model.aspect)
    inputs, weights = _common(schema, models)
    residuals = input_products(trajectories, inputs, weights)
    # In place, and all models at once: the table is large.
    np.subtract(
        np.concatenate([trajectories.signals[model.feature][:, model.columns] for model in models], axis=1),
        residuals,
        out=residuals,
    )
    residuals -= np.concatenate([model.weights[-1] for model in models])
    free = free_frames(trajectories, hand)
    at = 0
    for aspect, group in groupby(models, key=lambda model: model.aspect):
        parts = list(group)
        columns = [column for model in parts for column in model.columns]
        labels = tuple(schema.channel(parts[0].feature, column) for column in columns)
        values = residuals[:, at : at + len(columns)]
        if parts[0].free:
            # A hand reacts a frame earlier or later than usual; only what lasts is a contradiction.
            lasting = np.minimum.reduce([trajectories.shifted(np.abs(values), lag) for lag in (-1, 0, 1)])
            values = np.copysign(lasting, values) * free[:, None]
        yield aspect, values, labels
        at += len(columns)


def free_frames(trajectories: Trajectories, hand: HandModel | None) -> np.ndarray:
    """(frames,) nothing touches or blocks the fingers, within `FREE_FRAMES`."""
    stopped = touching(trajectories, FAINT_N)
    if hand is not None:
        stopped |= blocked(trajectories, hand)
    return ~np.logical_or.reduce([trajectories.shifted(stopped, lag) for lag in range(-FREE_FRAMES, FREE_FRAMES + 1)])


def _inputs(schema: TrajectorySchema, model: ChannelModel) -> list[ChannelInput]:
    past = own_past(model.feature, model.columns) if model.step else []
    return inputs_of(schema, model.feature, model.columns) + past


def _common(schema: TrajectorySchema, models: Sequence[ChannelModel]) -> tuple[list[ChannelInput], np.ndarray]:
    """The inputs of all models, whole features each, and (inputs, outputs) their weights: 0 where one is not read."""
    whole: dict[tuple[str, int, str], ChannelInput] = {}
    for part in (part for model in models for part in _inputs(schema, model)):
        key = part.feature, part.lag, part.transform
        every = tuple(range(len(schema.elements[part.feature])))
        whole.setdefault(key, ChannelInput(part.feature, part.lag, every, part.transform))
    ends = np.cumsum([len(part.columns) for part in whole.values()])
    starts = {key: int(end) - len(part.columns) for (key, part), end in zip(whole.items(), ends, strict=True)}
    weights = np.zeros((int(ends[-1]), sum(len(model.columns) for model in models)))
    output = 0
    for model in models:
        inputs = _inputs(schema, model)
        rows = [starts[part.feature, part.lag, part.transform] + column for part in inputs for column in part.columns]
        weights[rows, output : output + len(model.columns)] = model.weights[:-1]
        output += len(model.columns)
    return list(whole.values()), weights


def fit_channels(trajectories: Trajectories, hand: HandModel | None) -> tuple[ChannelModel, ...]:
    """The models of all features of the robot. hand: tells when the hand is free."""
    schema = trajectories.schema
    models = [
        model
        for feature in modelled_features(schema)
        for columns in parts_of(schema, feature)
        for model in fit_channel(trajectories, feature, columns)
    ]
    free = free_frames(trajectories, hand)
    if not finger_columns(schema) or free.sum() < MIN_FREE_FRAMES:
        return tuple(models)
    for feature in modelled_features(schema):
        if feature == EFFORT:
            continue  # what touches the hand without a sensor changes its effort first
        fingers = [part for part in parts_of(schema, feature) if is_hand(schema.elements[feature][part[0]])]
        models += [model for part in fingers for model in fit_channel(trajectories, feature, part, free=free)]
    return tuple(models)


def fit_channel(
    trajectories: Trajectories, feature: str, columns: tuple[int, ...], *, free: np.ndarray | None = None
) -> tuple[ChannelModel, ...]:
    """The step model and the static model of one part of a feature. free: fit on these frames alone."""
    rows = slice(None) if free is None else free
    target = trajectories.signals[feature][rows][:, columns]
    others = inputs_of(trajectories.schema, feature, columns)
    whole = input_table(trajectories, others + own_past(feature, columns))[rows]
    centre, scale = whole.mean(axis=0), whole.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    table, mean = (whole - centre) / scale, target.mean(axis=0)
    gram, moment = table.T @ table, table.T @ (target - mean)
    gram[np.diag_indices_from(gram)] += RIDGE * len(table)
    models = []
    for width, step in ((whole.shape[1], True), (width_of(others), False)):
        weights = np.linalg.solve(gram[:width, :width], moment[:width]) / scale[:width, None]
        constant = mean - centre[:width] @ weights
        models.append(ChannelModel(feature, columns, step, free is not None, np.vstack([weights, constant])))
    return tuple(models)
