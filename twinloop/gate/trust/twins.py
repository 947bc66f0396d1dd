"""Trust in every twin of a registry, from the rates in its ledger. A twin whose predictions failed is demoted.

The ledger has the rates of all evaluations and runlogs that were given as evidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from twinloop.config.record import write_record
from twinloop.curate.rates import Rate
from twinloop.gate.registry import Registry, Writer
from twinloop.gate.registry_state import DEMOTED, RESTORED, TWIN
from twinloop.gate.rules.config import CanaryRules
from twinloop.gate.statistics.agreement import LEAST_POLICIES, Counted
from twinloop.gate.statistics.prediction import predict_real_rate

from .judgement import PolicyPair, Trust, TrustRules, trust


@dataclass(frozen=True)
class TwinRealPair:
    """Success of one policy in a twin and on a robot. `twin` is the digest of its config."""

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
    """Trust in one twin.

    Attributes:
        twin: digest of its config; `config` is the name of that file.
        trust: the judgement from all pairs.
    """

    twin: str
    config: str
    pairs: tuple[TwinRealPair, ...]
    trust: Trust

    @property
    def failures(self) -> tuple[str, ...]:
        """Why the twin is demoted; empty while its predictions hold."""
        return self.trust.reasons if self.trust.level == "distrusted" else ()

    @property
    def sentence(self) -> str:
        """The judgement in one line."""
        if not self.pairs:
            return "no policy compared with a robot yet"
        policies = len({pair.policy for pair in self.pairs})
        text = f"{policies} {'policy' if policies == 1 else 'policies'} compared"
        for task in self.trust.tasks:
            agreed = task.agreement
            if agreed.pearson is not None and agreed.mmrv is not None and agreed.policies >= LEAST_POLICIES:
                text += f"; {task.task}: correlation {agreed.pearson:.2f} ({agreed.pearson_low:.2f} to "
                text += f"{agreed.pearson_high:.2f}), mean maximum rank violation {agreed.mmrv:.2f}"
        if self.failures:
            return f"{text}; predictions failed"
        if policies < self.trust.rules.least_policies:
            return f"{text}; too few to judge ({self.trust.rules.least_policies} are needed)"
        return f"{text}; {self.trust.level}"

    def to_json(self) -> dict[str, Any]:
        return {
            "config": self.config, "pairs": [pair.to_json() for pair in self.pairs],
            "level": "demoted" if self.failures else self.trust.level,
            "tasks": [{"task": task.task, **write_record(task.agreement)} for task in self.trust.tasks],
        }  # fmt: skip

    def predict(self, sim: Rate, *, besides: str) -> tuple[float, str]:
        """Predict the real success of a policy from the other policies that were compared.

        With fewer than three there is no prediction band. Then the result is the lower bound in the twin, less the
        largest difference that was measured so far.

        Returns:
            The lower end, and the prediction in words.
        """
        others = [pair for pair in self.pairs if pair.policy != besides]
        groups = dict.fromkeys((pair.task, pair.robot) for pair in others)
        bands = [
            predict_real_rate(
                sim.value, [_counted(pair.sim) for pair in pairs], [_counted(pair.real) for pair in pairs]
            )
            for pairs in ([pair for pair in others if (pair.task, pair.robot) == group] for group in groups)
        ]
        known = [band for band in bands if band.estimate is not None]
        if known:
            band = min(known, key=lambda band: band.low)
            text = f"{band.estimate:.2f} ({band.low:.2f} to {band.high:.2f}, {100 * band.confidence:.0f} %)"
            return band.low, f"{text}, predicted from {band.policies} policies compared in {self.config}"
        difference = max([0.0, *(pair.sim.value - pair.real.value for pair in others)])
        low = max(0.0, sim.interval[0] - difference)
        return low, f"{low:.2f}: lower bound in {self.config} minus its largest error so far ({difference:.2f})"


def twins_of(
    registry: Registry, rules: CanaryRules, *, evidence: Iterable[Mapping[str, Any]] = ()
) -> dict[str, TwinTrust]:
    """Judge every twin that has an evaluation in the ledger or in the new `evidence`."""
    entries = [*(entry for entries in registry.state.evidence.values() for entry in entries), *evidence]
    sims, reals = _in_twins(entries), _on_robots(entries)
    pairs: dict[str, list[TwinRealPair]] = {}
    configs: dict[str, str] = {}
    for (twin, policy), (config, sim) in sims.items():
        configs[twin] = config
        pairs.setdefault(twin, [])
        for (robot, task, name), real in reals.items():
            if name == policy and real.trials and sim.trials:
                pairs[twin].append(TwinRealPair(policy, twin, config, robot, task, sim, real))
    return {twin: _trust(twin, configs[twin], compared, rules) for twin, compared in pairs.items()}


def enter_twins(writer: Writer, twins: Mapping[str, TwinTrust]) -> None:
    """Record in the ledger which twins are newly demoted, and which are restored."""
    demoted = writer.registry.state.demoted
    for digest, twin in twins.items():
        details = {"twin": digest, **twin.to_json()}
        if twin.failures and digest not in demoted:
            reasons = [f"{twin.config}: {reason}" for reason in twin.failures]
            writer.add(TWIN, DEMOTED, details=details, reasons=reasons)
        elif digest in demoted and not twin.failures:
            reason = f"{twin.config}: its predictions agree with the trials since then"
            writer.add(TWIN, RESTORED, details=details, reasons=[reason])


def _in_twins(evidence: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str], tuple[str, Rate]]:
    """Return (twin, policy) -> (config name, success over all seeds, from the longest evaluation of each seed)."""
    longest: dict[tuple[str, str, int], Mapping[str, Any]] = {}
    for entry in evidence:
        if entry.get("kind") == "evaluation":
            key = (str(entry["twin"]), str(entry["checkpoint"]), int(entry["seed"]))
            if key not in longest or entry["episodes"] > longest[key]["episodes"]:
                longest[key] = entry
    rates: dict[tuple[str, str], tuple[str, Rate]] = {}
    for (twin, policy, _), entry in longest.items():
        _, before = rates.get((twin, policy), ("", Rate(0, 0)))
        total = Rate(before.successes + int(entry["successes"]), before.trials + int(entry["episodes"]))
        rates[(twin, policy)] = (str(entry["config"]), total)
    return rates


def _on_robots(evidence: Iterable[Mapping[str, Any]]) -> dict[tuple[str, str, str], Rate]:
    """Return (robot, task, policy) -> success, from each runlog as it was when it was given last."""
    latest: dict[str, Mapping[str, Any]] = {}
    for entry in evidence:
        if entry.get("kind") == "runlog":
            path = str(entry["path"])
            if path not in latest or entry["attempts"] >= latest[path]["attempts"]:
                latest[path] = entry
    rates: dict[tuple[str, str, str], Rate] = {}
    for entry in latest.values():
        for row in entry["rates"]:
            key = (str(row["robot"]), str(row["task"]), str(row["checkpoint"]))
            before = rates.get(key, Rate(0, 0))
            rates[key] = Rate(before.successes + int(row["managed"]), before.trials + int(row["trials"]))
    return rates


def _trust(twin: str, config: str, pairs: Sequence[TwinRealPair], rules: CanaryRules) -> TwinTrust:
    tasks: dict[str, list[PolicyPair]] = {}
    for pair in pairs:
        rates = PolicyPair(pair.policy, _counted(pair.sim), _counted(pair.real))
        tasks.setdefault(f"{pair.task} on {pair.robot}", []).append(rates)
    limits = TrustRules(
        least_policies=max(rules.pairs, LEAST_POLICIES), least_pearson=rules.pearson, most_mmrv=rules.rank_violation,
        most_gap=rules.gap,
    )  # fmt: skip
    return TwinTrust(twin, config, tuple(pairs), trust(tasks, seed=0, rules=limits))


def _counted(rate: Rate) -> Counted:
    return Counted(rate.value, rate.trials)
