"""The work of one worker of an evaluation of a robot that moves about: ranges of episodes in, their outcomes out.

Episode i of a seed is that of an environment with this seed: the same draws, commands, physics and sensor values.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np

from twinloop.environments.make import mobile_embodiment
from twinloop.environments.mobile import MobileEmbodiment
from twinloop.environments.mobile_rollout import DIVERGED, Act, mobile_rollout, verdicts
from twinloop.errors import CheckpointError
from twinloop.gate.outcomes import Outcomes
from twinloop.gate.rollouts import EvaluationJob
from twinloop.learn.candidate import Candidate
from twinloop.learn.runtime import PolicyRuntime
from twinloop.learn.space import table_of
from twinloop.observe.history import HISTORY, History
from twinloop.randomize.draw import EpisodeRange
from twinloop.run.config import config_from_text
from twinloop.run.mobile import MobileConfig

WIDTH = 16
"""Episodes that are simulated together. It is constant, so that no episode depends on the size of a range."""


def mobile_out(trial: EvaluationJob, ranges: Iterator[EpisodeRange]) -> Iterator[tuple[EpisodeRange, Outcomes]]:
    config = config_from_text(trial.config_yaml, name="config.yaml", folder=Path(trial.folder))
    assert isinstance(config, MobileConfig)
    robot = mobile_embodiment(config, width=WIDTH, seed=config.rollout.seed, engine=trial.engine)
    runtime = trial.load()
    for first, stop in ranges:
        parts = [rolled_out(robot, runtime, start).take(np.arange(min(WIDTH, stop - start)))
                 for start in range(first, stop, WIDTH)]  # fmt: skip
        for part in parts:
            yield (int(part.attempt[0]), int(part.attempt[-1]) + 1), part


def rolled_out(robot: MobileEmbodiment, runtime: PolicyRuntime, first: int) -> Outcomes:
    """The outcomes of episodes [first, first + width) with a policy."""
    episodes = mobile_rollout(robot, policy_act(robot, runtime), first)
    draws, success, failure = episodes.draws, episodes.success, episodes.failure
    seconds = episodes.lengths / robot.rate_hz
    return Outcomes(
        phases=(robot.config.scene.task.name,),
        attempt=draws.attempts.astype(np.int64),
        success=success,
        completed=success.astype(int),
        verdict=verdicts(episodes).astype(object),
        failure=np.where((failure == DIVERGED) | ~episodes.simulated, "", failure).astype(object),
        duration_s=seconds,
        completion_s=np.where(success, seconds, np.nan),
        draws={column: draws.values[column] for column in draws.varied},
        checks=episodes.checks,
    )


def policy_act(robot: MobileEmbodiment, runtime: PolicyRuntime) -> Act:
    """Commands of a policy, which computes a new action chunk when the last one is used up."""
    shape = (robot.width, runtime.horizon, robot.action.shape[0])
    chunk = np.zeros(shape)
    remembered = runtime.space.remembered
    history = History(remembered, width=robot.width, rate_hz=robot.rate_hz)

    def act(seen: Mapping[str, np.ndarray], tick: int) -> np.ndarray:
        nonlocal chunk
        if remembered:
            if tick == 0:
                history.begin(np.arange(robot.width))
            seen = {**seen, HISTORY: history.take(seen)}
        if tick % runtime.executed == 0:
            inputs = {feature.name: seen[feature.name] for feature in runtime.space.inputs}
            words = [robot.instruction] * robot.width
            chunk = runtime.chunks(inputs, instructions=words, real=False, noise=np.zeros(shape, np.float32))
        return chunk[:, tick % runtime.executed].astype(float)

    return act


def refuse_other_robot(candidate: Candidate, config: MobileConfig, *, config_name: str) -> None:
    """Raise CheckpointError if the policy was trained for another robot, rate or set of sensors."""
    robot = mobile_embodiment(config, width=1, seed=0)
    features = {feature.name: feature for feature in robot.features}
    space = replace(
        candidate.space, robot=robot.robot, rate_hz=robot.rate_hz, action=robot.action,
        inputs=tuple(features[feature.name] for feature in candidate.space.inputs if feature.name in features),
    )  # fmt: skip
    differences = candidate.space.differences(space)
    if differences:
        table = table_of(differences, here=candidate.name, there=config_name)
        raise CheckpointError(
            f"{candidate.name} does not fit the {robot.robot} of {config_name}. Differences:\n{table}"
        )
