"""The trials of a round on the robot, through the gate: validated, canary with its limits, production."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from twinloop.curate.rates import Rate
from twinloop.deploy.canary import runlog_maker
from twinloop.deploy.episode_runner import DeployConfig
from twinloop.deploy.keys import terminal
from twinloop.deploy.questions import People
from twinloop.deploy.robot import LiveRobot
from twinloop.deploy.robots import identify_hardware
from twinloop.deploy.session import PolicySource, deploy
from twinloop.errors import UsageError
from twinloop.gate.case import Canary, Case
from twinloop.gate.permit import RegistryEntry
from twinloop.gate.promote import Makers, PromoteConfig, Promotion, promote
from twinloop.gate.registry_state import Stage
from twinloop.gate.rules.config import RulesConfig
from twinloop.gate.runlog_evidence import load_runlog


@dataclass(frozen=True)
class TrialsConfig:
    """How a loop tries its policies on the robot.

    Attributes:
        robot: a name, or a live robot.
        registry: folder of the registry.
        episodes: trials per round.
        first: scene of the first trial in production.
        data: folders with the training data.
        workers: of simulated robots; hardware has one.
    """

    robot: str | LiveRobot
    registry: Path
    rules: RulesConfig
    task: str
    episodes: int
    first: int
    data: tuple[Path, ...]
    seed: int
    workers: int

    @property
    def name(self) -> str:
        return self.robot if isinstance(self.robot, str) else type(self.robot).__name__


@dataclass(frozen=True)
class TrialsResult:
    """The result of a round's trials.

    Attributes:
        stage: the stage that the policy reached.
        held_back: reasons against the next stage.
        runlog: the policy's episodes on the robot; None if it did not act there.
        success: over all of these episodes; an aborted episode is a failure.
    """

    stage: Stage
    held_back: tuple[str, ...]
    runlog: Path | None
    success: Rate


def gated_trials(
    policy: Path,
    evaluations: tuple[Path, ...],
    runlog: Path,
    config: TrialsConfig,
    people: People,
    *,
    round_number: int,
    on_activity: Callable[[str], None],
) -> TrialsResult:
    """Bring a policy as far as the gate lets it, and return its success on the robot.

    A policy in canary runs slowly, in turns with the live policy. One that reaches production runs `episodes` more
    trials at full speed, in `runlog`.

    Raises:
        WaitingError: a person must be ready, or must approve.
    """
    on_activity("applying the rules of the gate")
    validated = promote(_promotion(policy, evaluations, config, to="validated"))
    if validated.reached == "candidate":
        return TrialsResult("candidate", _reasons(validated), None, Rate(0, 0))
    people.require_ready(round_number, config.name)
    logs: list[Path] = []
    maker = runlog_maker(
        config.robot, attended=terminal(), show=_quiet, progress_of=lambda *_: None, task=config.task,
        on_plan=lambda text: on_activity(f"canary on {config.name}: {text}"),
    )  # fmt: skip

    def noting(case: Case, out: Path) -> Path | None:
        log = maker(case, out)
        if log is not None:
            logs.append(log)
        return log

    done = promote(_promotion(policy, evaluations, config, to="production"), Makers(runlog=noting))
    _wait_for_approval(done, config, people)
    if done.reached == "production":
        on_activity(f"running on {config.name}")
        deploy_trials(RegistryEntry(config.registry, "production"), runlog, config)
        return TrialsResult("production", (), runlog, success_in(runlog, done.digest))
    log = logs[-1] if logs else None
    success = success_in(log, done.digest) if log is not None else Rate(0, 0)
    return TrialsResult(done.reached, _reasons(done), log, success)


def deploy_trials(policy: PolicySource, runlog: Path, config: TrialsConfig) -> None:
    done = deploy(
        {"candidate": policy}, config.robot, runlog, episodes=config.episodes, first=config.first,
        config=DeployConfig(seed=config.seed), workers=config.workers, attended=terminal() and config.workers == 1,
        task=config.task,
    )  # fmt: skip
    if done.stopped:
        raise UsageError(f"{config.name}: {done.stopped}; run the same command again to continue")


def success_in(runlog: Path, checkpoint: str) -> Rate:
    """Success of one policy in a runlog, as the gate counts it."""
    episodes = load_runlog(runlog).episodes.of(checkpoint)
    return episodes.take(~episodes.interrupted).success


def _promotion(policy: Path, evaluations: tuple[Path, ...], config: TrialsConfig, *, to: Stage) -> PromoteConfig:
    rules = config.rules.canary
    identity = identify_hardware(config.robot) if isinstance(config.robot, str) and to == "production" else None
    return PromoteConfig(
        str(policy), config.registry, config.rules, to=to, evaluations=evaluations, data=config.data,
        human_ready=to == "production",
        canary=Canary(config.name, rules.speed, min(rules.episodes, config.episodes), identity), actor="loop",
    )  # fmt: skip


def _wait_for_approval(promotion: Promotion, config: TrialsConfig, people: People) -> None:
    """Wait if approvals are all that is missing."""
    failed = promotion.steps[-1].decision.failed if promotion.steps else ()
    if [finding.rule for finding in failed] == ["approvals"]:
        to = promotion.steps[-1].decision.to
        command = f"twinloop approve {promotion.digest[:12]} --to {to} --registry {config.registry}"
        people.wait("approval", f"people must approve {promotion.digest[:12]} for {to}", (command,))


def _reasons(promotion: Promotion) -> tuple[str, ...]:
    return tuple(reason for step in promotion.steps if not step.decision.promoted for reason in step.decision.reasons)


@contextmanager
def _quiet(_doing: str) -> Iterator[Callable[[None], None]]:
    yield lambda _: None
