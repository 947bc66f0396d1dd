"""SceneFiles: the files of an exported scene, and the folder they are written to."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from twinloop.durable import exchange, storage_errors, sync_folder, sync_tree, write_file
from twinloop.errors import UsageError

INDEX, NOTES = "scene.json", "NOTES.txt"
MARK = "twinloop_scene"
"""Key of `scene.json` by which a folder is recognised as an exported scene, which may be replaced."""


@dataclass(frozen=True)
class SceneFiles:
    """The files of one format.

    Attributes:
        main: path of the file to open.
        files: path in the folder -> content.
        notes: what the format cannot express, and how it is used.
        index: what the format adds to `scene.json`.
    """

    main: str
    files: Mapping[str, bytes]
    notes: tuple[str, ...]
    index: Mapping[str, object] | None = None


def left_out(counts: Mapping[str, int]) -> list[str]:
    """A note about elements that a format has not: plural -> how many the model has."""
    named = [f"{count} {kind}" for kind, count in counts.items() if count]
    return [f"left out: {', '.join(named)}"] if named else []


def refuse_foreign(folder: Path) -> None:
    """Raise if `folder` has files that are not an exported scene."""
    with storage_errors(folder):
        if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
            raise UsageError(f"--out {folder}: is a file or a link; a folder that is new, empty or an export is valid")
        if not folder.exists() or not any(folder.iterdir()) or _is_export(folder):
            return
    raise UsageError(
        f"--out {folder}: has files that are not an exported scene, and they would be deleted; choose a new folder"
    )


def write_folder(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write all files, or none. An earlier export in the same place is replaced at once."""
    refuse_foreign(folder)
    with storage_errors(folder):
        folder.parent.mkdir(parents=True, exist_ok=True)
        scratch = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            new = scratch / "new"
            for name, content in files.items():
                path = new / name
                path.parent.mkdir(parents=True, exist_ok=True)
                write_file(path, content)
            sync_tree(new)
            if folder.exists():
                try:
                    exchange(new, folder)
                except OSError:  # not on this file system
                    os.rename(folder, scratch / "old")
                    os.rename(new, folder)
            else:
                os.rename(new, folder)
            sync_folder(folder.parent)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)


def _is_export(folder: Path) -> bool:
    """True if every file in the folder was written by an export."""
    try:
        index = json.loads((folder / INDEX).read_text(encoding="utf-8"))
        written = {INDEX, *index[MARK]["files"]}
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return all(str(path.relative_to(folder)) in written for path in folder.rglob("*") if not path.is_dir())
