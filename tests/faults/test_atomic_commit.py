"""Promise: whichever disk operation fails, a reader sees the old state or the new one.

`tests/laws/test_dataset_laws.py` and `test_gate_laws.py` kill the writer at each of these calls. Here the call fails
instead: the writer cleans up and reports the error, and the process continues.
"""

import errno
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.dataset.synthetic import CAMERAS, FEATURES, header, run
from tests.faults.counts import fresh_rng, times
from tests.faults.folder import committed_shards_are_whole, files
from tests.gate.checkpoints import checkpoint
from twinloop.dataset import Dataset, verify
from twinloop.dataset._verify import Problem
from twinloop.dataset.identity import growing_digests
from twinloop.errors import StorageError
from twinloop.gate.ledger import read_ledger
from twinloop.gate.registry import Registry, writing
from twinloop.gate.registry_state import PROMOTED
from twinloop.learn.card import read_card

CALLS = ("write", "fsync", "rename", "replace", "mkdir", "unlink", "rmdir", "ftruncate", "link", "fchmod", "pwrite")
ERRORS = (errno.EIO, errno.ENOSPC)


@contextmanager
def failing_at(count: int, code: int) -> Iterator[Callable[[], bool]]:
    """The `count`th change of the disk fails, a write after half of its data. Yield whether it was reached."""
    left, real = count, {name: getattr(os, name) for name in CALLS}

    def failing(name: str) -> Callable:
        def call(*args, **options):
            nonlocal left
            left -= 1
            if left == 0:
                if name == "write":
                    real[name](args[0], bytes(args[1])[: len(args[1]) // 2])
                raise OSError(code, os.strerror(code))
            return real[name](*args, **options)

        return call

    try:
        for name in CALLS:
            setattr(os, name, failing(name))
        yield lambda: left <= 0
    finally:
        for name, function in real.items():
            setattr(os, name, function)


def moments(rng, few: int) -> Iterator[int]:
    """All calls with TWINLOOP_FAULTS=full; otherwise some, evenly spaced from a random start."""
    stride = times(few, 1)
    yield from range(1 + rng.randrange(stride), 1 << 30, stride)


def is_left_over(problem: Problem) -> bool:
    """True for a config that is not written yet and a shard without a line, which readers ignore."""
    return (
        problem.file == "config.yaml"
        or "is not in the manifest" in problem.description
        or "has no line" in problem.description
    )


@pytest.mark.parametrize("story", ["new run", "grown run", "grown run with pictures"])
def test_a_dataset_whose_disk_fails_at_any_call(tmp_path: Path, story: str):
    features, episodes = ((*FEATURES, CAMERAS[0]), (2, 5)) if "pictures" in story else (FEATURES, (6, 8))
    wanted = header(episodes=episodes["grown" in story], features=features)
    digest = run(tmp_path / "whole", wanted)
    expected = files(tmp_path / "whole")
    run(tmp_path / "start", header(episodes=episodes[0], features=features))
    states = set()
    for dataset_folder in (tmp_path / "start", tmp_path / "whole"):
        dataset = Dataset.open(dataset_folder)
        states |= set(growing_digests(dataset.header, dataset.entries))
    path, failed = tmp_path / "d", 0
    rng = fresh_rng()
    for count in moments(rng, 16 if "pictures" in story else 8):
        shutil.rmtree(path, ignore_errors=True)
        if "grown" in story:
            shutil.copytree(tmp_path / "start", path)
        try:
            with failing_at(count, rng.choice(ERRORS)) as happened:
                run(path, wanted)
        except StorageError:
            failed += 1
        else:
            # The work was done before this call, or the failed call was an optional removal.
            assert not happened() or files(path) == expected
            if not happened():
                break
        if (path / "dataset.json").exists():
            assert Dataset.open(path).digest() in states, f"failed at change {count}"
            committed_shards_are_whole(path)
            assert not [problem for problem in verify(path).problems if not is_left_over(problem)], (
                f"failed at change {count}"
            )
        assert run(path, wanted) == digest, f"failed at change {count}"
        assert files(path) == expected, f"failed at change {count}"
    assert failed > 3


def test_a_registry_whose_disk_fails_at_any_call(tmp_path: Path):
    def promote(place: Path, folder: Path) -> str:
        with writing(place, actor="ada") as writer:
            digest = writer.pin(folder).digest
            for step in ("candidate -> validated", "validated -> canary", "canary -> production"):
                writer.decide(PROMOTED, checkpoint=digest, transition=step, reasons=["so it is"])
        return digest

    old = promote(tmp_path / "start", checkpoint(tmp_path / "old", number=1))
    folder = checkpoint(tmp_path / "new", number=2)
    new = promote(tmp_path / "elsewhere", folder)
    seen, place = [], tmp_path / "registry"
    rng = fresh_rng()
    for count in moments(rng, 5):
        shutil.rmtree(place, ignore_errors=True)
        shutil.copytree(tmp_path / "start", place)
        caught = None
        with failing_at(count, rng.choice(ERRORS)) as happened:
            try:
                promote(place, folder)
            except StorageError as error:
                caught = error
        if not happened():
            break
        result = Registry.open(place)
        assert result.production_checkpoint().digest == result.production
        if caught:
            seen.append(result.production)
        else:  # an optional removal failed
            assert result.production == new
        assert not read_ledger(place).torn
        promote(place, folder)
        assert Registry.open(place).production == new
    assert set(seen) <= {old, new}
    assert seen == sorted(seen, key=[old, new].index)  # one moment, and never back
    assert seen[0] == old


def test_a_checkpoint_whose_disk_fails_at_any_call(tmp_path: Path):
    checkpoint(tmp_path / "start", number=1)
    before = read_card(tmp_path / "start")
    other = read_card(checkpoint(tmp_path / "other", number=2))
    for count in range(1, 100):
        shutil.rmtree(tmp_path / "p", ignore_errors=True)
        shutil.copytree(tmp_path / "start", tmp_path / "p")
        with failing_at(count, errno.EIO) as happened:
            try:
                other.write(tmp_path / "p")
            except StorageError:
                assert read_card(tmp_path / "p") in (before, other)
        if not happened():
            assert read_card(tmp_path / "p") == other
            return
    raise AssertionError("it never came to an end")
