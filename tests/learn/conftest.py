from pathlib import Path

import pytest
import torch

from tests.conftest import Simulate
from tests.learn.demonstrated import reaching
from tests.learn.neighbours import Neighbours
from twinloop.twin.twin import Twin


@pytest.fixture(scope="session")
def reached(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return reaching(tmp_path_factory.mktemp("data") / "reach", episodes=160)


@pytest.fixture(scope="session", autouse=True)
def one_thread() -> None:
    """Small networks are faster on one thread, and tests share the cores."""
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def neighbours(simulate: Simulate, twin: Twin) -> Neighbours:
    """A runtime that repeats the actions of some demonstrations."""
    return Neighbours.of(simulate(60), twin)
