"""Draws that the robot cannot reach, found before they are simulated.

Two kinds of poses of a draw are tested by inverse kinematics: where the thing that is gripped first starts, and zones
that a thing is brought to. The test is on the safe side: tolerances are wide, self-collision does not count, and poses
that may change before the tool gets there are left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from twinloop.randomize.draw import Draws
from twinloop.twin.entity import Fixture, Thing
from twinloop.twin.kinematics import solve_poses
from twinloop.twin.rotation import pointing_down
from twinloop.twin.scene import Start
from twinloop.twin.soft import axes_of
from twinloop.twin.twin import ArmIndex, Twin

GRIP_M, ZONE_M = 0.02, 0.14
"""How far the tool may stay away from the centre of a thing, and a thing from the middle of its zone. The scripted
expert has let go of things at the edge of its reach that slid into zones whose middle was 13 cm out of it."""
TILT_RAD = 0.35  # by which the tool may lean at a grip from above
UPRIGHT = 0.95  # least cosine between the vertical and the axis of a thing that is gripped along it
RESTARTS = 3  # postures that are tried if the home posture does not lead to a pose; each costs as much as the first
FULL_POSE_JOINTS = 6  # an arm with fewer gives the position priority over the direction


@dataclass(frozen=True)
class _KeyPoses:
    """(n, 3) positions that the tool must reach within a tolerance; `down`: (n,) where it must also point down."""

    positions: np.ndarray
    down: np.ndarray
    tolerance_m: float


def unreachable_poses(twin: Twin, draws: Draws) -> np.ndarray:
    """(n,) number of key poses of each draw that the robot cannot reach."""
    count = len(draws.attempts)
    out = np.zeros(count, int)
    start = twin.task.start(draws.values, count, twin.task.by_name)
    for key in _key_poses(twin, draws, start):
        out += ~_reachable(twin, key)
    if "object_shift_probability" in draws.varied:
        # The thing may be moved into reach.
        out[draws.values["object_shift_probability"] > 0.5] = 0
    return out


def _key_poses(twin: Twin, draws: Draws, start: Start) -> Iterator[_KeyPoses]:
    task, count = twin.task, len(draws.attempts)
    roles = task.choices(draws.values["task_choice"])

    def position_of(name: str) -> np.ndarray | None:
        """(n, 7) start poses of an entity or role; None for frames."""
        role = next((role for role in task.roles if role.name == name), None)
        if role is None:
            return start.poses.get(name)
        poses = np.stack([start.poses[candidate] for candidate in role.candidates])
        return poses[roles[name], np.arange(count)]

    first = next((phase for phase in task.program if phase.grip is not None), None)
    if first is not None and first.grip is not None and task.program.index(first) == 0:
        grip, pose = first.grip, position_of(first.grip.of)
        if pose is not None:
            away = float(np.linalg.norm(grip.offset_m)) + abs(grip.raise_m) + _largest_offset_m(twin, grip.of)
            upright = axes_of(pose[:, 3:])[:, 2, 2] > UPRIGHT
            down = upright & (grip.approach == "top") & (abs(grip.tilt_rad) < 1e-9)
            yield _KeyPoses(pose[:, :3], down, GRIP_M + away)
    zones = {phase.anchor for phase in task.program if phase.moves != "tool" and phase.anchor}
    for name in sorted(zones):
        entity = task.by_name.get(name)
        if isinstance(entity, Fixture) and not entity.solid and entity.path is None:
            yield _KeyPoses(start.poses[name][:, :3], np.zeros(count, bool), ZONE_M)


def _largest_offset_m(twin: Twin, name: str) -> float:
    """Largest distance between the centre of a thing and a grip of it."""
    role = next((role for role in twin.task.roles if role.name == name), None)
    names = role.candidates if role else (name,)
    indices = [index for index in twin.things if index.name in names and isinstance(index.thing, Thing)]
    return max((float(np.linalg.norm(index.grips.at_m, axis=2).max()) for index in indices), default=0.0)


def _reachable(twin: Twin, key: _KeyPoses) -> np.ndarray:
    """(n,) whether the tool of any arm can reach a pose."""
    return np.logical_or.reduce([_reachable_by(twin, arm, key) for arm in twin.arms])


def _reachable_by(twin: Twin, arm: ArmIndex, key: _KeyPoses) -> np.ndarray:
    out = np.zeros(len(key.positions), bool)
    full = len(arm.joints) >= FULL_POSE_JOINTS
    for down in (False, True):
        rows = np.flatnonzero((key.down & full) == down)
        if not len(rows):
            continue
        yaw = np.arctan2(key.positions[rows, 1], key.positions[rows, 0])
        solutions = solve_poses(
            twin.model,
            arm.joints,
            arm.tool_site,
            key.positions[rows],
            pointing_down(yaw) if down else None,
            np.array(twin.robot.home_rad[arm.columns]),
            free_roll=down,
            avoid_self_collision=False,
            position_tolerance_m=key.tolerance_m,
            rotation_tolerance_rad=TILT_RAD,
            converged=1.0,
            restarts=RESTARTS,
        )
        out[rows] = solutions.reachable
    return out
