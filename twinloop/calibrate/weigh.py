"""Weigh the quality findings of logs for a fit: refuse the fit, drop a log, warn or note."""

from collections.abc import Iterable, Sequence

from twinloop.calibrate.bench import Bench
from twinloop.calibrate.log_finding import LogFinding, LogSeverity
from twinloop.calibrate.recorded_log import channel_names
from twinloop.curate.quality import Quality, QualityFinding, RecordedEpisode
from twinloop.signals.clock import estimate_clock

MAX_MISSING = 0.2
"""Share of the time or of the rows of a log."""
MAX_FAULTY_LOGS = 0.2
"""A fault in a larger share of the logs is refused. A rarer one drops the logs that have it."""
CLOCK = ("timestamp_order", "timestamp_gap", "timestamp_jitter", "declared_rate")
OF_LOG: dict[str, LogSeverity] = {
    "too_short": "dropped",
    "duplicate": "dropped",
    "timestamp_order": "dropped",
    "timestamp_gap": "warning",
    "timestamp_jitter": "note",
    "declared_rate": "refused",
    "value_spike": "warning",
}
"""Check -> severity of its errors. Errors of the other checks are faults of a channel."""
FAULTS_BY_NOTE = ("early_motion",)
"""Checks whose notes count as faults here: a fit depends on the delay between command and motion."""


def missing_numbers(
    bench: Bench, record: RecordedEpisode, findings: Iterable[QualityFinding], *, most: float
) -> list[LogFinding]:
    """Findings about numbers that are not finite. A channel that misses more than the share `most` drops the log.

    A command holds its last value where it is missing, so only a command without any number counts.
    """
    names, compared = channel_names(bench), {channel.name for channel in bench.compared}
    commanded = {channel.name for channel in bench.commanded}
    weighed = {}
    for finding in findings:
        name, share = names[finding.channel], finding.measured / record.rows
        if (share < 1 and name not in compared) or name not in compared | commanded:
            continue
        message = f"{100 * share:.1f} % missing" if share < 1 else "holds no number at all"
        severity: LogSeverity = "dropped" if share == 1 or share > most else "warning"
        weighed[name] = LogFinding(severity, finding.check, f"{record.label}: {name}", message)
    return list(weighed.values())


def log_findings(bench: Bench, record: RecordedEpisode, quality: Quality) -> list[LogFinding]:
    """Findings about a log as a whole: length, copies, clock, spikes."""
    names = channel_names(bench)
    weighed = []
    for finding in quality.findings:
        if finding.check not in OF_LOG:
            continue
        severity = OF_LOG[finding.check] if finding.severity == "error" else "note"
        message = _text(finding, names)
        if finding.check == "timestamp_gap" and _lost_share(record) > MAX_MISSING:
            severity = "dropped"
        elif finding.check in CLOCK and severity != "dropped":
            advice = "Correct logs.rate_hz in the bench file, or leave it out: then the rate is estimated."
            resampled = f"The log is resampled onto an even grid of {record.rate_hz:.6g} Hz."
            message += f" {advice if severity == 'refused' else resampled}"
        where = record.label if finding.check != "value_spike" else f"{record.label}: {names[finding.channel]}"
        weighed.append(LogFinding(severity, finding.check, where, message))
        if severity == "dropped":
            break
    return weighed


def channel_findings(bench: Bench, qualities: Sequence[Quality]) -> tuple[list[LogFinding], set[int]]:
    """Findings about channels over all logs, and the numbers of logs to drop."""
    names, findings, dropped = channel_names(bench), [], set()
    by_channel: dict[tuple[str, bool, str], list[tuple[Quality, QualityFinding]]] = {}
    for quality in qualities:
        for finding in quality.findings:
            if finding.check not in OF_LOG:
                fault = finding.severity == "error" or finding.check in FAULTS_BY_NOTE
                by_channel.setdefault((finding.check, fault, finding.channel), []).append((quality, finding))
    for (check, fault, channel), occurrences in by_channel.items():
        name, logs = names[channel], {quality.attempt for quality, _ in occurrences}
        if fault and len(logs) <= MAX_FAULTY_LOGS * len(qualities):
            dropped |= logs
            for quality, finding in occurrences:
                findings.append(LogFinding("dropped", check, f"{quality.label}: {name}", _text(finding, names)))
        else:
            message = f"{_text(occurrences[0][1], names)} ({len(logs)} of {len(qualities)} logs)"
            findings.append(LogFinding("refused" if fault else "note", check, name, message))
    return findings, dropped


def _text(finding: QualityFinding, names: dict[str, str]) -> str:
    """The finding with the names of the bench file, without the name of its own channel."""
    text = finding.message.removeprefix(f"{finding.channel} ") if finding.channel else finding.message
    for channel in sorted(names, key=len, reverse=True):
        text = text.replace(channel, names[channel])
    return text


def _lost_share(record: RecordedEpisode) -> float:
    """Share of the time that is lost in gaps."""
    assert record.time_s is not None
    return estimate_clock(record.time_s).gap_s / float(record.time_s[-1] - record.time_s[0])
