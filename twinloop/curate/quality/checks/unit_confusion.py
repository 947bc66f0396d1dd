"""Are numbers in the unit they are declared in, that of the other episodes, and that of their commands?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import MOVES, DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import ACTION, STATE, RecordedChannel, RecordedEpisode
from twinloop.curate.quality.spans import correlation, span

DEGREES = 180 / np.pi
FAR = 12.0  # a factor that no motion explains
NEAR_TURN = 1.45  # how far from 57.3 a factor may be and still mean degrees for radians
SLOPE = 1.6  # between a command and what follows it closely
LARGEST_RAD = 6 * np.pi
NORMALISED = ("normalised", "normalized", "%", "percent")


def find(take: RecordedEpisode, crowd: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    if take.rows < config.shortest_rows:
        return
    found: set[str] = set()
    for search in (_declared, _against_command, _against_others):
        for finding in search(take, crowd, config):
            if finding.channel not in found:
                found.add(finding.channel)
                yield finding


def _declared(take: RecordedEpisode, _crowd: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    for channel in take.channels:
        size = float(np.quantile(np.abs(channel.values), 0.99))
        limit = take.limit_of(channel)
        reach = max(map(abs, limit)) if limit else None
        if channel.unit == "rad" and size > LARGEST_RAD and (reach is None or size > 3 * reach):
            yield _wrong(
                take, channel, size, LARGEST_RAD, f"is declared in rad and reaches {size:.4g}: degrees, it seems"
            )
        elif channel.unit in NORMALISED and size > 110:
            yield _wrong(take, channel, size, 110, f"is declared normalised and reaches {size:.4g}")
        elif reach and size > FAR * reach:
            yield _wrong(take, channel, size, reach, f"reaches {size:.4g} where the joint ends at {reach:.4g}")
    yield from _small_degrees(take)


def _small_degrees(take: RecordedEpisode) -> Iterator[QualityFinding]:
    """All angles of a feature declared in degrees and none beyond what would be a half turn in radians."""
    for feature in take.signals:
        angles = [each for each in take.channels if each.feature == feature and each.unit in ("deg", "°")]
        sizes = [float(np.abs(each.values).max()) for each in angles]
        moves = [span(each.values) > 0.02 for each in angles]
        if len(angles) >= 3 and max(sizes) < 1.1 * np.pi and np.mean(moves) > 0.5:
            said = f"and the others are declared in degrees and none exceeds {max(sizes):.3g}: radians, it seems"
            yield _wrong(take, angles[0], max(sizes), 1.1 * np.pi, said)


def _against_command(
    take: RecordedEpisode, _crowd: DatasetStatistics, config: QualityConfig
) -> Iterator[QualityFinding]:
    for pair in take.pairs:
        told, seen = pair.command.values, pair.measured.values
        if span(told) <= MOVES or span(seen) <= MOVES or correlation(told, seen) < max(config.follow, 0.9):
            continue
        slope = float(np.std(seen) / np.std(told))
        factor = max(slope, 1 / slope)
        if factor <= SLOPE or (pair.measured.is_hand and factor <= FAR):  # what a hand holds stops it halfway
            continue
        # A weak drive under load follows by a third; no drive follows by a twelfth.
        unit = " as degrees for radians would be" if _is_turn(factor) else ""
        weak = "" if factor > FAR else ": another unit, or a drive too weak for its load"
        said = f"follows {pair.command.name} closely but {slope:.3g} times as far{unit}{weak}"
        yield _wrong(take, pair.measured, factor, FAR if factor > FAR else SLOPE, said, note=factor <= FAR)


def _against_others(
    take: RecordedEpisode, crowd: DatasetStatistics, _config: QualityConfig
) -> Iterator[QualityFinding]:
    """Sizes of a whole feature against the other episodes'; then each channel that is off by degrees alone."""
    if crowd.others(take.attempt) < 2:
        return
    for feature in take.signals:
        # Forces, loads and speeds differ by such factors from one motion to another; where a joint is does not.
        channels = [each for each in take.channels if each.feature == feature and _is_position(each)]
        factors = {each.name: _factor(take, each, crowd) for each in channels}
        known = [value for value in factors.values() if np.isfinite(value)]
        if not known:
            continue
        whole = float(np.exp(np.median(np.log(known))))
        if len(known) >= 2 and max(whole, 1 / whole) > FAR and min(max(each, 1 / each) for each in known) > 4:
            unit = ": degrees for radians, it seems" if _is_turn(whole) else ""
            said = f"is {whole:.3g} times as large as in the other episodes, all of {feature} together{unit}"
            yield _wrong(take, channels[0], whole, FAR, said, name=feature)
            continue
        for channel in channels:
            factor, usual = factors[channel.name], crowd.typical("span", channel.name, take.attempt)
            spread = span(channel.values) / usual if usual > MOVES else np.nan
            known = np.isfinite(factor) and np.isfinite(spread) and spread > 0
            if known and _is_turn(factor) and max(spread, 1 / spread) > FAR and (spread > 1) == (factor > 1):
                said = f"is {factor:.3g} times as large as in the other episodes: degrees for radians, it seems"
                # A joint that rests in one episode and moves in another differs that much too.
                yield _wrong(take, channel, factor, DEGREES, said, note=True)


def _factor(take: RecordedEpisode, channel: RecordedChannel, crowd: DatasetStatistics) -> float:
    usual = crowd.typical("size", channel.name, take.attempt)
    size = float(np.quantile(np.abs(channel.values), 0.9))
    return size / usual if usual > MOVES and size > MOVES else float("nan")


def _is_turn(factor: float) -> bool:
    apart = max(factor, 1 / factor) / DEGREES
    return 1 / NEAR_TURN < apart < NEAR_TURN


def _is_position(channel: RecordedChannel) -> bool:
    return channel.feature in (ACTION, STATE) or channel.unit in ("rad", "deg", "m", "mm")


def _wrong(
    take: RecordedEpisode,
    channel: RecordedChannel,
    measured: float,
    limit: float,
    said: str,
    *,
    name: str = "",
    note: bool = False,
) -> QualityFinding:
    where = name or channel.name
    return UNIT_CONFUSION.finding(
        where, (0, take.rows - 1), measured, limit, "×", f"{where} {said}.", severity="note" if note else "error"
    )


UNIT_CONFUSION = QualityCheck(name="unit_confusion", asks="are numbers in the unit they seem to be in?", find=find)
