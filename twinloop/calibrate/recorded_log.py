"""A log as the quality checks of recordings read it: named channels in the units of the model."""

from dataclasses import replace

import mujoco
import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.logs import Log
from twinloop.calibrate.track import column_of
from twinloop.curate.quality import ACTION, STATE, RecordedEpisode

VELOCITY = "observation.velocity"
UNITS = {"place": "m", "turn": "quaternion", "linear_velocity": "m/s", "angular_velocity": "rad/s", "torque": "N·m",
         "current": "A"}  # fmt: skip


def feature_of(bench: Bench, channel: ChannelMap) -> str:
    """The feature that holds a channel. Channels of joints share features, so that the checks can compare them."""
    if not channel.joint or channel.of not in ("position", "velocity"):
        return channel.name
    commanded = channel in bench.commanded
    if channel.of == "position":
        return ACTION if commanded else STATE
    return channel.name if commanded else VELOCITY


def recorded_log(bench: Bench, log: Log, number: int) -> RecordedEpisode:
    """The log with its own clock and rows. Channels that are not logged are left out."""
    signals, names, units = {}, {}, {}
    for channel in (*bench.commanded, *bench.measured):
        if channel.column not in log.columns and channel in bench.measured and not channel.compared:
            continue
        values, feature = column_of(log, channel) * channel.scale + channel.offset, feature_of(bench, channel)
        if channel.of == "velocity" and not np.isfinite(values).any():
            continue
        shared = feature in (ACTION, STATE, VELOCITY)
        signals[feature] = np.concatenate([signals[feature], values], axis=1) if feature in signals else values
        names[feature] = (*names.get(feature, ()), channel.joint) if shared else ()
        units[feature] = (*units.get(feature, ()), *[_unit(bench, channel)] * values.shape[1])
    drive, powered = bench.drive, None
    if drive is not None and drive.enabled and drive.enabled in log.columns:
        powered = log.columns[drive.enabled][:, 0] > 0.5
    return RecordedEpisode(
        attempt=number,
        label=log.name,
        rate_hz=bench.logs.rate_hz,
        rows=len(log),
        time_s=log.time_s,
        signals=signals,
        names=names,
        units=units,
        limits=_limits(bench),
        rate_declared=bench.logs.rate_declared,
        powered=powered,
    )


def channel_names(bench: Bench) -> dict[str, str]:
    """Name of a channel or feature in the quality checks -> its name in the bench file."""
    names = {}
    for channel in (*bench.commanded, *bench.measured):
        feature = feature_of(bench, channel)
        if feature in (ACTION, STATE, VELOCITY):
            names[f"{feature}/{channel.joint}"] = channel.name
        else:
            names |= {f"{feature}[{element}]": channel.name for element in range(len(channel.elements))}
            names[feature] = channel.name
    return names


def interpolated(record: RecordedEpisode) -> RecordedEpisode:
    """The record with missing numbers interpolated, so that the other checks can run."""
    signals = {feature: values.copy() for feature, values in record.signals.items()}
    rows = np.arange(record.rows)
    for values in signals.values():
        for column in values.T:
            known = np.isfinite(column)
            if known.any() and not known.all():
                column[~known] = np.interp(rows[~known], rows[known], column[known])
    return replace(record, signals=signals)


def _unit(bench: Bench, channel: ChannelMap) -> str:
    if channel.of in UNITS:
        return UNITS[channel.of]
    if not channel.joint:
        return ""
    hinge = bench.model.jnt_type[bench.model.joint(channel.joint).id] == mujoco.mjtJoint.mjJNT_HINGE
    unit = "rad" if hinge else "m"
    return unit if channel.of == "position" else f"{unit}/s"


def _limits(bench: Bench) -> dict[str, tuple[float, float]]:
    """Ranges of the joints in the model; infinite for a joint without end stops."""
    limits = {}
    for channel in (*bench.commanded, *bench.measured):
        if channel.of == "position" and channel.joint:
            low, high = bench.model.jnt_range[bench.model.joint(channel.joint).id]
            ends = (float(low), float(high)) if low < high else (-np.inf, np.inf)
            limits[f"{feature_of(bench, channel)}/{channel.joint}"] = ends
    return limits
