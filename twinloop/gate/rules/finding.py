"""RuleResult: what one rule found. Whatever cannot be measured, or is not a number, does not pass."""

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from twinloop.errors import TwinloopError

Compared = Literal["at least", "at most", "is"]


@dataclass(frozen=True)
class RuleResult:
    """rule: its name. asks: what it asks for, in words. measured, limit: shown side by side; None where it could not be
    measured. passed: whether it holds. said: what was found, in a sentence. evidence: digests of what it was read from.
    """

    rule: str
    asks: str
    measured: float | str | bool | None
    compared: Compared
    limit: float | str | bool
    passed: bool
    said: str
    evidence: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "RuleResult":
        plain: dict[str, Any] = {**values, "evidence": tuple(values["evidence"])}
        return cls(**plain)


@dataclass(frozen=True)
class Measured:
    """What a rule hands back. value: None for what is missing. said: in a sentence."""

    value: float | str | bool | None
    said: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """measure: from whatever a step is decided on. It may raise; then the rule does not hold, and why is said."""

    name: str
    asks: str
    compared: Compared
    limit: float | str | bool
    measure: Callable[[], Measured]

    def judge(self) -> RuleResult:
        try:
            measured = self.measure()
        except (TwinloopError, ValueError, KeyError, TypeError, IndexError, ArithmeticError) as error:
            told = str(error) if isinstance(error, TwinloopError) else f"{type(error).__name__}: {error}"
            return RuleResult(self.name, self.asks, None, self.compared, self.limit, False, told)
        value = measured.value
        if isinstance(value, float) and not math.isfinite(value):
            return RuleResult(
                self.name, self.asks, None, self.compared, self.limit, False,
                f"{measured.said} (that is not a number)", measured.evidence,
            )  # fmt: skip
        passed = value is not None and self._holds(value)
        return RuleResult(
            self.name, self.asks, value, self.compared, self.limit, passed, measured.said, measured.evidence
        )

    def _holds(self, value: float | str | bool) -> bool:
        if self.compared == "is":
            return type(value) is type(self.limit) and value == self.limit
        numbers = [each for each in (value, self.limit) if isinstance(each, (int, float)) and type(each) is not bool]
        if len(numbers) < 2:
            return False
        return numbers[0] >= numbers[1] if self.compared == "at least" else numbers[0] <= numbers[1]
