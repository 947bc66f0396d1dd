"""A legged robot in Drake: the twin's cell and rows run on another engine."""

import numpy as np
import pytest

from twinloop.randomize.distribution import Constant
from twinloop.randomize.draw import Sampler
from twinloop.simulate.walk_cell import WalkCell
from twinloop.twin.legs.quadruped import QUADRUPED
from twinloop.twin.legs.terrain import make_terrain
from twinloop.twin.legs.walk_twin import assemble_walk

pytest.importorskip("pydrake")

from twinloop.deploy.rehearsal.drake_ground import LEAVES_M
from twinloop.deploy.rehearsal.drake_walk import DrakeWalkEngine

TWIN = assemble_walk(QUADRUPED, make_terrain("flat"), longest_delay_s=0.05)


def stood(engine: str, seconds: float = 0.8, **values: float) -> WalkCell:
    """A robot that has stood in its nominal pose for a while."""
    cell = WalkCell(TWIN, width=1, engine=DrakeWalkEngine(TWIN, width=1) if engine == "drake" else None)
    draws = Sampler({name: Constant(value) for name, value in values.items()}, seed=0).draw(0, 1)
    first = np.array([0])
    cell.admit(first, draws, first, seed=0)
    for _ in range(round(seconds * TWIN.control_hz)):
        cell.step(None, np.array([QUADRUPED.home_rad]))
    assert not cell.diverged(np.array([seconds])).any()
    return cell


def test_the_robot_stands_in_both_engines_at_the_same_height():
    drake, mujoco = (stood(engine, action_delay_ms=10.0) for engine in ("drake", "mujoco"))
    weight_n = 9.81 * TWIN.model.body_mass.sum()
    for cell in (drake, mujoco):
        assert cell.foot_force_n.sum() == pytest.approx(weight_n, rel=0.1)
        assert cell.base_force_n[0] == 0
    np.testing.assert_allclose(drake.height_m, mujoco.height_m, atol=0.01)
    np.testing.assert_allclose(drake.arm_position_rad, mujoco.arm_position_rad, atol=0.05)


def test_rows_of_the_table_act_in_drake():
    light, heavy = (stood("drake", payload_kg=mass).height_m for mass in (0.0, 8.0))
    assert heavy < light - 0.005
    held, slid = (
        stood("drake", ground_friction_coefficient=friction, gravity_tilt_deg=8.0).base_position[0, :2]
        for friction in (1.0, 0.05)
    )
    assert np.linalg.norm(slid) > 2 * np.linalg.norm(held)


def test_the_robot_stands_on_steps_in_drake_as_in_the_twin():
    twin = assemble_walk(QUADRUPED, make_terrain("stepped"))
    weight_n, first = 9.81 * twin.model.body_mass.sum(), np.array([0])
    cells = [WalkCell(twin, width=1, engine=engine) for engine in (DrakeWalkEngine(twin, width=1), None)]
    for cell in cells:
        cell.admit(first, Sampler({"terrain_level_share": Constant(0.5)}, seed=0).draw(0, 1), first, seed=0)
        for _ in range(round(0.8 * twin.control_hz)):
            cell.step(None, np.array([QUADRUPED.home_rad]))
        assert cell.foot_force_n.sum() == pytest.approx(weight_n, rel=0.1)
        assert cell.base_force_n[0] == 0
    np.testing.assert_allclose(cells[0].base_position, cells[1].base_position, atol=0.01)


def test_ground_is_built_anew_around_a_robot_that_walks_away():
    twin = assemble_walk(QUADRUPED, make_terrain("rough"))
    engine = DrakeWalkEngine(twin, width=1)
    cell, first = WalkCell(twin, width=1, engine=engine), np.array([0])
    cell.admit(first, Sampler({}, seed=0).draw(0, 1), first, seed=0)
    place = cell.base_position[0, :2] + [LEAVES_M + 0.1, 0]
    height = twin.terrain.height_at(place) + 0.5
    cell.start(first, np.array([[*place, height]]), np.zeros(1))
    for _ in range(round(0.8 * twin.control_hz)):
        cell.step(None, np.array([QUADRUPED.home_rad]))
    assert 0.15 < cell.height_m[0] < 0.4
    assert cell.foot_force_n.sum() > 0
