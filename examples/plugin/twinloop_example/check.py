"""jerky_command: rejects episodes in which the commanded joint position jumps between two control periods."""

import numpy as np

import twinloop as tl
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin

LIMIT_RAD = 0.5


def largest_step_rad(episodes: Episodes, _twin: Twin, _config: CurateConfig) -> np.ndarray:
    """(n,) the largest change of an arm joint's command within one control period."""
    commands = episodes["action"][:, :-1]
    steps = np.abs(np.diff(commands, axis=0, prepend=commands[:1])).max(axis=1)
    steps[episodes.starts[episodes.lengths > 0]] = 0.0  # the first period of an episode has no predecessor
    return episodes.worst(steps)


JERKY_COMMAND = tl.Check(
    name="jerky_command",
    unit="rad",
    asks="what was the largest change of a joint command within a control period?",
    measure=largest_step_rad,
    limit=lambda _config: LIMIT_RAD,
)
