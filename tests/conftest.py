"""What the tests share: one compiled twin, and a short way to simulate a few episodes."""

from collections.abc import Callable, Mapping

import numpy as np
import pytest

from twinloop.randomize.distribution import Distribution, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

SEED_RANGES: dict[str, Distribution] = {
    "object_mass_kg": Uniform(0.05, 0.4),
    "friction_coefficient": Uniform(0.2, 1.1),
    "object_position_noise_cm": Uniform(-2.0, 2.0),
}

Simulate = Callable[..., Episodes]


@pytest.fixture(scope="session")
def twin() -> Twin:
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"])


@pytest.fixture(scope="session")
def simulate(twin: Twin) -> Simulate:
    """Episodes [first, stop) of a run, all at once or `width` at a time."""

    def run(
        stop: int,
        *,
        first: int = 0,
        width: int | None = None,
        ranges: Mapping[str, Distribution] = SEED_RANGES,
        expert: ExpertConfig = ExpertConfig(),  # noqa: B008
        of: Twin = twin,
        seed: int = 0,
    ) -> Episodes:
        width = width or stop - first
        draws = Sampler(ranges, seed=seed).draw(first, stop)
        actor = Expert(of, expert, width=width, seed=seed)
        (episodes,) = rollout(Cell(of, width=width), iter([draws]), actor, seed=seed)
        return episodes

    return run


@pytest.fixture(scope="session")
def few(simulate: Simulate) -> Episodes:
    return simulate(12)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(1)
