"""Is every recorded number a number?"""

import numpy as np

from twinloop.curate.check import Check
from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


def count(episodes: Episodes, _twin: Twin, _config: CurateConfig) -> np.ndarray:
    return episodes.worst((~np.isfinite(episodes.tape)).sum(axis=1))


NON_FINITE = Check(
    name="non_finite",
    unit="values",
    asks="how many values of a frame are NaN or infinite?",
    measure=count,
    limit=lambda _config: 0.0,
    storable=False,
)
