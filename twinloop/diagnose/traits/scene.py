"""Traits of the scene and of the outcome."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.diagnose.traits.tracker import yaw_rad

NAN = float("nan")
FEW = 5
WINDOW = 5
MOVED_M = 0.012
USUAL_LIGHT = ("", "normal", "usual")


def _moved_m(episode: EpisodeTrace) -> float:
    """Largest distance of the object from its first position before the grasp, as a moving mean over a few frames."""
    poses, rows = episode.object, episode.before
    if poses is None or len(rows) < 2 * WINDOW:
        return NAN
    places = poses[rows, :2]
    smooth = np.stack([np.convolve(places[:, axis], np.ones(WINDOW) / WINDOW, "valid") for axis in (0, 1)], axis=1)
    return float(np.linalg.norm(smooth - smooth[0], axis=1).max())


def moved_mm(episode: EpisodeTrace) -> float:
    return 1000 * _moved_m(episode)


def was_moved(episode: EpisodeTrace) -> float:
    far = _moved_m(episode)
    return NAN if np.isnan(far) else float(far > MOVED_M)


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
    return float(episode.kind != episode.arm.things[episode.thing][0])


def poor_light(episode: EpisodeTrace) -> float:
    return float(episode.conditions.get("light", "") not in USUAL_LIGHT)


def person(episode: EpisodeTrace) -> float:
    return float(episode.conditions.get("human", "absent") not in ("absent", "no", ""))


def duration_s(episode: EpisodeTrace) -> float:
    """Duration of a successful episode. A failed one often lasts until the time limit, which says nothing more."""
    return episode.rows * episode.period_s if episode.success else NAN


def succeeded(episode: EpisodeTrace) -> float:
    return float(episode.success)


def grasped(episode: EpisodeTrace) -> float:
    return NAN if episode.object is None else float(len(episode.held) > 0)
