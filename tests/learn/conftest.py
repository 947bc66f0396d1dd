"""A brain to act with: what was done in a hundred demonstrations."""

import pytest

from tests.conftest import Simulate
from tests.learn.neighbours import Neighbours
from twinloop.twin.twin import Twin


@pytest.fixture(scope="session")
def neighbours(simulate: Simulate, twin: Twin) -> Neighbours:
    return Neighbours.of(simulate(60), twin)
