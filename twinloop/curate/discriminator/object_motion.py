"""Physics of the objects in a scene: possible motion of a thing that is held, at rest or falling."""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.tool_frames import tool_frames
from twinloop.curate.discriminator.trajectories import CONTACT, ENVIRONMENT, STATE, Trajectories, TrajectorySchema

GRAVITY_M_S2 = 9.81
TOUCH_N = 0.2
HELD_M = 0.12
"""A thing farther from the tool than this is not the one that the fingers hold."""
REST_M_S = 0.05
GRIP_FRAMES = 8
"""Over which a held thing is compared with where it was in the hand."""


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


def touching(trajectories: Trajectories) -> np.ndarray:
    """(frames,) whether a finger touches something; false without a contact sensor."""
    fingers = finger_columns(trajectories.schema)
    if not fingers:
        return np.zeros(trajectories.frames, bool)
    return trajectories.signals[CONTACT][:, fingers].max(axis=1) > TOUCH_N


def regimes(trajectories: Trajectories) -> np.ndarray:
    """(frames,) 0: no finger touches anything, 1: in steady contact, 2: contact begins or ends within two frames."""
    touch = touching(trajectories).astype(np.int8)
    around = [trajectories.shifted(touch, lag) for lag in (-2, -1, 0, 1, 2)]
    low, high = np.minimum.reduce(around), np.maximum.reduce(around)
    return np.where(low != high, 2, touch).astype(np.int8)


@dataclass(frozen=True)
class ObjectMotion:
    """Residuals of the objects' motion, (frames, columns) each, with one name per column."""

    residuals: dict[str, np.ndarray]
    channels: dict[str, tuple[str, ...]]


def object_motion(trajectories: Trajectories) -> ObjectMotion:
    schema, rate = trajectories.schema, trajectories.schema.rate_hz
    poses = poses_of(schema)
    if not poses:
        return ObjectMotion({}, {})
    state = trajectories.signals[ENVIRONMENT]
    shifted = trajectories.shifted
    position = np.stack([state[:, pose.position] for pose in poses], axis=1)  # (frames, entities, 3)
    before, after = shifted(position, -1), shifted(position, 1)
    step = position - before
    bend = after - 2 * position + before
    columns: dict[str, list[np.ndarray]] = {}
    names: dict[str, list[str]] = {}

    def add(aspect: str, values: np.ndarray, labels: list[str]) -> None:
        columns.setdefault(aspect, []).append(values.reshape(len(values), -1))
        names.setdefault(aspect, []).extend(labels)

    entities = [f"{ENVIRONMENT}/{pose.name}" for pose in poses]
    add("object_acceleration", np.linalg.norm(bend, axis=2) * rate**2, entities)
    add("object_speed", np.linalg.norm(step, axis=2) * rate, entities)
    touch = touching(trajectories)
    calm = ~(touch | shifted(touch, 1) | shifted(touch, -1))
    if CONTACT in trajectories.signals:
        _without_touch(trajectories, position, step, bend, calm, entities, add)
    _turning(trajectories, poses, add)
    first = position[trajectories.first_of]
    add("below_start", np.maximum(first[:, :, 2] - position[:, :, 2], 0), entities)
    _with_tool(trajectories, position, add)
    others = [index for index in range(state.shape[1]) if not any(index in _columns(pose) for pose in poses)]
    if others:
        values = state[:, others]
        bend_of = shifted(values, 1) - 2 * values + shifted(values, -1)
        add("fixture_acceleration", np.abs(bend_of) * rate**2, [schema.channel(ENVIRONMENT, i) for i in others])
    return ObjectMotion(
        {aspect: np.concatenate(parts, axis=1) for aspect, parts in columns.items()},
        {aspect: tuple(labels) for aspect, labels in names.items()},
    )


def _columns(pose: Pose) -> tuple[int, ...]:
    return pose.position + (pose.quaternion or ())


