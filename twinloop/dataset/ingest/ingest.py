"""IngestSource -> Dataset: real recordings in the common schema, each with a verdict and its evidence.

Each episode is one shard, so a killed process loses only the episode it was writing. Values are stored as recorded. The
mapping is the only source of conversions; conversions.json lists them.
"""

import json
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import yaml

from twinloop import __version__
from twinloop.config.record import write_record
from twinloop.curate.quality import Quality, QualityConfig, judge
from twinloop.curate.quality.recorded_episode import FilmFacts, RecordedEpisode
from twinloop.curate.quality.spans import LARGEST, usable
from twinloop.curate.verdict import ACCEPTED, TASK_FAILED
from twinloop.dataset.header import Header
from twinloop.dataset.ingest.films import Screening, VideoFilm, copy_film, encode_film, film_path, screen, stats_of
from twinloop.dataset.ingest.mapping import MappingConfig
from twinloop.dataset.ingest.options import IngestOptions
from twinloop.dataset.ingest.shaping import conversions_of, shaped
from twinloop.dataset.ingest.source import IngestSource, RawEpisode, Unreadable
from twinloop.dataset.ingest.survey import TIMING, Camera, Survey, recorded_episode, survey
from twinloop.dataset.layout import SCRATCH
from twinloop.dataset.people.consent import Consent
from twinloop.dataset.pictures import PictureFiles, video_file
from twinloop.dataset.reader import Dataset
from twinloop.dataset.shard import ShardDraft, write_shard
from twinloop.dataset.stats import STATS
from twinloop.dataset.video import encoder_version
from twinloop.dataset.writer import DatasetWriter
from twinloop.durable import FileDigest, replace_file
from twinloop.errors import DatasetError
from twinloop.observe.recording import Recording

CONVERSIONS = "conversions.json"


@dataclass(frozen=True)
class IngestProgress:
    """doing: "surveying" or "writing"."""

    doing: str
    done: int
    total: int
    rejected: int = 0


@dataclass(frozen=True)
class Ingested:
    path: Path
    digest: str
    qualities: tuple[Quality, ...]
    left_out: Mapping[str, str]


def ingest(
    source: IngestSource,
    out: Path,
    *,
    name: str,
    label: str,
    mapping: MappingConfig | None = None,
    options: IngestOptions | None = None,
    limits: QualityConfig | None = None,
    consent: Consent | None = None,
    on_progress: Callable[[IngestProgress], None] = lambda _: None,
) -> Ingested:
    """Ingest all episodes of a source into the dataset folder `out`.

    Args:
        label: name of the source in config.yaml.
        consent: consent record of the participant, if a person took part.
    """
    if consent is not None:
        consent.require("record", today=datetime.now(UTC).date())
    mapping, options, limits = mapping or MappingConfig(), options or IngestOptions(), limits or QualityConfig()
    total = len(source)
    surveyed = survey(source, mapping, options, lambda done: on_progress(IngestProgress("surveying", done, total)))
    header = _header(source, surveyed, mapping, name)
    text = _config_text(source, surveyed, mapping, options, name, label)
    job = _Job(source, surveyed, mapping, options, limits, name, consent.columns() if consent else {})
    rejected = 0
    with DatasetWriter.open(out, header, text, verify=True) as writer:
        _refuse_changed(Dataset(out, header, writer.entries), surveyed)
        replace_file(out / CONVERSIONS, _conversions(source, surveyed, mapping), scratch=out / SCRATCH)
        missing = writer.missing()
        for attempt, _ in missing:
            draft, quality = job.write(attempt, writer.scratch(f"attempt-{attempt}"))
            writer.commit(draft)
            rejected += bool(quality.errors)
            on_progress(IngestProgress("writing", total - len(writer.missing()), total, rejected))
        digest = writer.finish()
    return Ingested(out, digest, stored_qualities(Dataset.open(out)), surveyed.left_out)


