"""Motion and rest of things that nothing explains.

A thing moves with the hand, with another entity that carries it, under gravity, or it slows down. It rests where
something supports it. What is left over is implausible, whatever the cause is.
"""

import numpy as np

from twinloop.curate.discriminator.posture_support import nearest_distance
from twinloop.curate.discriminator.scene_model import SceneModel, at_rest, untouched
from twinloop.curate.discriminator.scene_motion import FAINT_N, SceneMotion, finger_columns, length, touching
from twinloop.curate.discriminator.trajectories import Trajectories

GRAVITY_M_S2 = 9.81
CARRIER_M = 0.3
"""An entity farther from a thing than this does not carry it."""
ROLLS_PER_HEIGHT = 6.0
BESIDE_M = 0.05
"""A thing lies on another one if it is at most this far from its middle."""


def carrier_residuals(trajectories: Trajectories, motion: SceneMotion, scene: SceneModel) -> dict[str, np.ndarray]:
    """Aspect -> (frames, E); aspects of the hand have one column."""
    residuals = {"moves_alone": _moves_alone(trajectories, motion, scene)}
    shift = motion.position - motion.first
    residuals["blocked_motion"] = length(np.einsum("eij,fej->fei", scene.blocked, shift))
    if finger_columns(trajectories.schema):
        residuals["travels_untouched"] = _travels_untouched(trajectories, motion, scene)
        residuals["rest_level"] = _rest_level(trajectories, motion, scene)
        distance, touches = motion.distance_m, touching(trajectories, FAINT_N)
        if motion.tool is not None and distance is not None:
            residuals["touch_place"] = _touch_place(motion, motion.tool[0], touches, scene)[:, None]
            residuals["contact_distance"] = _contact_distance(trajectories, distance, touches)[:, None]
    return residuals


def _touch_place(motion: SceneMotion, tool_m: np.ndarray, touches: np.ndarray, scene: SceneModel) -> np.ndarray:
    """(frames,) distance of a reported contact from the nearest place at which good episodes have one, in m."""
    out = np.zeros(len(touches))
    rows = np.flatnonzero(touches)
    if len(rows) and scene.touch_points_m.shape[1]:
        apart = [
            nearest_distance(tool_m[rows] - motion.position[rows, entity], points)
            for entity, points in enumerate(scene.touch_points_m)
        ]
        out[rows] = np.min(apart, axis=0)
    return out


def _contact_distance(trajectories: Trajectories, distance: np.ndarray, touches: np.ndarray) -> np.ndarray:
    """(frames,) how much the distance of tool and nearest entity changes while a finger touches it, in m.

    A thing that is held or pushed keeps its distance. One whose measured pose is late or drifts does not.
    """
    nearest = distance.argmin(axis=1)
    rows = np.arange(len(nearest))
    apart = np.where(touches, distance[rows, nearest], np.nan)
    out = np.zeros(len(rows))
    for entity in range(distance.shape[1]):
        mine = touches & (nearest == entity)
        count = np.add.reduceat(mine, trajectories.starts)
        total = np.add.reduceat(np.where(mine, apart, 0.0), trajectories.starts)
        usual = np.repeat(total / np.maximum(count, 1), trajectories.lengths)
        out[mine] = np.abs(apart - usual)[mine]
    return out


def _moves_alone(trajectories: Trajectories, motion: SceneMotion, scene: SceneModel) -> np.ndarray:
    """(frames, E) speed of each entity beyond that of anything that could move it, in m/s."""
    step, rate = motion.step, trajectories.schema.rate_hz
    before = trajectories.shifted(step, -1)
    least = _beyond(step, before)
    fall = before - np.array([0, 0, GRAVITY_M_S2 / rate**2])
    least = np.minimum(least, length(step - fall))
    distance = motion.distance_m
    if distance is not None and motion.hand_step is not None:
        by_hand = _beyond(step, motion.hand_step)
        least = np.where(distance < scene.reach_m, np.minimum(least, by_hand), least)
    for other in range(step.shape[1]) if step.shape[1] > 1 else ():
        near = length(motion.position - motion.position[:, other : other + 1]) < CARRIER_M
        near[:, other] = False
        least = np.where(near, np.minimum(least, _beyond(step, step[:, other : other + 1])), least)
    return least * rate


def _beyond(step: np.ndarray, carrier: np.ndarray) -> np.ndarray:
    """(frames, E) distance of each step from the nearest share, 0 to 1, of the carrier's step."""
    along = np.einsum("fei,fei->fe", step, carrier)
    along /= np.maximum(np.einsum("fei,fei->fe", carrier, carrier), 1e-18)
    return length(step - np.clip(along, 0, 1)[:, :, None] * carrier)


def _travels_untouched(trajectories: Trajectories, motion: SceneMotion, scene: SceneModel) -> np.ndarray:
    """(frames, E) distance from where an entity was last touched, relative to the entity that carried it best.

    A thing that falls or topples on the way may roll or slide by a multiple of the height that it lost.
    """
    free = untouched(motion, scene.reach_m)
    rows = np.arange(len(free))[:, None]
    since = np.maximum.accumulate(np.where(free & (rows > trajectories.first_of[:, None]), 0, rows), axis=0)
    entities = np.arange(free.shape[1])
    travel = motion.position - motion.position[since, entities]
    least = length(travel)
    for other in entities if len(entities) > 1 else ():
        apart = motion.position - motion.position[:, other : other + 1]
        near = (length(apart) < CARRIER_M) & (entities != other)
        carried = motion.position[:, other : other + 1] - motion.position[since, other]
        least = np.where(near, np.minimum(least, length(travel - carried)), least)
    lost = np.maximum(-travel[:, :, 2], 0)
    return np.maximum(least - ROLLS_PER_HEIGHT * lost, 0) * free


def _rest_level(trajectories: Trajectories, motion: SceneMotion, scene: SceneModel) -> np.ndarray:
    """(frames, E) distance of a resting entity from the nearest height at which something supports it, in m."""
    height = motion.position[:, :, 2] - motion.first[:, :, 2]
    levels_m = np.where(np.isnan(scene.levels_m), np.inf, scene.levels_m)
    apart = np.minimum.reduce([np.abs(height - level) for level in levels_m.T])
    for other in range(height.shape[1]) if height.shape[1] > 1 else ():
        beside = np.linalg.norm(motion.position[:, :, :2] - motion.position[:, other : other + 1, :2], axis=2)
        top = (motion.position[:, other, 2] + motion.first[:, other, 2])[:, None]
        apart = np.where(beside < BESIDE_M, np.minimum(apart, np.abs(height - top)), apart)
    # The height of a thing that leans or lies on another side is not known.
    return apart * (at_rest(trajectories, motion, scene.reach_m) & ~motion.tilted)
