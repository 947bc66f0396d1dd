"""Joint limits of a known robot, by the names that its recordings use."""

from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots import robots
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE


def robot_limits(robot: str, names: tuple[str, ...], units: tuple[str, ...]) -> dict[str, tuple[float, float]]:
    """Element name -> (low, high) in rad. Empty for an unknown robot, or if a joint has another unit."""
    known = robots()
    if robot not in known:
        return {}
    twin = assemble(known[robot], PICK_AND_PLACE, OBJECTS["cube"])
    arm = list(zip(names, units, strict=True))[: len(twin.arm_joints)]
    if len(arm) < len(twin.arm_joints) or any(unit != "rad" for _, unit in arm):
        return {}
    ends = twin.arm_limits_rad
    return {
        f"observation.state/{name}": (float(low), float(high)) for (name, _), (low, high) in zip(arm, ends, strict=True)
    }
