"""Fits a camera's pose and field of view to masks of a moving robot whose joint positions are known.

The cost of a view is the truncated chamfer distance, in pixels: the mean distance of the robot's projected pixels to
the nearest pixel of the film's mask, and of the film's pixels to the nearest projected one. Distances above a limit
count as the limit, so that objects that move with the robot do not decide. A global search (differential evolution) on
small masks gives the start of a local one (Nelder-Mead) on larger masks, which also fits the zero of every joint.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy import ndimage
from scipy.optimize import differential_evolution, minimize
from scipy.spatial import KDTree

from twinloop.calibrate.footage.moving_mask import RobotMasks
from twinloop.calibrate.footage.robot_points import RobotPoints
from twinloop.calibrate.footage.view import FilmView, view_around
from twinloop.signals.regions import distance_to

COARSE_PX, FINE_PX = 64, 160
FAR_SHARE = 0.12  # of the image's width; more distant pixels are not those of the robot
IN_BACKGROUND = 0.8
"""A pixel that shows the robot in this share of a film's chosen frames is in the film's median, not in its masks."""
ZERO_RAD = 0.06
"""Standard deviation of the joints' zeros: a calibration by hand, about 3 degrees."""
FIT_FRAMES, SAMPLES_A_FRAME = 40, 60
BOUNDS = (
    (-np.pi, np.pi), (np.deg2rad(-5), np.deg2rad(89)), (np.log(0.25), np.log(4.0)), (-1.6, 1.6), (-1.2, 1.2),
    (-0.5, 0.5), (25.0, 95.0),
)  # fmt: skip
"""Azimuth, elevation, log of the distance over the robot's reach, where the tool appears, roll, field of view."""


@dataclass(frozen=True)
class PoseSearch:
    """How long a pose is searched.

    Attributes:
        starts: global searches; the best one is refined.
        rounds, population: generations of a global search, and members for each of seven numbers.
        refinements, evaluations: local searches, each from the end of the last, and their most evaluations.
    """

    starts: int = 2
    rounds: int = 60
    population: int = 12
    refinements: int = 3
    evaluations: int = 700


@dataclass(frozen=True)
class CameraFit:
    """A fitted camera.

    Attributes:
        view: pose and field of view in the frame of the robot's model, for the full size of the film.
        zeros_rad: what is added to each logged joint position.
        cost_px: truncated chamfer distance of the fitted frames, in pixels of the film.
    """

    view: FilmView
    zeros_rad: np.ndarray
    cost_px: float


class _Cost:
    """Truncated chamfer distance between film masks and the robot in a view, at one size of the masks."""

    def __init__(
        self, points: RobotPoints, positions: np.ndarray, seen: RobotMasks, film: np.ndarray, *, width: int, seed: int
    ):
        masks = seen.moving
        frames, tall = len(masks), round(masks.shape[1] * width / masks.shape[2])
        self.masks = _shrunk(masks, tall, width)
        self.points, self.positions = points, positions
        self.width, self.height, self.scale = width, tall, masks.shape[2] / width
        self.far = FAR_SHARE * width
        self._to_mask = np.stack([_distances(mask, self.far) for mask in self.masks])
        self._members = [np.flatnonzero(film == number) for number in np.unique(film)]
        self._to_static = np.stack([_distances(mask, self.far) for mask in _shrunk(seen.static, tall, width)])
        self._frames = frames
        # A sample of the mask's pixels is enough, and much faster than a distance transform of every view.
        pixels = np.argwhere(self.masks).astype(np.float32)
        rng = np.random.default_rng(seed)
        self._sample = pixels[rng.permutation(len(pixels))[: SAMPLES_A_FRAME * frames]]
        self._share = len(pixels) / max(len(self._sample), 1)
        self._sample[:, 0] *= 10 * self.far  # frames lie so far apart that no distance reaches into another one
        self._cached: tuple[bytes, np.ndarray] | None = None

    def robot_masks(self, view: FilmView, zeros_rad: np.ndarray) -> np.ndarray:
        """(f, h, w) pixels of the robot in a view."""
        key = np.round(zeros_rad, 9).tobytes()
        if self._cached is None or self._cached[0] != key:
            self._cached = key, self.points.at(self.positions + zeros_rad)
        pixels, depth = view.resized(self.width, self.height).pixels(self._cached[1])
        u, v = np.floor(pixels[..., 0]).astype(np.int32), np.floor(pixels[..., 1]).astype(np.int32)
        inside = (depth > 0.02) & (u >= 0) & (u < self.width) & (v >= 0) & (v < self.height)
        frame = np.broadcast_to(np.arange(self._frames)[:, None], u.shape)
        hits = np.zeros((self._frames, self.height, self.width), bool)
        hits[frame[inside], v[inside], u[inside]] = True
        return hits

    def of(self, view: FilmView, zeros_rad: np.ndarray) -> float:
        """In pixels of the film."""
        hits = self.robot_masks(view, zeros_rad)
        static = 0.0
        for members, to_static in zip(self._members, self._to_static, strict=True):
            # A part that stands still is in the median frame and must have the robot's colours there.
            always = hits[members].mean(axis=0) >= IN_BACKGROUND
            static += len(members) * float(to_static[always].sum())
            hits[members] &= ~always
        forward = np.append(self._to_mask[hits], static)
        places = np.argwhere(hits).astype(np.float32)
        backward = np.full(len(self._sample), self.far)
        if len(places):
            places[:, 0] *= 10 * self.far
            nearest = KDTree(places, balanced_tree=False, compact_nodes=False)
            backward = np.minimum(nearest.query(self._sample, distance_upper_bound=self.far)[0], self.far)
        total = float(forward.sum() + self._share * backward.sum())
        return self.scale * total / max(len(forward) + self._share * len(backward), 1)


