"""The scripted expert: it succeeds, keeps to the limits, tries again, and its noise is what it says."""

import numpy as np
import pytest

from tests.conftest import Simulate
from twinloop.curate.judge import judge
from twinloop.curate.limits import CurateConfig
from twinloop.randomize.distribution import Uniform
from twinloop.randomize.draw import Sampler
from twinloop.simulate.cell import Cell
from twinloop.simulate.episodes import Episodes
from twinloop.simulate.expert import Expert, ExpertConfig
from twinloop.simulate.program import FREES_M, Program
from twinloop.simulate.rollout import rollout
from twinloop.twin.assemble import assemble
from twinloop.twin.compose import Features
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robot import Robot
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.robots.so101 import SO101
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

GRIPPY = {
    "object_mass_kg": Uniform(0.05, 0.4),
    "friction_coefficient": Uniform(0.4, 1.1),
    "object_position_noise_cm": Uniform(-2.0, 2.0),
}
EVERYTHING = {
    **GRIPPY,
    "object_yaw_deg": Uniform(-45.0, 45.0),
    "object_size_scale": Uniform(0.9, 1.15),
    "target_position_noise_cm": Uniform(-3.0, 3.0),
    "table_height_cm": Uniform(-1.0, 1.0),
    "gravity_tilt_deg": Uniform(-2.0, 2.0),
    "servo_stiffness_scale": Uniform(0.7, 1.3),
    "servo_damping_scale": Uniform(0.7, 1.3),
    "joint_friction_nm": Uniform(0.0, 1.0),
    "joint_damping_nms_rad": Uniform(0.0, 5.0),
    "contact_stiffness_scale": Uniform(0.3, 2.0),
}


def test_nearly_all_of_the_default_is_accepted_where_friction_suffices(simulate: Simulate, twin: Twin):
    episodes = simulate(200, ranges=GRIPPY)
    accepted = judge(episodes, twin, CurateConfig()).accepted
    assert accepted.mean() >= 0.95


def test_it_copes_with_everything_varying_at_once(simulate: Simulate):
    assert simulate(96, ranges=EVERYTHING).success.mean() >= 0.85


@pytest.mark.parametrize("name", ["block", "tower", "can", "puck"])
def test_it_handles_every_object_of_the_family(simulate: Simulate, name: str):
    of = assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS[name])
    assert simulate(32, of=of, ranges=GRIPPY).success.mean() >= 0.85


def test_commands_stay_within_the_limits(few: Episodes, twin: Twin):
    low, high = twin.arm_limits_rad.T
    for channel in ("action", "command"):
        assert (few[channel][:, :-1] >= low - 1e-6).all()
        assert (few[channel][:, :-1] <= high + 1e-6).all()
    speed = np.abs(few["velocity"][:, :-1])
    assert (speed <= np.array(twin.robot.velocity_limits_rad_s)).all()


def test_phases_come_in_order_and_contact_is_seen(few: Episodes):
    for start, length in zip(few.starts, few.lengths, strict=True):
        phase = few["phase"][start : start + length, 0]
        assert (np.diff(phase) >= 0).all()
        assert set(phase) == set(range(8))
        carried = few["contact"][start : start + length][phase == 4]
        assert (carried[:, :2] > 10).all()
        assert (carried[:, 2] == 0).all()


def test_success_and_reward_belong_to_the_frame_that_led_there(few: Episodes):
    ends = few.starts + few.lengths - 1
    assert few["success"][ends, 0].all()
    assert (few["success"][few.starts, 0] == 0).all()
    np.testing.assert_array_equal(few["success"], few["reward"])


class _Thief:
    """Takes the object out of the hand while it is carried, once."""

    def __init__(self, expert: Expert):
        self.expert, self.taken = expert, False

    def begin(self, ids, draws, rows):
        self.expert.begin(ids, draws, rows)

    def act(self, cell: Cell):
        act = self.expert.act(cell)
        if not self.taken and (act.phase == 4).all():
            self.taken = True
            cell.position("object")[:] = [0.5, -0.05, 0.02]
            dof = cell.twin.things[0].dof
            cell.engine.bind("qvel")[:, dof : dof + 3] = 0
        return act


@pytest.mark.parametrize(("retries", "succeeds"), [(1, True), (0, False)])
def test_a_lost_grasp_is_tried_once_more(twin: Twin, retries: int, succeeds: bool):
    draws = Sampler({}, seed=0).draw(0, 2)
    expert = Expert(twin, ExpertConfig(action_noise_rad=0.0, retries=retries), width=2, seed=0)
    (episodes,) = rollout(Cell(twin, width=2), iter([draws]), _Thief(expert), seed=0)
    assert episodes.success.tolist() == [succeeds] * 2
    assert episodes.lost.tolist() == [not succeeds] * 2
    assert episodes.retries.tolist() == [retries] * 2


