"""A push that slides past its thing begins again; held things stay between soft pads; each jaw feels its own force."""

from pathlib import Path
from typing import cast

import numpy as np
import pytest

from twinloop.run.config import RunConfig, config_from_text
from twinloop.run.twin import twin_of
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert
from twinloop.simulate.rollout import rollout
from twinloop.twin.rotation import inverse_rotated
from twinloop.twin.scene import Scene

WIDTH = 8


class Moved:
    """A cell whose tools are elsewhere."""

    def __init__(self, cell: Cell, tool_m: np.ndarray):
        self._cell, self.tool_position = cell, tool_m

    def __getattr__(self, name: str):
        return getattr(self._cell, name)


class Watched(Expert):
    """An expert that notes the thing's place in the tool's frame, and its phase, in every control period."""

    def begin(self, ids, draws, rows):
        super().begin(ids, draws, rows)
        self.places: list[np.ndarray] = []
        self.phases: list[np.ndarray] = []

    def act(self, cell):
        actions = super().act(cell)
        offset = cell.position(self.twin.task.things[0].name) - cell.tool_position
        self.places.append(inverse_rotated(cell.tool_axes, offset))
        self.phases.append(actions.phase.copy())
        return actions


def simulate(config: RunConfig) -> tuple[Episodes, Watched]:
    twin = twin_of(config)
    expert = Watched(twin, config.expert, width=WIDTH, seed=5)
    (episodes,) = rollout(Cell(twin, width=WIDTH), iter([config.sampler(seed=5).draw(0, WIDTH)]), expert, seed=5)
    return episodes, expert


def config_of(text: str) -> RunConfig:
    return config_from_text(text, name="cell.yaml", folder=Path())


def test_a_push_that_has_slid_past_its_thing_begins_again():
    config = config_of("scene: {task: push_to_goal}\n")
    twin = twin_of(config)
    cell = Cell(twin, width=WIDTH)
    expert = Expert(twin, config.expert, width=WIDTH, seed=5)
    slots, draws = np.arange(WIDTH), config.sampler(seed=5).draw(0, WIDTH)
    cell.admit(slots, draws, slots)
    program = expert._arms[0].program
    number = [phase.name for phase in program.phases].index("push")
    lost = program.phases[number].lost
    assert lost is not None
    way = cell.position("goal") - cell.position("object")
    way = 0.05 * way / np.linalg.norm(way, axis=1)[:, None]
    for offset, expected in ((-way, False), (way, True)):
        scene = cast(Scene, Moved(cell, cell.position("object") + offset))
        assert (lost(scene) == expected).all()
    assert program.phases[program.retry[number]].name == "approach"


def test_a_held_thing_stays_between_soft_pads():
    text = "scene: {task: pick_and_place, object: can}\nrandomization: {physics: {pad_stiffness_n_mm: [20, 40]}}\n"
    episodes, watched = simulate(config_of(text))
    assert episodes.success.all()
    names = [phase.name for phase in watched.twin.task.phases]
    places, phases = np.array(watched.places), np.array(watched.phases)
    for slot in range(WIDTH):
        carried = places[phases[:, slot] == names.index("lift"), slot]
        assert np.linalg.norm(carried[-1] - carried[2]) < 0.003


def test_each_jaw_of_so101_feels_the_thing_with_its_own_force():
    episodes, watched = simulate(config_of("scene: {robot: so101, task: pick_and_place}\n"))
    assert episodes.success.all()
    names = [phase.name for phase in watched.twin.task.phases]
    carried = episodes["contact"][episodes["phase"][:, 0] == names.index("transfer"), :2]
    fixed, moving = np.median(carried, axis=0)
    # The sensor of the jaw that carries the other one would read the sum, which is near zero.
    assert min(fixed, moving) > 3
    assert fixed == pytest.approx(moving, rel=0.5)
