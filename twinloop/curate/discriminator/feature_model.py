"""FeatureModel: episodes -> standardised features, larger is more implausible.

A frame's residuals are divided by their usual size in the same contact regime. An episode's features are the peak, the
level and the offset of these residuals in each aspect, the delays, and the amount of motion. Each is compared, channel
by channel, with its distribution over good episodes: 0 is the median and about 2.3 the 99th percentile.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np

from twinloop.curate.discriminator.blas_threads import one_blas_thread
from twinloop.curate.discriminator.channel_model import ChannelModel, fit_channels
from twinloop.curate.discriminator.episode_statistics import end_table, episode_tables
from twinloop.curate.discriminator.feature_scales import (
    FLOORS,
    TAIL,
    ColumnScale,
    column_scale,
    end_floors,
    floor_of,
    hand_tolerance,
    tail_floor,
)  # fmt: skip
from twinloop.curate.discriminator.frame_residuals import FrameResiduals, frame_residuals
from twinloop.curate.discriminator.hand_contact import HandModel, fit_hand
from twinloop.curate.discriminator.images import ImageModel, fit_images
from twinloop.curate.discriminator.posture_support import PostureSupport, fit_posture_support
from twinloop.curate.discriminator.residual_summary import ResidualSummary, summary_of
from twinloop.curate.discriminator.scene_model import SceneModel, fit_scene
from twinloop.curate.discriminator.scene_motion import REGIMES, regimes, scene_motion, tracker_smoothing
from twinloop.curate.discriminator.single_channels import ChannelRanges, fit_ranges
from twinloop.curate.discriminator.trajectories import Trajectories

FOLDS, ROBUST_FOLDS = 3, 2
MODEL_EPISODES = 96
GRIP_ASPECTS = ("slips_in_grip", "shifts_in_grip", "grip_drift", "touch_at_distance")
MIN_GRIP_SHARE, NEVER = 0.05, 1e9
SIGNED = ("step:", "static:", "free_step:", "free_static:", "velocity_mismatch", "image_static:")
SMALL, SMALL_PHYSICAL, LEVEL_SHARE = 0.05, 0.3, 0.2
"""Added to a ratio before its logarithm: differences far below the usual size do not matter. Many residuals of physics
are zero in all good episodes; there, differences below the floor do not matter. A level needs less than a peak."""
MIN_FRAMES = 200
FREE, FREE_SHARE = ("free_step:", "free_static:"), 0.05
"""Share of a channel's range by which the hand may differ from its usual motion while it is free."""
BURSTS = ("jump:", "step:", "velocity_mismatch", "object_acceleration", "object_speed", "static:")
"""Aspects whose peak is also compared with the level of the same episode: sensors of some episodes are noisier."""


@dataclass(frozen=True)
class EpisodeFeatures:
    """EpisodeFeatures of n episodes.

    Attributes:
        names: of the features.
        values: (n, features).
        channels: (n, features) name of the worst channel of each.
        frames: (frames,) largest residual of each frame, in usual sizes.
    """

    names: tuple[str, ...]
    values: np.ndarray
    channels: np.ndarray
    frames: np.ndarray


