"""Where to mount an arm, and its posture at the start of an episode."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product

import mujoco
import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.twin.kinematics import Solutions, solve_poses
from twinloop.twin.robot_files.inspection.downward import DownwardPoints

# Poses of the tool that picking and placing visits: near the object and the target, low and lifted.
WORK_M = np.array([(x, y, z) for x, y in ((0.46, -0.13), (0.52, 0.17), (0.49, 0.0)) for z in (0.02, 0.16)])
WORK_YAWS_RAD = (0.0, -np.pi / 4, np.pi / 4)
HOMES_M = np.array([(0.48, 0.0, 0.34), (0.45, 0.0, 0.28), (0.47, 0.0, 0.22), (0.47, 0.02, 0.17)])
PLACES_M, FAR_M = (0.0, 0.1, 0.2, 0.3, 0.36, -0.2), (-0.5, -0.9)
"""Distances of the base from the origin, and those for arms of a long reach."""
HEIGHTS_M = (0.0, 0.07, 0.15, 0.3, 0.45, 0.6)
HIGH_M, SHOULDERS_M = 0.55, (0.3, 0.45, 0.15)
"""An arm whose shoulder is higher than this stands beside the table, with its shoulder this high above the surface."""
HIGH_SHARE, SHOULDER_SHARES = 1.2, (0.5, 0.7, 0.3)
"""The same for a short arm on a high base, as shares of its length."""
LONG_M = 1.1
YAWS_DEG = (0.0, 90.0, -90.0, 180.0)
ALL_ROUND_RAD, MIN_HEADING_M, UPRIGHT = 5.2, 0.05, 0.95
DOWN = np.diag([1.0, -1.0, -1.0])
STARTS, HOMES = 8, 3
LEAST_MARGIN_RAD = 0.06  # from the joint limits: the arm's noise and lag must not run into them
WANTED_MARGIN_RAD, WANTED_HEIGHT_M = 0.6, 0.6
CLEAR_M = 0.03
ENOUGH = 0.8  # share of reachable poses at which the search stops
LIKELY, MOST_PLACES = 0.75, 12
"""A place is tried if the tool points down at this share of what it does at the best place, and so many at most."""


@dataclass(frozen=True)
class Mount:
    """A place for the base.

    Attributes:
        reachable: share of the poses of picking and placing that the tool reaches from home, pointing down.
        home_rad: a posture above the table with the tool pointing down; None if there is none.
        overlaps: self-collision was not tested.
    """

    position_m: tuple[float, float, float]
    yaw_deg: float
    reachable: float
    home_rad: np.ndarray | None
    overlaps: bool

    @property
    def rank(self) -> tuple[bool, float]:
        return self.home_rad is not None, self.reachable


class MountFinder:
    """Looks for a place from which the arm can do its work.

    Args:
        start_rad: a posture without self-collision.

    Attributes:
        overlaps: postures in which links overlap count.
    """

    def __init__(self, model: mujoco.MjModel, joints: list[int], site: int, start_rad: np.ndarray):
        self.overlaps = False
        self._model, self._joints, self._site, self._start = model, np.array(joints), site, start_rad
        self._data = mujoco.MjData(model)
        self._base_m = model.body_pos[_root_of(model, int(model.jnt_bodyid[joints[0]]))] * [1, 1, 0]
        self._five_axes = len(joints) < 6
        limited = model.jnt_limited[joints].astype(bool)[:, None]
        self._low, self._high = np.where(limited, model.jnt_range[joints], [-2 * np.pi, 2 * np.pi]).T
        self._margin = np.minimum(LEAST_MARGIN_RAD, 0.05 * (self._high - self._low))
        # Joints without hard limits start within half a turn of zero.
        low, high = np.maximum(self._low, -np.pi), np.minimum(self._high, np.pi)
        qmc = scipy.stats.qmc
        spread = qmc.scale(qmc.Halton(len(joints), scramble=False).random(STARTS), 0.9 * low, 0.9 * high + 1e-6)
        self._starts = np.concatenate([start_rad[None], spread])
        self._downward = DownwardPoints(model, self._joints, site, low, high)

    def find(self, yaws_deg: tuple[float, ...]) -> Mount:
        """The first place, nearest to the origin, from which all work can be done; else the best one.

        Postures in which links overlap count only if there are not enough others: collision shapes of many files are
        hulls that overlap where the links themselves do not.
        """
        best = Mount((0.0, 0.0, 0.0), yaws_deg[0], 0.0, None, overlaps=False)
        for yaw_deg, self.overlaps in product(yaws_deg, (False, True)):
            for place in self._likely_places(yaw_deg):
                mount = self._evaluate(place, yaw_deg)
                if mount.home_rad is not None and mount.reachable == 1:
                    return mount
                best = max(best, mount, key=lambda mount: mount.rank)
            if best.reachable >= ENOUGH:
                break
        return best

    def points_down(self, points_m: np.ndarray, position_m: tuple[float, float, float], yaw_deg: float) -> float:
        """Share of (n, 3) points at which the tool can point down, from a place of the base; an estimate."""
        return self._downward.coverage(points_m, np.array(position_m), about_z(-np.deg2rad(yaw_deg)))

    def _likely_places(self, yaw_deg: float) -> list[tuple[float, float, float]]:
        """Places of the base from which the tool points down at the work, those near the origin first."""
        to_world = about_z(np.deg2rad(yaw_deg))
        # The model may have its base away from its origin.
        placed = (np.round(place - to_world @ self._base_m, 4) for place in self._places())
        places = [(float(x), float(y), float(z)) for x, y, z in placed]
        coverage = np.array([self.points_down(WORK_M, place, yaw_deg) for place in places])
        # The drawn postures of an arm with seven axes are sparse. The origin is tried whenever it is possible.
        usual = np.arange(len(places)) == 0
        likely = np.flatnonzero(((coverage >= LIKELY * coverage.max()) | usual) & (coverage > 0))
        return [places[index] for index in likely[:MOST_PLACES]]

    def _places(self) -> Iterator[tuple[float, float, float]]:
        """Places of the base, the usual ones first."""
        far = FAR_M if self.length_m > LONG_M else ()
        yield from ((x, 0.0, z) for z in self.heights_m for x in (*PLACES_M, *far))

    @property
    def length_m(self) -> float:
        """Length of the arm from the shoulder to the tool, from joint to joint."""
        self._at_start()
        way_m = np.diff(self._data.xanchor[self._joints], axis=0, append=self._data.site_xpos[[self._site]])
        return float(np.linalg.norm(way_m, axis=1)[1:].sum())

    @property
    def heights_m(self) -> tuple[float, ...]:
        """Heights of the base above the table, the likely ones first."""
        self._at_start()
        shoulder_m = float(self._data.xanchor[self._joints[1], 2])
        if shoulder_m > HIGH_M:
            return (*(round(height - shoulder_m, 2) for height in SHOULDERS_M), 0.0)
        length_m = self.length_m
        if shoulder_m > HIGH_SHARE * length_m:
            return tuple(round(share * length_m - shoulder_m, 2) for share in SHOULDER_SHARES)
        return HEIGHTS_M

    @property
    def yaws_deg(self) -> tuple[float, ...]:
        """Rotations of the base, that in which the arm faces the table first.

        An arm whose first joint turns nearly all the way round need not be turned.
        """
        low, high = self._low[0], self._high[0]
        self._at_start()
        if high - low > ALL_ROUND_RAD and abs(self._data.xaxis[self._joints[0], 2]) > UPRIGHT:
            return YAWS_DEG[:1]
        self._data.qpos[self._model.jnt_qposadr[self._joints[0]]] = (low + high) / 2
        mujoco.mj_kinematics(self._model, self._data)
        x, y, _ = self._data.site_xpos[self._site] - self._data.xanchor[self._joints[0]]
        if np.hypot(x, y) < MIN_HEADING_M:
            return YAWS_DEG
        away = [abs(np.angle(np.exp(1j * (np.deg2rad(yaw) + np.arctan2(y, x))))) for yaw in YAWS_DEG]
        return tuple(YAWS_DEG[place] for place in np.argsort(np.round(away, 3), kind="stable"))

    @property
    def axis_m(self) -> np.ndarray:
        """(3,) where the axis of the first joint is, on the ground of the model."""
        self._at_start()
        return self._data.xanchor[self._joints[0]] * [1, 1, 0]

    def _at_start(self) -> None:
        self._data.qpos[self._model.jnt_qposadr[self._joints]] = self._start
        mujoco.mj_kinematics(self._model, self._data)

    def _evaluate(self, position: tuple[float, float, float], yaw_deg: float) -> Mount:
        best = Mount(position, yaw_deg, 0.0, None, self.overlaps)
        for point in HOMES_M:
            for home in self.homes(point, position, yaw_deg):
                points, rotations = self.turned(WORK_M, home[1])
                share = float(self.workable(points, rotations, position, yaw_deg, home[0]).mean())
                if best.home_rad is None or share > best.reachable:
                    best = Mount(position, yaw_deg, share, home[0], self.overlaps)
                if share == 1:
                    return best
        return best

    def workable(
        self,
        points: np.ndarray,
        rotations: np.ndarray,
        position: tuple[float, float, float],
        yaw_deg: float,
        home_rad: np.ndarray,
    ) -> np.ndarray:
        """(n,) whether the tool gets to poses from home with its elbow above the table and its joints off their limits.

        Args:
            position, yaw_deg: where the base stands.
        """
        work = self._solve(points, rotations, position, yaw_deg, home_rad)
        clear = [self._lowest_m(rad) + position[2] > CLEAR_M for rad in work.rad]
        inside = (np.minimum(work.rad - self._low, self._high - work.rad) > self._margin).all(axis=1)
        return work.reachable & clear & inside

    def homes(
        self, point: np.ndarray, position: tuple[float, float, float], yaw_deg: float
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Postures with the tool at a point, those farthest from the joint limits first, and the tool's rotations."""
        homes = []
        for sign in (1.0, -1.0):
            rotation = DOWN * [sign, sign, 1.0]
            count = len(self._starts)
            rotations = np.tile(rotation, (count, 1, 1))
            solved = self._solve(np.tile(point, (count, 1)), rotations, position, yaw_deg, self._starts)
            homes += [(rad, rotation) for rad in solved.rad[solved.reachable]]
        homes = [home for home in homes if self._lowest_m(home[0]) + position[2] > CLEAR_M]
        return sorted(homes, key=lambda home: -self._merit(home[0]))[:HOMES]

    def _merit(self, rad: np.ndarray) -> float:
        """Distance from the joint limits and height of the lowest joint, and nearness to the start."""
        margin = min(float(np.minimum(rad - self._low, self._high - rad).min()), WANTED_MARGIN_RAD)
        return margin + min(self._lowest_m(rad), WANTED_HEIGHT_M) - 0.02 * float(np.abs(rad - self._start).mean())

    def _lowest_m(self, rad: np.ndarray) -> float:
        """Height of the lowest joint beyond the second one, above the base: an elbow must not hang into the table."""
        self._data.qpos[self._model.jnt_qposadr[self._joints]] = rad
        mujoco.mj_kinematics(self._model, self._data)
        return float(self._data.xanchor[self._joints[2:], 2].min())

    def turned(self, points: np.ndarray, rotation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Poses at points, with the tool turned about the vertical in all ways that picking needs."""
        yaws = (0.0,) if self._five_axes else WORK_YAWS_RAD
        turned = [about_z(yaw) @ rotation for yaw in yaws]
        return np.repeat(points, len(yaws), axis=0), np.tile(turned, (len(points), 1, 1))

    def _solve(
        self,
        points: np.ndarray,
        rotations: np.ndarray,
        position: tuple[float, float, float],
        yaw_deg: float,
        start: np.ndarray,
    ) -> Solutions:
        """Solve without restarts: the expert moves on a continuous path from home."""
        to_base = about_z(-np.deg2rad(yaw_deg))
        return solve_poses(
            self._model, self._joints, self._site, (points - position) @ to_base.T, to_base @ rotations, start,
            restarts=0, free_roll=self._five_axes, position_tolerance_m=0.003, avoid_self_collision=not self.overlaps,
            rotation_tolerance_rad=0.15 if self._five_axes else 0.02,
        )  # fmt: skip


def about_z(angle: float) -> np.ndarray:
    return np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])


def _root_of(model: mujoco.MjModel, body: int) -> int:
    while model.body_parentid[body]:
        body = int(model.body_parentid[body])
    return body
