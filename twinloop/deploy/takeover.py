"""Takeover: a human takes over from the policy in mid-episode and gives control back. The key `t` switches.

The human moves the robot with a leader arm or with keys. Their actions pass through the same safety filter as those of
the policy, and every frame records who acted (`by_human`).
"""

import time
from typing import Literal, Protocol

import numpy as np

from twinloop.deploy.action_loop import ActionLoop
from twinloop.deploy.leader import LeaderAction
from twinloop.deploy.lerobot.robot import LerobotRobot
from twinloop.deploy.lerobot.teleoperator import Teleoperation
from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.robot import Briefing, Description, LiveRobot, Reading
from twinloop.errors import UsageError
from twinloop.twin.kinematic_chain import KinematicChain
from twinloop.twin.twin import Twin

STATE = "observation.state"
STEP_M, STEP_RAD, DAMPING = 0.004, 0.05, 0.02
JOGS = {"i": (0, 1), "k": (0, -1), "j": (1, 1), "l": (1, -1), "u": (2, 1), "o": (2, -1), "n": (5, 1), "m": (5, -1)}
"""Key -> (axis of the tool's twist in the robot's frame, sign): x, y, z and the turn about z."""
GRIP = "g"
HELP_KEYS = "i k = forward, back · j l = left, right · u o = up, down · n m = turn · g = gripper"


class HumanControl(Protocol):
    """A device with which a human moves the robot."""

    help: str

    def take(self, state: np.ndarray) -> None:
        """Begin to lead. state: (joints and opening,) measured when the human takes over."""
        ...

    def action(self, typed: str) -> np.ndarray:
        """The (joints and opening,) action of this period. typed: keys that were pressed since the last one."""
        ...

    def close(self) -> None: ...


class LeaderArmControl:
    """A leader arm. The robot follows its movement since the takeover, so it does not jump to the leader's pose."""

    help = "move the leader arm"

    def __init__(self, teleoperation: Teleoperation):
        self._teleoperation = teleoperation

    def take(self, state: np.ndarray) -> None:
        self._teleoperation.connect()
        self._offset = state - self._teleoperation.lead().action

    def action(self, typed: str) -> np.ndarray:  # noqa: ARG002
        return self._teleoperation.lead().action + self._offset

    def close(self) -> None:
        self._teleoperation.close()


class KeyControl:
    """Keys that move the tool in steps, by damped least squares on the Jacobian of the robot's kinematics."""

    help = HELP_KEYS

    def __init__(self, about: Description, twin: Twin):
        if len(twin.arms) != 1:
            raise UsageError(f"--takeover keys: {about.id} has {len(twin.arms)} arms; keys can move one arm only")
        self._chain = KinematicChain(twin.model, twin.arm_joints, twin.tool_site)
        self._limits = twin.arm_limits_rad
        gripper = twin.robot.gripper
        self._open, self._closed = gripper.open, gripper.closed

    def take(self, state: np.ndarray) -> None:
        self._target = np.array(state, float)

    def action(self, typed: str) -> np.ndarray:
        for key in typed:
            if key in JOGS:
                self._jog(*JOGS[key])
            elif key == GRIP:
                middle = (self._open + self._closed) / 2
                is_open = (self._target[-1] - middle) * (self._open - self._closed) > 0
                self._target[-1] = self._closed if is_open else self._open
        return self._target.copy()

    def close(self) -> None:
        pass

    def _jog(self, axis: int, sign: int) -> None:
        twist = np.zeros(6)
        twist[axis] = sign * (STEP_M if axis < 3 else STEP_RAD)
        joints = self._target[:-1]
        jacobian = self._chain.frames(joints[None]).jacobian[0]
        step = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T + DAMPING**2 * np.eye(6), twist)
        self._target[:-1] = np.clip(joints + step, *self._limits.T)


def human_control(
    device: Literal["leader", "keys"], robot: LiveRobot, about: Description, twin: Twin | None
) -> HumanControl:
    """The device with which a human takes over on this robot. twin: of the robot; None if it has no model.

    Raises:
        UsageError: the robot has no such device.
    """
    if device == "leader":
        config = robot.config if isinstance(robot, LerobotRobot) else None
        if config is None or config.teleoperator is None:
            raise UsageError(
                f"--takeover leader: {about.id} has no leader arm; name one with `teleoperator` in the file of a "
                "lerobot robot, or use --takeover keys"
            )
        return LeaderArmControl(Teleoperation(config))
    if twin is None:
        raise UsageError(f"--takeover keys: there is no kinematic model of {about.robot!r}; use --takeover leader")
    return KeyControl(about, twin)


class SharedControl:
    """The leader of an episode that a policy runs and a human may take over."""

    ends_itself = False
    judged_success = None

    def __init__(self, policy: ActionLoop, human: HumanControl):
        self._policy, self._human = policy, human
        self._human_leads = False

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:
        self._policy.begin(briefing, scene=scene, rng=rng)
        self._human_leads = False

    def act(self, reading: Reading, operator: OperatorInput, deadline_s: float) -> LeaderAction:
        began_s = time.monotonic()
        if not operator.human_leads:
            if self._human_leads:
                self._policy.resume()
                self._human_leads = False
            return self._policy.act(reading, operator, deadline_s)
        self._policy.watch(reading)
        if not self._human_leads:
            self._human.take(np.asarray(reading.features[STATE], float))
            self._human_leads = True
        action = self._human.action(operator.typed)
        return LeaderAction(action, time.monotonic() - began_s, over=operator.enough, by_human=True)

    def sent(self, command: np.ndarray) -> None:
        self._policy.sent(command)
