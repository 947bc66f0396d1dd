"""Results about models that are kept on disk, because every process that starts would compute them again.

An entry is named by the digest of everything that its content depends on. A folder that cannot be written, or an entry
that cannot be read, costs time and nothing else.
"""

import hashlib
import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

ROOT = "TWINLOOP_CACHE"


def cache_folder() -> Path:
    """The folder of the entries."""
    root = os.environ.get(ROOT) or os.path.join(os.environ.get("XDG_CACHE_HOME") or "~/.cache", "twinloop")
    return Path(root).expanduser() / "models"


def key_of(kind: str, parts: Iterable[bytes]) -> str:
    """Name of an entry.

    Args:
        kind: what the entry is, with a version: `trial-1`.
        parts: all that its content depends on.
    """
    digest = hashlib.sha256()
    for part in parts:
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)
    return f"{kind}-{digest.hexdigest()}"


def read_entry(key: str) -> bytes | None:
    """The content of an entry; None if there is none."""
    try:
        return (cache_folder() / key).read_bytes()
    except OSError:
        return None


def write_entry(key: str, content: bytes) -> None:
    """Store an entry. A process that reads it at the same time sees all of it or nothing."""
    folder = cache_folder()
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
            file.write(content)
        os.replace(file.name, folder / key)
