"""MobileTask: what a robot that moves about is asked to do."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MobileTask:
    """A task of robots that move over the ground.

    Attributes:
        longest_s: time limit of an episode.
        instruction: the task in words.
    """

    name: str
    longest_s: float
    instruction: str

    @property
    def phase_names(self) -> tuple[str, ...]:
        """The task has one phase."""
        return (self.name,)


WALK = MobileTask("walk", 20.0, "follow the commanded velocity")
GO_TO_GOAL = MobileTask("go_to_goal", 40.0, "go to the goal without touching anything")
WALK_TASKS = {WALK.name: WALK}
NAVIGATION_TASKS = {GO_TO_GOAL.name: GO_TO_GOAL}
