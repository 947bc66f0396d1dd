"""GapReport: which gap costs how much, on what evidence, and what nobody can explain. A record, and `report.json`."""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from twinloop.durable import read_bounded
from twinloop.errors import CorruptError
from twinloop.randomize.parameter import GAPS, Gap

FORMAT_VERSION = 1
MOST_BYTES = 1 << 24
PROBABLE = 0.5
"""From here on a gap counts as found."""

Interval = tuple[float, float]


@dataclass(frozen=True)
class RowEstimate:
    """A row of the table that seems wrong. value, interval: in its unit (80 %). spread: it is another in every episode,
    and the value is how far it reaches from nominal. trained: the range that the config draws from, if it varies it."""

    row: str
    unit: str
    value: float
    interval: Interval
    nominal: float
    spread: bool
    trained: Interval | None

    @property
    def covered(self) -> bool:
        return self.trained is not None and self.trained[0] <= self.value <= self.trained[1]


@dataclass(frozen=True)
class Evidence:
    """A trait that differs. robot, twin: its level or spread on both. apart: how many deviations that is."""

    trait: str
    says: str
    unit: str
    robot: float
    twin: float
    apart: float


@dataclass(frozen=True)
class GapFinding:
    """probability: that the gap is open. drives: that it takes more than a few points of success. points: what it
    costs, with a 90 % interval. closing: points that are won in the twin when this gap alone is closed, if tried."""

    gap: Gap
    probability: float
    drives: float
    magnitude: float
    points: float
    interval: Interval
    rows: tuple[RowEstimate, ...]
    evidence: tuple[Evidence, ...]
    closing: float | None = None

    @property
    def found(self) -> bool:
        return self.probability >= PROBABLE

    def sentence(self) -> str:
        """`latency: action_delay_ms 41 (35 to 47) costs 22 points (15 to 29)`."""
        first = next(iter(self.rows), None)
        what = ""
        if first is not None:
            low, high = first.interval
            about = f"{first.row} up to ±{first.value:.3g}" if first.spread else f"{first.row} {first.value:.3g}"
            what = f"{about} ({low:.3g} to {high:.3g}) "
        low, high = self.interval
        return f"{self.gap}: {what}costs {self.points:.0f} points of success ({low:.0f} to {high:.0f})"


@dataclass(frozen=True)
class Unmodelled:
    """points: of success that no gap accounts for. strange: traits that the best explanation leaves. episodes: to look
    at, as (log, attempt). surprise: squared deviations a trait that are left; about 1 where all is explained."""

    points: float
    strange: tuple[Evidence, ...]
    episodes: tuple[tuple[str, int], ...]
    surprise: float
    present: bool


@dataclass(frozen=True)
class GapReport:
    """findings: of all eight gaps, the most probable first. nothing: probability that no gap is open. lost: points
    between the twin's success and the robot's. predicted: success in the twin with the found gaps open, if tried."""

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

    @property
    def lost(self) -> float:
        return 100 * (self.twin_success - self.success)

    @property
    def open(self) -> tuple[GapFinding, ...]:
        return tuple(finding for finding in self.findings if finding.found)

    def verdict(self) -> str:
        """What somebody who reads one sentence should read."""
        there, here = 100 * self.success, 100 * self.twin_success
        rate = f"{there:.0f} % of {self.episodes} episodes succeeded, {here:.0f} % in the twin"
        if self.unmodelled.present and not self.open:
            return f"{rate}. Something is different that none of the eight gaps explains: it is unmodelled."
        if not self.open:
            return f"{rate}. No gap is open as far as these episodes tell."
        told = "; ".join(finding.sentence() for finding in self.open)
        more = " Something else is unmodelled." if self.unmodelled.present else ""
        return f"{rate}. {told[0].upper()}{told[1:]}.{more}"

    def to_json(self) -> dict[str, Any]:
        return {"format": FORMAT_VERSION, "verdict": self.verdict(), "lost": self.lost, **asdict(self)}


def read_report(path: Path) -> GapReport:
    """A `report.json`, or the folder it is in."""
    file = path / "report.json" if path.is_dir() else path
    try:
        value = json.loads(read_bounded(file, MOST_BYTES, error=CorruptError))
        if value["format"] != FORMAT_VERSION:
            raise CorruptError(f"{file}: format {value['format']!r}; this version reads {FORMAT_VERSION}")
        return _report(value)
    except (ValueError, TypeError, KeyError, RecursionError, AttributeError) as error:
        raise CorruptError(f"{file}: is no report of `twinloop diagnose` ({error!s:.120})") from None


def _report(value: Mapping[str, Any]) -> GapReport:
    plain: dict[str, Any] = {key: item for key, item in value.items() if key not in ("format", "verdict", "lost")}
    plain["findings"] = tuple(_finding(item) for item in plain["findings"])
    if {finding.gap for finding in plain["findings"]} != set(GAPS):
        raise ValueError("not every gap is in it")
    plain["unmodelled"] = _unmodelled(plain["unmodelled"])
    for key in ("success_interval", "looks", "phases"):
        plain[key] = tuple(plain[key])
    return GapReport(**plain)


def _unmodelled(value: Mapping[str, Any]) -> Unmodelled:
    plain: dict[str, Any] = dict(value)
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
