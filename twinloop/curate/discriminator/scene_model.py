"""SceneModel: what good episodes show of a scene's entities, beyond general physics.

A thing rests at certain heights only (on the table, in a drawer), a drawer moves along its rails only, and the hand
moves what is near it only.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.scene_motion import FAINT_N, SceneMotion, touching
from twinloop.curate.discriminator.trajectories import Trajectories

REST_M_S = 0.05
MOVES_M_S = 0.02
REACH_M, MAX_REACH_M = 0.12, 0.6
"""A thing farther from the tool than this is not touched; large fixtures may be farther, as far as the data shows."""
LEVEL_M = 0.002
LEVEL_SHARE = 0.005
"""Share of the frames at rest that a height needs to be one of the heights at which an entity rests."""
MAX_TOUCH_POINTS = 384
BLOCKED_M = 0.001
"""An entity that never moves farther than this in a direction cannot move in it."""


@dataclass(frozen=True)
class SceneModel:
    """Learnt properties of E entities.

    Attributes:
        reach_m: (E,) largest distance between tool and entity at which the hand moves it.
        levels_m: (E, k) heights above its start at which an entity rests, NaN where it has fewer than k.
        blocked: (E, 3, 3) projection onto the directions in which an entity does not move.
        touch_points_m: (E, k, 3) places of the tool relative to each entity at which a finger touches something.
    """

    reach_m: np.ndarray
    levels_m: np.ndarray
    blocked: np.ndarray
    touch_points_m: np.ndarray


def untouched(motion: SceneMotion, reach_m: np.ndarray) -> np.ndarray:
    """(frames, E) no finger touches anything, or the tool is too far from the entity."""
    distance = motion.distance_m
    near = True if distance is None else distance < reach_m
    return ~(motion.touch[:, None] & near)


def at_rest(trajectories: Trajectories, motion: SceneMotion, reach_m: np.ndarray) -> np.ndarray:
    """(frames, E) hardly moves, now and in the frames before and after, and no finger touches it."""
    slow = motion.step_m * trajectories.schema.rate_hz < REST_M_S
    slow &= trajectories.shifted(slow, 1) & trajectories.shifted(slow, -1)
    return slow & untouched(motion, reach_m)


def fit_scene(trajectories: Trajectories, motion: SceneMotion) -> SceneModel:
    """Fit on good episodes."""
    count = len(motion.poses)
    moves = motion.step_m * trajectories.schema.rate_hz > MOVES_M_S
    distance = motion.distance_m
    reach_m = np.full(count, REACH_M)
    for entity in range(count):
        rows = moves[:, entity] & motion.touch
        if distance is not None and rows.sum() > 20:
            reach_m[entity] = np.clip(np.quantile(distance[rows, entity], 0.99) + 0.01, REACH_M, MAX_REACH_M)
    rests = at_rest(trajectories, motion, reach_m) & ~motion.tilted
    height = motion.position[:, :, 2] - motion.first[:, :, 2]
    levels = [_levels(height[rests[:, entity], entity]) for entity in range(count)]
    levels_m = np.full((count, max(map(len, levels))), np.nan)
    for entity, found in enumerate(levels):
        levels_m[entity, : len(found)] = found
    blocked = np.stack([_blocked(motion.position[:, i] - motion.first[:, i]) for i in range(count)])
    return SceneModel(reach_m, levels_m, blocked, _touch_points(trajectories, motion))


def _touch_points(trajectories: Trajectories, motion: SceneMotion) -> np.ndarray:
    rows = np.flatnonzero(touching(trajectories, FAINT_N))
    if motion.tool is None or not len(rows):
        return np.zeros((len(motion.poses), 0, 3))
    rows = rows[np.linspace(0, len(rows) - 1, min(len(rows), MAX_TOUCH_POINTS)).astype(int)]
    return np.swapaxes(motion.tool[0][rows, None] - motion.position[rows], 0, 1)


def _levels(height_m: np.ndarray) -> np.ndarray:
    """The heights at which an entity rests often; the start is always one."""
    cells, counts = np.unique(np.round(height_m / LEVEL_M), return_counts=True)
    often = cells[counts >= max(LEVEL_SHARE * len(height_m), 5)]
    middles = [np.median(height_m[np.round(height_m / LEVEL_M) == cell]) for cell in often]
    return np.unique([0.0, *middles])


def _blocked(displacement_m: np.ndarray) -> np.ndarray:
    """(3, 3) projection onto the directions without motion."""
    _, axes = np.linalg.eigh(displacement_m.T @ displacement_m)
    still = np.quantile(np.abs(displacement_m @ axes), 0.999, axis=0) < BLOCKED_M
    return axes[:, still] @ axes[:, still].T
