"""Environments for reinforcement learning, and training in them."""

from typing import TYPE_CHECKING

from twinloop.api.arguments import ConfigLike, named_config
from twinloop.errors import UsageError
from twinloop.simulate.engine import Backend, EngineConfig

if TYPE_CHECKING:
    from twinloop.environments.vector_env import VectorTwinEnv


def make_env(
    config: ConfigLike | None = None,
    *,
    num_envs: int = 1,
    seed: int = 0,
    threads: int | None = None,
    engine: Backend = "cpu",
    device: str = "",
) -> "VectorTwinEnv":
    """Make the environments of a cell for reinforcement learning: a Gymnasium `VectorEnv`.

    Observations are the features of a dataset with their sensor errors, randomization is that of the config, and
    actions are the joints' targets, scaled to -1 to 1. The config's section `environment` chooses terms and weights.

    Args:
        config: a config or its file. Default: the embedded pick-and-place cell.
        num_envs: number of environments that are stepped together.
        seed: run seed. Environment e runs episodes e, e + num_envs, e + 2 num_envs, ... of this seed.
        threads: of the CPU engine; one per core by default. It does not affect results.
        engine: `"cpu"`, or `"warp"` for MuJoCo Warp on a GPU.
        device: of Warp: `cpu` or `cuda:0`.

    Example:
        >>> env = tl.make_env("cell.yaml", num_envs=4, seed=7)
        >>> observations, _ = env.reset()
        >>> observations.shape, env.action_space.shape, env.layout[0]
        ((4, 30), (4, 8), 'observation.state.joint1')
        >>> _, rewards, terminated, truncated, infos = env.step(np.zeros((4, 8)))
        >>> rewards.shape, sorted(infos["reward_terms"])[0]
        ((4,), 'action_rate')
    """
    try:
        from twinloop.environments.make import vector_env
    except ImportError as error:
        raise UsageError(f"environments need Gymnasium ({error}): pip install 'twinloop[rl]'") from None
    read, _ = named_config(config)
    return vector_env(read, num_envs=num_envs, seed=seed, threads=threads, engine=EngineConfig(engine, device))
