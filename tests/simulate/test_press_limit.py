"""The force along the approach: it is found from the joint torques, and a blocked tool gives way to it."""

from dataclasses import replace

import numpy as np

from tests.conftest import Simulate
from twinloop.simulate.batched import weighted_sum
from twinloop.simulate.press_limit import tool_force_n
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
