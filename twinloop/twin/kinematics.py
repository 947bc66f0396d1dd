"""Inverse kinematics: joint positions that bring the tool to given poses, for many poses at once.

Damped least squares with joint limits. In each iteration

    dq = J^T (J J^T + λ² I)^-1 (e - J dq0) + dq0,

where e is the pose error, λ² grows with e² (Sugihara 2011, doi:10.1109/TRO.2011.2148230, so that poses out of reach do
not make the iteration oscillate), and dq0 moves the arm towards its start posture in the directions that do not move
the tool. A joint that would leave its range is held at the limit and the step is computed again without it. A pose
that is not solved from `start_rad` is tried again from fixed postures spread over the joint ranges.

The result for a pose does not depend on the other poses in the call.
"""

from dataclasses import dataclass

import mujoco
import numpy as np
import scipy  # its parts are imported when they are used

from twinloop.twin.halton import halton
from twinloop.twin.kinematic_chain import KinematicChain, ToolPoses
from twinloop.twin.rotation import cross
from twinloop.twin.self_collision import SelfCollision

POSITION_TOLERANCE_M, ROTATION_TOLERANCE_RAD = 1e-3, 1e-2
CONVERGED = 0.1  # share of the tolerance at which the iteration stops
ITERATIONS, RESTARTS = 80, 12
STALLED_AFTER = 12  # iterations without improvement by 1 %
MIN_DAMPING, DAMPING = 1e-8, 0.05
MAX_STEP_RAD = 0.5
POSTURE = 0.1
AT_LIMIT_RAD = 1e-6

OUT_OF_REACH, ROTATION, JOINT_LIMIT, SELF_COLLISION = "out of reach", "rotation", "joint limit", "self-collision"


@dataclass(frozen=True)
class Solutions:
    """Joint positions for n poses.

    Attributes:
        rad: (n, joints) joint positions, inside the limits. For an unreachable pose: the nearest found.
        position_error_m, rotation_error_rad: (n,) remaining errors.
        reachable: (n,) both errors are within tolerance and the links keep their distance from each other.
        reasons: (n,) why a pose is unreachable: `out of reach` (farther than the stretched arm), `joint limit`
            (a joint is at its limit), `rotation` (the position can be reached but not with this rotation),
            `self-collision`, or "" if it is reachable.
    """

    rad: np.ndarray
    position_error_m: np.ndarray
    rotation_error_rad: np.ndarray
    reachable: np.ndarray
    reasons: np.ndarray


