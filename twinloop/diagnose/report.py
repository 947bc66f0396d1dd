"""GapReport: which gap costs how much success, the evidence, and what no gap explains. Stored as `report.json`."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from twinloop.durable import read_bounded
from twinloop.errors import CorruptError
from twinloop.randomize.parameter import GAPS, Gap

FORMAT_VERSION = 2
MAX_BYTES = 1 << 24
PROBABLE = 0.5
"""A gap counts as open from this probability on."""
COSTLY_POINTS = 2.0
"""A gap that costs fewer points of success is harmless."""
UNEXPLAINED_POINTS = 5.0
"""Points without an explanation from which the verdict mentions them."""
MIN_SUCCESS_P = 0.05
"""An explanation is not right if the robot's successes have a smaller probability under it."""
POOR_TWIN = 1.5
"""Engine scale from which the report says that the twin models the robot badly."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class RowEstimate:
    """A parameter whose value on the robot differs from the twin's.

    Attributes:
        value, interval: estimate and 90 % interval, in the parameter's unit.
        spread: the parameter differs from episode to episode; `value` is then the distance it reaches from nominal.
        trained: the range that the config draws from; None if the config does not vary it.
        element: the element of the row that differs; "" for all of them.
    """

    row: str
    unit: str
    value: float
    interval: Interval
    nominal: float
    spread: bool
    trained: Interval | None
    element: str = ""

    @property
    def covered(self) -> bool:
        return self.trained is not None and self.trained[0] <= self.value <= self.trained[1]


@dataclass(frozen=True)
class Evidence:
    """A trait that differs between robot and twin.

    Attributes:
        description: the trait in words.
        robot, twin: its level or spread on both.
        apart: the difference in standard deviations.
    """

    trait: str
    description: str
    unit: str
    robot: float
    twin: float
    apart: float


@dataclass(frozen=True)
class GapFinding:
    """The result of a diagnosis for one gap.

    Attributes:
        probability: that the gap is open and costs success (more than `COSTLY_POINTS`).
        drives: probability that it costs more than five points of success.
        magnitude: how far it is open, if it is; 1 is the end of the rows' sensible ranges.
        points, interval: points of success that it costs, with a 90 % interval.
        closing: points won in the twin when this gap alone is closed; None if that was not simulated.
        differs: probability that the robot differs from the twin in this gap, whether that costs success or not.
    """

    gap: Gap
    probability: float
    drives: float
    magnitude: float
    points: float
    interval: Interval
    rows: tuple[RowEstimate, ...]
    evidence: tuple[Evidence, ...]
    closing: float | None = None
    differs: float = 0.0

    @property
    def is_open(self) -> bool:
        return self.probability >= PROBABLE

    @property
    def costly(self) -> bool:
        return self.points >= COSTLY_POINTS

    def sentence(self) -> str:
        """`latency costs 22 points of success (15 to 29): action_delay_ms is 41 (35 to 47)`."""
        low, high = self.interval
        verb, doubt = ("costs", "") if self.is_open else ("may cost", f"; probability open {self.probability:.2f}")
        cost = f"{self.gap} {verb} {self.points:.0f} points of success ({low:.0f} to {high:.0f}{doubt})"
        return f"{cost}: {self.first_row()}" if self.rows else cost

    def first_row(self) -> str:
        """The parameter that differs most clearly: `action_delay_ms is 41 (35 to 47)`, or nothing."""
        if not self.rows:
            return ""
        row = self.rows[0]
        low, high = row.interval
        value = f"varies by up to ±{row.value:.3g}" if row.spread else f"is {row.value:.3g}"
        name = f"{row.row}.{row.element}" if row.element else row.row
        return f"{name} {value} ({low:.3g} to {high:.3g})"


@dataclass(frozen=True)
class Unmodelled:
    """Differences and loss of success that no gap explains.

    Attributes:
        points, interval: points of success that no gap accounts for, with a 90 % interval.
        strange: traits that differ from the simulated best explanation.
        episodes: episodes to look at, as (log, attempt).
        probability: that something unmodelled is present.
        p_value: of the predictive check: share of logs replicated from the best explanation that differ from it more.
        success_p_value: probability of as few successes as the robot's, if the best explanation is right.
        present: whether the report names it.
    """

    points: float
    interval: Interval
    strange: tuple[Evidence, ...]
    episodes: tuple[tuple[str, int], ...]
    probability: float
    p_value: float | None
    success_p_value: float | None
    present: bool


@dataclass(frozen=True)
class GapReport:
    """The result of a diagnosis.

    Attributes:
        findings: one for each of the eight gaps: costly ones first, by cost, then the others by how far they are open.
        nothing: probability that no gap costs success.
        lost: points between the twin's success and the robot's.
        predicted: success in the twin with the open gaps simulated; None if that was not simulated.
        looks: tests of success against the conditions of episodes.
        engine_scale: how much the robot differs from the twin in traits that no gap explains, as a multiple of how much
            other physics engines differ.
    """

    subject: Mapping[str, Any]
    episodes: int
    success: float
    success_interval: Interval
    twin_success: float
    nothing: float
    findings: tuple[GapFinding, ...]
    unmodelled: Unmodelled
    looks: tuple[Mapping[str, Any], ...]
    phases: tuple[Mapping[str, Any], ...]
    failures: Mapping[str, int]
    predicted: float | None = None
    engine_scale: float = 1.0

    def __post_init__(self) -> None:
        # Text, page, JSON and plan all list findings in this order.
        object.__setattr__(self, "findings", by_cost(self.findings))

    @property
    def lost(self) -> float:
        return 100 * (self.twin_success - self.success)

    @property
    def open(self) -> tuple[GapFinding, ...]:
        return tuple(finding for finding in self.findings if finding.is_open)

    @property
    def costly(self) -> tuple[GapFinding, ...]:
        return tuple(finding for finding in self.findings if finding.costly)

    @property
    def harmless(self) -> tuple[GapFinding, ...]:
        """Gaps in which the robot differs from the twin, and which cost next to nothing."""
        return tuple(finding for finding in self.findings if finding.differs >= PROBABLE and not finding.costly)

    @property
    def predicts_success(self) -> bool:
        """Whether the twin with the best explanation succeeds about as often as the robot.

        If it succeeds far more often, the explanation lacks what makes the robot fail. If it succeeds less often than
        the robot surely does, the explanation is too severe. Ranges around such estimates would not be those of the
        robot. Without a simulated check it is not known, and counts as not predicted.
        """
        p_value = self.unmodelled.success_p_value
        if self.predicted is None or p_value is None:
            return False
        return p_value >= MIN_SUCCESS_P and self.predicted >= self.success_interval[0]

    def verdict(self) -> str:
        """The diagnosis in a few sentences: success rates, what costs most, what is open and harmless."""
        robot, twin = 100 * self.success, 100 * self.twin_success
        sentences = [f"{robot:.0f} % of {self.episodes} episodes succeeded, {twin:.0f} % in the twin."]
        sentences += [_capitalised(f"{finding.sentence()}.") for finding in self.costly]
        if self.harmless:
            names = ", ".join(_with_row(finding) for finding in self.harmless)
            sentences.append(f"Different but harmless (below {COSTLY_POINTS:.0f} points): {names}.")
        if self.unmodelled.present:
            also = "Something else differs" if self.costly else "Something differs"
            low, high = self.unmodelled.interval
            cost = f"it costs {self.unmodelled.points:.0f} points ({low:.0f} to {high:.0f})"
            sentences.append(f"{also} that none of the eight gaps explains (unmodelled); {cost}.")
        elif self.unmodelled.points >= UNEXPLAINED_POINTS:
            sentences.append(f"{self.unmodelled.points:.0f} points are not explained.")
        if len(sentences) == 1:
            sentences.append("These episodes show no open gap.")
        if self.engine_scale >= POOR_TWIN:
            sentences.append(
                f"Apart from the gaps, the robot differs from the twin {self.engine_scale:.1f} times as much as other "
                "engines do, so smaller gaps cannot be seen. Fit the twin first (`twinloop calibrate`)."
            )
        return " ".join(sentences)

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT_VERSION, "verdict": self.verdict(), "lost": self.lost, **asdict(self)}


def by_cost(findings: Iterable[GapFinding]) -> tuple[GapFinding, ...]:
    """Costly findings first, the most expensive at the top; then the others, by how far they are open.

    That is the expected magnitude, up to the end of the sensible ranges. A tracker with a little more noise than in the
    twin is surely different, but a mass that is probably ten times as large comes first.
    """

    def place(finding: GapFinding) -> tuple[bool, float, float, int]:
        cost = finding.points if finding.costly else 0.0
        opened = max(finding.probability, finding.differs) * min(finding.magnitude, 1.0)
        return not finding.costly, -cost, -opened, GAPS.index(finding.gap)

    return tuple(sorted(findings, key=place))


def _with_row(finding: GapFinding) -> str:
    return f"{finding.gap} ({finding.first_row()})" if finding.rows else finding.gap


def _capitalised(sentence: str) -> str:
    return sentence[0].upper() + sentence[1:]


def read_report(path: Path) -> GapReport:
    """Read a `report.json`, or the one in a folder.

    Raises:
        CorruptError: the file is missing, damaged or of another version.
    """
    file = path / "report.json" if path.is_dir() else path
    try:
        value = json.loads(read_bounded(file, MAX_BYTES, error=CorruptError))
        if value["format"] != FORMAT_VERSION:
            raise CorruptError(
                f"{file}: format {value['format']!r}; this version reads {FORMAT_VERSION}. Run the diagnosis again"
            )
        return _report(value)
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        raise CorruptError(f"{file}: is not a report of `twinloop diagnose` ({error!s:.120})") from None


def _report(value: Mapping[str, Any]) -> GapReport:
    plain: dict[str, Any] = {key: item for key, item in value.items() if key not in ("format", "verdict", "lost")}
    plain["findings"] = tuple(_finding(item) for item in plain["findings"])
    if {finding.gap for finding in plain["findings"]} != set(GAPS):
        raise ValueError("a gap is missing")
    plain["unmodelled"] = _unmodelled(plain["unmodelled"])
    for key in ("success_interval", "looks", "phases"):
        plain[key] = tuple(plain[key])
    return GapReport(**plain)


def _unmodelled(value: Mapping[str, Any]) -> Unmodelled:
    plain: dict[str, Any] = dict(value)
    plain["interval"] = tuple(plain["interval"])
    plain["strange"] = tuple(Evidence(**item) for item in plain["strange"])
    plain["episodes"] = tuple((str(log), int(attempt)) for log, attempt in plain["episodes"])
    return Unmodelled(**plain)


def _wrong(value: Mapping[str, Any]) -> RowEstimate:
    plain: dict[str, Any] = dict(value)
    plain["interval"] = tuple(plain["interval"])
    plain["trained"] = plain["trained"] and tuple(plain["trained"])
    return RowEstimate(**plain)


def _finding(value: Mapping[str, Any]) -> GapFinding:
    plain: dict[str, Any] = dict(value)
    rows = tuple(_wrong(item) for item in plain.pop("rows"))
    evidence = tuple(Evidence(**item) for item in plain.pop("evidence"))
    plain["interval"] = tuple(plain["interval"])
    return GapFinding(**plain, rows=rows, evidence=evidence)
