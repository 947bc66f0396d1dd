"""Residuals of every frame: deviation of each channel from physics and from its prediction by other channels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.curate.discriminator.channel_model import ChannelModel, channel_residuals
from twinloop.curate.discriminator.hand_contact import HandModel, hand_residuals
from twinloop.curate.discriminator.images import ImageModel
from twinloop.curate.discriminator.object_motion import object_motion
from twinloop.curate.discriminator.scene_model import SceneModel
from twinloop.curate.discriminator.scene_motion import SceneMotion, scene_motion
from twinloop.curate.discriminator.single_channels import ChannelRanges, SingleChannels
from twinloop.curate.discriminator.trajectories import CONTACT, STATE, VELOCITY, Trajectories


@dataclass(frozen=True)
class FrameResiduals:
    """Signed residuals of all frames.

    Attributes:
        values: aspect -> (frames, columns).
        single: more aspects, of single channels, which are computed for some episodes at a time.
        channels: aspect -> the channel of each column.
        motion: of the entities of the scene, None without poses.
        image_steps: camera -> changes of its images, predicted and seen.
    """

    values: Mapping[str, np.ndarray]
    single: SingleChannels
    channels: Mapping[str, tuple[str, ...]]
    motion: SceneMotion | None
    image_steps: Mapping[str, tuple[np.ndarray, np.ndarray]]

    @cached_property
    def columns(self) -> Mapping[str, slice]:
        """Aspect -> its columns in `table`."""
        columns, at = {}, 0
        for aspect, values in self.values.items():
            columns[aspect] = slice(at, at := at + values.shape[1])
        return columns | {
            aspect: slice(at + place.start, at + place.stop) for aspect, place in self.single.columns.items()
        }

    def table(self, rows: slice, starts: np.ndarray) -> np.ndarray:
        """(frames, columns) residuals of whole episodes: frames `rows`, which begin at `starts` in the table."""
        parts = [values[rows] for values in self.values.values()]
        width = sum(part.shape[1] for part in parts)
        table = np.empty((rows.stop - rows.start, width + self.single.width))
        if parts:
            np.concatenate(parts, axis=1, out=table[:, :width])
        self.single.fill(table[:, width:], rows, starts)
        return table


def frame_residuals(
    trajectories: Trajectories,
    models: Sequence[ChannelModel],
    ranges: ChannelRanges,
    scene: SceneModel | None,
    hand: HandModel | None,
    images: Mapping[str, ImageModel],
) -> FrameResiduals:
    schema = trajectories.schema
    motion = scene_motion(trajectories, smooth_frames=0 if scene is None else int(scene.smooth_frames))
    objects = object_motion(trajectories, motion, scene)
    single = SingleChannels(trajectories, ranges)
    values: dict[str, np.ndarray] = dict(objects.residuals)
    channels: dict[str, tuple[str, ...]] = {**objects.channels, **single.channels}
    for aspect, residual, labels in channel_residuals(trajectories, models, hand):
        values[aspect], channels[aspect] = residual, labels
    if {STATE, VELOCITY} <= trajectories.signals.keys():
        position, speed = trajectories.signals[STATE], trajectories.signals[VELOCITY]
        if position.shape == speed.shape:
            values["velocity_mismatch"] = _velocity_mismatch(trajectories)
            channels["velocity_mismatch"] = tuple(schema.channel(VELOCITY, index) for index in range(speed.shape[1]))
    for aspect, residual in hand_residuals(trajectories, hand).items():
        values[aspect], channels[aspect] = residual, (CONTACT,)
    image_steps = {}
    for camera, model in images.items():
        if camera not in trajectories.images:
            continue
        for aspect, residual in model.residuals(trajectories, camera).items():
            values[aspect], channels[aspect] = residual, (camera,) * residual.shape[1]
        image_steps[camera] = model.steps(trajectories, camera)
    return FrameResiduals(values, single, channels, motion, image_steps)


def _velocity_mismatch(trajectories: Trajectories) -> np.ndarray:
    """(frames, d) slope of the position minus the mean velocity around a frame."""
    at, speed = trajectories.signal_at, trajectories.signals[VELOCITY]
    slope = (at(STATE, 1) - at(STATE, -1)) * trajectories.schema.rate_hz / 2
    mismatch = slope - (at(VELOCITY, -1) + 2 * speed + at(VELOCITY, 1)) / 4
    mismatch[trajectories.starts] = mismatch[trajectories.starts + trajectories.lengths - 1] = 0.0
    return mismatch