@dataclass(frozen=True)
class FeatureModel:
    """Everything that is fitted on good episodes.

    Attributes:
        models: one-step and static models of the robot's channels.
        ranges: ranges of the channels.
        support: postures of the training data.
        scene: entities of the scene; None without poses.
        hand: usual forces of the hand; None without a finger contact sensor.
        frame_scales: aspect -> (regimes, columns) usual size of a residual.
        tables: table -> its scale.
        ends: task -> scale of the last frame of a success; "" is all tasks together.
        images: camera -> model of its images.
    """

    models: tuple[ChannelModel, ...]
    ranges: ChannelRanges
    support: PostureSupport
    scene: SceneModel | None
    hand: HandModel | None
    frame_scales: Mapping[str, np.ndarray]
    tables: Mapping[str, ColumnScale]
    ends: Mapping[str, ColumnScale]
    images: Mapping[str, ImageModel] = field(default_factory=dict)

    def features(self, trajectories: Trajectories, *, threads: int = 1) -> EpisodeFeatures:
        blocks = trajectories.blocks()
        # NumPy computes without the interpreter's lock.
        with one_blas_thread(), ThreadPoolExecutor(threads) as pool:
            parts = list(pool.map(self._features, blocks))
        return EpisodeFeatures(
            parts[0].names,
            np.concatenate([part.values for part in parts]),
            np.concatenate([part.channels for part in parts]),
            np.concatenate([part.frames for part in parts]),
        )

    def _features(self, trajectories: Trajectories) -> EpisodeFeatures:
        residuals = frame_residuals(trajectories, self.models, self.ranges, self.scene, self.hand, self.images)
        summary = summary_of(trajectories, residuals, self.frame_scales, self.support)
        names: list[str] = []
        values: list[np.ndarray] = []
        channels: list[np.ndarray] = []
        tables = _tables(trajectories, residuals, summary)
        for table, scale in self.tables.items():
            names.append(table)
            if table not in tables:  # images that these episodes do not have
                values.append(np.zeros(len(trajectories)))
                channels.append(np.full(len(trajectories), "", object))
                continue
            content, labels, two_sided = tables[table]
            standard = scale.apply(content, two_sided=two_sided)
            worst = standard.argmax(axis=1)
            values.append(standard[np.arange(len(worst)), worst])
            channels.append(np.array(labels, object)[worst])
        label, label_channels = self._label(trajectories)
        return EpisodeFeatures(
            (*names, "label"),
            np.stack([*values, label], axis=1),
            np.stack([*channels, label_channels], axis=1),
            summary.frames,
        )

    def _label(self, trajectories: Trajectories) -> tuple[np.ndarray, np.ndarray]:
        """(how far label and end contradict each other, channel): a success must end like one, a failure must not."""
        content, names = end_table(trajectories)
        out, channel = np.zeros(len(trajectories)), np.full(len(trajectories), "success", object)
        if not self.ends:
            return out, channel
        for task in set(trajectories.tasks):
            rows = np.array([name == task for name in trajectories.tasks])
            scale = self.ends.get(task, self.ends[""])
            apart = scale.apply(content[rows], two_sided=True)
            worst = apart.argmax(axis=1)
            ratio = apart.max(axis=1)
            wrong = np.where(trajectories.success[rows] == 0, np.maximum(3 * TAIL - ratio, 0) * 2, ratio)
            out[rows] = np.where(np.isnan(trajectories.success[rows]), 0.0, wrong)
            channel[rows] = np.where(trajectories.success[rows] == 0, "success", np.array(names, object)[worst])
        return out, channel


def _tables(
    trajectories: Trajectories, residuals: FrameResiduals, summary: ResidualSummary
) -> dict[str, tuple[np.ndarray, tuple[str, ...], bool]]:
    """Table -> ((n, columns), channel of each column, two-sided)."""
    tables: dict[str, tuple[np.ndarray, tuple[str, ...], bool]] = {}
    small = np.empty(summary.peak.shape[1])
    for aspect, columns in summary.columns.items():
        small[columns] = SMALL_PHYSICAL if aspect in FLOORS else SMALL
    peak = np.log(summary.peak + small)
    level, offset = (np.log(values + small * LEVEL_SHARE) for values in (summary.level, summary.offset))
    for aspect, columns in summary.columns.items():
        labels = residuals.channels[aspect]
        tables[f"{aspect}|peak"] = peak[:, columns], labels, False
        tables[f"{aspect}|level"] = level[:, columns], labels, False
        if aspect.startswith(BURSTS):
            tables[f"{aspect}|burst"] = peak[:, columns] - level[:, columns], labels, False
        if aspect.startswith(SIGNED):
            tables[f"{aspect}|offset"] = offset[:, columns], labels, False
    whole = episode_tables(trajectories, residuals.motion, residuals.image_steps)
    for aspect, values in whole.values.items():
        tables[aspect] = values, whole.channels[aspect], True
    return tables


