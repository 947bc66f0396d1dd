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
    wheels = isinstance(run, WheelsConfig)
    if algorithm == "imitate":
        return (
            navigation_imitation_config() if wheels else biped_imitation_config() if _biped(run) else imitation_config()
        )
    if algorithm == "sac":
        return sac_config()
    if algorithm == "ppo" and improves:
        if isinstance(run, WalkConfig):
            return biped_config() if _biped(run) else walking_config() if _flat(run) else terrain_config()
        return navigation_config() if wheels else tuning_config()
    return ReinforceConfig(algorithm=algorithm)


def _biped(run: RunConfig) -> bool:
    return isinstance(run, WalkConfig) and len(run.scene.robot.feet) == 2


def _flat(run: WalkConfig) -> bool:
    return run.scene.terrain == "flat"


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


def biped_imitation_config() -> ReinforceConfig:
    """The defaults for imitating the scripted walk of a humanoid. It falls with the noise of a quadruped."""
    return replace(imitation_config(), iterations=100, width=256, noise=0.015)


def biped_config() -> ReinforceConfig:
    """The recipe for improving a policy that was cloned from the scripted walk of a humanoid."""
    return replace(
        walking_config(), iterations=410, learning_rate=2e-4, critic_rate=1e-3, advantage_limit=4.0, noise=0.05
    )


def terrain_config() -> ReinforceConfig:
    """The recipe for steps, from a policy that walks on flat ground.

    Falls are frequent and cost much, so that advantages are limited and the critic has a rate of its own.
    """
    return replace(
        walking_config(), iterations=530, num_envs=384, learning_rate=2e-4, critic_rate=1e-3, advantage_limit=4.0
    )


def terrain_refining_config() -> ReinforceConfig:
    """The recipe for improving a policy that `terrain_config` has trained: less noise and larger batches."""
    return replace(terrain_config(), iterations=220, num_envs=512, learning_rate=5e-5, noise=0.07)


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
