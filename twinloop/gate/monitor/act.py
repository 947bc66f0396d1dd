"""Checks the episodes of the live policy since it went live. A confirmed drop opens an incident and rolls back.

The result depends on the episodes alone. A check after a kill therefore gives the same result and completes the work.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.config.record import write_record
from twinloop.curate.rates import Rate
from twinloop.dataset.real_episodes import RealEpisodes, in_utc
from twinloop.durable import replace_file, storage_errors
from twinloop.errors import RegistryError
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.monitor.drift import Shifts, TrainingScales, shifts_of
from twinloop.gate.monitor.state import check_state, write_state
from twinloop.gate.monitor.watch import DRIFT, UNDOING, Watched, monitor_of, watch
from twinloop.gate.registry import Live, Registry, Writer, json_text, writing
from twinloop.gate.registry_state import INCIDENT, OPENED, PROMOTED
from twinloop.gate.rules.config import RulesConfig
from twinloop.gate.runlog_evidence import RunlogEvidence, all_episodes, load_runlog
from twinloop.gate.trust import enter_twins, twins_of

INCIDENTS = "incidents"
ACTOR = "monitor"


@dataclass(frozen=True)
class MonitorResult:
    """The result of one check.

    Attributes:
        live: the pointer to the monitored policy.
        episodes: its episodes since it went live.
        watched: the signals.
        incidents: incident files opened by this check.
        rolled_back: the record of the rollback or withdrawal, if there was one.
    """

    registry: Registry
    live: Live
    episodes: RealEpisodes
    watched: tuple[Watched, ...]
    incidents: tuple[Path, ...]
    rolled_back: LedgerRecord | None


def look(
    registry_path: Path, runlogs: Sequence[Path], rules: RulesConfig, *, scales: TrainingScales | None
) -> MonitorResult:
    """Check the live policy's episodes, open incidents for alarms, and roll back if the rules say so.

    Args:
        scales: means and deviations of the live checkpoint's training data; None if drift is not monitored.

    Raises:
        RegistryError: nothing is live, or a log that was checked before is not given.
        CorruptError: the episodes of a log that were checked before have changed.
    """
    registry = Registry.open(registry_path)
    live = registry.live
    if live is None or not live.checkpoint:
        raise RegistryError(f"{registry_path}: nothing is live, so there is nothing to monitor")
    logs = tuple(load_runlog(path.resolve()) for path in runlogs)
    check_state(registry_path, live, logs)
    real, shifts = _since(live, logs, scales)
    unusual = None if shifts is None else shifts.largest > rules.monitor.drift_deviations
    monitor = monitor_of(rules, promoted_at=shown_for(registry), drift=scales is not None)
    watched = watch(monitor, real, unusual)
    incidents, undone = _act(registry_path, live, logs, real, shifts, watched, rules)
    write_state(registry_path, live, logs, watched)
    return MonitorResult(Registry.open(registry_path), live, real, watched, incidents, undone)


def shown_for(registry: Registry) -> Rate:
    """Return the live policy's real success rate in the trials of its promotion."""
    production = registry.production
    for record in reversed(registry.ledger.records):
        if record.checkpoint == production and record.verdict == PROMOTED and record.transition.endswith("production"):
            rows = [row for entry in record.evidence if entry.get("kind") == "runlog" for row in entry["rates"]]
            own_rows = [row for row in rows if row["checkpoint"] == production]
            return Rate(sum(int(row["managed"]) for row in own_rows), sum(int(row["trials"]) for row in own_rows))
    raise RegistryError(f"{registry.ledger.path}: has no record of the promotion of {production[:12]}...")


def _since(
    live: Live, logs: Sequence[RunlogEvidence], scales: TrainingScales | None
) -> tuple[RealEpisodes, Shifts | None]:
    """Return the live policy's episodes recorded after it went live, in order, and the shifts of their inputs."""
    whole = all_episodes(logs)
    since = (whole.checkpoint == live.checkpoint) & (whole.recorded_at > in_utc(live.since)) & ~whole.interrupted
    real = whole.take(since)
    if scales is None:
        return real, None
    shifts = [shifts_of(log.path, scales) for log in logs]
    # An episode is found by its log and attempt; the attempts of a log are its rows.
    places = list(zip(real.log.tolist(), real.attempt.tolist(), strict=True))
    return real, Shifts(
        np.array([shifts[log].largest[attempt] for log, attempt in places], float),
        np.array([shifts[log].element[attempt] for log, attempt in places], object),
    )


