"""Traits of legged robots: joints behind their targets, the IMU, feet on the ground, and motion of the base."""

import numpy as np

from twinloop.diagnose.traits.walk_episode import BEGUN_FRAMES, WalkTrace
from twinloop.signals.delay import estimate_delay

WINDOW = 5
"""Control periods over which feet on the ground are compared, so that the noise of encoders matters little."""
JOLT_FRAMES = 3
MAX_REACTION_S = 1.0
MIN_FRAMES = 25
NOISE = 0.6745 * np.sqrt(20)
"""Median absolute third difference of white noise with a standard deviation of 1."""
NAN = float("nan")


def joint_offset_mrad(episode: WalkTrace) -> float:
    """Mean distance of each joint from its delayed target (absolute value), averaged over joints."""
    error = episode.joint_error
    return NAN if error is None else 1000 * float(np.abs(error.mean(axis=0)).mean())


def joint_lapse(episode: WalkTrace) -> float:
    """The worst moment of tracking: largest error as a multiple of the RMS error."""
    error = episode.joint_error
    if error is None or len(error) < MIN_FRAMES:
        return NAN
    size = np.linalg.norm(error - error.mean(axis=0), axis=1)[BEGUN_FRAMES:]
    return float(np.quantile(size, 0.99) / max(np.sqrt(np.mean(np.square(size))), 1e-9))


def repeated_percent(episode: WalkTrace) -> float:
    """Percentage of frames whose measured turn rate repeats the one before, while the base moves."""
    if episode.rows < MIN_FRAMES:
        return NAN
    return 100 * float(np.mean((np.diff(episode.gyro, axis=0) == 0).all(axis=1)))


def _noise(values: np.ndarray) -> float:
    return float(np.median(np.abs(np.diff(values, n=3, axis=0)))) / NOISE


def gyro_noise_mrad_s(episode: WalkTrace) -> float:
    return NAN if episode.rows < MIN_FRAMES else 1000 * _noise(episode.gyro)


def encoder_noise_mrad(episode: WalkTrace) -> float:
    return NAN if episode.rows < MIN_FRAMES else 1000 * _noise(episode.position)


def velocity_noise_rad_s(episode: WalkTrace) -> float:
    return NAN if episode.velocity is None or episode.rows < MIN_FRAMES else _noise(episode.velocity)


def mismatch_mrad(episode: WalkTrace) -> float:
    """Change of a joint's position that its measured velocity does not explain, per control period (median)."""
    if episode.velocity is None or episode.rows < MIN_FRAMES:
        return NAN
    expected = (episode.velocity[1:] + episode.velocity[:-1]) / 2 * episode.period_s
    return 1000 * float(np.median(np.abs(np.diff(episode.position, axis=0) - expected)))


def turn_mismatch_mrad(episode: WalkTrace) -> float:
    """Change of the measured direction of gravity that the measured turn rate does not explain (median).

    A base that really shakes turns as both sensors say; noise of one of them does not show in the other.
    """
    if episode.rows < MIN_FRAMES:
        return NAN
    rate, down = (
        (values[1:] + values[:-1])[BEGUN_FRAMES:] / 2 for values in (episode.gyro, episode.down)
    )  # fmt: skip
    change = np.diff(episode.down, axis=0)[BEGUN_FRAMES:] + episode.period_s * np.cross(rate, down)
    return 1000 * float(np.median(np.linalg.norm(change[:, :2], axis=1)))


def _turn_rate_mrad_s(episode: WalkTrace, axis: int) -> float:
    """Mean measured turn rate; a base that stays upright does not turn about this axis on average."""
    return NAN if episode.rows < MIN_FRAMES else 1000 * float(episode.gyro[BEGUN_FRAMES:, axis].mean())


def roll_rate_mrad_s(episode: WalkTrace) -> float:
    return _turn_rate_mrad_s(episode, 0)


def pitch_rate_mrad_s(episode: WalkTrace) -> float:
    return _turn_rate_mrad_s(episode, 1)


def yaw_mismatch_mrad_s(episode: WalkTrace) -> float:
    """Mean measured turn rate about the vertical axis minus that of the reference pose."""
    if episode.axes is None or episode.rows < MIN_FRAMES:
        return NAN
    heading = np.unwrap(np.arctan2(episode.axes[:, 1, 0], episode.axes[:, 0, 0]))
    true = (heading[-1] - heading[BEGUN_FRAMES]) / ((episode.rows - 1 - BEGUN_FRAMES) * episode.period_s)
    return 1000 * (float(episode.gyro[BEGUN_FRAMES:, 2].mean()) - float(true))


def _lean_mrad(episode: WalkTrace, axis: int) -> float:
    """Mean horizontal part of the measured direction of gravity, minus that of the reference pose if there is one."""
    if episode.rows < MIN_FRAMES:
        return NAN
    true = 0.0 if episode.axes is None else -episode.axes[:, 2, axis]
    return 1000 * float((episode.down[:, axis] - true)[BEGUN_FRAMES:].mean())


def lean_forward_mrad(episode: WalkTrace) -> float:
    return _lean_mrad(episode, 0)


def lean_left_mrad(episode: WalkTrace) -> float:
    return _lean_mrad(episode, 1)


def _heights_m(episode: WalkTrace) -> np.ndarray:
    """(n, feet) how far feet are below the base, along the measured direction of gravity."""
    return np.einsum("nfi,ni->nf", episode.feet_m, episode.down)


def foot_level_mm(episode: WalkTrace) -> float:
    """How much the mean heights of standing feet differ. On level ground they do not, if encoders and IMU are right."""
    heights, stands = _heights_m(episode), episode.stands
    if (stands.sum(axis=0) < MIN_FRAMES).any():
        return NAN
    mean = np.where(stands, heights, 0).sum(axis=0) / stands.sum(axis=0)
    return 1000 * float(mean.std())


