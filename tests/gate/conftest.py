"""A policy in canary with all its evidence. Tests change a copy of it."""

import shutil
from pathlib import Path

import pytest

from tests.gate.world import World


@pytest.fixture(scope="session")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Policy 1 in canary; nothing is live."""
    world = World(tmp_path_factory.mktemp("template"))
    world.policy(1)
    assert world.promote(1, evaluations=(world.evaluated(1),)).reached == "canary"
    return world.path


@pytest.fixture
def world(template: Path, tmp_path: Path) -> World:
    """A copy of the template for one test."""
    shutil.copytree(template, tmp_path / "world")
    return World(tmp_path / "world")
