"""Generate: from a config to a curated dataset. The main job."""

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
from twinloop.errors import FullDiskError, UsageError
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.observe.features import features_of
from twinloop.observe.pictures import picture_features
from twinloop.pipeline.produce import GenerateJob, Store, produce
from twinloop.run.config import MOST_EPISODES, RunConfig
from twinloop.run.plugin_versions import plugin_versions_of
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig, refuse_unsupported

SLOTS_PER_WORKER = 256
"""Simulations a worker keeps in flight at most. Beyond this a CPU core steps no faster, the first shard only
comes later and memory grows; the data is the same at any number."""

WORLDS = 4096
"""Simulations in flight on a device at most: on a GPU it is their number that makes it fast."""

RUNS = "runs.jsonl"


@dataclass(frozen=True)
class GenerateProgress:
    """How far a run is. Counts are of episodes, over the whole dataset, earlier sessions included."""

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
        """Of this session."""
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
) -> Generated:
    """Simulate, curate and write `episodes` (default: the config's total) into `out`, or continue there.

    out: a folder, or an address in an object store; there workers publish what they make themselves.

    Killed at any moment and called again, it goes on from the last committed shard, and the finished dataset
    is the one an undisturbed run would have made, whatever the number of workers and wherever they run. Another
    engine than that which began is refused: it would not make the same data.
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
        digest = writer.finish()
        return Generated(out, digest, clock.progress(), workers)


@contextmanager
def _writer(out: Path | Remote, header: Header, config_text: str) -> Iterator[DatasetWriter | RemoteWriter]:
    if isinstance(out, Remote):
        with RemoteWriter.open(out, header, config_text) as writer:
            yield writer
        return
    # What is there is read before it is continued: that takes a hundredth of the time that making it took.
    with _room_told(out, header), DatasetWriter.open(out, header, config_text, verify=True) as writer:
        yield writer


def refuse_together(engine: EngineConfig, executor: Executor) -> None:
    """UsageError where this engine cannot run there."""
    if engine.backend == "warp" and executor.name == "ray":
        raise UsageError(
            "--backend warp with --executor ray: Ray is not told which GPU a worker may use, and none was there to try "
            "it on. Run it on each machine by itself, with a --seed and an --out of its own, and join what they make "
            "by `twinloop merge`; or use --backend cpu"
        )


def default_workers(engine: EngineConfig, executor: Executor) -> int:
    """A process a core; but one a device, which steps all its simulations at once anyway."""
    return 1 if engine.backend == "warp" else executor.capacity()


def width_of(
    config: RunConfig,
    workers: int,
    *,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
    episodes: int = MOST_EPISODES,
) -> int:
    """Simulations in flight in each worker. One that films has a shard in hand at a time, and no use for more slots.
    On a device an empty slot costs as much as a full one: no more than there are `episodes` to simulate."""
    most = SLOTS_PER_WORKER if engine.backend == "cpu" else min(WORLDS, -(-episodes // workers))
    if config.cameras:
        most = min(most, config.dataset.shard_episodes)
    return max(1, min(most, -(-config.rollout.parallel_envs // workers)))


@contextmanager
def _room_told(out: Path, header: Header) -> Iterator[None]:
    """Where the disk is full, say what the rest will take, not only what did not fit just now."""
    try:
        yield
    except FullDiskError as error:
        entries = Dataset.open(out).entries if (out / HEADER).exists() else ()
        done = sum(entry.stop - entry.first for entry in entries)
        there = sum(entry.size_bytes for entry in entries)
        each = there / done if done else _bytes_per_episode(header)
        # Every shard, and the same again as the export.
        more = 2 * each * header.episodes - there
        told = f"{header.episodes - done:,} of {header.episodes:,} episodes are missing"
        raise FullDiskError(f"{error}; {told}, in all about {more / 1e6:,.1f} MB more are needed") from None


def _bytes_per_episode(header: Header) -> float:
    """Before there is any to measure: 20 s of its numbers, and a bit a pixel."""
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
    twin = twin_of(config)
    refuse_unsupported(engine, twin, config.randomization)
    features = features_of(twin, config.observe) + picture_features(config.cameras, twin)
    return Header(
        name=name,
        source="sim",
        robot=config.scene.robot.name,
        fps=twin.control_hz,
        features=features,
        phases=tuple(phase.name for phase in config.scene.task.phases),
        config_digest=config.digest,
        run_seed=config.rollout.seed,
        shard_episodes=config.dataset.shard_episodes,
        episodes=episodes,
        keep_rejected=keep_rejected,
        versions=versions(features, films=bool(config.cameras), engine=engine) | plugin_versions_of(config),
    )


class _Clock:
    """Counts and times a session. Its log is for the report; nothing in it enters the dataset's digest."""

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
        self._began = time.perf_counter()
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
            seconds=time.perf_counter() - self._began,
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
