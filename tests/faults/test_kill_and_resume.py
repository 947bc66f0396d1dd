"""Promise: killed at any moment, also while it resumes, the same command makes the same dataset.

`tests/laws/test_dataset_laws.py` kills a writer before every change of the disk. Here the whole command with its
workers is killed from outside, at random moments.
"""

import os
import shutil
import signal
import subprocess
from pathlib import Path

from tests.faults.conftest import Undisturbed
from tests.faults.counts import fresh_rng, times
from tests.faults.folder import committed_shards_are_whole, files
from twinloop.dataset import verify

KILLS_A_DATASET = 4  # then it is finished and compared, and the next one begun


def killed(command: list[str], after_s: float) -> bool:
    """Run a command with all its workers, and kill them; False if it was done before."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
    try:
        process.wait(timeout=after_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        return True
    return False


def test_the_command_killed_at_random_moments(undisturbed: Undisturbed, tmp_path: Path):
    rng, left = fresh_rng(), times(2, 50)
    expected, interrupted = files(undisturbed.path), 0
    while left:
        out = tmp_path / "data"
        for _ in range(min(left, KILLS_A_DATASET)):
            left -= 1
            # Every second kill is early, so that resuming is killed too.
            most_s = undisturbed.seconds * (0.6 if left % 2 else 1.0)
            interrupted += killed(undisturbed.command(out), rng.uniform(0.2 * most_s, most_s))
            committed_shards_are_whole(out)
        assert undisturbed.generate(out)["digest"] == undisturbed.digest
        assert files(out) == expected
        report = verify(out)
        assert report.ok, report.problems
        assert not any((out / "scratch").iterdir())
        shutil.rmtree(out)
    assert interrupted > 0
