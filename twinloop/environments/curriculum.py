"""Curriculum: changes the draws of later episodes depending on the outcomes of earlier ones."""

from typing import Protocol

import numpy as np

from twinloop.environments.term import Term
from twinloop.randomize.draw import Draws
from twinloop.randomize.table import BY_NAME


class Curriculum(Protocol):
    """Changes the draws of environments. `state` and `restore` make a resumed training continue exactly."""

    def adjust(self, ids: np.ndarray, draws: Draws) -> Draws:
        """The draws of the next episodes of environments `ids`, one row each."""
        ...

    def ended(self, ids: np.ndarray, success: np.ndarray) -> None:
        """These episodes have ended. Called before `adjust` for the next ones."""
        ...

    def figures(self) -> dict[str, float]:
        """Numbers to log."""
        ...

    def state(self) -> dict[str, np.ndarray]: ...

    def restore(self, state: dict[str, np.ndarray]) -> None: ...


class LevelCurriculum:
    """A level from 0 to 1 for each environment, which the terms of a config move.

    At level 0 every numeric parameter has its nominal value, at level 1 its drawn value, and a value in between at
    other levels. Parameters that choose one of several things are not changed.

    Args:
        terms: (curriculum term, step) pairs; the new level is the result of one after the other.
    """

    def __init__(self, terms: tuple[tuple[Term, float], ...], *, width: int):
        self._terms, self.level = terms, np.zeros(width)

    def adjust(self, ids: np.ndarray, draws: Draws) -> Draws:
        values = dict(draws.values)
        for column in draws.varied:
            row = BY_NAME.get(column.partition(".")[0])
            if row is not None and not (row.pool or row.words or row.chance is not None):
                values[column] = row.nominal + self.level[ids] * (values[column] - row.nominal)
        return Draws(draws.attempts, values, draws.varied)

    def ended(self, ids: np.ndarray, success: np.ndarray) -> None:
        for term, step in self._terms:
            self.level[ids] = term.function(self.level[ids], success, step)

    def figures(self) -> dict[str, float]:
        return {"level": float(self.level.mean())}

    def state(self) -> dict[str, np.ndarray]:
        return {"level": self.level.copy()}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.level[:] = state["level"]
