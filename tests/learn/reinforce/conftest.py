"""Torch on one thread, and a small dataset of the scripted expert."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from tests.environments.cells import config_of
from twinloop.run.config import RunConfig

CELL = """
scene: {robot: franka_panda, task: push_to_goal}
randomization: {physics: {object_position_noise_cm: [-1, 1]}}
rollout: {control_hz: 10}
"""


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def cell() -> RunConfig:
    return config_of("{action_scale: 0.3, time_limit_s: 12}", CELL)


@pytest.fixture(scope="session")
def demonstrated(cell: RunConfig, tmp_path_factory: pytest.TempPathFactory) -> Path:
    from twinloop.api.generating import generate

    return generate(cell.with_seed(3), tmp_path_factory.mktemp("data") / "demo", episodes=3, workers=1).path
