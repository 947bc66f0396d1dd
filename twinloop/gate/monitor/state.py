"""State of a monitor on disk: which logs it has read, so that it can continue and notice logs that were changed."""

from collections.abc import Sequence
from pathlib import Path

from twinloop.durable import replace_file, storage_errors
from twinloop.errors import RegistryError
from twinloop.gate.monitor.watch import Watched
from twinloop.gate.registry import SCRATCH, Live, json_text
from twinloop.gate.runlog_evidence import RunlogEvidence, require_shown
from twinloop.gate.store import read_json

MONITOR = "monitor"
LARGEST_BYTES = 1 << 26


def state_path(registry: Path, live: Live) -> Path:
    return registry / MONITOR / f"{live.record[:16]}.json"


def check_state(registry: Path, live: Live, logs: Sequence[RunlogEvidence]) -> None:
    """Check that every log read while this policy was live is given again and is unchanged.

    Raises:
        RegistryError: a log is not given, or the state file is damaged.
        CorruptError: the episodes of a log that were read before have changed.
    """
    path = state_path(registry, live)
    if not path.exists():
        return
    values = read_json(path, LARGEST_BYTES)
    here = {str(log.path) for log in logs}
    try:
        for seen in values["logs"]:
            if seen["path"] not in here:
                raise RegistryError(f"{seen['path']}: was watched before; show it again with --runlog, beside new ones")
            require_shown(Path(seen["path"]), attempts=int(seen["attempts"]), digest=str(seen["digest"]))
    except (KeyError, TypeError, ValueError) as error:
        raise RegistryError(f"{path}: is not what a monitor wrote ({error!s:.100})") from None


def write_state(registry: Path, live: Live, logs: Sequence[RunlogEvidence], watched: Sequence[Watched]) -> Path:
    path = state_path(registry, live)
    content = {
        "checkpoint": live.checkpoint,
        "record": live.record,
        "logs": [{"path": str(log.path), "attempts": log.attempts, "digest": log.digest} for log in logs],
        "watched": [each.to_json() for each in watched],
    }
    with storage_errors(path):
        path.parent.mkdir(exist_ok=True)
        replace_file(path, json_text(content).encode(), scratch=registry / SCRATCH)
    return path
