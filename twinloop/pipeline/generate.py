"""Generate: config -> curated dataset. The main job."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from twinloop.dataset import Dataset, DatasetWriter, Header
from twinloop.dataset.layout import HEADER
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.writer import RemoteWriter
from twinloop.dataset.versions import versions
from twinloop.durable import storage_errors
from twinloop.errors import ConfigError, FullDiskError, UsageError
from twinloop.fleet.capacity import default_workers, refuse_together, width_of
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.observe.features import features_of
from twinloop.observe.pictures import picture_features
from twinloop.pipeline.produce import GenerateJob, Store, phases_of, produce, subtasks_of
from twinloop.run.config import MOST_EPISODES, RunConfig
from twinloop.run.plugin_versions import plugin_versions_of
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig, refuse_unsupported

RUNS = "runs.jsonl"


@dataclass(frozen=True)
class GenerateProgress:
    """Progress of a run.

    Attributes:
        planned, attempted, accepted, frames: of the whole dataset, including earlier sessions.
        fresh, seconds: episodes and time of this session.
    """

    planned: int
    attempted: int
    accepted: int
    frames: int
    fresh: int
    seconds: float

    @property
    def rejected(self) -> int:
        return self.attempted - self.accepted

    @property
    def trajectories_per_second(self) -> float:
        """Rate of this session."""
        return self.fresh / self.seconds if self.seconds > 0 else 0.0


@dataclass(frozen=True)
class Generated:
    """A finished run."""

    path: Path | Remote
    digest: str
    progress: GenerateProgress
    workers: int


def generate(
    config: RunConfig,
    out: Path | Remote,
    *,
    episodes: int | None = None,
    workers: int | None = None,
    keep_rejected: bool = False,
    executor: Executor = LOCAL,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
    on_progress: Callable[[GenerateProgress], None] = lambda _: None,
    on_committed: Callable[[int], None] = lambda _: None,
) -> Generated:
    """Simulate, curate and write episodes into `out`, or continue an interrupted run there.

    A run that was killed continues from the last committed shard. The finished dataset has the same digest as an
    uninterrupted run, for any number of workers and any executor.

    Args:
        out: a folder, or an address in an object store, where workers publish their shards themselves.
        episodes: by default the config's parallel_envs * episodes_per_env.
        workers: processes; one per core by default.
        keep_rejected: store the frames of rejected episodes too.
        engine: must be the engine that the dataset was begun with.
        on_committed: called with the number of workers when all shards are committed, before the export.
    """
    total = config.rollout.episodes if episodes is None else episodes
    if not 1 <= total <= MOST_EPISODES:
        raise UsageError(f"episodes: {total} was given; a number from 1 to {MOST_EPISODES:,} was expected")
    refuse_together(engine, executor)
    header = header_of(config, out.name, total, keep_rejected, engine=engine)
    with _writer(out, header, config.to_yaml()) as writer:
        missing = writer.missing()
        workers = max(1, min(workers or default_workers(engine, executor), len(missing))) if missing else 1
        clock = _Clock(writer, total)
        on_progress(clock.progress())
        job = GenerateJob(
            config_yaml=config.to_yaml(),
            folder=str(Path.cwd()),
            keep_rejected=keep_rejected,
            scratch=str(writer.scratch("")),
            width=width_of(config, workers, engine=engine, episodes=sum(stop - first for first, stop in missing)),
            engine=engine,
            versions=tuple(sorted(writer.header.versions.items())),
            store=Store(writer.path, writer.identity) if isinstance(writer, RemoteWriter) else None,
        )
        for _, draft in executor.run(produce, job, missing, workers=workers):
            writer.commit(draft)
            on_progress(clock.tick(draft.stop - draft.first, draft.accepted, draft.frames))
        if isinstance(out, Path):
            clock.write_log(out, workers)
        on_committed(workers)
        digest = writer.finish()
        return Generated(out, digest, clock.progress(), workers)


@contextmanager
def _writer(out: Path | Remote, header: Header, config_text: str) -> Iterator[DatasetWriter | RemoteWriter]:
    if isinstance(out, Remote):
        with RemoteWriter.open(out, header, config_text) as writer:
            yield writer
        return
    # Existing shards are verified before the run continues. Reading takes about 1 % of the time of generating.
    with _disk_space_needed(out, header), DatasetWriter.open(out, header, config_text, verify=True) as writer:
        yield writer


@contextmanager
def _disk_space_needed(out: Path, header: Header) -> Iterator[None]:
    """Add the space that the rest of the run needs to the error of a full disk."""
    try:
        yield
    except FullDiskError as error:
        entries = Dataset.open(out).entries if (out / HEADER).exists() else ()
        done = sum(entry.stop - entry.first for entry in entries)
        used = sum(entry.size_bytes for entry in entries)
        per_episode = used / done if done else _bytes_per_episode(header)
        # Shards, and a copy of the same size as the export.
        needed = 2 * per_episode * header.episodes - used
        missing = f"{header.episodes - done:,} of {header.episodes:,} episodes are missing"
        raise FullDiskError(f"{error}; {missing}, in all about {needed / 1e6:,.1f} MB more are needed") from None


def _bytes_per_episode(header: Header) -> float:
    """Estimate before any episode exists: 20 s of its columns, and one bit per pixel."""
    sizes = {"float32": 4, "float64": 8, "int64": 8, "bool": 1}
    numbers = sum(sizes.get(feature.dtype, 8) * feature.shape[0] for feature in header.columns)
    pixels = sum(feature.shape[0] * feature.shape[1] for feature in header.pictures)
    return 20 * header.fps * (numbers + pixels / 8)


def header_of(
    config: RunConfig,
    name: str,
    episodes: int,
    keep_rejected: bool,
    *,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
) -> Header:
    refuse_labels_of_several_tasks(config)
    for one in config.by_task.values():
        refuse_unsupported(engine, twin_of(one), one.randomization)
    twin = twin_of(next(iter(config.by_task.values())))
    features = features_of(twin, config.observe) + picture_features(config.cameras, twin)
    return Header(
        name=name,
        source="sim",
        robot=config.scene.robot.name,
        fps=twin.control_hz,
        features=features,
        phases=phases_of(config),
        subtasks=subtasks_of(config),
        config_digest=config.digest,
        run_seed=config.rollout.seed,
        shard_episodes=config.dataset.shard_episodes,
        episodes=episodes,
        keep_rejected=keep_rejected,
        versions=versions(features, films=bool(config.cameras), engine=engine) | plugin_versions_of(config),
    )


def refuse_labels_of_several_tasks(config: RunConfig) -> None:
    """Raise if cameras have labels whose elements are the bodies of one scene, and the run has several scenes."""
    if len(config.by_task) == 1:
        return
    for name, camera in config.cameras.items():
        unfit = [label for label in camera.labels if label != "classes"]
        if unfit:
            raise ConfigError(
                f"cameras.{name}.labels", f"has {', '.join(unfit)}, whose elements differ between the tasks of a run; "
                "with several tasks only classes can be recorded. Or make one dataset per task"
            )  # fmt: skip


class _Clock:
    """Counts and times a session. The log is for the report and is not part of the dataset's digest."""

    def __init__(self, writer: DatasetWriter | RemoteWriter, planned: int):
        entries = writer.entries
        self._base = GenerateProgress(
            planned=planned,
            attempted=sum(entry.stop - entry.first for entry in entries),
            accepted=sum(entry.accepted for entry in entries),
            frames=sum(entry.frames for entry in entries),
            fresh=0,
            seconds=0.0,
        )
        self._now = self._base
        self._start = time.perf_counter()
        self._started = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        self._timeline: list[tuple[float, int]] = []

    def progress(self) -> GenerateProgress:
        return self._now

    def tick(self, attempted: int, accepted: int, frames: int) -> GenerateProgress:
        now = self._now
        self._now = replace(
            now,
            attempted=now.attempted + attempted,
            accepted=now.accepted + accepted,
            frames=now.frames + frames,
            fresh=now.fresh + attempted,
            seconds=time.perf_counter() - self._start,
        )
        self._timeline.append((round(self._now.seconds, 3), self._now.fresh))
        return self._now

    def write_log(self, out: Path, workers: int) -> None:
        if not self._timeline:
            return
        line = {
            "started": self._started,
            "seconds": round(self._now.seconds, 3),
            "episodes": self._now.fresh,
            "workers": workers,
            "timeline": self._timeline,
        }
        with storage_errors(out), (out / RUNS).open("a", encoding="utf-8") as log:
            log.write(json.dumps(line) + "\n")
