"""WideningCurriculum: automatic domain randomization inside reinforcement learning.

After OpenAI et al., "Solving Rubik's Cube with a Robot Hand" (2019): every row of the randomization has a current range
inside the config's range. Half of the episodes fix one row at one end of its current range. When an end has been tried
often enough, it moves outwards if the policy succeeded there, and inwards if it failed. The others draw from the
current ranges. The entropy of the ranges, in nats per row, measures how wide the randomization has become.
"""

from collections.abc import Mapping

import numpy as np

from twinloop.errors import UsageError
from twinloop.randomize.distribution import Distribution
from twinloop.randomize.draw import Draws
from twinloop.randomize.table import BY_NAME

WIDEN_ABOVE, NARROW_BELOW = 0.75, 0.4
TRIALS = 20
"""Episodes at one end of a range before it is moved."""
STEP = 0.05
"""Share of the config's range by which an end moves."""
AT_AN_END = 0.5


class WideningCurriculum:
    """Current ranges of all numeric rows.

    Attributes:
        rows: names of the rows.
        low, high: (rows,) current ends of the ranges, in the rows' units.
    """

    def __init__(self, randomization: Mapping[str, Distribution], *, width: int, seed: int):
        self.rows = tuple(name for name, distribution in randomization.items() if _widens(name, distribution))
        if not self.rows:
            raise UsageError("--widen: the config varies no numeric row; add a range under `randomization`")
        self._least, self._most = np.array([randomization[name].support() for name in self.rows], float).T
        nominal = np.clip([BY_NAME[name].nominal for name in self.rows], self._least, self._most)
        self._step = STEP * (self._most - self._least)
        self.low, self.high = (
            np.maximum(nominal - self._step, self._least),
            np.minimum(nominal + self._step, self._most),
        )
        self._seed, self._calls = seed, 0
        self._tested = np.full((width, 2), -1)  # the row and the end (0 low, 1 high) that an environment tests
        self._counts = np.zeros((len(self.rows), 2, 2), int)  # trials and successes at each end

    def adjust(self, ids: np.ndarray, draws: Draws) -> Draws:
        rng = np.random.default_rng([self._seed, self._calls])
        self._calls += 1
        at_end = rng.random(len(ids)) < AT_AN_END
        rows, ends = rng.integers(len(self.rows), size=len(ids)), rng.integers(2, size=len(ids))
        self._tested[ids, 0], self._tested[ids, 1] = np.where(at_end, rows, -1), ends
        values = dict(draws.values)
        for number, name in enumerate(self.rows):
            span = self._most[number] - self._least[number]
            for column in (column for column in draws.varied if _row_of(column, self.rows) == name):
                share = (values[column] - self._least[number]) / span
                drawn = self.low[number] + share * (self.high[number] - self.low[number])
                end = np.where(ends == 0, self.low[number], self.high[number])
                values[column] = np.where(at_end & (rows == number), end, drawn)
        return Draws(draws.attempts, values, draws.varied)

    def ended(self, ids: np.ndarray, success: np.ndarray) -> None:
        for slot, succeeded in zip(ids, success, strict=True):
            row, end = self._tested[slot]
            if row >= 0:
                self._counts[row, end] += (1, int(succeeded))
                if self._counts[row, end, 0] >= TRIALS:
                    self._move(int(row), int(end))

    def _move(self, row: int, end: int) -> None:
        trials, successes = self._counts[row, end]
        self._counts[row, end] = 0
        outwards = 1 if successes / trials >= WIDEN_ABOVE else -1 if successes / trials < NARROW_BELOW else 0
        change = outwards * self._step[row]
        if end == 0:
            self.low[row] = np.clip(self.low[row] - change, self._least[row], self.high[row] - self._step[row] / 2)
        else:
            self.high[row] = np.clip(self.high[row] + change, self.low[row] + self._step[row] / 2, self._most[row])

    @property
    def entropy(self) -> float:
        """Mean of log(high - low) over the rows, in nats; each width in shares of the config's range."""
        return float(np.mean(np.log((self.high - self.low) / (self._most - self._least))))

    def figures(self) -> dict[str, float]:
        ends = {f"randomization/{name}.low": float(low) for name, low in zip(self.rows, self.low, strict=True)}
        ends |= {f"randomization/{name}.high": float(high) for name, high in zip(self.rows, self.high, strict=True)}
        return ends | {"randomization/entropy": self.entropy}

    def state(self) -> dict[str, np.ndarray]:
        return {
            "low": self.low.copy(), "high": self.high.copy(), "tried": self._tested.copy(),
            "counts": self._counts.copy(), "calls": np.array(self._calls),
        }  # fmt: skip

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.low[:], self.high[:] = state["low"], state["high"]
        self._tested[:], self._counts[:], self._calls = state["tried"], state["counts"], int(state["calls"])


def _widens(name: str, distribution: Distribution) -> bool:
    row = BY_NAME[name]
    low, high = distribution.support()
    is_choice = bool(row.pool or row.words or row.chance is not None)
    return bool(np.isfinite([low, high]).all()) and high > low and not is_choice


def _row_of(column: str, rows: tuple[str, ...]) -> str:
    """The row that a column belongs to: its own for one thing or joint if the config has it, else the common one."""
    name, _, part = column.partition(".")
    own = f"{name}.{part.partition('.')[0]}"
    return own if own in rows else name
