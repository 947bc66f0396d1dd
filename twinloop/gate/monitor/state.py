"""State of a monitor on disk: which logs it has read, so that it can continue and notice logs that were changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from twinloop.config.json_file import load_json, record_from_json
from twinloop.config.record import write_record
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import RegistryError
from twinloop.gate.monitor.watch import Watched
from twinloop.gate.registry import SCRATCH, Live, json_text
from twinloop.gate.runlog_evidence import RunlogEvidence, require_shown

MONITOR = "monitor"
LARGEST_BYTES = 1 << 26


@dataclass(frozen=True)
class MonitoredLog:
    """A runlog that was read.

    Attributes:
        attempts: number of episodes that were read.
        digest: of these episodes.
    """

    path: str
    attempts: int
    digest: str


@dataclass(frozen=True)
class MonitorState:
    """The state file of a monitor.

    Attributes:
        checkpoint: digest of the live checkpoint.
        record: digest of the ledger record that made it live.
        watched: the signals with their last values, for people who read the file.
    """

    checkpoint: str
    record: str
    logs: tuple[MonitoredLog, ...]
    watched: tuple[Mapping[str, Any], ...]


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
    content = load_json(path, max_bytes=LARGEST_BYTES, what="the state of a monitor", error=RegistryError)
    state = record_from_json(MonitorState, content, where=str(path), error=RegistryError)
    paths = {str(log.path) for log in logs}
    for log in state.logs:
        if log.path not in paths:
            raise RegistryError(
                f"{log.path}: was monitored before; give it again with --runlog, together with new ones"
            )
        require_shown(Path(log.path), attempts=log.attempts, digest=log.digest)


def write_state(registry: Path, live: Live, logs: Sequence[RunlogEvidence], watched: Sequence[Watched]) -> Path:
    path = state_path(registry, live)
    state = MonitorState(
        checkpoint=live.checkpoint,
        record=live.record,
        logs=tuple(MonitoredLog(str(log.path), log.attempts, log.digest) for log in logs),
        watched=tuple(signal.to_json() for signal in watched),
    )
    with storage_errors(path):
        path.parent.mkdir(exist_ok=True)
        replace_file(path, json_text(write_record(state)).encode(), scratch=registry / SCRATCH)
    return path
