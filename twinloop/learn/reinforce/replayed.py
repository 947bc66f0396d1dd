"""Demonstrations in the form of an environment: recorded episodes are simulated again with their recorded commands.

An episode is a function of (config, seed, index) and its commands. So the environment gives the observations and the
rewards of its own terms for an episode that was recorded without them.
"""

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from twinloop.environments.make import vector_env
from twinloop.errors import UsageError
from twinloop.learn.demonstrations import load_demonstrations
from twinloop.run.config import RunConfig

MOST_ATTEMPTS = 2048
HOLD_S = 1.0


@dataclass(frozen=True)
class ReplayedTransitions:
    """Transitions of demonstrations.

    Attributes:
        observation, following: (n, elements) before and after the action.
        action: (n, a) from -1 to 1.
        reward, terminated: (n,).
        successes, episodes: how many of the replayed episodes succeeded again.
        source: for the card of a policy that was trained on them.
    """

    observation: np.ndarray
    following: np.ndarray
    action: np.ndarray
    reward: np.ndarray
    terminated: np.ndarray
    successes: int
    episodes: int
    source: dict[str, Any]


def replay_demonstrations(path: Path, run: RunConfig, *, threads: int | None = None) -> ReplayedTransitions:
    """Simulate the accepted episodes of a dataset again in the environment of a config.

    Raises:
        UsageError: the dataset was made with another config, or on a robot.
    """
    demonstrations = load_demonstrations(path, ("observation.state",))
    source = demonstrations.source
    if demonstrations.real or source.config_digest != run.digest:
        made = "on a robot" if demonstrations.real else f"with another config ({source.config_digest[:12]}...)"
        raise UsageError(
            f"--demonstrations {path}: was recorded {made}; this config has digest {run.digest[:12]}... Rewards of "
            "demonstrations come from simulating them again. Generate the dataset with this config"
        )
    attempts = demonstrations.attempts[demonstrations.attempts < MOST_ATTEMPTS]
    env = vector_env(run, num_envs=int(attempts.max()) + 1, seed=source.run_seed, threads=threads)
    env.reset()
    hold = round(HOLD_S * env.robot.rate_hz)
    recorded = {}
    for attempt in attempts.tolist():
        commands = demonstrations.dataset.episode(attempt=attempt)["command"]
        # The expert stops as soon as it is done; an environment ends when success has lasted.
        recorded[attempt] = np.concatenate([commands, np.repeat(commands[-1:], hold, axis=0)])
    rows: list[tuple[np.ndarray, ...]] = []
    running, tick, successes = attempts.astype(int), 0, 0
    while len(running := running[[len(recorded[int(episode)]) > tick for episode in running]]):
        commands = env.commands.astype(np.float32)
        for attempt in running:
            commands[attempt] = recorded[int(attempt)][tick]
        before = env.observations["policy"][running].copy()
        after, reward, terminated, truncated, infos = env.step_commands(commands, running)
        over = terminated | truncated
        for attempt in np.flatnonzero(over):
            after[attempt] = infos["final_obs"][attempt]
            successes += int(infos["final_info"]["success"][attempt])
        rows.append((before, after[running], env.actions[running].copy(), reward[running], terminated[running]))
        running, tick = running[~over[running]], tick + 1
    parts = [np.concatenate(values) for values in zip(*rows, strict=True)]
    return ReplayedTransitions(
        *parts, successes=successes, episodes=len(attempts), source=asdict(source) | {"weight": 1.0, "held_out": 0}
    )
