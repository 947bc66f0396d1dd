"""Promise: a hostile file is refused by name, quickly, in little memory, and without side effects."""

import json
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

from tests.faults.hostile_checkpoints import HOSTILE, valid
from tests.faults.hostile_configs import configs
from tests.faults.hostile_models import models

ROOT = Path(__file__).parents[2]
MOST_CPU_S = 1.0
MOST_MORE_BYTES = 512 << 20


def refused(kind: str, files: Iterable[Path], warm_up: Path, *, inside: Path) -> list[dict]:
    """Result of loading each file, in a process with little memory in an empty folder."""
    files, empty = list(files), inside / "empty"
    empty.mkdir()
    done = subprocess.run(
        [sys.executable, "-m", "tests.faults.refuse", kind, str(warm_up)],
        input="".join(json.dumps(str(file)) + "\n" for file in files),
        capture_output=True, text=True, cwd=empty, env={"PYTHONPATH": f"{ROOT}:{':'.join(sys.path)}"}, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    assert not list(empty.iterdir())
    return [json.loads(line) for line in done.stdout.splitlines()]


def judged(names: Iterable[str], refusals: list[dict], kinds: tuple[str, ...], *, least: int) -> None:
    result = dict(zip(names, refusals, strict=True))
    for name, refusal in result.items():
        print(f"{refusal['cpu_s']:6.2f} s {refusal['more_bytes'] / 1e6:6.0f} MB  {name}: {refusal['said'][:150]}")
    assert len(result) >= least
    for name, refusal in result.items():
        assert refusal["how"] in kinds, f"{name}: {refusal}"
        assert len(refusal["said"]) < 4096, name
        assert refusal["cpu_s"] < MOST_CPU_S, f"{name}: {refusal}"
        assert refusal["more_bytes"] < MOST_MORE_BYTES, f"{name}: {refusal}"


@pytest.fixture
def canary(tmp_path: Path):
    """A file that a hostile file could reach. It must stay unchanged."""
    (tmp_path / "files").mkdir()
    file = tmp_path / "files" / "canary"
    file.write_text("sings")
    before = file.stat().st_mtime_ns
    yield tmp_path / "files"
    assert file.read_text() == "sings"
    assert file.stat().st_mtime_ns == before
    assert not list(tmp_path.rglob("*was-here*"))


def test_hostile_configs(canary: Path, tmp_path: Path):
    files = configs(canary)
    refusals = refused("config", files.values(), ROOT / "examples" / "pick_and_place.yaml", inside=tmp_path)
    judged(files, refusals, ("UsageError", "ConfigError", "ModelError"), least=30)


def test_hostile_models(canary: Path, tmp_path: Path):
    files = models(canary)
    refusals = refused("config", files.values(), ROOT / "examples" / "pick_and_place.yaml", inside=tmp_path)
    judged(files, refusals, ("ModelError",), least=20)
    assert all(
        str(file.with_name("arm.xml")) in refusal["said"]
        for file, refusal in zip(files.values(), refusals, strict=True)
    )


def test_hostile_checkpoints(canary: Path, tmp_path: Path):
    start = valid(tmp_path / "valid")
    folders = []
    for number, harm in enumerate(HOSTILE.values()):
        folders.append(canary / f"policy{number}")
        shutil.copytree(start, folders[-1])
        harm(folders[-1])
    refusals = refused("checkpoint", [start, *folders], start, inside=tmp_path)
    assert refusals[0]["how"] == "read", refusals[0]  # the harmless one
    judged(HOSTILE, refusals[1:], ("CheckpointError",), least=20)
