"""The success detector of a rehearsal cell: it applies the task's relations to the true state of the scene."""

from twinloop.deploy.rehearsal.world import CellWorld
from twinloop.deploy.robot import Outcome

SETTLE_S = 0.4


def achieved(world: CellWorld) -> bool:
    """Whether the task is done at present."""
    return bool(world.situation.task.succeeded(world.look())[0])


def outcome_of(world: CellWorld) -> Outcome:
    """Return the outcome of an episode. The robot is halted and the scene settles for SETTLE_S first."""
    world.halt()
    world.pass_time(SETTLE_S)
    scene, task = world.look(), world.situation.task
    missing = int(task.first_unmet(scene)[0])
    if missing < 0:
        held = ", ".join(relation.name.replace("_", " ") for relation in task.success)
        return Outcome(True, held)
    return Outcome(False, f"not {task.success[missing].name.replace('_', ' ')}")
