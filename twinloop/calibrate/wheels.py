"""calibrate_wheels: logs of a robot on wheels with reference poses -> TwinPatch of its wheels, odometry and lidar.

- Wheels: turns of the wheels against the change of the reference pose in windows of a second, by least squares. The
  turn gives both radii over the track, and the way gives the track. Borenstein and Feng's UMBmark takes whole squares.
- Odometry: slope of the error of its heading over time.
- Lidar: distances against the floor plan. The turn of the mount is the one with the smallest errors (scan matching);
  bias, noise and dropout are those of the errors that remain.

Intervals are of a bootstrap over episodes. Reference poses are those of `observation.environment_state`: of a motion
capture system for a robot, the true ones for a twin.
"""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from twinloop import __version__
from twinloop.calibrate.patch import Fitted, Provenance, TwinPatch, Unknown
from twinloop.dataset.reader import Dataset
from twinloop.errors import DatasetError, UsageError
from twinloop.observe.poses import draws_of
from twinloop.randomize.table import BY_NAME
from twinloop.run.config import config_from_text
from twinloop.run.wheels import WheelsConfig, wheel_twin_of
from twinloop.simulate.room_draw import draw_room
from twinloop.twin.wheels.floor_plan import MOST_PEOPLE, PERSON_RADIUS_M, FloorPlan, cast_rays
from twinloop.twin.wheels.wheel_twin import WheelTwin

WINDOW_S = 1.0
RESAMPLES = 200
FEWEST = 4
"""Episodes that an interval needs."""
YAWS_DEG = np.linspace(-4, 4, 33)
SCAN_EVERY = 5
"""Every fifth scan is used: neighbours show the same surfaces."""
EDGE_M, FAR_M, GROSS_M = 0.15, 0.3, 0.4
"""Rays are left out whose neighbours differ by more than the first, or that are less than the second below the longest
distance. Errors above the third are not of the lidar, but of people or of the floor plan."""
STATE, POSE, LIDAR, ODOMETRY = (f"observation.{name}" for name in ("state", "environment_state", "lidar", "odometry"))


@dataclass(frozen=True)
class DriveLog:
    """One episode: (f, 2) wheel angles, (f, 3) reference x, y, yaw, (f,) heading of the odometry, (f, rays) distances,
    its floor plan and (f, people, 2) places of people."""

    wheels: np.ndarray
    pose: np.ndarray
    heading: np.ndarray
    lidar: np.ndarray
    plan: FloorPlan
    people: np.ndarray


@dataclass(frozen=True)
class _Sums:
    """Contribution of an episode: normal equations of the turn, of the way, the slope of the heading's error, and
    (rays, 2) errors and true distances at each yaw of the mount."""

    turn: tuple[np.ndarray, np.ndarray]
    windows: tuple[np.ndarray, np.ndarray]
    drift_deg_s: float
    errors: list[np.ndarray]
    distances: list[np.ndarray]
    lost: tuple[int, int]


def calibrate_wheels(config: WheelsConfig, logs: Path, *, seed: int) -> TwinPatch:
    """Fit the rows of wheels, odometry and lidar to a dataset of driving.

    Raises:
        DatasetError: the dataset has no wheel angles, poses or distances, or too few episodes.
    """
    dataset, twin = Dataset.open(logs), wheel_twin_of(config)
    episodes = _read(dataset, config, twin)
    parts = [_sums(log, twin) for log in episodes]
    rng = np.random.default_rng(seed)
    resampled = [
        _estimates([parts[k] for k in rng.integers(len(parts), size=len(parts))], twin) for _ in range(RESAMPLES)
    ]
    best = _estimates(parts, twin)
    fitted, ranges, unknown = {}, {}, {}
    for name, value in best.items():
        low, high = np.quantile([sample[name] for sample in resampled], (0.05, 0.95))
        row = name.partition(".")[0]
        fitted[name] = Fitted(value, float(low), float(high), BY_NAME[row].unit)
        before = ranges.get(row, (np.inf, -np.inf))
        ranges[row] = (min(before[0], float(low)), max(before[1], float(high)))
    drifts = [part.drift_deg_s for part in parts]
    ranges["odometry_drift_deg_s"] = (float(min(drifts)), float(max(drifts)))
    unknown["wheel_slip_share"] = Unknown(
        "wheels that always slip alike cannot be told from smaller wheels", "logs on floors with and without slip"
    )
    plausible = {
        row: tuple(float(np.clip(end, *BY_NAME[row].plausible)) for end in ends) for row, ends in ranges.items()
    }
    return TwinPatch(
        fitted=fitted,
        unknown=unknown,
        ranges=plausible,  # pyright: ignore
        provenance=Provenance(
            config.scene.robot.name, config.digest, {dataset.path.name: dataset.digest()}, {},
            f"twinloop {__version__}", seed,
        ),
    )  # fmt: skip


