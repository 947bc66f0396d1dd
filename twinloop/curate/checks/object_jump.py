"""Did the object's velocity change more within one control period than a push can make it?"""

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def largest(episodes: Episodes, _twin: Twin, _config: CurateConfig) -> np.ndarray:
    velocity = episodes["object_velocity"]
    change = np.zeros(len(velocity))
    change[1:] = np.linalg.norm(np.diff(velocity, axis=0), axis=1)
    # The first frame of an episode follows the last one of another.
    change[episodes.starts[episodes.lengths > 0]] = 0
    return episodes.worst(change)


OBJECT_JUMP = Check(
    name="object_jump",
    unit="m/s",
    asks="how far did the object's velocity jump within a control period?",
    measure=largest,
    limit=lambda config: config.object_jump_m_s,
)
