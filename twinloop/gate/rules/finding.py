"""Rule and RuleResult. A value that cannot be measured, or is not a number, does not pass."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from twinloop.config.fields import text
from twinloop.errors import TwinloopError

Compared = Literal["at least", "at most", "is"]


@dataclass(frozen=True)
class RuleResult:
    """The result of one rule.

    Attributes:
        rule: its name.
        asks: what is compared with the limit, in words.
        measured: the value; None if it could not be measured.
        passed: whether the rule holds.
        evidence: digests of the files that it was read from.
    """

    rule: str
    asks: str
    measured: float | str | bool | None
    compared: Compared
    limit: float | str | bool
    passed: bool
    sentence: str = text(key="said", help="the measurement in a sentence; the key is that of existing ledgers")
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Measured:
    """The measurement of a rule. `value` is None if it is missing; `sentence` is the measurement in a sentence."""

    value: float | str | bool | None
    sentence: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rule:
    """A condition for a step to the next stage. If `measure` raises an error, the rule does not hold."""

    name: str
    asks: str
    compared: Compared
    limit: float | str | bool
    measure: Callable[[], Measured]

    def judge(self) -> RuleResult:
        try:
            measured = self.measure()
        except (TwinloopError, ValueError, KeyError, TypeError, IndexError, ArithmeticError) as error:
            reason = str(error) if isinstance(error, TwinloopError) else f"{type(error).__name__}: {error}"
            return RuleResult(self.name, self.asks, None, self.compared, self.limit, False, reason)
        value = measured.value
        if isinstance(value, float) and not math.isfinite(value):
            return RuleResult(
                self.name, self.asks, None, self.compared, self.limit, False,
                f"{measured.sentence} (not a finite number)", measured.evidence,
            )  # fmt: skip
        passed = value is not None and self._holds(value)
        return RuleResult(
            self.name, self.asks, value, self.compared, self.limit, passed, measured.sentence, measured.evidence
        )

    def _holds(self, value: float | str | bool) -> bool:
        if self.compared == "is":
            return type(value) is type(self.limit) and value == self.limit
        numbers = [side for side in (value, self.limit) if isinstance(side, (int, float)) and type(side) is not bool]
        if len(numbers) < 2:
            return False
        return numbers[0] >= numbers[1] if self.compared == "at least" else numbers[0] <= numbers[1]