def solve_poses(
    model: mujoco.MjModel,
    joints: np.ndarray,
    site: int,
    positions: np.ndarray,
    rotations: np.ndarray | None,
    start_rad: np.ndarray,
    *,
    free_roll: bool = False,
    avoid_self_collision: bool = True,
    position_tolerance_m: float = POSITION_TOLERANCE_M,
    rotation_tolerance_rad: float = ROTATION_TOLERANCE_RAD,
    converged: float = CONVERGED,
    restarts: int = RESTARTS,
) -> Solutions:
    """Return joint positions that bring `site` to the given poses.

    Args:
        model: a compiled model; joints that are not listed stay at their reference position.
        joints: (joints,) indices of the arm's joints, from the base to the tool.
        positions: (n, 3) positions of the site in the world.
        rotations: (n, 3, 3) rotations of the site, frame to world. None: any rotation.
        start_rad: (joints,) or (n, joints) posture to start from and to stay near. The posture of the first pose must
            be free of self-collision.
        free_roll: only the direction of the site's z axis counts, for arms with five axes.
        converged: share of the tolerances at which the iteration stops; 1 if only `reachable` is of interest.
        restarts: postures to try if the start posture does not lead to a solution.
    """
    joints = np.asarray(joints)
    targets = _Targets(np.atleast_2d(np.asarray(positions, float)), rotations, free_roll)
    n = len(targets.positions)
    chain = KinematicChain(model, joints, site)
    limits = _limits(model, joints)
    starts = np.broadcast_to(np.asarray(start_rad, float), (n, len(joints)))
    bodies = SelfCollision(model, joints, starts[0]) if n and avoid_self_collision else None
    within = np.array([position_tolerance_m, rotation_tolerance_rad])

    best = starts.copy()
    errors = np.full((n, 2), np.inf)
    collides = np.zeros(n, bool)
    reachable = np.zeros(n, bool)
    far = np.linalg.norm(targets.positions - chain.base_m, axis=1) > chain.span_m(limits) + position_tolerance_m
    for attempt in range(1 + restarts):
        open_ = np.flatnonzero(~reachable & (~far if attempt else True))
        if not len(open_):
            break
        start = np.tile(_other_postures(limits, restarts)[attempt - 1], (len(open_), 1)) if attempt else starts[open_]
        rad, error = _descend(chain, limits, targets.rows(open_), start, starts[open_], within, converged)
        solved = np.all(error <= within, axis=1)
        if bodies is not None:
            # One pose at a time: the engine computes distances for one posture.
            free = np.array([bool(ok) and bodies.colliding(row) is None for ok, row in zip(solved, rad, strict=True)])
            collides[open_[solved & ~free]] = True
        else:
            free = solved
        nearer = free | ((error / within).sum(axis=1) < (errors[open_] / within).sum(axis=1))
        best[open_[nearer]], errors[open_[nearer]] = rad[nearer], error[nearer]
        reachable[open_[free]] = True
    return Solutions(
        rad=best,
        position_error_m=errors[:, 0],
        rotation_error_rad=errors[:, 1],
        reachable=reachable,
        reasons=_reasons(best, errors, within, limits, reachable, far, collides),
    )


def _other_postures(limits: np.ndarray, count: int) -> np.ndarray:
    """(count, joints) postures spread over the joint ranges."""
    return limits[:, 0] + np.ptp(limits, axis=1) * halton(count, len(limits))


@dataclass(frozen=True)
class _Targets:
    positions: np.ndarray
    rotations: np.ndarray | None
    free_roll: bool

    def rows(self, ids: np.ndarray) -> "_Targets":
        rotations = None if self.rotations is None else np.asarray(self.rotations, float)[ids]
        return _Targets(self.positions[ids], rotations, self.free_roll)

    def twist(self, frames: ToolPoses) -> tuple[np.ndarray, np.ndarray]:
        """(n, rows) error, metres then radians, and its (n, rows, joints) Jacobian.

        There are three rows for a position, six for a pose, and five if the roll is free: two rotations, about the
        tool's x and y.
        """
        linear = self.positions - frames.position_m
        if self.rotations is None:
            return linear, frames.jacobian[:, :3]
        to_tool = frames.rotation.transpose(0, 2, 1)
        if not self.free_roll:
            angular = scipy.spatial.transform.Rotation.from_matrix(self.rotations @ to_tool).as_rotvec()
            return np.concatenate([linear, angular], axis=1), frames.jacobian
        across = to_tool[:, :2]
        angular = _between(frames.rotation[:, :, 2], self.rotations[:, :, 2])
        angular_rows = across @ frames.jacobian[:, 3:]
        twist = np.concatenate([linear, np.einsum("nij,nj->ni", across, angular)], axis=1)
        return twist, np.concatenate([frames.jacobian[:, :3], angular_rows], axis=1)


