"""Promise: a full disk stops a run cleanly, and the message names the space that is needed. Committed shards verify,
and with more space the same command finishes."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dataset.synthetic import PICTURED, header, run
from tests.faults.conftest import Undisturbed
from tests.faults.counts import fresh_rng, times
from tests.faults.folder import committed_shards_are_whole, files
from twinloop.dataset import verify
from twinloop.errors import FullDiskError
from twinloop.pipeline.generate import generate
from twinloop.run.config import load_config

PAGE_BYTES = 4096
ROOM_BYTES = 256 << 20


@contextmanager
def small_disk(folder: Path, size_bytes: int) -> Iterator[Path]:
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size_bytes}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a small tmpfs")
    try:
        yield folder
    finally:
        subprocess.run(["umount", str(folder)], check=True)


def resized(disk: Path, size_bytes: int) -> None:
    subprocess.run(["mount", "-o", f"remount,size={size_bytes}", str(disk)], check=True)


def used_bytes(path: Path) -> int:
    """Used bytes as tmpfs counts them: whole pages, each file once."""
    result = {file.stat().st_ino: file.stat().st_size for file in path.rglob("*") if file.is_file()}
    return sum(-(-size // PAGE_BYTES) * PAGE_BYTES for size in result.values())


def levels(whole: Path, count: int) -> list[int]:
    """Sizes from almost 0 to almost enough, one drawn from each of `count` equal parts."""
    rng, total = fresh_rng(), used_bytes(whole)
    return [max(1, int(total * (part + rng.random() * 0.9) / count / PAGE_BYTES)) * PAGE_BYTES for part in range(count)]


def committed_verifies(out: Path) -> None:
    committed_shards_are_whole(out)
    if (out / "dataset.json").exists():
        assert {problem.file for problem in verify(out).problems} <= {"config.yaml"}


def test_a_run_on_a_full_disk(undisturbed: Undisturbed, tmp_path: Path):
    config = load_config(undisturbed.config)
    whole = generate(config, tmp_path / "whole" / "data", workers=1)
    assert whole.digest == undisturbed.digest
    for number, size_bytes in enumerate(levels(tmp_path / "whole" / "data", times(2, 20))):
        with small_disk(tmp_path / f"disk{number}", size_bytes) as disk:
            with pytest.raises(FullDiskError) as text:
                generate(config, disk / "data", workers=1)
            assert "the disk is full" in str(text.value)
            assert "MB more are needed" in str(text.value)
            committed_verifies(disk / "data")
            resized(disk, ROOM_BYTES)
            assert generate(config, disk / "data", workers=1).digest == whole.digest
            assert verify(disk / "data").ok
            assert files(disk / "data") == files(tmp_path / "whole" / "data")


def test_the_command_on_a_full_disk(undisturbed: Undisturbed, tmp_path: Path):
    """With workers, each of which meets the full disk."""
    with small_disk(tmp_path / "disk", used_bytes(undisturbed.path) // 3) as disk:
        text = undisturbed.generate(disk / "data", code=1)["error"]
        assert "the disk is full" in text
        assert "MB more are needed" in text
        committed_verifies(disk / "data")
        resized(disk, ROOM_BYTES)
        assert undisturbed.generate(disk / "data")["digest"] == undisturbed.digest
        assert verify(disk / "data").ok


def test_cameras_on_a_full_disk(tmp_path: Path):
    """With an encoder between the writer and the disk, which must not drop the error."""
    head = header(features=PICTURED, episodes=8)
    digest = run(tmp_path / "whole" / "d", head)
    for number, size_bytes in enumerate(levels(tmp_path / "whole" / "d", times(3, 20))):
        with small_disk(tmp_path / f"disk{number}", size_bytes) as disk:
            with pytest.raises(FullDiskError):
                run(disk / "d", head)
            committed_verifies(disk / "d")
            resized(disk, ROOM_BYTES)
            assert run(disk / "d", head) == digest
            assert files(disk / "d") == files(tmp_path / "whole" / "d")
