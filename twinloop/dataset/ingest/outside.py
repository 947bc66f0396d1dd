"""Reading files of an untrusted folder: only below the folder, with limited size and safe paths."""

import re
import string
from collections.abc import Mapping
from pathlib import Path

from twinloop.dataset.ingest.source import Unreadable
from twinloop.durable import read_bounded, require_utf8
from twinloop.errors import DatasetError

MOST_TEXT = 256 << 20
"""Maximum size of a JSON or CSV file in bytes. Python needs about ten times as much memory for JSON."""
MOST_BINARY = 4 << 30
MOST_EPISODES = 1_000_000
MOST_ROWS = 10_000_000
"""Maximum number of rows of an episode: a day at 100 Hz."""


def inside(root: Path, path: Path, *, most_bytes: int = MOST_BINARY) -> Path:
    """The resolved path, if it is a file below `root` after following links and not too large."""
    try:
        resolved = path.resolve(strict=True)
    except (OSError, RuntimeError):
        raise Unreadable(f"{path}: is missing") from None
    if not resolved.is_relative_to(root.resolve()):
        raise DatasetError(f"{path}: leaves {root}; only files inside it are read")
    require_utf8(resolved)
    if not resolved.is_file():
        raise Unreadable(f"{path}: is not a file")
    size = resolved.stat().st_size
    if size > most_bytes:
        raise Unreadable(f"{path}: has {size:,} bytes; the maximum is {most_bytes:,}")
    return resolved


def text_inside(root: Path, path: Path, *, most_bytes: int = MOST_TEXT) -> str:
    try:
        return read_bounded(inside(root, path, most_bytes=most_bytes), most_bytes, error=DatasetError).decode(
            "utf-8-sig"
        )
    except UnicodeDecodeError as error:
        raise Unreadable(f"{path}: is not UTF-8 text (byte {error.start})") from None


def filled(template: str, values: Mapping[str, int | str], *, where: str) -> str:
    """Fill in a path template of info.json.

    The template is not trusted: only the given names are allowed, without attributes, and the path must stay inside
    the folder.
    """
    for _, name, form, conversion in string.Formatter().parse(template):
        if name is None:
            continue
        if name not in values or conversion or not re.fullmatch(r"(0?\d{0,2}d?)?", form or ""):
            raise DatasetError(f"{where}: {template!r} is not a valid path template; placeholders: {', '.join(values)}")
    path = template.format(**values)
    parts = Path(path).parts
    if not parts or Path(path).is_absolute() or ".." in parts or "\0" in path:
        raise DatasetError(f"{where}: {path!r} is not inside the dataset's folder")
    return path
