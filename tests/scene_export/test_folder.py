"""The folder of an export: complete or absent, the same bytes every time, and never over files of others."""

import json
from pathlib import Path

import pytest

from tests.scene_export.made import workshop
from twinloop.errors import UsageError
from twinloop.scene_export import FORMATS, export, export_scene
from twinloop.scene_export.files import INDEX, NOTES, write_folder


def content_of(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("scene_format", FORMATS)
def test_the_same_scene_gives_the_same_bytes_and_replaces_an_older_export(tmp_path: Path, scene_format):
    if scene_format == "usd":
        pytest.importorskip("pxr", reason="pip install 'twinloop[usd]'")
    out = tmp_path / "out"
    export_scene(workshop(), out, "mjcf" if scene_format != "mjcf" else "urdf")
    exported = export_scene(workshop(), out, scene_format)
    first = content_of(out)
    assert sorted(first) == sorted(exported.files)
    assert list(tmp_path.iterdir()) == [out]
    export_scene(workshop(), out, scene_format)
    assert content_of(out) == first


def test_notes_are_in_the_folder(tmp_path: Path):
    exported = export_scene(workshop(), tmp_path / "out", "urdf")
    text = (tmp_path / "out" / NOTES).read_text()
    assert exported.notes
    assert all(note in text for note in exported.notes)
    assert json.loads((tmp_path / "out" / INDEX).read_text())["notes"] == list(exported.notes)


def test_a_folder_with_other_files_is_refused_and_untouched(tmp_path: Path):
    (tmp_path / "thesis.tex").write_text("ten years")
    with pytest.raises(UsageError, match="not an exported scene"):
        export_scene(workshop(), tmp_path, "mjcf")
    assert content_of(tmp_path) == {"thesis.tex": b"ten years"}


def test_a_file_that_someone_put_into_an_export_is_not_deleted(tmp_path: Path):
    out = tmp_path / "out"
    export_scene(workshop(), out, "mjcf")
    (out / "measurements.csv").write_text("1,2")
    with pytest.raises(UsageError, match="choose a new folder"):
        export_scene(workshop(), out, "mjcf")
    assert (out / "measurements.csv").read_text() == "1,2"


def test_a_file_in_the_place_of_the_folder_is_refused(tmp_path: Path):
    out = tmp_path / "out"
    out.write_text("x")
    with pytest.raises(UsageError, match="is a file or a link"):
        export_scene(workshop(), out, "mjcf")


def test_a_failure_while_writing_leaves_the_old_export(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    out = tmp_path / "out"
    export_scene(workshop(), out, "mjcf")
    before = content_of(out)

    def full(folder: Path, files: dict[str, bytes]) -> None:
        # A name that no file system accepts, as the last file.
        write_folder(folder, {**files, "x" * 300: b""})

    monkeypatch.setattr(export, "write_folder", full)
    with pytest.raises(Exception, match="File name too long"):
        export_scene(workshop(), out, "urdf")
    assert content_of(out) == before
    assert list(tmp_path.iterdir()) == [out]
