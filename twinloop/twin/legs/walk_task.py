"""WalkTask: follow velocity commands without falling."""

from dataclasses import dataclass


@dataclass(frozen=True)
class WalkTask:
    """A task of robots that move over the ground.

    Attributes:
        longest_s: time limit of an episode.
        instruction: the task in words.
    """

    name: str
    longest_s: float
    instruction: str


WALK = WalkTask("walk", 20.0, "follow the commanded velocity")
WALK_TASKS = {WALK.name: WALK}
