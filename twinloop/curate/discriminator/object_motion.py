"""Physics of the objects in a scene: possible motion of a thing that is held, at rest or falling."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.carriers import GRAVITY_M_S2, carrier_residuals
from twinloop.curate.discriminator.scene_model import REST, REST_M_S, SceneModel, support_force, support_share
from twinloop.curate.discriminator.scene_motion import (
    FAINT_N,
    TOUCH_N,
    Pose,
    SceneMotion,
    finger_columns,
    length,
    positions_of,
    touching,
)
from twinloop.curate.discriminator.trajectories import CONTACT, ENVIRONMENT, Trajectories

HELD_M = 0.12
"""A thing farther from the tool than this is not the one that the fingers hold."""
LEVER_M = 0.01
"""A thing that rolls or topples turns about a point that is at least this far from its middle."""
ALWAYS = 0.998
"""Share of the frames of good episodes from which on a support force is always, or never, reported at a height."""
GRIP_FRAMES = 8
"""Over which a held thing is compared with where it was in the hand."""
Add = Callable[[str, np.ndarray, tuple[str, ...]], None]


@dataclass(frozen=True)
class ObjectMotion:
    """Residuals of the objects' motion, (frames, columns) each, with one name per column."""

    residuals: dict[str, np.ndarray]
    channels: dict[str, tuple[str, ...]]


def object_motion(trajectories: Trajectories, motion: SceneMotion | None, scene: SceneModel | None) -> ObjectMotion:
    if motion is None or scene is None:
        return ObjectMotion({}, {})
    columns: dict[str, list[np.ndarray]] = {}
    names: dict[str, list[str]] = {}

    def add(aspect: str, values: np.ndarray, labels: tuple[str, ...]) -> None:
        columns.setdefault(aspect, []).append(values.reshape(len(values), -1))
        names.setdefault(aspect, []).extend(labels)

    schema, rate, shifted = trajectories.schema, trajectories.schema.rate_hz, trajectories.shifted
    bend = shifted(motion.position, 1) - motion.position - motion.step
    measured = positions_of(motion.poses, trajectories.signals[ENVIRONMENT])
    step = measured - shifted(measured, -1)
    add("object_acceleration", length(shifted(measured, 1) - measured - step) * rate**2, motion.entities)
    add("object_speed", length(step) * rate, motion.entities)
    if CONTACT in trajectories.signals:
        _without_touch(trajectories, motion, scene, bend, add)
    # A thing that rested exactly where it was starts slowly; one that a tracker lost for a while does not.
    rested = shifted(motion.repeated, -1) & shifted(motion.repeated, -2)
    add("jumps_from_rest", length(step) * rested, motion.entities)
    _turning(trajectories, motion, scene, add)
    add("below_start", np.maximum(motion.first[:, :, 2] - motion.position[:, :, 2], 0), motion.entities)
    if motion.tool is not None and finger_columns(schema):
        _in_the_hand(trajectories, motion, scene, motion.tool, add)
    for aspect, values in carrier_residuals(trajectories, motion, scene).items():
        add(aspect, values, motion.entities if values.shape[1] == len(motion.entities) else ("held object",))
    state = trajectories.signals[ENVIRONMENT]
    others = [index for index in range(state.shape[1]) if not any(index in _columns(pose) for pose in motion.poses)]
    if others:
        values = state[:, others]
        bend_of = shifted(values, 1) - 2 * values + shifted(values, -1)
        add("fixture_acceleration", np.abs(bend_of) * rate**2, tuple(schema.channel(ENVIRONMENT, i) for i in others))
    return ObjectMotion(
        {aspect: np.concatenate(parts, axis=1) for aspect, parts in columns.items()},
        {aspect: tuple(labels) for aspect, labels in names.items()},
    )


def _columns(pose: Pose) -> tuple[int, ...]:
    return pose.position + (pose.quaternion or ())


def _without_touch(
    trajectories: Trajectories, motion: SceneMotion, scene: SceneModel, bend: np.ndarray, add: Add
) -> None:
    """Motion without a finger: energy must not grow, and a thing without support falls with gravity."""
    rate, shifted = trajectories.schema.rate_hz, trajectories.shifted
    entities, calm, height = motion.entities, ~motion.touch, motion.position[:, :, 2]
    speed = motion.step_m * rate
    energy = 0.5 * speed**2 + GRAVITY_M_S2 * height
    gain = np.maximum(energy - shifted(energy, -1), 0) * calm[:, None]
    add("energy_gain", gain, entities)
    add("moves_untouched", length(bend) * rate**2 * calm[:, None], entities)
    add("drifts_untouched", speed * calm[:, None], entities)
    force = support_force(trajectories)
    if force is not None:
        share = support_share(trajectories, motion, scene.levels_m, scene.reach_m, scene.supported)
        # The support of some heights, such as the floor of a drawer, has no sensor. Then only known heights are judged.
        sensed = share >= 0.5 if (scene.supported[REST] < 0.5).any() else True
        free = sensed & calm & (force <= 0) & (shifted(force, 1) <= 0) & (shifted(force, -1) <= 0)
        fall = bend[:, 0] * rate**2 + np.array([0, 0, GRAVITY_M_S2])
        # A thing that falls and slows down has hit something between two samples of the contact force.
        free &= (motion.step[:, 0, 2] * rate > -REST_M_S) | (bend[:, 0, 2] < 0)
        add("free_fall", length(fall) * free, entities[:1])
        # A thing that lies still presses on its support with a constant force.
        still = calm & (speed[:, 0] < REST_M_S) & (force > 0)
        change = np.abs(force - shifted(force, -1)) * still
        add("support_change", change, (f"{CONTACT}/support",))
        wrong = ((share > ALWAYS) & (force <= 0)) | ((share < 1 - ALWAYS) & (force > 0))
        lasting = wrong & shifted(wrong, 1) & shifted(wrong, -1)
        add("support_contradicts", lasting.astype(float), (f"{CONTACT}/support",))
        add("rest_height", np.abs(height[:, 0] - motion.first[:, 0, 2]) * still, entities[:1])


