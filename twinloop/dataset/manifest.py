"""The manifest: one line a committed shard. A shard exists if and only if its line does.

A line counts once its newline is there. What follows the last newline was cut off by a kill: readers
ignore it and the next writer removes it.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from twinloop.durable import FileDigest, append_line, replace_file
from twinloop.errors import CorruptError

_COUNTS = ("first", "stop", "accepted", "stored", "frames")


@dataclass(frozen=True)
class ShardEntry:
    """A committed shard: attempts [first, stop), of which `accepted` passed and `stored` have rows."""

    first: int
    stop: int
    accepted: int
    stored: int
    frames: int
    files: Mapping[str, FileDigest]

    @property
    def name(self) -> str:
        return shard_name(self.first, self.stop)

    @property
    def size_bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())

    def to_line(self) -> bytes:
        value = {key: getattr(self, key) for key in _COUNTS}
        value["files"] = {name: file.to_json() for name, file in sorted(self.files.items())}
        return json.dumps(value, separators=(",", ":")).encode() + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "ShardEntry":
        value = json.loads(line)
        counts = {key: value[key] for key in _COUNTS}
        if not all(isinstance(count, int) and count >= 0 for count in counts.values()):
            raise ValueError(f"{', '.join(_COUNTS)} must be counts")
        files = {str(name): FileDigest.from_json(file) for name, file in value["files"].items()}
        if not all(name == os.path.basename(name) and not name.startswith(".") for name in files):
            raise ValueError(f"file names must be plain names, not {', '.join(files)}")
        return cls(**counts, files=files)


@dataclass(frozen=True)
class Manifest:
    """entries: in order of `first`. torn: is there something after the last whole line?"""

    entries: tuple[ShardEntry, ...]
    torn: bool


def shard_name(first: int, stop: int) -> str:
    return f"{first:09d}-{stop:09d}"


def read_manifest(path: Path) -> Manifest:
    try:
        data = path.read_bytes()
    except FileNotFoundError:  # nothing was committed yet
        return Manifest((), torn=False)
    complete_bytes = data.rfind(b"\n") + 1
    entries = []
    for number, line in enumerate(data[:complete_bytes].splitlines(), start=1):
        try:
            entries.append(ShardEntry.from_line(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise CorruptError(f"{path}:{number}: is not a shard entry ({error}): {line[:80]!r}") from None
    return Manifest(ordered_entries(entries, where=str(path)), torn=complete_bytes < len(data))


def ordered_entries(entries: Iterable[ShardEntry], *, where: str) -> tuple[ShardEntry, ...]:
    """In order of `first`; CorruptError where two hold the same attempt."""
    ordered = sorted(entries, key=lambda entry: entry.first)
    for before, after in pairwise(ordered):
        if after.first < before.stop:
            raise CorruptError(f"{where}: shards {before.name} and {after.name} overlap")
    return tuple(ordered)


def append_entry(path: Path, entry: ShardEntry) -> None:
    append_line(path, entry.to_line())


def rewrite_manifest(path: Path, entries: Iterable[ShardEntry], *, scratch: Path) -> None:
    replace_file(path, b"".join(entry.to_line() for entry in entries), scratch=scratch)
