"""Refuse scenes in which entities start inside each other or beside the table, before anything is simulated."""

import mujoco
import numpy as np

from twinloop.errors import ConfigError
from twinloop.randomize.draw import nominal_values
from twinloop.twin.scene import Start
from twinloop.twin.table import HIGHEST_XY_M, LOWEST_XY_M
from twinloop.twin.twin import Twin

MOST_OVERLAP_M = 0.005
"""Deeper contacts at the start are no rounding of a resting thing."""
BESIDE_M = 0.05
"""How far the middle of a thing may be outside of the part of the table where things stand."""


def refuse_bad_start(twin: Twin, given: tuple[str, ...] = ()) -> None:
    """Raise ConfigError if a thing has no place on the table, or for the deepest overlap of two entities.

    An overlap of an entity and the robot counts too. All values are nominal.

    Soft things and things of drawn shapes are not tested.

    Args:
        given: things that the config gives; the message names their key.
    """
    data = mujoco.MjData(twin.model)
    start = twin.task.start(nominal_values(1), 1, twin.task.by_name)
    _refuse_beside_table(twin, start, given)
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
        f"{one} and {other} start inside each other, {1000 * deepest_m:.0f} mm deep. Make one of them smaller"
        f"{_scale_of(twin, one)}, or give them other places in `start` of the task {twin.task.name!r}",
    )


def _scale_of(twin: Twin, name: str) -> str:
    """Advice on how to make a thing smaller, if it is a mesh."""
    mesh = next((index.object.mesh for index in twin.things if index.name == name), None)
    return "" if mesh is None else f" (`scale` of {mesh.source})"


def _refuse_beside_table(twin: Twin, start: Start, given: tuple[str, ...]) -> None:
    """Raise ConfigError if a thing of the config does not stand on the table, because it is too large to."""
    for index in twin.things:
        place = start.poses[index.name][0, :2]
        if index.name not in given or _is_on_table(place):
            continue
        mesh = index.object.mesh
        sides = " x ".join(f"{2000 * half:.0f}" for half in index.object.half_extents_m)
        raise ConfigError(
            f"scene.things.{index.name}",
            f"there is no free place for it on the table, where things stand at x {LOWEST_XY_M[0]:g} to "
            f"{HIGHEST_XY_M[0]:g} m and y {LOWEST_XY_M[1]:g} to {HIGHEST_XY_M[1]:g} m: it has {sides} mm. Give "
            + (
                "a smaller thing or fewer things"
                if mesh is None
                else f"{mesh.source} a smaller `scale`, or fewer things"
            ),
        )


def _is_on_table(place: np.ndarray) -> bool:
    return bool(((place > LOWEST_XY_M - BESIDE_M) & (place < HIGHEST_XY_M + BESIDE_M)).all())


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
