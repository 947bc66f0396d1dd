"""What can go wrong, as one tree.

    TwinloopError                 exit code 1: the work failed
    ├── UsageError                exit code 2: the request cannot be carried out as written
    │   ├── ConfigError           a key of a config file: where, what was given, what is valid
    │   └── ModelError            a robot or scene model that is refused or does not compile
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
    exit_code = 1


class UsageError(TwinloopError):
    exit_code = 2


class ConfigError(UsageError):
    """A key of a config file is wrong; `where` reads like `cell.yaml:7: randomization.physics.x`."""

    def __init__(self, where: str, problem: str):
        super().__init__(f"{where}: {problem}")
        self.where = where
        self.problem = problem


class ModelError(UsageError):
    pass


class DatasetError(TwinloopError):
    pass


class CorruptError(DatasetError):
    pass


class LockedError(DatasetError):
    pass


class ConsentError(DatasetError):
    pass


class CheckpointError(TwinloopError):
    pass


class RegistryError(TwinloopError):
    pass


class TrainingError(TwinloopError):
    pass


class RenderError(TwinloopError):
    pass


class PolicyError(TwinloopError):
    pass


class RobotError(TwinloopError):
    pass


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