@dataclass(frozen=True)
class _Job:
    source: IngestSource
    survey: Survey
    mapping: MappingConfig
    options: IngestOptions
    limits: QualityConfig
    name: str
    people: Mapping[str, str]

    def write(self, attempt: int, folder: Path) -> tuple[ShardDraft, Quality]:
        shutil.rmtree(folder, ignore_errors=True)
        raw, frames, episode, screenings = self._look(attempt)
        quality = judge(episode, self.survey.statistics, self.limits)
        rows = raw.rows if quality.storable else 0
        features = self.survey.features
        recording = Recording(np.empty(0, np.int64), np.empty(0, np.int64), (), features, self._empty())
        if rows:
            folder.mkdir(parents=True)
            pictures = self._film(raw, screenings, folder)
            recording = Recording(
                np.array([attempt]), np.array([rows]), (self._task(raw),), features, self._frames(raw, frames)
            )
        else:
            nothing = {
                feature.name: np.empty((0, len(STATS), feature.shape[2])) for feature in features if feature.is_picture
            }
            pictures = PictureFiles({}, nothing, {})
        draft = write_shard(
            folder, attempt, attempt + 1, recording, self._columns(raw, quality, rows), fps=self.survey.rate_hz,
            pictures=pictures,
        )  # fmt: skip
        return draft, quality

    def _look(self, attempt: int) -> tuple[RawEpisode, dict[str, np.ndarray], RecordedEpisode, dict[str, Screening]]:
        try:
            raw = self.source.read(attempt)
            frames = shaped(raw, self.survey.columns)
            self._fit(raw, frames)
        except Unreadable as error:
            raw = RawEpisode(attempt, self.source.label(attempt), 0, {})
            episode = recorded_episode(raw, {}, (), self.survey.rate_hz, self.mapping)
            return raw, {}, _with_complaint(episode, error), {}
        screenings = {
            name: screen(raw.films[name], camera.look, raw.rows)
            if name in raw.films
            else Screening(FilmFacts(0, problem="the video is missing"), ())
            for name, camera in self.survey.cameras.items()
        }
        films = {name: screening.facts for name, screening in screenings.items()} | self._left_out_films(raw)
        episode = recorded_episode(
            raw, frames, self.survey.columns, self.survey.rate_hz, self.mapping, films,
            rate_declared=self.survey.rate_declared,
        )  # fmt: skip
        return raw, frames, episode, screenings

    def _left_out_films(self, raw: RawEpisode) -> dict[str, FilmFacts]:
        """Frame counts of videos whose camera is left out: a broken video is reported all the same."""
        if self.options.pictures == "none":
            return {}
        counts = {}
        for name, film in raw.films.items():
            if name not in self.survey.cameras and name in self.source.looks:
                facts = screen(film, self.source.looks[name], raw.rows).facts
                counts[name] = FilmFacts(facts.frames, problem=facts.problem, stored=False)
        return counts

    def _fit(self, raw: RawEpisode, frames: Mapping[str, np.ndarray]) -> None:
        for feature in self.survey.features:
            values = frames.get(feature.name)
            if values is not None and values.shape[1] != feature.shape[0]:
                widths = f"{values.shape[1]} elements; the other episodes have {feature.shape[0]}"
                raise Unreadable(f"{raw.label}: {feature.name} has {widths}", check="ragged_columns")
        for name, values in frames.items():
            # Features that the checks read get the verdict non_finite, with the row. This is for rewards and flags.
            if name.startswith("next.") and not usable(values).all():
                raise Unreadable(
                    f"{raw.label}: {name} is not finite or larger than {LARGEST:g}", check="ragged_columns"
                )
        if self.survey.timed and (raw.time_s is None or not usable(raw.time_s).all()):
            raise Unreadable(
                f"{raw.label}: its clock is missing, not finite or larger than {LARGEST:g}", check="ragged_columns"
            )

    def _frames(self, raw: RawEpisode, frames: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        out = {}
        for feature in self.survey.features:
            if feature.name == TIMING and raw.time_s is not None:
                out[TIMING] = raw.time_s - raw.time_s[0]
            elif not feature.is_picture:
                values = frames[feature.name].astype(feature.dtype)
                out[feature.name] = values[:, 0] if feature.shape == (1,) else values
        return out

    def _empty(self) -> dict[str, np.ndarray]:
        columns = [feature for feature in self.survey.features if not feature.is_picture]
        return {column.name: np.empty((0, *column.shape), column.dtype) for column in columns}

    def _film(self, raw: RawEpisode, screenings: Mapping[str, Screening], folder: Path) -> PictureFiles:
        files: dict[str, FileDigest] = {}
        stats: dict[str, np.ndarray] = {}
        for feature in self.survey.features:
            camera = self.survey.cameras.get(feature.name)
            if camera is None:
                continue
            film, path = raw.films[feature.name], film_path(folder, feature)
            if camera.copied and isinstance(film, VideoFilm):
                digest, count = copy_film(film, path, fps=self.survey.rate_hz)
                if count != raw.rows:
                    raise DatasetError(f"{film.path}: {count} images were copied for {raw.rows} rows")
            else:
                digest = encode_film(film, camera.look, feature, path, raw.rows, fps=self.survey.rate_hz)
            files[video_file(feature)] = digest
            stats[feature.name] = stats_of(screenings[feature.name].samples, camera.look)
        return PictureFiles(files, stats, {})

    def _task(self, raw: RawEpisode) -> str:
        return self.options.task or raw.task

    def _columns(self, raw: RawEpisode, quality: Quality, rows: int) -> dict[str, list]:
        outcome = self.options.outcome or raw.outcome
        by = "human" if self.options.outcome else raw.outcome_by
        verdict = quality.verdict or (ACCEPTED if outcome != "failure" else TASK_FAILED)
        took_s = float(raw.time_s[-1] - raw.time_s[0]) if raw.time_s is not None and raw.rows else 0.0
        values: dict[str, Any] = {
            "attempt": raw.index,
            "task": self._task(raw),
            "length": rows,
            "verdict": verdict,
            "success": outcome == "success",
            "robot_id": self.name,
            "outcome": outcome,
            "outcome_by": by,
            "outcome_detail": quality.errors[0].message if quality.errors else "",
            "duration_s": took_s if np.isfinite(took_s) and took_s > 0 else raw.rows / self.survey.rate_hz,
            "last_phase": "",
            "failure": "",
            "checkpoint": "",
            "arm": "",
            "participant": "",
            "recorded_at": raw.recorded_at,
            "clock_began_s": float(raw.time_s[0]) if raw.time_s is not None and raw.rows else 0.0,
            "recorded_rows": raw.rows,
            "source_label": raw.label,
            "source_digest": self.survey.digests[raw.index],
            "quality_errors": len(quality.errors),
            "quality_notes": len(quality.findings) - len(quality.errors),
            "quality": json.dumps(quality.to_json(), allow_nan=True),
            "version/twinloop": __version__,
            **{f"condition/{key}": value for key, value in raw.facts.items()},
            **self.people,
        }
        return {key: [value] for key, value in values.items()}


def stored_qualities(dataset: Dataset) -> tuple[Quality, ...]:
    """The qualities that were stored when the episodes were ingested."""
    attempts = dataset.attempts()
    texts = attempts["quality"].to_pylist() if "quality" in attempts.column_names else []
    return tuple(Quality.from_json(json.loads(text), where=f"{dataset.path}: quality") for text in texts if text)


def _with_complaint(episode: RecordedEpisode, error: Unreadable) -> RecordedEpisode:
    return replace(episode, complaints=(error.finding,))


def _header(source: IngestSource, surveyed: Survey, mapping: MappingConfig, name: str) -> Header:
    versions = {"twinloop": __version__, "ingest": source.kind}
    if any(not camera.copied for camera in surveyed.cameras.values()):
        versions["av"] = encoder_version()
    return Header(
        name=name, source="real", robot=surveyed.robot, fps=surveyed.rate_hz, features=surveyed.features, phases=(),
        config_digest=mapping.digest, run_seed=0, shard_episodes=1, episodes=len(source), keep_rejected=True,
        versions=versions,
    )  # fmt: skip


def _config_text(
    source: IngestSource, surveyed: Survey, mapping: MappingConfig, options: IngestOptions, name: str, label: str
) -> str:
    """config.yaml: source, options and mapping. The key `ingest` distinguishes it from the config of a run."""
    plain = write_record(mapping)
    given = {"pictures": options.pictures, "task": options.task, "outcome": options.outcome}
    content = {
        "ingest": {
            "as": name, "source": label, "format": source.kind, "rate_hz": surveyed.rate_hz, "robot": surveyed.robot,
            **{key: value for key, value in given.items() if value}, "mapping": plain,
        }
    }  # fmt: skip
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True)


