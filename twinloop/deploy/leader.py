"""Leader: whoever says what a robot is to do: a policy's pilot, a demonstrator, a human at a leader arm."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.robot import Briefing, Reading


@dataclass(frozen=True)
class Thought:
    """action: None where nothing was said in time, and the robot should hold. thought_s: how long it took.
    over: it is done, and this is no action any more."""

    action: np.ndarray | None
    thought_s: float
    over: bool = False


class Leader(Protocol):
    """ends_itself: it knows when it is done; else the onlooker tells."""

    @property
    def ends_itself(self) -> bool: ...

    @property
    def said(self) -> bool | None:
        """How it went, if it is a human who has said so."""
        ...

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None: ...

    def act(self, reading: Reading, attention: OperatorInput, deadline_s: float) -> Thought: ...

    def sent(self, command: np.ndarray) -> None:
        """What has become of the action behind the safety filter."""
        ...
