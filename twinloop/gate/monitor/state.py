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
    paths = {str(log.path) for log in logs}
    try:
        for entry in values["logs"]:
            if entry["path"] not in paths:
                raise RegistryError(
                    f"{entry['path']}: was monitored before; give it again with --runlog, together with new ones"
                )
            require_shown(Path(entry["path"]), attempts=int(entry["attempts"]), digest=str(entry["digest"]))
    except (KeyError, TypeError, ValueError) as error:
        raise RegistryError(f"{path}: is not a valid monitor state ({error!s:.100})") from None


def write_state(registry: Path, live: Live, logs: Sequence[RunlogEvidence], watched: Sequence[Watched]) -> Path:
    path = state_path(registry, live)
    content = {
        "checkpoint": live.checkpoint,
        "record": live.record,
        "logs": [{"path": str(log.path), "attempts": log.attempts, "digest": log.digest} for log in logs],
        "watched": [signal.to_json() for signal in watched],
    }
    with storage_errors(path):
        path.parent.mkdir(exist_ok=True)
        replace_file(path, json_text(content).encode(), scratch=registry / SCRATCH)
    return path