def _between(axes: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(n, 3) rotation vectors that turn one direction into another by the shortest way."""
    normal = cross(axes, wanted)
    sine = np.linalg.norm(normal, axis=1)
    angle = np.arctan2(sine, (axes * wanted).sum(axis=1))
    # Opposite directions have no shortest way; any perpendicular axis will do.
    other = cross(axes, np.eye(3)[np.abs(axes).argmin(axis=1)])
    other /= np.linalg.norm(other, axis=1, keepdims=True)
    return angle[:, None] * np.where(sine[:, None] > 1e-9, normal / np.maximum(sine, 1e-9)[:, None], other)


def _descend(
    chain: KinematicChain,
    limits: np.ndarray,
    targets: _Targets,
    start: np.ndarray,
    posture: np.ndarray,
    within: np.ndarray,
    converged: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Iterate from `start`. Return the (n, joints) best positions and their (n, 2) errors in metres and radians."""
    low, high = limits.T
    rad = np.clip(start, low, high)
    best, errors = rad.copy(), np.full((len(rad), 2), np.inf)
    stalled = np.zeros(len(rad), int)
    active = np.arange(len(rad))
    for _ in range(ITERATIONS):
        frames = chain.frames(rad[active])
        twist, jacobian = targets.rows(active).twist(frames)
        error = np.column_stack([np.linalg.norm(twist[:, :3], axis=1), np.linalg.norm(twist[:, 3:], axis=1)])
        score, before = (error / within).max(axis=1), (errors[active] / within).max(axis=1)
        stalled[active] = np.where(score < 0.99 * before, 0, stalled[active] + 1)
        improved = score < before
        best[active[improved]], errors[active[improved]] = rad[active[improved]], error[improved]
        go_on = (score > converged) & (stalled[active] < STALLED_AFTER)
        active, twist, jacobian = active[go_on], twist[go_on], jacobian[go_on]
        if not len(active):
            break
        homing = POSTURE * (posture[active] - rad[active])
        step = _step(jacobian, twist, homing, rad[active], low, high)
        rad[active] = np.clip(rad[active] + step, low, high)
    return best, errors


def _step(
    jacobian: np.ndarray, twist: np.ndarray, homing: np.ndarray, rad: np.ndarray, low: np.ndarray, high: np.ndarray
) -> np.ndarray:
    """(n, joints) damped least-squares step; joints that would leave their range do not take part."""
    damping = MIN_DAMPING + DAMPING * np.square(twist).sum(axis=1)
    damped = damping[:, None, None] * np.eye(twist.shape[1])
    first = _damped_step(jacobian, twist, homing, damped)
    moves = (rad + first >= low) & (rad + first <= high)
    if moves.all():
        return first
    step = _damped_step(jacobian * moves[:, None, :], twist, homing * moves, damped)
    # The joints that take no part go up to their limits instead.
    return np.where(moves, step, np.clip(rad + first, low, high) - rad)


def _damped_step(jacobian: np.ndarray, twist: np.ndarray, homing: np.ndarray, damped: np.ndarray) -> np.ndarray:
    rest = twist - np.einsum("nij,nj->ni", jacobian, homing)
    weights = np.linalg.solve(jacobian @ jacobian.transpose(0, 2, 1) + damped, rest[..., None])[..., 0]
    step = np.einsum("nij,ni->nj", jacobian, weights) + homing
    return step * np.minimum(1, MAX_STEP_RAD / np.maximum(np.abs(step).max(axis=1, keepdims=True), 1e-12))


def _limits(model: mujoco.MjModel, joints: np.ndarray) -> np.ndarray:
    """(joints, 2) limits; a full turn to each side for joints without limits."""
    limited = model.jnt_limited[joints].astype(bool)[:, None]
    return np.where(limited, model.jnt_range[joints], [-2 * np.pi, 2 * np.pi])


def _reasons(
    rad: np.ndarray,
    errors: np.ndarray,
    within: np.ndarray,
    limits: np.ndarray,
    reachable: np.ndarray,
    far: np.ndarray,
    collides: np.ndarray,
) -> np.ndarray:
    low, high = limits.T
    at_limit = ((rad < low + AT_LIMIT_RAD) | (rad > high - AT_LIMIT_RAD)).any(axis=1)
    conditions = [reachable, collides, far, at_limit, errors[:, 0] <= within[0]]
    return np.select(conditions, ["", SELF_COLLISION, OUT_OF_REACH, JOINT_LIMIT, ROTATION], OUT_OF_REACH)
