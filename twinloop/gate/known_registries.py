"""The registries that this computer has used for hardware: where each was, and its last record.

A copy of a registry is a valid registry, but it misses every later rollback. So a computer that drives hardware
remembers for each registry its folder, its last record and its first key, and refuses a registry that is elsewhere,
older, or unsigned where it was signed. The memory is one small file per registry in the user's state folder.
"""

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from twinloop.durable import replace_file, storage_errors
from twinloop.errors import RegistryError
from twinloop.gate.registry import Registry
from twinloop.gate.signing import trusted_keys
from twinloop.gate.store import read_json

STATE = "XDG_STATE_HOME"
MOST_BYTES = 1 << 16


@dataclass(frozen=True)
class KnownRegistry:
    """The last known state of a registry. keys: ids of the keys that it trusted."""

    id: str
    path: str
    sequence: int
    head: str
    keys: tuple[str, ...]


def refuse_copy(registry: Registry) -> None:
    """Compare a registry with its last known state, then store the present state.

    Raises:
        RegistryError: it is a copy, or it lacks records that were seen before.
    """
    folder = _folder()
    file = folder / f"{registry.id[:32]}.json"
    known = _read(file)
    place = str(registry.path.resolve())
    records = registry.ledger.records
    keys = tuple(sorted(trusted_keys(records)))
    if known is not None:
        forget = f"If it was moved or restored on purpose, delete {file} and run the command again"
        if known.path != place and (Path(known.path) / "ledger.jsonl").is_file():
            raise RegistryError(
                f"{place}: is a copy of the registry in {known.path}, which may have changed since; use that one. "
                f"{forget}"
            )
        if len(records) < known.sequence or records[known.sequence - 1].digest != known.head:
            raise RegistryError(
                f"{place}: lacks record {known.sequence} ({known.head[:12]}), which this computer has seen; it is an "
                f"older copy or was rewritten. Nothing may act on hardware with it. {forget}"
            )
    elif other := _seen_at(folder, place):
        raise RegistryError(
            f"{place}: is another registry than the one that was there before ({other}); its ledger starts with "
            f"another record. If you replaced it on purpose, delete {folder / (other + '.json')}, then try again"
        )
    now = KnownRegistry(registry.id, place, len(records), registry.ledger.head, keys)
    if now != known:
        with storage_errors(file):
            folder.mkdir(parents=True, exist_ok=True)
            replace_file(file, (json.dumps(asdict(now)) + "\n").encode(), scratch=folder)


def _folder() -> Path:
    base = os.environ.get(STATE) or str(Path.home() / ".local" / "state")
    return Path(base) / "twinloop" / "registries"


def _read(file: Path) -> KnownRegistry | None:
    if not file.is_file():
        return None
    values = read_json(file, MOST_BYTES)
    try:
        return KnownRegistry(
            str(values["id"]), str(values["path"]), int(values["sequence"]), str(values["head"]),
            tuple(map(str, values["keys"])),
        )  # fmt: skip
    except (KeyError, TypeError, ValueError):
        raise RegistryError(
            f"{file}: is damaged; delete it after you checked the registry with `twinloop audit`"
        ) from None


def _seen_at(folder: Path, place: str) -> str:
    """The id of another registry that was seen in this folder, or ""."""
    for file in sorted(folder.glob("*.json")) if folder.is_dir() else ():
        known = _read(file)
        if known is not None and known.path == place:
            return file.stem
    return ""
