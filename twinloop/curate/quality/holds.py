"""Hold: a stretch in which a reading repeats one value exactly, and what its command did meanwhile.

A joint at rest repeats its value too. The numbers of a hold are therefore compared with other holds of the same joint:
those of this episode and of the other episodes. That is the joint's usual dead band, and how it usually starts to move.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.quality.recorded_episode import CommandedChannel, RecordedEpisode
from twinloop.curate.quality.spans import correlation, held, span, usable

MIN_HOLD_ROWS = 5
MAX_DELAY_ROWS = 200
MIN_VALUES = 20  # distinct readings of a joint that moves enough to measure its delay
FOLLOWS = 0.8


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
    long = stretches[stretches[:, 1] - stretches[:, 0] >= min_rows]
    return tuple(hold_between(pair, int(start), int(stop), response_rows, bias) for start, stop in long)


def hold_between(pair: CommandedChannel, start: int, stop: int, response_rows: int, bias: float) -> Hold:
    command, measured = pair.command.values, pair.measured.values
    window = command[start : max(start + 1, stop - response_rows)]
    swings = [
        min(float(window.max() - middle), float(middle - window.min()))
        for middle in (window[0], measured[start] + bias)
    ]
    jump = abs(measured[stop] - measured[stop - 1]) if stop < len(measured) else 0.0
    return Hold(start, stop, float(np.ptp(window)), max(min(swings), 0.0), float(jump))


def response_rows(episode: RecordedEpisode) -> int:
    """Rows within which joints respond: one and a half times the usual delay between command and reading."""
    delays = []
    for pair in episode.pairs:
        command, measured = pair.command.values, pair.measured.values
        if not (usable(command).all() and usable(measured).all()) or episode.rows < 2 * MIN_HOLD_ROWS:
            continue
        if len(np.unique(measured)) >= MIN_VALUES and correlation(command, measured) > FOLLOWS:
            delays.append(_delay_rows(command, measured))
    return int(np.ceil(1.5 * np.quantile(delays, 0.75))) + 1 if delays else MIN_HOLD_ROWS


def _delay_rows(command: np.ndarray, measured: np.ndarray) -> int:
    """The shift of the command that correlates best with the reading."""
    most = min(MAX_DELAY_ROWS, len(command) // 8)
    shifts = np.unique(np.linspace(0, most, 25).round().astype(int))
    scores = [correlation(command[: len(command) - shift], measured[shift:]) for shift in shifts]
    return int(shifts[int(np.argmax(scores))])


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
    return float(np.quantile(steps, 0.02)) if len(steps) else 0.0
