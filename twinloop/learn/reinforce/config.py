"""ReinforceConfig: the settings of a training by reinforcement."""

from dataclasses import dataclass
from typing import Literal, get_args

Algorithm = Literal["ppo", "sac", "distill", "imitate"]
ALGORITHMS: tuple[Algorithm, ...] = get_args(Algorithm)


@dataclass(frozen=True)
class ReinforceConfig:
    """Settings of a training by reinforcement.

    Attributes:
        algorithm: `ppo`, `sac`, `distill` for a student that imitates the policy it starts from, or `imitate` for a
            policy that imitates the robot's scripted expert.
        iterations: number of updates.
        num_envs: environments that are simulated together.
        shards: parts of the environments that PPO can simulate on different workers, each with exploration of its own.
            The result depends on the number of shards, not on that of workers.
        steps: policy steps of each environment in one iteration.
        seed: of initial weights and exploration, and run seed of the episodes.
        width, depth: size of a new policy's network.
        learning_rate: of the optimiser; PPO adapts it to `desired_kl`.
        critic_rate: learning rate of the critic of PPO; 0 for that of the policy. Exploration at the scale of a
            millimetre needs so small a rate for the policy that the critic would not learn.
        gamma, lam: discount of one control period, and decay of generalised advantage estimation.
        epochs, mini_batches: passes over the data of an iteration, and parts of a pass.
        entropy: weight of the entropy bonus.
        noise: initial standard deviation of exploration, in normalised actions. It stays constant in `imitate`.
        desired_kl: change of the policy that PPO aims at in one iteration.
        advantage_limit: largest advantage, in standard deviations; 0 for no limit. Where one fall in an iteration costs
            far more than all other differences, it would be the whole gradient.
        critic_first: iterations in which PPO fits only the critic, for a trained policy whose critic is new.
        averaged: decay per iteration of the running mean of weights that the checkpoint of PPO gets; 0 for the last
            weights. Means fall less often, because the last update of a policy is noisy.
        residual: add a residual to a cloned policy of an arm, and train that alone: a small network that shifts whole
            chunks along directions of the tool. `noise` is then in its units, of 1 cm and 0.1 rad.
        leash: weight of the KL divergence from the policy that training started from; 0 without one.
        until: stop early at this success rate over the last `window` episodes; 0 never stops.
        patience: stop after this many iterations without a better mean reward; 0 never stops.
        save_every: iterations from checkpoint to checkpoint.
        widen: automatic domain randomization instead of the config's full ranges.
        demonstrations: share of demonstrations in a batch of SAC.
        replay: transitions that the replay buffer of SAC holds.
    """

    algorithm: Algorithm = "ppo"
    iterations: int = 200
    num_envs: int = 128
    shards: int = 1
    steps: int = 32
    seed: int = 0
    width: int = 128
    depth: int = 2
    learning_rate: float = 3e-4
    critic_rate: float = 0.0
    gamma: float = 0.985
    lam: float = 0.95
    epochs: int = 5
    mini_batches: int = 4
    entropy: float = 0.002
    noise: float = 0.5
    desired_kl: float = 0.02
    advantage_limit: float = 0.0
    residual: bool = False
    leash: float = 0.0
    critic_first: int = 0
    averaged: float = 0.0
    until: float = 0.0
    window: int = 256
    patience: int = 0
    save_every: int = 10
    widen: bool = False
    demonstrations: float = 0.25
    replay: int = 200_000
