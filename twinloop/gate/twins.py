"""Twins on trial: every policy tried on both sides says how far a twin can be trusted; one that was wrong is demoted.

What was tried is read off the ledger: the rates are in the records of evaluations and runlogs that were shown.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.gate.registry import Registry, Writer
from twinloop.gate.registry_state import DEMOTED, RESTORED, TWIN
from twinloop.gate.rules.config import CanaryRules
from twinloop.gate.statistics.agreement import LEAST_POLICIES, Counted
from twinloop.gate.statistics.foresight import foretell
from twinloop.gate.trust import PolicyPair, Trust, TrustRules, trust


@dataclass(frozen=True)
class TwinRealPair:
    """One policy in a twin and on a robot."""

    policy: str
    twin: str
    config: str
    robot: str
    task: str
    sim: Rate
    real: Rate

    def to_json(self) -> dict[str, Any]:
        return {
            "policy": self.policy, "twin": self.twin, "config": self.config, "robot": self.robot, "task": self.task,
            "sim": [self.sim.successes, self.sim.trials], "real": [self.real.successes, self.real.trials],
        }  # fmt: skip


@dataclass(frozen=True)
class TwinTrust:
    """failures: why its predictions have failed; nothing while they hold. found: what all pairs say together."""

    twin: str
    config: str
    pairs: tuple[TwinRealPair, ...]
    failures: tuple[str, ...]
    found: Trust

    @property
    def sentence(self) -> str:
        if not self.pairs:
            return "nothing was tried on both sides yet"
        many = len({pair.policy for pair in self.pairs})
        told = f"{many} {'policy was' if many == 1 else 'policies were'} tried on both sides"
        for task in self.found.tasks:
            agreed = task.agreement
            if agreed.pearson is not None and agreed.mmrv is not None and agreed.policies >= LEAST_POLICIES:
                told += f"; {task.task}: correlation {agreed.pearson:.2f} ({agreed.pearson_low:.2f} to "
                told += f"{agreed.pearson_high:.2f}), mean maximum rank violation {agreed.mmrv:.2f}"
        return told + ("; its predictions failed" if self.failures else f"; {self.found.standing}, nothing failed")

    def to_json(self) -> dict[str, Any]:
        return {
            "config": self.config, "pairs": [pair.to_json() for pair in self.pairs],
            "standing": "demoted" if self.failures else self.found.standing,
            "tasks": [{"task": task.task, **task.agreement.to_json()} for task in self.found.tasks],
        }  # fmt: skip

    def predict(self, sim: Rate, *, besides: str) -> tuple[float, str]:
        """(lower end, in words) of the real success of a policy, from the others that were tried on both sides.

        Two points make no band: then it is what the twin measured, less the most it was wrong by."""
        others = [pair for pair in self.pairs if pair.policy != besides]
        tasks = dict.fromkeys((pair.task, pair.robot) for pair in others)
        bands = [
            foretell(sim.value, [_counted(pair.sim) for pair in some], [_counted(pair.real) for pair in some])
            for some in ([pair for pair in others if (pair.task, pair.robot) == task] for task in tasks)
        ]
        known = [band for band in bands if band.estimate is not None]
        if known:
            band = min(known, key=lambda band: band.low)
            said = f"{band.estimate:.2f} ({band.low:.2f} to {band.high:.2f}, {100 * band.confidence:.0f} %)"
            return band.low, f"{said}, from {band.policies} policies tried on both sides of {self.config}"
        wrong = max([0.0, *(pair.sim.value - pair.real.value for pair in others)])
        low = max(0.0, sim.interval[0] - wrong)
        said = f"{low:.2f}: as in {self.config}, less the {wrong:.2f} it was wrong by at most so far"
        return low, said


def twins_of(
    registry: Registry, rules: CanaryRules, *, shown: Iterable[Mapping[str, Any]] = ()
) -> dict[str, TwinTrust]:
    """Every twin of which there is an evaluation in the ledger, or among what is shown now."""
    evidence = [*(entry for entries in registry.standing.shown.values() for entry in entries), *shown]
    sims, reals = _in_twins(evidence), _on_robots(evidence)
    pairs: dict[str, list[TwinRealPair]] = {}
    configs: dict[str, str] = {}
    for (twin, policy), (config, sim) in sims.items():
        configs[twin] = config
        pairs.setdefault(twin, [])
        for (robot, task, who), real in reals.items():
            if who == policy and real.trials and sim.trials:
                pairs[twin].append(TwinRealPair(policy, twin, config, robot, task, sim, real))
    return {twin: _trust(twin, configs[twin], found, rules) for twin, found in pairs.items()}


def enter_twins(writer: Writer, found: Mapping[str, TwinTrust]) -> None:
    """Put into the ledger which twins are demoted now that were not, and which are no more."""
    demoted = writer.registry.standing.demoted
    for digest, trusted in found.items():
        details = {"twin": digest, **trusted.to_json()}
        if trusted.failures and digest not in demoted:
            writer.add(TWIN, DEMOTED, details=details, reasons=trusted.failures)
        elif digest in demoted and not trusted.failures:
            said = f"{trusted.config}: with what was tried since, its predictions hold"
            writer.add(TWIN, RESTORED, details=details, reasons=[said])


def _in_twins(evidence: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, Rate]]:
    """(twin, policy) -> (name of its config, success over all seeds, the longest evaluation of each)."""
    longest: dict[tuple[str, str, int], Mapping[str, Any]] = {}
    for entry in evidence:
        if entry.get("kind") == "evaluation":
            key = (str(entry["twin"]), str(entry["checkpoint"]), int(entry["seed"]))
            if key not in longest or entry["episodes"] > longest[key]["episodes"]:
                longest[key] = entry
    found: dict[tuple[str, str], tuple[str, Rate]] = {}
    for (twin, policy, _), entry in longest.items():
        _, before = found.get((twin, policy), ("", Rate(0, 0)))
        total = Rate(before.successes + int(entry["successes"]), before.trials + int(entry["episodes"]))
        found[(twin, policy)] = (str(entry["config"]), total)
    return found


def _on_robots(evidence: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], Rate]:
    """(robot, task, policy) -> success, of each runlog as it was when it was shown last."""
    latest: dict[str, Mapping[str, Any]] = {}
    for entry in evidence:
        if entry.get("kind") == "runlog":
            path = str(entry["path"])
            if path not in latest or entry["attempts"] >= latest[path]["attempts"]:
                latest[path] = entry
    found: dict[tuple[str, str, str], Rate] = {}
    for entry in latest.values():
        for row in entry["rates"]:
            key = (str(row["robot"]), str(row["task"]), str(row["checkpoint"]))
            before = found.get(key, Rate(0, 0))
            found[key] = Rate(before.successes + int(row["managed"]), before.trials + int(row["trials"]))
    return found


def _trust(twin: str, config: str, pairs: Sequence[TwinRealPair], rules: CanaryRules) -> TwinTrust:
    tasks: dict[str, list[PolicyPair]] = {}
    for pair in pairs:
        both = PolicyPair(pair.policy, _counted(pair.sim), _counted(pair.real))
        tasks.setdefault(f"{pair.task} on {pair.robot}", []).append(both)
    asked = TrustRules(
        least_policies=max(rules.pairs, LEAST_POLICIES), least_pearson=rules.pearson, most_mmrv=rules.rank_violation
    )
    found = trust(tasks, seed=0, rules=asked)
    failures = [said for pair in pairs if (said := _wrong(pair, rules.gap))]
    failures += [f"{config}: {reason}" for reason in found.reasons if found.standing == "distrusted"]
    return TwinTrust(twin, config, tuple(pairs), tuple(failures), found)


def _counted(rate: Rate) -> Counted:
    return Counted(rate.value, rate.trials)


def _wrong(pair: TwinRealPair, gap: float) -> str:
    """Said if twin and robot differ by more than `gap` beyond doubt: the whole 95 % interval is outside."""
    difference, low, high = _difference(pair.sim, pair.real)
    if low <= gap and high >= -gap:
        return ""
    word = "more" if difference > 0 else "less"
    return (
        f"{pair.config} said {pair.sim.value:.2f} of {pair.policy[:12]}, {pair.robot} showed {pair.real.value:.2f} "
        f"({pair.real.successes} of {pair.real.trials}): {abs(difference):.2f} {word} than was so, "
        f"{min(abs(low), abs(high)):.2f} at least"
    )


def _difference(first: Rate, second: Rate) -> tuple[float, float, float]:
    """(of the rates, low, high) with Newcombe's 95 % interval for independent samples."""
    if not first.trials or not second.trials:
        return 0.0, -1.0, 1.0
    (low, high), (bottom, top) = first.interval, second.interval
    difference = first.value - second.value
    down = difference - float(np.hypot(first.value - low, top - second.value))
    return difference, down, difference + float(np.hypot(high - first.value, second.value - bottom))
