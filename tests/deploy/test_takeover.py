"""A human takes over from a policy, moves the robot with keys, and gives control back; frames say who acted."""

import os
import pty
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from tests.deploy.made_up import described
from tests.deploy.scripted_robot import ScriptedRobot
from tests.deploy.unruly import PROGRAM, policy_file
from twinloop.deploy.episode_runner import DeployConfig, EpisodeRunner, RunnerJob
from twinloop.deploy.estop import EStop
from twinloop.deploy.keys import Keys
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.policy.client import PolicyProcess
from twinloop.deploy.robot import Reading
from twinloop.deploy.takeover import STEP_M, KeyControl
from twinloop.errors import UsageError
from twinloop.gate.permit import ungated
from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.twin import Twin

pytestmark = pytest.mark.usefixtures("forked_servers")


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[tuple[OperatorInput, int]]:
    """The operator's input, and the other end of their terminal."""
    ours, theirs = pty.openpty()
    with Keys(theirs) as keys:
        yield OperatorInput(EStop(tmp_path / "stop"), keys), ours
    os.close(ours)
    os.close(theirs)


class TypedRobot(ScriptedRobot):
    """A robot whose operator types at given periods."""

    def __init__(self, twin: Twin, terminal: int, typed: dict[int, bytes]):
        super().__init__(twin)
        self._terminal, self._typed, self._periods = terminal, typed, 0

    def observe(self) -> Reading:
        os.write(self._terminal, self._typed.get(self._periods, b""))
        self._periods += 1
        return super().observe()


def test_the_key_switches_between_policy_and_human(terminal: tuple[OperatorInput, int]):
    operator, keyboard = terminal
    operator.can_take_over = True
    os.write(keyboard, b"t")
    operator.look()
    assert (operator.human_leads, operator.interventions) == (True, 1)
    os.write(keyboard, b"it")
    operator.look()
    assert (operator.human_leads, operator.interventions, operator.typed) == (False, 1, "it")
    operator.begin()
    assert operator.interventions == 0


def test_keys_move_the_tool_along_the_axes_and_switch_the_gripper(twin: Twin):
    control = KeyControl(described(twin), twin)
    chain = KinematicChain(twin.model, twin.arm_joints, twin.tool_site)
    home = np.append(np.array(twin.robot.home_rad), twin.robot.gripper.open)
    for key, axis, sign in (("i", 0, 1), ("l", 1, -1), ("u", 2, 1)):
        control.take(home)
        moved = control.action(key * 5)
        step = (chain.frames(moved[None, :-1]).position_m - chain.frames(home[None, :-1]).position_m)[0]
        assert step[axis] == pytest.approx(sign * 5 * STEP_M, rel=0.15)
        assert np.abs(np.delete(step, axis)).max() < 0.2 * 5 * STEP_M
    assert control.action("g")[-1] == twin.robot.gripper.closed
    assert control.action("g")[-1] == twin.robot.gripper.open


def test_frames_mark_human_actions_and_the_policy_continues(
    twin: Twin, tmp_path: Path, terminal: tuple[OperatorInput, int]
):
    operator, keyboard = terminal
    file = policy_file(tmp_path / "policy.json", described(twin).space(), does="wait")
    robot = TypedRobot(twin, keyboard, {5: b"t", 8: b"iii", 12: b"t"})
    with PolicyProcess(file, program=PROGRAM) as policy:
        job = RunnerJob(
            robot, {"": policy}, DeployConfig(takeover="keys", episode_timeout_s=0.8), tmp_path / "stop",
            attended=True, permits={"": ungated(file, described(twin).identity)},
        )  # fmt: skip
        with EpisodeRunner(job, operator) as runner:
            log = runner.run(0, "")
    by_human = log.frames["by_human"]
    assert np.flatnonzero(by_human).tolist() == list(range(5, 12))
    assert log.interventions == 1
    action = log.frames["action"]
    # The robot holds its position until the human presses keys.
    np.testing.assert_allclose(action[7, :7], log.frames["observation.state"][5, :7], atol=1e-6)
    assert np.abs(action[8, :7] - action[7, :7]).max() > 1e-3
    assert len(by_human) > 12


def test_enter_ends_an_episode_of_a_policy_whose_robot_cannot_see_that_the_task_is_done(
    twin: Twin, tmp_path: Path, terminal: tuple[OperatorInput, int]
):
    operator, keyboard = terminal
    file = policy_file(tmp_path / "policy.json", described(twin).space(), does="wait")
    with PolicyProcess(file, program=PROGRAM) as policy:
        job = RunnerJob(
            TypedRobot(twin, keyboard, {7: b"\n"}), {"": policy}, DeployConfig(episode_timeout_s=4.0),
            tmp_path / "stop", attended=True, permits={"": ungated(file, described(twin).identity)},
        )  # fmt: skip
        with EpisodeRunner(job, operator) as runner:
            log = runner.run(0, "")
    assert log.length == 7
    assert log.outcome == "success"
    assert log.interventions == 0


def test_a_robot_without_a_leader_arm_is_refused(twin: Twin, tmp_path: Path, terminal: tuple[OperatorInput, int]):
    job = RunnerJob(
        ScriptedRobot(twin), {}, DeployConfig(takeover="leader"), tmp_path / "stop", described(twin), attended=True
    )
    with pytest.raises(UsageError, match="has no leader arm"), EpisodeRunner(job, terminal[0]):
        pass
