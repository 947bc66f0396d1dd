"""Does a value jump for one or two rows and return, or have an impossible size?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.holds import quantum
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, STATE, RecordedChannel, RecordedEpisode
from twinloop.curate.quality.spans import quantile, span

WIDTH = 2  # rows; a longer change is a motion
LEAP_SPANS = 10.0
FLICKER_QUANTA = 4


def find(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows:
        return
    for channel in episode.channels:
        yield from _absurd(episode, channel, statistics, config)
        yield from _spike(channel, statistics.typical("span", channel.name, episode.attempt), config)


def _absurd(
    episode: RecordedEpisode, channel: RecordedChannel, statistics: DatasetStatistics, config: QualityConfig
) -> Iterator[QualityFinding]:
    sizes = np.abs(channel.values)
    usual = np.nanmax([quantile(sizes, 0.5), statistics.typical("size", channel.name, episode.attempt), 1.0])
    bad = np.flatnonzero(sizes > config.absurd_factor * usual)
    if len(bad):
        worst = bad[sizes[bad].argmax()]
        text = f"{channel.name} is {channel.values[worst]:.3g} in row {worst}, usually about {usual:.3g}."
        limit = config.absurd_factor * usual
        yield VALUE_SPIKE.finding(channel.name, (bad[0], bad[-1]), channel.values[worst], limit, channel.unit, text)


def _spike(channel: RecordedChannel, usual_span: float, config: QualityConfig) -> Iterator[QualityFinding]:
    """Compare each row with the median of the five rows around it.

    The difference is zero for steady motion at any speed. Turning points and noise leave a difference that is similar
    everywhere in the episode, so a spike stands out.

    Args:
        usual_span: of this channel in the other episodes, NaN if unknown.
    """
    values = channel.values
    padded = np.pad(values, WIDTH, mode="edge")
    around = np.lib.stride_tricks.sliding_window_view(padded, 2 * WIDTH + 1)
    # `np.median` takes twice as long. It differs only for rows without a number.
    middle = np.median(around, axis=1) if np.isnan(values).any() else np.partition(around, WIDTH, axis=1)[:, WIDTH]
    away = np.abs(values - middle)
    steps = np.abs(np.diff(values))
    ordinary = max(quantile(away, 0.97), quantile(steps, 0.9))
    positions = channel.feature in (ACTION, STATE)
    # Forces and velocities jump on impact, so their limit is much higher.
    share = config.spike_share if positions else LEAP_SPANS
    # A resting joint flickers by a few encoder steps, which is no spike however small its span is.
    widest = float(np.nanmax([span(values), usual_span]))
    limit = max(config.spike_steps * ordinary, share * widest, FLICKER_QUANTA * quantum(values))
    # A spike returns at once. A step is no spike, nor is the first move out of rest.
    left = np.concatenate([[0.0], steps])
    right = np.concatenate([steps, [0.0]])
    edges = np.maximum(np.maximum(left, np.roll(left, 1)), np.maximum(right, np.roll(right, -1)))
    bad = np.flatnonzero((away > limit) & (edges > 0.7 * away)) if limit > 0 else np.empty(0, np.int64)
    bad = bad[(bad >= WIDTH) & (bad < len(values) - WIDTH)]
    if not len(bad):
        return
    worst = bad[away[bad].argmax()]
    text = f"{channel.name} jumps by {away[worst]:.3g} {channel.unit} in row {worst} and back at once".rstrip()
    text += "." if positions else "; forces and velocities may do so on impact."
    yield VALUE_SPIKE.finding(
        channel.name, (bad[0], bad[-1]), away[worst], limit, channel.unit, text,
        severity="error" if positions else "note",
    )  # fmt: skip


VALUE_SPIKE = QualityCheck(name="value_spike", asks="does a value jump and return at once?", find=find)
