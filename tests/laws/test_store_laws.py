"""Laws of generating into an object store: the digest equals that of a folder, also after kills.

The tests start a real S3-compatible server. TWINLOOP_FAULTS=full kills more often.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.laws.conftest import EPISODES
from tests.object_store import Store
from twinloop.dataset import Dataset, verify
from twinloop.dataset.remote.address import Remote
from twinloop.dataset.remote.objects import Objects
from twinloop.pipeline.generate import generate
from twinloop.run.config import RunConfig

FULL = bool(os.environ.get("TWINLOOP_FAULTS"))


@pytest.fixture
def file(config: RunConfig, tmp_path: Path) -> Path:
    path = tmp_path / "cell.yaml"
    path.write_text(config.to_yaml())
    return path


def test_killed_and_run_again(object_store: Store, file: Path, digest: str):
    """At random moments, also while it resumes, until it is done."""
    seed = int(os.environ.get("TWINLOOP_SEED", "0")) or time.time_ns() % 1_000_000
    print(f"TWINLOOP_SEED={seed}")
    rng, address = random.Random(seed), object_store.address("cell")
    command = [sys.executable, "-m", "twinloop", "generate", str(file), "--episodes", str(EPISODES)]
    command += ["--workers", "2", "--out", address]
    objects = Objects(Remote(address))
    for _ in range(40 if FULL else 1):
        wanted = len(objects.sizes("manifest")) + 1  # so that every session gets somewhere
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        while process.poll() is None and len(objects.sizes("manifest")) < wanted:
            time.sleep(0.02)
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.wait()
    done = subprocess.run([*command, "--json"], check=True, capture_output=True, text=True, timeout=300)
    assert json.loads(done.stdout.splitlines()[-1])["digest"] == digest
    verify(Remote(address)).require()
    attempts = Counter(Dataset.open(address).attempts()["attempt"].to_pylist())
    assert attempts == Counter(range(EPISODES))


@pytest.mark.skipif(find_spec("webdav4") is None, reason="webdav4 is not installed: pip install 'twinloop[dev]'")
def test_a_single_writer_where_no_commit_is_atomic(object_store: Store, config: RunConfig, digest: str):
    """Over WebDAV; every worker publishes its own shards."""
    remote = Remote(object_store.file_address("cell"), single_writer=True)
    assert generate(config, remote, episodes=EPISODES, workers=2).digest == digest
    assert verify(remote).require().complete
