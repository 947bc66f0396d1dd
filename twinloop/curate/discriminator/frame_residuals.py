"""Residuals of every frame: deviation of each channel from physics and from its prediction by other channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.channel_inputs import modelled_features, parts_of
from twinloop.curate.discriminator.channel_model import ChannelModel, channel_residuals
from twinloop.curate.discriminator.hand_contact import HandModel, hand_residuals
from twinloop.curate.discriminator.images import ImageModel
from twinloop.curate.discriminator.object_motion import object_motion
from twinloop.curate.discriminator.scene_model import SceneModel
from twinloop.curate.discriminator.scene_motion import SceneMotion, scene_motion
from twinloop.curate.discriminator.trajectories import CONTACT, STATE, VELOCITY, Trajectories

MOST_REPEATS = 50


@dataclass(frozen=True)
class FrameResiduals:
    """Aspect -> (frames, columns) signed residuals, and the channel of each column; and the motion of the entities."""

    values: Mapping[str, np.ndarray]
    channels: Mapping[str, tuple[str, ...]]
    motion: SceneMotion | None


@dataclass(frozen=True)
class ChannelRanges:
    """Feature -> (2, d) smallest and largest value of each element in the training data."""

    ends: Mapping[str, np.ndarray]


def fit_ranges(trajectories: Trajectories) -> ChannelRanges:
    features = (*modelled_features(trajectories.schema), *((CONTACT,) if CONTACT in trajectories.signals else ()))
    return ChannelRanges({name: np.quantile(trajectories.signals[name], (0.0005, 0.9995), axis=0) for name in features})


def frame_residuals(
    trajectories: Trajectories,
    models: Sequence[ChannelModel],
    ranges: ChannelRanges,
    scene: SceneModel | None,
    hand: HandModel | None,
    images: Mapping[str, ImageModel],
) -> FrameResiduals:
    schema, shifted = trajectories.schema, trajectories.shifted
    motion = scene_motion(trajectories)
    objects = object_motion(trajectories, motion, scene)
    values: dict[str, np.ndarray] = dict(objects.residuals)
    channels: dict[str, tuple[str, ...]] = dict(objects.channels)

    def add(aspect: str, residual: np.ndarray, feature: str) -> None:
        values[aspect] = residual
        channels[aspect] = tuple(schema.channel(feature, index) for index in range(residual.shape[1]))

    for model, residual in zip(models, channel_residuals(trajectories, models), strict=True):
        aspect = f"{'step' if model.step else 'static'}:{model.feature}"
        labels = tuple(schema.channel(model.feature, index) for index in model.columns)
        values[aspect] = residual if aspect not in values else np.concatenate([values[aspect], residual], axis=1)
        channels[aspect] = (*channels.get(aspect, ()), *labels)
    for feature, (low, high) in ranges.ends.items():
        signal = trajectories.signals[feature]
        span = _spans(trajectories, feature, high - low)
        add(f"range:{feature}", np.maximum(np.maximum(low - signal, signal - high), 0) / span, feature)
    for feature in modelled_features(trajectories.schema):
        signal = trajectories.signals[feature]
        before, after = trajectories.signal_at(feature, -1), trajectories.signal_at(feature, 1)
        add(f"jump:{feature}", after - 2 * signal + before, feature)
        add(f"repeats:{feature}", _repeats(trajectories, signal, before), feature)
    if {STATE, VELOCITY} <= trajectories.signals.keys():
        position, speed = trajectories.signals[STATE], trajectories.signals[VELOCITY]
        if position.shape == speed.shape:
            slope = (shifted(position, 1) - shifted(position, -1)) * schema.rate_hz / 2
            inner = (trajectories.first_of < np.arange(len(slope))) & (np.arange(len(slope)) < trajectories.last_of)
            mean = (shifted(speed, -1) + 2 * speed + shifted(speed, 1)) / 4
            add("velocity_mismatch", (slope - mean) * inner[:, None], VELOCITY)
    for aspect, residual in hand_residuals(trajectories, hand).items():
        values[aspect], channels[aspect] = residual, (CONTACT,)
    if CONTACT in trajectories.signals:
        force = trajectories.signals[CONTACT]
        add(f"repeats:{CONTACT}", _repeats(trajectories, force, shifted(force, -1)) * (force > 0), CONTACT)
    for camera, model in images.items():
        if camera not in trajectories.images:
            continue
        for aspect, residual in model.residuals(trajectories, camera).items():
            values[aspect], channels[aspect] = residual, (camera,) * residual.shape[1]
    return FrameResiduals(values, channels, motion)


def _spans(trajectories: Trajectories, feature: str, own: np.ndarray) -> np.ndarray:
    """(d,) the width of each element's range, at least half of the widest one of arm or hand.

    A joint that hardly moved in the training data may move like the others.
    """
    spans = np.maximum(own, 1e-9)
    for part in map(list, parts_of(trajectories.schema, feature)):
        spans[part] = np.maximum(spans[part], spans[part].max() / 2)
    return spans


def _repeats(trajectories: Trajectories, signal: np.ndarray, before: np.ndarray) -> np.ndarray:
    """(frames, d) how many times in a row each value was repeated exactly, at most `MOST_REPEATS`."""
    same = signal == before
    same[trajectories.starts] = False
    row = np.arange(len(signal))[:, None]
    last_change = np.maximum.accumulate(np.where(same, 0, row), axis=0)
    return np.minimum(row - last_change, MOST_REPEATS).astype(np.float64)
