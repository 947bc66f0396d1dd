"""Faults that are injected into clean recordings, to measure the quality checks.

Each takes a clean episode and gives a faulty one, with the name of the check that should find it. Where and how much
is drawn; what cannot be put into an episode (a still joint cannot freeze) gives None.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from twinloop.curate.quality.recorded_episode import ACTION, STATE, CommandedChannel, FilmFacts, RecordedEpisode
from twinloop.curate.quality.spans import correlation, span

Fault = Callable[[RecordedEpisode, np.random.Generator], RecordedEpisode | None]


def _with(episode: RecordedEpisode, feature: str, values: np.ndarray) -> RecordedEpisode:
    return replace(episode, signals={**episode.signals, feature: values})


def _moving(episode: RecordedEpisode) -> list[CommandedChannel]:
    """Joints that follow their command, by more than a few ticks, without hands, which held objects stop."""
    moving_pairs = [
        pair for pair in episode.pairs if len(np.unique(pair.measured.values)) > 20 and not pair.measured.is_hand
    ]
    return [pair for pair in moving_pairs if correlation(pair.command.values, pair.measured.values) > 0.9]


def _one(episode: RecordedEpisode, rng: np.random.Generator) -> CommandedChannel | None:
    moving = _moving(episode)
    return moving[rng.integers(len(moving))] if moving else None


def _clocked(episode: RecordedEpisode) -> np.ndarray:
    return episode.seconds.astype(np.float64).copy()


def missing_pictures(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    lost = int(rng.integers(1, 10))
    return replace(episode, films={"observation.images.front": FilmFacts(episode.rows - lost)})


def gap(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    """Rows missing in one place."""
    lost = int(rng.integers(4, 30))
    start = int(rng.integers(5, episode.rows - 5))
    time_s = _clocked(episode)
    time_s[start:] += lost / episode.rate_hz
    return replace(episode, time_s=time_s)


def uneven_clock(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    period = 1 / episode.rate_hz
    return replace(episode, time_s=_clocked(episode) + rng.uniform(-0.4, 0.4, episode.rows) * period)


def clock_runs_back(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    time_s = _clocked(episode)
    time_s[int(rng.integers(3, episode.rows - 3)) :] -= rng.uniform(0.2, 2.0)
    return replace(episode, time_s=time_s)


def wrong_rate(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    return replace(episode, time_s=_clocked(episode) * rng.choice([0.5, 0.6, 0.8, 1.2, 1.5, 2.0, 1000.0]))


def not_a_number(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    values = episode.signals[STATE].copy()
    values[rng.integers(episode.rows), rng.integers(values.shape[1])] = rng.choice([np.nan, np.inf, -np.inf])
    return _with(episode, STATE, values)


def spike(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    pair = _one(episode, rng)
    if pair is None:
        return None
    values = episode.signals[STATE].copy()
    column = values[:, pair.measured.index]
    for row in rng.choice(np.arange(4, episode.rows - 4), size=int(rng.integers(1, 4)), replace=False):
        column[row] += rng.choice([-1, 1]) * rng.uniform(0.6, 3.0) * span(pair.measured.values)
    return _with(episode, STATE, values)


def absurd_value(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    values = episode.signals[STATE].copy()
    values[rng.integers(2, episode.rows - 2), rng.integers(values.shape[1])] = rng.choice([-1, 1]) * 10 ** rng.uniform(
        7, 20
    )
    return _with(episode, STATE, values)


def frozen(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    """A joint's reading stays where it is for two seconds or a third of the episode, while the joint moves on."""
    pair = _one(episode, rng)
    if pair is None:
        return None
    length = int(min(2 * episode.rate_hz, episode.rows // 3))
    values, column = episode.signals[STATE].copy(), pair.measured.values
    starts = np.arange(2, episode.rows - length)
    moves = np.array([np.ptp(column[start : start + length]) for start in starts])
    good = starts[moves > 0.3 * np.ptp(column)]
    if not len(good):
        return None
    start = int(rng.choice(good))
    values[start : start + length, pair.measured.index] = column[start]
    return _with(episode, STATE, values)


def stale_rows(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    """All joints' readings repeat for a second, while commands go on."""
    if not _moving(episode):
        return None
    length = int(min(episode.rate_hz, episode.rows // 4))
    starts = np.arange(2, episode.rows - length)
    commands = episode.signals[ACTION]
    moves = np.array(
        [(np.ptp(commands[at : at + length], axis=0) / (np.ptp(commands, axis=0) + 1e-12)).max() for at in starts]
    )
    good = starts[moves > 0.3]
    if not len(good):
        return None
    start, values = int(rng.choice(good)), episode.signals[STATE].copy()
    values[start : start + length] = values[start]
    return _with(episode, STATE, values)


def action_is_state(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    if not _moving(episode):
        return None
    shift = int(rng.choice([0, 1, -1]))
    action = episode.signals[ACTION].copy()
    for pair in episode.pairs:
        action[:, pair.command.index] = np.roll(pair.measured.values, -shift)
    return _with(episode, ACTION, action)


def wrapped(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    """An angle that passes the end of its turn, in the unit at hand."""
    pair = _one(episode, rng)
    if pair is None:
        return None
    turn = 2 * np.pi if max(np.abs(joint_pair.measured.values).max() for joint_pair in episode.pairs) < 7 else 360.0
    column = pair.measured.values
    at = np.quantile(column, rng.uniform(0.3, 0.7))
    values = episode.signals[STATE].copy()
    values[:, pair.measured.index] = np.where(column > at, column - turn, column)
    return _with(episode, STATE, values)


def other_unit(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    """Degrees where radians were, or the reverse: of states, of actions, or of both."""
    if not _moving(episode):
        return None
    factor = 180 / np.pi if np.abs(episode.signals[STATE]).max() < 10 else np.pi / 180
    which = [(STATE,), (ACTION,), (STATE, ACTION)][rng.integers(3)]
    return replace(episode, signals={**episode.signals, **{name: episode.signals[name] * factor for name in which}})


def beyond_limits(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    """A joint whose zero was lost: it reads beyond its end."""
    pair = _one(episode, rng)
    if pair is None:
        return None
    low, high = float(pair.measured.values.min()), float(pair.measured.values.max())
    room = (high - low) * 0.1
    limits = {pair.measured.name: (low - room, high + room)}
    values = episode.signals[STATE].copy()
    values[:, pair.measured.index] += rng.choice([-1, 1]) * rng.uniform(0.3, 0.6) * (high - low)
    return replace(_with(episode, STATE, values), limits=limits)


def swapped(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    moving = _moving(episode)
    if len(moving) < 2:
        return None
    one, other = (moving[place].measured.index for place in rng.choice(len(moving), 2, replace=False))
    values = episode.signals[STATE].copy()
    values[:, [one, other]] = values[:, [other, one]]
    return _with(episode, STATE, values)


def flipped(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    pair = _one(episode, rng)
    if pair is None:
        return None
    values = episode.signals[STATE].copy()
    values[:, pair.measured.index] *= -1
    return _with(episode, STATE, values)


def cut_off(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode | None:
    """Cut off at one end, or both, so that a tenth of the rows lose a sixth of the span or more."""
    pair = _one(episode, rng)
    if pair is None:
        return None
    column, values = pair.measured.values, episode.signals[STATE].copy()
    low, high = column.min(), column.max()
    share = rng.uniform(0.25, 0.4)
    ends = (low + share * (high - low), high - share * (high - low))
    which = [(ends[0], high), (low, ends[1]), ends][rng.integers(3)]
    values[:, pair.measured.index] = np.clip(column, *which)
    lost = np.abs(values[:, pair.measured.index] - column) > (high - low) / 6
    return _with(episode, STATE, values) if lost.mean() > 0.1 else None


def too_short(episode: RecordedEpisode, rng: np.random.Generator) -> RecordedEpisode:
    rows = int(rng.integers(1, 6))
    signals = {name: values[:rows] for name, values in episode.signals.items()}
    time_s = None if episode.time_s is None else episode.time_s[:rows]
    return replace(episode, rows=rows, signals=signals, time_s=time_s)


FAULTS: Mapping[str, tuple[str, Fault]] = {
    "missing pictures": ("picture_frames", missing_pictures),
    "rows missing": ("timestamp_gap", gap),
    "uneven clock": ("timestamp_jitter", uneven_clock),
    "clock runs back": ("timestamp_order", clock_runs_back),
    "wrong rate": ("declared_rate", wrong_rate),
    "not a number": ("non_finite", not_a_number),
    "spike": ("value_spike", spike),
    "absurd value": ("value_spike", absurd_value),
    "frozen joint": ("frozen_sensor", frozen),
    "stale rows": ("frozen_sensor", stale_rows),
    "action is state": ("action_copy", action_is_state),
    "wrapped angle": ("angle_wrap", wrapped),
    "other unit": ("unit_confusion", other_unit),
    "beyond limits": ("out_of_limits", beyond_limits),
    "swapped joints": ("swapped_joints", swapped),
    "other sign": ("sign_flip", flipped),
    "cut off": ("clipped", cut_off),
    "too short": ("too_short", too_short),
}
"""Name -> (the check that should find it, the fault)."""
