"""Poses of all bodies of a room with a robot on wheels in each frame, from the draw and recorded states."""

import mujoco
import numpy as np

from twinloop.observe.poses import BodyPoses
from twinloop.randomize.draw import Draws
from twinloop.simulate.room_draw import FixedPlan
from twinloop.simulate.wheel_cell import WheelCell
from twinloop.twin.wheels.floor_plan import MOST_PEOPLE
from twinloop.twin.wheels.wheel_twin import WheelTwin

POSE = 7
"""Elements of the base's pose, which come before the places of people."""


def wheel_poses(
    twin: WheelTwin, draws: Draws, wheels: np.ndarray, environment: np.ndarray, *, seed: int, fixed: FixedPlan
) -> BodyPoses:
    """Poses of all bodies in one episode. The frame of the tool is that of the base.

    Args:
        draws: the first row is the draw of the episode.
        wheels: (f, 2) angles.
        environment: (f, elements) pose of the base and places of people.
        seed: of the run, which the room depends on.
    """
    cell, first = WheelCell(twin, width=1, fixed=fixed), np.array([0])
    cell.admit(first, draws, first, seed=seed)
    model, frames = cell.model_of(0), len(wheels)
    data = mujoco.MjData(model)
    data.mocap_pos[:], data.mocap_quat[:] = (cell.engine.bind(name)[0] for name in ("mocap_pos", "mocap_quat"))
    places, turns = np.zeros((frames, model.nbody, 3)), np.zeros((frames, model.nbody, 4))
    base = np.tile(np.eye(4), (frames, 1, 1))
    people = environment[:, POSE:].reshape(frames, MOST_PEOPLE, 2)
    # One frame after the other, because the engine's kinematics take one state.
    for frame in range(frames):
        data.qpos[:POSE], data.qpos[twin.arm_qpos] = environment[frame, :POSE], wheels[frame]
        data.mocap_pos[twin.person_mocaps, :2] = people[frame]
        mujoco.mj_kinematics(model, data)
        places[frame], turns[frame] = data.xpos, data.xquat
        base[frame, :3, 3] = data.xpos[twin.base_body]
        base[frame, :3, :3] = data.xmat[twin.base_body].reshape(3, 3)
    return BodyPoses(model, places, turns, base)
