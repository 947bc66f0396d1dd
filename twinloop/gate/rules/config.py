"""The numbers of the gate's rules: defaults, and a user's file for the keys that differ.

`rules.yaml` of this package is the same in YAML, for people; a test compares them.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from twinloop.config.fields import flag, integer, number
from twinloop.config.record import json_schema, nested, read_record
from twinloop.config.section import Section
from twinloop.config.yaml_file import read_yaml


def share(default: float, *, help: str) -> float:
    return number(default, low=0.0, high=1.0, help=help)


def open_share(default: float, *, help: str) -> float:
    """A share that is neither 0 nor 1."""
    return number(default, low=0.001, high=0.999, help=help)


@dataclass(frozen=True)
class ValidatedRules:
    """Candidate -> validated: in the twin."""

    episodes: int = integer(200, low=1, high=1_000_000, help="minimum number of attempts in each twin")
    confidence: float = open_share(0.95, help="confidence of the bounds below")
    success: float = share(0.6, help="minimum of the lower bound of success, in every twin it was evaluated in")
    harm: float = share(0.05, help="maximum of the upper bound of the share of implausible or unsafe attempts")
    regress: float = share(
        0.05, help="success that may be lost against the live policy on the same draws (lower end, 95 %)"
    )
    training_data: bool = flag(True, help="every training dataset is found, verifies, and has the digest on the card")


@dataclass(frozen=True)
class CanaryRules:
    """Validated -> canary: on the robot, slowly and for a short time."""

    human_ready: bool = flag(True, help="--human-ready must confirm that a person can stop the robot")
    speed: float = open_share(0.3, help="maximum share of the robot's speed")
    episodes: int = integer(
        60,
        low=1,
        high=1_000_000,
        help="maximum number of the candidate's episodes; the sequential test usually stops earlier",
    )
    force_n: float = number(100.0, low=1, high=1000, unit="N", help="maximum force at the wrist")
    margin_m: float = number(
        0.02, low=0, high=1, unit="m", help="distance that the tool keeps from the walls of the robot's workspace"
    )
    attended: bool = flag(True, help="on hardware, an operator with the stop keys is at the terminal")
    approvals: int = integer(
        0, low=0, high=100, help="people who must approve with `twinloop approve` before trials on hardware"
    )
    days: int = integer(30, low=1, high=3650, help="days until the decision expires")
    untried_twin: bool = flag(True, help="trust a twin that has no real trials to compare with yet")
    predicted: float = share(
        0.4, help="minimum real success predicted from the twin (lower end of the band), where known"
    )
    supervised: int = integer(
        10, low=1, high=1_000_000, help="real episodes of this policy that replace the evaluation in a demoted twin"
    )
    gap: float = share(0.2, help="twin and robot may differ by this much before the twin is demoted")
    pearson: float = number(
        0.5, low=-1, high=1, help="a twin whose rates correlate less with real ones is demoted, once `pairs` are known"
    )
    rank_violation: float = share(
        0.2, help="a twin with a larger mean maximum rank violation is demoted, once `pairs` are known"
    )
    pairs: int = integer(
        4,
        low=1,
        high=1_000_000,
        help="number of policies with trials in twin and reality that the two rules above need",
    )


@dataclass(frozen=True)
class ProductionRules:
    """Canary -> production: from real episodes."""

    trials: int = integer(
        10,
        low=1,
        high=1_000_000,
        help="minimum number of trials of the candidate, and of the live policy if there is one",
    )
    success: float = open_share(0.5, help="with nothing live: the sequential test must show more than this")
    aim: float = open_share(0.8, help="with nothing live: the test gives up once it has shown less than this")
    regress: float = share(0.1, help="against a live policy: the difference must be shown to be above minus this")
    gain: float = share(
        0.1, help="against a live policy: the test gives up once the difference is shown to be below this"
    )
    error: float = open_share(0.05, help="chance of promoting an insufficient policy, over all looks")
    miss: float = open_share(0.1, help="chance of giving up on a policy that reaches the aim")
    least_success: float = share(0.4, help="minimum of the measured success, with or without a live policy")
    longest_run: int = integer(
        4, low=1, high=1_000_000, help="maximum number of trials of one arm in a row: arms must be interleaved"
    )
    interventions: float = share(0.1, help="maximum share of episodes with an intervention")
    safety: float = share(
        0.05, help="maximum share of periods in which the filter stopped it leaving the workspace or pressing on"
    )
    filter: float = share(0.8, help="maximum share of periods in which the filter changed the command for any reason")
    aborted: float = share(0.1, help="maximum share of aborted episodes")
    unknown: float = share(
        0.1, help="maximum share of episodes with unknown outcome; they count as failures of the candidate"
    )
    speed: float = number(1.0, low=0.01, high=1, help="maximum share of the robot's speed once it is live")
    force_n: float = number(140.0, low=1, high=1000, unit="N", help="maximum force at the wrist once it is live")
    attended: bool = flag(False, help="on hardware, an operator with the stop keys is at the terminal")
    approvals: int = integer(
        1, low=0, high=100, help="people who must approve with `twinloop approve` before a policy is live on hardware"
    )
    days: int = integer(365, low=1, high=3650, help="days until the decision expires")
    episodes: int = integer(
        1_000_000, low=1, high=1_000_000_000, help="episodes until the decision expires and new trials are needed"
    )
    deadlines: float = share(0.02, help="maximum share of control periods with a missed deadline")
    prediction_powered: bool = flag(
        True, help="where trials were repeated in the twin, the combined lower bound counts too"
    )


@dataclass(frozen=True)
class RolloutRules:
    """From one robot to the fleet, wave by wave."""

    trials: int = integer(5, low=1, high=1_000_000, help="episodes of each robot of a wave, at the speed of a canary")
    drop: float = open_share(
        0.2, help="success of a wave may be below that of the promotion by this much; beyond it the roll-out stops"
    )


@dataclass(frozen=True)
class MonitorRules:
    """While a policy is live."""

    false_alarm_episodes: int = integer(
        2000,
        low=20,
        high=10_000_000,
        help="minimum mean number of episodes between false alarms, all detectors together",
    )
    drop: float = open_share(0.2, help="drop of the success rate to detect")
    interventions: float = open_share(0.2, help="rise of the share of episodes with an intervention to detect")
    safety: float = open_share(0.2, help="rise of the share of periods that `production.safety` limits to detect")
    drift: float = open_share(0.3, help="rise of the share of episodes with inputs unlike the training data to detect")
    drift_deviations: float = number(
        4.0,
        low=0.1,
        high=1000,
        help="an input counts as drift if its mean over an episode is this many training standard deviations off",
    )
    roll_back: bool = flag(True, help="a confirmed drop of success rolls back automatically")


@dataclass(frozen=True)
class RulesConfig:
    """All rules, by step."""

    validated: ValidatedRules = nested(ValidatedRules, help="candidate -> validated: in the twin")
    canary: CanaryRules = nested(CanaryRules, help="validated -> canary: on the robot, slowly and for a short time")
    production: ProductionRules = nested(ProductionRules, help="canary -> production: from real episodes")
    rollout: RolloutRules = nested(RolloutRules, help="from one robot to the fleet, wave by wave")
    monitor: MonitorRules = nested(MonitorRules, help="while a policy is live")

    @property
    def digest(self) -> str:
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()

    def problems(self) -> Iterator[tuple[str, str]]:
        rules = self.production
        if rules.success >= rules.aim:
            yield "production.aim", f"is {rules.aim:g}; it must be above success, {rules.success:g}"
        if -rules.regress >= rules.gain:
            yield "production.gain", f"is {rules.gain:g}; it must be above minus regress, {-rules.regress:g}"


def load_rules(path: Path | None = None) -> RulesConfig:
    """The defaults, with the values that the file at `path` changes. Unknown keys are refused."""
    if path is None:
        return RulesConfig()
    return read_record(RulesConfig, Section(str(path), "", *read_yaml(path)))


def rules_schema() -> dict[str, Any]:
    """JSON Schema of a rule file."""
    return json_schema(RulesConfig, title="Twinloop rules of the gate")
