"""Configs with several tasks: how their phases and sub-tasks are numbered, and what is refused."""

from twinloop.errors import ConfigError
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
