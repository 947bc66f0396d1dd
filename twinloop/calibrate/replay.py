"""Replay: logged commands (or, without commands, the logged initial state) simulated open loop and compared with the
measurements."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.delay_lag import DelayLag, fit_delay_lag, predictions
from twinloop.calibrate.logs import Log
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.sweep import HERE, Where
from twinloop.calibrate.track import Track

BINS = 20


@dataclass(frozen=True)
class Error:
    """How far the twin is from the log, in the log's unit (degrees for an orientation)."""

    unit: str
    rmse: float
    mae: float
    worst: float
    frames: int

    def to_json(self) -> dict[str, Any]:
        numbers = {"rmse": self.rmse, "mae": self.mae, "worst": self.worst}
        return {"unit": self.unit, **{name: _known(number) for name, number in numbers.items()}, "frames": self.frames}


@dataclass(frozen=True)
class Traces:
    """Curves of one log: (frames, elements) per channel, in the log's unit. `low`, `high`: ends of the band."""

    log: str
    time_s: np.ndarray
    measured: dict[str, np.ndarray]
    simulated: dict[str, np.ndarray]
    low: dict[str, np.ndarray] = field(default_factory=dict)
    high: dict[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True)
class Replay:
    """A twin compared with logs, open loop.

    Attributes:
        errors: channel -> error over all logs.
        by_log: log -> channel -> error, the worst log first.
        over_time: mean absolute error in BINS equal parts of a recording.
        traces: the curves, in the order of `by_log`.
        coverage: channel -> share of measurements in the 90 % band, if a patch gives one.
        coverage_by_log: channel -> log -> the same per log; without logs that have no measurement of the channel.
        delay_lag: channel -> error of the simple model, a dead time and a first-order lag.
        delay_lag_by_log: the same per log.
    """

    bench: Bench
    values: dict[str, float]
    errors: dict[str, Error]
    by_log: dict[str, dict[str, Error]]
    over_time: dict[str, list[float]]
    traces: tuple[Traces, ...]
    coverage: dict[str, float] = field(default_factory=dict)
    coverage_by_log: dict[str, dict[str, float]] = field(default_factory=dict)
    delay_lag: dict[str, Error] = field(default_factory=dict)
    delay_lag_by_log: dict[str, dict[str, Error]] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        return {
            "twin": self.bench.name,
            "logs": len(self.by_log),
            "begin_frames": self.bench.logs.begin_frames,
            "channels": {name: error.to_json() for name, error in self.errors.items()},
            "delay_lag": {name: error.to_json() for name, error in self.delay_lag.items()},
            "worst_first": list(self.by_log),
            "by_log": _by_log_json(self.by_log),
            "delay_lag_by_log": _by_log_json(self.delay_lag_by_log),
            "over_time": {name: [_known(mean) for mean in means] for name, means in self.over_time.items()},
            "coverage": self.coverage,
            "coverage_by_log": self.coverage_by_log,
        }


def _by_log_json(by_log: Mapping[str, Mapping[str, Error]]) -> dict[str, Any]:
    return {log: {name: error.to_json() for name, error in errors.items()} for log, errors in by_log.items()}


def _known(value: float) -> float | None:
    """None for NaN and infinity, which JSON does not have."""
    return value if np.isfinite(value) else None


def replay(
    bench: Bench, logs: Sequence[Log], values: Mapping[str, float] | None = None, *, where: Where = HERE
) -> Replay:
    """Replay logs with these values of fit variables; others keep the value of the bench file.

    The simple model beside it is fitted on the same logs.
    """
    values = dict(values or {})
    plant = BenchSimulator(bench, logs, tuple(values), where=where)
    simulated = plant.simulate(np.array([list(values.values())]))
    return compare_with_logs(plant, simulated, values, fit_delay_lag(bench, plant.tracks))


def compare_with_logs(
    plant: BenchSimulator,
    simulated: dict[str, np.ndarray],
    values: Mapping[str, float],
    models: Mapping[str, DelayLag] | None = None,
) -> Replay:
    """Compare the first parameter set of a simulation, and the simple models, with the logs."""
    bench = plant.bench
    rows = {
        name: [both[0, place, : track.frames] for place, track in enumerate(plant.tracks)]
        for name, both in simulated.items()
    }
    distances = _distances(bench, plant.tracks, rows)
    simple = _distances(bench, plant.tracks, predictions(bench, plant.tracks, models or {}))
    errors, by_log = _errors(bench, plant.tracks, distances)
    delay_lag, delay_lag_by_log = _errors(bench, plant.tracks, simple)
    order = sorted(by_log, key=lambda log: -_badness(by_log[log], errors))
    traces = {
        track.log.name: _traces(bench, track, {name: own[place] for name, own in rows.items()})
        for place, track in enumerate(plant.tracks)
    }
    return Replay(
        bench=bench,
        values=dict(values),
        errors=errors,
        by_log={log: by_log[log] for log in order},
        over_time={name: _binned(distance) for name, distance in distances.items()},
        traces=tuple(traces[log] for log in order),
        delay_lag=delay_lag,
        delay_lag_by_log={log: delay_lag_by_log[log] for log in order} if delay_lag else {},
    )


