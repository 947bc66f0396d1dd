"""LiveRobot: what a policy needs of a robot, and all it can know of it.

A twin, a rehearsal cell and hardware answer the same few calls with the same records, so that whoever acts through
them cannot tell them apart:

    connect -> Description            once; again after the robot was lost
    begin(episode) -> Briefing        the scene is laid out; what is to be done, and what a lab would note down
    observe -> Reading, act(action)   every control period
    stop                              hold still, whatever was commanded before
    end -> Outcome                    the scene is judged
    close

Whatever goes wrong on the way is a RobotError; after it the robot can be connected to again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np

from twinloop.observe.recording import Feature

if TYPE_CHECKING:
    from twinloop.learn.space import Space


@dataclass(frozen=True)
class Limits:
    """What may be commanded, one row or value for each element of the action, in its units (and those per s, per s²).

    Infinite where the robot sees to it itself, as a hand does that moves at its own pace to a commanded opening.
    effort: N·m, N. workspace_m: (3, 2) the box around the base in which the tool may be.
    """

    position: np.ndarray
    velocity: np.ndarray
    acceleration: np.ndarray
    effort: np.ndarray
    workspace_m: np.ndarray


@dataclass(frozen=True)
class Description:
    """robot: the model, as datasets and checkpoints name it. id: which one of them this is.
    observed, action: the features of a reading and of a command: names, order, shapes and units are those of datasets.
    lockstep: time passes only while it is told to act, so nothing depends on how fast anybody computes.
    home: the command that holds the robot where episodes begin.
    """

    robot: str
    id: str
    rate_hz: float
    observed: tuple[Feature, ...]
    action: Feature
    limits: Limits
    home: tuple[float, ...]
    lockstep: bool

    @property
    def joints(self) -> tuple[str, ...]:
        """In the order of `observation.state` and `action`."""
        return self.action.names

    @property
    def period_s(self) -> float:
        return 1 / self.rate_hz

    def space(self, inputs: Iterable[str] | None = None) -> "Space":
        """What a policy that reads these inputs (the usual ones by default) must have been trained for."""
        # Here: it comes with all that reads datasets, which a robot need not wait for.
        from twinloop.learn.space import DEFAULT_INPUTS, Space
        from twinloop.observe.estimate import ESTIMATE, derived

        told = {feature.name: feature for feature in self.observed}
        made_out = derived(told, self.robot)
        if made_out is not None:
            told[ESTIMATE] = made_out
        wanted = tuple(told[name] for name in (DEFAULT_INPUTS if inputs is None else inputs) if name in told)
        return Space(self.robot, self.rate_hz, wanted, self.action)


@dataclass(frozen=True)
class Reading:
    """What the sensors tell. sequence: counts readings of an episode. timestamp_s: by the robot's own clock."""

    sequence: int
    timestamp_s: float
    features: Mapping[str, np.ndarray]


@dataclass(frozen=True)
class Briefing:
    """instruction: the task in words. conditions: what a lab would write down, e.g. object, light, human."""

    instruction: str
    conditions: Mapping[str, str]


@dataclass(frozen=True)
class Outcome:
    """success: None where nobody and nothing can tell. detail: what was seen, in words."""

    success: bool | None
    detail: str = ""


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
        """Of a robot that is connected."""
        ...

    def begin(self, episode: int) -> Briefing:
        """Lay out the scene of an episode, the robot at home. The same number is the same scene where that can be."""
        ...

    def observe(self) -> Reading: ...

    def act(self, action: np.ndarray) -> None:
        """Command an action; in lockstep, one control period passes."""
        ...

    def stop(self) -> None:
        """Hold still where it is, the gripper as it is; in lockstep, one control period passes."""
        ...

    def end(self) -> Outcome: ...

    def close(self) -> None: ...
