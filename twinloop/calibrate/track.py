"""Track: a log resampled to an even grid of frames, in the units of the model."""

from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.beginning import begin_of
from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.logs import Log
from twinloop.errors import DatasetError
from twinloop.signals.clock import spread_stamps


@dataclass(frozen=True)
class Track:
    """A log on an even grid of frames, in the units of the model.

    Attributes:
        commands, measured: channel -> (frames, elements).
        enabled: (frames,) 1 where the motors are powered.
        inputs: inputs of the servo model.
        begin: channel -> initial state.
    """

    log: Log
    commands: dict[str, np.ndarray]
    measured: dict[str, np.ndarray]
    enabled: np.ndarray
    inputs: dict[str, float]
    begin: dict[str, np.ndarray]

    @property
    def frames(self) -> int:
        return len(self.enabled)


def column_of(log: Log, channel: ChannelMap) -> np.ndarray:
    """The logged values of a channel, in the log's own units."""
    places = places_of(log, channel)
    return log.columns[channel.column][:, places]


def places_of(log: Log, channel: ChannelMap) -> list[int]:
    """Indices of a channel's elements in its column."""
    if channel.column not in log.columns:
        raise DatasetError(f"{log.name}: has no column {channel.column!r}; it has {', '.join(sorted(log.columns))}")
    wide, names = log.columns[channel.column].shape[1], log.names.get(channel.column, ())
    places = []
    for element in channel.elements:
        if isinstance(element, str) and element not in names:
            known = ", ".join(names) or "none"
            raise DatasetError(f"{log.name}: {channel.column} has no element {element!r}; elements: {known}")
        places.append(names.index(element) if isinstance(element, str) else int(element))
    if max(places) >= wide:
        raise DatasetError(f"{log.name}: {channel.column} has {wide} elements, not {max(places) + 1}")
    return places


def track_of(bench: Bench, log: Log) -> Track:
    """Resample a log: commands hold their last value, measurements are interpolated."""
    period_s = 1 / bench.logs.rate_hz
    since = spread_stamps(log.time_s - log.time_s[0])
    grid = np.arange(int(since[-1] / period_s + 0.5) + 1) * period_s
    held = np.clip(np.searchsorted(since, grid + period_s / 2, side="right") - 1, 0, len(since) - 1)
    near = np.abs(since[held] - grid)

    def of_model(channel: ChannelMap) -> np.ndarray:
        return column_of(log, channel) * channel.scale + channel.offset

    measured = {}
    for channel in bench.measured:
        if not channel.compared and channel.column not in log.columns:
            measured[channel.name] = np.full((len(grid), len(channel.elements)), np.nan)  # then it begins at rest
            continue
        values = of_model(channel)
        whole = np.asarray(np.isfinite(values).all(axis=1))
        on_grid = np.full((len(grid), values.shape[1]), np.nan)
        if whole.any():
            on_grid[:] = np.stack([np.interp(grid, since[whole], column) for column in values[whole].T], axis=1)
        on_grid[(near > 1.5 * period_s) | ~whole[held]] = np.nan
        measured[channel.name] = on_grid
    commands = {channel.name: _filled(of_model(channel)[held]) for channel in bench.commanded}
    drive = bench.drive
    enabled = np.ones(len(grid))
    if drive is not None and drive.enabled and drive.enabled in log.columns:
        enabled = (log.columns[drive.enabled][held, 0] > 0.5).astype(float)
    inputs = {}
    for name, (constant, number) in (drive.inputs if drive is not None else {}).items():
        if constant and constant not in log.constants:
            raise DatasetError(f"{log.name}: has no value {constant!r}, which the drive needs for {name}")
        inputs[name] = log.constants[constant] * number if constant else number
    return Track(log, commands, measured, enabled, inputs, begin_of(bench, measured))


def _filled(values: np.ndarray) -> np.ndarray:
    """Replace commands that are not numbers by the last valid one."""
    whole = np.isfinite(values).all(axis=1)
    last = np.maximum.accumulate(np.where(whole, np.arange(len(values)), -1))
    return values[np.maximum(last, int(np.argmax(whole)))]
