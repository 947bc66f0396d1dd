"""The manifest: one line per committed shard. A shard exists if and only if its line does.

A line is valid once it ends with a newline. Bytes after the last newline were left by a kill. Readers ignore them,
and the next writer removes them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

from twinloop.config.compound import Mapped
from twinloop.config.fields import integer, of_kind
from twinloop.config.record import Nested, read_record, write_record
from twinloop.config.section import Section
from twinloop.durable import FileDigest, append_line, read_bounded, replace_file
from twinloop.errors import ConfigError, CorruptError

from .seal import sealed, unsealed

MOST_BYTES = 4 << 30  # a line has a few hundred bytes


@dataclass(frozen=True)
class ShardEntry:
    """The manifest line of a committed shard, which holds the attempts [first, stop)."""

    first: int = integer(low=0, help="first attempt")
    stop: int = integer(low=0, help="first attempt after the shard")
    accepted: int = integer(low=0, help="attempts that passed all checks")
    stored: int = integer(low=0, help="attempts with rows in frames.parquet")
    frames: int = integer(low=0, help="rows of frames.parquet")
    files: Mapping[str, FileDigest] = of_kind(
        Mapped(item=Nested(record=FileDigest), names=r"[^./][^/]*", form="a plain file name", what="file", most=None)
    )

    @property
    def name(self) -> str:
        return shard_name(self.first, self.stop)

    @property
    def size_bytes(self) -> int:
        return sum(file.bytes for file in self.files.values())

    def to_line(self) -> bytes:
        value = write_record(self)
        return sealed(value | {"files": dict(sorted(value["files"].items()))}) + b"\n"

    @classmethod
    def from_line(cls, line: bytes, *, where: str) -> "ShardEntry":
        """Read a line of a manifest, without the newline. CorruptError names `where` and what is wrong."""
        try:
            return read_record(cls, Section("", "", unsealed(line), {}))
        except (ValueError, ConfigError) as error:
            raise CorruptError(f"{where}: is not a shard entry ({error!s:.200}): {line[:80]!r}") from None


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
            entries.append(ShardEntry.from_line(line, where=f"{path}:{number}"))
        except CorruptError as error:
            if not damaged:
                raise
            damaged_lines.append(str(error).replace(f"{path}:{number}:", f"line {number}", 1))
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
