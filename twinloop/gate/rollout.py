"""Roll-out: bring the live policy to more robots of its model, in waves. A wave that does worse stops the roll-out.

start       the robots and their waves are entered in the ledger; the first wave opens
trials      each robot of the open wave runs a few episodes under the limits of a canary (`twinloop deploy canary`)
advance     the wave passes and the next one opens, or the roll-out stops and every robot has its old policy again
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from twinloop.curate.rates import Rate
from twinloop.dataset.real_episodes import RealEpisodes
from twinloop.errors import RegistryError, UsageError
from twinloop.gate.ledger_record import LedgerRecord
from twinloop.gate.registry import Registry, Writer, writing
from twinloop.gate.registry_state import (
    FINISHED,
    ROLLOUT,
    STARTED,
    STOPPED,
    WAVE_OPENED,
    WAVE_PASSED,
    Rollout,
)
from twinloop.gate.robot_identity import RobotIdentity
from twinloop.gate.rules.config import RulesConfig
from twinloop.gate.runlog_evidence import all_episodes, load_runlog
from twinloop.gate.stage_limits import PERMIT, StageLimits, expiry
from twinloop.gate.statistics.binomial import rate_bound

CONFIDENCE = 0.95


@dataclass(frozen=True)
class WaveResult:
    """The result of looking at the open wave.

    Attributes:
        decision: `continue` while trials are missing.
        success: of all robots of the wave together.
        reasons: what decided it, in sentences.
        next_wave: the robots of the wave that has opened.
    """

    decision: Literal["continue", "passed", "stopped", "finished"]
    wave: int
    success: Rate
    reasons: tuple[str, ...]
    next_wave: tuple[str, ...] = ()


def start_rollout(
    path: Path, robots: Sequence[RobotIdentity], sizes: Sequence[int], rules: RulesConfig, *,
    actor: str = "", key: Path | None = None,
) -> Rollout:  # fmt: skip
    """Enter a roll-out of the live policy and open its first wave.

    Args:
        robots: in the order of the roll-out.
        sizes: number of robots of each wave; further robots form one last wave.
    """
    waves = _waves(robots, sizes)
    with writing(path, actor=actor, key=key) as writer:
        registry = writer.registry
        live = registry.production
        if not live:
            raise RegistryError(f"{path}: nothing is live, so nothing can be rolled out; promote a policy first")
        if registry.state.rollout is not None:
            raise RegistryError(f"{path}: a roll-out is under way; `twinloop rollout stop` ends it")
        model = registry.pinned(live).card.space.robot
        for robot in robots:
            if robot.model != model:
                raise UsageError(f"--robots: {robot.id} is a {robot.model}; the live policy is for {model}")
        identities = [robot.to_json() for robot in robots]
        writer.add(
            ROLLOUT, STARTED, checkpoint=live, rules=rules.digest,
            details={"waves": [[robot.id for robot in wave] for wave in waves], "robots": identities},
        )  # fmt: skip
        _open_wave(writer, rules)
        return _current(writer.registry)


def advance(
    path: Path, runlogs: Sequence[Path], rules: RulesConfig, *, actor: str = "", key: Path | None = None
) -> WaveResult:
    """Judge the open wave by its episodes, and open the next one or stop."""
    episodes = all_episodes([load_runlog(log) for log in runlogs])
    with writing(path, actor=actor, key=key) as writer:
        registry = writer.registry
        rollout = _current(registry)
        result = _judge(registry, rollout, episodes, rules)
        evidence = [load_runlog(log).to_json() for log in runlogs]
        common = {"checkpoint": rollout.checkpoint, "rules": rules.digest, "evidence": evidence}
        if result.decision == "stopped":
            writer.add(ROLLOUT, STOPPED, reasons=result.reasons, **common)
        elif result.decision == "passed":
            wave = rollout.waves[rollout.wave]
            limits = _limits(registry, rollout, wave, rules, stage="production")
            writer.add(ROLLOUT, WAVE_PASSED, reasons=result.reasons, details={PERMIT: limits.to_json()}, **common)
            if rollout.wave + 1 == len(rollout.waves):
                writer.add(ROLLOUT, FINISHED, checkpoint=rollout.checkpoint, reasons=["all waves passed"])
                return WaveResult("finished", rollout.wave, result.success, result.reasons)
            _open_wave(writer, rules)
            return WaveResult(
                "passed", rollout.wave, result.success, result.reasons, rollout.waves[rollout.wave + 1]
            )  # fmt: skip
        return result


def stop_rollout(path: Path, *, reason: str, actor: str = "", key: Path | None = None) -> LedgerRecord:
    """End the roll-out by hand. Every robot of it has its old policy again."""
    with writing(path, actor=actor, key=key) as writer:
        rollout = _current(writer.registry)
        return writer.add(ROLLOUT, STOPPED, checkpoint=rollout.checkpoint, reasons=[reason])


def _waves(robots: Sequence[RobotIdentity], sizes: Sequence[int]) -> list[Sequence[RobotIdentity]]:
    names = [robot.id for robot in robots]
    if not robots or len(set(names)) < len(names):
        raise UsageError(
            f"--robots: {', '.join(names) or 'none'} were given; at least one, and each once, was expected"
        )
    if any(size < 1 for size in sizes) or sum(sizes) > len(robots):
        raise UsageError(f"--waves: {', '.join(map(str, sizes))} were given; sizes of waves of {len(robots)} robots")
    waves, start = [], 0
    for size in sizes:
        waves.append(robots[start : start + size])
        start += size
    return [*waves, robots[start:]] if start < len(robots) else waves


def _current(registry: Registry) -> Rollout:
    if registry.state.rollout is None:
        raise RegistryError(f"{registry.path}: no roll-out is under way; `twinloop rollout start` begins one")
    return registry.state.rollout


def _open_wave(writer: Writer, rules: RulesConfig) -> None:
    registry = writer.registry
    rollout = _current(registry)
    wave = rollout.waves[rollout.wave]
    limits = _limits(registry, rollout, wave, rules, stage="canary")
    writer.add(
        ROLLOUT, WAVE_OPENED, checkpoint=rollout.checkpoint, rules=rules.digest,
        details={"wave": rollout.wave, PERMIT: limits.to_json()},
    )  # fmt: skip


def _limits(
    registry: Registry, rollout: Rollout, wave: Sequence[str], rules: RulesConfig, *, stage: str
) -> StageLimits:
    """The limits of a wave on trial (as in a canary), or of one that passed (as the promotion has them)."""
    started = registry.record(rollout.record)
    identities = {robot.id: robot for robot in map(RobotIdentity.from_json, started.details["robots"])}
    robots = tuple(identities[name] for name in wave)
    twins = tuple(
        StageLimits.from_json(record.details[PERMIT]).twins
        for record in registry.ledger.records
        if record.checkpoint == rollout.checkpoint and record.transition.endswith(" -> production")
        and PERMIT in record.details
    )  # fmt: skip
    evaluated = twins[-1] if twins else ()
    if stage == "canary":
        canary = rules.canary
        return StageLimits(
            canary.speed, canary.force_n, canary.margin_m, canary.attended, canary.episodes, expiry(canary.days),
            robots, evaluated,
        )  # fmt: skip
    live = rules.production
    return StageLimits(
        live.speed, live.force_n, 0.0, live.attended, live.episodes, expiry(live.days), robots, evaluated
    )


def _judge(registry: Registry, rollout: Rollout, episodes: RealEpisodes, rules: RulesConfig) -> WaveResult:
    wave = rollout.waves[rollout.wave]
    of_wave = (
        (episodes.checkpoint == rollout.checkpoint) & np.isin(episodes.robot_id, wave)
        & (episodes.registry == registry.id) & (episodes.stage == "canary") & ~episodes.interrupted
    )  # fmt: skip
    # Trials of an earlier roll-out of the same policy do not count again.
    opened = registry.record(rollout.opened)
    trials = episodes.take(of_wave & (episodes.recorded_at > opened.moment.isoformat(timespec="microseconds")))
    reasons = _stopping(registry, rollout, trials, rules)
    if reasons:
        return WaveResult("stopped", rollout.wave, trials.success, reasons)
    counts = {robot: int((trials.robot_id == robot).sum()) for robot in wave}
    missing = [f"{robot}: {done} of {rules.rollout.trials}" for robot, done in counts.items()
               if done < rules.rollout.trials]  # fmt: skip
    if missing:
        return WaveResult("continue", rollout.wave, trials.success, (f"trials are missing: {', '.join(missing)}",))
    rate = trials.success
    return WaveResult("passed", rollout.wave, rate, (f"{rate.successes} of {rate.trials} trials succeeded",))


def _stopping(registry: Registry, rollout: Rollout, trials: RealEpisodes, rules: RulesConfig) -> tuple[str, ...]:
    """Reasons to stop. They hold as soon as they are shown, also before all trials are done."""
    reasons = []
    rate, expected = trials.success, _expected(registry, rollout)
    if rate.trials:
        high = rate_bound(rate.successes, rate.trials, confidence=CONFIDENCE).high
        complete = all(
            (trials.robot_id == robot).sum() >= rules.rollout.trials for robot in rollout.waves[rollout.wave]
        )
        worse = rate.value < expected - rules.rollout.drop
        if high < expected - rules.rollout.drop or (complete and worse):
            reasons.append(
                f"success: {rate.successes} of {rate.trials} trials of wave {rollout.wave + 1}; {expected:.0%} were "
                f"expected, and at most {rules.rollout.drop:.0%} less is allowed"
            )
        periods = int(trials.length.sum())
        share = float(trials.blocked.sum()) / periods if periods else 0.0
        if share > rules.production.safety:
            reasons.append(f"safety: the filter prevented harm in {share:.1%} of the control periods")
    return tuple(reasons)


def _expected(registry: Registry, rollout: Rollout) -> float:
    """Success of the policy in the trials of its promotion."""
    for record in reversed(registry.ledger.records):
        if record.checkpoint == rollout.checkpoint and record.transition == "canary -> production":
            rates = {str(row["name"]): row for row in record.details.get("figures", {}).get("rates", [])}
            robot = rates.get("on the robot")
            if robot and robot["trials"]:
                return float(robot["successes"]) / float(robot["trials"])
    raise RegistryError(f"{registry.path}: has no promotion of {rollout.checkpoint[:12]} with trials on a robot")
