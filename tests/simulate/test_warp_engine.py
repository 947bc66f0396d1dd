"""MuJoCo Warp on its CPU device against MuJoCo: the same twin, draws and expert, for a short while.

The tolerances are about ten times what was measured; Warp computes in single precision.
"""

import os
from importlib.util import find_spec

import numpy as np
import pytest

from tests.conftest import SEED_RANGES
from twinloop.randomize.distribution import Constant, Distribution
from twinloop.randomize.draw import Sampler
from twinloop.randomize.table import BY_NAME
from twinloop.simulate.cell import Cell
from twinloop.simulate.engine import EngineConfig, make_engine
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.twin import Twin

# Not imported here: the import takes seconds in every test process.
if find_spec("mujoco_warp") is None:
    pytest.skip("MuJoCo Warp is not installed: pip install 'twinloop[warp]'", allow_module_level=True)

CLOSE_M, CLOSE_RAD, CLOSE_N = 2e-5, 2e-5, 0.02
WIDTH = 3
ALL = np.arange(WIDTH)

# Each reaches the device in a way of its own. TWINLOOP_WARP_ROWS says how many of them are tried.
ROWS = (
    "table_height_cm", "object_size_scale", "action_delay_ms", "table_tilt_deg", "solver_impratio",
    "joint_friction_nm", "gravity_tilt_deg", "object_mass_kg", "friction_coefficient", "contact_stiffness_scale",
    "contact_damping_ratio", "joint_damping_nms_rad", "servo_stiffness_scale", "servo_damping_scale",
    "grip_force_scale", "object_com_offset_mm", "pad_stiffness_n_mm", "contact_margin_mm",
)  # fmt: skip
TRIED = int(os.environ.get("TWINLOOP_WARP_ROWS", "4"))


def warp_cell(twin: Twin, width: int = WIDTH) -> Cell:
    return Cell(twin, width=width, engine=make_engine(EngineConfig("warp", "cpu"), twin.model, width=width))


@pytest.fixture(scope="module")
def cells(twin: Twin) -> tuple[Cell, Cell]:
    """One of each engine. Warp compiles its kernels when they are first used."""
    return Cell(twin, width=WIDTH), warp_cell(twin)


def admit(cell: Cell, ranges: dict[str, Distribution], seed: int = 0) -> None:
    ids = np.arange(cell.width)
    cell.admit(ids, Sampler(ranges, seed=seed).draw(0, cell.width), ids)


def test_free_motion_agrees_for_half_a_second(cells: tuple[Cell, Cell]):
    """The arm waves about and the object, let go in the air and turning, falls: nothing touches anything."""
    travelled = []
    for cell in cells:
        admit(cell, SEED_RANGES, seed=3)
        cell.position("object")[:, 2] += 1.5
        dof = cell.twin.things[0].dof
        cell.engine.bind("qvel")[:, dof : dof + 6] = [0.3, 0.2, 1.0, 3.0, -2.0, 1.0]
        cell.engine.forward(ALL)
        before = cell.position("object").copy()
        for tick in range(12):
            wave = 0.15 * np.sin(0.5 * tick + np.arange(len(cell.twin.arm_joints)))
            cell.step(None, np.array(cell.twin.robot.home_rad) + np.tile(wave, (WIDTH, 1)), np.full((WIDTH, 1), 0.04))
        assert not cell.failed.any()
        travelled.append(np.abs(cell.position("object") - before).max())
    ours, theirs = cells
    assert min(travelled) > 0.1
    assert ours.support_force_n.max() == theirs.support_force_n.max() == 0
    np.testing.assert_allclose(theirs.arm_position_rad, ours.arm_position_rad, atol=CLOSE_RAD)
    np.testing.assert_allclose(theirs.arm_velocity_rad_s, ours.arm_velocity_rad_s, atol=50 * CLOSE_RAD)
    np.testing.assert_allclose(theirs.tool_position, ours.tool_position, atol=CLOSE_M)
    np.testing.assert_allclose(theirs.position("object"), ours.position("object"), atol=CLOSE_M)
    np.testing.assert_allclose(theirs.axes("object"), ours.axes("object"), atol=CLOSE_RAD)
    np.testing.assert_allclose(theirs.time_s, ours.time_s, atol=1e-9)


