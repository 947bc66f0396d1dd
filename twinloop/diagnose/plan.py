"""Plan: what to do about each gap of a GapReport, in order of gain per hour.

The cost of a gap is measured, and so is what closing it wins in the twin. The share that other measures win back is an
assumption, which each line of the plan states.
The assumptions are in one table (`PRACTICE`), so that a lab can replace them with its own experience.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal

from twinloop.diagnose.report import GapFinding, GapReport, Interval, RowEstimate
from twinloop.learn import real_share
from twinloop.randomize.parameter import Gap
from twinloop.randomize.table import BY_NAME

Measure = Literal["randomize", "calibrate", "collect", "look"]

WORTH_POINTS = 2.0
"""A gap that costs fewer points and is probably closed gets no line in the plan."""
MARGIN = 0.25  # added to an estimated range on both sides, as a share of its width
MINUTES = 2.0  # minutes to set up, demonstrate and check one episode
TOGETHER = 10  # demonstrations are allocated to gaps in batches of this size
PRIOR_POINTS = 20.0  # weight of the assumptions against earlier rounds
MOST_FACTOR = 2.0
LOOKED_AT = 4  # episodes to look at, at most
MIN_POINTS = 0.25
"""A batch of `TOGETHER` demonstrations that wins fewer points is not requested."""


@dataclass(frozen=True)
class Practice:
    """Assumptions about the measures against a gap.

    Attributes:
        half: number of demonstrations that win half of what demonstrations can win.
        wins: largest share of the cost that demonstrations win back.
        covering: share of the cost that randomizing the rows wins back, if closing the gap was not simulated.
        setup_h: hours before the first demonstration.
        sensors: sensors to record with.
        vary: conditions to vary.
        logs: what to record for `twinloop calibrate`.
        excited: motions of `twinloop excite` give these logs, so that a loop can calibrate by itself.
    """

    half: int
    wins: float
    covering: float
    setup_h: float
    sensors: tuple[str, ...] = ()
    vary: tuple[str, ...] = ()
    logs: str = ""
    excited: bool = False


PRACTICE: dict[Gap, Practice] = {
    "contact": Practice(60, 0.7, 0.5, 4.0, ("force-torque at the wrist", "tactile pads"), ("object",),
                        "grasps, slips and pushes with force-torque recorded"),
    "visual": Practice(40, 0.8, 0.6, 1.0, ("the deployment camera",), ("light",),
                       "frames of the deployment camera in every light, for `twinloop calibrate --frames`"),
    "sensing": Practice(80, 0.5, 0.8, 0.5, (), (), "a minute of every sensor at rest, and slow sweeps"),
    "object": Practice(30, 0.9, 0.6, 0.5, ("a scale and a caliper",), ("object",), "tosses and pushes of each object"),
    "environment": Practice(30, 0.9, 0.8, 0.5, (), ("clutter", "layout"), "a scan of the table and its height"),
    "human": Practice(40, 0.8, 0.6, 2.0, ("a second camera", "consent of everyone in view"), ("human",), ""),
    "actuation": Practice(80, 0.4, 0.7, 0.5, (), (), "chirps and steps of every joint, loaded and empty", excited=True),
    "latency": Practice(80, 0.4, 0.8, 0.2, ("one clock for commands and readings",), (),
                        "steps of every joint with timestamps", excited=True),
}  # fmt: skip


@dataclass(frozen=True)
class Experience:
    """What earlier rounds of the same robot and registry won, against what their plans had promised.

    Attributes:
        rounds: number of earlier rounds with a plan.
        predicted, realised: points of success, over these rounds.
    """

    rounds: int = 0
    predicted: float = 0.0
    realised: float = 0.0

    @property
    def factor(self) -> float:
        """Factor on predicted gains. The assumptions count as one round that kept a promise of `PRIOR_POINTS`."""
        realised = max(0.0, self.realised)
        return min((PRIOR_POINTS + realised) / (PRIOR_POINTS + max(0.0, self.predicted)), MOST_FACTOR)

    @property
    def sentence(self) -> str:
        if not self.rounds:
            return "no earlier round has shown it"
        return (
            f"{self.rounds} earlier {'round' if self.rounds == 1 else 'rounds'} won {self.realised:.0f} of "
            f"{self.predicted:.0f} predicted points, so gains are multiplied by {self.factor:.2f}"
        )


@dataclass(frozen=True)
class RangeChange:
    """Proposed range of a row. `change`: compared with the range that the policy was trained on."""

    row: str
    low: float
    high: float
    change: Literal["new", "wider", "narrower", "unchanged"]


@dataclass(frozen=True)
class PlanItem:
    """One line of a plan.

    Attributes:
        description: the measure in words.
        gain, interval: expected gain in points of success, with an interval.
        hours: working time of robot and operator.
        conditions: conditions of the demonstrations.
        ranges: proposed ranges of rows.
        assumed: the assumption behind the gain.
    """

    gap: Gap | Literal["unmodelled"]
    measure: Measure
    description: str
    gain: float
    interval: Interval
    hours: float
    demonstrations: int = 0
    conditions: Mapping[str, str] = field(default_factory=dict)
    ranges: tuple[RangeChange, ...] = ()
    assumed: str = ""

    @property
    def gain_per_hour(self) -> float:
        return self.gain / max(self.hours, 0.1)


@dataclass(frozen=True)
class Plan:
    """A plan.

    Attributes:
        lines: measures in the order in which to carry them out.
        real_share: share of real data in a training batch.
        demonstrations: number of demonstrations in all lines.
        verdict: the verdict of the report.
    """

    lines: tuple[PlanItem, ...]
    real_share: float
    demonstrations: int
    robot: str
    verdict: str

    @property
    def excites(self) -> bool:
        """Whether motions of the robot would give the logs that a line wants calibrated."""
        return any(
            line.measure == "calibrate" and line.gap != "unmodelled" and PRACTICE[line.gap].excited
            for line in self.lines
        )

    def requests(self) -> list[dict[str, Any]]:
        """Collection requests that `twinloop collect --plan` carries out."""
        return [
            {"robot": self.robot, "episodes": line.demonstrations, "conditions": dict(line.conditions)}
            for line in self.lines
            if line.demonstrations
        ]

    def to_json(self) -> dict[str, Any]:
        lines = [asdict(line) | {"gain_per_hour": line.gain_per_hour} for line in self.lines]
        return {"robot": self.robot, "verdict": self.verdict, "real_share": self.real_share,
                "demonstrations": self.demonstrations, "lines": lines}  # fmt: skip


def make_plan(
    report: GapReport,
    *,
    robot: str,
    budget: int = 200,
    experience: Experience = Experience(),  # noqa: B008
) -> Plan:
    """Make the plan for a report.

    The gain of a line is the cost of its gap, which the counterfactuals of this policy measured, times the share that
    the measure wins back. That share is an assumption, corrected by what earlier rounds really won.

    Args:
        budget: largest number of demonstrations.
        experience: predicted and realised gains of earlier rounds.
    """
    worth = [finding for finding in report.findings if finding.is_open or finding.points >= WORTH_POINTS]
    lines = [line for finding in worth if finding.is_open for line in _simulated(finding)]
    lines += _collected(report, worth, budget)
    if report.unmodelled.present or report.unmodelled.points >= 5:
        lines.append(_looked_at(report))
    lines = [_corrected(line, experience) for line in lines]
    lines.sort(key=lambda line: -line.gain_per_hour)
    demonstrations = sum(line.demonstrations for line in lines)
    return Plan(tuple(lines), real_share(demonstrations), demonstrations, robot, report.verdict())


def _corrected(line: PlanItem, experience: Experience) -> PlanItem:
    """The line with its gain multiplied by the experience of earlier rounds, at most the whole cost."""
    low, high = line.interval
    gain = min(line.gain * experience.factor, high)
    return replace(
        line, gain=gain, interval=(min(low * experience.factor, gain), high),
        assumed=f"{line.assumed}; {experience.sentence}" if line.assumed else experience.sentence,
    )  # fmt: skip


def _simulated(finding: GapFinding) -> list[PlanItem]:
    """Measures in the simulator: randomize the estimated rows, and calibrate rows with wide intervals."""
    practice = PRACTICE[finding.gap]
    ranges = tuple(range_of(row) for row in finding.rows)
    changed = tuple(change for change in ranges if change.change != "unchanged")
    lines = []
    if changed:
        ranges_text = ", ".join(
            f"{change.row} {change.low:.3g} to {change.high:.3g} ({change.change})" for change in changed
        )
        gain, interval, assumed = _randomizing(finding, practice.covering)
        lines.append(
            PlanItem(finding.gap, "randomize", f"draw {ranges_text}", gain, interval, hours=0.1, ranges=changed,
                 assumed=assumed)
        )  # fmt: skip
    if practice.logs and any(row.interval[1] - row.interval[0] > 0.5 * abs(row.value) for row in finding.rows):
        lines.append(
            PlanItem(finding.gap, "calibrate", f"record {practice.logs}; then `twinloop calibrate`",
                 *_gain(finding, 0.2),
                 hours=practice.setup_h + 0.5, assumed="narrower ranges win back another 20 %")
        )  # fmt: skip
    return lines


def _collected(report: GapReport, worth: Sequence[GapFinding], budget: int) -> list[PlanItem]:
    """Allocate demonstrations in batches of `TOGETHER` to the gap where the next batch wins most."""
    counts: dict[Gap, int] = dict.fromkeys((finding.gap for finding in worth), 0)
    by_gap: dict[Gap, GapFinding] = {finding.gap: finding for finding in worth if finding.points > 0}
    left = budget if by_gap else 0
    while left > 0:
        best = max(by_gap.values(), key=lambda finding: _more(finding, counts[finding.gap])).gap
        if _more(by_gap[best], counts[best]) < MIN_POINTS:
            break
        counts[best] += min(TOGETHER, left)
        left -= TOGETHER
    lines = []
    for gap, count in counts.items():
        if not count:
            continue
        practice, finding = PRACTICE[gap], by_gap[gap]
        share = _won(finding, count) / finding.points
        conditions = _conditions(report, practice.vary)
        sensors = f", recorded with {' and '.join(practice.sensors)}" if practice.sensors else ""
        varied = (
            f" with {', '.join(practice.vary)} varied as at the deployment site"
            if practice.vary and not conditions
            else ""
        )
        where = f" with {', '.join(f'{name} {value}' for name, value in conditions.items())}" if conditions else ""
        lines.append(
            PlanItem(gap, "collect", f"{count} demonstrations{where}{varied}{sensors}", *_gain(finding, share),
                 hours=practice.setup_h + count * MINUTES / 60, demonstrations=count, conditions=conditions,
                 assumed=f"{practice.half} demonstrations win back half of {practice.wins:.0%} of the cost")
        )  # fmt: skip
    return lines


def _won(finding: GapFinding, demonstrations: int) -> float:
    practice = PRACTICE[finding.gap]
    return finding.probability * finding.points * practice.wins * demonstrations / (demonstrations + practice.half)


def _more(finding: GapFinding, demonstrations: int) -> float:
    """Points that the next `TOGETHER` demonstrations win."""
    return _won(finding, demonstrations + TOGETHER) - _won(finding, demonstrations)


def _conditions(report: GapReport, names: Sequence[str]) -> dict[str, str]:
    """The condition under which success is significantly lower (first match in `names`); empty if there is none."""
    for look in report.looks:
        worse = (
            look["these"]["successes"] * look["others"]["trials"]
            < look["others"]["successes"] * look["these"]["trials"]
        )
        if look["about"] in names and look["corrected"] < 0.05 and worse:
            return {str(look["about"]): str(look["kind"])}
    return {}


def _randomizing(finding: GapFinding, share: float) -> tuple[float, Interval, str]:
    """Gain of randomizing the rows of a gap: what closing it won in the twin, or `share` of its cost if that is more.

    Closing one of several gaps can win nothing by itself, although it has a part in the cost.
    """
    closing = 0.0 if finding.closing is None else finding.closing
    if closing <= share * finding.points:
        return *_gain(finding, share), f"randomization wins back {share:.0%} of the cost"
    gain, (low, high) = finding.probability * closing, finding.interval
    text = f"this policy won {closing:.0f} points in the twin when this gap alone was closed"
    return gain, (min(finding.probability * low, gain), max(high, gain)), text


def _gain(finding: GapFinding, share: float) -> tuple[float, Interval]:
    low, high = finding.interval
    return share * finding.probability * finding.points, (share * finding.probability * low, share * high)


def range_of(wrong: RowEstimate) -> RangeChange:
    """Proposed range of a row: its interval with a margin of `MARGIN` on both sides, within the plausible range.

    If the error differs from episode to episode, the range is symmetric about nominal. The trained range is kept if it
    covers the proposal and is not much wider, and extended if it does not cover it.
    """
    low, high = with_margin(wrong)
    if wrong.trained is None:
        return RangeChange(wrong.row, low, high, "new")
    first, last = wrong.trained
    inside = first <= low and high <= last
    if inside and (high - low) < 0.6 * (last - first):
        return RangeChange(wrong.row, low, high, "narrower")
    if inside:
        return RangeChange(wrong.row, first, last, "unchanged")
    return RangeChange(wrong.row, min(low, first), max(high, last), "wider")


def with_margin(wrong: RowEstimate) -> Interval:
    """The interval of a row with a margin of `MARGIN` on both sides, within the plausible range."""
    row = BY_NAME[wrong.row]
    low, high = wrong.interval
    if row.chance is not None:
        low = high = min(max(wrong.value, 0.0), 1.0)
    elif wrong.spread:
        reach = (1 + MARGIN) * max(abs(wrong.value), abs(high))
        low, high = row.nominal - reach, row.nominal + reach
    else:
        room = MARGIN * (high - low) + 1e-9
        low, high = low - room, high + room
    return max(low, row.plausible[0]), min(high, row.plausible[1])


def _looked_at(report: GapReport) -> PlanItem:
    attempts: dict[str, list[str]] = {}
    for log, attempt in report.unmodelled.episodes[:LOOKED_AT]:
        attempts.setdefault(log, []).append(str(attempt))
    episodes = (
        "; ".join(f"episodes {', '.join(numbers)} of {log}" for log, numbers in attempts.items()) or "the failures"
    )
    points = report.unmodelled.points
    return PlanItem(
        "unmodelled", "look", f"look at {episodes}: the simulator does not model the cause, so no range covers it",
        0.5 * points, (0.0, points), hours=1.0, assumed="looking at episodes explains half of it",
    )  # fmt: skip
