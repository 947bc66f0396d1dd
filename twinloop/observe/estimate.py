"""StateEstimator: robot and object state from late, noisy readings and past commands. Causal, one row per episode.

`following.py` predicts joints, `tracking.py` the object. A gripper holds something when
its fingers have stopped short, and press. The scripted expert looks at robots this way, and policies may: what they
read then depends less on delays, noise and slack than readings do.
"""

from collections.abc import Mapping
from functools import lru_cache

import mujoco
import numpy as np

from twinloop.observe.features import POSE
from twinloop.observe.recording import ESTIMATE, NEEDED, Feature
from twinloop.observe.tracking import ObjectTracker
from twinloop.simulate.joint_predictor import JointPredictor
from twinloop.twin.assemble import assemble
from twinloop.twin.objects import OBJECTS
from twinloop.twin.robots import robots
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

STILL_SHARE_S = 0.15
"""Fingers are still that move by less than this share of their stroke in a second,"""
STILL_S = 0.1
"""for so long: a motor pulls before anything moves."""
OPEN_SHARE, EMPTY_SHARE = 0.95, 0.05
"""Of the stroke: fingers further apart than the first are open; closer than the second they hold nothing."""
HELD_N = 1.0
AT_REST_RAD = 0.015
"""An arm is at rest whose joints are measured this close to where they were sent, all together."""


class StateEstimator:
    """Of `width` robots in scenes of their own.

    following, object_pose, lay_m: see there. opening: as measured. pressing_n: of each finger, once they have stopped
    or hold. holds: there is something between them. goal_pose: as told. All have a row for each scene.
    """

    def __init__(self, twin: Twin, *, width: int):
        self._twin, self._data = twin, mujoco.MjData(twin.model)
        gripper = twin.robot.gripper
        self._closed, self._stroke = gripper.closed, abs(gripper.open - gripper.closed)
        # The sign of an effort that closes: that of the way from open to closed, in control.
        self._closing = np.sign(gripper.closed_control - gripper.open_control)
        period_s = twin.control_period_s
        self.following = JointPredictor(np.array(twin.robot.home_rad), width=width, period_s=period_s)
        self._tracking = ObjectTracker(width=width, period_s=period_s)
        self._long = max(1, round(STILL_S / period_s))
        self._still = np.zeros(width, int)
        self.holds = np.zeros(width, bool)

    def begin(self, ids: np.ndarray) -> None:
        """Other episodes begin in these rows."""
        self.following.begin(ids)
        self._tracking.begin(ids)
        self._still[ids] = 0
        self.holds[ids] = False

    def take(self, seen: Mapping[str, np.ndarray], sent: np.ndarray) -> None:
        """Once in a control period. seen: NEEDED -> (width, elements). sent: (width, actions) the last commands; in the
        first period of an episode they are not looked at."""
        state, velocity, effort, scene = (np.asarray(seen[name], float) for name in NEEDED)
        following = self.following
        following.take(state[:, :-1], sent[:, :-1])
        self.opening = state[:, -1]
        slow = np.abs(velocity[:, -1]) < STILL_SHARE_S * self._stroke
        self._still = np.where(slow, self._still + 1, 0)
        apart = np.abs(self.opening - self._closed) / self._stroke
        stopped = (self._still >= self._long) & (apart < OPEN_SHARE)
        closing_n = np.maximum(0.0, self._closing * effort[:, -1]) / 2
        opens = np.abs(sent[:, -1] - self._closed) / self._stroke > apart
        self.holds = (self.holds | (stopped & (closing_n > HELD_N))) & (apart > EMPTY_SHARE) & ~opens
        # What is held is pressed on, also while fingers give a little.
        self.pressing_n = np.where(stopped | self.holds, closing_n, 0.0)

        tracking, told = self._tracking, scene[:, :7]
        tracking.lie(told, ~self.holds)
        if self.holds.any():
            tool_m, measured_m = np.zeros((2, len(state), 3))
            # One at a time: the engine works out where the tool is for one arm, and few hold something.
            for row in np.flatnonzero(self.holds):
                tool_m[row] = self.tool_at(following.believed_rad[row])
                measured_m[row] = self.tool_at(following.measured_rad[row])
            still = np.sqrt(np.square(following.behind_rad).sum(axis=1)) < AT_REST_RAD
            tracking.carry(told, self.holds, tool_m=tool_m, measured_m=measured_m, still=still)
        self.object_pose, self.lay_m, self.goal_pose = tracking.pose, tracking.lay_m, scene[:, 7:14]

    def tool_at(self, arm_rad: np.ndarray) -> np.ndarray:
        """(3,) where the tool is with joints like this; `data` is then of that."""
        self._data.qpos[self._twin.arm_qpos] = arm_rad
        mujoco.mj_kinematics(self._twin.model, self._data)
        return self._data.site_xpos[self._twin.tool_site].copy()

    @property
    def data(self) -> mujoco.MjData:
        return self._data

    def vector(self) -> np.ndarray:
        """(width, elements) all of it, for a policy, as `feature_of` names it."""
        turn = self.object_pose[:, 3:]
        size = np.sqrt(np.square(turn).sum(axis=1, keepdims=True))
        return np.concatenate([
            self.following.believed_rad, self.opening[:, None],
            self.object_pose[:, :3], turn / np.maximum(size, 1e-9), self.goal_pose,
            self.following.behind_rad, self.lay_m[:, None], self.holds[:, None], self.pressing_n[:, None],
        ], axis=1).astype(np.float32)  # fmt: skip


def feature_of(joints: tuple[str, ...], unit: str) -> Feature:
    """joints: names of the elements of `observation.state`, the gripper last; unit: theirs."""
    poses = tuple(f"{thing}.{part}" for thing in ("object", "goal") for part in POSE)
    names = (*joints, *poses, *(f"behind.{joint}" for joint in joints[:-1]), "lay", "holds", "pressing")
    return Feature(ESTIMATE, "float32", (len(names),), names, f"{unit}; m; quaternion; rad; m; 1; N")


def derived(features: Mapping[str, Feature], robot: str) -> Feature | None:
    """The feature of the estimate for a robot with these features; None if it cannot be estimated."""
    if robot not in robots() or any(name not in features for name in NEEDED):
        return None
    state = features[NEEDED[0]]
    known = (*robots()[robot].arm_joints, "gripper")
    return feature_of(state.names, state.unit) if state.names == known else None


@lru_cache
def model_of(robot: str, rate_hz: int) -> Twin:
    """A twin of the robot; the object does not matter for an estimate."""
    return assemble(robots()[robot], PICK_AND_PLACE, OBJECTS["cube"], control_hz=rate_hz)


def estimated(seen: Mapping[str, np.ndarray], sent: np.ndarray, lengths: np.ndarray, twin: Twin) -> np.ndarray:
    """(frames, elements) of whole episodes back to back. sent: (frames, actions) what left for the motors in each."""
    count, longest = len(lengths), int(lengths.max())
    starts = np.cumsum(lengths) - lengths
    estimate = StateEstimator(twin, width=count)
    out: np.ndarray | None = None
    for tick in range(longest):
        # Episodes that are over are shown their last frame again.
        frames = starts + np.minimum(tick, lengths - 1)
        before = starts + np.clip(tick - 1, 0, lengths - 1)
        estimate.take({name: seen[name][frames] for name in NEEDED}, np.asarray(sent[before], float))
        vector = estimate.vector()
        if out is None:
            out = np.zeros((len(sent), vector.shape[1]), np.float32)
        running = tick < lengths
        out[frames[running]] = vector[running]
    assert out is not None
    return out
