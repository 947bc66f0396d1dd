"""StateEstimator: robot and scene state from late, noisy readings and past commands. Causal, one row per episode.

`simulate/joint_predictor.py` predicts the joints, `tracking.py` the things. A gripper holds something if its fingers
have stopped before they are closed, and press. The scripted expert reads robots through this estimate, and policies may
use it as an input. The estimate depends less on delay, noise and backlash than the readings do.
"""

from collections.abc import Mapping
from functools import lru_cache

import mujoco
import numpy as np

from twinloop.observe.recording import ESTIMATE, NEEDED, Feature
from twinloop.observe.tracking import ObjectTracker
from twinloop.simulate.joint_predictor import JointPredictor
from twinloop.twin.assemble import assemble
from twinloop.twin.entity import POSE
from twinloop.twin.robot import Robot
from twinloop.twin.robots import robots
from twinloop.twin.task_checks import unfit_arms
from twinloop.twin.tasks import tasks
from twinloop.twin.tasks.pick_and_place import PICK_AND_PLACE
from twinloop.twin.twin import Twin

STILL_SHARE_S = 0.15
"""Fingers that move by less than this share of their stroke per second are still."""
STILL_S = 0.1
"""Fingers must be still for this long, because a motor builds up force before anything moves."""
OPEN_SHARE, EMPTY_SHARE = 0.95, 0.05
"""Shares of the stroke: fingers are open above `OPEN_SHARE`, and hold nothing below `EMPTY_SHARE`."""
HELD_N = 1.0
BEHIND = "behind."
HAND_PARTS = ("lay", "holds", "pressing")
"""Elements of the estimate for each arm, after those of the joints and the environment."""
AT_REST_RAD = 0.015
"""An arm is at rest if the norm of `behind_rad` over its joints is less than this."""


class StateEstimator:
    """Estimates the state of `width` robots, each in its own scene. All attributes have one row per scene.

    Attributes:
        following: the JointPredictor.
        environment: (width, elements) the environment state, with filtered poses of things.
        lay_m: (width, arms) height at which the thing that an arm held last, or the first, last lay. See ObjectTracker.
        opening: (width, arms) as measured.
        pressing_n: (width, arms) closing force of each finger after they have stopped or while they hold something;
            else 0.
        holds: (width, arms) whether there is something between the fingers.
    """

    def __init__(self, twin: Twin, *, width: int, things: tuple[int, ...] | None = None):
        """`things`: first column of each thing in the environment state; those of the twin by default."""
        self._twin, self._data = twin, mujoco.MjData(twin.model)
        grippers = [arm.gripper for arm in twin.robot.arms]
        self._closed = np.array([gripper.closed for gripper in grippers])
        self._stroke = np.array([abs(gripper.open - gripper.closed) for gripper in grippers])
        # The sign of a closing effort is that of the change in control from open to closed.
        self._closing = np.array([np.sign(gripper.closed_control - gripper.open_control) for gripper in grippers])
        period_s, arms = twin.control_period_s, len(grippers)
        self.following = JointPredictor(np.array(twin.robot.home_rad), width=width, period_s=period_s)
        self._columns = tuple(index.columns.start for index in twin.things) if things is None else things
        self._tracking = [ObjectTracker(width=width, period_s=period_s) for _ in self._columns]
        self._in_hand = np.zeros((width, arms), int)
        self._long = max(1, round(STILL_S / period_s))
        self._still = np.zeros((width, arms), int)
        self.holds = np.zeros((width, arms), bool)

    def begin(self, ids: np.ndarray) -> None:
        """Reset these rows for new episodes."""
        self.following.begin(ids)
        for tracker in self._tracking:
            tracker.begin(ids)
        self._in_hand[ids] = 0
        self._still[ids] = 0
        self.holds[ids] = False

    def take(self, seen: Mapping[str, np.ndarray], sent: np.ndarray) -> None:
        """Update the estimate. Call once per control period.

        Args:
            seen: features in NEEDED -> (width, elements).
            sent: (width, actions) the last commands; not used in the first period of an episode.
        """
        state, velocity, effort, scene = (np.asarray(seen[name], float) for name in NEEDED)
        following, joints = self.following, self._twin.joints
        following.take(state[:, :joints], sent[:, :joints])
        self.opening = state[:, joints:]
        slow = np.abs(velocity[:, joints:]) < STILL_SHARE_S * self._stroke
        self._still = np.where(slow, self._still + 1, 0)
        apart = np.abs(self.opening - self._closed) / self._stroke
        stopped = (self._still >= self._long) & (apart < OPEN_SHARE)
        closing_n = np.maximum(0.0, self._closing * effort[:, joints:]) / 2
        opens = np.abs(sent[:, joints:] - self._closed) / self._stroke > apart
        held = self.holds
        self.holds = (held | (stopped & (closing_n > HELD_N))) & (apart > EMPTY_SHARE) & ~opens
        # A held object is pressed on even while the fingers move slightly.
        self.pressing_n = np.where(stopped | self.holds, closing_n, 0.0)

        tool_m, measured_m = np.zeros((2, len(state), len(self._closed), 3))
        # One at a time, because the engine's kinematics take one robot, and few robots hold something.
        for row in np.flatnonzero(self.holds.any(axis=1)):
            tool_m[row] = self.tools_at(following.believed_rad[row])
            measured_m[row] = self.tools_at(following.measured_rad[row])
        self._note_things_in_hand(scene, measured_m, self.holds & ~held)
        still = self._at_rest()
        every = np.arange(len(state))
        self.environment = scene.copy()
        for number, (column, tracker) in enumerate(zip(self._columns, self._tracking, strict=True)):
            seen_pose = scene[:, column : column + 7]
            by_arm = self.holds & (self._in_hand == number)
            in_hand, arm = by_arm.any(axis=1), by_arm.argmax(axis=1)
            tracker.update_resting(seen_pose, ~in_hand)
            if in_hand.any():
                # A thing in two hands moves with the first of them.
                tracker.update_held(seen_pose, in_hand, hand=arm, tool_m=tool_m[every, arm],
                              measured_m=measured_m[every, arm], still=still[every, arm])  # fmt: skip
            self.environment[:, column : column + 7] = tracker.pose
        lay = np.stack([tracker.lay_m for tracker in self._tracking])
        self.lay_m = lay[self._in_hand, every[:, None]]

    def _at_rest(self) -> np.ndarray:
        """(width, arms) whether the joints of an arm are where they are expected to be."""
        behind = np.square(self.following.behind_rad)
        parts = [np.sqrt(behind[:, index.columns].sum(axis=1)) for index in self._twin.arms]
        return np.stack(parts, axis=1) < AT_REST_RAD

    def _note_things_in_hand(self, scene: np.ndarray, tool_m: np.ndarray, new: np.ndarray) -> None:
        """The thing in a hand that has just closed is the one nearest to its tool."""
        if len(self._tracking) == 1 or not new.any():
            return
        places = np.stack([scene[:, column : column + 3] for column in self._columns], axis=1)
        nearest = np.square(places[:, None] - tool_m[:, :, None]).sum(axis=3).argmin(axis=2)
        self._in_hand = np.where(new, nearest, self._in_hand)

    def tools_at(self, arm_rad: np.ndarray) -> np.ndarray:
        """(arms, 3) positions of the tools at these joint positions. `data` then holds this state."""
        self._data.qpos[self._twin.arm_qpos] = arm_rad
        mujoco.mj_kinematics(self._twin.model, self._data)
        return self._data.site_xpos[[index.tool_site for index in self._twin.arms]].copy()

    @property
    def data(self) -> mujoco.MjData:
        return self._data

    def vector(self) -> np.ndarray:
        """(width, elements) the whole estimate for a policy. `feature_of` names the elements."""
        environment = self.environment.copy()
        for column in self._columns:
            turn = environment[:, column + 3 : column + 7]
            turn /= np.maximum(np.sqrt(np.square(turn).sum(axis=1, keepdims=True)), 1e-9)
        return np.concatenate([
            self.following.believed_rad, self.opening, environment, self.following.behind_rad, self.lay_m, self.holds,
            self.pressing_n,
        ], axis=1).astype(np.float32)  # fmt: skip


