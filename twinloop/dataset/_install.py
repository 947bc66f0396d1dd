"""Replace the LeRobot export of a dataset by a new one.

`export.json` is removed first and written last. `meta/` is moved out first and moved in last. A reader therefore
finds the old export, the new one, or for a moment none. A writer that finds no `export.json` for its shards exports
again.
"""

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twinloop.config.record import read_record, write_record
from twinloop.config.section import Section
from twinloop.durable import FileDigest, digest_file, read_bounded, replace_file, sync_folder, sync_tree
from twinloop.errors import ConfigError, CorruptError

from .layout import EXPORT, EXPORT_FOLDERS, SCRATCH
from .lerobot import export
from .reader import Dataset
from .seal import sealed, unsealed

MOST_BYTES = 1 << 30


@dataclass(frozen=True, kw_only=True)
class ExportRecord:
    """The content of `export.json`.

    Attributes:
        digest: digest of the exported dataset.
        files: path -> digest.
    """

    digest: str
    format: str = "lerobot v3.0"
    files: Mapping[str, FileDigest]

    def to_bytes(self) -> bytes:
        value = write_record(self)
        return sealed(value | {"files": dict(sorted(value["files"].items()))}, end="\n", indent=2)


def read_export_record(path: Path) -> ExportRecord | None:
    """Return the export record of the dataset at `path`, or None if there is no export."""
    if not (path / EXPORT).exists():
        return None
    try:
        return read_record(ExportRecord, Section("", "", unsealed(read_bounded(path / EXPORT, MOST_BYTES)), {}))
    except (ValueError, ConfigError) as error:
        raise CorruptError(f"{path / EXPORT}: is not an export record ({error})") from None


def installed_export(path: Path, digest: str, *, verify: bool = False) -> bool:
    """Return whether the dataset with this digest is exported and all files have the right size (`verify`: digest)."""
    try:
        record = read_export_record(path)
    except CorruptError:
        return False
    if record is None or record.digest != digest:
        return False
    files = ((path / name, file) for name, file in record.files.items())
    return all(is_intact(file_path, file, verify=verify) for file_path, file in files)


def is_intact(path: Path, committed: FileDigest, *, verify: bool) -> bool:
    """Return whether the file has the committed size and, with `verify`, the committed digest."""
    if not path.is_file() or path.stat().st_size != committed.bytes:
        return False
    return not verify or digest_file(path) == committed


def install_export(dataset: Dataset) -> ExportRecord:
    path = dataset.path
    new, old = path / SCRATCH / "export", path / SCRATCH / "export-before"
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    record = ExportRecord(digest=dataset.digest(), files=export(dataset, new))
    sync_tree(new)

    (path / EXPORT).unlink(missing_ok=True)
    sync_folder(path)
    for name in reversed(EXPORT_FOLDERS):
        if (path / name).exists():
            os.rename(path / name, old / name)
    for name in EXPORT_FOLDERS:
        if (new / name).exists():  # a dataset without images has no videos
            os.rename(new / name, path / name)
    sync_folder(path)
    replace_file(path / EXPORT, record.to_bytes(), scratch=path / SCRATCH)
    shutil.rmtree(old)
    new.rmdir()
    return record
