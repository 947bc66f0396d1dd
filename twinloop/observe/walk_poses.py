"""Poses of all bodies of a legged robot in each frame, from recorded states. Needs no OpenGL."""

import mujoco
import numpy as np

from twinloop.observe.poses import BodyPoses
from twinloop.twin.legs.walk_twin import WalkTwin


def walk_poses(twin: WalkTwin, joints: np.ndarray, base: np.ndarray) -> BodyPoses:
    """Poses of all bodies in one episode. The frame of the tool is that of the base.

    Args:
        joints: (f, joints) positions.
        base: (f, 7) place and quaternion of the base.
    """
    data, frames = mujoco.MjData(twin.model), len(joints)
    places, turns = np.zeros((frames, twin.model.nbody, 3)), np.zeros((frames, twin.model.nbody, 4))
    trunk = np.tile(np.eye(4), (frames, 1, 1))
    # One frame after the other, because the engine's kinematics take one state.
    for frame in range(frames):
        data.qpos[:7], data.qpos[twin.arm_qpos] = base[frame], joints[frame]
        mujoco.mj_kinematics(twin.model, data)
        places[frame], turns[frame] = data.xpos, data.xquat
        trunk[frame, :3, 3] = data.xpos[twin.base_body]
        trunk[frame, :3, :3] = data.xmat[twin.base_body].reshape(3, 3)
    return BodyPoses(twin.model, places, turns, trunk)
