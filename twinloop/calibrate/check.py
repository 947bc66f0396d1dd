"""Check logs before anything is simulated or fitted.

A wrong unit, a wrong sign, two swapped joints or a clipped column can be fitted, and the fit looks good on its own
logs. The checks are those of all recordings (curate/quality). Here each log is turned into their record, and the
findings are weighed for a fit: what makes one log useless drops that log, and what many logs have in common is
refused, because then the bench file is probably wrong.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.effort_check import effort_signs
from twinloop.calibrate.excitation import excitation, unlogged_velocities
from twinloop.calibrate.log_finding import LogFinding
from twinloop.calibrate.logs import Log
from twinloop.calibrate.recorded_log import interpolated, recorded_log
from twinloop.calibrate.track import track_of
from twinloop.calibrate.weigh import MAX_MISSING, channel_findings, log_findings, missing_numbers
from twinloop.curate.quality import CHECKS, DatasetStatistics, EpisodeStatistics, QualityConfig, RecordedEpisode, judge
from twinloop.errors import DatasetError

CONFIG = QualityConfig(limit_share=0.35)
"""The zero of a model's joint is often off by some degrees, so only positions far beyond the range are errors."""
NUMBERS = tuple(check for check in CHECKS if check.name == "non_finite")
ORDER = tuple(check for check in CHECKS if check.name == "timestamp_order")
ALONE = DatasetStatistics(())


@dataclass(frozen=True)
class Checked:
    """Logs that can be used, and what the checks found.

    Attributes:
        logs: the logs that were not dropped.
        findings: of all logs.
        delay_s: measured channel -> how late it follows its command.
    """

    logs: tuple[Log, ...]
    findings: tuple[LogFinding, ...]
    delay_s: dict[str, float] = field(default_factory=dict)

    def refuse(self) -> None:
        """Raise if there is a finding that no fit should be built on, or no log is left.

        Raises:
            DatasetError: names the findings.
        """
        refused = [finding for finding in self.findings if finding.severity == "refused"]
        if refused:
            raise DatasetError(
                f"these logs cannot be fitted:\n{_lines(refused)}\nCorrect the logs, or the columns, scales and signs "
                "in the bench file. `--anyway` fits them all the same."
            )
        if not self.logs:
            raise DatasetError(f"no log is left to fit:\n{_lines(self.findings)}")


def playable(bench: Bench, logs: Sequence[Log]) -> Checked:
    """The logs that a replay can use: time runs forward, and every compared channel has a number."""
    kept, findings = [], []
    for number, log in enumerate(logs):
        if len(log) < 2:
            problems = [LogFinding("dropped", "too_short", log.name, f"has {len(log)} rows; a replay needs 2 or more")]
        else:
            record = recorded_log(bench, log, number)
            order = judge(interpolated(record), ALONE, CONFIG, checks=ORDER)
            problems = [*_missing(bench, record, most=1.0), *log_findings(bench, record, order)]
        problems = [finding for finding in problems if finding.severity == "dropped"]
        findings += problems
        if not problems:
            kept.append(log)
    if not kept:
        raise DatasetError(f"no log can be played:\n{_lines(findings)}" if findings else "there is no log to play")
    return Checked(tuple(kept), tuple(findings))


def check(bench: Bench, logs: Sequence[Log]) -> Checked:
    """Run all checks on `logs`."""
    findings: list[LogFinding] = []
    records: dict[int, RecordedEpisode] = {}
    for number, log in enumerate(logs):
        record = recorded_log(bench, log, number)
        problems = _missing(bench, record, most=MAX_MISSING)
        findings += problems
        if not _drops(problems):
            records[number] = interpolated(record)
    statistics = DatasetStatistics.of(EpisodeStatistics.of(record) for record in records.values())
    qualities = []
    for record in records.values():
        quality = judge(record, statistics, CONFIG)
        problems = log_findings(bench, record, quality)
        findings += problems
        if not _drops(problems):
            qualities.append(quality)
    problems, dropped = channel_findings(bench, qualities)
    findings += problems
    kept = [quality.attempt for quality in qualities if quality.attempt not in dropped]
    if not kept:
        return Checked((), tuple(findings))
    findings += unlogged_velocities(bench, [records[number] for number in kept])
    findings += effort_signs(bench, [track_of(bench, logs[number]) for number in kept])
    problems, delays = excitation(bench, [records[number] for number in kept])
    return Checked(tuple(logs[number] for number in kept), (*findings, *problems), delays)


def _missing(bench: Bench, record: RecordedEpisode, *, most: float) -> list[LogFinding]:
    numbers = judge(record, ALONE, CONFIG, checks=NUMBERS)
    return missing_numbers(bench, record, numbers.findings, most=most)


def _drops(findings: Sequence[LogFinding]) -> bool:
    return any(finding.severity == "dropped" for finding in findings)


def _lines(findings: Sequence[LogFinding]) -> str:
    return "\n".join(f"  {finding}" for finding in findings)
