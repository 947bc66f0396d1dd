"""SceneMotion: how the entities of a scene move, when fingers touch something, and where the tool is."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from twinloop.curate.discriminator.tool_frames import tool_frames
from twinloop.curate.discriminator.trajectories import CONTACT, ENVIRONMENT, STATE, Trajectories, TrajectorySchema

TOUCH_N, FAINT_N = 0.2, 0.02
"""Force of a firm contact, and the least force of any contact."""
TILT_RAD = 0.05
REGIMES = 3
NOISY_M, SMOOTH_FRAMES = 0.0005, 3


@dataclass(frozen=True)
class Pose:
    """The columns of one entity's pose in the environment state."""

    name: str
    position: tuple[int, int, int]
    quaternion: tuple[int, int, int, int] | None


def poses_of(schema: TrajectorySchema) -> tuple[Pose, ...]:
    names = schema.elements.get(ENVIRONMENT, ())
    place = {name: index for index, name in enumerate(names)}
    poses = []
    for name in names:
        entity, _, axis = name.rpartition(".")
        if axis != "x" or not {f"{entity}.y", f"{entity}.z"} <= place.keys():
            continue
        turn = tuple(place.get(f"{entity}.{part}", -1) for part in ("qw", "qx", "qy", "qz"))
        position = (place[f"{entity}.x"], place[f"{entity}.y"], place[f"{entity}.z"])
        poses.append(Pose(entity, position, None if min(turn) < 0 else turn))  # pyright: ignore[reportArgumentType]
    return tuple(poses)


def finger_columns(schema: TrajectorySchema) -> list[int]:
    return [index for index, name in enumerate(schema.elements.get(CONTACT, ())) if name != "support"]


def touching(trajectories: Trajectories, least_n: float = TOUCH_N) -> np.ndarray:
    """(frames,) whether a finger touches something; false without a contact sensor."""
    fingers = finger_columns(trajectories.schema)
    if not fingers:
        return np.zeros(trajectories.frames, bool)
    return trajectories.signals[CONTACT][:, fingers].max(axis=1) > least_n


def regimes(trajectories: Trajectories) -> np.ndarray:
    """(frames,) 0: no finger touches anything, 1: in steady contact, 2: contact begins or ends within two frames."""
    touch = touching(trajectories).astype(np.int8)
    around = [trajectories.shifted(touch, lag) for lag in (-2, -1, 0, 1, 2)]
    low, high = np.minimum.reduce(around), np.maximum.reduce(around)
    return np.where(low != high, 2, touch).astype(np.int8)


@dataclass(frozen=True)
class SceneMotion:
    """Motion of E entities in the world frame.

    Attributes:
        poses: of the entities.
        entities: channel name of each entity.
        state: (frames, d) the environment state, averaged over some frames if the tracker is noisy.
        position: (frames, E, 3) in m, like all that follows from `state`.
        step: (frames, E, 3) displacement since the frame before.
        first: (frames, E, 3) position in the first frame of the episode.
        repeated: (frames, E) measured exactly at the place of the frame before.
        tilted: (frames, E) stands on another side than in the first frame, or leans.
        touch: (frames,) a finger touches something, now or one frame before or after.
        tool: (frames, 3) position and (frames, 3, 3) rotation of the tool; None if the robot's kinematics are unknown.
        tool_before: the same one frame before.
        smooth_frames: over which poses were averaged, before and after each frame.
    """

    poses: tuple[Pose, ...]
    entities: tuple[str, ...]
    state: np.ndarray
    position: np.ndarray
    step: np.ndarray
    first: np.ndarray
    repeated: np.ndarray
    tilted: np.ndarray
    touch: np.ndarray
    tool: tuple[np.ndarray, np.ndarray] | None
    tool_before: tuple[np.ndarray, np.ndarray] | None
    smooth_frames: int = 0

    @cached_property
    def distance_m(self) -> np.ndarray | None:
        """(frames, E) from the tool to each entity."""
        return None if self.tool is None else length(self.position - self.tool[0][:, None])

    @cached_property
    def step_m(self) -> np.ndarray:
        """(frames, E) length of each step."""
        return length(self.step)

    @cached_property
    def hand_step(self) -> np.ndarray | None:
        """(frames, E, 3) the step that each entity would make if it were fixed to the tool."""
        if self.tool is None or self.tool_before is None:
            return None
        before = self.position - self.step
        turn = np.einsum("fij,fkj->fik", self.tool[1], self.tool_before[1])
        arm = before - self.tool_before[0][:, None]
        return np.einsum("fij,fej->fei", turn, arm) + self.tool[0][:, None] - before


