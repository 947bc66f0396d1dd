"""Generate: config -> curated dataset. The main job."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from twinloop.dataset import DatasetWriter, Header
from twinloop.dataset.curator_verdicts import with_curator
from twinloop.dataset.disk_space import disk_space_needed
from twinloop.dataset.progress import GenerateClock, GenerateProgress
from twinloop.dataset.reader import shard_episodes_of
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.publish import Store
from twinloop.dataset.remote.writer import RemoteWriter
from twinloop.dataset.versions import versions
from twinloop.errors import UsageError
from twinloop.fleet.capacity import default_workers, refuse_together, widths_of
from twinloop.fleet.executor import LOCAL, Executor
from twinloop.observe.features import features_of
from twinloop.observe.pictures import picture_features
from twinloop.pipeline.produce import GenerateJob, produce
from twinloop.run.config import MOST_EPISODES, RunConfig
from twinloop.run.plugin_versions import plugin_versions_of
from twinloop.run.several_tasks import in_task_order, phases_of, refuse_labels_of_several_tasks, subtasks_of
from twinloop.run.shard_size import with_enough_shards
from twinloop.run.twin import twin_of
from twinloop.simulate.engine import EngineConfig, refuse_unsupported


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
    curator: Path | None = None,
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
        curator: file of a curator that judges the episodes which the checks accept. It is part of the digest.
        engine: must be the engine that the dataset was begun with.
        on_committed: called with the number of workers when all shards are committed, before the export.
    """
    total = config.rollout.episodes if episodes is None else episodes
    if not 1 <= total <= MOST_EPISODES:
        raise UsageError(f"episodes: {total} was given; a number from 1 to {MOST_EPISODES:,} was expected")
    refuse_together(engine, executor)
    config = with_enough_shards(config, total, begun_with=shard_episodes_of(out) if isinstance(out, Path) else None)
    header = header_of(config, out.name, total, keep_rejected, engine=engine)
    header, judged_by = (header, None) if curator is None else with_curator(header, curator)
    with _writer(out, header, config.to_yaml()) as writer:
        missing = in_task_order(config, writer.missing())
        workers = max(1, min(workers or default_workers(engine, executor), len(missing))) if missing else 1
        clock = GenerateClock(writer.entries, total)
        on_progress(clock.progress())
        widths = widths_of(config, missing, workers, engine=engine)
        job = GenerateJob(
            config_yaml=config.to_yaml(),
            folder=str(Path.cwd()),
            keep_rejected=keep_rejected,
            scratch=str(writer.scratch("")),
            width=max(widths.values(), default=1),
            widths=tuple(widths.items()),
            subtasks=writer.header.subtasks,
            engine=engine,
            versions=tuple(sorted(writer.header.versions.items())),
            store=Store(writer.path, writer.identity) if isinstance(writer, RemoteWriter) else None,
            workers=workers,
            stop=max((stop for _, stop in missing), default=0),
            curator=judged_by,
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
    with disk_space_needed(out, header), DatasetWriter.open(out, header, config_text, verify=True) as writer:
        yield writer


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
