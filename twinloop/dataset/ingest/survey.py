"""Survey: the first pass over a source. It determines the schema and the statistics of all episodes.

The second pass writes. Two passes are needed because the header comes before the first row, and because the checks
compare an episode with the others.
"""

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from twinloop.curate.quality import DatasetStatistics, EpisodeStatistics, RecordedEpisode
from twinloop.curate.quality.recorded_episode import FilmFacts
from twinloop.curate.quality.spans import usable
from twinloop.dataset.header import CHANNELS
from twinloop.dataset.ingest.films import can_copy
from twinloop.dataset.ingest.mapping import ColumnMap, MappingConfig
from twinloop.dataset.ingest.options import IngestOptions
from twinloop.dataset.ingest.shaping import conversions_of, recorded_of, shaped
from twinloop.dataset.ingest.source import IngestSource, PictureFormat, RawEpisode, Unreadable
from twinloop.errors import DatasetError, UsageError
from twinloop.observe.recording import Feature
from twinloop.signals.clock import estimate_clock, nominal_rate

TIMING = "timing"
MAX_MISSING = 0.2  # share of the episodes that may lack a camera's video
LARGEST = np.iinfo(np.int64).max


@dataclass(frozen=True)
class Camera:
    """A camera that is stored. copied: its videos are copied packet by packet; otherwise they are encoded again."""

    look: PictureFormat
    copied: bool


@dataclass(frozen=True)
class Survey:
    """The result of the first pass.

    Attributes:
        rate_declared: whether the user or the source declares `rate_hz`; otherwise it is estimated from the clocks.
        timed: whether the recorded clock is uneven, so that it is stored besides the rate.
        digests: digest of the numbers of each episode; "" for an unreadable one.
        left_out: part of the source that is not stored -> reason.
        lowest: feature -> smallest recorded values.
    """

    features: tuple[Feature, ...]
    columns: tuple[ColumnMap, ...]
    rate_hz: float
    rate_declared: bool
    robot: str
    timed: bool
    cameras: Mapping[str, Camera]
    statistics: DatasetStatistics
    digests: tuple[str, ...]
    left_out: Mapping[str, str]
    lowest: Mapping[str, np.ndarray]


@dataclass
class _Tally:
    kinds: dict[str, np.dtype] = field(default_factory=dict)
    widths: dict[str, Counter] = field(default_factory=dict)
    large: bool = False
    rates_hz: list[float] = field(default_factory=list)
    clocks: list[np.ndarray | None] = field(default_factory=list)
    digests: list[str] = field(default_factory=list)
    filmed: Counter = field(default_factory=Counter)
    uncopied: set[str] = field(default_factory=set)
    readable: int = 0
    problem: str = ""
    lowest: dict[str, np.ndarray] = field(default_factory=dict)


def survey(
    source: IngestSource, mapping: MappingConfig, options: IngestOptions, on_episode: Callable[[int], None]
) -> Survey:
    columns = mapping.columns or source.columns()
    tally = _Tally()
    summaries: list[EpisodeStatistics] = []
    for index in range(len(source)):
        raw, frames = _read(source, index, columns, tally, options) or (RawEpisode(index, "", 0, {}), {})
        # The rate is not known yet; the statistics do not use it.
        summaries.append(EpisodeStatistics.of(recorded_episode(raw, frames, columns, 1.0, mapping)))
        on_episode(index + 1)
    if not tally.readable:
        raise DatasetError(f"no episode can be read: {tally.problem or 'the source is empty'}")
    declared = options.rate_hz or source.rate_hz
    rate = declared or (nominal_rate(float(np.median(tally.rates_hz))) if tally.rates_hz else None)
    if rate is None:
        raise UsageError("the recording rate is unknown; give --rate-hz, or rate_hz or time in the mapping")
    cameras, left_out = _cameras(source, tally, options)
    timed = any(_differs(clock, rate) for clock in tally.clocks)
    return Survey(
        features=tuple(_features(columns, tally, timed=timed, cameras=cameras)),
        columns=columns,
        rate_hz=rate,
        rate_declared=declared is not None,
        robot=options.robot or mapping.robot or source.robot or "unknown",
        timed=timed,
        cameras=cameras,
        statistics=DatasetStatistics.of(summaries),
        digests=tuple(tally.digests),
        left_out={**source.left_out, **left_out},
        lowest=tally.lowest,
    )


def recorded_episode(
    raw: RawEpisode,
    frames: Mapping[str, np.ndarray],
    columns: tuple[ColumnMap, ...],
    rate_hz: float,
    mapping: MappingConfig,
    films: Mapping[str, FilmFacts] | None = None,
    *,
    rate_declared: bool = True,
) -> RecordedEpisode:
    """An episode as the quality checks read it: measured and commanded values, without flags and counters."""
    by_name = {column.name: column for column in columns}
    signals = {
        name: values.astype(np.float64)
        for name, values in frames.items()
        if values.dtype.kind in "fiu" and not name.startswith("next.") and name != "phase"
    }
    units = {
        name: tuple(conversion.stored for conversion in conversions_of(by_name[name], values.shape[1]))
        for name, values in signals.items()
    }
    return RecordedEpisode(
        attempt=raw.index,
        label=raw.label,
        rate_hz=rate_hz,
        rows=raw.rows,
        time_s=raw.time_s,
        signals=signals,
        names={name: by_name[name].names for name in signals},
        units=units,
        limits=mapping.limits,
        films=films or {},
        rate_declared=rate_declared,
        complaints=raw.findings,
    )


