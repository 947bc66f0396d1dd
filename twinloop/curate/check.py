"""Check: one quantity of every episode, compared with a limit."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from twinloop.curate.limits import CurateConfig
from twinloop.simulate.episodes import Episodes
from twinloop.twin.twin import Twin


@dataclass(frozen=True)
class Check:
    """A plausibility check.

    Attributes:
        name: what is wrong with an episode that fails it. It is the episode's verdict.
        unit: unit of the measured quantity.
        asks: the measured quantity in words.
        measure: (episodes, twin, limits) -> (n,) measured values; larger is worse.
        limit: the largest value that passes.
        storable: may rows of a failed episode be stored with `--keep-rejected`?

    Example:
        >>> check = tl.Check(
        ...     name="too_short", unit="periods", asks="control periods missing to 25",
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
