"""The simple model of a driven joint: a dead time and a first-order lag between goal and position.

It knows nothing of load, friction or speed limits. A calibrated twin must predict held-out logs better than this, so
`calibrate` and `replay` report both.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.slots import goal_channel
from twinloop.calibrate.track import Track

DELAYS_S = (0.0, 0.03, 0.07, 0.12)
LAGS_S = (0.01, 0.03, 0.07, 0.15, 0.3)


@dataclass(frozen=True)
class DelayLag:
    """Position follows the goal of `delay_s` ago with the time constant `lag_s`."""

    delay_s: float
    lag_s: float


def driven_channels(bench: Bench) -> list[ChannelMap]:
    """The compared position channels of driven joints that have position commands."""
    goals = {channel.joint for channel in bench.commanded if channel.of == "position"}
    joints = goals & set(bench.drive.joints if bench.drive is not None else ())
    return [channel for channel in bench.compared if channel.of == "position" and channel.joint in joints]


def predict(bench: Bench, channel: ChannelMap, track: Track, model: DelayLag) -> np.ndarray:
    """(frames, 1) positions in the model's unit: the exact response to goals that hold between frames."""
    from scipy.signal import lfilter

    goal = track.commands[goal_channel(bench, channel.joint)][:, 0]
    delay, lag = model.delay_s * bench.logs.rate_hz, max(model.lag_s * bench.logs.rate_hz, 1e-3)
    whole = int(delay)
    # Within a frame the goal of `whole + 2` frames ago holds first, then that of `whole + 1` frames ago.
    before, after = np.exp(-1 / lag), np.exp(-(1 - delay + whole) / lag)
    frame = np.arange(len(goal))
    old, new = goal[np.maximum(frame - 2 - whole, 0)], goal[np.maximum(frame - 1 - whole, 0)]
    drive = (after - before) * old + (1 - after) * new
    drive[0] = track.begin[channel.name][0]
    return np.asarray(lfilter([1.0], [1.0, -before], drive))[:, None]


def fit_delay_lag(bench: Bench, tracks: Sequence[Track]) -> dict[str, DelayLag]:
    """Channel -> the delay and lag with the least RMSE on these logs."""
    return {channel.name: _fit(bench, channel, tracks) for channel in driven_channels(bench)}


def _fit(bench: Bench, channel: ChannelMap, tracks: Sequence[Track]) -> DelayLag:
    from scipy.optimize import minimize

    def model_of(variables: np.ndarray) -> DelayLag:
        return DelayLag(float(np.clip(variables[0], 0, 1)), float(np.exp(np.clip(variables[1], -9, 3))))

    def cost(variables: np.ndarray) -> float:
        return delay_lag_rmse(bench, channel, tracks, model_of(variables))

    grid = [np.array([delay_s, np.log(lag_s)]) for delay_s in DELAYS_S for lag_s in LAGS_S]
    start = min(grid, key=cost)
    simplex = start + np.array([[0.0, 0.0], [0.02, 0.0], [0.0, 0.5]])
    options = {"xatol": 1e-4, "fatol": 1e-9, "maxfev": 200, "initial_simplex": simplex}
    return model_of(minimize(cost, start, method="Nelder-Mead", options=options).x)


def delay_lag_rmse(bench: Bench, channel: ChannelMap, tracks: Sequence[Track], model: DelayLag) -> float:
    """RMSE of a simple model on these logs, in the unit of the log."""
    off = [predict(bench, channel, track, model) - track.measured[channel.name] for track in tracks]
    return float(np.sqrt(np.nanmean(np.concatenate(off) ** 2)) / abs(channel.scale))


def predictions(bench: Bench, tracks: Sequence[Track], models: Mapping[str, DelayLag]) -> dict[str, list[np.ndarray]]:
    """Channel -> (frames, 1) positions of each log."""
    return {
        channel.name: [predict(bench, channel, track, models[channel.name]) for track in tracks]
        for channel in driven_channels(bench)
        if channel.name in models
    }
