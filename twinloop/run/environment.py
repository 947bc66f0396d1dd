"""EnvironmentConfig: the section `environment` of a run config, for reinforcement learning.

It names terms of the table in `environments/table.py`, which knows what they compute. The section decides no recorded
episode, so it is no part of a config's digest.
"""

from dataclasses import dataclass
from typing import Literal, get_args

from twinloop.config.fields import mapped, number, of_kind, texts, word
from twinloop.config.kinds import Number

ActionMode = Literal["delta", "absolute"]


@dataclass(frozen=True)
class EnvironmentConfig:
    """What reinforcement learning observes and rewards in a cell. Empty sections have the defaults of the robot."""

    actions: ActionMode = word(
        "delta", words=get_args(ActionMode),
        help="an action from -1 to 1 is a step from the measured joint position, or a position between the limits",
    )  # fmt: skip
    action_scale: float = number(
        0.1, low=0, high=3.2, above=True, unit="rad", help="largest step of a joint for `actions: delta`"
    )
    observations: tuple[str, ...] = texts((), empty=True, help="features and observation terms of the policy")
    privileged: tuple[str, ...] = texts(
        (), empty=True, help="features and observation terms that only the critic gets, beside those of the policy"
    )
    rewards: dict[str, float] = mapped(
        Number(low=-1e6, high=1e6), what="reward term", help="reward term -> weight; the reward is the weighted sum"
    )
    terminations: tuple[str, ...] = texts((), empty=True, help="termination terms, each of which ends an episode")
    curriculum: dict[str, float] = mapped(
        Number(low=0, high=1), what="curriculum term", help="curriculum term -> how far one episode moves the level"
    )
    time_limit_s: float | None = of_kind(
        Number(low=0, above=True, high=3600, unit="s", help="length of an episode",
               default="that of the task"), None
    )  # fmt: skip