def _read(dataset: Dataset, config: WheelsConfig, twin: WheelTwin) -> list[DriveLog]:
    features = {feature.name: feature for feature in dataset.header.features}
    for name in (STATE, POSE, LIDAR, ODOMETRY):
        if name not in features:
            raise DatasetError(f"{dataset.path}: has no feature {name}, which this calibration needs")
    if features[LIDAR].shape[0] != twin.rays:
        raise UsageError(
            f"{dataset.path}: scans have {features[LIDAR].shape[0]} rays; scene.lidar_rays of the config is {twin.rays}"
        )
    simulated = dataset.header.source == "sim"
    own = config_from_text(dataset.config_text(), name="config.yaml", folder=dataset.path) if simulated else config
    if not isinstance(own, WheelsConfig):
        raise UsageError(
            f"{dataset.path}: is of {dataset.header.robot}; logs of {config.scene.robot.name} were expected"
        )
    logs = []
    for row in dataset.attempts().to_pylist():
        if not row["length"]:
            continue
        frames = dataset.episode(attempt=row["attempt"])
        drawn = {name.removeprefix("draw/"): value for name, value in row.items() if name.startswith("draw/")}
        plan, _ = draw_room(
            draws_of(row["attempt"], drawn), 0, seed=dataset.header.run_seed, radius_m=twin.robot.radius_m,
            fixed=own.scene.fixed,
        )  # fmt: skip
        pose = np.asarray(frames[POSE], float)
        w, x, y, z = pose[:, 3:7].T
        yaw = np.unwrap(np.arctan2(2 * (w * z + x * y), 1 - 2 * (y * y + z * z)))
        people = (
            pose[:, 7:].reshape(len(pose), -1, 2) if pose.shape[1] > 7 else np.full((len(pose), MOST_PEOPLE, 2), 1e3)
        )
        logs.append(
            DriveLog(
                np.asarray(frames[STATE], float),
                np.column_stack([pose[:, :2], yaw]),
                np.asarray(frames[ODOMETRY], float)[:, 2],
                np.asarray(frames[LIDAR], float),
                plan,
                people,
            )
        )
    if len(logs) < FEWEST:
        raise DatasetError(f"{dataset.path}: has {len(logs)} episodes; at least {FEWEST} are needed")
    return logs


def _sums(log: DriveLog, twin: WheelTwin) -> _Sums:
    step = max(1, round(WINDOW_S * twin.control_hz))
    wheels, pose = log.wheels[::step], log.pose[::step]
    turns, moved = np.diff(wheels, axis=0), np.diff(pose, axis=0)
    # The way of a robot that turns evenly: the chord over the sinc of half the turn, along the mean direction.
    middle = (pose[1:, 2] + pose[:-1, 2]) / 2
    chord = np.cos(middle) * moved[:, 0] + np.sin(middle) * moved[:, 1]
    way = chord / np.sinc(moved[:, 2] / (2 * np.pi))
    lever = np.column_stack([-turns[:, 0], turns[:, 1]])
    seconds = np.arange(len(log.heading)) * twin.control_period_s
    error = np.rad2deg(log.heading - (log.pose[:, 2] - log.pose[0, 2]))
    drift = float(np.polyfit(seconds, error, 1)[0]) if len(seconds) > 2 else 0.0
    errors, distances, lost = _scan_errors(log, twin)
    return _Sums((lever.T @ lever, lever.T @ moved[:, 2]), (turns, way), drift, errors, distances, lost)


