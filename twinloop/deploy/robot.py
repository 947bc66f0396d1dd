"""LiveRobot: the interface between a policy and a robot.

A twin, a rehearsal cell and hardware have the same methods and records:

    connect -> Description            once; again after the connection was lost
    begin(episode) -> Briefing        lays out the scene; returns task and conditions
    observe -> Reading, act(action)   every control period
    stop                              holds the position
    end -> Outcome                    judges the scene
    close

All errors are RobotErrors; `connect` can be called again after one.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from twinloop.observe.recording import Feature

if TYPE_CHECKING:
    from twinloop.gate.robot_identity import RobotIdentity
    from twinloop.learn.space import Space


@dataclass(frozen=True)
class Limits:
    """Limits of commands, with one row or value per element of the action.

    Units are those of the action, per s (velocity) and per s² (acceleration). A limit is infinite where the robot
    enforces it itself, e.g. a gripper that moves to a commanded opening at its own speed.

    Attributes:
        effort: N·m, or N for the gripper.
        workspace_m: (3, 2) the box in which the tool may be, in the frame of the base.
    """

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    workspace_m: np.ndarray


@dataclass(frozen=True)
class Description:
    """A robot's sensors, actions and limits.

    Attributes:
        robot: the model, as datasets and checkpoints name it.
        id: which robot of this model it is.
        observed, action: features of a reading and of a command, with the names, order, shapes and units of datasets.
        home: the command that holds the robot at the start position of episodes.
        lockstep: time advances only with `act` and `stop`, so results do not depend on computing speed.
        simulated: a twin or a rehearsal cell. Only there may a policy act without a decision of the gate.
        serial, firmware: as the robot reports them; a decision of the gate ends when they change.
        judged_by: who says whether an episode succeeded, if the session does not say otherwise.
        twin_digest: of the config of its twin, if the robot names one; a decision of the gate ends when it changes.
        commands: what the elements of an action are. Without an action, a robot that takes positions stays where it is,
            and one that takes speeds brakes to `home`.
        task: the task that the robot is set up for; "" if it has no task of its own.
        asked: elements of observed features with the velocity that the robot is asked for, such as
            `observation.command.forward`. A speed limit reduces them before the policy sees them.
    """

    robot: str
    id: str
    rate_hz: float
    observed: tuple[Feature, ...]
    action: Feature
    limits: Limits
    home: tuple[float, ...]
    lockstep: bool
    simulated: bool = False
    serial: str = ""
    firmware: str = ""
    twin_digest: str = ""
    judged_by: Literal["detector", "human"] = "detector"
    commands: Literal["positions", "speeds"] = "positions"
    task: str = ""
    asked: tuple[str, ...] = ()

    @property
    def identity(self) -> "RobotIdentity":
        # Imported here because it imports the dataset modules, which a robot does not need.
        from twinloop.gate.robot_identity import RobotIdentity

        return RobotIdentity(self.id, self.robot, self.serial, self.firmware, self._fingerprint(), self.simulated)

    def _fingerprint(self) -> str:
        limits = {name: np.asarray(getattr(self.limits, name), float).tolist() for name in Limits.__dataclass_fields__}
        features = [vars(feature) for feature in (*self.observed, self.action)]
        content = [self.robot, self.serial, self.firmware, self.rate_hz, features, limits, list(self.home)]
        if self.commands != "positions":
            content.append(self.commands)  # only then, so that existing decisions stay valid
        if self.asked:
            content.append(list(self.asked))
        return hashlib.sha256(json.dumps(content, sort_keys=True, default=list).encode()).hexdigest()

    @property
    def joints(self) -> tuple[str, ...]:
        """In the order of `observation.state` and `action`."""
        return self.action.names

    @property
    def period_s(self) -> float:
        return 1 / self.rate_hz

    def space(self, inputs: Iterable[str] | None = None) -> "Space":
        """Return the space of a policy for this robot that reads these inputs (by default DEFAULT_INPUTS)."""
        # Imported here because it imports the dataset modules, which a robot does not need.
        from twinloop.learn.space import DEFAULT_INPUTS, Space, with_derived

        named = tuple(DEFAULT_INPUTS if inputs is None else inputs)
        features = with_derived({feature.name: feature for feature in self.observed}, self.robot, named)
        wanted = tuple(features[name] for name in named if name in features)
        return Space(self.robot, self.rate_hz, wanted, self.action)


@dataclass(frozen=True)
class Reading:
    """The sensor readings at one time.

    Attributes:
        sequence: index in the episode.
        timestamp_s: time on the robot's own clock.
        over: the robot's own detector ends the episode, for example after a fall.
        achieved: whether the lab's success detector sees the task done at present; None without such a detector. It
            ends a policy's episode, and is no input of a policy.
    """

    sequence: int
    timestamp_s: float
    features: Mapping[str, np.ndarray]
    over: bool = False
    achieved: bool | None = None


@dataclass(frozen=True)
class Briefing:
    """Task and conditions of an episode. instruction: the task in words. conditions: e.g. object, light, human."""

    instruction: str
    conditions: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """Outcome of an episode.

    Attributes:
        success: None if it is not known.
        detail: the observation in words.
        failure: name of the failure, if the robot's detector knows it.
    """

    success: bool | None
    detail: str = ""
    failure: str = ""


class LiveRobot(Protocol):
    """A robot, rehearsal cell or twin that a policy can act on. Implement it to connect other hardware.

    Example:
        >>> from twinloop.deploy.robots import robot_named
        >>> robot: tl.LiveRobot = robot_named("twin:cell.yaml")
        >>> about = robot.connect()
        >>> briefing = robot.begin(0)
        >>> robot.act(np.array(about.home))
        >>> robot.observe().sequence
        1
        >>> robot.end().success
        False
        >>> robot.close()
    """

    def connect(self) -> Description: ...

    def describe(self) -> Description:
        """Return the description of a connected robot."""
        ...

    def begin(self, episode: int) -> Briefing:
        """Lay out the scene of an episode, robot at home. The same number gives the same scene where possible."""
        ...

    def observe(self) -> Reading: ...

    def act(self, action: np.ndarray) -> None:
        """Command an action. In lockstep, time advances by one control period."""
        ...

    def stop(self) -> None:
        """Hold the arm and the gripper where they are. In lockstep, time advances by one control period."""
        ...

    def end(self) -> Outcome: ...

    def close(self) -> None: ...