def feature_of(robot: Robot, environment: tuple[str, ...], unit: str) -> Feature:
    """The feature of the estimate.

    Args:
        environment: names of the elements of `observation.environment_state`.
        unit: unit of the joints.
    """
    behind = (f"{BEHIND}{joint}" for joint in robot.arm_joints)
    hands = (arm.named(part) for part in HAND_PARTS for arm in robot.arms)
    names = (*robot.state_names, *environment, *behind, *hands)
    return Feature(ESTIMATE, "float32", (len(names),), names, f"{unit}; m; quaternion; rad; m; 1; N")


def derived(features: Mapping[str, Feature], robot: str) -> Feature | None:
    """The feature of the estimate for a robot with these features; None if it cannot be estimated."""
    if robot not in robots() or any(name not in features for name in NEEDED):
        return None
    state, environment = features[NEEDED[0]], features[NEEDED[3]]
    about = robots()[robot]
    if state.names != about.state_names or not tracked_columns(environment.names):
        return None
    return feature_of(about, environment.names, state.unit)


def things_in_estimate(estimate: Feature) -> tuple[int, ...]:
    """First columns, in the environment state, of the things whose poses an estimate contains."""
    behind = [place for place, name in enumerate(estimate.names) if name.startswith(BEHIND)]
    hands = (len(estimate.names) - 1 - behind[-1]) // len(HAND_PARTS)
    # The joints and the grippers come first; the environment is between them and the joints' lags.
    return tracked_columns(estimate.names[len(behind) + hands : behind[0]])


def tracked_columns(environment: tuple[str, ...]) -> tuple[int, ...]:
    """First column of each entity that a tracker follows: all except fixtures whose pose the task knows."""
    fixed = {fixture.name for task in tasks().values() for fixture in task.fixtures}
    columns = []
    for column, name in enumerate(environment):
        entity = name.rpartition(".")[0]
        pose = tuple(f"{entity}.{part}" for part in POSE)
        if entity not in fixed and environment[column : column + 7] == pose:
            columns.append(column)
    return tuple(columns)


@lru_cache
def model_of(robot: str, rate_hz: int) -> Twin:
    """A twin of the robot; the task does not matter for an estimate, as long as it is one for these arms."""
    model = robots()[robot]
    fitting = (task for task in (PICK_AND_PLACE, *tasks().values()) if not unfit_arms(task, model))
    return assemble(model, next(fitting, PICK_AND_PLACE), control_hz=rate_hz)


def estimated(
    seen: Mapping[str, np.ndarray], sent: np.ndarray, lengths: np.ndarray, twin: Twin, *, things: tuple[int, ...] = (0,)
) -> np.ndarray:
    """(frames, elements) estimates of whole episodes, back to back.

    Args:
        things: first column of each thing in the environment state.
        sent: (frames, actions) the commands to the motors in each frame.
    """
    count, longest = len(lengths), int(lengths.max())
    starts = np.cumsum(lengths) - lengths
    estimate = StateEstimator(twin, width=count, things=things)
    out: np.ndarray | None = None
    for tick in range(longest):
        # Episodes that are over repeat their last frame.
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
