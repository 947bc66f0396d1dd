"""How the readings of joints follow their commands: the delay, and gain and correlation at a given delay."""

from collections.abc import Sequence

import numpy as np

from twinloop.curate.quality.recorded_episode import CommandedChannel, RecordedEpisode
from twinloop.curate.quality.spans import correlation, span, usable
from twinloop.signals.delay import DelayEstimate, estimate_delay

MAX_DELAY_S = 0.5
MAX_DELAY_SHARE = 1 / 8
"""Share of the episode. With longer shifts too few rows are left to compare."""
SHIFTS = 26
MIN_VALUES = 20
"""Distinct readings of a joint that moves enough to measure its delay."""
FOLLOWS = 0.8


def estimate_pair_delay(pairs: Sequence[CommandedChannel], rate_hz: float) -> DelayEstimate | None:
    """The delay of a joint's reading behind its command, in one or more recordings; negative if the reading leads.

    Delays up to half a second are tried, and leads up to a quarter of that.
    """
    rows = min(len(pair.command.values) for pair in pairs)
    most = max(1, int(min(MAX_DELAY_S * rate_hz, MAX_DELAY_SHARE * rows)))
    shifts = np.unique(np.linspace(-(most // 4) - 1, most, SHIFTS).round().astype(int)).tolist()
    return estimate_delay([pair.while_powered for pair in pairs], shifts=shifts, fit_gain=True)


def moving_delays(episode: RecordedEpisode) -> dict[str, DelayEstimate]:
    """Reading -> its delay, for joints that move and follow their command or its opposite."""
    delays = {}
    for pair in episode.pairs:
        command, measured = pair.aligned()
        if not (usable(command).all() and usable(measured).all()) or len(np.unique(measured)) < MIN_VALUES:
            continue
        delay = estimate_pair_delay([pair], episode.rate_hz)
        if delay is not None and abs(delay.correlation) > FOLLOWS:
            delays[pair.measured.name] = delay
    return delays


def follows(command: CommandedChannel, measured: CommandedChannel, delay_rows: int) -> tuple[float, float]:
    """(correlation, gain) of one joint's reading with the command of the same or another joint, at a delay."""
    x, y = CommandedChannel(command.command, measured.measured, measured.powered).aligned(delay_rows)
    if len(x) < MIN_VALUES or span(x) <= 0:
        return 0.0, 0.0
    return correlation(x, y), float(np.std(y) / np.std(x))
