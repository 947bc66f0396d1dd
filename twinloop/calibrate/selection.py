"""Which parts of the logs a fit uses, and which it leaves out in turn.

If all logs fit the budget, all are used. Otherwise the pieces are chosen that together cover speed, load and range of
every channel, and every setting of the logs; the fastest motion of each channel is always in.
"""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.logs import Log
from twinloop.calibrate.track import Track, column_of, track_of

BUDGET_STEPS = 24_000
"""Physics steps per parameter set in the coupled simulation."""
DECOUPLED_STEPS = 250_000
"""Physics steps per parameter set in the decoupled simulation, which is that much cheaper."""
DOFS_TWICE_THE_COST = 6
"""A step of an arm costs more than one of a pendulum."""
LONGEST_S = 20.0
SHARES = np.array([0.05, 0.15, 0.3, 0.45, 0.6, 0.75, 0.9])
"""Edges of the bins of speed, load and range, as shares of the largest value in the logs."""
SUSTAINED_S = 0.1
"""A speed counts that lasts this long; a single frame may be a glitch of the encoder."""
FOLDS = 4


def select_logs(
    bench: Bench, logs: Sequence[Log], steps: int, *, decoupled: bool = False
) -> tuple[list[Log], list[Log]]:
    """Pieces of logs to fit on, of at most `steps` physics steps, and the logs of which nothing is used."""
    cost = bench.substeps * (1.0 if decoupled else 1 + bench.model.nv / DOFS_TWICE_THE_COST)
    if sum(len(log) for log in logs) * cost <= steps:
        return list(logs), []
    pieces = [(place, piece) for place, log in enumerate(logs) for piece in _pieces(bench, log)]
    tracks = [track_of(bench, piece) for _, piece in pieces]
    costs = np.array([len(piece) * cost for _, piece in pieces])
    chosen = _greedy(_time_in_cells(bench, tracks), costs, steps, _fastest_pieces(bench, tracks))
    used = {pieces[index][0] for index in chosen}
    return [pieces[index][1] for index in sorted(chosen)], [log for place, log in enumerate(logs) if place not in used]


def _pieces(bench: Bench, log: Log) -> list[Log]:
    """Consecutive pieces of a log, each about LONGEST_S long at most. They begin where the log is slow, because the
    simulation of a piece begins at rest."""
    count = max(1, -(-len(log) // int(LONGEST_S * bench.logs.rate_hz)))
    if count == 1:
        return [log]
    motion = np.zeros(len(log))
    for channel in bench.compared:
        steps = np.linalg.norm(np.diff(column_of(log, channel), axis=0, prepend=np.nan), axis=1)
        motion += np.nan_to_num(steps / max(float(np.nanmean(steps)), 1e-12), nan=1e3)
    ends, near = [0], len(log) // (6 * count)
    for part in range(1, count):
        middle = part * len(log) // count
        ends.append(middle - near + int(np.argmin(motion[middle - near : middle + near + 1])))
    return [log.select(slice(first, stop)) for first, stop in pairwise([*ends, len(log)])]


def _time_in_cells(bench: Bench, tracks: Sequence[Track]) -> np.ndarray:
    """(pieces, cells) seconds that each piece spends in each bin of speed, load and range of each channel."""
    pieces = [track.log for track in tracks]
    columns = []
    for values in _quantities(bench, tracks):
        largest = max((float(np.nanmax(rows)) for rows in values if np.isfinite(rows).any()), default=0.0)
        edges = SHARES * max(largest, 1e-12)
        counts = [
            np.bincount(np.digitize(rows[np.isfinite(rows)], edges), minlength=len(SHARES) + 1) for rows in values
        ]
        columns.append(np.array(counts) / bench.logs.rate_hz)
    settings = sorted({(name, value) for log in pieces for name, value in log.constants.items()})
    columns.append(
        np.array([[len(log) / bench.logs.rate_hz * (log.constants.get(n) == v) for n, v in settings] for log in pieces])
    )
    return np.concatenate(columns, axis=1)


def _quantities(bench: Bench, tracks: Sequence[Track]) -> list[list[np.ndarray]]:
    """Speed, distance to the goal (which grows with load) and position above the lowest, per channel and piece."""
    goals = {channel.joint: channel.name for channel in bench.commanded if channel.joint and channel.of == "position"}
    quantities = []
    for channel in bench.compared:
        rows = [track.measured[channel.name] for track in tracks]
        quantities.append([_speeds(bench, values) for values in rows])
        lowest = np.nanmin(np.concatenate(rows), axis=0)
        quantities += [[values[:, element] - lowest[element] for values in rows] for element in range(len(lowest))]
        if channel.of == "position" and channel.joint in goals:
            name = goals[channel.joint]
            quantities.append(
                [np.abs(track.commands[name] - values)[:, 0] for track, values in zip(tracks, rows, strict=True)]
            )
    return quantities


def _speeds(bench: Bench, values: np.ndarray) -> np.ndarray:
    frames = min(max(2, round(SUSTAINED_S * bench.logs.rate_hz)), len(values) - 1)
    return np.linalg.norm(values[frames:] - values[:-frames], axis=1) * bench.logs.rate_hz / max(frames, 1)


def _greedy(seconds: np.ndarray, cost: np.ndarray, budget: float, fastest: Sequence[int]) -> set[int]:
    """The pieces with the fastest motion, at any cost; then others by gain per cost while the budget lasts. A second in
    an empty cell gains more than one in a cell that has many."""
    chosen = set(fastest)
    have, left = seconds[list(chosen)].sum(axis=0), budget - cost[list(chosen)].sum()
    while True:
        gain = (np.sqrt(have + seconds) - np.sqrt(have)).sum(axis=1) / cost
        fits = [index for index in range(len(cost)) if index not in chosen and (cost[index] <= left or not chosen)]
        if not fits:
            return chosen
        best = max(fits, key=lambda index: gain[index])
        chosen.add(best)
        have = have + seconds[best]
        left -= cost[best]


def _fastest_pieces(bench: Bench, tracks: Sequence[Track]) -> list[int]:
    """For each channel, the piece with its highest speed."""
    pieces = []
    for channel in bench.compared:
        top = [np.nanmax(_speeds(bench, track.measured[channel.name]), initial=0.0) for track in tracks]
        pieces.append(int(np.argmax(top)))
    return pieces


def fastest_rad_s(bench: Bench, track: Track) -> dict[str, float]:
    """Driven joint -> the highest speed in a log, with the motor on, that lasts for SUSTAINED_S."""
    joints = bench.drive.joints if bench.drive is not None else ()
    fastest = {}
    for channel in bench.compared:
        if channel.of == "position" and channel.joint in joints and track.frames > 2:
            speeds = _speeds(bench, track.measured[channel.name])
            powered = track.enabled[-len(speeds) :] > 0
            known = speeds[np.isfinite(speeds) & powered]
            fastest[channel.joint] = float(known.max()) if len(known) else 0.0
    return fastest


def folds(logs: Sequence[Log]) -> list[list[int]]:
    """Groups of logs to leave out in turn. Pieces of one log stay together."""
    names = list(dict.fromkeys(log.name for log in logs))
    count = min(FOLDS, len(names))
    return [[k for k, log in enumerate(logs) if names.index(log.name) % count == first] for first in range(count)]
