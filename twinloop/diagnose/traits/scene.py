"""Traits of the scene and of the outcome."""

import numpy as np

from twinloop.diagnose.traits.episode import EpisodeTrace
from twinloop.diagnose.traits.tracker import yaw_rad

NAN = float("nan")
FEW = 5
WINDOW = 5
MOVED_M = 0.012
USUAL_LIGHT = ("", "normal", "usual")


def _moved_m(shown: EpisodeTrace) -> float:
    """Largest distance of the object from its first position before the grasp, as a moving mean over a few frames."""
    poses, rows = shown.object, shown.before
    if poses is None or len(rows) < 2 * WINDOW:
        return NAN
    places = poses[rows, :2]
    smooth = np.stack([np.convolve(places[:, axis], np.ones(WINDOW) / WINDOW, "valid") for axis in (0, 1)], axis=1)
    return float(np.linalg.norm(smooth - smooth[0], axis=1).max())


def moved_mm(shown: EpisodeTrace) -> float:
    return 1000 * _moved_m(shown)


def was_moved(shown: EpisodeTrace) -> float:
    far = _moved_m(shown)
    return NAN if np.isnan(far) else float(far > MOVED_M)


def _first(shown: EpisodeTrace, which: str, axis: int, scale: float) -> float:
    poses = getattr(shown, which)
    return NAN if poses is None else scale * float(np.median(poses[:FEW, axis]))


def place_x_cm(shown: EpisodeTrace) -> float:
    return _first(shown, "object", 0, 100.0)


def place_y_cm(shown: EpisodeTrace) -> float:
    return _first(shown, "object", 1, 100.0)


def height_mm(shown: EpisodeTrace) -> float:
    if other_object(shown) > 0:
        return NAN  # another kind of object may have another height
    return _first(shown, "object", 2, 1000.0)


def turned_deg(shown: EpisodeTrace) -> float:
    poses = shown.object
    return NAN if poses is None else abs(float(np.rad2deg(np.median(yaw_rad(poses[:FEW])))))


def goal_x_cm(shown: EpisodeTrace) -> float:
    return _first(shown, "goal", 0, 100.0)


def goal_y_cm(shown: EpisodeTrace) -> float:
    return _first(shown, "goal", 1, 100.0)


def other_object(shown: EpisodeTrace) -> float:
    return float(shown.conditions.get("object", shown.arm.kind) != shown.arm.kind)


def poor_light(shown: EpisodeTrace) -> float:
    return float(shown.conditions.get("light", "") not in USUAL_LIGHT)


def person(shown: EpisodeTrace) -> float:
    return float(shown.conditions.get("human", "absent") not in ("absent", "no", ""))


def duration_s(shown: EpisodeTrace) -> float:
    return shown.rows * shown.arm.period_s


def succeeded(shown: EpisodeTrace) -> float:
    return float(shown.success)


def grasped(shown: EpisodeTrace) -> float:
    return NAN if shown.object is None else float(len(shown.held) > 0)
