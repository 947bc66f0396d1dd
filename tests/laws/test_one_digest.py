"""Law: the same digest at 1, 2 and 7 workers, shuffled, at any width, under any hash seed."""

import json
import os
import random
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tests.laws.conftest import EPISODES
from twinloop.dataset import DatasetWriter
from twinloop.fleet.local import run_local
from twinloop.pipeline.generate import generate, header_of
from twinloop.pipeline.produce import GenerateJob, produce
from twinloop.run.config import RunConfig

FULL = bool(os.environ.get("TWINLOOP_FAULTS"))


@pytest.mark.parametrize("workers", [2, 7])
def test_the_digest_is_the_same_at_any_number_of_workers(config: RunConfig, digest: str, workers: int, tmp_path: Path):
    assert generate(config, tmp_path / "data", episodes=EPISODES, workers=workers).digest == digest


def test_the_digest_is_the_same_when_shuffled_and_narrow(config: RunConfig, digest: str, tmp_path: Path):
    with DatasetWriter.open(tmp_path / "d", header_of(config, "d", EPISODES, False), config.to_yaml()) as writer:
        ranges = writer.missing()
        random.Random(5).shuffle(ranges)
        job = GenerateJob(config.to_yaml(), str(tmp_path), False, str(writer.scratch("")), width=3)
        for _, draft in run_local(produce, job, ranges, workers=1):
            writer.commit(draft)
        assert writer.finish() == digest


@pytest.mark.parametrize("hash_seed", ["0", "1", "4242"] if FULL else ["0"])
def test_under_any_hash_seed(config: RunConfig, digest: str, hash_seed: str, tmp_path: Path):
    """The reference digest comes from a process with another, random hash seed."""
    file = tmp_path / "cell.yaml"
    file.write_text(config.to_yaml())
    command = [sys.executable, "-m", "twinloop", "generate", str(file), "--episodes", str(EPISODES)]
    command += ["--workers", "1", "--out", str(tmp_path / "data"), "--json"]
    environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    assert json.loads(done.stdout.splitlines()[-1])["digest"] == digest


def test_another_seed_gives_another_digest(config: RunConfig, digest: str, tmp_path: Path):
    other = replace(config, rollout=replace(config.rollout, seed=1))
    assert generate(other, tmp_path / "data", episodes=EPISODES, workers=1).digest != digest
