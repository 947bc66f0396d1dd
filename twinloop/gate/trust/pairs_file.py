"""PAIRS.json: success rates of policies on both sides, `{"real": {task: {policy: rate}}, "sim": {...}}`.

A rate is a number from 0 to 1, or `{"rate": r, "trials": n}`, or `{"successes": s, "trials": n}`.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from twinloop.config.compound import Mapped, OneOf
from twinloop.config.fields import integer, number, of_kind
from twinloop.config.json_file import record_from_json
from twinloop.config.kinds import Number
from twinloop.config.record import Nested
from twinloop.durable import read_bounded
from twinloop.errors import UsageError
from twinloop.gate.statistics.agreement import Counted

from .judgement import PolicyPair

LARGEST_BYTES = 1 << 24
SIDES = ("real", "sim")
FORMS = "a number from 0 to 1, {rate, trials} or {successes, trials}"


def load_pairs(path: Path) -> dict[str, tuple[PolicyPair, ...]]:
    """Task -> its policies, in the order of the real side."""
    if not path.is_file():
        raise UsageError(
            f"{path}: is not a file; a JSON file of success rates was expected: real, sim -> task -> policy"
        )
    text = read_bounded(path, LARGEST_BYTES, error=UsageError)
    try:
        content = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: is not valid JSON: {error!s:.200}") from None
    return pairs_of(content, name=str(path))


@dataclass(frozen=True)
class CountedRate:
    """A success rate from a number of trials."""

    trials: int = integer(low=1, help="number of trials")
    rate: float | None = number(None, low=0, high=1, help="share of successes")
    successes: float | None = number(None, low=0, help="number of successes, instead of the rate")

    def problems(self) -> Iterator[tuple[str, str]]:
        if (self.rate is None) == (self.successes is None):
            yield "", f"has to be one of the forms: {FORMS}"
        elif self.successes is not None and self.successes > self.trials:
            yield "successes", f"is {self.successes:g} of {self.trials} trials; {FORMS} was expected"

    @property
    def counted(self) -> Counted:
        rate = self.successes / self.trials if self.successes is not None else self.rate
        return Counted(float(rate or 0.0), self.trials)


RATES = Mapped(
    item=Mapped(
        item=OneOf(kinds=(Number(low=0, high=1), Nested(record=CountedRate)), help="success rate"),
        what="policy", names=".*", most=None,
    ),
    what="task", names=".*", least=1, most=None, help="task -> policy -> success rate",
)  # fmt: skip

Rates = dict[str, dict[str, float | CountedRate]]


@dataclass(frozen=True)
class PairsFile:
    """The content of a file of success rates in the twin and in reality."""

    real: Rates = of_kind(RATES)
    sim: Rates = of_kind(RATES)
    note: Any = None

    def problems(self) -> Iterator[tuple[str, str]]:
        yield from _alone(self.real, self.sim, "task")
        for task in self.real.keys() & self.sim.keys():
            yield from _alone(self.real[task], self.sim[task], f"policy of {task}")


def pairs_of(content: Any, *, name: str) -> dict[str, tuple[PolicyPair, ...]]:
    """Task -> pairs of the parsed file `content`. `name` is the file's name in messages."""
    file = record_from_json(PairsFile, content, where=name, error=UsageError)
    return {
        task: tuple(
            PolicyPair(policy, _counted(file.sim[task][policy]), _counted(rate)) for policy, rate in policies.items()
        )
        for task, policies in file.real.items()
    }


def _counted(rate: float | CountedRate) -> Counted:
    return rate.counted if isinstance(rate, CountedRate) else Counted(rate, None)


def _alone(real: Mapping[str, Any], sim: Mapping[str, Any], kind: str) -> Iterator[tuple[str, str]]:
    for ours, theirs, side in ((real, sim, "real"), (sim, real, "sim")):
        if names := sorted(set(ours) - set(theirs)):
            yield "", f"{kind} {', '.join(names)}: only under {side}; add it to the other side or remove it here"


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    content = dict(pairs)
    if len(content) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(name for name in names if names.count(name) > 1)!r} occurs twice")
    return content


def _no_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")
