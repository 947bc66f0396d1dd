"""Leaders that demonstrate: the scripted demonstrator, and a human at a leader arm."""

import time
from collections.abc import Callable, Mapping

import numpy as np

from twinloop.deploy.demonstrator import Demonstrator
from twinloop.deploy.leader import LeaderAction
from twinloop.deploy.lerobot.teleoperator import Teleoperation
from twinloop.deploy.operator_input import EpisodeStopped, OperatorInput
from twinloop.deploy.robot import Briefing, Description, Reading

OTHER = "other_conditions"
"""Failure name of a scene with other conditions than requested: it is skipped and not logged."""
TRIES = 1 << 40
"""The n-th try of a scene draws its random numbers as scene + n * TRIES, so that tries differ."""


def refuse_other_conditions(briefing: Briefing, wanted: Mapping[str, str]) -> None:
    """Raise EpisodeStopped if the robot reports other conditions than requested."""
    for name, value in wanted.items():
        actual = briefing.conditions.get(name, value)
        if actual != value:
            raise EpisodeStopped(OTHER, f"{name} is {actual} in this scene; {value} was requested")


class ScriptedLeader:
    """The scripted demonstrator, with or without human-like imperfections.

    Attributes:
        number_of_try: makes tries differ.

    Args:
        scene: returns the scene as a person sees it. Without it, the demonstrator sees the robot's readings.
    """

    ends_itself = True
    judged_success = None
    kind = "script"

    def __init__(
        self, demonstrator: Demonstrator, wanted: Mapping[str, str], scene: Callable[[], Reading] | None = None
    ):
        self._demonstrator, self._wanted, self._scene = demonstrator, wanted, scene
        self.kind = "human-like" if demonstrator.imperfect else "script"
        self.number_of_try = 0

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:  # noqa: ARG002
        refuse_other_conditions(briefing, self._wanted)
        self._demonstrator.begin(briefing, scene + TRIES * self.number_of_try)

    def act(self, reading: Reading, operator: OperatorInput, deadline_s: float) -> LeaderAction:  # noqa: ARG002
        began_s = time.monotonic()
        move = self._demonstrator.act(reading if self._scene is None else self._scene())
        return LeaderAction(move.command, time.monotonic() - began_s, over=move.over)

    def sent(self, command: np.ndarray) -> None:
        self._demonstrator.sent(command)

    def close(self) -> None:
        pass


class TeleoperationLeader:
    """A human who moves a leader arm. They end the episode, or it ends after episode_timeout_s."""

    ends_itself = True
    kind = "teleoperation"

    def __init__(
        self, teleoperation: Teleoperation, about: Description, wanted: Mapping[str, str], *, episode_timeout_s: float
    ):
        self._teleoperation, self._wanted = teleoperation, wanted
        self._longest = round(episode_timeout_s * about.rate_hz)
        self.judged_success: bool | None = None
        self.number_of_try = 0

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:  # noqa: ARG002
        refuse_other_conditions(briefing, self._wanted)
        self._teleoperation.connect()
        self.judged_success, self._periods = None, 0

    def act(self, reading: Reading, operator: OperatorInput, deadline_s: float) -> LeaderAction:  # noqa: ARG002
        began_s = time.monotonic()
        sample = self._teleoperation.lead()
        if sample.discarded:
            raise EpisodeStopped("discarded_by_human", "the operator discarded this episode")
        self._periods += 1
        self.judged_success = sample.success
        over = sample.over or operator.enough or self._periods > self._longest
        return LeaderAction(sample.action, time.monotonic() - began_s, over=over, by_human=True)

    def sent(self, command: np.ndarray) -> None:
        """Not needed: the human sees the robot."""

    def close(self) -> None:
        self._teleoperation.close()