def _read(
    source: IngestSource, index: int, columns: tuple[ColumnMap, ...], tally: _Tally, options: IngestOptions
) -> tuple[RawEpisode, dict[str, np.ndarray]] | None:
    try:
        raw = source.read(index)
        frames = shaped(raw, columns)
    except Unreadable as error:
        tally.digests.append("")
        tally.problem = tally.problem or str(error)
        return None
    tally.readable += 1
    digest = hashlib.sha256(str(raw.rows).encode())
    for name, values in frames.items():
        known = tally.kinds.get(name, values.dtype)
        tally.kinds[name] = np.result_type(known, values.dtype)
        tally.widths.setdefault(name, Counter())[values.shape[1]] += 1
        if values.dtype == np.uint64 and values.size and values.max() > LARGEST:
            tally.large = True
        digest.update(name.encode() + np.ascontiguousarray(values).tobytes())
    for column in columns:
        if any(conversion.unwrap for conversion in column.conversions) and raw.rows:
            least = recorded_of(raw, column).min(axis=0).astype(np.float64)
            known = tally.lowest.setdefault(column.name, least)
            tally.lowest[column.name] = np.fmin(known, least)
    if raw.time_s is not None:
        digest.update(raw.time_s.tobytes())
        rate_hz = estimate_clock(raw.time_s).rate_hz
        tally.rates_hz += [rate_hz] if np.isfinite(rate_hz) else []
    tally.digests.append(digest.hexdigest())
    tally.clocks.append(_unevenness(raw.time_s))
    if options.pictures != "none":
        for camera, film in raw.films.items():
            tally.filmed[camera] += 1
            if camera not in tally.uncopied and not can_copy(film, source.looks.get(camera)):
                tally.uncopied.add(camera)
    return raw, frames


def _unevenness(time_s: np.ndarray | None) -> np.ndarray | None:
    """(mean period, largest deviation from even spacing, rows) of a clock; None without a clock."""
    if time_s is None or len(time_s) < 2 or not usable(time_s).all():
        return None if time_s is None or len(time_s) < 2 else np.array([np.nan, np.nan])
    passed = time_s - time_s[0]
    slope = passed[-1] / (len(passed) - 1)
    worst = float(np.abs(passed - slope * np.arange(len(passed))).max())
    return np.array([slope, worst, len(passed)])


def _differs(clock: np.ndarray | None, rate_hz: float) -> bool:
    if clock is None:
        return False
    if not np.isfinite(clock).all():
        return True
    slope, worst, rows = clock
    rounding = 4e-7 * rows / rate_hz + 2e-6  # rounding of a clock in single precision
    return bool(worst > rounding or abs(slope * rate_hz - 1) * rows / rate_hz > rounding)


def _cameras(source: IngestSource, tally: _Tally, options: IngestOptions) -> tuple[dict[str, Camera], dict[str, str]]:
    if options.pictures == "none":
        return {}, dict.fromkeys(source.looks, "images were not requested")
    cameras, left_out = {}, {}
    for name, look in source.looks.items():
        have, copied = tally.filmed[name], name not in tally.uncopied
        missing = tally.readable - have
        # If few videos are missing, their episodes are rejected; if many are missing, the camera is left out.
        few = have > missing and missing <= max(1, MAX_MISSING * tally.readable)
        if not have or (options.pictures == "auto" and not few):
            why = f"{missing} of {tally.readable} episodes have no video of it"
            left_out[name] = f"{why}; --pictures all keeps the camera and rejects those episodes" if have else why
        else:
            cameras[name] = Camera(look, copied)
    return cameras, left_out


def _features(columns: tuple[ColumnMap, ...], tally: _Tally, *, timed: bool, cameras: Mapping[str, Camera]):
    for column in columns:
        if column.name not in tally.widths:
            continue
        ((width, _),) = tally.widths[column.name].most_common(1)
        units = [conversion.stored for conversion in conversions_of(column, width)]
        unit = units[0] if len(set(units)) == 1 else "; ".join(units)
        yield Feature(column.name, _stored_kind(tally.kinds[column.name], tally.large), (width,), column.names, unit)
    if timed:
        yield Feature(TIMING, "float64", (1,), ("robot_s",), "s")
    for name, camera in cameras.items():
        look = camera.look
        unit = "m" if look.kind == "depth" else ""
        yield Feature(name, look.kind, (look.height, look.width, CHANNELS[look.kind]), look.names, unit)


def _stored_kind(kind: np.dtype, large: bool):
    """A dtype that holds every recorded value without rounding."""
    if kind.kind == "b":
        return "bool"
    if kind.kind in "iu" and not (kind == np.uint64 and large):
        return "int64"
    return "float32" if kind.kind == "f" and kind.itemsize <= 4 else "float64"