def _turning(trajectories: Trajectories, motion: SceneMotion, scene: SceneModel, add: Add) -> None:
    """A thing turns with the hand that holds it, or it rolls or topples, and then its middle moves too."""
    state, shifted = motion.state, trajectories.shifted
    rate, distance = trajectories.schema.rate_hz, motion.distance_m
    speed = motion.step_m * rate
    hand_rad_s = np.zeros(speed.shape)
    if motion.tool is not None and motion.hand_step is not None and distance is not None:
        near = distance < scene.reach_m
        hand_rad_s = _turn_rad(motion.tool[1], shifted)[:, None] * rate * near
        in_hand = length(motion.step - motion.hand_step) * rate
        speed = np.where(near, np.minimum(speed, in_hand), speed)
    rolls_rad_s = np.maximum(speed, shifted(speed, 1)) / LEVER_M
    for number, pose in enumerate(motion.poses):
        if pose.quaternion is None:
            continue
        turn = state[:, pose.quaternion]
        norm = np.linalg.norm(trajectories.signals[ENVIRONMENT][:, pose.quaternion], axis=1)
        unit = turn / np.maximum(np.linalg.norm(turn, axis=1), 1e-9)[:, None]
        cosine = np.clip(np.abs((unit * shifted(unit, -1)).sum(axis=1)), 0, 1)
        explained = rolls_rad_s[:, number] + hand_rad_s[:, number]
        label = (motion.entities[number],)
        add("quaternion_norm", np.abs(norm - 1), label)
        add("turns_alone", np.maximum(2 * np.arccos(cosine) * rate - explained, 0), label)


def _turn_rad(rotation: np.ndarray, shifted: Callable[[np.ndarray, int], np.ndarray]) -> np.ndarray:
    """(frames,) angle between a rotation and that of the frame before."""
    trace = np.einsum("fij,fij->f", rotation, shifted(rotation, -1))
    return np.arccos(np.clip((trace - 1) / 2, -1, 1))


def _in_the_hand(
    trajectories: Trajectories,
    motion: SceneMotion,
    scene: SceneModel,
    tool: tuple[np.ndarray, np.ndarray],
    add: Add,
) -> None:
    """A held thing moves with the tool, and fingers that feel something are near a thing."""
    place, rotation = tool
    position = motion.position
    shifted, rate = trajectories.shifted, trajectories.schema.rate_hz
    apart = position - place[:, None]
    distance = motion.distance_m
    assert distance is not None
    in_tool = np.einsum("fji,fej->fei", rotation, apart)
    fingers = trajectories.signals[CONTACT][:, finger_columns(trajectories.schema)]
    grip = fingers.min(axis=1) > TOUCH_N
    steady = np.logical_and.reduce([shifted(grip, lag) for lag in (-2, -1, 0, 1, 2)])
    moved = length(in_tool - shifted(in_tool, -1)) * rate
    nearest = distance.argmin(axis=1)
    rows = np.arange(len(nearest))
    held = steady & (distance[rows, nearest] < HELD_M) & (shifted(nearest, -1) == nearest)
    add("slips_in_grip", moved[rows, nearest] * held, ("held object",))
    long = held & shifted(held, -GRIP_FRAMES) & (shifted(nearest, -GRIP_FRAMES) == nearest)
    long &= rows - GRIP_FRAMES >= trajectories.first_of
    drift = length(in_tool - shifted(in_tool, -GRIP_FRAMES))
    add("shifts_in_grip", drift[rows, nearest] * long, ("held object",))
    # The first frame of the present grasp: a new one begins where the thing was not held the frame before.
    begins = held & ~(shifted(held, -1) & (rows > trajectories.first_of))
    began = np.maximum.accumulate(np.where(begins, rows, 0))
    slid = length(in_tool[rows, nearest] - in_tool[began, nearest]) * (held & (nearest == nearest[began]))
    add("grip_drift", slid, ("held object",))
    add("touch_at_distance", distance[rows, nearest] * steady, ("held object",))
    speed = length(place - shifted(place, -1)) * rate
    add("tool_speed", speed, ("tool",))
    # A pose that a tracker repeats while the hand carries or pushes the thing.
    touch = touching(trajectories, FAINT_N)
    stands = motion.repeated & (distance < scene.reach_m) & (touch & shifted(touch, -1))[:, None]
    since = np.maximum.accumulate(np.where(stands, 0, rows[:, None]), axis=0)
    add("stands_in_hand", length(place[:, None] - place[since]) * stands, motion.entities)
