"""The force along the approach: it is found from the joint torques, and a blocked tool gives way to it."""

from dataclasses import replace
from types import SimpleNamespace
from typing import cast

import numpy as np

from tests.conftest import Simulate
from twinloop.simulate.batched import weighted_sum
from twinloop.simulate.press_limit import PressLimit, tool_force_n
from twinloop.simulate.view import View
from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots.franka_panda import FRANKA_PANDA
from twinloop.twin.skills import grasp
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

PRESS_N = 30.0


def test_the_force_follows_from_the_torques_that_it_causes():
    rng = np.random.default_rng(0)
    jacobian, wrench = rng.normal(size=(6, 7, 40)), rng.normal(size=(6, 40))
    wrench[3:] = 0
    torque = weighted_sum(jacobian.transpose(1, 0, 2), wrench).T
    np.testing.assert_allclose(tool_force_n(jacobian, torque), wrench[:3].T, atol=0.05)


def blocked_n(simulate: Simulate, press_n: float) -> np.ndarray:
    """Largest contact force of each episode in which the hand wants to go 5 cm into the table."""
    task = replace(PICK_AND_PLACE, program=grasp("object", raise_m=-0.05, press_n=press_n))
    episodes = simulate(4, of=assemble(FRANKA_PANDA, task, OBJECTS["cube"]))
    descending = episodes["phase"][:, 0] == task.phase_names.index("descend")
    return episodes.worst(np.where(descending, episodes["hardest_contact"][:, 0], 0))


def test_a_blocked_tool_does_not_press_harder_and_harder(simulate: Simulate):
    gentle, firm = blocked_n(simulate, PRESS_N), blocked_n(simulate, 0.0)
    assert gentle.max() < 3 * PRESS_N, gentle
    assert firm.min() > 4 * PRESS_N, firm


def test_the_forces_of_a_mobile_base_are_not_those_of_the_tool():
    phases = grasp("object", press_n=PRESS_N)
    rng = np.random.default_rng(0)
    jacobian = rng.normal(size=(6, 10, 1))
    base, arm = np.repeat([1.0, 0.0], [3, 7]), np.repeat([0.0, 1.0], [3, 7])
    down = np.array([[0.0, 0.0, -0.1]])
    for joints, allowed in ((arm, True), (np.ones(10), False)):
        limit = PressLimit(phases, arm_joints=joints, width=1, period_s=0.04)
        view = SimpleNamespace(tool_axes=-np.eye(3)[None], arm_effort_nm=np.zeros((1, 10)), jacobian=lambda: jacobian)
        phase = np.array([1])
        limit.applied(down, cast(View, view), phase, np.array([0]))
        # The platform pushes the tool upwards with 200 N.
        view.arm_effort_nm = base * (jacobian[2, :, 0] * -200.0)[None]
        velocity = limit.applied(down, cast(View, view), phase, np.array([20]))
        assert np.allclose(velocity, down) == allowed
