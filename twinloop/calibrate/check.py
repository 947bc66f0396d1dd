"""Check logs before anything is simulated or fitted.

A wrong unit, a wrong sign, two swapped joints or a clipped column can be fitted, and the fit looks good on its own
logs. All of these show in how a measured channel follows its command (log_checks.py).
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.log_checks import (
    LogFinding,
    channel_without_numbers,
    clipping,
    clock_order,
    clock_rate,
    effort_signs,
    following,
    joint_range,
    missing_values,
    velocity_signs,
)
from twinloop.calibrate.logs import Log
from twinloop.calibrate.track import track_of
from twinloop.errors import DatasetError

__all__ = ["Checked", "LogFinding", "check", "playable"]


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
    for log in logs:
        problems = clock_order(log) or channel_without_numbers(bench, track_of(bench, log))
        findings += problems
        if not problems:
            kept.append(log)
    if not kept:
        raise DatasetError(f"no log can be played:\n{_lines(findings)}" if findings else "there is no log to play")
    return Checked(tuple(kept), tuple(findings))


def check(bench: Bench, logs: Sequence[Log]) -> Checked:
    """Run all checks on `logs`."""
    findings: list[LogFinding] = []
    kept, tracks = [], []
    for log in logs:
        problems = clock_rate(bench, log)
        findings += problems
        if any(finding.severity == "dropped" for finding in problems):
            continue
        track = track_of(bench, log)
        problems = missing_values(bench, track)
        findings += problems
        if any(finding.severity == "dropped" for finding in problems):
            continue
        kept.append(log)
        tracks.append(track)
    delays: dict[str, float] = {}
    if tracks:
        for of_all_logs in (joint_range, clipping, velocity_signs, effort_signs):
            findings += of_all_logs(bench, tracks)
        problems, delays = following(bench, tracks)
        findings += problems
    return Checked(tuple(kept), tuple(findings), delays)


def _lines(findings: Sequence[LogFinding]) -> str:
    return "\n".join(f"  {finding}" for finding in findings)
