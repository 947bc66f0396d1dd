"""Outcomes: what became of every attempt of an evaluation, as rows on disk."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

DRAW, CHECK = "draw/", "check/"
NUMBERS = ("attempt", "success", "completed", "duration_s", "completion_s")


@dataclass(frozen=True)
class Outcomes:
    """One row an attempt, in their order.

    phases: of the task, in order. completed: (n,) how many of them; all of them where the task succeeded.
    success: (n,) bool, the task's judgement of the final state. verdict: (n,) "accepted", or the first check failed.
    failure: (n,) what went wrong, by a name of the task's; empty where nothing did.
    duration_s: (n,) of the episode. completion_s: (n,) until the success that lasted began; NaN without one.
    draws: column -> (n,) what was drawn. checks: check -> (n,) what it measured.
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
        """(n,) where each ended: for a failure, where it failed."""
        return np.array(self.phases)[np.minimum(self.completed, len(self.phases) - 1)]

    def take(self, rows: np.ndarray) -> "Outcomes":
        """A selection: indices or a mask."""
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
        # What is not known is null on disk.
        known = {
            name: pa.array(values, from_pandas=True) if isinstance(values, np.ndarray) else values
            for name, values in columns.items()
        }
        return pa.table(known)

    @classmethod
    def of_table(cls, table: pa.Table, phases: tuple[str, ...]) -> "Outcomes":
        """KeyError or ValueError for a table that holds something else."""
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
    """All of them, in the order of their attempts, in whichever order they were done."""
    tables = pa.concat_tables([part.table() for part in parts])
    whole = Outcomes.of_table(tables, parts[0].phases)
    return whole.take(np.argsort(whole.attempt, kind="stable"))
