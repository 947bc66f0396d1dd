"""The work of one worker of `generate`: episode ranges in, written shards out.

A pure function of (config, run seed, range). Nothing else decides the content of a shard, so it may run anywhere, more
than once, or again after a crash.
"""

import json
import secrets
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from twinloop.curate.failure import last_phases
from twinloop.curate.judge import judge
from twinloop.dataset import ShardDraft, write_shard
from twinloop.dataset.curator_verdicts import curator_of, judge_with_curator, version_of_curator
from twinloop.dataset.remote.publish import Store, publish
from twinloop.dataset.versions import versions
from twinloop.fleet.capacity import grouped
from twinloop.fleet.executor import overlapping
from twinloop.fleet.same_versions import refuse_other_versions
from twinloop.observe.features import observe
from twinloop.observe.pictures import calibration_columns, picture_features, pictures_of, renderer_of
from twinloop.randomize.draw import EpisodeRange
from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.plugin_versions import plugin_versions_of
from twinloop.run.several_tasks import numbered_in_run, task_by_task
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.engine import EngineConfig, make_engine
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.twin import Twin

if TYPE_CHECKING:
    from twinloop.curate.discriminator.curator import Curator
    from twinloop.observe.renderer import Renderer


@dataclass(frozen=True)
class GenerateJob:
    """Everything a worker needs, as plain values that can be sent to other processes."""

    config_yaml: str
    folder: str
    keep_rejected: bool
    scratch: str
    width: int
    widths: tuple[tuple[str, int], ...] = ()
    """Task -> its `width`, for a run with several tasks."""

    subtasks: tuple[str, ...] = ()
    """The sub-tasks of the dataset in words, for a run with several tasks."""

    engine: EngineConfig = EngineConfig()  # noqa: RUF009
    versions: tuple[tuple[str, str], ...] = ()
    """Package versions of the dataset. A worker with other versions refuses to run."""

    store: Store | None = None
    """None: shards stay in `scratch` and the driver commits them."""

    workers: int = 1
    stop: int = 0
    """Attempt after the last one of the run. Workers with cameras take fewer ranges at a time when it is near."""

    curator: bytes | None = None
    """Content of a curator's file, which judges the episodes that the checks accept."""


@overlapping
def produce(job: GenerateJob, ranges: Iterator[EpisodeRange | None]) -> Iterator[tuple[EpisodeRange, ShardDraft]]:
    """Simulate, judge and write every range. Slots are refilled across ranges, so ranges may finish out of order."""
    config = config_from_text(job.config_yaml, name="config.yaml", folder=Path(job.folder))
    if len(config.by_task) == 1:
        yield from Producer(config, config, job).produce(ranges)
        return
    widths = dict(job.widths)
    for task, of_task in task_by_task(config, ranges):
        own = replace(job, width=widths.get(task, job.width))
        yield from Producer(config, config.by_task[task], own).produce(of_task)


class Producer:
    """A cell with its expert, for the episodes of one task.

    Args:
        run: the config of the run, whose digest every episode has.
        config: the config of the task; the same as `run` unless the run has several tasks.
    """

    def __init__(self, run: RunConfig, config: RunConfig, job: GenerateJob):
        self._run, self._config, self._job = run, config, job
        self._twin, self._seed = twin_of(config), config.rollout.seed
        self._sampler = config.sampler()
        self._expert = Expert(self._twin, config.expert, width=job.width, seed=self._seed)
        # Created before the first episode, so that a machine without OpenGL fails at once.
        self._renderer = renderer_of(self._twin, config.cameras) if config.cameras else None
        installed = versions(
            picture_features(config.cameras, self._twin), films=bool(config.cameras), engine=job.engine
        )
        installed |= plugin_versions_of(run) | version_of_curator(job.curator)
        refuse_other_versions(job.versions, installed, otherwise="their shards would not form one dataset")
        engine = make_engine(job.engine, self._twin.model, width=job.width)
        self._cell = Cell(self._twin, width=job.width, engine=engine)
        self._curator = curator_of(job.curator)

    def produce(self, ranges: Iterator[EpisodeRange | None]) -> Iterator[tuple[EpisodeRange, ShardDraft]]:
        for group in grouped(ranges, self._job.workers, self._job.stop) if self._renderer else (ranges,):
            blocks = (attempts and self._sampler.draw(*attempts) for attempts in group)
            dense = self._config.observe.reward == "dense"
            for episodes in rollout(
                self._cell, blocks, self._expert, seed=self._seed, dense_reward=dense, check_reach=True
            ):
                draft = _write(episodes, self._run, self._config, self._twin, self._job, self._renderer, self._curator)
                yield (draft.first, draft.stop), draft


def _write(
    episodes: Episodes,
    run: RunConfig,
    config: RunConfig,
    twin: Twin,
    job: GenerateJob,
    renderer: "Renderer | None",
    curator: "Curator | None",
) -> ShardDraft:
    recording = observe(episodes, twin, config.observe, seed=config.rollout.seed)
    if renderer is not None:
        recording = replace(
            recording,
            features=recording.features + picture_features(config.cameras, twin),
            pictures=pictures_of(episodes, renderer, seed=config.rollout.seed),
        )
    frames = numbered_in_run(recording.frames, run, twin.task.name, twin.subtasks, job.subtasks)
    recording = replace(recording, frames=frames)
    verdicts = judge(episodes, twin, config.curate)
    verdicts, curated = judge_with_curator(verdicts, curator, recording, episodes.success, twin)
    stored = verdicts.storable if job.keep_rejected else verdicts.storable & verdicts.accepted
    attempts = episodes.draws.attempts
    count = len(attempts)
    made_with = versions(recording.features, films=renderer is not None, engine=job.engine)
    made_with |= plugin_versions_of(run) | version_of_curator(job.curator)
    columns = {
        "attempt": attempts,
        "task": recording.tasks,
        "length": np.where(stored, episodes.lengths, 0),
        "verdict": verdicts.reasons,
        "success": episodes.success,
        "seed": np.full(count, config.rollout.seed),
        "config_digest": [run.digest] * count,
        **({} if run.patch is None else {"patch": [run.patch] * count}),
        "task_name": [twin.task.name] * count,
        "slots": [json.dumps(words, sort_keys=True) for _, words in twin.spoken(episodes.draws.values)],
        "duration_s": episodes.lengths * twin.control_period_s,
        "retries": episodes.retries,
        "last_phase": last_phases(episodes, twin),
        "failure": verdicts.failures,
        **curated,
        **{f"version/{name}": [version] * count for name, version in made_with.items()},
        **calibration_columns(config.cameras, episodes.draws),
        **{f"draw/{column}": episodes.draws.values[column] for column in episodes.draws.varied},
        **{f"check/{name}": np.asarray(values, float) for name, values in verdicts.measures.items()},
    }
    first, stop = int(attempts[0]), int(attempts[-1]) + 1
    # A unique name: a worker that was given up may still be writing the same range.
    folder = Path(job.scratch) / f"{first:09d}-{stop:09d}.{secrets.token_hex(4)}"
    draft = write_shard(folder, first, stop, recording, columns, fps=twin.control_hz, keep=stored)
    if job.store is not None:
        publish(job.store.remote, job.store.identity, draft)
    return draft
