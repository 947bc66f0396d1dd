"""SafetyFilter: turns an action into a command within the limits and reports why the two differ.

Every command to a robot passes through this filter.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from twinloop.deploy.robot import Description, Reading
from twinloop.deploy.safety.bounds import Bounds
from twinloop.deploy.safety.effort import eased
from twinloop.deploy.safety.force import BackOff
from twinloop.deploy.safety.intention import intended
from twinloop.deploy.safety.motion import MotionLimiter
from twinloop.deploy.safety.workspace import Tool, Workspace
from twinloop.errors import RobotError
from twinloop.twin.twin import Twin

AT_HOME = 0.02
"""Share of a joint's range. If all joints are measured that close to home, the filter starts at home."""
SAME = 1e-9
NOTICED = 0.005
"""Share of a joint's range. Clipping less than this is not reported, e.g. 80.02 mm for a hand that opens 80 mm."""


@dataclass(frozen=True)
class FilterResult:
    """Result of filtering one action.

    Attributes:
        command: the command to send.
        action: the intended action, or the command if there was no valid action.
        reasons: why they differ: `position`, `velocity`, `acceleration`, `effort`, `workspace`, `non_finite`, `force`.
    """

    command: np.ndarray
    action: np.ndarray
    reasons: tuple[str, ...]


class SafetyFilter:
    """Limits the commands of one robot.

    Args:
        twin: model of the robot, for the kinematics of its tool; may be None if the workspace is infinite.
    """

    def __init__(self, about: Description, bounds: Bounds, twin: Twin | None):
        self._bounds, self._home = bounds, np.array(about.home)
        self._asked = _places(about)
        self._noticed = NOTICED * (bounds.position[:, 1] - bounds.position[:, 0])
        self._motion = MotionLimiter(bounds, period_s=about.period_s)
        self._workspaces: tuple[Workspace, ...] = ()
        if np.isfinite(bounds.workspace_m).any():
            if twin is None:
                raise RobotError(
                    f"{about.id}: its workspace is limited, but there is no model of {about.robot} to compute the "
                    "tool position; a package can add one (docs/extending.md)"
                )
            joints = twin.robot.state_names
            if about.joints != joints:
                raise RobotError(
                    f"{about.id}: has the joints {', '.join(about.joints)}; its model has {', '.join(joints)}"
                )
            self._workspaces = tuple(
                Workspace(bounds.workspace_m, Tool(twin, number)) for number in range(len(twin.arms))
            )
        arm = bounds.effort[: twin.joints] if twin is not None else bounds.effort[:-1]
        self._back_off = BackOff(arm_effort=arm, force_n=bounds.force_n, period_s=about.period_s)

    def begin(self, measured: np.ndarray) -> None:
        """Start at rest at the measured position. Call this at the start of an episode and after every stop."""
        if self._bounds.of_speeds:
            measured = self._home  # at rest
        span = self._bounds.position[:, 1] - self._bounds.position[:, 0]
        near = np.abs(measured - self._home) < AT_HOME * span
        self._motion.begin(self._home if near.all() else measured)
        self._back_off.begin()
        for workspace in self._workspaces:
            workspace.begin(self._motion.position)

    def slowed(self, reading: Reading) -> Reading:
        """The reading with the velocity that the robot is asked for reduced to its speed limit."""
        if self._bounds.speed == 1 or not self._asked:
            return reading
        features = dict(reading.features)
        for name, elements in self._asked.items():
            features[name] = np.array(features[name], copy=True)
            features[name][elements] *= self._bounds.speed
        return replace(reading, features=features)

    @property
    def hopeless(self) -> bool:
        """True if the robot has backed off and the load did not decrease in time."""
        return self._back_off.hopeless

    def pass_on(self, action: object, readings: Mapping[str, np.ndarray] | None = None) -> FilterResult:
        """Return the command to send for one control period.

        Args:
            action: output of the policy, in any form; None holds the position, or stops a robot that is commanded
                speeds.
            readings: the features of this period.
        """
        motion, reasons = self._motion, []
        effort, force_n = _measured(readings or {})
        requested = None if action is None else intended(action, len(self._home))
        if requested is None and action is not None:
            reasons.append("non_finite")
        if self._back_off.look(effort, force_n):
            reasons.append("force")
            target = self._back_off.back()
        else:
            target = self._home if requested is None and self._bounds.of_speeds else requested
        if target is None:
            wanted = at_once = motion.rest()
        else:
            within = motion.within(target)
            if (np.abs(within - target) > self._noticed).any():
                reasons.append("position")
            wanted, at_once = motion.chase(within)
            if motion.faster_than_allowed(at_once).any():
                reasons.append("velocity")
        light = eased(wanted, effort, self._bounds.effort)
        if (light != wanted).any():
            reasons.append("effort")
        velocity = motion.possible(light)
        # If neither velocity nor effort limits the motion, the acceleration limit does.
        if target is not None and np.abs(velocity - at_once).max() > SAME and not {"velocity", "effort"} & {*reasons}:
            reasons.append("acceleration")
        velocity, fits = self._inside(velocity)
        if not fits:
            reasons.append("workspace")
        command = motion.move(velocity)
        for workspace in self._workspaces:
            workspace.filtered(command)
        self._back_off.sent(command)
        return FilterResult(command, command if requested is None else requested, tuple(reasons))

    def _inside(self, velocity: np.ndarray) -> tuple[np.ndarray, bool]:
        """A velocity that keeps all tools inside the workspace, and whether it is the requested one."""
        motion, fits = self._motion, True
        for workspace in self._workspaces:
            velocity, fits_here = workspace.allowed(motion, velocity)
            fits &= fits_here
        if (
            not fits
            and len(self._workspaces) > 1
            and not all(workspace.admits(motion, velocity) for workspace in self._workspaces)
        ):
            # What keeps one tool inside may take another one out. Braking is always allowed.
            velocity = motion.braking(motion.velocity)
        return velocity, fits


def _places(about: Description) -> dict[str, list[int]]:
    """Feature -> places of the elements with the velocity that the robot is asked for."""
    places: dict[str, list[int]] = {}
    for feature in about.observed:
        own = [place for place, name in enumerate(feature.names) if f"{feature.name}.{name}" in about.asked]
        if own:
            places[feature.name] = own
    missing = len(about.asked) - sum(map(len, places.values()))
    if missing:
        raise RobotError(f"{about.id}: asked: {missing} of {', '.join(about.asked)} are no elements that it observes")
    return places


def _measured(readings: Mapping[str, np.ndarray]) -> tuple[np.ndarray | None, float | None]:
    """Return (effort of the joints, largest force at a wrist in N). Each is None if the robot does not measure it."""
    effort, wrench = readings.get("observation.effort"), readings.get("observation.force_torque")
    # Each arm has three forces and three torques.
    forces = () if wrench is None else [wrench[first : first + 3] for first in range(0, len(wrench), 6)]
    return (
        None if effort is None else np.asarray(effort, float),
        None if wrench is None else max(float(np.linalg.norm(np.asarray(force, float))) for force in forces),
    )
