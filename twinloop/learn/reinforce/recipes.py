"""Recipes: the default settings of a training by reinforcement, for an algorithm and a kind of robot."""

from dataclasses import replace

from twinloop.learn.reinforce.config import Algorithm, ReinforceConfig
from twinloop.run.config import RunConfig
from twinloop.run.walk import WalkConfig
from twinloop.run.wheels import WheelsConfig


def recipe(run: RunConfig, algorithm: Algorithm, *, improves: bool) -> ReinforceConfig:
    """The default settings.

    Args:
        improves: training starts from a policy.
    """
    legs, wheels = isinstance(run, WalkConfig), isinstance(run, WheelsConfig)
    if algorithm == "imitate":
        return navigation_imitation_config() if wheels else imitation_config()
    if algorithm == "sac":
        return sac_config()
    if algorithm == "ppo" and improves:
        return walking_config() if legs else navigation_config() if wheels else tuning_config()
    return ReinforceConfig(algorithm=algorithm)


def tuning_config() -> ReinforceConfig:
    """The defaults for improving a cloned policy of an arm: a residual that explores by millimetres, and a leash."""
    return ReinforceConfig(
        iterations=70, num_envs=128, steps=16, learning_rate=3e-4, entropy=0.0, noise=0.3, desired_kl=0.01, leash=0.001,
        residual=True, critic_first=5, epochs=4, mini_batches=4, gamma=0.998, averaged=0.9,
    )  # fmt: skip


def sac_config() -> ReinforceConfig:
    """The defaults of SAC: fewer environments and many updates from a replay buffer."""
    return ReinforceConfig(algorithm="sac", num_envs=16, steps=16, epochs=64, learning_rate=3e-4)


def imitation_config() -> ReinforceConfig:
    """The defaults for imitating a scripted expert."""
    return ReinforceConfig(
        algorithm="imitate",
        iterations=60,
        num_envs=96,
        steps=32,
        learning_rate=1e-3,
        epochs=1,
        mini_batches=4,
        noise=0.1,
    )


def walking_config() -> ReinforceConfig:
    """The recipe for improving a policy that was cloned from the scripted trot."""
    return ReinforceConfig(
        iterations=300, num_envs=256, steps=24, learning_rate=3e-4, epochs=4, noise=0.15, entropy=0.0, desired_kl=0.02,
        gamma=0.99, critic_first=10, averaged=0.95,
    )  # fmt: skip


def terrain_config() -> ReinforceConfig:
    """The recipe for other ground, from a policy that walks on flat ground: small steps and a fast critic."""
    return replace(
        walking_config(), iterations=200, num_envs=512, noise=0.1, desired_kl=0.01, learning_rate=2e-5,
        critic_rate=1e-3, critic_first=20, advantage_limit=4.0, averaged=0.97,
    )  # fmt: skip


def navigation_imitation_config() -> ReinforceConfig:
    """The recipe for imitating the navigator of a robot on wheels."""
    return ReinforceConfig(
        algorithm="imitate", iterations=40, num_envs=128, steps=32, width=256, depth=3, learning_rate=1e-3, epochs=1,
        mini_batches=6, noise=0.1,
    )  # fmt: skip


def navigation_config() -> ReinforceConfig:
    """The recipe for improving a policy that was cloned from the navigator."""
    return ReinforceConfig(
        iterations=60, num_envs=128, steps=32, learning_rate=1e-4, epochs=4, noise=0.15, entropy=0.0, desired_kl=0.01,
        gamma=0.99, critic_first=15,
    )  # fmt: skip
