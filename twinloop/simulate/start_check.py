"""Refuse scenes in which entities start inside each other, before anything is simulated."""

import mujoco
import numpy as np

from twinloop.errors import ConfigError
from twinloop.randomize.draw import nominal_values
from twinloop.twin.twin import Twin

MOST_OVERLAP_M = 0.005
"""Deeper contacts at the start are no rounding of a resting thing."""


def refuse_overlapping_start(twin: Twin, given: tuple[str, ...] = ()) -> None:
    """Raise ConfigError for the deepest overlap of two entities, or of one and the robot, with nominal values.

    Soft things and things of drawn shapes are not tested.

    Args:
        given: things that the config gives; the message names their key.
    """
    data = mujoco.MjData(twin.model)
    start = twin.task.start(nominal_values(1), 1, twin.task.by_name)
    twin.pose_robot(data, np.array(twin.robot.home))
    twin.pose_scene(data, twin.environment_at(start)[0])
    mujoco.mj_fwdPosition(twin.model, data)
    deepest_m, pair = MOST_OVERLAP_M, ("", "")
    for contact in data.contact[: data.ncon]:
        names = _entities(twin, contact.geom)
        if names is not None and -contact.dist > deepest_m:
            deepest_m, pair = -float(contact.dist), names
    if not pair[0]:
        return
    one, other = sorted(pair, key=lambda name: name not in given)
    key = f"scene.things.{one}" if one in given else "scene.task"
    raise ConfigError(
        key,
        f"{one} and {other} start inside each other, {1000 * deepest_m:.0f} mm deep. Make one of them smaller, or give "
        f"them other places in `start` of the task {twin.task.name!r}",
    )


def _entities(twin: Twin, geoms: np.ndarray) -> tuple[str, str] | None:
    """The two entities that touch; None if one of them is not tested, or if it is the same one."""
    roots = [int(twin.model.body_rootid[twin.model.geom_bodyid[geom]]) if geom >= 0 else 0 for geom in geoms]
    tested = {index.body: index.name for index in twin.things if index.forms is None and index.soft is None}
    tested |= {index.body: index.name for index in twin.fixtures}
    robots = {int(twin.model.body_rootid[twin.model.jnt_bodyid[index.joints[0]]]) for index in twin.arms}
    tested |= dict.fromkeys(robots, "the robot")
    if roots[0] == roots[1] or not all(root in tested for root in roots):
        return None
    first, second = (tested[root] for root in roots)
    return None if first == second else (first, second)
