"""Promise: a changed byte or a truncated file in a dataset is found and named, and the command that made the dataset
repairs that shard and no other."""

import random
import shutil
from pathlib import Path

import pytest

from tests.dataset.synthetic import LABELLED, header, run
from tests.faults.conftest import Undisturbed, command_output
from tests.faults.counts import fresh_rng, times
from tests.faults.folder import files
from twinloop.dataset import verify
from twinloop.errors import DatasetError

HEAD = header(features=LABELLED, episodes=10)
KINDS = ("*.parquet", "*.mp4", "*.json*", "config.yaml")


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "d"
    run(path, HEAD)
    return path


def copied(whole: Path, target: Path) -> Path:
    """Copy with hard links, so that unchanged shards keep their inodes; files to damage are copied."""
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(whole, target, copy_function=lambda source, new: Path(new).hardlink_to(source))
    for file in target.rglob("*"):
        if file.is_file() and (file.suffix in (".json", ".jsonl", ".yaml") or file.name == "lock"):
            content = file.read_bytes()
            file.unlink()
            file.write_bytes(content)
    return target


def damaged(path: Path, rng: random.Random, *, cut: bool) -> Path:
    """Flip bits of one byte of a file, or cut its end off. An exported video is the shard's own, so both change."""
    kind = rng.choice(KINDS)
    file = rng.choice(
        [
            candidate
            for candidate in sorted(path.rglob(kind))
            if candidate.is_file() and "scratch" not in candidate.parts
        ]
    )
    content = bytearray(file.read_bytes())
    at = rng.randrange(len(content))
    if cut:
        del content[at:]
    else:
        content[at] ^= rng.randrange(1, 256)
    inode = file.stat().st_ino
    for same in [
        candidate for candidate in path.rglob("*") if candidate.is_file() and candidate.stat().st_ino == inode
    ]:
        same.unlink()
        if same == file:
            same.write_bytes(content)
        else:
            same.hardlink_to(file) if file.exists() else same.write_bytes(content)
    return file


def shards_hit(path: Path, whole: Path, file: Path) -> set[str]:
    """Shards whose file or manifest line was changed."""
    lines = (whole / "manifest.jsonl").read_bytes().splitlines(keepends=True)
    left = (path / "manifest.jsonl").read_bytes().splitlines(keepends=True)
    names = sorted(candidate.name for candidate in (whole / "shards").iterdir())
    hit = {name for name, line in zip(names, lines, strict=True) if line not in left}
    for name in names:
        for candidate in (path / "shards" / name).iterdir():
            if candidate == file or candidate.read_bytes() != (whole / "shards" / name / candidate.name).read_bytes():
                hit.add(name)
    return hit


def inodes(path: Path) -> dict[str, int]:
    return {str(file.relative_to(path)): file.stat().st_ino for file in (path / "shards").rglob("*") if file.is_file()}


@pytest.mark.parametrize(("cut", "few", "full"), [(False, 12, 200), (True, 5, 50)], ids=["flipped", "cut off"])
def test_any_damage_is_found_named_and_repaired(whole: Path, tmp_path: Path, cut: bool, few: int, full: int):
    rng, expected = fresh_rng(), files(whole)
    for _ in range(times(few, full)):
        path = copied(whole, tmp_path / "d")
        file = damaged(path, rng, cut=cut)
        name = str(file.relative_to(path))
        try:
            named = {problem.file for problem in verify(path).problems}
        except DatasetError as error:  # without a header there is no other report
            named = {name} if str(file) in str(error) else set()
        assert name in named, f"{name}: {named}"
        hit, before = shards_hit(path, whole, file), inodes(path)
        run(path, HEAD, verify=True)
        assert files(path) == expected, name
        assert verify(path).ok
        made_again = {
            candidate.split("/")[1] for candidate, inode in inodes(path).items() if before.get(candidate) != inode
        }
        assert made_again == hit, name


def test_the_commands_find_name_and_repair_damage(undisturbed: Undisturbed, tmp_path: Path):
    out = tmp_path / "data"
    shutil.copytree(undisturbed.path, out)
    file = sorted(out.glob("shards/*/frames.parquet"))[2]
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    others = {path: path.stat().st_mtime_ns for path in out.glob("shards/*/*") if path.parent != file.parent}
    output = command_output([*undisturbed.command(out)[:3], "verify", str(out), "--json"], code=1)
    assert [problem["file"] for problem in output["problems"]] == [str(file.relative_to(out))]
    assert undisturbed.generate(out)["digest"] == undisturbed.digest
    assert files(out) == files(undisturbed.path)
    assert {candidate: candidate.stat().st_mtime_ns for candidate in others} == others