def _scan_errors(log: DriveLog, twin: WheelTwin) -> tuple[list[np.ndarray], list[np.ndarray], tuple[int, int]]:
    """Errors and true distances of usable rays at each yaw of the mount, and (rays without an echo, rays)."""
    rows = slice(None, None, SCAN_EVERY)
    seen, pose, people = log.lidar[rows], log.pose[rows], log.people[rows]
    boxes = np.repeat(log.plan.boxes[None], len(seen), axis=0)
    errors, distances, lost = [], [], (0, 0)
    for yaw_deg in YAWS_DEG:
        angles = pose[:, 2:] + np.deg2rad(yaw_deg) + twin.ray_angles_rad
        true = cast_rays(pose[:, :2], angles, boxes, people, PERSON_RADIUS_M, twin.range_m)
        flat = np.maximum(np.abs(true - np.roll(true, 1, axis=1)), np.abs(true - np.roll(true, -1, axis=1))) < EDGE_M
        usable = flat & (true < twin.range_m - FAR_M) & (true > twin.robot.lidar.least_m + 0.05)
        gone = usable & (seen >= twin.range_m - 1e-6)
        near = usable & ~gone & (np.abs(seen - true) < GROSS_M)
        errors.append((seen - true)[near])
        distances.append(true[near])
        if yaw_deg == 0:
            lost = (int(gone.sum()), int(usable.sum()))
    return errors, distances, lost


def _estimates(parts: list[_Sums], twin: WheelTwin) -> dict[str, float]:
    """Row -> value, from the contributions of several episodes."""
    robot = twin.robot
    matrix = np.sum([part.turn[0] for part in parts], axis=0)
    # Radius over track of both wheels; the ridge keeps a log without turns or ways solvable.
    share = np.linalg.solve(matrix + 1e-9 * np.eye(2), np.sum([part.turn[1] for part in parts], axis=0))
    turns = np.concatenate([part.windows[0] for part in parts])
    way = np.concatenate([part.windows[1] for part in parts])
    lever = turns @ share / 2
    track = float(lever @ way / (lever @ lever))
    yaw_deg, place = _yaw_deg(parts)
    error, distance = (
        np.concatenate([getattr(part, name)[place] for part in parts]) for name in ("errors", "distances")
    )
    bias = float(np.median(error))
    # 1.4826 makes the median of absolute values a standard deviation; rays at edges have gross errors.
    noise = 1.4826 * float(np.median(np.abs(error - bias) / distance))
    gone, rays = np.sum([part.lost for part in parts], axis=0)
    return {
        "wheel_radius_scale.left": float(share[0] * track / robot.wheel_radius_m),
        "wheel_radius_scale.right": float(share[1] * track / robot.wheel_radius_m),
        "track_scale": track / robot.track_m,
        "odometry_drift_deg_s": float(np.mean([part.drift_deg_s for part in parts])),
        "lidar_yaw_deg": yaw_deg,
        "lidar_bias_mm": 1000 * bias,
        "lidar_noise_share": noise,
        "lidar_dropout_share": float(gone / max(rays, 1)),
    }


def _yaw_deg(parts: list[_Sums]) -> tuple[float, int]:
    """The turn of the mount with the smallest errors, between the tried ones by a parabola; number of the nearest."""
    size = np.array([
        np.mean(np.abs(np.concatenate([part.errors[k] for part in parts]))) for k in range(len(YAWS_DEG))
    ])  # fmt: skip
    best = int(np.clip(np.argmin(size), 1, len(size) - 2))
    left, middle, right = np.square(size[best - 1 : best + 2])
    bend = left - 2 * middle + right
    shift = 0.5 * (left - right) / bend if bend > 0 else 0.0
    return float(YAWS_DEG[best] + np.clip(shift, -1, 1) * (YAWS_DEG[1] - YAWS_DEG[0])), best
