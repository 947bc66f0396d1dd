"""The load that an arm carries, from its torques, although the masses of its links are not known well.

The torques of an episode are

    torque = twin's arm + gravity of errors of the links' masses and centres + drive + J' (load, if held)

The drive has friction, an offset, and a part proportional to speed: a servo gets a new command once per control period,
and its torque is recorded at the end of the period, when it is smallest. Everything except the load also acts in the
frames in which nothing is carried. So all terms are fitted together: linear regression with normal priors for the
errors, and none for the load. An error of the twin's arm then shows in the load only as far as the poses with the
object differ from all poses without it.
"""

from dataclasses import dataclass

import numpy as np

GRAVITY_M_S2 = 9.81
MASS_SHARE, CENTRE_M = 0.2, 0.02
"""Standard deviations of the errors of links: share of the mass, and distance of the centre of mass."""
FRICTION_SHARE, OFFSET_SHARE, SPEED_SHARE = 0.3, 0.1, 1.0
"""Standard deviations of the parts of a joint's drive, as shares of its torque (RMS)."""
SLOW_RAD_S = 0.05
FITS = 3  # the noise of the torques is estimated from the residuals of the fit before
LEAST_LEVER_M = 0.01  # a joint with a shorter lever arm does not show the load
LEAST_NOISE = 1e-3  # share of the torques (RMS)


@dataclass(frozen=True)
class ArmGravity:
    """How errors of the links change the torques of the arm, for n frames.

    Attributes:
        torque_nm: (n, joints, errors) change of the torques for an error of 1.
        deviation: (errors,) standard deviation of each error.
    """

    torque_nm: np.ndarray
    deviation: np.ndarray


def load_n(
    rest_nm: np.ndarray, speed_rad_s: np.ndarray, lift: np.ndarray, gravity: ArmGravity, effort_nm: np.ndarray,
    carried: np.ndarray,
) -> float:  # fmt: skip
    """Upward force at the tool in the frames with a load; NaN if no measured joint turns under it.

    Joints that always report zero are not measured.

    Args:
        rest_nm: (n, joints) torques that the twin's arm does not explain.
        lift: (n, joints) torques for an upward force of 1 N at the tool.
        effort_nm: (n, joints) measured torques.
        carried: (n,) whether the frame has the load.
    """
    measured = effort_nm.any(axis=0)
    if not (np.abs(lift[carried][:, measured]) > LEAST_LEVER_M).any():
        return float("nan")
    rest_nm, speed_rad_s, lift, effort_nm = (values[:, measured] for values in (rest_nm, speed_rad_s, lift, effort_nm))
    frames, joints = rest_nm.shape
    level = np.sqrt(np.mean(np.square(effort_nm), axis=0))
    parts = (
        (FRICTION_SHARE, np.tanh(speed_rad_s / SLOW_RAD_S)),
        (OFFSET_SHARE, np.ones_like(speed_rad_s)),
        (SPEED_SHARE, speed_rad_s / (np.sqrt(np.mean(np.square(speed_rad_s), axis=0)) + 1e-9)),
    )
    drive = np.concatenate([values[:, :, None] * np.eye(joints) for _, values in parts], axis=2)
    load = (lift * carried[:, None])[:, :, None]
    columns = np.concatenate([load, gravity.torque_nm[:, measured], drive], axis=2).reshape(frames * joints, -1)
    deviation = np.concatenate([gravity.deviation, *(share * level for share, _ in parts)])
    precision = np.concatenate([[0.0], 1 / np.square(np.maximum(deviation, 1e-9))])
    target, scale = rest_nm.ravel(), np.tile(level, frames)
    noise, fit = 0.1, np.zeros(columns.shape[1])
    for _ in range(FITS):
        weighted = columns / (noise * scale)[:, None]
        fit = np.linalg.solve(weighted.T @ weighted + np.diag(precision), weighted.T @ (target / (noise * scale)))
        noise = max(float(np.sqrt(np.mean(np.square((target - columns @ fit) / scale)))), LEAST_NOISE)
    return float(fit[0])
