"""Does the clock run forwards, without gaps, evenly, and at the declared rate?"""

from collections.abc import Iterator

import numpy as np

from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode
from twinloop.signals.clock import estimate_clock, spread_stamps

OTHER_CLOCKS = {1e3: "milliseconds", 1e6: "microseconds", 1e9: "nanoseconds"}


def order(episode: RecordedEpisode, _statistics: DatasetStatistics, _config: QualityConfig) -> Iterator[QualityFinding]:
    if episode.time_s is None:
        return
    steps = np.diff(episode.time_s)
    back, repeated = np.flatnonzero(~(steps >= 0)), np.flatnonzero(steps == 0)
    if len(back):
        text = f"The clock runs backwards at {len(back)} rows, first after row {back[0]}."
        yield TIMESTAMP_ORDER.finding("timing", (back[0], back[-1] + 1), len(back), 0, "rows", text)
    elif len(repeated):
        # A clock with ticks longer than a period. Gaps and jitter are measured after the rows are spread.
        text = f"{len(repeated)} rows have the stamp of the row before, first row {repeated[0] + 1}."
        frames = (repeated[0], repeated[-1] + 1)
        yield TIMESTAMP_ORDER.finding("timing", frames, len(repeated), 0, "rows", text, severity="note")


def gap(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    periods, usual = _periods(episode)
    wide = np.flatnonzero(periods > config.note_gap_periods * usual)
    # Many late rows are jitter, which has its own check.
    if not len(wide) or len(wide) > 0.05 * len(periods) + 1:
        wide = wide[periods[wide] > 2 * config.gap_periods * usual]
    if not len(wide):
        return
    worst = wide[periods[wide].argmax()]
    missing = periods[worst] / usual
    severe = missing > config.gap_periods
    limit = config.gap_periods if severe else config.note_gap_periods
    lost = f"about {periods[wide].sum() / usual - len(wide):.0f} rows are missing in {len(wide)} places"
    text = f"{periods[worst] * 1e3:.0f} ms pass between rows {worst} and {worst + 1}; {lost}."
    yield TIMESTAMP_GAP.finding(
        "timing", (worst, worst + 1), missing, limit, "periods", text, severity="error" if severe else "note"
    )


def jitter(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    periods, usual = _periods(episode)
    even = periods[periods < config.note_gap_periods * usual]
    if len(even) < config.shortest_rows:
        return
    off = float(np.quantile(np.abs(even - np.median(even)), 0.95) / usual)
    # A clock with coarse ticks is not an uneven one.
    if off <= config.note_jitter_share:
        return
    severe = off > config.jitter_share
    limit = config.jitter_share if severe else config.note_jitter_share
    text = f"Uneven rows: 5 % of the periods differ by {off * usual * 1e3:.1f} ms or more from {usual * 1e3:.1f} ms."
    yield TIMESTAMP_JITTER.finding(
        "timing", (0, episode.rows - 1), off, limit, "periods", text, severity="error" if severe else "note"
    )


def rate(episode: RecordedEpisode, _statistics: DatasetStatistics, config: QualityConfig) -> Iterator[QualityFinding]:
    rates = {camera: film.rate_hz for camera, film in episode.films.items() if film.rate_hz > 0}
    periods, _ = _periods(episode)
    if episode.rate_declared and episode.time_s is not None and len(periods) >= config.shortest_rows:
        rates["timing"] = estimate_clock(episode.time_s).nearest_hz(episode.rate_hz)
    for where, measured_hz in rates.items():
        off = measured_hz / episode.rate_hz
        apart = max(off, 1 / off) - 1
        if apart <= config.note_rate_share:
            continue
        severe = apart > config.rate_share
        unit = next((word for factor, word in OTHER_CLOCKS.items() if 0.8 < 1 / (off * factor) < 1.25), "")
        hint = f"; the clock seems to count {unit}" if unit else ""
        text = f"{where} runs at {measured_hz:.4g} Hz, {episode.rate_hz:.4g} Hz are declared{hint}."
        yield DECLARED_RATE.finding(
            where,
            (0, episode.rows - 1),
            measured_hz,
            episode.rate_hz,
            "Hz",
            text,
            severity="error" if severe else "note",
        )


def _periods(episode: RecordedEpisode) -> tuple[np.ndarray, float]:
    """Steps of the clock where it ran forwards, and their median."""
    if episode.time_s is None or episode.rows < 2:
        return np.empty(0), np.nan
    periods = np.diff(spread_stamps(episode.time_s))
    periods = periods[periods > 0] if (periods <= 0).any() else periods
    return periods, float(np.median(periods)) if len(periods) else np.nan


TIMESTAMP_ORDER = QualityCheck(name="timestamp_order", asks="does the clock run forwards?", find=order)
TIMESTAMP_GAP = QualityCheck(name="timestamp_gap", asks="are there gaps between rows?", find=gap)
TIMESTAMP_JITTER = QualityCheck(name="timestamp_jitter", asks="do rows come evenly?", find=jitter)
DECLARED_RATE = QualityCheck(name="declared_rate", asks="is the rate the declared one?", find=rate)