def informative_frames(masks: np.ndarray, positions: np.ndarray, *, most: int = FIT_FRAMES) -> np.ndarray:
    """Indices of frames that show something moving, spread over the postures of the robot."""
    sizes = masks.reshape(len(masks), -1).sum(axis=1)
    candidates = np.flatnonzero(sizes >= max(np.median(sizes), 1))
    if len(candidates) <= most:
        return candidates
    # Farthest-point sampling: each frame is the one whose posture differs most from those chosen before.
    span = np.ptp(positions, axis=0) + 1e-6
    postures = positions[candidates] / span
    chosen = [int(np.argmax(sizes[candidates]))]
    gaps = np.linalg.norm(postures - postures[chosen[0]], axis=1)
    while len(chosen) < most:
        chosen.append(int(np.argmax(gaps)))
        gaps = np.minimum(gaps, np.linalg.norm(postures - postures[chosen[-1]], axis=1))
    return np.sort(candidates[chosen])


def fit_camera(
    points: Callable[[float], RobotPoints],
    positions: np.ndarray,
    seen: RobotMasks,
    film: np.ndarray,
    *,
    target_m: np.ndarray,
    reach_m: float,
    seed: int,
    search: PoseSearch = PoseSearch(),  # noqa: B008
    on_progress: Callable[[str, int, int], None] = lambda *_: None,
) -> CameraFit:
    """Fit a camera to masks.

    Args:
        points: points on the robot for a spacing in metres.
        positions, seen, film: joint positions, masks and film number of each frame.
        target_m: a point that the camera probably looks at: where the tool works.
        reach_m: reach of the robot; the camera is searched up to four times as far away.
    """
    height, width = seen.moving.shape[1:]
    chosen = informative_frames(seen.moving, positions)
    films = np.isin(np.unique(film), film[chosen])
    seen = RobotMasks(seen.moving[chosen], seen.static[films])
    positions, film = positions[chosen], film[chosen]
    coarse = _Cost(points(reach_m / 40), positions, seen, film, width=COARSE_PX, seed=seed)
    none = np.zeros(positions.shape[1])

    def view_of(vector: np.ndarray) -> FilmView:
        azimuth, elevation, away, right, down, roll, fov = vector[:7]
        return view_around(
            target_m, azimuth_rad=azimuth, elevation_rad=elevation, distance_m=reach_m * np.exp(away),
            aside=(right, down), roll_rad=roll, fov_deg=fov, width=width, height=height,
        )  # fmt: skip

    done = 0

    def after_round(*_: object) -> None:
        nonlocal done
        done += 1
        on_progress("global search", done, search.starts * search.rounds)

    searches = [
        differential_evolution(
            lambda vector: coarse.of(view_of(vector), none), BOUNDS, maxiter=search.rounds, popsize=search.population,
            rng=np.random.default_rng([seed, start]), tol=1e-4, polish=False, init="sobol", callback=after_round,
        )
        for start in range(search.starts)
    ]  # fmt: skip
    best = min(searches, key=lambda search: search.fun)
    fine = _Cost(points(reach_m / 80), positions, seen, film, width=min(FINE_PX, width), seed=seed)
    steps = np.concatenate([[0.05, 0.05, 0.06, 0.06, 0.06, 0.03, 3.0], np.full(positions.shape[1], 0.03)])
    low = np.concatenate([[low for low, _ in BOUNDS], np.full(positions.shape[1], -4 * ZERO_RAD)])
    high = np.concatenate([[high for _, high in BOUNDS], np.full(positions.shape[1], 4 * ZERO_RAD)])
    # The zero of the first joint is not determined: turning the camera about the base does the same.
    determined = np.append(np.ones(7, bool), ~fine.points.on_base)
    low[0], high[0] = -np.inf, np.inf  # an angle goes round

    def cost(vector: np.ndarray) -> float:
        # The prior of a zero weighs as much as a tenth of the cost's limit at three deviations.
        prior = 0.1 * fine.far * fine.scale * float(np.mean((vector[7:] / ZERO_RAD) ** 2)) / 9
        return fine.of(view_of(vector), vector[7:]) + prior

    def whole(part: np.ndarray) -> np.ndarray:
        vector = np.zeros(len(determined))
        vector[determined] = part
        return vector

    steps, low, high = steps[determined], low[determined], high[determined]
    best = np.concatenate([best.x, none])[determined]
    for number in range(search.refinements):
        on_progress("refinement", number, search.refinements)
        simplex = np.vstack([best, best + np.diag(steps / (number + 1))])
        local = minimize(
            lambda part: cost(whole(part)), best, method="Nelder-Mead", bounds=list(zip(low, high, strict=True)),
            options={"initial_simplex": np.clip(simplex, low, high), "maxfev": search.evaluations, "xatol": 1e-4,
                     "fatol": 1e-3},
        )  # fmt: skip
        best = local.x
    vector = whole(best)
    view = view_of(vector)
    return CameraFit(view, vector[7:], fine.of(view, vector[7:]))


def _shrunk(masks: np.ndarray, height: int, width: int) -> np.ndarray:
    factors = (1, height / masks.shape[1], width / masks.shape[2])
    return np.asarray(ndimage.zoom(masks.astype(np.float32), factors, order=1)) > 0.4


def _distances(mask: np.ndarray, far: float) -> np.ndarray:
    if not mask.any():
        return np.full(mask.shape, far, np.float32)
    return np.minimum(distance_to(mask), np.float32(far))