def ride_height_mm(episode: WalkTrace) -> float:
    """Height of the base above standing feet, by the joints."""
    stands = episode.stands
    return NAN if stands.sum() < MIN_FRAMES else 1000 * float(_heights_m(episode)[stands].mean())


def swing_height_mm(episode: WalkTrace) -> float:
    """How far swinging feet are above standing ones (95th percentile)."""
    heights, stands = _heights_m(episode)[BEGUN_FRAMES:], episode.stands[BEGUN_FRAMES:]
    walks = ~stands.all(axis=1) & stands.any(axis=1)
    if walks.sum() < MIN_FRAMES:
        return NAN
    lowest = np.where(stands, heights, -np.inf).max(axis=1)
    return 1000 * float(np.quantile((lowest[:, None] - heights)[walks].max(axis=1), 0.95))


def foot_slip_mm(episode: WalkTrace) -> float:
    """Change of the distance between two standing feet within `WINDOW` periods. Feet that stick keep it."""
    if episode.rows < MIN_FRAMES:
        return NAN
    changes = []
    for one in range(episode.feet_m.shape[1]):
        for other in range(one):
            both = episode.stands[:, one] & episode.stands[:, other]
            both = both[WINDOW:] & both[:-WINDOW]
            apart = np.linalg.norm(episode.feet_m[:, one] - episode.feet_m[:, other], axis=1)
            changes.append(np.abs(apart[WINDOW:] - apart[:-WINDOW])[both])
    changes = np.concatenate(changes)
    return 1000 * float(changes.mean()) if len(changes) >= MIN_FRAMES else NAN


def foot_slide_mm(episode: WalkTrace) -> float:
    """Distance that standing feet move over the ground within `WINDOW` periods, by the reference pose."""
    if episode.base is None or episode.axes is None or episode.rows < MIN_FRAMES:
        return NAN
    places = np.einsum("nij,nfj->nfi", episode.axes, episode.feet_m) + episode.base[:, None, :3]
    both = episode.stands[WINDOW:] & episode.stands[:-WINDOW]
    moved = np.linalg.norm((places[WINDOW:] - places[:-WINDOW])[..., :2], axis=2)[both]
    return 1000 * float(moved.mean()) if len(moved) >= MIN_FRAMES else NAN


def _slope(asked: np.ndarray, done: np.ndarray) -> float:
    size = float((asked * asked).sum())
    return float((asked * done).sum()) / size if size > 0.1 else NAN


def speed_gain(episode: WalkTrace) -> float:
    """Reference velocity per commanded velocity, a second after the command changed or later."""
    if episode.speed_m_s is None or episode.settled.sum() < MIN_FRAMES:
        return NAN
    return _slope(episode.asked[episode.settled, :2], episode.speed_m_s[episode.settled])


def turn_gain(episode: WalkTrace) -> float:
    """Measured turn rate per commanded turn rate."""
    if episode.settled.sum() < MIN_FRAMES:
        return NAN
    return _slope(episode.asked[episode.settled, 2], episode.gyro[episode.settled, 2])


def reaction_ms(episode: WalkTrace) -> float:
    """Delay of the measured turn rate behind the commanded one."""
    most = min(round(MAX_REACTION_S / episode.period_s), episode.rows // 3)
    if most < 2 or episode.asked[:, 2].std() < 0.05:
        return NAN
    delay = estimate_delay([(episode.asked[:, 2], episode.gyro[:, 2])], shifts=range(most + 1), fit_gain=True)
    return NAN if delay is None else 1000 * episode.period_s * delay.rows


def rocking_rad_s(episode: WalkTrace) -> float:
    return NAN if episode.rows < MIN_FRAMES else float(np.sqrt(np.mean(np.square(episode.gyro[BEGUN_FRAMES:, :2]))))


def jolt_m_s(episode: WalkTrace) -> float:
    """Largest change of the reference velocity within `JOLT_FRAMES` periods."""
    if episode.speed_m_s is None or episode.rows < MIN_FRAMES:
        return NAN
    speed = episode.speed_m_s[BEGUN_FRAMES:]
    return float(np.linalg.norm(speed[JOLT_FRAMES:] - speed[:-JOLT_FRAMES], axis=1).max())


def swing_brake(episode: WalkTrace) -> float:
    return NAN if episode.swing_response is None else -episode.swing_response.brake


def swing_surprise_rad_s(episode: WalkTrace) -> float:
    return NAN if episode.swing_response is None else episode.swing_response.residual_rad_s


def stance_pull_per_s(episode: WalkTrace) -> float:
    """Change of velocity per distance from all targets, of joints of standing legs."""
    return NAN if episode.stance_response is None else float(episode.stance_response.kicks.sum())


def stance_brake(episode: WalkTrace) -> float:
    return NAN if episode.stance_response is None else -episode.stance_response.brake


def stance_surprise_rad_s(episode: WalkTrace) -> float:
    return NAN if episode.stance_response is None else episode.stance_response.residual_rad_s


def asked_forward_m_s(episode: WalkTrace) -> float:
    return float(episode.asked[:, 0].mean())


def asked_speed_m_s(episode: WalkTrace) -> float:
    return float(np.abs(episode.asked[:, 0]).mean())


def asked_sideways_m_s(episode: WalkTrace) -> float:
    return float(np.abs(episode.asked[:, 1]).mean())


def asked_turn_rad_s(episode: WalkTrace) -> float:
    return float(np.abs(episode.asked[:, 2]).mean())


def asked_walk_share(episode: WalkTrace) -> float:
    """Share of frames in which the robot is commanded to walk."""
    return float(episode.walks.mean())
