import json
from dataclasses import asdict

import pytest

from tests.dataset.synthetic import PICTURED, header, run
from twinloop.dataset import verify
from twinloop.dataset.seal import sealed, unsealed
from twinloop.durable import digest_file
from twinloop.errors import CorruptError, DatasetError


@pytest.fixture
def path(tmp_path):
    run(tmp_path / "d", header())
    return tmp_path / "d"


def flip(file, at=None):
    data = bytearray(file.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 0x10
    file.write_bytes(data)


@pytest.fixture
def pictured(tmp_path):
    run(tmp_path / "p", header(features=PICTURED))
    return tmp_path / "p"


def replace(file, data: bytes) -> None:
    """Another file under its name: a link to the old one keeps the old content."""
    file.unlink()
    file.write_bytes(data)


def files_named(path) -> list[str]:
    return [problem.file for problem in verify(path).problems]


def test_an_untouched_dataset_is_verified(path):
    report = verify(path).require()
    assert (report.shards, report.complete, report.exported) == (3, True, True)


def test_any_flipped_bit_is_found_and_its_file_named(path):
    for file in [*path.glob("shards/*/*"), *path.glob("meta/**/*"), *path.glob("data/**/*")]:
        if file.is_file():
            whole = file.read_bytes()
            flip(file)
            assert files_named(path) == [str(file.relative_to(path))]
            file.write_bytes(whole)
    assert verify(path).ok


@pytest.mark.parametrize("name", ["shards/000000004-000000008/frames.parquet", "meta/tasks.parquet"])
def test_missing_files_are_named(path, name):
    (path / name).unlink()
    report = verify(path)
    assert [(problem.file, problem.description) for problem in report.problems] == [(name, "is missing")]
    with pytest.raises(CorruptError, match=name):
        report.require()


@pytest.mark.parametrize("name", ["shards/000000000-000000004/more.bin", "shards/x/y", "data/chunk-000/z.parquet"])
def test_stray_files_are_named(path, name):
    (path / name).parent.mkdir(exist_ok=True)
    (path / name).write_text("?")
    assert files_named(path) == [name]


def test_a_shard_that_is_a_symbolic_link_is_named(path, tmp_path):
    (shard, *_) = sorted((path / "shards").iterdir())
    shard.rename(tmp_path / "elsewhere")
    shard.symlink_to(tmp_path / "elsewhere")
    report = verify(path)
    assert any(
        problem.file == f"shards/{shard.name}" and "symbolic link" in problem.description for problem in report.problems
    )


def test_a_manifest_that_miscounts_is_found(path):
    manifest = path / "manifest.jsonl"
    lines = [unsealed(line) for line in manifest.read_bytes().splitlines()]
    lines[1]["frames"] += 1
    lines[1]["accepted"] -= 1
    manifest.write_bytes(b"".join(sealed(line) + b"\n" for line in lines))
    messages = [str(problem) for problem in verify(path).problems]
    assert any("accepted episodes, but the manifest lists" in line for line in messages)
    assert any("frames, but the manifest lists" in line for line in messages)


def test_a_torn_manifest_a_lost_config_and_an_old_export_are_reported(path):
    manifest = path / "manifest.jsonl"
    manifest.write_bytes(manifest.read_bytes()[:-1])
    (path / "config.yaml").unlink()
    assert files_named(path)[:2] == ["manifest.jsonl", "config.yaml"]
    assert not verify(path).exported


def test_an_export_of_other_shards_is_reported(path):
    record = json.loads((path / "export.json").read_text())
    (path / "export.json").write_text(json.dumps({**record, "digest": "0" * 64}))
    assert files_named(path) == ["export.json"]
    (path / "export.json").write_text("{}")
    assert files_named(path) == ["export.json"]


def test_a_folder_without_a_dataset_is_refused(tmp_path):
    with pytest.raises(DatasetError, match=r"no dataset\.json"):
        verify(tmp_path)
    with pytest.raises(DatasetError, match="is not a folder"):
        verify(tmp_path / "nothing")


def test_a_flipped_bit_in_a_video_is_found_and_its_file_named(pictured):
    videos = [*pictured.glob("shards/*/*.mp4"), *pictured.glob("videos/**/*.mp4")]
    assert len(videos) == 18
    for file in videos:
        whole = file.read_bytes()
        for at in (0, len(whole) // 2, len(whole) - 1):
            changed = bytearray(whole)
            changed[at] ^= 0x10
            replace(file, bytes(changed))
            assert files_named(pictured) == [str(file.relative_to(pictured))]
        replace(file, whole)
    assert verify(pictured).ok


def test_a_video_that_is_changed_through_its_link_is_named_twice(pictured):
    exported = pictured / "videos/observation.images.front/chunk-000/file-001.mp4"
    exported.chmod(0o644)
    flip(exported)
    shard = "shards/000000004-000000008/observation.images.front.mp4"
    assert files_named(pictured) == [shard, str(exported.relative_to(pictured))]


def test_a_video_with_other_frames_than_rows_is_named(pictured):
    """As a wrong writer might have committed it: its digest is right and its frames are not."""
    manifest = pictured / "manifest.jsonl"
    lines = [unsealed(line) for line in manifest.read_bytes().splitlines()]
    name = "observation.images.front.mp4"
    folders = [pictured / f"shards/{line['first']:09d}-{line['stop']:09d}" for line in lines]
    assert lines[0]["frames"] != lines[1]["frames"]
    replace(folders[0] / name, (folders[1] / name).read_bytes())
    lines[0]["files"][name] = asdict(digest_file(folders[0] / name))
    del lines[1]["files"]["observation.images.wrist.mp4"]
    (folders[1] / "observation.images.wrist.mp4").unlink()
    replace(folders[2] / name, b"no video at all")
    lines[2]["files"][name] = asdict(digest_file(folders[2] / name))
    manifest.write_bytes(b"".join(sealed(line) + b"\n" for line in lines))
    messages = [str(problem) for problem in verify(pictured).problems]
    counts = f"has {lines[1]['frames']} frames for {lines[0]['frames']} rows"
    assert messages[0] == f"shards/000000000-000000004/{name}: {counts}"
    assert messages[1].startswith("shards/000000004-000000008/observation.images.wrist.mp4: is not in the manifest")
    assert messages[2].startswith(f"shards/000000008-000000010/{name}: ")
    assert "cannot be read as video" in messages[2]
