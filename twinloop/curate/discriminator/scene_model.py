"""SceneModel: what good episodes show of a scene's entities, beyond general physics.

A thing rests at certain heights only (on the table, in a drawer), a drawer moves along its rails only, and the hand
moves what is near it only.
"""

from dataclasses import dataclass

import numpy as np

from twinloop.curate.discriminator.scene_motion import FAINT_N, SceneMotion, touching
from twinloop.curate.discriminator.trajectories import CONTACT, Trajectories

REST_M_S = 0.05
MOVES_M_S = 0.02
REACH_M, MAX_REACH_M = 0.12, 0.6
"""A thing farther from the tool than this is not touched; large fixtures may be farther, as far as the data shows."""
LEVEL_M = 0.002
LEVEL_SHARE = 0.005
"""Share of the frames at rest that a height needs to be one of the heights at which an entity rests."""
REST = 2
"""Row of `SceneModel.supported`."""
MIN_LEVEL_FRAMES = 100
MAX_TOUCH_POINTS = 384
BLOCKED_M = 0.001
"""An entity that never moves farther than this in a direction cannot move in it."""


@dataclass(frozen=True)
class SceneModel:
    """Learnt properties of E entities.

    Attributes:
        smooth_frames: () over which measured poses are averaged, before and after each frame.
        reach_m: (E,) largest distance between tool and entity at which the hand moves it.
        levels_m: (E, k) heights above its start at which an entity rests, NaN where it has fewer than k.
        blocked: (E, 3, 3) projection onto the directions in which an entity does not move.
        supported: (3, k) share of the frames at each height of the first entity in which its support reports a force:
            it moves untouched, is touched, or rests. NaN where there are too few.
        touch_points_m: (E, k, 3) places of the tool relative to each entity at which a finger touches something.
    """

    smooth_frames: np.ndarray
    reach_m: np.ndarray
    levels_m: np.ndarray
    blocked: np.ndarray
    supported: np.ndarray
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
    supported = _supported(trajectories, motion, levels_m, reach_m)
    return SceneModel(
        np.array(motion.smooth_frames), reach_m, levels_m, blocked, supported, _touch_points(trajectories, motion)
    )


def support_force(trajectories: Trajectories) -> np.ndarray | None:
    """(frames,) force of the support of the first entity, None without its sensor."""
    names = trajectories.schema.elements.get(CONTACT, ())
    return trajectories.signals[CONTACT][:, names.index("support")] if "support" in names else None


def support_share(
    trajectories: Trajectories, motion: SceneMotion, levels_m: np.ndarray, reach_m: np.ndarray, supported: np.ndarray
) -> np.ndarray:
    """(frames,) how often good episodes report a support force in the state of each frame; NaN if it is not known."""
    state, level = _support_state(trajectories, motion, levels_m, reach_m)
    return np.where(level < 0, np.nan, supported[state, level])


def _support_state(
    trajectories: Trajectories, motion: SceneMotion, levels_m: np.ndarray, reach_m: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(frames,) row and column in `supported`; the column is -1 between the known heights, or if the thing leans."""
    height = motion.position[:, 0, 2] - motion.first[:, 0, 2]
    apart = np.abs(height[:, None] - np.where(np.isnan(levels_m[0]), np.inf, levels_m[0]))
    nearest = apart.argmin(axis=1)
    near = (apart[np.arange(len(nearest)), nearest] < LEVEL_M) & ~motion.tilted[:, 0]
    near[trajectories.starts] = False  # sensors may report their first force one frame later
    state = np.where(at_rest(trajectories, motion, reach_m)[:, 0], REST, motion.touch)
    return state, np.where(near, nearest, -1)


def _supported(
    trajectories: Trajectories, motion: SceneMotion, levels_m: np.ndarray, reach_m: np.ndarray
) -> np.ndarray:
    shares, force = np.full((3, levels_m.shape[1]), np.nan), support_force(trajectories)
    if force is None:
        return shares
    state, level = _support_state(trajectories, motion, levels_m, reach_m)
    for index in np.ndindex(shares.shape):
        rows = (state == index[0]) & (level == index[1])
        if rows.sum() >= MIN_LEVEL_FRAMES:
            shares[index] = (force[rows] > 0).mean()
    return shares


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
    return np.unique([0.0, *(middle for middle in middles if abs(middle) > LEVEL_M / 2)])


def _blocked(displacement_m: np.ndarray) -> np.ndarray:
    """(3, 3) projection onto the directions without motion."""
    _, axes = np.linalg.eigh(displacement_m.T @ displacement_m)
    still = np.quantile(np.abs(displacement_m @ axes), 0.999, axis=0) < BLOCKED_M
    return axes[:, still] @ axes[:, still].T
