"""Did the robot press on a person harder than people bear?"""

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def hardest(episodes: Episodes, twin: Twin, _config: CurateConfig) -> np.ndarray:
    if not twin.has_person:
        return np.zeros(len(episodes.lengths))
    return episodes.worst(episodes["person_force"][:, 0])


PERSON_FORCE = Check(
    name="person_force",
    unit="N",
    asks="how hard did the robot press on a person?",
    measure=hardest,
    limit=lambda config: config.person_force_n,
)
