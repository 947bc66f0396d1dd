"""Configs with several tasks: in which order they are simulated, how their phases are numbered, what is refused."""

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from twinloop.errors import ConfigError
from twinloop.randomize.draw import EpisodeRange
from twinloop.run.config import RunConfig
from twinloop.run.twin import twin_of


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


def phases_of(run: RunConfig) -> tuple[str, ...]:
    """Names of the phases of all tasks of a run, in the numbering of its dataset."""
    tasks = [config.scene.world for config in run.by_task.values()]
    if len(tasks) == 1:
        return tasks[0].phase_names
    return tuple(f"{task.name}: {name}" for task in tasks for name in task.phase_names)


def subtasks_of(run: RunConfig) -> tuple[str, ...]:
    """The sub-tasks of all tasks of a run in words, in the numbering of its dataset."""
    return tuple(dict.fromkeys(text for config in run.by_task.values() for text in twin_of(config).subtasks))


def numbered_in_run(
    frames: Mapping[str, np.ndarray], run: RunConfig, task: str, own: Sequence[str], every: Sequence[str]
) -> dict[str, np.ndarray]:
    """Frames of a task with phases and sub-tasks numbered as in the run's dataset: those of earlier tasks come first.

    Args:
        own, every: sub-tasks of the task and of the run (`subtasks_of`), in words.
    """
    if len(run.by_task) == 1:
        return dict(frames)
    before = list(run.by_task.values())[: list(run.by_task).index(task)]
    offset = sum(len(other.scene.world.phases) for other in before)
    numbers = np.array([every.index(text) for text in own])
    return {**frames, "phase": frames["phase"] + offset, "subtask_index": numbers[frames["subtask_index"]]}


def task_of(run: RunConfig, episodes: EpisodeRange) -> str:
    """The task of the episodes of a shard."""
    return run.task_of_shard(episodes[0] // run.dataset.shard_episodes)


def in_task_order(run: RunConfig, ranges: Sequence[EpisodeRange]) -> list[EpisodeRange]:
    """Shards task by task, so that a worker compiles few scenes and simulates many episodes of one at once.

    Tasks with the longest episodes come first: at the end of a run, workers wait for the last one.
    """
    if len(run.by_task) == 1:
        return list(ranges)
    longest_first = sorted(run.by_task, key=lambda name: -run.by_task[name].scene.world.longest_s)
    place = {name: number for number, name in enumerate(longest_first)}
    return sorted(ranges, key=lambda episodes: (place[task_of(run, episodes)], episodes))


def task_by_task(
    run: RunConfig, ranges: Iterator[EpisodeRange | None]
) -> Iterator[tuple[str, Iterator[EpisodeRange | None]]]:
    """Yield each task with its shards, as long as shards of the same task follow each other.

    The shards of a task are pulled when they are needed. They must be used up before the next task is asked for. None
    stands for a shard that comes later.
    """
    following = next(ranges, None)

    def of_task(task: str, first: EpisodeRange) -> Iterator[EpisodeRange | None]:
        nonlocal following
        following = None
        yield first
        for shard in ranges:
            if shard is not None and task_of(run, shard) != task:
                following = shard
                return
            yield shard

    while following is not None:
        task = task_of(run, following)
        yield task, of_task(task, following)
