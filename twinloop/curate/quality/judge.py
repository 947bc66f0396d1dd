"""RecordedEpisode -> Quality: all findings about an episode, and its verdict."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from twinloop.config.json_file import record_from_json
from twinloop.config.record import write_record
from twinloop.curate.quality.check import QualityCheck
from twinloop.curate.quality.checks import CHECKS
from twinloop.curate.quality.dataset_statistics import DatasetStatistics
from twinloop.curate.quality.finding import QualityFinding
from twinloop.curate.quality.limits import QualityConfig
from twinloop.curate.quality.recorded_episode import RecordedEpisode
from twinloop.curate.quality.spans import usable
from twinloop.errors import CorruptError


@dataclass(frozen=True)
class Quality:
    """All findings of one episode, errors and notes, in the order of the checks."""

    attempt: int
    label: str
    rows: int
    seconds: float
    findings: tuple[QualityFinding, ...]

    @property
    def errors(self) -> tuple[QualityFinding, ...]:
        return tuple(finding for finding in self.findings if finding.severity == "error")

    @property
    def verdict(self) -> str:
        """Name of the first check that found an error; "" if none did."""
        return self.errors[0].check if self.errors else ""

    @property
    def storable(self) -> bool:
        return all(finding.storable for finding in self.errors)

    def to_json(self) -> dict[str, Any]:
        values = write_record(replace(self, seconds=round(self.seconds, 3)))
        findings = values.pop("findings")
        return {**values, "verdict": self.verdict or "fine", "findings": findings}

    @classmethod
    def from_json(cls, value: dict[str, Any], *, where: str) -> "Quality":
        stored = {key: item for key, item in value.items() if key != "verdict"}
        return record_from_json(cls, stored, where=where, error=CorruptError)


def judge(
    episode: RecordedEpisode,
    statistics: DatasetStatistics,
    config: QualityConfig,
    *,
    checks: Sequence[QualityCheck] = CHECKS,
) -> Quality:
    finite = all(usable(values).all() for values in episode.signals.values())
    findings: list[QualityFinding] = []
    for check in checks:
        if not finite and check.finite:
            continue
        blamed = {
            finding.channel: finding.check for finding in findings if finding.severity == "error" and finding.channel
        }
        findings += [
            finding
            for finding in check.find(episode, statistics, config)
            if check.independent or not _is_blamed(finding, blamed)
        ]
    return Quality(episode.attempt, episode.label, episode.rows, episode.rows / episode.rate_hz, tuple(findings))


def _is_blamed(finding: QualityFinding, blamed: dict[str, str]) -> bool:
    """Has an earlier check found an error in this channel? A wrapped angle looks like another unit too."""
    elements = [channel for channel in blamed if channel.startswith(f"{finding.channel}/") and finding.channel]
    feature = finding.channel.partition("/")[0]
    return any(blamed[channel] != finding.check for channel in {finding.channel, feature, *elements} & blamed.keys())
