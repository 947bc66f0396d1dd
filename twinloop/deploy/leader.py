"""Leader: the source of actions in an episode: a policy, a scripted demonstrator, or a human at a leader arm."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from twinloop.deploy.operator_input import OperatorInput
from twinloop.deploy.robot import Briefing, Reading


@dataclass(frozen=True)
class LeaderAction:
    """The action of one control period.

    Attributes:
        action: None if there was none before the deadline; the robot then holds its position.
        thought_s: seconds that the leader took.
        over: the episode is over and `action` is not to be executed.
        by_human: a human chose the action.
    """

    action: np.ndarray | None
    thought_s: float
    over: bool = False
    by_human: bool = False


class Leader(Protocol):
    """A source of actions.

    Attributes:
        ends_itself: the leader decides when the episode ends; otherwise the episode tracker does.
    """

    @property
    def ends_itself(self) -> bool: ...

    @property
    def judged_success(self) -> bool | None:
        """Success or failure as judged by the human who leads; None without a judgement."""
        ...

    def begin(self, briefing: Briefing, *, scene: int, rng: np.random.Generator) -> None: ...

    def act(self, reading: Reading, operator: OperatorInput, deadline_s: float) -> LeaderAction: ...

    def sent(self, command: np.ndarray) -> None:
        """Receive the command that the safety filter sent for the last action."""
        ...
