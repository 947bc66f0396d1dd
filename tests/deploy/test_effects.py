"""Effects that no row describes: each changes its own cell only."""

import numpy as np
import pytest

from tests.deploy.conftest import need_drake, need_physx
from twinloop.deploy.rehearsal.cell_file import cell_of
from twinloop.deploy.rehearsal.cell_layout import situation_of
from twinloop.deploy.rehearsal.effects import EFFECTS, worn_pads
from twinloop.deploy.rehearsal.world import CellWorld
from twinloop.randomize.table import BY_NAME

MOVED = {"cable": "position", "stick_slip": "position", "vibration": "environment", "brown_out": "position",
         "tracker_swap": "environment", "lean": "environment"}  # fmt: skip


def history(spec: str, *, seconds: float = 2.0) -> dict[str, np.ndarray]:
    cell = cell_of(spec)
    world = CellWorld(cell, situation_of(cell, 0), 0)
    home = np.array([*world.twin.robot.home_rad, world.twin.robot.gripper.open])
    for period in range(round(seconds / world.twin.control_period_s)):
        command = home.copy()
        command[:-1] += 0.1 * np.sin(period / 8)
        world.command(command)
        world.pass_time(world.twin.control_period_s)
    return {name: world.past._rows[: world.past._count, part] for name, part in world.past._parts.items()}


@pytest.fixture(scope="module")
def plain() -> dict[str, np.ndarray]:
    need_physx()
    return history("physx:nominal")


def test_no_effect_is_a_row():
    assert not {effect.name for effect in EFFECTS} & set(BY_NAME)


@pytest.mark.parametrize("name", MOVED)
def test_an_effect_changes_the_cell_by_its_size(plain: dict[str, np.ndarray], name: str):
    channel = MOVED[name]
    # Rare events may come late in an episode.
    seconds = 8.0 if name == "brown_out" else 2.0
    off, on = (history(f"physx:nominal,effect={name}:{size}", seconds=seconds)[channel] for size in (0.0, 1.0))
    np.testing.assert_array_equal(off[: len(plain[channel])], plain[channel])
    assert np.abs(on - off).max() > 2e-4


@pytest.mark.parametrize("spec", ["effect=lean:1", "effect=vibration:1"])
def test_drake_has_the_effects_that_move_the_table_too(spec: str):
    need_drake()
    moved = history(f"nominal,{spec}")["environment"]
    still = history("nominal")["environment"]
    assert 2e-4 < np.abs(moved - still)[:, :3].max() < 0.02


def test_a_worn_pad_has_less_friction():
    assert worn_pads({}) == (1.0, 1.0)
    left, right = worn_pads({"worn_pad": 1.0})
    assert left < right < 1


def test_seeds_draw_effects_in_about_a_third_of_the_cells():
    drawn = [cell_of(f"seed={seed}").effects for seed in range(90)]
    assert 15 < sum(map(bool, drawn)) < 45
    assert {name for effects in drawn for name in effects} == {effect.name for effect in EFFECTS}
