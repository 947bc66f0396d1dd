"""The pose of a known robot's tool at recorded joint positions."""

from collections.abc import Callable
from functools import lru_cache

import numpy as np

from twinloop.twin.assemble import assemble
from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots import robots
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE

ToolFrames = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]]
"""(n, joints) positions in rad -> (n, 3) positions in m and (n, 3, 3) rotations of the tool in the world."""

MOST_ROWS = 1024


@lru_cache(maxsize=8)
def tool_frames(robot: str, joints: int) -> ToolFrames | None:
    """The forward kinematics of a robot with one arm; None for any other robot, or if it has other joints."""
    known = robots().get(robot)
    if known is None or len(known.arms) != 1 or len(known.arm_joints) + 1 != joints:
        return None
    twin = assemble(known, PICK_AND_PLACE, OBJECTS["cube"])
    chain = KinematicChain(twin.model, twin.arm_joints, twin.tool_site)
    width = len(twin.arm_joints)

    def frames(positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        parts = [
            chain.poses(positions[at : at + MOST_ROWS, :width]) for at in range(0, max(len(positions), 1), MOST_ROWS)
        ]
        return np.concatenate([place for place, _ in parts]), np.concatenate([rotation for _, rotation in parts])

    return frames
