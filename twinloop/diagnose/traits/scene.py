"""Traits of the scene and of the outcome."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.diagnose.traits.tracker import noise_mm, yaw_rad

NAN = float("nan")
FEW = 5
FIRST = 3
WINDOW = 5
MOVED_M = 0.012
NOISES = 4.0  # a displacement of medians by this multiple of the noise of single frames is no noise
REACH_M = 0.08  # of the tool from the centre of a thing that it may touch
USUAL_LIGHT = ("", "normal", "usual")
NOBODY = ("absent", "no", "")


def _moved_m(episode: EpisodeTrace) -> float:
    """Largest distance of an untouched thing from its first position, when the tool comes near or the fingers close.

    Only a displacement that lasts counts. A tracker that loses a thing, or takes two entities for each other, does not
    move it.
    """
    things, rows = episode.all_things, episode.before
    if things is None or len(rows) < 2 * WINDOW:
        return NAN
    first, last = np.median(things[:FIRST], axis=0), np.median(things[rows[-WINDOW:]], axis=0)
    moved_m = np.linalg.norm((last - first)[:, :2], axis=1)
    if not (moved_m > MOVED_M).any():
        return float(moved_m.max())
    tool = episode.arm.tool(episode.position[rows])
    for thing in np.flatnonzero(moved_m > MOVED_M):
        free = rows[: _reached(tool, things[rows, thing])]
        # Without enough frames before the tool comes, its fingers may have moved the thing.
        known = len(free) >= 2 * WINDOW
        last[thing] = np.median(things[free[-WINDOW:], thing], axis=0) if known else first[thing]
    moved_m = np.linalg.norm((last - first)[:, :2], axis=1)
    return max(
        0.0 if _is_swap(episode, thing, first, last, rows) else far for thing, far in enumerate(moved_m.tolist())
    )


def _reached(tool: np.ndarray, path: np.ndarray) -> int:
    """Number of the first frames in which the tool is not near a thing."""
    near = np.linalg.norm(tool - path, axis=1) < REACH_M
    return int(np.argmax(near)) if near.any() else len(path)


def _is_swap(episode: EpisodeTrace, thing: int, first: np.ndarray, last: np.ndarray, rows: np.ndarray) -> bool:
    """Whether a thing is where another entity was, and that one where the thing was."""
    places = [(first[other], last[other]) for other in range(len(first)) if other != thing]
    if episode.goal is not None:
        places.append(
            (np.median(episode.goal[:FIRST, :3], axis=0), np.median(episode.goal[rows[-WINDOW:], :3], axis=0))
        )
    return any(
        np.linalg.norm((last[thing] - before)[:2]) < MOVED_M and np.linalg.norm((now - first[thing])[:2]) < MOVED_M
        for before, now in places
    )


def moved_mm(episode: EpisodeTrace) -> float:
    return 1000 * _moved_m(episode)


def was_moved(episode: EpisodeTrace) -> float:
    """Whether a thing was moved, beyond the tracker's noise in this episode."""
    far = _moved_m(episode)
    noise_m = np.nan_to_num(noise_mm(episode)) / 1000
    return NAN if np.isnan(far) else float(far > max(MOVED_M, NOISES * noise_m))


def sway_mm(episode: EpisodeTrace) -> float:
    """Slow motion of the untouched object: standard deviation of its moving mean, in the worst direction."""
    poses, rows = episode.object, episode.before
    if poses is None or len(rows) < 2 * WINDOW:
        return NAN
    places = poses[rows, :3]
    smooth = [np.convolve(places[:, axis], np.ones(WINDOW) / WINDOW, "valid") for axis in range(3)]
    return 1000 * float(np.std(smooth, axis=1).max())


def _first(episode: EpisodeTrace, which: str, axis: int, scale: float) -> float:
    poses = getattr(episode, which)
    return NAN if poses is None else scale * float(np.median(poses[:FEW, axis]))


def place_x_cm(episode: EpisodeTrace) -> float:
    return _first(episode, "object", 0, 100.0)


def place_y_cm(episode: EpisodeTrace) -> float:
    return _first(episode, "object", 1, 100.0)


def height_mm(episode: EpisodeTrace) -> float:
    if other_object(episode) > 0:
        return NAN  # another kind of object may have another height
    return _first(episode, "object", 2, 1000.0)


def turned_deg(episode: EpisodeTrace) -> float:
    poses = episode.object
    return NAN if poses is None else abs(float(np.rad2deg(np.median(yaw_rad(poses[:FEW])))))


def goal_x_cm(episode: EpisodeTrace) -> float:
    return _first(episode, "goal", 0, 100.0)


def goal_y_cm(episode: EpisodeTrace) -> float:
    return _first(episode, "goal", 1, 100.0)


def other_object(episode: EpisodeTrace) -> float:
    if episode.thing == 0 and "object" not in episode.conditions:
        return NAN
    return float(episode.kind != episode.arm.things[episode.thing][0])


def poor_light(episode: EpisodeTrace) -> float:
    return float(episode.conditions["light"] not in USUAL_LIGHT) if "light" in episode.conditions else NAN


def person(episode: EpisodeTrace) -> float:
    return float(episode.conditions["human"] not in NOBODY) if "human" in episode.conditions else NAN


def duration_s(episode: EpisodeTrace) -> float:
    """Duration of a successful episode. A failed one often lasts until the time limit, which says nothing more."""
    return episode.rows * episode.period_s if episode.success else NAN


def succeeded(episode: EpisodeTrace) -> float:
    return float(episode.success)


def grasped(episode: EpisodeTrace) -> float:
    return NAN if episode.object is None else float(len(episode.held) > 0)
