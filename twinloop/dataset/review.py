"""Run the quality checks of recordings on the stored episodes of any dataset."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.curate.quality import DatasetStatistics, EpisodeStatistics, Quality, QualityConfig, RecordedEpisode, judge
from twinloop.curate.quality.recorded_episode import HANDS, FilmFacts
from twinloop.dataset.ingest.films import VideoFilm, screen
from twinloop.dataset.ingest.ingest import CONVERSIONS
from twinloop.dataset.ingest.source import PictureFormat
from twinloop.dataset.ingest.survey import TIMING
from twinloop.dataset.layout import SHARDS
from twinloop.dataset.manifest import ShardEntry
from twinloop.dataset.parquet import to_numpy
from twinloop.dataset.pictures import video_file
from twinloop.dataset.reader import Dataset
from twinloop.durable import read_bounded, replace_file
from twinloop.observe.recording import Feature

QUALITY = "quality.json"
MOST_BYTES = 1 << 20
NOT_MEASURED = ("phase", TIMING)
Limits = Mapping[str, tuple[float, float]]


def review(
    dataset: Dataset,
    *,
    config: QualityConfig | None = None,
    limits: Limits | None = None,
    pictures: bool = True,
    on_episode: Callable[[int], None] = lambda _: None,
) -> tuple[Quality, ...]:
    """Return the quality of every attempt. Attempts without rows keep the findings from their ingest.

    Args:
        dataset: the dataset to check.
        config: thresholds of the checks.
        limits: channel or element name -> (low, high). They override the stored limits.
        pictures: also check the images.
        on_episode: called with the number of episodes done.
    """
    config = config or QualityConfig()
    known = {**stored_limits(dataset), **(limits or {})}
    statistics = DatasetStatistics.of(EpisodeStatistics.of(episode) for episode in recorded_episodes(dataset, known))
    qualities = {quality.attempt: quality for quality in _without_rows(dataset)}
    for episode in recorded_episodes(dataset, known, pictures=pictures):
        qualities[episode.attempt] = judge(episode, statistics, config)
        on_episode(len(qualities))
    return tuple(qualities[attempt] for attempt in sorted(qualities))


def recorded_episodes(
    dataset: Dataset, limits: Limits | None = None, *, pictures: bool = False
) -> Iterator[RecordedEpisode]:
    """Yield each stored episode in the form that the quality checks take."""
    header = dataset.header
    features = [feature for feature in header.columns if _is_measured(feature)]
    clock = next((feature for feature in header.columns if feature.name == TIMING and "robot_s" in feature.names), None)
    names = [feature.name for feature in features] + ([TIMING] if clock else [])
    base = RecordedEpisode(
        attempt=0, label="", rate_hz=float(header.fps), rows=0, time_s=None, signals={},
        names={feature.name: feature.names for feature in features},
        units={feature.name: units_of(feature) for feature in features},
        limits=limits or {},
    )  # fmt: skip
    for entry in dataset.entries:
        attempts = dataset.episodes(entry, ["attempt", "length"])
        table = dataset.frames(entry, names) if entry.frames else None
        start = 0
        for attempt, length in zip(attempts["attempt"].to_pylist(), attempts["length"].to_pylist(), strict=True):
            if not length or table is None:
                continue
            rows = table.slice(start, length)
            signals = {
                feature.name: to_numpy(rows[feature.name]).reshape(length, -1).astype(np.float64)
                for feature in features
            }
            time_s = None
            if clock is not None:
                time_s = to_numpy(rows[TIMING]).reshape(length, -1)[:, clock.names.index("robot_s")].astype(np.float64)
            films = _films(dataset, entry, start, length) if pictures else {}
            yield replace(
                base, attempt=attempt, label=f"attempt {attempt}", rows=length, signals=signals, time_s=time_s,
                films=films,
            )  # fmt: skip
            start += length


def units_of(feature: Feature) -> tuple[str, ...]:
    """Return one unit per element of the feature.

    The feature's unit is one unit for all (`rad`), one per element (`rad; m; ...`), or two (`rad; m`) for an arm whose
    last element is its gripper.
    """
    width, parts = feature.shape[0], [part.strip() for part in feature.unit.split(";")]
    if len(parts) == width:
        return tuple(parts)
    if len(parts) == 1:
        return (parts[0],) * width
    if len(parts) == 2 and feature.names and any(hand in feature.names[-1].lower() for hand in HANDS):
        return (parts[0],) * (width - 1) + (parts[1],)
    return ("",) * width


def stored_limits(dataset: Dataset) -> dict[str, tuple[float, float]]:
    """Return the limits from the mapping that the dataset was ingested with, or none."""
    path = dataset.path / CONVERSIONS
    if not path.exists():
        return {}
    try:
        values = json.loads(read_bounded(path, MOST_BYTES)).get("limits", {})
        return {str(name): (float(low), float(high)) for name, (low, high) in values.items()}
    except (ValueError, TypeError, AttributeError):
        return {}


def to_json(name: str, qualities: tuple[Quality, ...]) -> dict[str, Any]:
    """Return the content of quality.json: verdict and evidence per episode, and the number of findings per check."""
    counts: dict[str, dict[str, int]] = {}
    for quality in qualities:
        for check, severity in {(finding.check, finding.severity) for finding in quality.findings}:
            check_counts = counts.setdefault(check, {"error": 0, "note": 0})
            check_counts[severity] += 1
    return {
        "dataset": name,
        "episodes": len(qualities),
        "rejected": sum(bool(quality.errors) for quality in qualities),
        "checks": dict(sorted(counts.items())),
        "verdicts": [quality.to_json() for quality in qualities],
    }


def write_quality(folder: Path, name: str, qualities: tuple[Quality, ...], *, scratch: Path) -> Path:
    content = json.dumps(to_json(name, qualities), indent=2, ensure_ascii=False) + "\n"
    replace_file(folder / QUALITY, content.encode(), scratch=scratch)
    return folder / QUALITY


def _is_measured(feature: Feature) -> bool:
    number = feature.dtype in ("float32", "float64", "int64")
    return number and feature.name not in NOT_MEASURED and not feature.name.startswith(("next.", "label."))


def _films(dataset: Dataset, entry: ShardEntry, start: int, length: int) -> dict[str, FilmFacts]:
    films = {}
    for feature in dataset.header.pictures:
        path = dataset.path / SHARDS / entry.name / video_file(feature)
        film = VideoFilm(path, start, length, float(dataset.header.fps))
        kind = feature.dtype
        assert kind in ("video", "depth", "mask")
        films[feature.name] = screen(film, PictureFormat(kind, feature.shape[0], feature.shape[1]), length).facts
    return films


def _without_rows(dataset: Dataset) -> Iterator[Quality]:
    attempts = dataset.attempts()
    if "quality" not in attempts.column_names:
        return
    for length, text in zip(attempts["length"].to_pylist(), attempts["quality"].to_pylist(), strict=True):
        if not length and text:
            yield Quality.from_json(json.loads(text), where=f"{dataset.path}: quality")
