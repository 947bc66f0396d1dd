"""Terms of robot arms with a task."""

import numpy as np

from twinloop.environments.embodiment import Embodiment
from twinloop.environments.term import StepState, Term
from twinloop.twin.rotation import length

REACH_M = 0.1
"""Distance at which the reward for reaching has fallen to a half."""
OVER_HOLE_M = 0.003
"""Distance from the axis of a hole at which the reward for being over it has fallen to a half."""
HARD_CONTACT_N = 60.0


def _reach(step: StepState) -> np.ndarray:
    """Nearness of the tool to the thing of the current phase, or to the first thing."""
    cell = step.robot.cell
    thing = cell.twin.things[0].name
    return 1 / (1 + length(cell.position(thing) - cell.tool_position) / REACH_M)


def _over_hole(step: StepState) -> np.ndarray:
    """Nearness of the tips to the axes of their holes. Millimetres matter, which the task's progress hardly shows."""
    cell = step.robot.cell
    aside = [relation.aside_m(cell) for relation in cell.twin.task.success if relation.aside_m is not None]
    if not aside:
        return np.zeros(cell.width)
    return np.mean([1 / (1 + distance_m / OVER_HOLE_M) for distance_m in aside], axis=0)


def _joint_speed(step: StepState) -> np.ndarray:
    return np.square(step.robot.cell.arm_velocity_rad_s).sum(axis=1)


def _effort(step: StepState) -> np.ndarray:
    return np.square(step.robot.cell.arm_effort_nm).sum(axis=1)


def _hard_contact(step: StepState) -> np.ndarray:
    return np.maximum(step.robot.cell.hardest_contact_n / HARD_CONTACT_N - 1, 0)


def _tool(step: StepState) -> np.ndarray:
    """The tool relative to the first thing."""
    cell = step.robot.cell
    return cell.tool_position - cell.position(cell.twin.things[0].name)


def _contact(step: StepState) -> np.ndarray:
    cell = step.robot.cell
    return np.column_stack([cell.finger_force_n, cell.support_force_n])


def _contact_names(robot: Embodiment) -> tuple[str, ...]:
    return (*(finger for index in robot.twin.arms for finger in index.fingers), "support")  # pyright: ignore


ARM = ("arm",)
ARM_TERMS = (
    Term("progress", "reward", "1", "progress of the task's relations, from 0 to 1",
         lambda step: step.robot.progress, robots=ARM),
    Term("progress_gain", "reward", "1", "change of the progress since the last control period",
         lambda step: step.robot.progress - step.robot.progress_before, robots=ARM, needs=("progress_before",)),
    Term("phases", "reward", "1", "share of the task's phases that have been completed, from 0 to 1",
         lambda step: step.robot.phases, robots=ARM, needs=("phases",)),
    Term("phases_gain", "reward", "1", "share of the task's phases that were completed in this control period",
         lambda step: step.robot.phases - step.robot.phases_before, robots=ARM, needs=("phases",)),
    Term("reach", "reward", "1", "1 if the tool is at the first thing, a half at a distance of 10 cm", _reach,
         robots=ARM),
    Term("over_hole", "reward", "1", "1 if the tip of a thing is over its hole, a half at a distance of 3 mm",
         _over_hole, robots=ARM),
    Term("fell", "reward", "1", "1 where a thing has fallen off the table",
         lambda step: step.robot.fallen.astype(float), robots=ARM),
    Term("joint_speed", "reward", "rad²/s²", "sum of squares of the joint speeds", _joint_speed, robots=ARM),
    Term("effort", "reward", "N²·m²", "sum of squares of the joint torques", _effort, robots=ARM),
    Term("hard_contact", "reward", "1", "contact force above 60 N, in multiples of 60 N", _hard_contact, robots=ARM),
    Term("success", "termination", "1", "the task has been done for 0.4 s",
         lambda step: step.robot.settled, robots=ARM),
    Term("fallen", "termination", "1", "a thing has fallen off the table",
         lambda step: step.robot.fallen, robots=ARM),
    Term("tool_offset", "observation", "m", "true offset of the tool from the first thing; only for the critic",
         _tool, robots=ARM, elements=lambda _: ("x", "y", "z")),
    Term("contact", "observation", "N", "true contact forces of fingers and support; only for the critic",
         _contact, robots=ARM, elements=_contact_names),
    Term("phase", "observation", "1", "share of completed phases; only for the critic",
         lambda step: step.robot.phases[:, None], robots=ARM, needs=("phases",), elements=lambda _: ("completed",)),
    Term("true_state", "observation", "rad; m; quaternion",
         "joint positions and poses of the scene without sensor errors; only for the critic",
         lambda step: step.robot.true_state(), robots=ARM, elements=lambda robot: robot.true_names),  # pyright: ignore
    Term("draw", "observation", "1", "drawn value of every varied parameter, from 0 to 1; only for the critic",
         lambda step: step.robot.scaled_draws, robots=ARM, elements=lambda robot: robot.varied),
)  # fmt: skip
