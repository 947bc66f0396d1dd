"""The simple model of a driven joint: a dead time and a first-order lag between goal and position.

It knows nothing of load, friction or speed limits. A calibrated twin must predict held-out logs better than this, so
`calibrate` and `replay` report both. Its two numbers are fitted to the positions that they predict. They are other
quantities than the delay of `signals/delay.py`, one shift of the whole motion, from which the fit starts. For the
shoulder lift of an SO-101 at 30 Hz, the shift is 139 ms, and the fitted dead time and lag are 35 and 81 ms.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.slots import goal_channel
from twinloop.calibrate.track import Track
from twinloop.signals.delay import estimate_delay
from twinloop.signals.response import simulate

LONGEST_DELAY_S = 0.5
DEAD_SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)
"""Shares of the delay that the fit starts from as dead time; the rest is the lag."""
LEAST_LAG_S = 0.01
MIN_LAG_FRAMES = 1e-3


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
    goal = track.commands[goal_channel(bench, channel.joint)][:, 0]
    lag_s, start = max(model.lag_s, MIN_LAG_FRAMES / bench.logs.rate_hz), float(track.begin[channel.name][0])
    return simulate(goal, model.delay_s, lag_s, rate_hz=bench.logs.rate_hz, start=start)[:, None]


def fit_delay_lag(bench: Bench, tracks: Sequence[Track]) -> dict[str, DelayLag]:
    """Channel -> the delay and lag with the least RMSE on these logs."""
    return {channel.name: _fit(bench, channel, tracks) for channel in driven_channels(bench)}


def _fit(bench: Bench, channel: ChannelMap, tracks: Sequence[Track]) -> DelayLag:
    from scipy.optimize import minimize

    def model_of(variables: np.ndarray) -> DelayLag:
        return DelayLag(float(np.clip(variables[0], 0, 1)), float(np.exp(np.clip(variables[1], -9, 3))))

    def cost(variables: np.ndarray) -> float:
        return delay_lag_rmse(bench, channel, tracks, model_of(variables))

    delay_s = _delay_s(bench, channel, tracks)
    splits = [(share * delay_s, max((1 - share) * delay_s, LEAST_LAG_S)) for share in DEAD_SHARES]
    start = min((np.array([dead_s, np.log(lag_s)]) for dead_s, lag_s in splits), key=cost)
    simplex = start + np.array([[0.0, 0.0], [0.02, 0.0], [0.0, 0.5]])
    options = {"xatol": 1e-4, "fatol": 1e-9, "maxfev": 200, "initial_simplex": simplex}
    return model_of(minimize(cost, start, method="Nelder-Mead", options=options).x)


def _delay_s(bench: Bench, channel: ChannelMap, tracks: Sequence[Track]) -> float:
    """The shift between goal and position, without the frame for which a goal is held."""
    goal, rate_hz = goal_channel(bench, channel.joint), bench.logs.rate_hz
    pairs = [(track.commands[goal], track.measured[channel.name]) for track in tracks]
    delay = estimate_delay(pairs, shifts=range(int(LONGEST_DELAY_S * rate_hz) + 2), fit_gain=True)
    return max(delay.rows - 1, 0.0) / rate_hz if delay is not None else 0.0


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
