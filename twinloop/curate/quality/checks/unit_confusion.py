"""Do values agree with their declared unit, the other episodes and their commands?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import MOVES, DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.following import follows
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, STATE, RecordedChannel, RecordedEpisode
from twinloop.curate.quality.spans import quantile, span
from twinloop.curate.quality.units import DEGREES, is_degrees_for_radians

FAR = 12.0  # factor that motion cannot explain
FURTHER = 4.0  # no drive moves so many times as far as commanded
SLOPE = 1.6  # between a command and a reading that follows it closely
LARGEST_RAD = 6 * np.pi
QUATERNION, NORM_ERROR = "quaternion", 0.05
NORMALISED = ("normalised", "normalized", "%", "percent")


def find(episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.rows < config.shortest_rows:
        return
    reported: set[str] = set()
    for search in (_declared, _against_command, _against_others):
        for finding in search(episode, statistics, config):
            if finding.channel not in reported:
                reported.add(finding.channel)
                yield finding


def _declared(
    episode: RecordedEpisode, _statistics: DatasetStatistics, _config: QualityConfig
) -> Iterator[QualityFinding]:
    for channel in episode.channels:
        size = quantile(np.abs(channel.values), 0.99)
        limit = episode.limit_of(channel)
        reach = max(map(abs, limit)) if limit and np.isfinite(limit).all() else None
        if channel.unit == "rad" and size > LARGEST_RAD and (reach is None or size > 3 * reach):
            yield _wrong(
                episode,
                channel,
                size,
                LARGEST_RAD,
                f"is declared in rad and reaches {size:.4g}, probably degrees for radians",
            )
        elif channel.unit in NORMALISED and size > 110:
            yield _wrong(episode, channel, size, 110, f"is declared normalised and reaches {size:.4g}")
        elif reach and size > FAR * reach:
            yield _wrong(episode, channel, size, reach, f"reaches {size:.4g} where the joint ends at {reach:.4g}")
    yield from _small_degrees(episode)
    yield from _quaternions(episode)


def _small_degrees(episode: RecordedEpisode) -> Iterator[QualityFinding]:
    """All angles of a feature are declared in degrees, and none exceeds half a turn in radians."""
    for feature in episode.signals:
        angles = [
            channel for channel in episode.channels if channel.feature == feature and channel.unit in ("deg", "°")
        ]
        sizes = [float(np.abs(channel.values).max()) for channel in angles]
        moves = [span(channel.values) > 0.02 for channel in angles]
        if len(angles) >= 3 and max(sizes) < 1.1 * np.pi and np.mean(moves) > 0.5:
            text = f"and the others are declared in degrees and none exceeds {max(sizes):.3g}, probably radians"
            yield _wrong(episode, angles[0], max(sizes), 1.1 * np.pi, text)


def _quaternions(episode: RecordedEpisode) -> Iterator[QualityFinding]:
    for feature, values in episode.signals.items():
        if values.shape[1] == 4 and set(episode.units[feature]) == {QUATERNION}:
            norms = np.linalg.norm(values, axis=1)
            error = float(np.abs(norms - 1).max())
            if error > NORM_ERROR:
                text = f"is no unit quaternion: its length goes from {norms.min():.3g} to {norms.max():.3g}"
                first = next(channel for channel in episode.channels if channel.feature == feature)
                yield _wrong(episode, first, error, NORM_ERROR, text, name=feature)


def _against_command(
    episode: RecordedEpisode, statistics: DatasetStatistics, config: QualityConfig
) -> Iterator[QualityFinding]:
    for pair in episode.pairs:
        if span(pair.command.values) <= MOVES or span(pair.measured.values) <= MOVES:
            continue
        correlation, slope = follows(pair, pair, statistics.usual_delay_rows)
        if correlation < max(config.follow, 0.9):
            continue
        factor = max(slope, 1 / slope)
        if factor <= SLOPE or (pair.measured.is_hand and factor <= FAR):  # a held object stops a hand halfway
            continue
        # A weak drive under load may move a third of the way, but never a twelfth, and none moves much too far.
        limit = FURTHER if slope > 1 else FAR
        unit = " as degrees for radians would be" if is_degrees_for_radians(factor) else ""
        weak = "" if factor > limit else ": another unit, or a drive too weak for its load"
        text = f"follows {pair.command.name} closely but {slope:.3g} times as far{unit}{weak}"
        yield _wrong(episode, pair.measured, factor, limit if factor > limit else SLOPE, text, note=factor <= limit)


def _against_others(
    episode: RecordedEpisode, statistics: DatasetStatistics, _config: QualityConfig
) -> Iterator[QualityFinding]:
    """Compare the sizes of a whole feature, then of each channel, with the other episodes."""
    if statistics.others(episode.attempt) < 2:
        return
    for feature in episode.signals:
        # Forces and speeds differ by such factors between motions. Positions do not.
        channels = [channel for channel in episode.channels if channel.feature == feature and _is_position(channel)]
        factors = {channel.name: _factor(episode, channel, statistics) for channel in channels}
        known = [value for value in factors.values() if np.isfinite(value)]
        if not known:
            continue
        whole = float(np.exp(np.median(np.log(known))))
        if len(known) >= 2 and max(whole, 1 / whole) > FAR and min(max(value, 1 / value) for value in known) > 4:
            unit = ", probably degrees instead of radians" if is_degrees_for_radians(whole) else ""
            text = f"is {whole:.3g} times as large as in the other episodes, all of {feature} together{unit}"
            yield _wrong(episode, channels[0], whole, FAR, text, name=feature)
            continue
        for channel in channels:
            factor, usual = factors[channel.name], statistics.typical("span", channel.name, episode.attempt)
            spread = span(channel.values) / usual if usual > MOVES else np.nan
            known = np.isfinite(factor) and np.isfinite(spread) and spread > 0
            turned = known and is_degrees_for_radians(factor)
            if turned and max(spread, 1 / spread) > FAR and (spread > 1) == (factor > 1):
                text = f"is {factor:.3g} times as large as in the other episodes, probably degrees instead of radians"
                # A joint that rests in one episode and moves in another differs that much too.
                yield _wrong(episode, channel, factor, DEGREES, text, note=True)


def _factor(episode: RecordedEpisode, channel: RecordedChannel, statistics: DatasetStatistics) -> float:
    usual = statistics.typical("size", channel.name, episode.attempt)
    size = quantile(np.abs(channel.values), 0.9)
    return size / usual if usual > MOVES and size > MOVES else float("nan")


def _is_position(channel: RecordedChannel) -> bool:
    return channel.feature in (ACTION, STATE) or channel.unit in ("rad", "deg", "m", "mm")


def _wrong(
    episode: RecordedEpisode,
    channel: RecordedChannel,
    measured: float,
    limit: float,
    text: str,
    *,
    name: str = "",
    note: bool = False,
) -> QualityFinding:
    where = name or channel.name
    return UNIT_CONFUSION.finding(
        where, (0, episode.rows - 1), measured, limit, "×", f"{where} {text}.", severity="note" if note else "error"
    )


UNIT_CONFUSION = QualityCheck(name="unit_confusion", asks="are the values in their declared unit?", find=find)
