"""BodyPoses: the pose of every body in each frame, from the draw and recorded states. Needs no OpenGL."""

from collections.abc import Mapping
from dataclasses import dataclass

import mujoco
import numpy as np

from twinloop.randomize.draw import Draws, nominal_values
from twinloop.randomize.hand_path import COLUMNS as HAND_COLUMNS
from twinloop.randomize.hand_path import hand_poses
from twinloop.randomize.table import BY_NAME
from twinloop.simulate.cell import Cell
from twinloop.twin import bystander
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class BodyPoses:
    """Poses of b bodies in f frames, in the world.

    Attributes:
        model: the cell with the drawn sizes, heights and places of the episode.
        position_m: (f, b, 3).
        quaternion: (f, b, 4) as w, x, y, z.
        tool_to_world: (f, 4, 4).
    """

    model: mujoco.MjModel
    position_m: np.ndarray
    quaternion: np.ndarray
    tool_to_world: np.ndarray


def draws_of(attempt: int, stored: Mapping[str, float]) -> Draws:
    """The draw of one episode from its stored values; all others are nominal."""
    values = nominal_values(1)
    known = {column: value for column, value in stored.items() if column.partition(".")[0] in BY_NAME}
    values |= {column: np.array([value]) for column, value in known.items()}
    return Draws(np.array([attempt]), values, tuple(known))


def poses_of(twin: Twin, draws: Draws, position: np.ndarray, environment: np.ndarray) -> BodyPoses:
    """Poses of all bodies in one episode.

    Args:
        draws: the first row is the draw of the episode.
        position: (f, joints + 1) the episode's channel `position`.
        environment: (f, elements) the episode's channel `environment`, followed by the corners of a soft object.
    """
    # A cell at the start of the episode has all drawn sizes and places.
    cell, first = Cell(twin, width=1), np.array([0])
    cell.admit(first, draws, first)
    model = cell.model_of(0)
    data = mujoco.MjData(model)
    data.mocap_pos[:], data.mocap_quat[:] = (cell.engine.bind(name)[0] for name in ("mocap_pos", "mocap_quat"))
    frames = len(position)
    places, turns = np.zeros((frames, model.nbody, 3)), np.zeros((frames, model.nbody, 4))
    tool = np.tile(np.eye(4), (frames, 1, 1))
    # One frame after the other, because the engine's kinematics take one state.
    for frame in range(frames):
        twin.pose_robot(data, position[frame])
        twin.pose_scene(data, environment[frame])
        place_bystander(data, twin, draws.values, frame)
        mujoco.mj_kinematics(model, data)
        places[frame], turns[frame] = data.xpos, data.xquat
        tool[frame, :3, 3] = data.site_xpos[twin.tool_site]
        tool[frame, :3, :3] = data.site_xmat[twin.tool_site].reshape(3, 3)
    return BodyPoses(model, places, turns, tool)


def place_bystander(data: mujoco.MjData, twin: Twin, drawn: Mapping[str, np.ndarray], tick: float) -> None:
    """Place the bystander's arm as in the first of these draws at this control period."""
    if "bystander" in twin.surroundings:
        # A frame shows the hand where it was in the last physics step.
        seconds = max(tick * twin.control_period_s - twin.model.opt.timestep, 0.0)
        pose = hand_poses({name: drawn[name][:1] for name in HAND_COLUMNS}, np.array([seconds]))[0]
        number = twin.mocap(bystander.NAME)
        data.mocap_pos[number], data.mocap_quat[number] = pose[:3], pose[3:]