def fit_feature_model(
    good: Trajectories, *, rng: np.random.Generator, robust: bool = False
) -> tuple[FeatureModel, EpisodeFeatures]:
    """Fit on good episodes. Returns the model and the features of these episodes, each from a model without it.

    With `robust` scales come from the middle of the distributions, so that a third of the episodes may be faulty.

    The distribution of features comes from such held-out episodes too, because residuals of episodes that a model was
    fitted on are too small.
    """
    folds = ROBUST_FOLDS if robust else FOLDS
    fold = rng.permutation(np.arange(len(good)) % folds)
    pieces: dict[str, list[np.ndarray]] = {}
    two_sided: dict[str, bool] = {}
    tolerance: dict[str, np.ndarray] = {}
    bare: list[tuple[np.ndarray, FeatureModel]] = []
    for number in range(folds):
        inside, outside = good.take(fold != number), good.take(fold == number)
        model = _fit_bare(inside)
        for block in outside.blocks():
            residuals = frame_residuals(block, model.models, model.ranges, model.scene, model.hand, model.images)
            summary = summary_of(block, residuals, model.frame_scales, model.support)
            for table, (content, labels, both) in _tables(block, residuals, summary).items():
                pieces.setdefault(table, []).append(content)
                two_sided[table] = both
                tolerance[table] = hand_tolerance(table, labels)
        bare.append((np.flatnonzero(fold == number), model))
    tables = {
        table: column_scale(
            np.concatenate(parts), tail_floor(table) * tolerance[table], two_sided=two_sided[table], robust=robust
        )
        for table, parts in pieces.items()
    }
    ends = _fit_ends(good)
    features = [replace(model, tables=tables, ends=ends).features(good.take(index)) for index, model in bare]
    order = np.argsort(np.concatenate([index for index, _ in bare]), kind="stable")
    final = _fit_bare(good)
    return replace(final, tables=tables, ends=ends), _in_order(features, order)


def _in_order(parts: Sequence[EpisodeFeatures], order: np.ndarray) -> EpisodeFeatures:
    first = parts[0]
    return EpisodeFeatures(
        first.names,
        np.concatenate([part.values for part in parts])[order],
        np.concatenate([part.channels for part in parts])[order],
        np.concatenate([part.frames for part in parts]),
    )


def _fit_bare(good: Trajectories) -> FeatureModel:
    # Some episodes are enough for the few hundred weights of a channel's model.
    some = good.take(np.linspace(0, len(good) - 1, min(len(good), MODEL_EPISODES)).astype(int))
    hand = fit_hand(good)
    models = fit_channels(some, hand)
    ranges, images = fit_ranges(good), fit_images(good)
    motion = scene_motion(good, smooth_frames=tracker_smoothing(good))
    scene = None if motion is None else fit_scene(good, motion)
    sizes: dict[str, list[np.ndarray]] = {}
    contacts = []
    for block in good.blocks():
        residuals = frame_residuals(block, models, ranges, scene, hand, images)
        table = np.abs(residuals.table(slice(0, block.frames), block.starts)).astype(np.float32)
        for aspect, columns in residuals.columns.items():
            sizes.setdefault(aspect, []).append(table[:, columns])
        contacts.append(regimes(block))
    where = np.concatenate(contacts)
    scales = {}
    for aspect, parts in sizes.items():
        table = np.concatenate(parts)
        whole = np.quantile(table, 0.99, axis=0)
        floor = floor_of(aspect) or max(1e-3 * float(np.median(whole)), 1e-6)
        if aspect.startswith(FREE):
            columns = [column for model in models if model.aspect == aspect for column in model.columns]
            span = np.ptp(good.signals[aspect.partition(":")[2]][:, columns], axis=0)
            floor = np.maximum(FREE_SHARE * span, 1e-6)
        usual = [
            np.quantile(table[where == regime], 0.99, axis=0) if (where == regime).sum() > MIN_FRAMES else whole
            for regime in range(REGIMES)
        ]
        scales[aspect] = np.maximum(np.stack(usual), floor)
        if aspect in GRIP_ASPECTS and (table > 0).mean() < MIN_GRIP_SHARE:
            # A task that does not grip, such as pushing, does not show how a held object behaves.
            scales[aspect] = np.full_like(scales[aspect], NEVER)
    return FeatureModel(models, ranges, fit_posture_support(some), scene, hand, scales, {}, {}, images)


def _fit_ends(good: Trajectories) -> dict[str, ColumnScale]:
    content, names = end_table(good)
    success = good.success == 1
    if not content.shape[1] or not success.any():  # no label or nothing to compare it with
        return {}
    floors = end_floors(names)
    ends = {"": column_scale(content[success], floors, two_sided=True)}
    for task in set(good.tasks):
        rows = success & np.array([name == task for name in good.tasks])
        if rows.sum() >= 20:
            ends[task] = column_scale(content[rows], floors, two_sided=True)
    return ends
