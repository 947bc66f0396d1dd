"""Alignment: how far the outline of the twin's robot lies from that of the filmed robot, in pixels of the film."""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from twinloop.calibrate.footage.camera_fit import CameraFit
from twinloop.calibrate.footage.moving_mask import RobotMasks
from twinloop.calibrate.footage.robot_points import RobotPoints
from twinloop.signals.regions import connected, distance_to

SPACING_SHARE = 1 / 180  # distance between points on the robot, as a share of its reach
NEAR_SHARE = 0.05  # parts of the film's mask within this share of its width from the twin's robot count as the robot
BORDER_PX = 3
FEWEST_PX = 60
"""Frames that show less of the robot's outline are not measured."""
REPEATS = 1000


@dataclass(frozen=True)
class FrameAlignment:
    """One frame.

    Attributes:
        outline_px: median distance from the twin's outline to the film's.
        twin_to_film_px, film_to_twin_px: mean distances in both directions.
        iou: intersection of both masks over their union.
    """

    frame: int
    outline_px: float
    twin_to_film_px: float
    film_to_twin_px: float
    iou: float


@dataclass(frozen=True)
class Alignment:
    """Alignment over frames. Intervals are 95 % bootstrap intervals over frames.

    Attributes:
        frames: the measured frames.
        skipped: frames in which the robot is not in view, or in one of the two only.
        missed: of these, frames in which only one of film and twin shows the robot.
        error_px: median over frames of the mean of both directions.
    """

    frames: tuple[FrameAlignment, ...]
    skipped: int
    missed: int
    error_px: float
    error_interval_px: tuple[float, float]
    outline_px: float
    worst_px: float
    iou: float

    def to_json(self) -> dict:
        return {
            "frames": len(self.frames), "skipped": self.skipped, "missed": self.missed, "error_px": self.error_px,
            "error_interval_px": list(self.error_interval_px), "outline_median_px": self.outline_px,
            "error_90_percent_px": self.worst_px, "iou": self.iou,
        }  # fmt: skip


def silhouettes(points: RobotPoints, fit: CameraFit, positions: np.ndarray) -> np.ndarray:
    """(f, h, w) bool: the pixels of the twin's robot."""
    view, masks = fit.view, []
    for world in points.at(positions + fit.zeros_rad):
        pixels, depth = view.pixels(world)
        u, v = np.floor(pixels[:, 0]).astype(int), np.floor(pixels[:, 1]).astype(int)
        inside = (depth > 0.02) & (u >= 0) & (u < view.width) & (v >= 0) & (v < view.height)
        mask = np.zeros((view.height, view.width), bool)
        mask[v[inside], u[inside]] = True
        # Points are a few pixels apart; closing joins them. The border is padded, or closing would wear it off.
        masks.append(ndimage.binary_closing(np.pad(mask, 6), iterations=4)[6:-6, 6:-6])
    return np.stack(masks)


def align(
    points: RobotPoints, fit: CameraFit, positions: np.ndarray, seen: RobotMasks, film: np.ndarray, *, seed: int
) -> Alignment:
    """Measure the alignment of every frame that shows the robot."""
    twin = silhouettes(points, fit, positions)
    static = dict(zip(np.unique(film).tolist(), seen.static, strict=True))
    frames, missed = [], 0
    for number, (mask, moving) in enumerate(zip(twin, seen.moving, strict=True)):
        frame = _frame(number, mask, moving | static[int(film[number])])
        if frame is not None:
            frames.append(frame)
        elif mask.sum() > FEWEST_PX**2 / 4 and moving.any():
            missed += 1
    errors = np.array([(frame.twin_to_film_px + frame.film_to_twin_px) / 2 for frame in frames])
    if not len(errors):
        nothing = float("nan")
        return Alignment((), len(twin), missed, nothing, (nothing, nothing), nothing, nothing, nothing)
    rng = np.random.default_rng(seed)
    again = np.median(errors[rng.integers(len(errors), size=(REPEATS, len(errors)))], axis=1)
    low, high = np.quantile(again, (0.025, 0.975))
    return Alignment(
        frames=tuple(frames), skipped=len(twin) - len(frames), missed=missed, error_px=float(np.median(errors)),
        error_interval_px=(float(low), float(high)),
        outline_px=float(np.median([frame.outline_px for frame in frames])),
        worst_px=float(np.quantile(errors, 0.9)), iou=float(np.mean([frame.iou for frame in frames])),
    )  # fmt: skip


def _frame(number: int, twin: np.ndarray, film: np.ndarray) -> FrameAlignment | None:
    """None if one of both does not show enough of the robot."""
    near = distance_to(twin) < NEAR_SHARE * twin.shape[1] if twin.any() else twin
    labels, _ = connected(film)
    robot = np.isin(labels, np.setdiff1d(np.unique(labels[near & film]), [0])) if (near & film).any() else near & film
    ours, theirs = outline(twin), outline(robot)
    if ours.sum() < FEWEST_PX or theirs.sum() < FEWEST_PX:
        return None
    to_film, to_twin = distance_to(theirs)[ours], distance_to(ours)[theirs]
    both = (twin & robot).sum() / max((twin | robot).sum(), 1)
    return FrameAlignment(number, float(np.median(to_film)), float(to_film.mean()), float(to_twin.mean()), float(both))


def outline(mask: np.ndarray) -> np.ndarray:
    """Pixels of a mask at its edge. The border of the image is not an edge."""
    edge = mask & ~np.asarray(ndimage.binary_erosion(mask, border_value=1), bool)
    edge[:BORDER_PX], edge[-BORDER_PX:], edge[:, :BORDER_PX], edge[:, -BORDER_PX:] = False, False, False, False
    return edge
