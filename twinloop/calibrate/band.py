"""Prediction bands: how far measurements lie from a replay, estimated on logs that the fit did not use.

Errors of a twin are not equally large everywhere. They grow with the range of motion, with the effort of the servo (its
torque is wrong by some share, at a low gain as at a high one), and where the posterior's draws differ (a gain or a
motion unlike those of the fit). So the half width of a band is the root of the sum of three squares. Their weights are
fitted to the errors on held-out logs, and the whole is scaled to contain 90 % of them (conformal prediction with a
normalised score, by cross-validation over logs).

Tried instead (2026-11-18): a linear mixed-effects model, in which every log has its own values of the fit variables.
Their covariance is estimated from the residuals of the fit, and draws of the next log are simulated. On 96 sets of
simulated servos that were used while working, its bands were nearer to 90 % (mean distance 6 to 7 instead of 9
points). On fresh sets, 36 for each of three variants, they were 0.5 points worse, 2.5 better and 1.1 worse. On the
real XL330 the last variant held 99.7 and 99.4 % at gains 100 and 200, instead of 89.5 and 96.3 %. Eight logs do not
determine the covariance of twelve variables, so the width at another gain depends on the covariance that the estimate
starts from.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.delay_lag import fit_delay_lag
from twinloop.calibrate.loads import can_decouple
from twinloop.calibrate.logs import Log
from twinloop.calibrate.patch import TwinPatch
from twinloop.calibrate.plant import BenchSimulator
from twinloop.calibrate.replay import Replay, compare_with_logs, difference, swing_of
from twinloop.calibrate.sweep import HERE, Where
from twinloop.calibrate.track import Track
from twinloop.simulate.drives import DRIVES

TAIL = 1.645
"""Standard deviations from the mean to the 95th percentile."""
INSIDE = 0.9
SMOOTH_S = 0.3
"""The effort is a moving mean over this time: an error outlasts what caused it."""
DEGREES_OF_FREEDOM = 30.0
"""Degrees of freedom of the t distribution that the weights are fitted with: outliers do not decide."""
WEIGHTS = (1e-2, 10.0)
"""Bounds of a weight, as a share of the typical error over the typical size of what it multiplies."""
SAMPLES = 4000
"""Errors that the weights are fitted to, at most."""
RESAMPLES, NEW_LOG = 200, 0.6
"""The band is wide enough for this share of resampled logs: the next log differs from those at hand."""


@dataclass(frozen=True)
class HeldOutError:
    """Errors of a twin on one held-out log.

    Attributes:
        off: (frames, elements) simulated minus measured, in the log's unit.
        swing: `swing_factor` of the log.
        effort: (frames, 1) `effort_of` the servo.
        drawn: (frames, elements) spread of the posterior's draws.
    """

    off: np.ndarray
    swing: float
    effort: np.ndarray
    drawn: np.ndarray


@dataclass(frozen=True)
class PredictionBand:
    """Half the width is the root of (left · swing factor)² + (effort · its effort)² + (drawn · spread of draws)²."""

    left: float
    effort: float
    drawn: float

    def half_width(self, swing: float | np.ndarray, effort: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        return np.sqrt((self.left * swing) ** 2 + (self.effort * effort) ** 2 + (self.drawn * drawn) ** 2)


def fit_band(errors: Sequence[HeldOutError], *, wider: float = 1.0) -> PredictionBand:
    """The band that holds 90 % of the errors on held-out logs.

    The errors decide how wide it is. The draws only decide where it is wider: a posterior may be too sure.
    """
    off = np.concatenate([np.abs(error.off).ravel() for error in errors])
    parts = np.concatenate([_parts(error) for error in errors])
    logs = np.concatenate([np.full(error.off.size, number) for number, error in enumerate(errors)])
    known = np.isfinite(off)
    off, parts, logs = off[known], parts[known], logs[known]
    if not off.any():
        return PredictionBand(0.0, 0.0, 1.0)
    weights = _weights(off, parts)
    share = _of_new_logs(off / np.sqrt(parts**2 @ weights**2), logs) * wider
    return PredictionBand(*(float(weight) for weight in share * weights))


def _parts(error: HeldOutError) -> np.ndarray:
    """(errors, 3) what the weights of a band multiply."""
    columns = (np.full_like(error.off, error.swing), error.effort, error.drawn)
    return np.stack([np.broadcast_to(column, error.off.shape).ravel() for column in columns], axis=1)


def _weights(off: np.ndarray, parts: np.ndarray) -> np.ndarray:
    """The weights under which the errors are most likely, as draws of a t distribution with the band as its scale."""
    from scipy.optimize import minimize

    every = -(-len(off) // SAMPLES)
    unit = np.sqrt(np.mean(parts**2, axis=0))
    used = unit > 0
    typical = float(np.sqrt(np.mean(np.minimum(off, np.quantile(off, 0.98)) ** 2))) or float(off.max())
    size, shape = (off[::every] / typical) ** 2, (parts[::every, used] / unit[used]) ** 2

    def cost(exponents: np.ndarray) -> tuple[float, np.ndarray]:
        squares = np.exp(2 * exponents)
        scale = shape @ squares
        excess = size / (DEGREES_OF_FREEDOM * scale)
        value = np.mean(0.5 * np.log(scale) + (DEGREES_OF_FREEDOM + 1) / 2 * np.log1p(excess))
        slope = (0.5 - (DEGREES_OF_FREEDOM + 1) / 2 * excess / (1 + excess)) / scale
        return float(value), 2 * squares * (slope @ shape) / len(size)

    bounds = [tuple(np.log(WEIGHTS))] * int(used.sum())
    end = minimize(cost, np.full(len(bounds), np.log(0.5)), jac=True, method="L-BFGS-B", bounds=bounds)
    weights = np.zeros(len(unit))
    weights[used] = np.exp(end.x) * typical / unit[used]
    return weights


def _of_new_logs(ratio: np.ndarray, logs: np.ndarray) -> float:
    """The 90 % quantile of the ratios, as it varies between resampled logs."""
    _, logs = np.unique(logs, return_inverse=True)
    count = int(logs.max()) + 1
    rng = np.random.default_rng(0)
    order = np.argsort(ratio)
    ratio, logs = ratio[order], logs[order]
    quantiles = []
    for _ in range(RESAMPLES):
        weight = np.bincount(rng.integers(count, size=count), minlength=count)[logs].cumsum()
        quantiles.append(ratio[np.searchsorted(weight, INSIDE * weight[-1])])
    # As for any prediction from a sample: the next log varies, and so does the estimate from few logs.
    return float(np.quantile(quantiles, NEW_LOG)) * np.sqrt(1 + 1 / count)


def swing_factor(swing: float, typical: float | None) -> float:
    """Errors grow with the range of motion, but less than in proportion: with its root, by a factor of 2 at most."""
    return 1.0 if typical is None else float(np.clip(np.sqrt(swing / typical), 0.5, 2.0))


def effort_of(bench: Bench, channel: ChannelMap, track: Track, rows: np.ndarray) -> np.ndarray:
    """(frames, 1) how hard the servo of a channel's joint pushes while it is on, smoothed. Zero without a goal."""
    from scipy.ndimage import uniform_filter1d

    goals = [
        commanded.name
        for commanded in bench.commanded
        if commanded.joint == channel.joint and commanded.of == "position"
    ]
    if channel.of != "position" or not goals or bench.drive is None:
        return np.zeros((len(rows), 1))
    effort = DRIVES[bench.drive.model].effort((track.commands[goals[0]] - rows)[:, 0], track.inputs) * track.enabled
    return uniform_filter1d(effort, max(1, round(SMOOTH_S * bench.logs.rate_hz)))[:, None]