def _conversions(source: IngestSource, surveyed: Survey, mapping: MappingConfig) -> bytes:
    widths = {feature.name: feature.shape[0] for feature in surveyed.features if not feature.is_picture}
    features = {}
    for column in surveyed.columns:
        if column.name in widths:
            conversions = conversions_of(column, widths[column.name])
            lowest = surveyed.lowest.get(column.name, np.zeros(len(conversions))).tolist()
            pairs = zip(conversions, lowest, strict=True)
            features[column.name] = [{**conversion.to_json(), "lowest": least} for conversion, least in pairs]
    content = {
        "format": source.kind,
        "rule": "stored = scale * recorded + offset, after unwrapping",
        "features": features,
        "sources": {column.name: list(column.sources) for column in surveyed.columns},
        "stored_as": {feature.name: feature.dtype for feature in surveyed.features if not feature.is_picture},
        "pictures": {name: _how(camera) for name, camera in surveyed.cameras.items()},
        "clock": "timing" if surveyed.timed else "rows are evenly spaced at the rate, as recorded",
        "limits": {name: list(ends) for name, ends in mapping.limits.items()},
        "left_out": dict(surveyed.left_out),
    }
    return (json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode()


def _how(camera: Camera) -> str:
    if camera.copied:
        return "copied"
    return "re-encoded" if camera.look.kind == "video" else "re-encoded, lossless"


def _refuse_changed(dataset: Dataset, surveyed: Survey) -> None:
    """A dataset may grow with its source, but stored episodes must not have changed."""
    if not dataset.entries:
        return
    attempts = dataset.attempts()
    for attempt, digest in zip(attempts["attempt"].to_pylist(), attempts["source_digest"].to_pylist(), strict=True):
        if attempt >= len(surveyed.digests) or surveyed.digests[attempt] != digest:
            advice = "choose another --out, or remove that folder to ingest again"
            raise DatasetError(
                f"{dataset.path}: episode {attempt} of the source has changed since it was ingested; {advice}"
            )