def demonstrate(
    cell: Cell, ranges: dict[str, Distribution], ticks: int, commands: list[tuple[np.ndarray, np.ndarray]] | None = None
) -> np.ndarray:
    """(ticks, width, 12): joints, object and finger forces while the expert works.

    Args:
        commands: the expert's commands are added to an empty list; those of a filled one are sent instead.
    """
    given = list(commands or ())
    ids = np.arange(cell.width)
    draws = Sampler(ranges, seed=0).draw(0, cell.width)
    expert = Expert(cell.twin, ExpertConfig(), width=cell.width, seed=0)
    cell.admit(ids, draws, ids)
    expert.begin(ids, draws, ids)
    seen = []
    for tick in range(ticks):
        act = expert.act(cell)
        command = given[tick] if given else (act.command_rad, act.opening)
        if commands is not None and not given:
            commands.append(command)
        cell.step(None, *command)
        seen.append(np.hstack([cell.arm_position_rad, cell.position("object"), cell.finger_force_n]))
    assert not cell.failed.any()
    return np.array(seen)


def test_a_grasp_agrees_for_two_seconds(cells: tuple[Cell, Cell]):
    """Down to the object, fingers closed, and lifted: 500 steps, the last 150 of them in contact."""
    commands: list[tuple[np.ndarray, np.ndarray]] = []
    # The same commands: an expert that ends a phase a period later in one engine says nothing about the engines.
    ours, theirs = (demonstrate(cell, SEED_RANGES, 50, commands) for cell in cells)
    pressed = ours[-1, :, 10:].min(axis=1) > 5
    assert pressed.sum() >= 2
    assert (cells[0].position("object")[pressed, 2] > 0.021).any()
    # What is drawn matters far more than what the engines differ by.
    assert np.ptp(ours[-1, :, 7:10], axis=0).max() > 1000 * CLOSE_M
    # A finger that brushes the object on its way down may touch it a step earlier in one of the engines.
    np.testing.assert_allclose(theirs[..., :7], ours[..., :7], atol=10 * CLOSE_RAD)
    np.testing.assert_allclose(theirs[..., 7:10], ours[..., 7:10], atol=10 * CLOSE_M)
    # While fingers are just arriving, force is a matter of microseconds.
    np.testing.assert_allclose(theirs[-1, :, 10:], ours[-1, :, 10:], atol=CLOSE_N)
    for name in ("support_force_n", "hardest_contact_n", "penetration_m", "arm_effort_nm", "tool_axes"):
        np.testing.assert_allclose(getattr(cells[1], name), getattr(cells[0], name), atol=CLOSE_N, err_msg=name)


@pytest.fixture(scope="module")
def able_cells(twin: Twin) -> tuple[Cell, Cell]:
    able = assemble(
        twin.robot, twin.task, twin.object,
        features=Features(rolling_friction=True, off_centre_mass=True, longest_delay_s=0.1, soft_pads=True),
    )  # fmt: skip
    return Cell(able, width=1), warp_cell(able, width=1)


@pytest.fixture(scope="module")
def unvaried(able_cells: tuple[Cell, Cell]) -> np.ndarray:
    return demonstrate(able_cells[0], {"object_position_noise_cm": Constant(0.0)}, 55)


@pytest.mark.parametrize("name", ROWS[:TRIED])
def test_a_drawn_value_reaches_the_device(able_cells: tuple[Cell, Cell], unvaried: np.ndarray, name: str):
    ranges: dict[str, Distribution] = {name: Constant(BY_NAME[name].sensible[1])}
    ours, theirs = (demonstrate(cell, ranges, 55) for cell in able_cells)
    effect, error = np.abs(ours - unvaried), np.abs(theirs - ours)
    assert error[..., :10].max() < 10 * CLOSE_M
    assert error[..., :10].max() < 0.1 * effect[..., :10].max()


