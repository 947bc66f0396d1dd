"""Disk space that the rest of a run needs, for the error of a full disk."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from twinloop.errors import FullDiskError

from .header import Header
from .layout import HEADER
from .reader import Dataset


@contextmanager
def disk_space_needed(out: Path, header: Header) -> Iterator[None]:
    """Add the space that the rest of the run needs to the error of a full disk."""
    try:
        yield
    except FullDiskError as error:
        entries = Dataset.open(out).entries if (out / HEADER).exists() else ()
        done = sum(entry.stop - entry.first for entry in entries)
        used = sum(entry.size_bytes for entry in entries)
        per_episode = used / done if done else _bytes_per_episode(header)
        # Shards, and a copy of the same size as the export.
        needed = 2 * per_episode * header.episodes - used
        missing = f"{header.episodes - done:,} of {header.episodes:,} episodes are missing"
        raise FullDiskError(f"{error}; {missing}, in all about {needed / 1e6:,.1f} MB more are needed") from None


def _bytes_per_episode(header: Header) -> float:
    """Estimate before any episode exists: 20 s of its columns, and one bit per pixel."""
    sizes = {"float32": 4, "float64": 8, "int64": 8, "bool": 1}
    numbers = sum(sizes.get(feature.dtype, 8) * feature.shape[0] for feature in header.columns)
    pixels = sum(feature.shape[0] * feature.shape[1] for feature in header.pictures)
    return 20 * header.fps * (numbers + pixels / 8)
