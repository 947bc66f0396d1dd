"""Outcomes: the result of every attempt of an evaluation, one row each."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

DRAW, CHECK = "draw/", "check/"
NUMBERS = ("attempt", "success", "completed", "duration_s", "completion_s")


@dataclass(frozen=True)
class Outcomes:
    """The outcomes of n attempts, in the order of their numbers.

    Attributes:
        phases: phases of the task, in order.
        success: (n,) bool, the task's judgement of the final state.
        completed: (n,) number of completed phases; all of them in a success.
        verdict: (n,) "accepted", or the name of the first check that failed.
        failure: (n,) name of the task's failure, "" in a success.
        duration_s: (n,) duration of the episode.
        completion_s: (n,) time at which the lasting success began; NaN in a failure.
        draws: column -> (n,) drawn values.
        checks: check -> (n,) measured values.
    """

    phases: tuple[str, ...]
    attempt: np.ndarray
    success: np.ndarray
    completed: np.ndarray
    verdict: np.ndarray
    failure: np.ndarray
    duration_s: np.ndarray
    completion_s: np.ndarray
    draws: Mapping[str, np.ndarray]
    checks: Mapping[str, np.ndarray]

    def __len__(self) -> int:
        return len(self.attempt)

    @property
    def last_phase(self) -> np.ndarray:
        """(n,) phase in which each attempt ended or failed."""
        return np.array(self.phases)[np.minimum(self.completed, len(self.phases) - 1)]

    def take(self, rows: np.ndarray) -> "Outcomes":
        """The attempts of an index array or mask."""
        return self._mapped(lambda values: values[rows])

    def table(self) -> pa.Table:
        columns = {
            **{name: getattr(self, name) for name in NUMBERS},
            "verdict": pa.array(self.verdict.tolist(), pa.string()),
            "failure": pa.array(self.failure.tolist(), pa.string()),
            "last_phase": pa.array(self.last_phase.tolist(), pa.string()),
        }
        columns |= {DRAW + name: values for name, values in self.draws.items()}
        columns |= {CHECK + name: values for name, values in self.checks.items()}
        # NaN is stored as null.
        known = {
            name: pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else values
            for name, values in columns.items()
        }
        return pa.table(known)

    @classmethod
    def of_table(cls, table: pa.Table, phases: tuple[str, ...]) -> "Outcomes":
        """The outcomes of a stored table.

        Raises:
            KeyError, ValueError: the table has other columns.
        """
        columns = {name: table[name].to_numpy() for name in table.column_names}
        return cls(
            phases=phases,
            **{name: columns[name] for name in NUMBERS},
            verdict=np.array(table["verdict"].to_pylist(), object),
            failure=np.array(table["failure"].to_pylist(), object),
            draws={name.removeprefix(DRAW): values for name, values in columns.items() if name.startswith(DRAW)},
            checks={name.removeprefix(CHECK): values for name, values in columns.items() if name.startswith(CHECK)},
        )

    def _mapped(self, change: Callable[[np.ndarray], np.ndarray]) -> "Outcomes":
        return Outcomes(
            phases=self.phases,
            attempt=change(self.attempt),
            success=change(self.success),
            completed=change(self.completed),
            verdict=change(self.verdict),
            failure=change(self.failure),
            duration_s=change(self.duration_s),
            completion_s=change(self.completion_s),
            draws={name: change(values) for name, values in self.draws.items()},
            checks={name: change(values) for name, values in self.checks.items()},
        )


def joined(parts: Sequence[Outcomes]) -> Outcomes:
    """All outcomes, sorted by attempt."""
    tables = pa.concat_tables([part.table() for part in parts])
    whole = Outcomes.of_table(tables, parts[0].phases)
    return whole.take(np.argsort(whole.attempt, kind="stable"))
