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
    worse. limit: the largest that passes. storable: may rows that failed be kept when asked to?

    Example:
        >>> check = tl.Check(
        ...     name="too_short", unit="periods", asks="how many control periods are missing to 25?",
        ...     measure=lambda episodes, twin, config: 25 - episodes.lengths, limit=lambda config: 0,
        ... )
        >>> check.name
        'too_short'
    """

    name: str
    unit: str
    asks: str
    measure: Callable[[Episodes, Twin, CurateConfig], np.ndarray]
    limit: Callable[[CurateConfig], float]
    storable: bool = True
