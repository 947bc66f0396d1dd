"""Fixtures of robot tests: one running cell, which takes seconds to start."""

import warnings
from collections.abc import Iterator

import pytest

from twinloop.deploy.rehearsal.client import RehearsalRobot


def need_drake() -> None:
    pytest.importorskip("pydrake", reason="Drake is not installed: pip install --no-deps drake")


def need_physx() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pytest.importorskip("sapien", reason="SAPIEN is not installed: pip install 'twinloop[physx]'")


@pytest.fixture(scope="session")
def nominal() -> Iterator[RehearsalRobot]:
    need_drake()
    with RehearsalRobot("nominal") as robot:
        yield robot