def scene_motion(trajectories: Trajectories, *, smooth_frames: int = 0) -> SceneMotion | None:
    """None for a schema without poses. smooth_frames: average poses over so many frames before and after each."""
    poses = poses_of(trajectories.schema)
    if not poses:
        return None
    shifted, state = trajectories.shifted, trajectories.signals[ENVIRONMENT]
    measured = positions_of(poses, state)
    repeated = (measured == shifted(measured, -1)).all(axis=2)
    repeated[trajectories.starts] = False
    if smooth_frames:
        state = _averaged(trajectories, poses, smooth_frames)
    position = positions_of(poses, state)
    touch = touching(trajectories, FAINT_N)
    joints = trajectories.signals.get(STATE)
    frames = None if joints is None else tool_frames(trajectories.schema.robot, joints.shape[1])
    tool = None if frames is None or joints is None else frames(joints)
    return SceneMotion(
        poses=poses,
        entities=tuple(f"{ENVIRONMENT}/{pose.name}" for pose in poses),
        state=state,
        position=position,
        step=position - shifted(position, -1),
        first=position[trajectories.first_of],
        repeated=repeated,
        tilted=np.stack([_tilted(trajectories, state, pose) for pose in poses], axis=1),
        touch=touch | shifted(touch, 1) | shifted(touch, -1),
        tool=tool,
        tool_before=None if tool is None else (shifted(tool[0], -1), shifted(tool[1], -1)),
        smooth_frames=smooth_frames,
    )


def positions_of(poses: tuple[Pose, ...], state: np.ndarray) -> np.ndarray:
    """(frames, E, 3) positions in the environment state."""
    return np.stack([state[:, pose.position] for pose in poses], axis=1)


def _averaged(trajectories: Trajectories, poses: tuple[Pose, ...], frames: int) -> np.ndarray:
    """The environment state with poses averaged over `frames` before and after each, within the episode."""
    state = trajectories.signals[ENVIRONMENT].copy()
    rows = np.arange(len(state))
    low = np.maximum(rows - frames, trajectories.first_of)
    high = np.minimum(rows + frames, trajectories.last_of) + 1
    for pose in poses:
        columns = [*pose.position, *(pose.quaternion or ())]
        values = state[:, columns]
        if pose.quaternion is not None:
            # A quaternion and its negative are the same rotation: those of one episode get the sign of the first.
            turn = values[:, 3:]
            turn *= np.where((turn * turn[trajectories.first_of]).sum(axis=1) < 0, -1.0, 1.0)[:, None]
        sums = np.concatenate([np.zeros((1, len(columns))), np.cumsum(values, axis=0)])
        values = (sums[high] - sums[low]) / (high - low)[:, None]
        if pose.quaternion is not None:
            turn = values[:, 3:]
            turn /= np.maximum(np.sqrt((turn**2).sum(axis=1, keepdims=True)), 1e-9)
        state[:, columns] = values
    return state


def tracker_smoothing(trajectories: Trajectories) -> int:
    """Frames before and after each over which poses are averaged: 0 unless things shake even where they rest."""
    poses = poses_of(trajectories.schema)
    if not poses:
        return 0
    position = positions_of(poses, trajectories.signals[ENVIRONMENT])
    bend = trajectories.shifted(position, 1) - 2 * position + trajectories.shifted(position, -1)
    return SMOOTH_FRAMES if float(np.median(length(bend).max(axis=1))) > NOISY_M else 0


def _tilted(trajectories: Trajectories, state: np.ndarray, pose: Pose) -> np.ndarray:
    """(frames,) whether the vertical direction, seen from the entity, differs from that of the first frame."""
    if pose.quaternion is None:
        return np.zeros(trajectories.frames, bool)
    w, x, y, z = state[:, pose.quaternion].T
    up = np.stack([2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x**2 + y**2)], axis=1)
    return length(up - up[trajectories.first_of]) > TILT_RAD


def length(vectors: np.ndarray) -> np.ndarray:
    """Length of (..., 3) vectors. `np.linalg.norm` is several times as slow for so few elements."""
    x, y, z = (vectors[..., axis] for axis in range(3))
    return np.sqrt(x * x + y * y + z * z)
