"""Term: one named observation, reward, end of an episode or curriculum of an environment."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

if TYPE_CHECKING:
    from twinloop.environments.embodiment import Embodiment

TermKind = Literal["observation", "reward", "termination", "curriculum"]


@dataclass(frozen=True)
class StepState:
    """The input of a term, one row per environment, after a control period.

    Attributes:
        robot: the embodiment, with the state of the simulation. Its type depends on `Term.robots`.
        action, previous_action: (n, a) from -1 to 1. Zeros when an episode begins.
        tick: (n,) control periods since the episode began.
        longest: control periods of the longest episode.
    """

    robot: Any
    action: np.ndarray
    previous_action: np.ndarray
    tick: np.ndarray
    longest: int


@dataclass(frozen=True)
class Term:
    """One row of the table of terms.

    Attributes:
        name: name in a config.
        kind: use of the values.
        unit: unit of the values; "1" for a number without one.
        help: description of the value.
        function: StepState -> (n,) numbers of a reward, (n,) bool of a termination, (n, k) numbers of an observation.
            A curriculum: (levels (k,), success (k,), step) -> (k,) new levels, for k episodes that have ended.
        robots: kinds of embodiments that have it; () for all.
        needs: parts that the embodiment must update in each period, e.g. `phases`. Unused parts cost nothing.
        elements: names of the elements of an observation, given the embodiment.
    """

    name: str
    kind: TermKind
    unit: str
    help: str
    function: Callable[..., np.ndarray]
    robots: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    elements: "Callable[[Embodiment], tuple[str, ...]] | None" = None