def _distances(
    bench: Bench, tracks: Sequence[Track], rows: Mapping[str, list[np.ndarray]]
) -> dict[str, list[np.ndarray]]:
    """Channel -> distance between simulated and measured of each log."""
    return {
        channel.name: [
            distances_of(channel, own, track.measured[channel.name])
            for own, track in zip(rows[channel.name], tracks, strict=True)
        ]
        for channel in bench.compared
        if channel.name in rows
    }


def _errors(
    bench: Bench, tracks: Sequence[Track], distances: Mapping[str, list[np.ndarray]]
) -> tuple[dict[str, Error], dict[str, dict[str, Error]]]:
    """Errors over all logs, and log by log."""
    channels = [channel for channel in bench.compared if channel.name in distances]
    by_log = {
        track.log.name: {channel.name: error_of(channel, distances[channel.name][place]) for channel in channels}
        for place, track in enumerate(tracks)
    }
    return {channel.name: error_of(channel, np.concatenate(distances[channel.name])) for channel in channels}, by_log


def _badness(errors: Mapping[str, Error], overall: Mapping[str, Error]) -> float:
    """The largest ratio of a log's RMSE to that of all logs, over the channels."""
    ratios = [error.rmse / max(overall[name].rmse, 1e-12) for name, error in errors.items() if np.isfinite(error.rmse)]
    return max(ratios, default=0.0)


def difference(channel: ChannelMap, simulated: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """(..., frames, elements) simulated less measured, in the log's unit; of a turn, as a rotation in degrees."""
    if channel.of != "turn":
        return (simulated - measured) / channel.scale
    w, v = simulated[..., :1], -simulated[..., 1:]
    mw, mv = measured[..., :1], measured[..., 1:]
    # conjugate(simulated) · measured, in the body's frame.
    real = w * mw - (v * mv).sum(axis=-1, keepdims=True)
    turned = w * mv + mw * v + np.cross(v, np.broadcast_to(mv, v.shape))
    sign = np.where(real < 0, -1.0, 1.0)
    size = np.linalg.norm(turned, axis=-1, keepdims=True)
    angle = 2 * np.arctan2(size, sign * real)
    return -np.rad2deg(np.where(size > 1e-12, angle / np.maximum(size, 1e-12), 2.0)) * sign * turned


def distances_of(channel: ChannelMap, simulated: np.ndarray, measured: np.ndarray) -> np.ndarray:
    """(frames,) how far apart they are; NaN where nothing was measured."""
    return np.linalg.norm(difference(channel, simulated, measured), axis=-1)


def swing_of(channel: ChannelMap, rows: np.ndarray) -> float:
    """How far a recording swings, in the log's unit: from its 5th percentile to its 95th, the mean over elements."""
    if channel.of == "turn":
        return 1.0
    low, high = np.nanquantile(rows / abs(channel.scale), [0.05, 0.95], axis=0)
    return max(float(np.mean(high - low)), 1e-9)


def error_of(channel: ChannelMap, distance: np.ndarray) -> Error:
    distance = distance[np.isfinite(distance)]
    unit = "°" if channel.of == "turn" else channel.unit
    if not len(distance):
        return Error(unit, float("nan"), float("nan"), float("nan"), 0)
    return Error(
        unit,
        float(np.sqrt(np.mean(distance**2))),
        float(np.mean(distance)),
        float(np.max(distance)),
        len(distance),
    )


def _traces(bench: Bench, track: Track, simulated: dict[str, np.ndarray]) -> Traces:
    def logged(channel: ChannelMap, rows: np.ndarray) -> np.ndarray:
        return (rows - channel.offset) / channel.scale if channel.of != "turn" else rows

    return Traces(
        track.log.name,
        np.arange(track.frames) / bench.logs.rate_hz,
        {channel.name: logged(channel, track.measured[channel.name]) for channel in bench.compared},
        {channel.name: logged(channel, simulated[channel.name][: track.frames]) for channel in bench.compared},
    )


def _binned(distances: list[np.ndarray]) -> list[float]:
    """Mean over all logs in each of BINS equal parts."""
    sums, counts = np.zeros(BINS), np.zeros(BINS)
    for distance in distances:
        part = np.minimum(np.arange(len(distance)) * BINS // max(len(distance), 1), BINS - 1)
        known = np.isfinite(distance)
        sums += np.bincount(part[known], distance[known], BINS)
        counts += np.bincount(part[known], minlength=BINS)
    return [float(total / count) if count else float("nan") for total, count in zip(sums, counts, strict=True)]
