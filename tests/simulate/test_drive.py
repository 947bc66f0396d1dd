"""The drive: commands arrive late, lost, bent; and what a slot does stays its own affair."""

import numpy as np
import pytest

from tests.conftest import Simulate
from twinloop.randomize.actuation import ACTUATION
from twinloop.randomize.distribution import Constant, Distribution, Uniform
from twinloop.randomize.draw import Sampler
from twinloop.randomize.latency import LATENCY
from twinloop.simulate.cell import Cell
from twinloop.simulate.drive import Drive
from twinloop.simulate.expert import ExpertConfig
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

CALM = ExpertConfig(action_noise_rad=0.0)
SEEN_ONLY = ("observation_delay_ms", "observation_loss_share")
ROWS = [row for row in (*ACTUATION, *LATENCY) if row.name not in SEEN_ONLY]


@pytest.fixture(scope="module")
def delayed_twin() -> Twin:
    return assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"], features=Features(longest_delay_s=0.2))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_every_row_changes_the_physics(simulate: Simulate, delayed_twin: Twin, row):
    # An arm with strength to spare does not notice that it lost some.
    besides: dict[str, Distribution] = {}
    value = row.sensible[1]
    if row.name in ("motor_strength_scale", "heat_fade_share"):
        besides["motor_strength_scale"] = Constant(0.35)
        value = 0.3
    plain = simulate(1, ranges=besides, expert=CALM, of=delayed_twin)
    bent = simulate(1, ranges={**besides, row.name: Constant(value)}, expert=CALM, of=delayed_twin)
    assert bent.tape.shape != plain.tape.shape or not np.array_equal(bent.tape, plain.tape)
    assert bent.success.all()


@pytest.mark.parametrize("name", SEEN_ONLY)
def test_what_is_only_seen_late_does_not_move_anything(simulate: Simulate, name: str):
    plain = simulate(1, ranges={}, expert=CALM)
    late = simulate(1, ranges={name: Constant(0.5 if "share" in name else 50.0)}, expert=CALM)
    np.testing.assert_array_equal(late.tape, plain.tape)


def test_the_tape_is_the_same_at_any_width_with_every_row_varying(simulate: Simulate, delayed_twin: Twin):
    ranges = {row.name: Uniform(*row.sensible) for row in ROWS}
    together, alone = (simulate(5, ranges=ranges, of=delayed_twin, width=width) for width in (5, 1))
    np.testing.assert_array_equal(together.tape, alone.tape)


def response(twin: Twin, delay_ms: float) -> int:
    """Physics steps until a joint answers a step of its target."""
    cell = Cell(twin, width=1)
    draws = Sampler({"action_delay_ms": Constant(delay_ms)}, seed=0).draw(0, 1)
    cell.admit(np.array([0]), draws, np.array([0]))
    control, position = cell.batch.bind("ctrl"), cell.batch.bind("qpos")
    control[0, twin.arm_controls[0]] += 0.1
    before = position[0, twin.arm_qpos[0]]
    for steps in range(100):
        if abs(position[0, twin.arm_qpos[0]] - before) > 1e-7:
            return steps
        cell.batch.step()
    raise AssertionError("it never answered")


@pytest.mark.parametrize("delay_ms", [8.0, 40.0, 100.0])
def test_a_delay_is_as_long_as_it_says(delayed_twin: Twin, delay_ms: float):
    extra = response(delayed_twin, delay_ms) - response(delayed_twin, 0.0)
    assert extra * 4.0 == pytest.approx(delay_ms, abs=4.0)


def drive_of(twin: Twin, ranges: dict[str, float]) -> Drive:
    cell = Cell(twin, width=1)
    draws = Sampler({name: Constant(value) for name, value in ranges.items()}, seed=0).draw(0, 1)
    cell.admit(np.array([0]), draws, np.array([0]))
    drive = Drive(cell, seed=0)
    drive.begin(np.array([0]), draws, np.array([0]))
    return drive


def test_without_its_rows_the_drive_passes_commands_on_untouched(twin: Twin):
    command = np.array([twin.robot.home_rad])
    assert drive_of(twin, {"object_mass_kg": 0.1}).carry(command) is command


def test_play_swallows_a_reversal_up_to_its_width(twin: Twin):
    drive = drive_of(twin, {"backlash_mrad": 10.0})
    home = np.array([twin.robot.home_rad])
    there = drive.carry(home + 0.1).copy()
    np.testing.assert_allclose(there, home + 0.1 - 0.005)
    np.testing.assert_array_equal(drive.carry(home + 0.1 - 0.009), there)
    np.testing.assert_allclose(drive.carry(home), home + 0.005)


def test_a_lost_command_leaves_the_last_one_standing(twin: Twin):
    drive = drive_of(twin, {"command_loss_share": 0.5})
    home = np.array([twin.robot.home_rad])
    sent = [home + 0.001 * number for number in range(200)]
    arrived = np.array([drive.carry(command)[0, 0] for command in sent])
    lost = np.diff(arrived) == 0
    assert 0.4 < lost.mean() < 0.6
    # What arrives is what was sent in that very period.
    np.testing.assert_array_equal(arrived[1:][~lost], np.array(sent)[1:, 0, 0][~lost])


def test_noise_has_the_deviation_it_says(twin: Twin):
    drive = drive_of(twin, {"control_noise_mrad": 2.0})
    home = np.array([twin.robot.home_rad])
    arrived = np.concatenate([drive.carry(home) for _ in range(290)])
    assert (arrived - home).std() == pytest.approx(2e-3, rel=0.1)
