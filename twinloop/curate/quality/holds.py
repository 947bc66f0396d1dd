"""Hold: a stretch in which a reading repeats one value exactly, and what its command did meanwhile.

A joint at rest repeats its value too. The numbers of a hold are therefore compared with other holds of the same joint:
those of this episode and of the other episodes. That is the joint's usual dead band, and how it usually starts to move.
"""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from twinloop.curate.quality.recorded_episode import CommandedChannel
from twinloop.curate.quality.spans import held, quantile, span

MIN_HOLD_ROWS = 5


@dataclass(frozen=True)
class Hold:
    """One hold, rows [start, stop).

    Attributes:
        excursion: how far the command moved, without its last rows, to which the joint had no time to respond.
        swing: how far it moved to both sides of where the joint stood.
        jump: the step of the reading at the end of the hold, 0 at the end of the episode.
    """

    start: int
    stop: int
    excursion: float
    swing: float
    jump: float


def holds_of(pair: CommandedChannel, response_rows: int, *, min_rows: int = MIN_HOLD_ROWS) -> tuple[Hold, ...]:
    bias = float(np.median(pair.command.values - pair.measured.values))
    stretches = held(pair.measured.values)
    if pair.powered is not None:  # a motor that is off follows nothing
        stretches = stretches[[bool(pair.powered[start:stop].all()) for start, stop in stretches]]
    long = stretches[stretches[:, 1] - stretches[:, 0] >= min_rows]
    return tuple(hold_between(pair, int(start), int(stop), response_rows, bias) for start, stop in long)


def hold_between(pair: CommandedChannel, start: int, stop: int, response_rows: int, bias: float) -> Hold:
    command, measured = pair.command.values, pair.measured.values
    window = command[start : max(start + 1, stop - response_rows)]
    low, high = float(window.min()), float(window.max())
    swings = [min(high - middle, middle - low) for middle in (float(window[0]), float(measured[start]) + bias)]
    jump = abs(measured[stop] - measured[stop - 1]) if stop < len(measured) else 0.0
    return Hold(start, stop, high - low, max(min(swings), 0.0), float(jump))


def response_rows(delay_rows: Iterable[float]) -> int:
    """Rows within which joints respond: one and a half times the usual delay between command and reading."""
    rows = [max(round(delay), 0) for delay in delay_rows]
    return int(np.ceil(1.5 * np.quantile(rows, 0.75))) + 1 if rows else MIN_HOLD_ROWS


def largest_step(values: np.ndarray, *, without: int | None = None) -> float:
    """The largest change between two rows; `without`: leave out the step into this row."""
    steps = np.abs(np.diff(values))
    if without is not None and 0 < without <= len(steps):
        steps = np.delete(steps, without - 1)
    return float(steps.max(initial=0.0))


def quantum(values: np.ndarray) -> float:
    """The step of the encoder: the smallest difference between two readings, 0 for a constant."""
    steps = np.abs(np.diff(values))
    steps = steps[steps > 1e-9 * max(span(values), 1e-12)]
    return quantile(steps, 0.02) if len(steps) else 0.0
