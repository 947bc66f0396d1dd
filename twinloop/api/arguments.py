"""Arguments of the public functions: a record, or the path of the file or folder it is in."""

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Protocol, cast

from twinloop.fleet.executor import Executor, executor_of
from twinloop.run.config import RunConfig, load_config
from twinloop.run.default import NAME, embedded_config

PathOrStr = str | PathLike[str]


class Stored(Protocol):
    """A record that lies in a folder: a dataset, a checkpoint, or the result of `deploy`."""

    @property
    def path(self) -> Path: ...


ConfigLike = RunConfig | PathOrStr
DatasetLike = Stored | PathOrStr
CheckpointLike = Stored | PathOrStr
RunlogLike = Stored | PathOrStr


def named_config(config: ConfigLike | None) -> tuple[RunConfig, str]:
    """The config and a short name for it. None is the embedded pick-and-place cell."""
    if config is None:
        return embedded_config(), NAME
    if isinstance(config, RunConfig):
        return config, f"{config.scene.robot.name}-{config.scene.task.name}"
    return load_config(config), Path(config).stem


def folder(record: Stored | PathOrStr) -> Path:
    """The folder of a dataset, checkpoint or runlog, or a path as it is."""
    return Path(record) if isinstance(record, (str, PathLike)) else record.path


def folders(records: Stored | PathOrStr | Iterable[Stored | PathOrStr]) -> tuple[Path, ...]:
    """The folders of one record or of several."""
    if isinstance(records, (str, PathLike)) or hasattr(records, "path"):
        return (folder(cast(Stored | PathOrStr, records)),)
    return tuple(folder(record) for record in cast(Iterable[Stored | PathOrStr], records))


def executor_named(executor: str | Executor) -> Executor:
    return executor_of(executor) if isinstance(executor, str) else executor
