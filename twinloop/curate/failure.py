"""From Episodes to the names of their failures."""

import numpy as np

from twinloop.curate.checks.person_force import PERSON_FORCE
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.failure import Ending
from twinloop.twin.twin import Twin

TOUCHED_N, GRIPPED_N = 0.1, 2.0
LIFTED_M = 0.02

DIVERGED, PERSON_PUSHED, TIMEOUT = "diverged", "person_pushed", "timeout"
"""What may happen in any task: the physics cannot be trusted; somebody was pushed harder than the limit; time ran out
(whatever none of the task's own names fits)."""


def failures_of(episodes: Episodes, twin: Twin, config: CurateConfig) -> tuple[str, ...]:
    """A name an episode. It is empty for one that succeeded and pushed nobody, and for no other."""
    ending = ending_of(episodes, twin)
    names = np.full(len(episodes.lengths), "", dtype=object)
    with np.errstate(invalid="ignore"):
        pushed = ~(PERSON_FORCE.measure(episodes, twin, config) <= PERSON_FORCE.limit(config))
        names[episodes.diverged] = DIVERGED
        names[pushed & (names == "")] = PERSON_PUSHED
        for failure in twin.task.failures:
            names[failure.holds(ending) & ~episodes.success & (names == "")] = failure.name
    names[~episodes.success & (names == "")] = TIMEOUT
    return tuple(names)


def ending_of(episodes: Episodes, twin: Twin) -> Ending:
    contact, environment = episodes["contact"], episodes["environment"]
    weaker, stronger = contact[:, :2].min(axis=1), contact[:, :2].max(axis=1)
    period_s = twin.control_period_s
    if len(episodes.tape):
        last = np.maximum(episodes.starts + episodes.lengths - 1, 0)
        first = np.minimum(episodes.starts, len(episodes.tape) - 1)
        at_end, held_at_end, start_z = environment[last], weaker[last] > TOUCHED_N, environment[first, 2]
    else:
        count = len(episodes.lengths)
        at_end, held_at_end, start_z = np.zeros((count, 14)), np.zeros(count, bool), np.zeros(count)
    height = environment[:, 2] - np.repeat(start_z, episodes.lengths)
    # Where in its episode each frame is: 1 for the first, so that 0 is never.
    place = np.arange(len(episodes.tape)) - np.repeat(episodes.starts, episodes.lengths) + 1
    let_go = episodes.worst(np.where(_told_to_open(episodes, twin) & (weaker > TOUCHED_N), place, 0))
    return Ending(
        touched=episodes.worst(stronger) > TOUCHED_N,
        gripped=episodes.worst(weaker) > GRIPPED_N,
        lifted=episodes.worst(height) > LIFTED_M,
        holding=held_at_end,
        released_s=np.where(let_go > 0, (let_go - 1) * period_s, np.inf),
        ended_s=episodes.lengths * period_s,
        object_position=at_end[:, :3],
        goal_position=at_end[:, 7:10],
        table_height_m=episodes.draws.values["table_height_cm"] / 100,
        drawn=episodes.draws.values,
    )


def _told_to_open(episodes: Episodes, twin: Twin) -> np.ndarray:
    """(frames,) the action asks for more than half of the gripper's stroke."""
    gripper = twin.robot.gripper
    return (episodes["action"][:, -1] - gripper.closed) / (gripper.open - gripper.closed) > 0.5
