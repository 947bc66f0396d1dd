"""Those who show how it is done, as leaders of an episode: the demonstrator, and a human at a leader arm."""

import time
from collections.abc import Mapping

import numpy as np

from twinloop.deploy.demonstrator import Demonstrator
from twinloop.deploy.leader import Thought
from twinloop.deploy.lerobot.teleoperator import Teleoperation
from twinloop.deploy.operator_input import OperatorInput, Stopped
from twinloop.deploy.robot import Briefing, Description, Reading

OTHER = "other_conditions"
"""A scene that was not asked for: it is passed over, and nothing of it is kept."""
TRIES = 1 << 40
"""The n-th try of a scene is another demonstration of it: its numbers are drawn as for scene + n * TRIES."""


def refuse_others(briefing: Briefing, wanted: Mapping[str, str]) -> None:
    """Stopped, where the robot itself tells something else than was asked for."""
    for name, value in wanted.items():
        told = briefing.conditions.get(name, value)
        if told != value:
            raise Stopped(OTHER, f"{name} is {told} here; {value} was asked for")


class ScriptedLeader:
    """The demonstrator, script or human-like. number_of_try: so that another try is not the same again."""

    ends_itself = True
    said = None
    kind = "script"

    def __init__(self, demonstrator: Demonstrator, wanted: Mapping[str, str]):
        self._demonstrator, self._wanted = demonstrator, wanted
        self.kind = "human-like" if demonstrator.imperfect else "script"
        self.number_of_try = 0

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:  # noqa: ARG002
        refuse_others(briefing, self._wanted)
        self._demonstrator.begin(briefing, scene + TRIES * self.number_of_try)

    def act(self, reading: Reading, attention: OperatorInput, deadline_s: float) -> Thought:  # noqa: ARG002
        began_s = time.monotonic()
        move = self._demonstrator.act(reading)
        return Thought(move.command, time.monotonic() - began_s, over=move.over)

    def sent(self, command: np.ndarray) -> None:
        self._demonstrator.sent(command)

    def close(self) -> None:
        pass


class TeleoperationLeader:
    """A human who moves a leader arm. It is over when they say so, or after longest_s."""

    ends_itself = True
    kind = "teleoperation"

    def __init__(
        self, teleoperation: Teleoperation, about: Description, wanted: Mapping[str, str], *, longest_s: float
    ):
        self._teleoperation, self._wanted = teleoperation, wanted
        self._longest = round(longest_s * about.rate_hz)
        self.said: bool | None = None
        self.number_of_try = 0

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None:  # noqa: ARG002
        refuse_others(briefing, self._wanted)
        self._teleoperation.connect()
        self.said, self._periods = None, 0

    def act(self, reading: Reading, attention: OperatorInput, deadline_s: float) -> Thought:  # noqa: ARG002
        began_s = time.monotonic()
        led = self._teleoperation.lead()
        if led.discarded:
            raise Stopped("discarded_by_human", "whoever led wants it not to count")
        self._periods += 1
        self.said = led.success
        over = led.over or attention.enough or self._periods > self._longest
        return Thought(led.action, time.monotonic() - began_s, over=over)

    def sent(self, command: np.ndarray) -> None:
        """The human sees the robot, and not its commands."""

    def close(self) -> None:
        self._teleoperation.close()