def test_an_episode_is_the_same_at_any_width_and_in_any_slot(twin: Twin):
    def run(width: int) -> Episodes:
        draws = Sampler(SEED_RANGES, seed=0).draw(0, 3)
        expert = Expert(twin, ExpertConfig(), width=width, seed=0)
        (episodes,) = rollout(warp_cell(twin, width), iter([draws]), expert, seed=0)
        return episodes

    wide, narrow = run(3), run(2)
    assert wide.success.all()
    np.testing.assert_array_equal(wide.lengths, narrow.lengths)
    np.testing.assert_array_equal(wide.tape, narrow.tape)


def test_a_diverged_simulation_is_noticed_and_its_neighbours_do_not_notice(cells: tuple[Cell, Cell]):
    cell = cells[1]
    ends = []
    for sabotaged in (False, True):
        admit(cell, SEED_RANGES)
        if sabotaged:
            cell.engine.bind("qvel")[1, 0] = np.nan
        for _ in range(4):
            cell.step(None, np.tile(cell.twin.robot.home_rad, (WIDTH, 1)), np.full((WIDTH, 1), 0.04))
        assert cell.diverged(np.full(WIDTH, 4 * cell.twin.control_period_s)).tolist() == [False, sabotaged, False]
        ends.append(cell.engine.bind("qpos").copy())
    np.testing.assert_array_equal(ends[0][[0, 2]], ends[1][[0, 2]])
    # Whoever comes next into that slot starts afresh.
    admit(cell, SEED_RANGES)
    assert not cell.failed.any()


def rest_one_of_three(twin: Twin) -> np.ndarray:
    """Which simulations have failed, with one object on the table and two in the air."""
    cell = warp_cell(twin)
    admit(cell, SEED_RANGES)
    assert not cell.failed.any()
    cell.position("object")[1:, 2] += 1.5
    cell.engine.forward(ALL)
    for _ in range(2):
        cell.step(None, np.tile(twin.robot.home_rad, (WIDTH, 1)), np.full((WIDTH, 1), 0.04))
    assert cell.diverged(np.full(WIDTH, 2 * twin.control_period_s)).tolist() == cell.failed.tolist()
    return cell.failed


def test_a_simulation_without_room_for_its_constraints_is_given_up(twin: Twin, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("twinloop.simulate.warp_engine.MOST_ROWS", 4)
    assert rest_one_of_three(twin).tolist() == [True, False, False]


def test_contacts_share_their_room_and_all_are_given_up_without_it(twin: Twin, monkeypatch: pytest.MonkeyPatch):
    """Whose contact was left out cannot be told, so none of them is believed."""
    monkeypatch.setattr("twinloop.simulate.warp_engine.MOST_CONTACTS", 1)
    monkeypatch.setattr("twinloop.simulate.warp_engine.MOST_CONVEX", 1)
    assert rest_one_of_three(twin).all()


def test_simulations_that_are_not_stepped_stay_as_they_are(cells: tuple[Cell, Cell]):
    cell = cells[1]
    admit(cell, SEED_RANGES)
    before, seen = cell.engine.bind("qpos").copy(), cell.tool_position.copy()
    command = np.array(cell.twin.robot.home_rad) + 0.2
    cell.step(np.array([2]), np.tile(command, (WIDTH, 1)), np.full((WIDTH, 1), 0.04))
    moved = np.abs(cell.engine.bind("qpos") - before).max(axis=1) > 1e-4
    assert moved.tolist() == [False, False, True]
    np.testing.assert_array_equal(cell.tool_position[:2], seen[:2])
    np.testing.assert_array_equal(cell.time_s, [0, 0, cell.twin.control_period_s])