def _without_touch(trajectories, position, step, bend, calm, entities, add) -> None:
    """Motion without a finger: energy must not grow, and a thing without support falls with gravity."""
    rate, shifted = trajectories.schema.rate_hz, trajectories.shifted
    speed = np.linalg.norm(step, axis=2) * rate
    energy = 0.5 * speed**2 + GRAVITY_M_S2 * position[:, :, 2]
    gain = np.maximum(energy - shifted(energy, -1), 0) * calm[:, None]
    add("energy_gain", gain, entities)
    add("moves_untouched", np.linalg.norm(bend, axis=2) * rate**2 * calm[:, None], entities)
    drift = np.where(calm[:, None], np.linalg.norm(step, axis=2), 0.0)
    add("drifts_untouched", drift * rate, entities)
    support = [i for i, name in enumerate(trajectories.schema.elements[CONTACT]) if name == "support"]
    if support:
        force = trajectories.signals[CONTACT][:, support[0]]
        free = calm & (force <= 0) & (shifted(force, 1) <= 0) & (shifted(force, -1) <= 0)
        fall = bend[:, 0] * rate**2 + np.array([0, 0, GRAVITY_M_S2])
        add("free_fall", np.linalg.norm(fall, axis=1) * free, entities[:1])
        # A thing that lies still presses on its support with a constant force.
        still = calm & (speed[:, 0] < REST_M_S) & (force > 0)
        change = np.abs(force - shifted(force, -1)) * still
        add("support_change", change, [f"{CONTACT}/support"])
        start = position[trajectories.first_of][:, 0, 2]
        add("rest_height", np.abs(position[:, 0, 2] - start) * still, entities[:1])


def _turning(trajectories, poses, add) -> None:
    state, shifted = trajectories.signals[ENVIRONMENT], trajectories.shifted
    rate = trajectories.schema.rate_hz
    for pose in poses:
        if pose.quaternion is None:
            continue
        turn = state[:, pose.quaternion]
        norm = np.linalg.norm(turn, axis=1)
        unit = turn / np.maximum(norm, 1e-9)[:, None]
        cosine = np.clip(np.abs((unit * shifted(unit, -1)).sum(axis=1)), 0, 1)
        rate_rad_s = 2 * np.arccos(cosine) * rate
        label = f"{ENVIRONMENT}/{pose.name}"
        add("quaternion_norm", np.abs(norm - 1), [label])
        add("turn_rate", rate_rad_s, [label])
        add("turn_change", np.abs(shifted(rate_rad_s, 1) - rate_rad_s), [label])


def _with_tool(trajectories, position, add) -> None:
    """A held thing moves with the tool, and fingers that feel something are near a thing."""
    joints = trajectories.signals.get(STATE)
    tool = None if joints is None else tool_frames(trajectories.schema.robot, joints.shape[1])
    if tool is None or joints is None or not finger_columns(trajectories.schema):
        return
    place, rotation = tool(joints)
    shifted, rate = trajectories.shifted, trajectories.schema.rate_hz
    apart = position - place[:, None]
    distance = np.linalg.norm(apart, axis=2)
    in_tool = np.einsum("fji,fej->fei", rotation, apart)
    fingers = trajectories.signals[CONTACT][:, finger_columns(trajectories.schema)]
    grip = fingers.min(axis=1) > TOUCH_N
    steady = np.logical_and.reduce([shifted(grip, lag) for lag in (-2, -1, 0, 1, 2)])
    moved = np.linalg.norm(in_tool - shifted(in_tool, -1), axis=2) * rate
    nearest = distance.argmin(axis=1)
    rows = np.arange(len(nearest))
    held = steady & (distance[rows, nearest] < HELD_M) & (shifted(nearest, -1) == nearest)
    add("slips_in_grip", moved[rows, nearest] * held, ["held object"])
    long = held & shifted(held, -GRIP_FRAMES) & (shifted(nearest, -GRIP_FRAMES) == nearest)
    long &= rows - GRIP_FRAMES >= trajectories.first_of
    drift = np.linalg.norm(in_tool - shifted(in_tool, -GRIP_FRAMES), axis=2)
    add("shifts_in_grip", drift[rows, nearest] * long, ["held object"])
    # The first frame of the present grasp: a new one begins where the thing was not held the frame before.
    begins = held & ~(shifted(held, -1) & (rows > trajectories.first_of))
    began = np.maximum.accumulate(np.where(begins, rows, 0))
    slid = np.linalg.norm(in_tool[rows, nearest] - in_tool[began, nearest], axis=1) * (
        held & (nearest == nearest[began])
    )
    add("grip_drift", slid, ["held object"])
    add("touch_at_distance", distance[rows, nearest] * steady, ["held object"])
    speed = np.linalg.norm(place - shifted(place, -1), axis=1) * rate
    add("tool_speed", speed, ["tool"])