def reach_of(channel: ChannelMap, rows: np.ndarray) -> np.ndarray:
    """(frames, elements) half width that holds 90 % of the draws rows[1:], in the log's unit (a turn: in degrees)."""
    width = 3 if channel.of == "turn" else rows.shape[-1]
    if len(rows) < 2:
        return np.zeros((rows.shape[1], width))
    if channel.of == "turn":
        return TAIL * np.sqrt(np.mean(difference(channel, rows[1:], rows[0]) ** 2, axis=0))
    return TAIL * (rows[1:] / channel.scale).std(axis=0)


def replay_with_band(bench: Bench, logs: Sequence[Log], patch: TwinPatch, *, where: Where = HERE) -> Replay:
    """A replay at the patch's values, with the 90 % band of the measurements that the twin expects."""
    names = tuple(patch.values)
    plant = BenchSimulator(bench, logs, names, where=where)
    best = np.array([[patch.values[name] for name in names]])
    draws = min((len(values) for values in patch.samples.values()), default=0)
    samples = np.array(
        [
            [patch.samples[name][draw] if name in patch.samples else patch.values[name] for name in names]
            for draw in range(draws)
        ]
    ).reshape(draws, len(names))
    simulated = plant.simulate(best)
    spread = drawn_rows(plant, names, best, samples, where=where)
    models = patch.delay_lag_models or fit_delay_lag(bench, plant.tracks)
    replayed = compare_with_logs(plant, simulated, patch.values, models)
    coverage, coverage_by_log = {}, {}
    traces = {trace.log: trace for trace in replayed.traces}
    for channel in bench.compared:
        if channel.name not in patch.spread:
            continue
        low, high = patch.spread[channel.name]
        weights = (patch.effort.get(channel.name, 0.0), patch.drawn.get(channel.name, 1.0))
        inside = {}
        for place, track in enumerate(plant.tracks):
            rows = simulated[channel.name][0, place, : track.frames]
            drawn = reach_of(channel, spread[channel.name][:, place, : track.frames])
            swing = swing_factor(swing_of(channel, rows), patch.swing.get(channel.name))
            effort = effort_of(bench, channel, track, rows)
            below, above = (PredictionBand(abs(end), *weights).half_width(swing, effort, drawn) for end in (low, high))
            off = -difference(channel, rows, track.measured[channel.name])
            known = np.isfinite(off).all(axis=-1)
            inside[track.log.name] = ((off >= -below) & (off <= above))[known]
            if channel.of == "turn":
                continue  # a band around a quaternion has no lower and upper end
            centre, trace = (rows - channel.offset) / channel.scale, traces[track.log.name]
            traces[track.log.name] = replace(
                trace,
                low={**trace.low, channel.name: centre - below},
                high={**trace.high, channel.name: centre + above},
            )
        coverage[channel.name] = float(np.concatenate(list(inside.values())).mean())
        coverage_by_log[channel.name] = {log: float(inside[log].mean()) for log in replayed.by_log if inside[log].size}
    return replace(
        replayed,
        coverage=coverage,
        coverage_by_log=coverage_by_log,
        traces=tuple(traces[trace.log] for trace in replayed.traces),
    )


def drawn_rows(
    plant: BenchSimulator, names: tuple[str, ...], best: np.ndarray, samples: np.ndarray, *, where: Where
) -> dict[str, np.ndarray]:
    """Channel -> rows at the best values, then at the draws; decoupled where possible, since only the spread counts."""
    decoupled = can_decouple(plant.bench, names)
    logs = [track.log for track in plant.tracks]
    simulator = BenchSimulator(plant.bench, logs, names, where=where, decoupled=True) if decoupled else plant
    return simulator.simulate(np.concatenate([best, samples]))