def test_action_noise_reaches_the_motors_and_not_the_label(simulate: Simulate):
    clean = simulate(4, expert=ExpertConfig(action_noise_rad=0.0))
    np.testing.assert_array_equal(clean["action"], clean["command"])
    noisy = simulate(4, expert=ExpertConfig(action_noise_rad=0.01))
    added = (noisy["command"] - noisy["action"])[noisy["phase"][:, 0] != 2, :-1]
    assert added[added[:, 0] != 0].std() == pytest.approx(0.01, rel=0.2)
    assert (noisy["command"] == noisy["action"])[noisy["phase"][:, 0] == 2].all()


def test_the_noise_does_not_depend_on_how_much_of_it_is_drawn_at_once(
    simulate: Simulate, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr("twinloop.simulate.expert.DRAWN_TICKS", 7)
    piecewise = simulate(4)
    monkeypatch.setattr("twinloop.simulate.expert.DRAWN_TICKS", 100_000)
    at_once = simulate(4)
    assert piecewise.lengths.min() > 3 * 7
    assert np.array_equal(piecewise["command"], at_once["command"])


def test_frames_are_recorded_at_the_control_rate(few: Episodes, twin: Twin):
    assert twin.control_hz >= 20
    assert twin.substeps * twin.model.opt.timestep == pytest.approx(twin.control_period_s)
    # Positions change as their velocities say, within what a control period allows.
    moved = np.diff(few["position"][: few.lengths[0], 0])
    expected = few["velocity"][: few.lengths[0] - 1, 0] * twin.control_period_s
    assert np.corrcoef(moved, expected)[0, 1] > 0.95


LATE = {
    "action_delay_ms": Uniform(80.0, 130.0),
    "servo_stiffness_scale": Uniform(0.4, 0.6),
    "backlash_mrad": Uniform(0.0, 15.0),
    "object_position_noise_cm": Uniform(-4.0, 4.0),
}


def test_arms_that_are_late_and_soft_are_not_made_to_swing(simulate: Simulate, twin: Twin):
    late = assemble(FRANKA_PANDA, PICK_AND_PLACE, OBJECTS["cube"], features=Features(longest_delay_s=0.13))
    episodes = simulate(24, of=late, ranges=LATE)
    assert episodes.success.all()
    assert (episodes.retries == 0).all()
    assert episodes.lengths.mean() * twin.control_period_s < 6


def test_fingers_that_slip_are_not_meant_to_and_what_is_lost_is_fetched_again(simulate: Simulate):
    slipped = simulate(24, expert=ExpertConfig(slips=1.0))
    meant, sent = slipped["action"][:, -1], slipped["command"][:, -1]
    assert (meant != sent).any()
    assert (slipped.retries > 0).any()
    assert slipped.success.mean() > 0.9
    plain = simulate(4, expert=ExpertConfig())
    np.testing.assert_array_equal(plain["action"][:, -1], plain["command"][:, -1])


def test_an_unsteady_arm_misses_the_hole_and_corrects_it(simulate: Simulate):
    """The recorded action has no noise, so a policy learns the correction."""
    task = tasks()["peg_insertion"]
    steady, unsteady = (
        simulate(24, of=assemble(FRANKA_PANDA, task), expert=ExpertConfig(action_noise_rad=0.01, unsteady=share))
        for share in (0.0, 1.0)
    )
    inserting = task.phase_names.index("insert")
    beyond = [np.abs(e["command"] - e["action"])[e["phase"][:, 0] == inserting].max() for e in (steady, unsteady)]
    assert beyond[1] > 3 * beyond[0]
    assert np.median(unsteady.lengths) > 1.2 * np.median(steady.lengths)
    assert unsteady.success.mean() > 0.9


@pytest.mark.parametrize(("robot", "aside_m"), [(FRANKA_PANDA, 0.0), (SO101, FREES_M)])
def test_a_jaw_that_does_not_move_is_taken_away_from_the_thing_at_a_release(robot: Robot, aside_m: float):
    cell = Cell(assemble(robot, PICK_AND_PLACE), width=1)
    program = Program(cell.twin, width=1)
    phase = np.array([PICK_AND_PLACE.phase_names.index("release")])
    program.enter(cell, phase, np.ones(1, bool))
    error, _ = program.errors(cell, phase)
    # The jaw is at positive y of the tool.
    np.testing.assert_allclose(error, aside_m * cell.tool_axes[:, :, 1], atol=1e-12)
