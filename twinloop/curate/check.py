"""Check: one question asked of every episode, with a measured answer."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Check:
    """name: also the reason an episode is rejected for. measure: (episodes, twin) -> (n,) numbers, larger is
    worse. limit: the largest that passes. storable: may rows that failed be kept when asked to?"""

    name: str
    unit: str
    asks: str
    measure: Callable[[Episodes, Twin, CurateConfig], np.ndarray]
    limit: Callable[[CurateConfig], float]
    storable: bool = True
