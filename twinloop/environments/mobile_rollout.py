"""mobile_rollout: episodes of a robot that moves about, with a policy or the scripted expert, frame by frame."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from twinloop.curate.verdict import ACCEPTED, TASK_FAILED
from twinloop.environments.mobile import MobileEmbodiment
from twinloop.environments.table import chosen_terms
from twinloop.environments.term import StepState, Term
from twinloop.observe.recording import Feature, Recording
from twinloop.randomize.draw import Draws

Act = Callable[[Mapping[str, np.ndarray], int], np.ndarray]
"""(sensor values of all slots, control period) -> (width, a) commands."""
DIVERGED = "diverged"


@dataclass(frozen=True)
class MobileEpisodes:
    """Episodes of a robot that moves about.

    Attributes:
        lengths: (n,) control periods; 0 for an episode that cannot succeed and was not simulated.
        success: (n,) bool.
        failure: (n,) name of the end; "" for a success.
        simulated: (n,) bool.
        checks: name -> (n,) figures of the embodiment.
        recording: frames of all episodes; None if they were not recorded.
    """

    draws: Draws
    lengths: np.ndarray
    success: np.ndarray
    failure: np.ndarray
    simulated: np.ndarray
    checks: dict[str, np.ndarray] = field(default_factory=dict)
    recording: Recording | None = None


def mobile_features(robot: MobileEmbodiment) -> tuple[Feature, ...]:
    """Features of a dataset."""
    return (
        *robot.features,
        robot.surroundings,
        robot.action,
        Feature("next.reward", "float32", (1,)),
        Feature("next.done", "bool", (1,)),
        Feature("next.success", "bool", (1,)),
    )


def termination_terms(robot: MobileEmbodiment) -> tuple[Term, ...]:
    """The terms that end an episode: those of the config's environment, or the robot's own."""
    environment = robot.config.environment
    names = (environment.terminations if environment else ()) or robot.defaults.terminations
    return tuple(chosen_terms(robot, "termination", names, key="terminations"))


def longest_ticks(robot: MobileEmbodiment) -> int:
    """Control periods of the longest episode."""
    limit_s = robot.config.environment.time_limit_s if robot.config.environment else None
    return robot.longest_ticks if limit_s is None else round(limit_s * robot.rate_hz)


def mobile_rollout(
    robot: MobileEmbodiment, act: Act, first: int, *, record: bool = False, draws: Draws | None = None
) -> MobileEpisodes:
    """Simulate episodes [first, first + width) of the robot's seed, or `width` episodes with the given draws."""
    width, ids = robot.width, np.arange(robot.width)
    environment = robot.config.environment
    ends, longest = termination_terms(robot), longest_ticks(robot)
    weights = (environment.rewards if environment else {}) or robot.defaults.rewards
    rewards = chosen_terms(robot, "reward", tuple(weights), key="rewards") if record else ()
    draws = draws or robot.draw(first, first + width)
    robot.begin(ids, draws, ids)
    failure = robot.impossible().astype(object)
    simulated = failure == ""
    over, success, lengths = ~simulated, np.zeros(width, bool), np.zeros(width, int)
    checks = {name: values.copy() for name, values in robot.checks.items()}
    tape: list[dict[str, np.ndarray]] = []
    action = previous = np.zeros((width, robot.action.shape[0]))
    for tick in range(longest):
        active = np.flatnonzero(~over)
        if not len(active):
            break
        seen = robot.observe(None)
        command = np.clip(act(seen, tick), robot.scale.lowest, robot.scale.highest)
        poses = robot.surrounding_poses() if record else None
        robot.step(active if len(active) < width else None, command)
        lengths[active] += 1
        previous, action = action, (command - robot.scale.centre) / robot.scale.span
        step = StepState(robot, action, previous, lengths, longest)
        for name, values in robot.checks.items():
            checks[name][active] = values[active]
        for term in reversed(ends):
            failure[active[term.function(step)[active]]] = term.name
        failure[active[robot.diverged(lengths)[active]]] = DIVERGED
        ended = active[(failure[active] != "") | (lengths[active] >= longest)]
        success[ended] = robot.succeeded()[ended] & (failure[ended] != DIVERGED)
        failure[ended] = np.where(success[ended], "", np.where(failure[ended] == "", robot.unfinished, failure[ended]))
        over[ended] = True
        if poses is not None:
            total = sum((weights[term.name] * term.function(step) for term in rewards), np.zeros(width))
            tape.append({
                **seen, robot.surroundings.name: poses, "action": command, "next.reward": total,
                "next.done": over.copy(), "next.success": success.copy(),
            })  # fmt: skip
    recording = _recording(robot, draws, lengths, tape) if record else None
    return MobileEpisodes(draws, lengths, success, failure, simulated, checks, recording)


def _recording(
    robot: MobileEmbodiment, draws: Draws, lengths: np.ndarray, tape: list[dict[str, np.ndarray]]
) -> Recording:
    features = mobile_features(robot)
    frames = {}
    for feature in features:
        if not tape:
            frames[feature.name] = np.zeros((0, *feature.shape), feature.dtype)
            continue
        # (ticks, width, ...) -> one episode after the other.
        values = np.array([frame[feature.name] for frame in tape])
        rows = np.concatenate([values[:length, slot] for slot, length in enumerate(lengths)])
        frames[feature.name] = rows.astype(feature.dtype)
    return Recording(
        attempts=draws.attempts.astype(np.int64), lengths=lengths.astype(np.int64),
        tasks=(robot.instruction,) * len(lengths), frames=frames, features=features,
    )  # fmt: skip


def verdicts(rollouts: MobileEpisodes) -> np.ndarray:
    """(n,) verdict of each episode. One that was not simulated has the reason as verdict."""
    failure = rollouts.failure
    named = np.where((failure == DIVERGED) | ~rollouts.simulated, failure, TASK_FAILED)
    return np.where(rollouts.success, ACCEPTED, named)


def expert_act(robot: MobileEmbodiment) -> Act:
    """Commands of the scripted expert."""
    robot.use_expert()
    return lambda _seen, _tick: robot.expert_command().copy()
