"""What can go wrong, as one tree.

    TwinloopError                 exit code 1: the work failed
    ├── UsageError                exit code 2: the request cannot be carried out as written
    │   ├── ConfigError           a key of a config file: where, what was given, what is valid
    │   ├── ModelError            a robot or scene model that is refused or does not compile
    │   └── PluginError           an entry point of another package that is refused or cannot be imported
    ├── DatasetError              a folder that is not the dataset it should be
    │   ├── CorruptError          a file whose content is not what was committed
    │   ├── LockedError           another process is writing here
    │   └── ConsentError          data of a person whom nobody asked, or for something they did not agree to
    ├── CheckpointError           a folder that is not the policy it should be, or not for this robot
    ├── RegistryError             a registry or its ledger that is not what was written, or names what it has not
    ├── TrainingError             learning broke off: what it choked on is kept
    ├── RenderError               no OpenGL to draw pictures with
    ├── PolicyError               a policy's process that hangs, died, or answers what was not asked
    ├── RobotError                a robot that cannot be reached, went away, or tells what cannot be
    │   └── EStopError            its e-stop is latched, and a human has to reset it
    ├── StorageError              no permission, a read-only disk, a disk that fails
    │   └── FullDiskError         no room
    └── WorkerError               a worker process died and its work could not be repeated

The message is the product: it says what was given, where, what would be valid, and what to do.
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
    """`did you mean a or b? Valid here: a, b, c, ...` for a name nobody knows."""
    names = sorted(valid)
    close = get_close_matches(name, names, n=most, cutoff=0.5)
    hint = f"did you mean {' or '.join(close)}? " if close else ""
    return f"{hint}Valid here: {', '.join(names)}"
