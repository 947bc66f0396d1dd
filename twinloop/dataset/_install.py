"""Swapping a fresh export in for the old one.

`export.json` is removed first and written last, and `meta/` leaves first and comes back last. A reader
therefore finds the old export, the new one, or for a moment none; a writer that finds no `export.json`
for its shards makes the export again.
"""

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twinloop.durable import FileDigest, replace_file, sync_folder, sync_tree
from twinloop.errors import CorruptError

from .layout import EXPORT, EXPORT_FOLDERS, SCRATCH
from .lerobot import export
from .reader import Dataset


@dataclass(frozen=True)
class ExportRecord:
    """The content of `export.json`. digest: of the dataset whose export it is; files: path -> digest."""

    digest: str
    files: Mapping[str, FileDigest]

    def to_json(self) -> str:
        files = {name: file.to_json() for name, file in sorted(self.files.items())}
        return json.dumps({"digest": self.digest, "format": "lerobot v3.0", "files": files}, indent=2) + "\n"


def read_export_record(path: Path) -> ExportRecord | None:
    """The record of the dataset at `path`, or None where nothing was exported yet."""
    try:
        value = json.loads((path / EXPORT).read_text(encoding="utf-8"))
        files = {str(name): FileDigest.from_json(file) for name, file in value["files"].items()}
        return ExportRecord(str(value["digest"]), files)
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise CorruptError(f"{path / EXPORT}: is not an export record ({error})") from None


def installed_export(path: Path, digest: str) -> bool:
    """Is the export there, of this digest, and are all its files of the right size?"""
    try:
        record = read_export_record(path)
    except CorruptError:
        return False
    if record is None or record.digest != digest:
        return False
    files = ((path / name, file) for name, file in record.files.items())
    return all(file_path.is_file() and file_path.stat().st_size == file.bytes for file_path, file in files)


def install_export(dataset: Dataset) -> ExportRecord:
    path = dataset.path
    new, old = path / SCRATCH / "export", path / SCRATCH / "export-before"
    for folder in (new, old):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
    record = ExportRecord(dataset.digest(), export(dataset, new))
    sync_tree(new)

    (path / EXPORT).unlink(missing_ok=True)
    sync_folder(path)
    for name in reversed(EXPORT_FOLDERS):
        if (path / name).exists():
            os.rename(path / name, old / name)
    for name in EXPORT_FOLDERS:
        if (new / name).exists():  # a dataset without pictures has no videos
            os.rename(new / name, path / name)
    sync_folder(path)
    replace_file(path / EXPORT, record.to_json().encode(), scratch=path / SCRATCH)
    shutil.rmtree(old)
    new.rmdir()
    return record
