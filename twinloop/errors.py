"""The exceptions of the package, as one tree.

    TwinloopError                 exit code 1: the work failed
    ├── UsageError                exit code 2: the request cannot be carried out as written
    │   ├── ConfigError           a key of a config file: where, what was given, what is valid
    │   ├── ModelError            a robot or scene model that is refused or does not compile
    │   └── PluginError           an entry point of another package that is refused or cannot be imported
    ├── DatasetError              a folder that is not a valid dataset
    │   ├── CorruptError          a file that changed since it was committed
    │   ├── LockedError           another process is writing here
    │   └── ConsentError          data of a person without consent, or beyond what the consent allows
    ├── CheckpointError           a folder that is not a valid checkpoint, or not for this robot
    ├── RegistryError             a registry or ledger that was changed, or a policy that it does not have
    ├── TrainingError             training failed; the batch that caused it is kept
    ├── TermError                 a term of an environment gave a value that is not finite
    ├── RenderError               no OpenGL to render images with
    ├── PolicyError               a policy process that hangs, died, or sends an invalid answer
    ├── RobotError                a robot that cannot be reached, disconnected, or sends impossible values
    │   └── EStopError            the e-stop is latched; a person must reset it
    ├── StorageError              no permission, a read-only disk, a disk that fails
    │   └── FullDiskError         no space left
    └── WorkerError               a worker process died and its work could not be repeated

A message says what was given, where, what is valid, and what to do.
The command line prints it without a traceback and exits with the class's code.
"""

from collections.abc import Iterable
from difflib import get_close_matches


class TwinloopError(Exception):
    """The base of every error that Twinloop raises on purpose. `exit_code` is that of the command line.

    Example:
        >>> try:
        ...     tl.load_config("missing.yaml")
        ... except tl.TwinloopError as error:
        ...     print(error)
        missing.yaml: ...
    """

    exit_code = 1


class UsageError(TwinloopError):
    """The request cannot be carried out as written.

    Example:
        >>> tl.generate("cell.yaml", "datasets/none", episodes=0)
        Traceback (most recent call last):
        twinloop.errors.UsageError: episodes: 0 was given; a number from 1 to 1,073,741,824 was expected
    """

    exit_code = 2


class ConfigError(UsageError):
    """A key of a config file is wrong; `where` reads like `cell.yaml:7: randomization.physics.x`.

    Example:
        >>> from pathlib import Path
        >>> _ = Path("typo.yaml").write_text("scene: {robto: franka_panda}")
        >>> tl.load_config("typo.yaml")
        Traceback (most recent call last):
        twinloop.errors.ConfigError: typo.yaml:1: scene.robto: ...
    """

    def __init__(self, where: str, problem: str):
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class ModelError(UsageError):
    pass


class PluginError(UsageError):
    """An entry point of another package is refused: wrong type, a name that is taken, or an import that fails.

    Example:
        >>> issubclass(tl.PluginError, tl.UsageError)
        True
    """


class DatasetError(TwinloopError):
    """A folder is not the dataset that it should be.

    Example:
        >>> tl.Dataset.open("datasets")
        Traceback (most recent call last):
        twinloop.errors.DatasetError: datasets: ...
    """


class CorruptError(DatasetError):
    pass


class LockedError(DatasetError):
    pass


class ConsentError(DatasetError):
    pass


class CheckpointError(TwinloopError):
    """A folder is not the policy that it should be, or the policy is not for this robot.

    Example:
        >>> tl.Checkpoint.load("datasets/demo")
        Traceback (most recent call last):
        twinloop.errors.CheckpointError: ...
    """


class RegistryError(TwinloopError):
    """A registry or its ledger was changed or damaged, or does not have what was asked for.

    Example:
        >>> tl.rollback("registry", to="ffffffff")
        Traceback (most recent call last):
        twinloop.errors.RegistryError: ...
    """


class TrainingError(TwinloopError):
    pass


class TermError(TwinloopError):
    pass


class RenderError(TwinloopError):
    pass


class PolicyError(TwinloopError):
    pass


class RobotError(TwinloopError):
    """A robot cannot be reached, went away, or reports impossible values.

    Example:
        >>> from twinloop.deploy.robots import robot_named
        >>> robot_named("twin").observe()
        Traceback (most recent call last):
        twinloop.errors.RobotError: twin: not connected
    """


class EStopError(RobotError):
    pass


class StorageError(TwinloopError):
    pass


class FullDiskError(StorageError):
    pass


class WorkerError(TwinloopError):
    pass


def nearest(name: str, valid: Iterable[str], *, most: int = 3) -> str:
    """Return `did you mean a or b? Valid here: a, b, c, ...` for an unknown name."""
    names = sorted(valid)
    close = get_close_matches(name, names, n=most, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{hint}Valid here: {', '.join(names)}"
