"""Does every compared joint move and follow its command, so that a fit can learn from it? How late does it follow?"""

from collections.abc import Sequence

import numpy as np

from twinloop.calibrate.bench import Bench, ChannelMap
from twinloop.calibrate.log_finding import LogFinding
from twinloop.calibrate.recorded_log import VELOCITY
from twinloop.curate.quality import ACTION, STATE, RecordedEpisode, estimate_pair_delay

MIN_EXCITATION = 0.01
"""Smallest motion that tells something, as a share of the joint's range."""
MIN_CORRELATION = 0.3


def excitation(bench: Bench, records: Sequence[RecordedEpisode]) -> tuple[list[LogFinding], dict[str, float]]:
    """Findings over all logs, and measured channel -> delay behind its command in seconds."""
    goals = {c.joint for c in bench.commanded if c.joint and c.of == "position"}
    findings: list[LogFinding] = []
    delays: dict[str, float] = {}
    for channel in bench.compared:
        if channel.of != "position":
            continue
        values = np.concatenate([_values(record, f"{STATE}/{channel.joint}") for record in records])
        if np.ptp(values) <= 0:
            message = f"never changes: it is {values[0]:.4g} throughout"
            findings.append(LogFinding("refused", "no_motion", channel.name, message))
        elif channel.joint in goals:
            finding, delay_s = _following(bench, channel, records)
            findings.append(finding)
            if delay_s is not None:
                delays[channel.name] = delay_s
    return findings, delays


def unlogged_velocities(bench: Bench, records: Sequence[RecordedEpisode]) -> list[LogFinding]:
    return [
        LogFinding("warning", "velocity_missing", channel.name, "is not logged: recordings are taken to begin at rest")
        for channel in bench.measured
        if channel.of == "velocity"
        and all(f"{VELOCITY}/{channel.joint}" not in {c.name for c in record.channels} for record in records)
    ]


def _following(
    bench: Bench, channel: ChannelMap, records: Sequence[RecordedEpisode]
) -> tuple[LogFinding, float | None]:
    swing = max(float(np.ptp(_values(record, f"{ACTION}/{channel.joint}"))) for record in records)
    if swing < MIN_EXCITATION * _range(bench, channel):
        message = f"its command moves by {swing / abs(channel.scale):.3g} {channel.unit} only: too little to learn from"
        return LogFinding("warning", "excitation", channel.name, message), None
    pairs = [pair for record in records for pair in record.pairs if pair.measured.name == f"{STATE}/{channel.joint}"]
    delay = estimate_pair_delay(pairs, bench.logs.rate_hz)
    if delay is None or abs(delay.correlation) < MIN_CORRELATION:
        strength = 0.0 if delay is None else delay.correlation
        message = f"hardly follows its command (correlation {strength:.2f})"
        return LogFinding("warning", "following", channel.name, message), None
    delay_s = delay.rows / bench.logs.rate_hz
    return LogFinding("note", "delay", channel.name, f"follows its command {1000 * delay_s:.0f} ms later"), delay_s


def _values(record: RecordedEpisode, name: str) -> np.ndarray:
    return next(channel.values for channel in record.channels if channel.name == name)


def _range(bench: Bench, channel: ChannelMap) -> float:
    low, high = bench.model.jnt_range[bench.model.joint(channel.joint).id]
    return float(high - low) or 2 * np.pi
