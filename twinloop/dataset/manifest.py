"""The manifest: one line per committed shard. A shard exists if and only if its line does.

A line is valid once it ends with a newline. Bytes after the last newline were left by a kill. Readers ignore them,
and the next writer removes them.
"""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from twinloop.durable import FileDigest, append_line, read_bounded, replace_file
from twinloop.errors import CorruptError

from .seal import sealed, unsealed

_COUNTS = ("first", "stop", "accepted", "stored", "frames")
MOST_BYTES = 4 << 30  # a line has a few hundred bytes


@dataclass(frozen=True)
class ShardEntry:
    """The manifest line of a committed shard.

    Attributes:
        first, stop: the shard holds the attempts [first, stop).
        accepted: attempts that passed all checks.
        stored: attempts with rows in frames.parquet.
        frames: rows of frames.parquet.
        files: file name -> digest.
    """

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
        return sealed(value) + b"\n"

    @classmethod
    def from_line(cls, line: bytes) -> "ShardEntry":
        value = unsealed(line)
        unknown = sorted(value.keys() - {*_COUNTS, "files"})
        if unknown:
            raise ValueError(f"unknown keys {', '.join(unknown)}")
        counts = {key: value[key] for key in _COUNTS}
        if not all(isinstance(count, int) and count >= 0 for count in counts.values()):
            raise ValueError(f"{', '.join(_COUNTS)} must be counts")
        files = {str(name): FileDigest.from_json(file) for name, file in value["files"].items()}
        if not all(name == os.path.basename(name) and not name.startswith(".") for name in files):
            raise ValueError(f"file names must be plain names, not {', '.join(files)}")
        return cls(**counts, files=files)


@dataclass(frozen=True)
class Manifest:
    """The content of `manifest.jsonl`.

    Attributes:
        entries: the committed shards, in order of `first`.
        torn: whether there are bytes after the last complete line.
        damaged: one message, with line number, per complete line that is not a valid entry.
    """

    entries: tuple[ShardEntry, ...]
    torn: bool
    damaged: tuple[str, ...] = ()


def shard_name(first: int, stop: int) -> str:
    return f"{first:09d}-{stop:09d}"


def read_manifest(path: Path, *, damaged: bool = False) -> Manifest:
    """Read the manifest at `path`. A missing file is an empty manifest.

    Args:
        damaged: collect damaged lines in `Manifest.damaged` instead of raising CorruptError at the first one.
    """
    if not path.exists():  # nothing was committed yet
        return Manifest((), torn=False)
    data = read_bounded(path, MOST_BYTES)
    complete_bytes = data.rfind(b"\n") + 1
    entries, damaged_lines = [], []
    for number, line in enumerate(data[:complete_bytes].split(b"\n")[:-1], start=1):
        try:
            entries.append(ShardEntry.from_line(line))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            problem = f"is not a shard entry ({error!s:.200}): {line[:80]!r}"
            if not damaged:
                raise CorruptError(f"{path}:{number}: {problem}") from None
            damaged_lines.append(f"line {number} {problem}")
    ordered = ordered_entries(entries, where=str(path))
    return Manifest(ordered, torn=complete_bytes < len(data), damaged=tuple(damaged_lines))


def ordered_entries(entries: Iterable[ShardEntry], *, where: str) -> tuple[ShardEntry, ...]:
    """Return the entries in order of `first`. Raises CorruptError if two shards overlap."""
    ordered = sorted(entries, key=lambda entry: entry.first)
    for before, after in pairwise(ordered):
        if after.first < before.stop:
            raise CorruptError(f"{where}: shards {before.name} and {after.name} overlap")
    return tuple(ordered)


def append_entry(path: Path, entry: ShardEntry) -> None:
    append_line(path, entry.to_line())


def rewrite_manifest(path: Path, entries: Iterable[ShardEntry], *, scratch: Path) -> None:
    replace_file(path, b"".join(entry.to_line() for entry in entries), scratch=scratch)
