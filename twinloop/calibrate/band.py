"""Prediction bands: how far measurements lie from a replay, estimated on logs that the fit did not use."""

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

TAIL = 1.645
"""Standard deviations from the mean to the 95th percentile."""
INSIDE = 0.9
GAP_S = 0.3
SHAPES = np.geomspace(0.01, 30, 16)
"""Ratios of the part of a band that grows with the tracking gap to the constant part."""
RESAMPLES, NEW_LOG = 200, 0.75
"""The band is wide enough for this share of resampled groups of logs: the next log differs from those at hand."""


@dataclass(frozen=True)
class HeldOutError:
    """Errors of a twin on one held-out log.

    Attributes:
        off: (frames, elements) simulated minus measured, in the log's unit.
        swing: `swing_factor` of the log.
        gap: (frames, 1) tracking gap.
        drawn: (frames, elements) spread of the posterior's draws.
        group: logs that differ by a setting, such as a gain, are in different groups; others are a group each.
    """

    off: np.ndarray
    swing: float
    gap: np.ndarray
    drawn: np.ndarray
    group: int


@dataclass(frozen=True)
class PredictionBand:
    """Half the width is the root of (left · swing factor)² + (gap · tracking gap)² + (drawn · spread of draws)²."""

    left: float
    gap: float
    drawn: float

    def half_width(self, swing: float | np.ndarray, gap: np.ndarray, drawn: np.ndarray) -> np.ndarray:
        return np.sqrt((self.left * swing) ** 2 + (self.gap * gap) ** 2 + (self.drawn * drawn) ** 2)


def fit_band(errors: Sequence[HeldOutError], *, wider: float = 1.0) -> PredictionBand:
    """The band that holds 90 % of the errors on held-out logs, with the best interval score.

    The errors decide how wide it is. The draws only decide where it is wider: a posterior may be too sure.
    """
    groups = np.concatenate([np.full(error.off.size, error.group) for error in errors])
    off = np.concatenate([np.abs(error.off).ravel() for error in errors])
    swing = np.concatenate([np.full(error.off.size, error.swing) for error in errors])
    gap = np.concatenate([np.broadcast_to(error.gap, error.off.shape).ravel() for error in errors])
    drawn = np.concatenate([error.drawn.ravel() for error in errors])
    known = np.isfinite(off)
    groups, off, swing, gap, drawn = groups[known], off[known], swing[known], gap[known], drawn[known]
    if not len(off):
        return PredictionBand(0.0, 0.0, 1.0)
    unit = max(float(np.sqrt(np.mean(gap**2))), 1e-12)
    shapes = [0.0, *(SHAPES / unit)] if gap.any() else [0.0]
    best, least = PredictionBand(0.0, 0.0, 0.0), np.inf
    for shape in shapes:
        width = np.hypot(swing, shape * gap)
        left = float(np.quantile(off / width, INSIDE))
        score = float(np.mean(left * width + np.maximum(off - left * width, 0) / (1 - INSIDE)))
        if score < least:
            best, least = PredictionBand(left, left * shape, 0.0), score
    half = np.sqrt(best.half_width(swing, gap, drawn) ** 2 + drawn**2)
    share = _of_new_logs(off / np.maximum(half, 1e-12), groups) * wider
    return PredictionBand(best.left * share, best.gap * share, share)


def _of_new_logs(ratio: np.ndarray, groups: np.ndarray) -> float:
    """The 90 % quantile of the ratios, as it varies between resampled groups of logs."""
    _, groups = np.unique(groups, return_inverse=True)
    count = int(groups.max()) + 1
    rng = np.random.default_rng(0)
    order = np.argsort(ratio)
    ratio, groups = ratio[order], groups[order]
    quantiles = []
    for _ in range(RESAMPLES):
        weight = np.bincount(rng.integers(count, size=count), minlength=count)[groups].cumsum()
        quantiles.append(ratio[np.searchsorted(weight, INSIDE * weight[-1])])
    # As for any prediction from a sample: the next group varies, and so does the estimate from few groups.
    return float(np.quantile(quantiles, NEW_LOG)) * np.sqrt(1 + 1 / count)


def swing_factor(swing: float, typical: float | None) -> float:
    """Errors grow with the range of motion, but less than in proportion: with its root, by a factor of 2 at most."""
    return 1.0 if typical is None else float(np.clip(np.sqrt(swing / typical), 0.5, 2.0))


def tracking_gap(bench: Bench, channel: ChannelMap, track: Track, rows: np.ndarray) -> np.ndarray:
    """(frames, 1) distance between goal and simulated position while the motor is on, as a moving mean over GAP_S.

    It is large in fast motion and where a joint is held up, and errors are large there too. Zero without a goal.
    """
    from scipy.ndimage import uniform_filter1d

    goals = [
        commanded.name
        for commanded in bench.commanded
        if commanded.joint == channel.joint and commanded.of == "position"
    ]
    if channel.of != "position" or not goals or bench.drive is None:
        return np.zeros((len(rows), 1))
    distance = np.abs(track.commands[goals[0]] - rows)[:, 0] * track.enabled / abs(channel.scale)
    return uniform_filter1d(distance, max(1, round(GAP_S * bench.logs.rate_hz)))[:, None]


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
    coverage, traces = {}, {trace.log: trace for trace in replayed.traces}
    for channel in bench.compared:
        if channel.name not in patch.spread:
            continue
        low, high = patch.spread[channel.name]
        inside = []
        for place, track in enumerate(plant.tracks):
            rows = simulated[channel.name][0, place, : track.frames]
            drawn = patch.drawn.get(channel.name, 1.0) * reach_of(
                channel, spread[channel.name][:, place, : track.frames]
            )
            gap = patch.gap.get(channel.name, 0.0) * tracking_gap(bench, channel, track, rows)
            swing = swing_factor(swing_of(channel, rows), patch.swing.get(channel.name))
            below, above = (np.sqrt((swing * end) ** 2 + gap**2 + drawn**2) for end in (low, high))
            off = -difference(channel, rows, track.measured[channel.name])
            known = np.isfinite(off).all(axis=-1)
            inside.append(((off >= -below) & (off <= above))[known])
            if channel.of == "turn":
                continue  # a band around a quaternion has no lower and upper end
            centre, trace = (rows - channel.offset) / channel.scale, traces[track.log.name]
            traces[track.log.name] = replace(
                trace,
                low={**trace.low, channel.name: centre - below},
                high={**trace.high, channel.name: centre + above},
            )
        coverage[channel.name] = float(np.concatenate(inside).mean())
    return replace(replayed, coverage=coverage, traces=tuple(traces[trace.log] for trace in replayed.traces))


def drawn_rows(
    plant: BenchSimulator, names: tuple[str, ...], best: np.ndarray, samples: np.ndarray, *, where: Where
) -> dict[str, np.ndarray]:
    """Channel -> rows at the best values, then at the draws; decoupled where possible, since only the spread counts."""
    decoupled = can_decouple(plant.bench, names)
    logs = [track.log for track in plant.tracks]
    simulator = BenchSimulator(plant.bench, logs, names, where=where, decoupled=True) if decoupled else plant
    return simulator.simulate(np.concatenate([best, samples]))
