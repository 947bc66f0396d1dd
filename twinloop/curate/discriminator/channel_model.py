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
    own_past,
    width_of,
)
from twinloop.curate.discriminator.trajectories import Trajectories, TrajectorySchema

RIDGE = 1e-5


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
) -> Iterator[tuple[str, np.ndarray, tuple[str, ...]]]:
    """(aspect, (frames, columns) measured minus predicted, channel of each column); arm and hand are one aspect."""
    if not models:
        return
    schema = trajectories.schema
    models = sorted(models, key=lambda model: (model.step, model.feature))
    inputs, weights = _common(schema, models)
    residuals = input_products(trajectories, inputs, weights)
    # In place, and all models at once: the table is large.
    np.subtract(
        np.concatenate([trajectories.signals[model.feature][:, model.columns] for model in models], axis=1),
        residuals,
        out=residuals,
    )
    residuals -= np.concatenate([model.weights[-1] for model in models])
    at = 0
    for (step, feature), parts in groupby(models, key=lambda model: (model.step, model.feature)):
        columns = [column for model in parts for column in model.columns]
        labels = tuple(schema.channel(feature, column) for column in columns)
        yield f"{'step' if step else 'static'}:{feature}", residuals[:, at : at + len(columns)], labels
        at += len(columns)


def _inputs(schema: TrajectorySchema, model: ChannelModel) -> list[ChannelInput]:
    past = own_past(model.feature, model.columns) if model.step else []
    return inputs_of(schema, model.feature, model.columns) + past


def _common(schema: TrajectorySchema, models: Sequence[ChannelModel]) -> tuple[list[ChannelInput], np.ndarray]:
    """The inputs of all models, whole features each, and (inputs, outputs) their weights: 0 where one is not read."""
    whole: dict[tuple[str, int, str], ChannelInput] = {}
    for each in (each for model in models for each in _inputs(schema, model)):
        key = each.feature, each.lag, each.transform
        every = tuple(range(len(schema.elements[each.feature])))
        whole.setdefault(key, ChannelInput(each.feature, each.lag, every, each.transform))
    ends = np.cumsum([len(each.columns) for each in whole.values()])
    starts = {key: int(end) - len(each.columns) for (key, each), end in zip(whole.items(), ends, strict=True)}
    weights = np.zeros((int(ends[-1]), sum(len(model.columns) for model in models)))
    output = 0
    for model in models:
        inputs = _inputs(schema, model)
        rows = [starts[each.feature, each.lag, each.transform] + column for each in inputs for column in each.columns]
        weights[rows, output : output + len(model.columns)] = model.weights[:-1]
        output += len(model.columns)
    return list(whole.values()), weights


def fit_channel(trajectories: Trajectories, feature: str, columns: tuple[int, ...]) -> tuple[ChannelModel, ...]:
    """The step model and the static model of one part of a feature."""
    target = trajectories.signals[feature][:, columns]
    others = inputs_of(trajectories.schema, feature, columns)
    whole = input_table(trajectories, others + own_past(feature, columns))
    centre, scale = whole.mean(axis=0), whole.std(axis=0)
    scale = np.where(scale > 1e-9, scale, 1.0)
    table, mean = (whole - centre) / scale, target.mean(axis=0)
    gram, moment = table.T @ table, table.T @ (target - mean)
    gram[np.diag_indices_from(gram)] += RIDGE * len(table)
    models = []
    for width, step in ((whole.shape[1], True), (width_of(others), False)):
        weights = np.linalg.solve(gram[:width, :width], moment[:width]) / scale[:width, None]
        models.append(ChannelModel(feature, columns, step, np.vstack([weights, mean - centre[:width] @ weights])))
    return tuple(models)