def _act(
    path: Path,
    live: Live,
    logs: Sequence[RunlogEvidence],
    real: RealEpisodes,
    shifts: Shifts | None,
    watched: Sequence[Watched],
    rules: RulesConfig,
) -> tuple[tuple[Path, ...], LedgerRecord | None]:
    alarmed = [signal for signal in watched if signal.alarm is not None]
    if not alarmed:
        return (), None
    evidence = [log.to_json() for log in logs]
    with writing(path, actor=ACTOR) as writer:
        now = writer.registry
        if now.live != live:
            return (), None  # another process has changed the live policy meanwhile
        opened = [_open(writer, live, logs, real, shifts, signal, evidence) for signal in alarmed]
        undoing = [signal for signal in alarmed if signal.name in UNDOING]
        if not undoing or not rules.monitor.roll_back:
            return tuple(file for file in opened if file is not None), None
        reasons = [signal.sentence for signal in undoing]
        if now.state.previous:
            record = writer.roll_back(reasons=reasons, evidence=evidence, rules=rules.digest)
        else:
            record = writer.withdraw(reasons=reasons, evidence=evidence, rules=rules.digest)
        # The real success in production is one more pair for every twin that predicted it.
        enter_twins(writer, twins_of(writer.registry, rules.canary))
    return tuple(file for file in opened if file is not None), record


def _open(
    writer: Writer,
    live: Live,
    logs: Sequence[RunlogEvidence],
    real: RealEpisodes,
    shifts: Shifts | None,
    signal: Watched,
    evidence: Sequence[dict[str, Any]],
) -> Path | None:
    """Write the episodes to be diagnosed as an incident file and a record; None if the incident exists already."""
    name = f"{live.record[:12]}-{signal.name}-{signal.alarm}"
    for record in writer.registry.ledger.records:
        opened = str(record.details.get("incident", ""))
        if record.kind == INCIDENT and opened.startswith(f"{live.record[:12]}-{signal.name}-"):
            return None
    rows = range(signal.began, signal.alarm or 0)
    content = {
        "id": name,
        "checkpoint": live.checkpoint,
        "live_since": live.since,
        "signal": signal.name,
        "said": signal.sentence,
        "episodes": [
            {
                "runlog": str(logs[int(real.log[row])].path), "attempt": int(real.attempt[row]),
                "recorded_at": str(real.recorded_at[row]), "robot": str(real.robot_id[row]),
                "outcome": str(real.outcome[row]), "suspect": bool(signal.bad[row]),
                "reasons": _reasons(real, shifts, row, signal),
                "conditions": {key: str(values[row]) for key, values in real.conditions.items()},
            }
            for row in rows
        ],
    }  # fmt: skip
    folder = writer.path / INCIDENTS
    with storage_errors(folder):
        folder.mkdir(exist_ok=True)
        digest = replace_file(folder / f"{name}.json", json_text(content).encode(), scratch=writer.scratch)
    details = {
        "incident": name,
        "file": write_record(digest),
        "signal": signal.name,
        "episodes": len(content["episodes"]),
    }
    writer.add(
        INCIDENT, OPENED, checkpoint=live.checkpoint, reasons=[signal.sentence], evidence=evidence, details=details
    )
    return folder / f"{name}.json"


def _reasons(real: RealEpisodes, shifts: Shifts | None, row: int, signal: Watched) -> list[str]:
    reasons = []
    if real.outcome[row] != "success":
        failure = str(real.failure[row]).replace("_", " ")
        reasons.append(f"{real.outcome[row]}{f': {failure}' if failure else ''}")
    if real.interventions[row]:
        reasons.append(f"{real.interventions[row]} interventions")
    worked = {name: int(values[row]) for name, values in real.safety.items() if values[row]}
    if worked:
        periods = ", ".join(f"{name} {count}" for name, count in worked.items())
        reasons.append(f"safety filter, of {real.length[row]} periods: {periods}")
    if shifts is not None and (signal.name == DRIFT or signal.bad[row]) and shifts.element[row]:
        reasons.append(
            f"{shifts.element[row]} is {shifts.largest[row]:.1f} training standard deviations away from the mean"
        )
    return reasons
