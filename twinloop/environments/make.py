"""Make environments from configs."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from twinloop.environments.arm import ArmEmbodiment
from twinloop.environments.curriculum import Curriculum
from twinloop.environments.embodiment import Embodiment
from twinloop.environments.legs import LegsEmbodiment
from twinloop.environments.mobile import MobileEmbodiment
from twinloop.environments.wheels import WheelsEmbodiment
from twinloop.errors import UsageError
from twinloop.run.config import RunConfig
from twinloop.run.environment import EnvironmentConfig
from twinloop.run.mobile import MobileConfig
from twinloop.run.walk import WalkConfig
from twinloop.run.wheels import WheelsConfig
from twinloop.simulate.engine import EngineConfig

if TYPE_CHECKING:
    from twinloop.environments.vector_env import VectorTwinEnv

MOST_ENVIRONMENTS = 65_536


@dataclass(frozen=True)
class EmbodimentKind:
    """A kind of robot that environments can simulate.

    Attributes:
        fits: whether the config describes such a robot.
        make: (config, width=, threads=, seed=, engine=) -> Embodiment.
    """

    name: str
    fits: Callable[[RunConfig], bool]
    make: Callable[..., Embodiment]


KINDS: tuple[EmbodimentKind, ...] = (
    EmbodimentKind("legs", lambda config: isinstance(config, WalkConfig), LegsEmbodiment),
    EmbodimentKind("wheels", lambda config: isinstance(config, WheelsConfig), WheelsEmbodiment),
    EmbodimentKind("arm", lambda _: True, ArmEmbodiment),
)
"""The first kind that fits a config is used; arms are last and fit all configs."""


def _kind_of(config: RunConfig) -> EmbodimentKind:
    return next(kind for kind in KINDS if kind.fits(config))


def mobile_embodiment(
    config: MobileConfig, *, width: int, seed: int, engine: EngineConfig = EngineConfig()  # noqa: B008
) -> MobileEmbodiment:  # fmt: skip
    """The simulated robots of a config of a robot that moves about."""
    robot = _kind_of(config).make(config, width=width, threads=1, seed=seed, engine=engine)
    assert isinstance(robot, MobileEmbodiment)
    return robot


def vector_env(
    config: RunConfig,
    *,
    num_envs: int,
    seed: int,
    threads: int | None = None,
    engine: EngineConfig = EngineConfig(),  # noqa: B008
    curriculum: Curriculum | None = None,
    first: int = 0,
    total: int | None = None,
) -> "VectorTwinEnv":
    """The environments of a config.

    Args:
        num_envs: number of environments that are stepped together.
        first, total: these are the environments from `first` on of `total`; by default all of them.
        seed: run seed of the episodes.
        threads: of the CPU engine; one per core by default. It does not affect results.
        curriculum: in place of that of the config.
    """
    from twinloop.environments.vector_env import VectorTwinEnv  # needs Gymnasium, which generating data does not

    if not 1 <= num_envs <= MOST_ENVIRONMENTS:
        raise UsageError(f"num_envs: {num_envs} was given; a number from 1 to {MOST_ENVIRONMENTS:,} was expected")
    if config.cameras:
        config = _without_cameras(config)
    cores = threads or min(os.cpu_count() or 1, num_envs)
    robot = _kind_of(config).make(config, width=num_envs, threads=cores, seed=seed, engine=engine)
    return VectorTwinEnv(
        robot, config.environment or EnvironmentConfig(), seed=seed, curriculum=curriculum, first=first, total=total
    )


def _without_cameras(config: RunConfig) -> RunConfig:
    """Environments observe vectors; images would cost more time than the physics."""
    from dataclasses import replace

    return replace(config, cameras={})
