"""A policy for the observations and actions of an environment, before training."""

import torch

from twinloop.environments.vector_env import VectorTwinEnv
from twinloop.learn.policies.mlp import MlpPolicy
from twinloop.learn.scales import Scales
from twinloop.learn.space import Space

FIRST_OUTPUT = 0.01
"""The last layer begins with weights smaller by this factor, so that the first actions are near 0."""


def space_of_env(env: VectorTwinEnv) -> Space:
    robot = env.robot
    return Space(robot.robot, robot.rate_hz, env.groups.inputs, robot.action)


def fresh_policy(env: VectorTwinEnv, *, width: int, depth: int, bound: str, seed: int) -> MlpPolicy:
    """A new policy that decides in every control period, with the environment's meaning of actions."""
    space, scale = space_of_env(env), env.robot.scale
    scales = Scales(
        inputs={feature.name: ([0.0] * feature.shape[0], [1.0] * feature.shape[0]) for feature in space.vectors},
        relative=scale.relative.tolist(),
        action=([scale.centre.astype("float32").tolist()], [scale.span.astype("float32").tolist()]),
    )
    # Torch initialises layers from its global generator, which is seeded here and restored afterwards.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        policy = MlpPolicy(space, scales, horizon=1, executed=1, width=width, depth=depth, bound=bound)
    with torch.no_grad():
        policy.leave.weight.mul_(FIRST_OUTPUT)
        policy.leave.bias.zero_()
    return policy
