"""Traits of legs as servos: how a joint accelerates towards its last targets, in the air and on the ground.

The change of a joint's velocity within a control period is regressed on its distance from the targets around its delay,
on its velocity, and on the direction of motion:

    Δv = Σ kick_k · (target - position) + brake · v + drag · sign(v) + offset

Targets are shifted by the measured delay, so that delays change the coefficients little. Legs in the air show the
servos: their load is known. Legs on the ground show the load too.
"""

from dataclasses import dataclass

import numpy as np

TAPS = (-2, -1, 0, 1)
"""Targets that count, in control periods from the measured delay."""
SLOW_RAD_S = 0.3
"""Velocity below which the direction of motion is unsure."""
MIN_ROWS = 60
RIDGE = 1e-6


@dataclass(frozen=True)
class JointResponse:
    """Mean coefficients of all joints.

    Attributes:
        kicks: (taps,) change of velocity per distance from each target, in 1/s.
        brake: change of velocity per velocity.
        residual_rad_s: RMS change of velocity that the regression does not explain.
    """

    kicks: np.ndarray
    brake: float
    residual_rad_s: float


def joint_response(
    target: np.ndarray,
    position: np.ndarray,
    velocity: np.ndarray,
    *,
    delay_rows: float,
    groups: list[tuple[list[int], np.ndarray]],
) -> JointResponse | None:
    """Regress the motion of joints on their targets.

    Args:
        target, position, velocity: (n, joints).
        delay_rows: delay of the joints behind their targets, in control periods.
        groups: (columns of joints, (n,) rows that count) of each leg.

    Returns:
        None if no leg has enough rows.
    """
    rows = np.arange(max(int(np.ceil(delay_rows)) + 2, 1), len(target) - 1)
    taps = [_at(target, rows - delay_rows - tap) - position[rows] for tap in TAPS]
    now = velocity[rows]
    columns = np.stack([*taps, now, np.tanh(now / SLOW_RAD_S), np.ones_like(now)], axis=2)
    change = velocity[rows + 1] - now
    found, squares = [], []
    for joints, counts in groups:
        kept = counts[rows] & counts[rows + 1]
        if kept.sum() < MIN_ROWS:
            continue
        x, y = columns[kept][:, joints], change[kept][:, joints]
        gram = np.einsum("njk,njl->jkl", x, x)
        places = np.arange(gram.shape[1])
        gram[:, places, places] *= 1 + RIDGE
        gram[:, places, places] += 1e-9
        coefficients = np.linalg.solve(gram, np.einsum("njk,nj->jk", x, y)[..., None])[..., 0]
        found.append(coefficients)
        squares.append(np.square(y - np.einsum("njk,jk->nj", x, coefficients)).mean(axis=0))
    if not found:
        return None
    mean = np.concatenate(found).mean(axis=0)
    return JointResponse(mean[: len(TAPS)], float(mean[len(TAPS)]), float(np.sqrt(np.concatenate(squares)).mean()))


def _at(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Values at fractional rows, by linear interpolation."""
    below = np.clip(np.floor(rows).astype(int), 0, len(values) - 2)
    share = np.clip(rows - below, 0.0, 1.0)[:, None]
    return (1 - share) * values[below] + share * values[below + 1]
