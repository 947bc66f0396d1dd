"""Traits of robots on wheels: the base behind its commands, wheels against gyro and pose, and the lidar."""

import numpy as np

from twinloop.diagnose.traits.drive_episode import DriveTrace

MIN_FRAMES = 20
MIN_WAY_M, MIN_TURN_RAD = 0.5, 0.5
STRAIGHT_RAD_S, MOVING_M_S = 0.15, 0.2
MAX_STEP_M = 0.15
"""Rays that change more within a control period have gone from one surface to another."""
NOISE = 0.6745 * np.sqrt(20)
NAN = float("nan")


def repeated_percent(episode: DriveTrace) -> float:
    """Percentage of frames whose scan repeats the one before, while the base moves."""
    moves = np.abs(episode.asked[1:]).max(axis=1) > 0.05
    if moves.sum() < MIN_FRAMES:
        return NAN
    return 100 * float((np.diff(episode.lidar_m, axis=0) == 0).all(axis=1)[moves].mean())


def way_ratio(episode: DriveTrace) -> float:
    """Way by odometry per way by the reference pose."""
    if episode.pose is None or episode.rows < MIN_FRAMES:
        return NAN
    way, true = (np.linalg.norm(np.diff(poses[:, :2], axis=0), axis=1).sum()
                 for poses in (episode.odometry, episode.pose))  # fmt: skip
    return float(way / true) if true > MIN_WAY_M else NAN


def roll_ratio(episode: DriveTrace) -> float:
    """Way by the angles of the wheels per way by odometry, which may have lost some of it."""
    way = np.abs(np.diff(episode.odometry[:, :2], axis=0)).sum()
    rolled = np.abs(episode.rolled_m.mean(axis=1)).sum()
    true = np.linalg.norm(np.diff(episode.odometry[:, :2], axis=0), axis=1).sum() if way > 0 else 0.0
    return float(rolled / true) if true > MIN_WAY_M else NAN


def turn_ratio(episode: DriveTrace) -> float:
    """Turn by the difference of the wheels per turn by the gyro."""
    by_wheels = np.diff(episode.rolled_m, axis=1)[:, 0] / episode.robot.track_m
    size = float(np.square(episode.turned_rad).sum())
    return float((by_wheels * episode.turned_rad).sum()) / size if np.sqrt(size) > 0.1 else NAN


def pull_mrad_m(episode: DriveTrace) -> float:
    """Turn by the gyro minus turn by the wheels, per metre: unequal wheels pull to one side."""
    way = float(np.abs(episode.rolled_m.mean(axis=1)).sum())
    by_wheels = np.diff(episode.rolled_m, axis=1)[:, 0].sum() / episode.robot.track_m
    return 1000 * float(episode.turned_rad.sum() - by_wheels) / way if way > MIN_WAY_M else NAN


def heading_drift_deg_s(episode: DriveTrace) -> float:
    """Drift of the odometry's heading from the reference pose."""
    if episode.pose is None or episode.rows < MIN_FRAMES:
        return NAN
    apart = (episode.odometry[:, 2] - episode.odometry[0, 2]) - (episode.pose[:, 2] - episode.pose[0, 2])
    return float(np.rad2deg(apart[-1] / (episode.rows * episode.period_s)))


def lidar_noise_percent(episode: DriveTrace) -> float:
    """Noise of rays as a share of their distance, from third differences in time."""
    lidar = episode.lidar_m
    if len(lidar) < MIN_FRAMES:
        return NAN
    near = (lidar < 0.95 * episode.robot.range_m)[:-3]
    steps = np.abs(np.diff(lidar, n=3, axis=0) / lidar[:-3])[near]
    return 100 * float(np.median(steps)) / NOISE if len(steps) > MIN_FRAMES else NAN


def lidar_lost_share(episode: DriveTrace) -> float:
    """Share of rays without an echo between two rays with one."""
    lidar, longest = episode.lidar_m, episode.robot.range_m
    echo = lidar < 0.9 * longest
    between = np.roll(echo, 1, axis=1) & np.roll(echo, -1, axis=1)
    return float((lidar >= longest - 1e-6)[between].mean()) if between.sum() > MIN_FRAMES else NAN


def lidar_turn_deg(episode: DriveTrace) -> float:
    """Direction of the base's motion in the frame of the lidar: rays ahead become shorter, rays behind longer."""
    lidar, speed = episode.lidar_m, episode.speed
    straight = (np.abs(speed[1:, 1]) < STRAIGHT_RAD_S) & (speed[1:, 0] > MOVING_M_S)
    if straight.sum() < MIN_FRAMES // 2:
        return NAN
    change = np.diff(lidar, axis=0)[straight]
    way = (speed[1:, 0] * episode.period_s)[straight]
    near = (lidar[1:][straight] < 0.95 * episode.robot.range_m) & (np.abs(change) < MAX_STEP_M)
    cos, sin = (-way[:, None] * part(episode.robot.angles_rad) for part in (np.cos, np.sin))
    columns = np.column_stack([cos[near], sin[near]])
    if len(columns) < 10 * MIN_FRAMES:
        return NAN
    ahead, left = np.linalg.lstsq(columns, change[near], rcond=None)[0]
    return float(np.rad2deg(np.arctan2(left, ahead))) if abs(ahead) > 0.1 else NAN


def nearest_cm(episode: DriveTrace) -> float:
    """Distance of the nearest echo (5th percentile over the episode)."""
    return 100 * float(np.quantile(episode.lidar_m.min(axis=1), 0.05)) if episode.rows >= MIN_FRAMES else NAN


def halted_share(episode: DriveTrace) -> float:
    """Share of frames in which the base is commanded to stand."""
    return float((episode.asked[:, 0] < 0.02).mean()) if episode.rows >= MIN_FRAMES else NAN
