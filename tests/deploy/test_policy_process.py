"""A policy in its own process: it answers requests, and checkpoints that cannot be loaded are refused by name."""

from pathlib import Path

import numpy as np
import pytest

from tests.deploy.made_up import described
from tests.deploy.unruly import PROGRAM, policy_file
from twinloop.deploy.policy.client import PolicyProcess
from twinloop.errors import CheckpointError, PolicyError
from twinloop.twin.twin import Twin


def test_the_process_returns_the_requested_chunk(twin: Twin, tmp_path: Path):
    about = described(twin)
    file = policy_file(tmp_path / "policy.json", about.space(), horizon=3)
    features = {feature.name: np.zeros(feature.shape, np.float32) for feature in about.observed}
    with PolicyProcess(file, program=PROGRAM) as policy:
        policy.facts.refuse_misfit(about)
        for _ in range(3):
            policy.ask(features, instruction="go", noise=np.zeros((3, 8), np.float32), timeout_s=5)
            chunk = policy.answer(20)
            assert chunk is not None
            assert chunk.shape == (3, 8)
        pid = policy.pid
    assert not Path(f"/proc/{pid}").exists()
    with pytest.raises(PolicyError, match="is not running"):
        policy.answer(0)


def test_an_invalid_checkpoint_is_refused_by_name(tmp_path: Path):
    for path in (tmp_path / "missing", tmp_path / "missing.onnx"):
        with pytest.raises(CheckpointError, match="missing"):
            PolicyProcess(path).known()
        with pytest.raises(CheckpointError, match="missing"), PolicyProcess(path):
            pass
