"""Refusals of configs with several tasks."""

from twinloop.errors import ConfigError
from twinloop.run.config import RunConfig


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
